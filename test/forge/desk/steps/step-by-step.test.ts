/** Steps on branches and tags: previewed, run, undone, refused. */
import { expect, test } from 'bun:test'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Step } from '../../../../forge/desk/contract/steps.ts'
import { ask, conflictsIn, edit, PERSON, textOf } from '../../../support/desk.ts'
import { commit, type Files, gitWith, show } from '../../../support/git.ts'
import { lines, makeChain, makePair, type Pair, type Sides } from '../../../support/merging.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { makeFolder } from '../../../support/repository.ts'
import { signBySlowHand } from '../../../support/signing.ts'

const CLEAN: Sides = { base: { 'a.txt': 'a\n' }, ours: { 'ours.txt': 'o\n' }, theirs: { 'theirs.txt': 't\n' } }

const tree = (desk: Pair, name: string) => desk.git('rev-parse', `${name}^{tree}`)

/** Previews a step and runs it: the files match the preview, and undo restores everything. */
async function doAsPreviewed(desk: Pair, step: Step, branch: string) {
  const { work } = desk
  const refs = () => desk.git('for-each-ref', 'refs/heads', 'refs/tags', 'refs/forge/kept', 'refs/forge/drafts')
  const before = await refs()
  const preview = await work.steps.preview(step)
  expect(preview).toMatchObject({ before: await desk.git('rev-parse', branch) })
  expect(['clean', 'drops']).toContain(preview.is)
  expect(await tree(desk, preview.result ?? '')).toBe(preview.tree ?? '')
  const done = await work.steps.do(step, preview)
  expect(await tree(desk, branch)).toBe(preview.tree ?? '')
  expect(await desk.git('rev-parse', branch)).toBe(done.commit ?? '')
  const after = await refs()
  await work.undo()
  expect(await refs()).toBe(before)
  await work.redo()
  expect(await refs()).toBe(after)
  await desk.git('fsck', '--strict', '--no-dangling')
  return { preview, done }
}

test('a merge makes the commit that git makes, and is undone', async () => {
  await using desk = await makePair(CLEAN)
  const step: Step = { step: 'merge', source: desk.source, onto: 'main' }
  const { preview } = await doAsPreviewed(desk, step, 'main')
  expect(preview).toMatchObject({ commits: 1, message: "Merge branch 'topic'\n", conflicts: 0 })
  expect(await desk.git('log', '-1', '--format=%P %an %s', 'main')).toBe(
    `${desk.ours} ${desk.theirs} Ada Merge branch 'topic'`,
  )
  const back = { commit: await desk.git('rev-parse', 'main'), branch: 'main', words: 'main' }
  const forward = await desk.work.steps.preview({ step: 'merge', source: back, onto: 'topic' })
  expect(forward).toMatchObject({ is: 'clean', words: 'fast-forward' })
  const wanted = { step: 'merge', source: back, onto: 'topic', isCommitWanted: true } as const
  expect((await desk.work.steps.preview(wanted)).message).toBe("Merge branch 'main' into topic\n")
})

test('a fast-forward moves only the branch, and never brings a conversation', async () => {
  await using desk = await makePair({ ...CLEAN, ours: {} })
  await desk.git('update-ref', 'refs/heads/main', desk.base)
  await desk.work.look()
  const step: Step = { step: 'merge', source: desk.source, onto: 'main' }
  await doAsPreviewed(desk, step, 'main')
  expect(await desk.git('rev-parse', 'main')).toBe(desk.theirs)
  const talk = await commit(desk.path, 'topic', { '.forge/session.json': '{}\n', 'b.txt': 'b\n' })
  const source = { ...desk.source, commit: talk }
  const { preview } = await doAsPreviewed(desk, { step: 'merge', source, onto: 'main' }, 'main')
  expect(preview.warnings.join()).toContain('.forge/ belongs to its branch')
  expect(await desk.git('ls-tree', '-r', '--name-only', 'main')).toBe('a.txt\nb.txt\ntheirs.txt')
})

test('a landing is one commit without the conversation, and the tip is kept', async () => {
  await using desk = await makePair(CLEAN)
  const model = 'Forge-Model: openai/made-up\nForge-Turn: 1'
  const message = `Say more\n\nBecause.\n\n${model}\n`
  const tip = await commit(desk.path, 'topic', { '.forge/session.json': '{}\n', 'b.txt': 'b\n' }, { message })
  const source = { ...desk.source, commit: tip }
  const { preview } = await doAsPreviewed(desk, { step: 'land', source, onto: 'main' }, 'main')
  expect(preview.message).toBe(
    `Land topic\n\n- Change theirs\n- Say more\n\nCo-authored-by: Una Upstream <una@upstream.example>\nForge-Session: topic ${tip.slice(0, 12)}\n`,
  )
  expect(await desk.git('log', '-1', '--format=%P', 'main')).toBe(desk.ours)
  expect(await desk.git('ls-tree', '-r', '--name-only', 'main')).toBe('a.txt\nb.txt\nours.txt\ntheirs.txt')
  expect(await desk.git('rev-parse', `refs/forge/kept/topic-${tip.slice(0, 8)}`)).toBe(tip)
  const again = await desk.work.steps.preview({ step: 'land', source, onto: 'main' })
  expect(again).toMatchObject({ is: 'nothing', words: 'nothing to do' })
  expect(await refusedBy(desk.work.steps.do({ step: 'land', source, onto: 'main' }))).toThrow('nothing to do')
})

