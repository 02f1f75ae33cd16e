/**
 * Every kind of operation is undone and redone, also after a push, or after git maintenance that removes everything
 * unreachable: the operations alone keep what undo needs.
 */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { closeFile } from '../../../../forge/desk/branches/places.ts'
import { addFile, ask, edit, textOf } from '../../../support/desk.ts'
import { bare, commit, type Files, tryGit } from '../../../support/git.ts'
import { makePair, type Pair, type Sides } from '../../../support/merging.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, type Script, ScriptedModel, write } from '../../../support/scripted-model.ts'

setDefaultTimeout(120_000)

const CLEAN: Sides = {
  base: { 'a.txt': 'a\n', 'b.txt': 'b\n' },
  ours: { 'ours.txt': 'o\n' },
  theirs: { 'theirs.txt': 't\n' },
}
const CLASH: Sides = { base: { 'a.txt': 'a\n' }, ours: { 'a.txt': 'ours\n' }, theirs: { 'a.txt': 'theirs\n' } }

const onMain = { branch: 'main' } as const
const merge = ({ source }: Pair) => ({ step: 'merge', source, onto: 'main' }) as const

/** Replaces the text of a file by typing. */
async function type({ work }: Pair, path: string, text: string): Promise<void> {
  const editor = await edit(work, 'main', path)
  await editor.type(text, 0, editor.text.length)
  await closeFile(work.branches, { kind: 'branch', ...onMain }, path)
}

type Case = {
  does: string
  sides?: Sides
  /** Prepares the desk for the operation; this part is not undone. */
  first?: (desk: Pair) => Promise<unknown>
  /** Does the one operation to undo. */
  act: (desk: Pair) => Promise<unknown>
  /** The AI's answers. */
  script?: Script
}

/** A turn of the AI in main, from the message to its end. */
async function turn({ work }: Pair, conflicts = false): Promise<void> {
  if (conflicts) await ask(work, 'ask for conflicts', { branch: 'main', paths: 'all' })
  else await work.chat.turns.send('main', 'Please.')
  await until(
    async () => (await ask(work, 'conversation', { at: { kind: 'branch', ...onMain } })).turn?.state !== 'running',
  )
  await work.chat.turns.in('main')?.done
}

const WRITES: Script = [{ calls: [write('a.txt', 'by the AI\n')] }, { text: 'Done. ' }]
const BREAKS: Script = [{ calls: [write('a.txt', 'by the AI\n')] }, { error: new Error('It broke') }]