test('a landing names the authors of the commits besides the user, each once', async () => {
  await using desk = await makePair(CLEAN)
  const land = async (message: string, author: string) => {
    const tip = await commit(desk.path, 'topic', { 'b.txt': message }, { message, author })
    const source = { ...desk.source, commit: tip }
    return (await desk.work.steps.preview({ step: 'land', source, onto: 'main' })).message
  }
  const una = 'Co-authored-by: Una Upstream <una@upstream.example>'
  const list = 'Land topic\n\n- Change theirs\n- One\n'
  expect(await land('One', 'Ada <Ada@example.org>')).toBe(`${list}\n${una}\n`)
  const named = 'Two\n\nCo-authored-by: Bea <bea@example.org>\nCo-authored-by: ada <ada@example.org>\n'
  const bea = 'Co-authored-by: Bea <bea@example.org>'
  expect(await land(named, 'Una U <una@upstream.example>')).toBe(
    `${list}- Two\n\n${una.replace('Upstream', 'U')}\n${bea}\n`,
  )
})

test('a rebase keeps author, date and every byte of the message', async () => {
  await using desk = await makePair(CLEAN)
  const latin = Buffer.from('Gr\xfc\xdfe\n\n  odd  \n\n', 'latin1')
  const parent = await desk.git('rev-parse', 'topic')
  const blob = await gitWith(desk.path, ['hash-object', '-w', '--stdin'], 'x\n')
  const files = await gitWith(desk.path, ['mktree'], `100644 blob ${blob}\tx\n`)
  const head = `tree ${files}\nparent ${parent}\nauthor B\xf6rk <b@example.org> 1700000000 +0545\ncommitter C <c@example.org> 1700000001 +0000\nencoding ISO-8859-1\n\n`
  const file = join(desk.folder, 'commit')
  await writeFile(file, Buffer.concat([Buffer.from(head, 'latin1'), latin]))
  const tip = await desk.git('hash-object', '-t', 'commit', '-w', file)
  await desk.git('update-ref', 'refs/heads/topic', tip)
  await desk.work.look()
  const onto = { commit: desk.ours, branch: 'main', words: 'main' }
  const { preview } = await doAsPreviewed(desk, { step: 'rebase', branch: 'topic', onto }, 'topic')
  expect(preview.commits).toBe(2)
  const made = Buffer.from(await Bun.$`git -C ${desk.path} cat-file commit topic`.arrayBuffer())
  expect(made.subarray(-latin.length)).toEqual(latin)
  expect(made.toString('latin1')).toContain('author B\xf6rk <b@example.org> 1700000000 +0545\ncommitter Ada')
  expect(made.toString('latin1')).toContain('\nencoding ISO-8859-1\n')
})

test('the preview of a rebase names the merges whose own changes it leaves out, as git rebase does', async () => {
  await using desk = await makePair({ ...CLEAN, theirs: { 'c.txt': 'topic\n' } })
  const { path, work, base } = desk
  const tip = () => desk.git('rev-parse', 'topic')
  const merge = async (message: string, side: string, files: Files) =>
    await commit(path, 'topic', files, { message, parents: [await tip(), side] })
  const clean = await commit(path, 'clean', { 'clean.txt': '1\n' }, { parents: [base] })
  await merge('Merge clean', clean, { 'clean.txt': '1\n' })
  const onto = { commit: desk.ours, branch: 'main', words: 'main' }
  const step: Step = { step: 'rebase', branch: 'topic', onto }
  await work.look()
  expect((await work.steps.preview(step)).warnings).toEqual([])
  const side = await commit(path, 'side', { 'side.txt': '1\n' }, { parents: [base] })
  const amended = await merge('Merge side', side, { 'side.txt': '1\n', 'more.txt': 'amended\n' })
  const where = (words: string) =>
    `left out, and with ${words} what was changed in the merge itself, such as resolved conflicts.`
  const clash = await commit(path, 'clash', { 'c.txt': 'clash\n' }, { parents: [base] })
  await merge('Merge clash', clash, { 'c.txt': 'both\n' })
  await work.look()
  expect((await work.steps.preview(step)).warnings).toEqual([
    `The merges “Merge clash”, “Merge side” are ${where('them')}`,
  ])
  await desk.git('update-ref', 'refs/heads/topic', amended)
  await work.look()
  const { preview } = await doAsPreviewed(desk, step, 'topic')
  expect(preview.warnings).toEqual([`The merge “Merge side” is ${where('it')}`])
  expect(await desk.git('ls-tree', '--name-only', 'topic')).toBe('a.txt\nc.txt\nclean.txt\nours.txt\nside.txt')
})

test('a rebased branch keeps its own conversation, and a cherry-pick brings none', async () => {
  const file = '.forge/session.json'
  await using desk = await makePair({ ...CLEAN, ours: { ...CLEAN.ours, [file]: 'main\n' } })
  const talk = await commit(desk.path, 'topic', { 'b.txt': 'b\n', [file]: 'topic\n' })
  await commit(desk.path, 'topic', { 'c.txt': 'c\n' })
  await desk.work.look()
  await doAsPreviewed(desk, { step: 'cherry-pick', commits: [talk], onto: 'main' }, 'main')
  expect(await show(desk.path, 'main', file)).toBe('main')
  const onto = { commit: desk.ours, words: 'main' }
  await doAsPreviewed(desk, { step: 'rebase', branch: 'topic', onto }, 'topic')
  expect(await show(desk.path, 'topic', file)).toBe('topic')
  expect(await show(desk.path, 'topic~', file)).toBe('topic')
})

test('one commit, or several, are cherry-picked; of a merge, what it brought into its first parent', async () => {
  await using desk = await makePair(CLEAN)
  const second = await commit(desk.path, 'topic', { 'b.txt': 'b\n' })
  await doAsPreviewed(desk, { step: 'cherry-pick', commits: [desk.theirs, second], onto: 'main' }, 'main')
  expect(await desk.git('rev-list', '--count', `${desk.ours}..main`)).toBe('2')
  const again: Step = { step: 'cherry-pick', commits: [second], onto: 'main' }
  expect(await desk.work.steps.preview(again)).toMatchObject({ is: 'nothing' })
  const merge = await commit(desk.path, 'topic', { 'm.txt': 'm\n' }, { parents: [second, desk.ours] })
  const picked: Step = { step: 'cherry-pick', commits: [merge], onto: 'main' }
  const tip = await desk.git('rev-parse', 'main')
  const note = `${merge.slice(0, 8)} is a merge: what it brought into its first parent ${second.slice(0, 8)} is picked, as one commit.`
  expect(await desk.work.steps.preview(picked)).toMatchObject({ is: 'clean', notes: [note] })
  await doAsPreviewed(desk, picked, 'main')
  expect(await desk.git('rev-list', '--parents', '-1', 'main')).toEndWith(` ${tip}`)
  expect(await show(desk.path, 'main', 'm.txt')).toBe('m')
})

test('a stash is cherry-picked as git stash apply restores it, with its untracked files', async () => {
  const base = { 'a.txt': 'a\n', 'docs/a.md': 'a\n', 'gone.txt': 'g\n' }
  await using desk = await makePair({ ...CLEAN, base })
  const folder = `${desk.path}-checkout`
  await desk.git('worktree', 'add', '--quiet', '--detach', folder, 'topic')
  const inFolder = (...words: string[]) =>
    desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', ...words)
  const stashed = async (...words: string[]) => {
    await inFolder('stash', 'push', '--quiet', '-u', ...words)
    const oid = await desk.git('rev-parse', 'stash')
    await inFolder('checkout', '--quiet', '--detach', 'main')
    await inFolder('stash', 'apply', '--quiet')
    await inFolder('add', '--all')
    const applied = await inFolder('write-tree')
    await inFolder('reset', '--quiet', '--hard', 'topic')
    return { oid, applied }
  }
  await writeFile(join(folder, 'a.txt'), 'changed\n')
  await inFolder('rm', '--quiet', 'gone.txt')
  await mkdir(join(folder, 'new/deep'), { recursive: true })
  for (const path of ['docs/new.md', 'new/deep/b.txt', 'new.txt']) await writeFile(join(folder, path), `${path}\n`)
  const whole = await stashed()
  const step: Step = { step: 'cherry-pick', commits: [whole.oid], onto: 'main' }
  const { preview } = await doAsPreviewed(desk, step, 'main')
  expect(preview.tree).toBe(whole.applied)
  const [short, below] = [whole.oid.slice(0, 8), desk.theirs.slice(0, 8)]
  const words = `${short} is a stash: its changes since ${below} are picked as one commit`
  expect(preview.notes).toEqual([`${words}, with its untracked files.`])
  expect(await desk.work.steps.preview(step)).toMatchObject({ is: 'nothing' })
  // A stash of untracked files alone has the tree of the commit that it was made on.
  await writeFile(join(folder, 'only.txt'), 'only\n')
  const { oid, applied } = await stashed()
  const only = await doAsPreviewed(desk, { step: 'cherry-pick', commits: [oid], onto: 'main' }, 'main')
  expect(only.preview.tree).toBe(applied)
})