const CASES: Case[] = [
  { does: 'a new file', act: ({ work }) => ask(work, 'new file', { branch: 'main', path: 'new.txt' }) },
  {
    does: 'a rename',
    act: ({ work }) => ask(work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: 'c.txt' }] }),
  },
  { does: 'a deleted file', act: ({ work }) => ask(work, 'delete', { branch: 'main', paths: ['a.txt'] }) },
  {
    does: 'a save',
    first: desk => type(desk, 'a.txt', 'typed\n'),
    act: ({ work }) => ask(work, 'save', { branch: 'main', paths: 'all' }),
  },
  {
    does: 'drafts that were let go',
    first: async desk => {
      await type(desk, 'a.txt', 'typed\n')
      await desk.work.flush()
    },
    act: ({ work }) => ask(work, 'discard', { branch: 'main', paths: ['a.txt'] }),
  },
  { does: 'a new branch', act: ({ work }) => ask(work, 'new branch', { branch: 'new', from: null }) },
  { does: 'a branch of another name', act: ({ work }) => work.renameBranch('topic', 'other') },
  {
    does: 'a deleted branch',
    first: async ({ work }) => {
      await (await edit(work, 'topic', 'a.txt')).type('typed\n')
      await closeFile(work.branches, { kind: 'branch', branch: 'topic' }, 'a.txt')
      await work.flush()
    },
    act: ({ work }) => ask(work, 'delete branch', { branch: 'topic' }),
  },
  {
    does: 'drafts that went to a new branch',
    first: async desk => {
      await type(desk, 'a.txt', 'typed\n')
      await desk.work.flush()
    },
    act: ({ work, ours }) => ask(work, 'drafts elsewhere', { branch: 'main', from: ours, to: 'elsewhere' }),
  },
  {
    does: 'drafts that went to a branch that exists',
    first: async desk => {
      await type(desk, 'a.txt', 'typed\n')
      await desk.work.flush()
    },
    act: ({ work }) => ask(work, 'drafts onto', { branch: 'main', to: 'topic' }),
  },
  { does: 'a merge', act: desk => desk.work.steps.do(merge(desk)) },
  { does: 'a landing', act: ({ work, source }) => work.steps.do({ step: 'land', source, onto: 'main' }) },
  {
    does: 'a rebase',
    act: ({ work, ours }) =>
      work.steps.do({ step: 'rebase', branch: 'topic', onto: { commit: ours, branch: 'main', words: 'main' } }),
  },
  {
    does: 'a cherry-pick',
    act: ({ work, theirs }) => work.steps.do({ step: 'cherry-pick', commits: [theirs], onto: 'main' }),
  },
  {
    does: 'a revert',
    act: ({ work, ours }) => work.steps.do({ step: 'revert', commits: [ours], onto: 'main' }),
  },
  {
    does: 'a move',
    act: ({ work, base }) =>
      work.steps.do({ step: 'move', branch: 'main', to: { commit: base, words: base.slice(0, 8) } }),
  },
  { does: 'a tag', act: ({ work, ours }) => work.steps.do({ step: 'tag', name: 'v1', at: ours }) },
  {
    does: 'a tag with a message',
    act: ({ work, ours }) => work.steps.do({ step: 'tag', name: 'v1', at: ours, message: 'The first' }),
  },
  {
    does: 'a deleted tag with a message',
    first: ({ git, ours }) => git('tag', '-a', '-m', 'The first', 'v1', ours),
    act: ({ work }) => work.steps.do({ step: 'delete tag', name: 'v1' }),
  },
  {
    does: 'a deleted tag of a file',
    first: async ({ git, ours }) => git('tag', 'file', await git('rev-parse', `${ours}:ours.txt`)),
    act: ({ work }) => work.steps.do({ step: 'delete tag', name: 'file' }),
  },
  {
    does: 'a pull',
    first: async desk => {
      const far = await bare(join(desk.folder, 'far.git'))
      await desk.git('push', '-q', far, 'topic:main', `${desk.base}:refs/heads/start`)
      await desk.git('remote', 'add', 'far', far)
      await desk.git('fetch', '-q', 'far')
      await desk.git('branch', '-q', '-u', 'far/main', 'main')
    },
    act: ({ work }) => work.steps.do({ step: 'pull', ...onMain, how: 'merge' }),
  },
  { does: 'a merge that waits', sides: CLASH, act: desk => desk.work.steps.do(merge(desk)) },
  {
    does: 'an abort',
    sides: CLASH,
    first: async desk => {
      await desk.work.steps.do(merge(desk))
      await type(desk, 'a.txt', 'both\n')
    },
    act: ({ work }) => work.mergings.abort('main'),
  },
  {
    does: 'a finish',
    sides: CLASH,
    first: async desk => {
      await desk.work.steps.do(merge(desk))
      await type(desk, 'a.txt', 'both\n')
    },
    act: ({ work }) => work.mergings.finish('main'),
  },
  { does: 'a turn of the AI', script: WRITES, act: desk => turn(desk) },
  {
    does: 'a turn that is taken back when more has come',
    script: WRITES,
    first: async desk => {
      await turn(desk)
      await addFile(desk.work, 'main', 'more.txt')
    },
    act: async ({ work }) => {
      const { items } = await ask(work, 'conversation', { at: { kind: 'branch', ...onMain } })
      const end = items.findLast(item => item.kind === 'end')
      await work.chat.undoTurn('main', end?.turn ?? '')
    },
  },
  {
    does: 'a turn that broke off and was kept',
    script: BREAKS,
    first: desk => turn(desk),
    act: ({ work }) => work.chat.turns.end('main', true),
  },
  {
    does: 'a turn that broke off and was discarded',
    script: BREAKS,
    first: desk => turn(desk),
    act: ({ work }) => work.chat.turns.end('main', false),
  },
  {
    does: 'what the AI settled',
    sides: CLASH,
    script: WRITES,
    first: desk => desk.work.steps.do(merge(desk)),
    act: desk => turn(desk, true),
  },
  {
    does: 'a branch that was brought back',
    first: async ({ work, git }) => {
      await git('update-ref', '-d', 'refs/heads/topic')
      await work.look()
    },
    act: ({ work }) => ask(work, 'restore branch', { branch: 'topic' }),
  },
  {
    does: 'a rebase that goes on to its next conflict',
    sides: CLASH,
    first: async desk => {
      const { work, git, theirs } = desk
      const tip = await commit(desk.path, 'topic', { 'a.txt': 'again\n' }, { parents: [theirs] })
      await git('update-ref', 'refs/heads/main', tip)
      await git('update-ref', 'refs/heads/topic', desk.ours)
      await work.look()
      await work.steps.do({ step: 'rebase', ...onMain, onto: { commit: desk.ours, words: 'topic' } })
      await type(desk, 'a.txt', 'both\n')
    },
    act: async ({ work }) => expect((await work.mergings.finish('main')).merging).toBe('main'),
  },
]