test('an untracked file of a stash conflicts with another file of its name', async () => {
  await using desk = await makePair({ ...CLEAN, ours: { 'new.txt': 'ours\n' } })
  const folder = `${desk.path}-checkout`
  await desk.git('worktree', 'add', '--quiet', '--detach', folder, 'topic')
  await writeFile(join(folder, 'new.txt'), 'stashed\n')
  await desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash', '--quiet', '-u')
  const step: Step = { step: 'cherry-pick', commits: [await desk.git('rev-parse', 'stash')], onto: 'main' }
  expect(await desk.work.steps.preview(step)).toMatchObject({ is: 'conflicts', conflictsIn: [{ path: 'new.txt' }] })
})

test('a commit is reverted as git revert does it, and the revert as well', async () => {
  await using desk = await makePair(CLEAN)
  await commit(desk.path, 'main', { 'later.txt': 'l\n' })
  const revert = (oid: string): Step => ({ step: 'revert', commits: [oid], onto: 'main' })
  for (const oid of [desk.ours, 'main']) {
    const before = await desk.git('rev-parse', 'main')
    const reverted = oid === 'main' ? before : oid
    await desk.git('worktree', 'add', '-q', '--detach', join(desk.folder, oid), before)
    await gitWith(join(desk.folder, oid), ['revert', '--no-edit', reverted], undefined, PERSON)
    const wanted = await gitWith(join(desk.folder, oid), ['log', '-1', '--format=%T%n%an%n%B', 'HEAD'])
    await desk.work.look()
    await doAsPreviewed(desk, revert(reverted), 'main')
    expect(await desk.git('log', '-1', '--format=%T%n%an%n%B', 'main')).toBe(
      // As git 2.43 and later write it.
      wanted.replace('Revert "Revert "Change ours""', 'Reapply "Change ours"'),
    )
    expect(await desk.git('rev-parse', 'main~')).toBe(before)
  }
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe('Reapply "Change ours"')
  await doAsPreviewed(desk, { ...revert(desk.ours), message: 'Not yet\n\nIt broke b.' } as Step, 'main')
  expect(await desk.git('log', '-1', '--format=%B', 'main')).toBe('Not yet\n\nIt broke b.')
  expect(await desk.work.steps.preview(revert(desk.ours))).toMatchObject({ is: 'nothing' })
  expect(await refusedBy(desk.work.steps.do(revert(desk.ours)))).toThrow('does not have the changes of this commit')
})

test('several commits are reverted in their order as git revert does it, by one commit each and one undo', async () => {
  await using desk = await makeChain()
  const [, two = '', three = '', four = '', five = ''] = (await desk.git('rev-list', '--reverse', 'main..topic')).split(
    '\n',
  )
  const before = await desk.git('rev-parse', 'topic')
  const folder = join(desk.folder, 'reverted')
  await desk.git('worktree', 'add', '-q', '--detach', folder, before)
  await gitWith(folder, ['revert', '--no-edit', five, four, three], undefined, PERSON)
  const log = ['log', '--format=%T%n%an%n%B', `${before}..`]
  const wanted = await gitWith(folder, log)
  const revert = (...commits: string[]): Step => ({ step: 'revert', commits, onto: 'topic' })
  const { preview, done } = await doAsPreviewed(desk, revert(five, four, three), 'topic')
  expect(preview).toMatchObject({ words: 'reverts cleanly', commits: 3, warnings: [] })
  expect(preview).not.toHaveProperty('message')
  expect(done.words).toBe('Reverted 3 commits in topic.')
  expect(await desk.git(...log.slice(0, -1), `${before}..topic`)).toBe(wanted)
  // One that is reverted already is left out, and said to be.
  const again = await doAsPreviewed(desk, revert(five, two), 'topic')
  expect(again.preview).toMatchObject({
    commits: 1,
    warnings: ['Nothing of “Five” is left to revert: it is left out.'],
  })
  expect(again.done.words).toBe('Reverted 2 commits in topic. “Five” changed nothing any more, and was left out.')
  expect(await refusedBy(desk.work.steps.do(revert(five, two)))).toThrow('does not have the changes of these commits')
  expect((await desk.work.steps.preview(revert(four, desk.ours))).words).toBe(
    `topic does not have ${desk.ours.slice(0, 8)}.`,
  )
})

test('a merge among several commits is reverted as one alone is, and the preview says so', async () => {
  await using desk = await makePair(CLEAN)
  const source = { commit: desk.theirs, branch: 'topic', words: 'topic' }
  await desk.work.steps.do({ step: 'merge', source, onto: 'main' })
  const merge = await desk.git('rev-parse', 'main')
  const later = await commit(desk.path, 'main', { 'later.txt': 'l\n' })
  await desk.work.look()
  const { preview } = await doAsPreviewed(desk, { step: 'revert', commits: [later, merge], onto: 'main' }, 'main')
  expect(preview.warnings.join()).toContain(`${merge.slice(0, 8)} is a merge: what it brought is reverted. Its commits`)
  expect(await tree(desk, 'main')).toBe(await tree(desk, desk.ours))
  expect(await desk.git('rev-list', '--count', `${later}..main`)).toBe('2')
})

test('of a merge is reverted what it brought into its first parent; a first commit and one of elsewhere are not', async () => {
  await using desk = await makePair(CLEAN)
  const source = { commit: desk.theirs, branch: 'topic', words: 'topic' }
  await desk.work.steps.do({ step: 'merge', source, onto: 'main' })
  const merge = await desk.git('rev-parse', 'main')
  const { preview } = await doAsPreviewed(desk, { step: 'revert', commits: [merge], onto: 'main' }, 'main')
  expect(preview.warnings.join()).toContain('merging that branch again does not bring them back')
  expect(await desk.git('rev-parse', 'main^{tree}')).toBe(await desk.git('rev-parse', `${desk.ours}^{tree}`))
  const words = await desk.git('log', '-1', '--format=%B', 'main')
  expect(words).toEndWith(`This reverts commit ${merge}, reversing\nchanges made to ${desk.ours}.`)
  const impossible = async (oid: string, onto: string) =>
    expect(await desk.work.steps.preview({ step: 'revert', commits: [oid], onto })).toMatchObject({ is: 'impossible' })
  await impossible(desk.base, 'main')
  await impossible(desk.ours, 'topic')
})

test('the preview of a move names the branch’s own commits, and undo restores them', async () => {
  await using desk = await makePair(CLEAN)
  const to = { commit: desk.base, words: desk.base.slice(0, 8) }
  const { preview } = await doAsPreviewed(desk, { step: 'move', branch: 'topic', to }, 'topic')
  expect(preview).toMatchObject({ is: 'drops', words: 'drops 1 commit' })
  expect(preview.warnings.join()).toContain('“Change theirs”')
  await desk.git('gc', '-q', '--prune=now')
  await desk.work.undo()
  expect(await desk.git('rev-parse', 'topic')).toBe(desk.theirs)
})

test('a move says which commits no other branch has, and also counts those that another has', async () => {
  await using desk = await makePair(CLEAN)
  await desk.git('branch', 'copy', 'topic')
  const more = await commit(desk.path, 'more', { 'more.txt': 'm\n' }, { parents: [desk.theirs] })
  const to = { commit: desk.base, words: desk.base.slice(0, 8) }
  const step: Step = { step: 'move', branch: 'topic', to }
  const kept = await desk.work.steps.preview(step)
  expect(kept).toMatchObject({ is: 'drops', words: 'drops 1 commit that is on another branch or tag', warnings: [] })
  await desk.work.steps.do({ step: 'merge', source: { commit: more, words: 'more' }, onto: 'topic' })
  await desk.git('branch', '-D', 'more')
  const both = await desk.work.steps.preview(step)
  expect(both).toMatchObject({ is: 'drops', words: 'drops 2 commits, 1 of them on no other branch or tag' })
  expect(both.warnings.join()).toContain('“Change more.txt”: the operation keeps it, and can be undone.')
})

test('lightweight and annotated tags are created and deleted, and undone', async () => {
  await using desk = await makePair(CLEAN)
  const { work } = desk
  await work.steps.do({ step: 'tag', name: 'v1', at: desk.ours })
  await work.steps.do({ step: 'tag', name: 'v2', at: desk.ours, message: 'The second' })
  expect(
    await desk.git('for-each-ref', '--format=%(refname) %(objecttype) %(*objectname)%(contents)', 'refs/tags'),
  ).toBe(`refs/tags/v1 commit Change ours\n\nrefs/tags/v2 tag ${desk.ours}The second`)
  await desk.git('fsck', '--strict')
  expect(await refusedBy(work.steps.do({ step: 'tag', name: 'v1', at: desk.base }))).toThrow(
    'There is a tag v1 already',
  )
  expect(await refusedBy(work.steps.do({ step: 'tag', name: '-x', at: desk.base }))).toThrow(
    "can't be the name of a tag",
  )
  await work.steps.do({ step: 'delete tag', name: 'v2' })
  await work.undo()
  expect(await desk.git('cat-file', '-t', 'v2')).toBe('tag')
  await work.undo()
  expect(await desk.git('tag')).toBe('v1')
})