/** Everything visible to a user: refs other than the list of operations, and the shown files. */
async function stateOf({ git, work }: Pair) {
  const refs = await git(
    'for-each-ref',
    '--format=%(refname) %(objectname)',
    'refs/heads',
    'refs/tags',
    'refs/forge/kept',
  )
  const branches = await work.describeBranches()
  const texts = branches.map(({ name }) => textOf(work, name, 'a.txt'))
  const merging = await work.mergings.in('main')
  const drafts = branches.map(it => [it.name, it.drafts])
  return { refs, drafts, texts: await Promise.all(texts), merging }
}

/** Removes all unreachable objects. */
async function tidy({ git }: Pair): Promise<void> {
  await git('reflog', 'expire', '--expire=now', '--expire-unreachable=now', '--all')
  await git('gc', '-q', '--prune=now')
}

/** Pushes every branch to a remote, and fetches from there. */
async function publish(desk: Pair): Promise<void> {
  const place = join(desk.folder, 'published.git')
  if ((await tryGit(desk.path, ['remote', 'get-url', 'published'])).code !== 0) {
    await bare(place)
    await desk.git('remote', 'add', 'published', place)
  }
  await desk.git('push', '-q', '--force', 'published', 'refs/heads/*:refs/heads/*')
  await desk.git('fetch', '-q', 'published')
}

for (const { does, sides = CLEAN, first, act, script = [] } of CASES)
  test(`${does} is undone and redone, after garbage collections and after pushes`, async () => {
    const models = modelsOf(new ScriptedModel(script))
    await using desk = await makePair(sides, { bare: true, models })
    const { work, git } = desk
    await first?.(desk)
    await work.flush()
    const before = await stateOf(desk)
    const operations = (await ask(work, 'operations', { from: 0, count: 100 })).length
    await act(desk)
    await work.flush()
    expect((await ask(work, 'operations', { from: 0, count: 100 })).length).toBe(operations + 1)
    const after = await stateOf(desk)
    // Nothing is pushed in the first round: the branches of a remote would keep objects, too.
    for (const isPushed of [false, true]) {
      const meanwhile = async () => {
        await tidy(desk)
        if (isPushed) await publish(desk)
      }
      await meanwhile()
      const published = await git('for-each-ref', 'refs/remotes/published')
      await work.undo()
      await work.flush()
      // The changes of an undone save are drafts again; all else is as before.
      expect(await stateOf(desk)).toEqual(before)
      expect(await git('for-each-ref', 'refs/remotes/published')).toBe(published)
      await meanwhile()
      await work.redo()
      await work.flush()
      expect(await stateOf(desk)).toEqual(after)
    }
    await git('fsck', '--strict', '--connectivity-only', '--no-dangling')
  })

test('an undo says which commits stay on a remote, and leaves them there', async () => {
  await using desk = await makePair(CLEAN)
  const { work, git } = desk
  await work.steps.do(merge(desk))
  await publish(desk)
  const pushed = await git('rev-parse', 'published/main')
  expect((await work.undo()).words).toBe(
    'undo: merge topic into main; 2 commits of it are on a remote already and stay there: a push of main has to be forced now',
  )
  expect(await git('rev-parse', 'published/main')).toBe(pushed)
  expect((await work.redo()).words).toBe('redo: merge topic into main')
})

test('an undo in a branch that was never pushed asks for no forced push, whatever it had merged', async () => {
  await using desk = await makePair(CLEAN)
  const { work, git } = desk
  await publish(desk)
  await git('update-ref', '-d', 'refs/remotes/published/main')
  await git('branch', 'feature/main', 'topic')
  await git('update-ref', 'refs/remotes/published/feature/main', await git('rev-parse', 'topic'))
  await work.steps.do(merge(desk))
  expect((await work.undo()).words).toBe('undo: merge topic into main')
})

test('undoing a pull says that the branch is behind again, not that a push must be forced', async () => {
  await using desk = await makePair(CLEAN)
  const { work, git } = desk
  await publish(desk)
  const options = { parents: [await git('rev-parse', 'main')] }
  const newer = await commit(desk.path, 'newer', { 'new.txt': 'new\n' }, options)
  await git('push', '-q', 'published', 'newer:main')
  await git('branch', '-q', '-u', 'published/main', 'main')
  await work.steps.do({ step: 'pull', ...onMain, how: 'fast-forward' })
  expect(await git('rev-parse', 'main')).toBe(newer)
  expect((await work.undo()).words).toBe(
    'undo: pull published/main into main; main is 1 commit behind the remote again',
  )
})