test('a tag with a message is made as by git tag: with its identity and signature, and with every line', async () => {
  await using desk = await makePair(CLEAN)
  const { work, ours: at } = desk
  const message = '# Notes\n\nThe first.\n'
  const tag = (name: string, more = {}) => work.steps.do({ step: 'tag', name, at, ...more })
  await tag('plain', { message })
  expect(await desk.git('for-each-ref', '--format=%(taggername)|%(contents)', 'refs/tags/plain')).toBe(
    'Ada|# Notes\n\nThe first.',
  )
  const hand = await signBySlowHand(desk.folder, desk.path)
  // tag.forceSignAnnotated is about tags with a message alone.
  await desk.git('config', 'tag.forceSignAnnotated', 'true')
  await tag('light')
  expect(await desk.git('cat-file', '-t', 'light')).toBe('commit')
  const signed = tag('signed', { message })
  await hand.asked()
  await hand.answer('yes')
  await signed
  expect(await desk.git('cat-file', 'tag', 'signed')).toContain('BEGIN PGP SIGNATURE')
  await desk.git('config', 'tag.forceSignAnnotated', 'false')
  await desk.git('config', 'tag.gpgSign', 'true')
  expect(await refusedBy(tag('lighter'))).toThrow('a signed tag needs a message: enter one')
  const refused = tag('refused', { message })
  await hand.asked(2)
  await hand.answer('no')
  expect(await refusedBy(refused)).toThrow('The tag could not be signed')
  expect(await desk.git('tag')).toBe('light\nplain\nsigned')
  expect((await work.undoable()).undo).toEndWith('as signed')
  const object = await desk.git('rev-parse', 'signed')
  await work.steps.do({ step: 'delete tag', name: 'signed' })
  await work.undo()
  expect(await desk.git('rev-parse', 'signed')).toBe(object)
})

test('a tag is renamed unless git finds a signature in it, whatever its message quotes', async () => {
  await using desk = await makePair(CLEAN)
  const { work, ours: at } = desk
  const quoted = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n\ngpgsig of the old key\n'
  await work.steps.do({ step: 'tag', name: 'v1', at, message: `A new certificate\n\n${quoted}` })
  await work.steps.do({ step: 'rename tag', name: 'v1', to: 'v2' })
  expect(await desk.git('for-each-ref', '--format=%(tag)|%(contents)', 'refs/tags')).toBe(
    `v2|A new certificate\n\n${quoted.trim()}`,
  )
  for (const kind of ['PGP SIGNATURE', 'PGP MESSAGE', 'SIGNED MESSAGE', 'SSH SIGNATURE']) {
    const signature = `-----BEGIN ${kind}-----\nx\n-----END ${kind}-----\n`
    const head = `object ${at}\ntype commit\ntag signed\ntagger Ada <ada@example.org> 1700000000 +0000`
    const object = await gitWith(desk.path, ['hash-object', '-t', 'tag', '-w', '--stdin'], `${head}\n\nA\n${signature}`)
    await desk.git('update-ref', 'refs/tags/signed', object)
    expect(await desk.git('for-each-ref', '--format=%(contents:signature)', 'refs/tags/signed')).toBe(signature.trim())
    expect(await refusedBy(work.steps.do({ step: 'rename tag', name: 'signed', to: 'other' }))).toThrow(
      'The tag signed is signed with its name',
    )
  }
})

test('drafts move along, and checkouts follow', async () => {
  await using desk = await makePair(CLEAN, {})
  const { work } = desk
  await (await edit(work, 'main', 'a.txt')).type('typed\n')
  await work.steps.do({ step: 'merge', source: desk.source, onto: 'main' })
  await work.flush()
  expect(await textOf(work, 'main', 'a.txt')).toBe('a\ntyped\n')
  expect(await textOf(work, 'main', 'theirs.txt')).toBe('t\n')
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(await readFile(join(desk.path, 'theirs.txt'), 'utf8')).toBe('t\n')
})

test.each(['merge', 'rebase', 'move'] as const)(
  'a file that a %s deletes is in conflict with what was typed in it, until a version is chosen',
  async step => {
    await using desk = await makePair({ base: { 'a.txt': 'a\n', 'b.txt': 'b\n' }, ours: {}, theirs: { 'a.txt': null } })
    const { work } = desk
    const editor = await edit(work, 'main', 'a.txt')
    await editor.type('typed\n')
    if (step === 'rebase') await work.steps.do({ step, branch: 'main', onto: desk.source })
    else if (step === 'merge') await work.steps.do({ step, source: desk.source, onto: 'main' })
    else await work.steps.do({ step, branch: 'main', to: desk.source })
    await editor.type('on\n')
    const open = { path: 'a.txt', base: 'a\n', draft: 'a\ntyped\non\n', tip: { what: 'nothing' } }
    expect(await conflictsIn(work, 'main')).toMatchObject([open])
    expect(await refusedBy(ask(work, 'save', { branch: 'main', paths: 'all' }))).toThrow('resolve them first')
    const again = await desk.restart()
    expect(await conflictsIn(again, 'main')).toMatchObject([open])
    await ask(again, 'take side', { branch: 'main', path: 'a.txt', side: 'ours' })
    await ask(again, 'save', { branch: 'main', paths: 'all' })
    expect(await show(desk.path, 'main', 'a.txt')).toBe('a\ntyped\non')
  },
)

test.each(['merge', 'rebase', 'move'] as const)(
  'open files follow the renames that a %s brings, with their drafts, and follow its undo and redo',
  async step => {
    const [one, other] = [lines(), lines({ 1: 'another' })]
    const theirs = { 'a.txt': null, 'lib/a.txt': one, 'b.txt': null, 'lib/b.txt': other }
    await using desk = await makePair({ base: { 'a.txt': one, 'b.txt': other }, ours: {}, theirs })
    const { work } = desk
    await (await edit(work, 'main', 'a.txt')).type('typed\n')
    await edit(work, 'main', 'b.txt')
    const followed = () =>
      desk.news.splice(0).flatMap(it => (it.say === 'renamed file' ? [`${it.from} → ${it.to}`] : []))
    if (step === 'rebase') await work.steps.do({ step, branch: 'main', onto: desk.source })
    else if (step === 'merge') await work.steps.do({ step, source: desk.source, onto: 'main' })
    else await work.steps.do({ step, branch: 'main', to: desk.source })
    expect(followed()).toEqual(['a.txt → lib/a.txt', 'b.txt → lib/b.txt'])
    expect(await textOf(work, 'main', 'lib/a.txt')).toBe(`${one}typed\n`)
    await work.undo()
    expect(followed()).toEqual(['lib/a.txt → a.txt', 'lib/b.txt → b.txt'])
    expect(await textOf(work, 'main', 'a.txt')).toBe(`${one}typed\n`)
    await work.redo()
    expect(followed()).toEqual(['a.txt → lib/a.txt', 'b.txt → lib/b.txt'])
    expect(await textOf(work, 'main', 'lib/a.txt')).toBe(`${one}typed\n`)
  },
)

test('a preview names checkouts that can’t follow, and hooks that do not run', async () => {
  await using desk = await makePair(CLEAN, {})
  await writeFile(join(desk.path, 'theirs.txt'), 'my own\n')
  await mkdir(join(desk.path, '.git/hooks'), { recursive: true })
  const hook = join(desk.path, '.git/hooks/commit-msg')
  await writeFile(hook, '#!/bin/sh\nexit 1\n')
  await chmod(hook, 0o755)
  const { warnings } = await desk.work.steps.preview({ step: 'merge', source: desk.source, onto: 'main' })
  expect(warnings.join('\n')).toContain('stays behind: ')
  expect(warnings.join('\n')).toContain('do not run: commit-msg')
})

test('a checkout left behind by a save is named again by a merge, and in the preview of one with conflicts', async () => {
  await using desk = await makePair(CLEAN, {})
  const { work } = desk
  const behind = () => desk.news.filter(it => it.say === 'checkout left behind').length
  await writeFile(join(desk.path, 'a.txt'), 'my own\n')
  await (await edit(work, 'main', 'a.txt')).type('typed\n')
  await ask(work, 'save', { branch: 'main', paths: 'all' })
  await work.flush()
  expect(behind()).toBe(1)
  await commit(desk.path, 'topic', { 'a.txt': 'theirs\n' })
  const source = { commit: await desk.git('rev-parse', 'topic'), branch: 'topic', words: 'topic' }
  const preview = await work.steps.preview({ step: 'merge', source, onto: 'main' })
  expect(preview).toMatchObject({ is: 'conflicts' })
  expect(preview.warnings.join()).toContain(
    `The checkout in ${desk.path} stays behind: a.txt has changes there that are not committed.`,
  )
  const next = await commit(
    desk.path,
    'next',
    { 'a.txt': 'next\n' },
    { parents: [await desk.git('rev-parse', 'main')] },
  )
  await work.steps.do({ step: 'merge', source: { commit: next, words: 'next' }, onto: 'main' })
  await work.flush()
  expect(behind()).toBe(2)
})