/** Two commits of a colleague on published/main, of which main, with a commit of its own, is the upstream's. */
async function publishOthers({ path, git, base }: Pair): Promise<void> {
  const first = await commit(path, 'others', { 'first.txt': 'first\n' }, { parents: [base] })
  await commit(path, 'others', { 'second.txt': 'second\n' }, { parents: [first] })
  const place = join(path, '..', 'published.git')
  await bare(place)
  await git('remote', 'add', 'published', place)
  await git('push', '-q', 'published', 'others:main')
  // The branch is there by a fetch of what a colleague has pushed.
  await git('update-ref', '-d', 'refs/remotes/published/main')
  await git('fetch', '-q', 'published')
  await git('branch', '-q', '-u', 'published/main', 'main')
}

for (const how of ['merge', 'rebase'] as const)
  test(`undoing a pull by ${how} asks for no forced push: the commits of others stay on the remote`, async () => {
    await using desk = await makePair(CLEAN, {})
    const { work, git } = desk
    await publishOthers(desk)
    await work.steps.do({ step: 'pull', branch: 'main', how })
    const named = how === 'merge' ? 'merge published/main into main' : 'rebase main onto published/main'
    const behind = `undo: ${named}; main is 2 commits behind the remote again`
    expect((await work.undo()).words).toBe(behind)
    await work.redo()
    await git('push', '-q', 'published', 'main')
    expect((await work.undo()).words).toEndWith(
      'on a remote already and stay there: a push of main has to be forced now',
    )
  })

test('undoing a fast-forward to the upstream asks for a forced push only if a push has moved it there', async () => {
  await using desk = await makePair(CLEAN, {})
  const { work, git, source } = desk
  await publishOthers(desk)
  await git('update-ref', 'refs/heads/behind', desk.base)
  await git('branch', '-q', '-u', 'published/main', 'behind')
  await work.look()
  const upstream = { commit: await git('rev-parse', 'published/main'), words: 'published/main' }
  await work.steps.do({ step: 'merge', source: upstream, onto: 'behind' })
  expect((await work.undo()).words).toEndWith('; behind is 2 commits behind the remote again')
  await git('update-ref', 'refs/heads/pushed', desk.base)
  await git('push', '-q', '-u', 'published', 'pushed')
  await work.look()
  await work.steps.do({ step: 'merge', source, onto: 'pushed' })
  await git('push', '-q', 'published', 'pushed')
  expect((await work.undo()).words).toEndWith('stays there: a push of pushed has to be forced now')
})

test('several operations are undone one by one after a garbage collection', async () => {
  await using desk = await makePair(CLEAN)
  const { work } = desk
  const states = [await stateOf(desk)]
  const steps: (() => Promise<unknown>)[] = [
    () => ask(work, 'new file', { branch: 'main', path: 'new.txt' }),
    () => work.steps.do(merge(desk)),
    () => work.renameBranch('topic', 'renamed'),
    () => ask(work, 'delete branch', { branch: 'renamed' }),
    () => work.steps.do({ step: 'tag', name: 'v1', at: desk.ours, message: 'The first' }),
    () => work.steps.do({ step: 'move', branch: 'main', to: { commit: desk.base, words: 'base' } }),
    () => work.steps.do({ step: 'delete tag', name: 'v1' }),
  ]
  for (const step of steps) {
    await step()
    states.push(await stateOf(desk))
  }
  await tidy(desk)
  for (const before of states.toReversed().slice(1)) {
    await work.undo()
    expect(await stateOf(desk)).toEqual(before)
    await tidy(desk)
  }
  for (const after of states.slice(1)) {
    await work.redo()
    expect(await stateOf(desk)).toEqual(after)
  }
})

test('the virtual base of a conflict survives a garbage collection', async () => {
  const files = (text: string): Files => ({ 'a.txt': text })
  await using desk = await makePair({ base: files('0\n'), ours: files('1\n'), theirs: files('2\n') })
  const { work, ours, theirs, path } = desk
  // Both branches have merged each other: the base of the next merge is a virtual merge of both bases.
  await commit(path, 'main', files('3\n'), { parents: [ours, theirs] })
  const tip = await commit(path, 'topic', files('4\n'), { parents: [theirs, ours] })
  await work.look()
  await work.steps.do({ step: 'merge', source: { ...desk.source, commit: tip }, onto: 'main' })
  const conflict = await work.mergings.conflict('main', 'a.txt')
  await tidy(desk)
  await desk.restart()
  expect(await desk.work.mergings.conflict('main', 'a.txt')).toEqual(conflict)
  await desk.work.mergings.takeSide('main', 'a.txt', 'base')
  await desk.work.mergings.finish('main')
  await desk.git('fsck', '--strict', '--connectivity-only', '--no-dangling')
})