test('a preview names the drafts that will be in conflict', async () => {
  await using desk = await makePair(CLEAN)
  const { work } = desk
  const editor = await edit(work, 'main', 'a.txt')
  await editor.type('mine\n', 0, editor.text.length)
  await work.flush()
  const next = await commit(
    desk.path,
    'next',
    { 'a.txt': 'next\n' },
    { parents: [await desk.git('rev-parse', 'main')] },
  )
  const step: Step = { step: 'merge', source: { commit: next, words: 'next' }, onto: 'main' }
  const { is, warnings } = await work.steps.preview(step)
  expect(is).toBe('clean')
  expect(warnings).toContain('1 draft of main will be in conflict with it, to be resolved there: a.txt.')
  await work.steps.do(step)
  expect((await work.branches.work('main')).conflictPaths).toEqual(['a.txt'])
})

test('a preview says which commits of a branch are on a remote', async () => {
  await using desk = await makePair(CLEAN)
  await desk.git('update-ref', 'refs/remotes/origin/topic', desk.theirs)
  const onto = { commit: desk.ours, branch: 'main', words: 'main' }
  const { warnings } = await desk.work.steps.preview({ step: 'rebase', branch: 'topic', onto })
  expect(warnings.join()).toContain('1 commit that goes is on a remote already')
})

test.each(['rebase', 'merge', 'move'] as const)(
  'a %s takes the other branch as it is now, and as previewed',
  async way => {
    await using desk = await makePair(CLEAN)
    const { steps } = desk.work
    // The page's own idea of where main is may be old.
    const main = { commit: desk.ours, branch: 'main', words: 'main' }
    const step: Step =
      way === 'rebase'
        ? { step: 'rebase', branch: 'topic', onto: main }
        : way === 'move'
          ? { step: 'move', branch: 'topic', to: main }
          : { step: 'merge', source: main, onto: 'topic' }
    const stale = await steps.preview(step)
    expect(stale.source).toBe(desk.ours)
    const tip = await commit(desk.path, 'main', { 'later.txt': 'l\n' })
    expect(await refusedBy(steps.do(step, { before: stale.before, source: stale.source }))).toThrow(
      'main was moved since this was previewed',
    )
    const { before, source } = await steps.preview(step)
    expect(source).toBe(tip)
    await steps.do(step, { before, source })
    expect(await desk.git('merge-base', 'topic', tip)).toBe(tip)
  },
)

test('nothing is done if the branch is not as previewed, or shares no history', async () => {
  await using desk = await makePair(CLEAN)
  const { work, source } = desk
  const step: Step = { step: 'merge', source, onto: 'main' }
  const { before } = await work.steps.preview(step)
  const tip = await commit(desk.path, 'main', { 'later.txt': 'l\n' })
  expect(await refusedBy(work.steps.do(step, { before: before }))).toThrow('main was moved since this was previewed')
  expect(await desk.git('rev-parse', 'main')).toBe(tip)
  const stranger = await commit(desk.path, 'stranger', { x: 'x\n' })
  const odd: Step = { step: 'merge', source: { commit: stranger, words: 'stranger' }, onto: 'main' }
  expect(await work.steps.preview(odd)).toMatchObject({
    is: 'impossible',
    words: expect.stringContaining('no history in common'),
  })
  expect(await refusedBy(work.steps.do({ step: 'merge', source, onto: 'nowhere' }))).toThrow('no branch nowhere')
})

test('commits are signed if the user wants that, also in a rebase', async () => {
  await using place = await makeFolder()
  const folder = place.path
  await Bun.$`ssh-keygen -q -t ed25519 -N "" -f ${join(folder, 'key')}`.quiet()
  const signing = {
    GIT_CONFIG_COUNT: '5',
    GIT_CONFIG_KEY_2: 'commit.gpgSign',
    GIT_CONFIG_VALUE_2: 'true',
    GIT_CONFIG_KEY_3: 'gpg.format',
    GIT_CONFIG_VALUE_3: 'ssh',
    GIT_CONFIG_KEY_4: 'user.signingKey',
    GIT_CONFIG_VALUE_4: join(folder, 'key'),
  }
  await using desk = await makePair(CLEAN, { bare: true, env: { ...PERSON, ...signing } })
  const second = await commit(desk.path, 'topic', { 'b.txt': 'b\n' })
  const onto = { commit: desk.ours, branch: 'main', words: 'main' }
  await desk.work.steps.do({ step: 'rebase', branch: 'topic', onto })
  expect(await desk.git('rev-list', '--count', 'main..topic')).toBe('2')
  for (const name of ['topic', 'topic~']) expect(await desk.git('cat-file', 'commit', name)).toContain('gpgsig')
  expect(await show(desk.path, 'topic', 'b.txt')).toBe('b')
  expect(await desk.git('rev-parse', 'topic')).not.toBe(second)
})
