/** Fetch, pull and push of the desk with real remotes: folders, and git over HTTP. */
import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pushRemote } from '../../../../forge/desk/steps/remotes.ts'
import { serveGit } from '../../../doubles/git-http.ts'
import { ask, type Desk, edit, makeDesk } from '../../../support/desk.ts'
import { bare, commit, type Files, git, gitWith } from '../../../support/git.ts'
import { until } from '../../../support/repository.ts'

const MAIN = { branch: 'main' } as const
const push = (more: { isForced?: boolean; to?: string; branch?: string } = {}) =>
  ({ step: 'push', branch: 'main', remote: 'origin', isForced: false, ...more }) as const
const pull = (how: 'fast-forward' | 'merge' | 'rebase') => ({ step: 'pull', ...MAIN, how }) as const

type Far = Desk & {
  /** The remote's repository. */
  origin: string
  far: (...args: string[]) => Promise<string>
  tip: (branch?: string) => Promise<string>
}

/** A desk on a repository whose main has origin's main as its upstream, at the same commit. */
async function makeFar(files: Files = { 'a.txt': 'one\n' }): Promise<Far> {
  const desk = await makeDesk({ bare: true })
  const origin = await bare(join(desk.folder, 'far', 'origin.git'))
  await commit(origin, 'main', files, { message: 'Begin' })
  await desk.git('remote', 'add', 'origin', origin)
  await desk.git('fetch', '-q', 'origin')
  await desk.git('branch', '-q', '--track', 'main', 'origin/main')
  await desk.work.look()
  return Object.assign(desk, {
    origin,
    far: (...args: string[]) => git(origin, ...args),
    tip: (branch = 'main') => desk.git('rev-parse', `refs/heads/${branch}`),
  })
}

const wordsOf = ({ news }: Desk): string[] =>
  news.flatMap(it => (it.say === 'progress' && it.words !== undefined ? [it.words] : []))

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The error of a step. */
const failure = async (asked: Promise<unknown>): Promise<string> =>
  await asked.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  )

test('the usual way to pull is that of the branch as it is now, with a commit that a terminal has made', async () => {
  await using desk = await makeFar()
  expect(await desk.work.steps.wayToPull('main')).toBe('fast-forward')
  await commit(desk.path, 'main', { 'own.txt': 'own\n' }, { message: 'My own' })
  expect(await desk.work.steps.wayToPull('main')).toBe('merge')
})

test('the remote of a push is that of git push: pushRemote, pushDefault, then that of the upstream', async () => {
  await using desk = await makeFar()
  const { repository } = desk.work.steps.room.objects
  await desk.git('branch', 'topic', 'main')
  const remotes = async () => [await pushRemote(repository, 'main'), await pushRemote(repository, 'topic')]
  expect(await remotes()).toEqual(['origin', undefined])
  expect(await pushRemote(repository)).toBeUndefined()
  await desk.git('config', 'remote.pushDefault', 'fork')
  expect(await remotes()).toEqual(['fork', 'fork'])
  expect(await pushRemote(repository)).toBe('fork')
  await desk.git('config', 'branch.topic.pushRemote', 'other')
  expect(await remotes()).toEqual(['fork', 'other'])
  expect(await pushRemote(repository, 'gone')).toBeUndefined()
})

test('a fetch over HTTP reports its progress and its result', async () => {
  await using desk = await makeFar()
  await using server = serveGit(join(desk.folder, 'far'))
  await desk.git('config', 'remote.origin.url', `${server.url}/origin.git`)
  const tip = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  await commit(desk.origin, 'topic', { 'c.txt': 'three\n' }, { message: 'Three' })
  await desk.far('tag', 'v1', 'main')
  const before = await desk.tip()
  const { words } = await desk.work.steps.do({ step: 'fetch' })
  expect(words).toBe('Fetched from origin: 1 branch moved, 1 branch new, 1 tag new.')
  expect(await desk.git('rev-parse', 'origin/main')).toBe(tip)
  expect(await desk.tip()).toBe(before)
  expect(wordsOf(desk)[0]).toBe('Fetching…')
  // Which lines are reported depends on timing: only the newest one per interval is.
  expect(wordsOf(desk).length).toBeGreaterThan(1)
  expect(desk.news.filter(({ say }) => say === 'progress').at(-1)).toEqual({ say: 'progress' })
  expect((await desk.work.steps.do({ step: 'fetch', remote: 'origin' })).words).toBe(
    'Fetched from origin: nothing new.',
  )
})

test('if one of two remotes fails, the other is still fetched', async () => {
  await using desk = await makeFar()
  await desk.git('remote', 'add', 'gone', join(desk.folder, 'nothing'))
  const tip = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  const words = await failure(desk.work.steps.do({ step: 'fetch' }))
  expect(words).toContain('There is no repository where gone points to')
  expect(words).toContain('The rest was fetched from origin: 1 branch moved.')
  expect(await desk.git('rev-parse', 'origin/main')).toBe(tip)
})

test('a branch whose name is in the way does not prevent fetching the others', async () => {
  await using desk = await makeFar()
  await desk.far('branch', 'topic', 'main')
  await desk.work.steps.do({ step: 'fetch' })
  await desk.far('branch', '-D', 'topic')
  await desk.far('branch', 'topic/one', 'main')
  const tip = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  await desk.git('config', 'fetch.prune', 'false')
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).toContain('run git remote prune origin')
  expect(await desk.git('rev-parse', 'origin/main')).toBe(tip)
  await desk.git('remote', 'prune', 'origin')
  expect((await desk.work.steps.do({ step: 'fetch' })).words).toBe('Fetched from origin: 1 branch new.')
})

test('a missing remote is reported in a sentence', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).toContain('There is no remote to fetch from')
  expect(await failure(desk.work.steps.do({ step: 'fetch', remote: '--all' }))).toContain('There is no remote --all')
  expect((await desk.work.steps.preview(pull('merge'))).words).toContain('main has no upstream branch')
  expect((await desk.work.steps.preview(push())).words).toContain('There is no remote origin')
  await desk.git('remote', 'add', 'origin', 'http://127.0.0.1:1/origin.git')
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).toContain("origin can't be reached")
})

test('a pull fast-forwards a branch without commits of its own, and undo reverts it', async () => {
  await using desk = await makeFar()
  const before = await desk.tip()
  const tip = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  // The remote's commits are unknown before the fetch.
  expect(await desk.work.steps.preview(pull('fast-forward'))).toMatchObject({
    is: 'nothing',
    words: 'already up to date with origin/main',
  })
  const done = await desk.work.steps.do(pull('fast-forward'), { before: before })
  expect(done).toEqual({ words: 'Pulled origin/main into main by a fast-forward.', commit: tip })
  expect(await desk.tip()).toBe(tip)
  await desk.work.undo()
  expect(await desk.tip()).toBe(before)
  expect(await desk.git('rev-parse', 'origin/main')).toBe(tip)
  expect(await desk.work.steps.preview(pull('fast-forward'))).toMatchObject({ is: 'clean', commits: 1 })
})

test('a pull brings in the previewed commits, and no later ones', async () => {
  await using desk = await makeFar()
  const first = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  expect((await desk.work.steps.do({ step: 'fetch', ...MAIN })).words).toBe('Fetched from origin: 1 branch moved.')
  const preview = await desk.work.steps.preview(pull('fast-forward'))
  expect(preview).toMatchObject({ is: 'clean', words: 'fast-forward', commits: 1, there: first, warnings: [] })
  const second = await commit(desk.origin, 'main', { 'c.txt': 'three\n' }, { message: 'Three' })
  await desk.work.steps.do(pull('fast-forward'), preview)
  expect(await desk.tip()).toBe(first)
  const next = await desk.work.steps.preview(pull('fast-forward'))
  await desk.work.steps.do({ step: 'fetch', ...MAIN })
  expect(await failure(desk.work.steps.do(pull('fast-forward'), { ...next, there: first }))).toContain(
    'origin/main was fetched since this preview: nothing was pulled',
  )
  await desk.work.steps.do(pull('fast-forward'), await desk.work.steps.preview(pull('fast-forward')))
  expect(await desk.tip()).toBe(second)
})

test('a pull merges or rebases diverged branches, and never merges if only a fast-forward was requested', async () => {
  await using desk = await makeFar()
  const tip = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  expect(await failure(desk.work.steps.do(pull('fast-forward'), { before: own }))).toContain(
    'main has 1 commit of its own',
  )
  expect(await desk.tip()).toBe(own)
  expect((await desk.work.steps.preview(pull('fast-forward'))).is).toBe('impossible')
  await desk.work.steps.do(pull('merge'), { before: own })
  expect(await desk.git('log', '-1', '--format=%P %s', 'main')).toBe(
    `${own} ${tip} Merge remote-tracking branch 'origin/main'`,
  )
  await desk.work.undo()
  await desk.work.steps.do(pull('rebase'), { before: own })
  expect(await desk.git('log', '--format=%s', 'main')).toBe('Own\nTwo\nBegin')
  await desk.work.undo()
  expect(await desk.tip()).toBe(own)
})

test('a pull with a conflict waits for its resolution', async () => {
  await using desk = await makeFar()
  await commit(desk.origin, 'main', { 'a.txt': 'far\n' }, { message: 'Far' })
  const own = await commit(desk.path, 'main', { 'a.txt': 'near\n' }, { message: 'Near' })
  await desk.work.look()
  expect(await desk.work.steps.do(pull('merge'), { before: own })).toMatchObject({ merging: 'main' })
  expect((await desk.work.mergings.in('main'))?.files.map(({ path }) => path)).toEqual(['a.txt'])
  expect(await desk.tip()).toBe(own)
})

test('a push sends the previewed commits, and sets the upstream of a new branch', async () => {
  await using desk = await makeFar()
  await using server = serveGit(join(desk.folder, 'far'))
  await desk.git('config', 'remote.origin.url', `${server.url}/origin.git`)
  const tip = await commit(desk.path, 'main', { 'b.txt': 'two\n', '.forge/session.json': '{}\n' }, { message: 'Two' })
  await desk.git('branch', 'topic', 'main')
  await desk.work.look()
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('more\n')
  const preview = await desk.work.steps.preview(push())
  expect(preview).toMatchObject({ is: 'clean', words: '1 commit to origin/main', commits: 1, before: tip })
  expect(preview.brings).toEqual({ count: 1, newest: [{ oid: tip, subject: 'Two' }] })
  expect(preview.warnings.join('\n')).toContain('.forge/ goes out too')
  expect(preview.warnings.join('\n')).toContain('Drafts in 1 file of main are not saved')
  const { words } = await desk.work.steps.do(push(), { before: tip })
  expect(words).toBe('Pushed main to origin/main: 1 commit.')
  expect(await desk.far('rev-parse', 'main')).toBe(tip)
  expect(await desk.git('rev-parse', 'origin/main')).toBe(tip)
  expect(await desk.work.steps.preview(push())).toMatchObject({ is: 'nothing', warnings: [] })
  const more = await desk.work.steps.preview(push({ branch: 'topic', to: 'other' }))
  expect(more).toMatchObject({ is: 'clean', words: 'creates origin/other', commits: 0 })
  expect(more).toMatchObject({ warnings: [], notes: ['topic will track origin/other.'] })
  await desk.work.steps.do(push({ branch: 'topic', to: 'other' }))
  expect(await desk.git('rev-parse', '--abbrev-ref', 'topic@{upstream}')).toBe('origin/other')
})

test('a push names all commits that the remote branch gets, also those of a merged branch that is pushed, too', async () => {
  await using desk = await makeFar()
  const one = await commit(desk.path, 'feature', { 'b.txt': 'one\n' }, { message: 'One', parents: [await desk.tip()] })
  const two = await commit(desk.path, 'feature', { 'b.txt': 'two\n' }, { message: 'Two' })
  await desk.git('push', '-q', 'origin', 'feature')
  const files = { 'b.txt': 'two\n' }
  const merged = await commit(desk.path, 'main', files, { message: 'Merge', parents: [await desk.tip(), two] })
  await desk.work.look()
  const preview = await desk.work.steps.preview(push())
  expect(preview).toMatchObject({ words: '3 commits to origin/main', commits: 3, brings: { count: 3 } })
  expect(new Set(preview.brings?.newest.map(({ oid }) => oid))).toEqual(new Set([merged, two, one]))
  expect((await desk.work.steps.do(push(), preview)).words).toBe('Pushed main to origin/main: 3 commits.')
})

test('after a push was rejected, the branch is shown as behind, with a pull offered', async () => {
  await using desk = await makeFar()
  const far = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  // The desk has not fetched since: it does not know of the new commit on the remote.
  expect(await desk.work.steps.preview(push())).toMatchObject({ is: 'clean' })
  expect(await failure(desk.work.steps.do(push(), { before: own }))).toBe(
    'Rejected: origin/main has commits that main does not have. Pull first, then push.',
  )
  expect(await desk.git('rev-parse', 'origin/main')).toBe(far)
  expect(await desk.work.steps.preview(push())).toMatchObject({
    is: 'impossible',
    offers: 'pull',
    words: 'origin/main has 1 commit that main does not have: pull first, then push.',
  })
  await desk.work.steps.do(pull('merge'), await desk.work.steps.preview(pull('merge')))
  await desk.work.steps.do(push(), await desk.work.steps.preview(push()))
  expect(await desk.far('rev-parse', 'main')).toBe(await desk.tip())
})

test('commits on the remote are overwritten only by force, and only those last fetched', async () => {
  await using desk = await makeFar()
  const first = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  const lease = await desk.work.steps.preview(push({ isForced: true }))
  expect(lease).toMatchObject({ is: 'clean' })
  expect(await failure(desk.work.steps.do(push({ isForced: true }), lease))).toContain(
    'moved since the last fetch, so nothing was overwritten',
  )
  const forced = await desk.work.steps.preview(push({ isForced: true }))
  expect(forced).toMatchObject({ is: 'drops', words: 'overwrites origin/main: drops 1 commit there' })
  expect(forced.warnings[0]).toContain('origin/main loses 1 commit that main does not have')
  const second = await commit(desk.origin, 'main', { 'd.txt': 'four\n' }, { message: 'Meanwhile' })
  expect(await failure(desk.work.steps.do(push({ isForced: true }), forced))).toContain('moved since the last fetch')
  expect(await desk.far('rev-parse', 'main', 'main^')).toBe(`${second}\n${first}`)
  // The commit fetched after the rejected push was in no preview.
  expect(await failure(desk.work.steps.do(push({ isForced: true }), forced))).toContain(
    'origin/main was fetched since this preview: nothing was pushed',
  )
  expect(await failure(desk.work.steps.do(push({ isForced: true })))).toContain('needs a preview first')
  expect(await desk.far('rev-parse', 'main')).toBe(second)
  const again = await desk.work.steps.preview(push({ isForced: true }))
  expect(again).toMatchObject({ there: second })
  const { words } = await desk.work.steps.do(push({ isForced: true }), again)
  expect(words).toContain(`origin/main lost 2 commits: it was at ${second.slice(0, 12)}.`)
  expect(await desk.far('rev-parse', 'main')).toBe(own)
})

test('only commits that were rewritten here lead to a forced push: by git, too, and not those of an undone pull', async () => {
  await using desk = await makeFar()
  await commit(desk.path, 'main', { 'b.txt': 'two\n' }, { message: 'Two' })
  await desk.git('push', '-q', 'origin', 'main')
  const old = await desk.tip()
  await desk.work.look()
  const preview = () => desk.work.steps.preview(push())
  await desk.work.steps.do({ step: 'rewrite', branch: 'main', rewriting: { do: 'reword', commit: old }, message: 'II' })
  const rewritten = 'origin/main has 1 commit that was rewritten here: force push to replace it.'
  expect(await preview()).toMatchObject({ is: 'impossible', offers: 'force', words: rewritten })
  // The new version is pushed, and the rewriting undone.
  const forced = await desk.work.steps.preview(push({ isForced: true }))
  expect(forced.warnings[0]).toContain('origin/main loses 1 commit, which was rewritten here.')
  await desk.work.steps.do(push({ isForced: true }), forced)
  await desk.work.undo()
  expect(await desk.tip()).toBe(old)
  expect(await preview()).toMatchObject({ offers: 'force', words: rewritten })
  // What somebody else has pushed meanwhile is pulled.
  await commit(desk.origin, 'main', { 'c.txt': 'three\n' }, { message: 'Three' })
  await desk.git('fetch', '-q', 'origin')
  expect(await preview()).toMatchObject({ offers: 'pull' })
  await desk.work.steps.do(pull('merge'), await desk.work.steps.preview(pull('merge')))
  await desk.work.undo()
  expect(await desk.tip()).toBe(old)
  expect(await preview()).toMatchObject({ offers: 'pull' })
})

test('a commit that was amended in a terminal leads to a forced push', async () => {
  await using desk = await makeFar()
  const ref = 'refs/heads/main'
  const move = (to: string, words: string) => desk.git('update-ref', '--create-reflog', '-m', words, ref, to)
  const base = await desk.tip()
  const [one, other] = await Promise.all(
    ['one', 'other'].map(name => commit(desk.path, name, { 'b.txt': name }, { parents: [base], message: name })),
  )
  await move(one ?? '', 'commit: one')
  await desk.git('push', '-q', 'origin', 'main')
  await move(other ?? '', 'commit (amend): other')
  await desk.work.look()
  expect(await desk.work.steps.preview(push())).toMatchObject({ offers: 'force' })
})

test('a fetch removes the remote branches that are gone, with commits of nobody else, and no tags; undone', async () => {
  await using desk = await makeFar()
  await commit(desk.origin, 'one', { '1.txt': '1\n' }, { message: 'One' })
  await commit(desk.origin, 'two', { '2.txt': '2\n' }, { message: 'Two' })
  await desk.far('tag', 'v1', 'two')
  const fetch = () => desk.work.steps.do({ step: 'fetch' })
  await fetch()
  const before = await desk.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/remotes')
  await desk.git('branch', '-q', '--track', 'one', 'origin/one')
  await desk.far('branch', '-D', 'one', 'two')
  await desk.far('tag', '-d', 'v1')
  await desk.git('config', 'fetch.prune', 'false')
  expect((await fetch()).words).toBe('Fetched from origin: nothing new.')
  await desk.git('config', '--unset', 'fetch.prune')
  await desk.git('config', 'fetch.pruneTags', 'true')
  expect(await fetch()).toEqual({
    words: 'Fetched from origin: nothing new. 2 branches are gone on origin.',
    isUndoable: true,
    gone: '2 branches are gone on origin.',
  })
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/remotes')).toBe('refs/remotes/origin/main')
  expect(await desk.git('tag')).toBe('v1')
  const branches = await desk.work.describeBranches()
  expect(branches.find(({ name }) => name === 'one')).toMatchObject({ goneUpstream: 'origin/one' })
  await desk.git('tag', '-d', 'v1')
  await desk.git('gc', '--quiet', '--prune=now')
  expect((await desk.work.undo()).words).toBe('undo: remove origin/one, origin/two, which are not on origin any more')
  expect(await desk.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/remotes')).toBe(before)
})

test('a rejected push fetches, but removes no remote branch that is gone, whatever git’s configuration says', async () => {
  await using desk = await makeFar()
  await commit(desk.origin, 'one', { '1.txt': '1\n' }, { message: 'One' })
  await desk.work.steps.do({ step: 'fetch' })
  await desk.git('config', 'fetch.prune', 'true')
  await desk.far('branch', '-D', 'one')
  const theirs = await commit(desk.origin, 'main', { 'theirs.txt': '1\n' }, { message: 'Theirs' })
  const own = await commit(desk.path, 'main', { 'ours.txt': '1\n' }, { message: 'Ours' })
  await desk.work.look()
  expect(await failure(desk.work.steps.do(push(), { before: own }))).toContain('Pull first, then push.')
  expect(await desk.git('rev-parse', 'refs/remotes/origin/main')).toBe(theirs)
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/remotes/origin/one')).not.toBe('')
})

test('a rejection by a protected branch is shown in the server’s words', async () => {
  await using desk = await makeFar()
  const before = await desk.far('rev-parse', 'main')
  await mkdir(join(desk.origin, 'hooks'), { recursive: true })
  const hook = join(desk.origin, 'hooks/pre-receive')
  await writeFile(hook, '#!/bin/sh\nprintf "main is \\033[31mprotected\\n" >&2\nexit 1\n')
  await chmod(hook, 0o755)
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  const words = await failure(desk.work.steps.do(push(), { before: own }))
  expect(words).toContain('origin rejected origin/main (pre-receive hook declined')
  expect(words).toContain('main is \\x1b[31mprotected')
  expect(await desk.far('rev-parse', 'main')).toBe(before)
})

test('the message about a wrong password does not contain it', async () => {
  await using desk = await makeFar()
  await using server = serveGit(join(desk.folder, 'far'), { token: 'right' })
  const url = server.url.replace('http://', 'http://ada:hunter-two@')
  await desk.git('config', 'remote.origin.url', `${url}/origin.git`)
  const words = await failure(desk.work.steps.do({ step: 'fetch' }))
  expect(words).toContain("origin doesn't let git in")
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  const pushed = await failure(desk.work.steps.do(push(), { before: own }))
  expect(pushed).toContain("origin doesn't let git in")
  expect(JSON.stringify([words, pushed, desk.news])).not.toContain('hunter-two')
  // The user's credential helpers are asked, as by git.
  await desk.git('config', 'remote.origin.url', `${server.url}/origin.git`)
  await desk.git('config', 'credential.helper', '!f() { echo username=ada; echo password=right; }; f')
  expect((await desk.work.steps.do({ step: 'fetch' })).words).toBe('Fetched from origin: nothing new.')
})

const STOPPED_TRANSFERS = [
  [{ step: 'fetch' }, 'The fetch was stopped: nothing new.'],
  [pull('merge'), 'The pull was stopped: the branch stays where it is.'],
  [push(), 'The push was stopped: nothing moved here, and a fetch tells what origin/main has got.'],
] as const

test('a fetch, pull or push that hangs can be stopped, and nothing has moved', async () => {
  await using desk = await makeFar()
  await using server = serveGit(join(desk.folder, 'far'), { delay: 60_000 })
  await desk.git('config', 'remote.origin.url', `${server.url}/origin.git`)
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  const refs = await desk.git('for-each-ref')
  const { steps } = desk.work
  for (const [step, words] of STOPPED_TRANSFERS) {
    const begun = wordsOf(desk).length
    const asked = steps.do(step)
    const ended = asked.then(({ words }) => words).catch(({ message }: Error) => message)
    await until(async () => wordsOf(desk).length > begun)
    expect(await failure(steps.do({ step: 'fetch' }))).toContain('under way already')
    steps.stop()
    expect(await ended).toBe(words)
  }
  expect(await desk.git('for-each-ref')).toBe(refs)
  expect(await desk.tip()).toBe(own)
})

test('a fetch, pull or push is stopped also while the desk prepares it, and nothing has moved', async () => {
  await using desk = await makeFar()
  await commit(desk.origin, 'main', { 'far.txt': 'far\n' }, { message: 'Far' })
  await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  const [refs, there] = [await desk.git('for-each-ref'), await desk.far('for-each-ref')]
  const { steps } = desk.work
  for (const [step, words] of STOPPED_TRANSFERS) {
    const asked = steps.do(step)
    const ended = asked.then(({ words }) => words).catch(({ message }: Error) => message)
    steps.stop()
    expect(await ended).toBe(words)
  }
  expect([await desk.git('for-each-ref'), await desk.far('for-each-ref')]).toEqual([refs, there])
})

test('a fetch stopped halfway leaves nothing behind', async () => {
  await using desk = await makeFar()
  const bytes = randomBytes(2_000_000).toString('base64')
  await commit(desk.origin, 'main', { 'large.txt': bytes }, { message: 'Large' })
  const slow = join(desk.folder, 'slow')
  const [pid, stalled] = [join(desk.folder, 'pid'), join(desk.folder, 'stalled')]
  const script = `#!/bin/sh\necho $$ >'${pid}'\ngit-upload-pack "$@" | { dd bs=1000 count=300 2>/dev/null; : >'${stalled}'; exec sleep 600; }\n`
  await writeFile(slow, script)
  await chmod(slow, 0o755)
  await desk.git('config', 'remote.origin.uploadpack', slow)
  const refs = await desk.git('for-each-ref')
  const asked = desk.work.steps.do({ step: 'fetch' })
  await until(async () => (await readdir(desk.folder)).includes('stalled'))
  desk.work.steps.stop()
  expect((await asked).words).toBe('The fetch was stopped: nothing new.')
  expect(await desk.git('for-each-ref')).toBe(refs)
  // The process that served the fetch (its id is in the file `pid`) ends, too.
  const served = Number(await readFile(pid, 'utf8'))
  await until(async () => !isAlive(served))
  await desk.git('config', '--unset', 'remote.origin.uploadpack')
  expect((await desk.work.steps.do({ step: 'fetch' })).words).toBe('Fetched from origin: 1 branch moved.')
  await desk.git('fsck', '--strict')
})

test('ssh never prompts, also with an ssh command of the user’s own', async () => {
  await using desk = await makeFar()
  const [ssh, told] = [join(desk.folder, 'ssh'), join(desk.folder, 'told')]
  await writeFile(ssh, `#!/bin/sh\necho "$@" >>'${told}'\necho 'Permission denied (publickey).' >&2\nexit 255\n`)
  await chmod(ssh, 0o755)
  await desk.git('config', 'core.sshCommand', `${ssh} -4`)
  await desk.git('config', 'remote.origin.url', 'git@far.example:origin.git')
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).toContain(
    "origin doesn't let git in (Permission denied (publickey).)",
  )
  expect(await readFile(told, 'utf8')).toStartWith('-4 -o BatchMode=yes ')
})

test('no hook of the repository runs, and the preview says which', async () => {
  await using desk = await makeFar()
  const ran = join(desk.folder, 'ran')
  await mkdir(join(desk.path, 'hooks'), { recursive: true })
  for (const name of ['pre-push', 'reference-transaction', 'post-merge']) {
    const hook = join(desk.path, 'hooks', name)
    await writeFile(hook, `#!/bin/sh\ncase $0 in *reference*) exit 0;; esac\necho ${name} >>'${ran}'\n`)
    await chmod(hook, 0o755)
  }
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.work.look()
  const { warnings } = await desk.work.steps.preview(push())
  expect(warnings).toEqual(['Hooks of this repository do not run: pre-push, reference-transaction.'])
  await desk.work.steps.do(push(), { before: own })
  expect(await desk.far('rev-parse', 'main')).toBe(own)
  expect(await readdir(desk.folder)).not.toContain('ran')
})

test('an address can’t name a program or an option', async () => {
  await using desk = await makeFar()
  const ran = join(desk.folder, 'ran')
  await desk.git('config', 'protocol.ext.allow', 'always')
  await desk.git('config', 'remote.origin.url', `ext::touch ${ran}`)
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).toContain('Git may not use the address of origin')
  await desk.git('config', 'remote.origin.url', `--upload-pack=touch ${ran}`)
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).not.toBe('it did not fail')
  await gitWith(desk.path, ['config', 'remote.origin.url', `ssh://-oProxyCommand=touch${ran}/x`])
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).not.toBe('it did not fail')
  await desk.git('config', 'remote.--upload-pack=touch.url', desk.origin)
  expect(await failure(desk.work.steps.do({ step: 'fetch', remote: '--upload-pack=touch' }))).not.toContain('usage')
  expect(await readdir(desk.folder)).not.toContain('ran')
})

test('a mirror remote is not fetched, since that would overwrite local branches', async () => {
  await using desk = await makeFar()
  const own = await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own' })
  await desk.git('config', 'remote.origin.fetch', '+refs/*:refs/*')
  expect(await failure(desk.work.steps.do({ step: 'fetch' }))).toContain('origin is a mirror')
  expect(await desk.tip()).toBe(own)
})

test('a tag is pushed with its message, and one of the same name on the remote is not overwritten', async () => {
  await using desk = await makeFar()
  const tagging = { step: 'push tag', name: 'v1', remote: 'origin' } as const
  expect((await desk.work.steps.preview(tagging)).words).toBe('There is no tag v1.')
  await desk.work.steps.do({ step: 'tag', name: 'v1', at: await desk.tip(), message: 'The first' })
  expect((await desk.work.steps.preview(tagging)).words).toBe('pushes the tag v1 to origin')
  expect((await desk.work.steps.do(tagging)).words).toBe('Pushed the tag v1 to origin.')
  expect(await desk.far('cat-file', '-p', 'v1')).toEndWith('The first')
  expect((await desk.work.steps.do(tagging)).words).toBe('origin has the tag v1 already.')
  await desk.far('tag', '-f', 'v1', 'main')
  expect(await failure(desk.work.steps.do(tagging))).toBe(
    'origin has another tag v1 already, and it was not overwritten: to push this one, rename it (Rename the tag… in its menu).',
  )
})

const deletion = (name: string) => ({ step: 'delete remote branch', ref: `refs/remotes/origin/${name}` }) as const

/** A desk with a remote that has topic, a branch with one commit of its own, which a local branch tracks. */
async function makeFarWithTopic(): Promise<Far & { topic: string }> {
  const desk = await makeFar()
  const topic = await commit(desk.origin, 'topic', { 'b.txt': 'two\n' }, { message: 'Two' })
  await desk.git('fetch', '-q', 'origin')
  await desk.git('branch', '-q', '--track', 'topic', 'origin/topic')
  await desk.work.look()
  return Object.assign(desk, { topic })
}

test('a branch is deleted on its remote, and undo and redo push it again and delete it again', async () => {
  await using desk = await makeFarWithTopic()
  const { work, topic } = desk
  const settings = () => desk.git('config', '--get-regexp', '^branch\\.topic\\.')
  const before = await settings()
  const kept = await work.steps.preview(deletion('topic'))
  expect(kept).toMatchObject({ is: 'clean', words: 'deletes origin/topic', there: topic })
  expect(kept.notes).toEqual([
    'All of its commits are on other branches or tags, too.',
    'The local branch topic stays, and keeps origin/topic as its upstream.',
  ])
  await desk.git('branch', '-q', '-f', 'topic', 'main')
  const preview = await work.steps.preview(deletion('topic'))
  const words = 'deletes origin/topic with 1 commit that is on no other branch or tag'
  expect(preview).toMatchObject({ is: 'drops', words, there: topic })
  const there = () => desk.far('for-each-ref', '--format=%(objectname)', 'refs/heads/topic')
  const tracked = () => desk.git('for-each-ref', '--format=%(objectname)', 'refs/remotes/origin/topic')
  expect((await work.steps.do(deletion('topic'), preview)).words).toBe('Deleted the branch topic on origin.')
  expect([await there(), await tracked()]).toEqual(['', ''])
  expect(await desk.tip('topic')).toBe(await desk.tip('main'))
  expect(await settings()).toBe(before)
  // Only the operation keeps the commit from here on.
  await desk.git('reflog', 'expire', '--expire=all', '--all')
  await desk.git('gc', '-q', '--prune=now')
  await desk.far('gc', '-q', '--prune=now')
  expect(await work.undo()).toMatchObject({
    words: 'undo: delete the branch topic on origin',
    refs: ['refs/remotes/origin/topic'],
  })
  expect([await there(), await tracked()]).toEqual([topic, topic])
  await work.redo()
  expect([await there(), await tracked()]).toEqual(['', ''])
  // Another branch of that name was pushed meanwhile: it stays.
  const other = await commit(desk.origin, 'topic', { 'c.txt': 'three\n' }, { message: 'Three' })
  expect(await failure(work.undo())).toBe('origin has a branch topic again: nothing was undone.')
  expect([await there(), await tracked()]).toEqual([other, other])
  expect(await failure(work.undo())).toContain('origin/topic has moved since: nothing was undone.')
})

test('a branch that has moved on its remote is not deleted, and one that is gone there is removed here', async () => {
  await using desk = await makeFarWithTopic()
  const { steps } = desk.work
  const stale = await steps.preview(deletion('topic'))
  const next = await commit(desk.origin, 'topic', { 'b.txt': 'three\n' }, { message: 'Three' })
  expect(await failure(steps.do(deletion('topic'), stale))).toBe(
    'Rejected: origin/topic has moved since the last fetch, so it was not deleted. Review it, then delete it again.',
  )
  expect(await desk.far('rev-parse', 'topic')).toBe(next)
  // The commit fetched after the rejection was in no preview.
  expect(await failure(steps.do(deletion('topic'), stale))).toContain('origin/topic was fetched since its preview')
  expect(await failure(steps.do(deletion('topic')))).toContain('nothing was deleted')
  const preview = await steps.preview(deletion('topic'))
  expect(preview).toMatchObject({ there: next })
  await desk.far('branch', '-D', 'topic')
  expect((await steps.do(deletion('topic'), preview)).words).toBe(
    'topic was deleted on origin already: removed origin/topic here.',
  )
  expect(await desk.git('branch', '-r', '--format=%(refname)')).toBe('refs/remotes/origin/main')
  await desk.work.undo()
  expect(await desk.git('rev-parse', 'origin/topic')).toBe(next)
  expect(await desk.far('branch', '--format=%(refname)')).toBe('refs/heads/main')
})

test('a refused deletion is said with its reason, and nothing moves', async () => {
  await using desk = await makeFarWithTopic()
  const { steps } = desk.work
  const refused = async (name: string) => await failure(steps.do(deletion(name), await steps.preview(deletion(name))))
  const refs = await desk.git('for-each-ref')
  expect(await refused('main')).toStartWith(
    "main is the default branch of origin, which can't be deleted: choose another one there first (deletion of the",
  )
  await desk.far('config', 'receive.denyDeletes', 'true')
  expect(await refused('topic')).toStartWith('origin did not delete topic (deletion prohibited; ')
  await desk.far('config', 'receive.denyDeletes', 'false')
  await mkdir(join(desk.origin, 'hooks'), { recursive: true })
  const hook = join(desk.origin, 'hooks/pre-receive')
  await writeFile(hook, '#!/bin/sh\necho "GH006: Cannot delete this protected branch" >&2\nexit 1\n')
  await chmod(hook, 0o755)
  expect(await refused('topic')).toStartWith(
    'topic is protected on origin, so it was not deleted: remove the protection there first (pre-receive hook declined;',
  )
  await writeFile(hook, '#!/bin/sh\necho "You are not allowed to delete topic" >&2\nexit 1\n')
  expect(await refused('topic')).toStartWith('origin does not let you delete topic: ask a maintainer to delete it (')
  expect(await desk.git('for-each-ref')).toBe(refs)
  await desk.git('config', 'remote.origin.fetch', '+refs/heads/main:refs/remotes/origin/main')
  expect((await steps.preview(deletion('topic'))).words).toBe(
    'No remote is fetched to origin/topic: delete the branch with git push --delete.',
  )
})

test('the preview of a pull names the commits that it brings, the newest first', async () => {
  await using desk = await makeFar()
  await commit(desk.path, 'main', { 'c.txt': 'two\n' }, { message: 'Own' })
  await commit(desk.path, 'main', { 'c.txt': 'three\n' }, { message: 'Own, too' })
  const own = await commit(desk.path, 'main', { 'c.txt': 'four\n' }, { message: 'Own again' })
  const two = await commit(desk.origin, 'main', { 'b.txt': 'two\n' }, { message: 'Two, déjà vu' })
  const three = await commit(desk.origin, 'main', { 'b.txt': 'three\n' }, { message: 'Three\n\nAnd why.' })
  await desk.work.look()
  await desk.work.steps.do({ step: 'fetch' })
  const newest = [
    { oid: three, subject: 'Three' },
    { oid: two, subject: 'Two, déjà vu' },
  ]
  // A rebase makes three others.
  const brings = { count: 2, newest }
  for (const how of ['merge', 'rebase'] as const)
    expect(await desk.work.steps.preview(pull(how))).toMatchObject({ is: 'clean', before: own, brings })
})

/** A desk whose main has one commit of its own, and two that origin's main had before and dropped. */
async function makeRewritten(areReflogsKept: boolean): Promise<Far & { own: string }> {
  const desk = await makeFar()
  await desk.git('config', 'core.logAllRefUpdates', String(areReflogsKept))
  await commit(desk.origin, 'main', { 'b.txt': 'five\n' }, { message: 'Step 5' })
  await commit(desk.origin, 'main', { 'b.txt': 'six\n' }, { message: 'Step 6' })
  await desk.work.steps.do(pull('fast-forward'))
  const own = await commit(desk.path, 'main', { 'c.txt': 'own\n' }, { message: 'Own' })
  await desk.far('update-ref', 'refs/heads/main', 'main~2')
  await desk.work.look()
  return Object.assign(desk, { own })
}

test('a pull by rebase leaves out the commits that a force-push dropped, and one by merge says that it brings them back', async () => {
  await using desk = await makeRewritten(true)
  const { steps } = desk.work
  await commit(desk.origin, 'main', { 'd.txt': 'other\n' }, { message: 'Other' })
  await steps.do({ step: 'fetch' })
  expect((await steps.preview(pull('merge'))).warnings).toContain(
    'origin/main was rewritten: the merge brings back 2 commits that it had before: “Step 6”, “Step 5”.',
  )
  expect((await steps.preview(pull('fast-forward'))).words).toBe(
    'main has 3 commits of its own beside origin/main: merge or rebase instead. origin/main was rewritten: 2 commits that it had before are still here: “Step 6”, “Step 5”.',
  )
  const preview = await steps.preview(pull('rebase'))
  expect(preview.warnings).toContain(
    'origin/main was rewritten: 2 commits that it had before are left out: “Step 6”, “Step 5”.',
  )
  expect(preview).toMatchObject({ is: 'clean', commits: 1, rebases: { count: 1 } })
  await steps.do(pull('rebase'), preview)
  expect(await desk.git('log', '--format=%s', 'main')).toBe('Own\nOther\nBegin')
  await desk.work.undo()
  expect(await desk.tip()).toBe(desk.own)
})

test('a pull from a remote branch that only lost commits says so, and leaves them out where it rebases', async () => {
  await using desk = await makeRewritten(true)
  const { steps } = desk.work
  await steps.do({ step: 'fetch' })
  expect(await steps.preview(pull('merge'))).toMatchObject({
    is: 'nothing',
    warnings: ['origin/main was rewritten: 2 commits that it had before are still here: “Step 6”, “Step 5”.'],
  })
  await steps.do(pull('rebase'), await steps.preview(pull('rebase')))
  expect(await desk.git('log', '--format=%s', 'main')).toBe('Own\nBegin')
})

test('without a reflog of the remote branch, a pull by rebase keeps all commits, as git pull does', async () => {
  await using desk = await makeRewritten(false)
  await commit(desk.origin, 'main', { 'd.txt': 'other\n' }, { message: 'Other' })
  const { steps } = desk.work
  await steps.do({ step: 'fetch' })
  expect(await steps.preview(pull('rebase'))).toMatchObject({ commits: 3, warnings: [] })
})

test('a pull with conflicts offers a save of the drafts only where these can be saved', async () => {
  await using desk = await makeFar({ 'a.txt': 'one\n', 'd.txt': 'one\n' })
  await commit(desk.path, 'main', { 'a.txt': 'own\n' }, { message: 'Own' })
  await commit(desk.origin, 'main', { 'a.txt': 'theirs\n' }, { message: 'Theirs' })
  await desk.work.look()
  await desk.work.steps.do({ step: 'fetch' })
  const editor = await edit(desk.work, 'main', 'd.txt')
  await editor.type('typed ')
  const before = await desk.work.steps.preview(pull('merge'))
  expect(before).toMatchObject({ is: 'conflicts', offers: 'save' })
  expect(before.warnings.join()).toContain('main has drafts in 1 file: save or discard them first')
  await commit(desk.path, 'main', { 'd.txt': 'other\n' }, { message: 'Meanwhile' })
  await desk.work.look()
  const after = await desk.work.steps.preview(pull('merge'))
  expect(after.offers).toBeUndefined()
  expect(after).toMatchObject({
    is: 'impossible',
    words:
      'This has conflicts, and 1 draft of main is in conflict: resolve that first, since the conflicts are resolved there, too: d.txt.',
  })
})

test('a merge and a landing say that drafts of their source are not part of them', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'one\n' }, bare: true })
  await desk.git('branch', 'topic', 'main')
  await desk.work.look()
  const tip = await desk.git('rev-parse', 'topic')
  await (await edit(desk.work, 'topic', 'a.txt')).type('typed ')
  const source = { commit: tip, branch: 'topic', words: 'topic' }
  const landing = await desk.work.steps.preview({ step: 'land', source, onto: 'main' })
  expect(landing).toMatchObject({
    is: 'nothing',
    warnings: ['Drafts in 1 file of topic are not saved, so they are not landed.'],
  })
  expect((await desk.work.steps.preview({ step: 'merge', source, onto: 'main' })).warnings).toContain(
    'Drafts in 1 file of topic are not saved, so they are not merged.',
  )
})

test('a remote is added, gets another address, and is removed with its remote branches and upstreams', async () => {
  await using desk = await makeFar()
  const { work } = desk
  const add = (name: string, url: string) => ask(work, 'add remote', { name, url })
  await add('second', ` ${desk.origin} `)
  expect(await desk.git('config', 'remote.second.url')).toBe(desk.origin)
  await work.steps.do({ step: 'fetch', remote: 'second' })
  await ask(work, 'set upstream', { branch: 'main', upstream: 'refs/remotes/second/main' })
  await ask(work, 'change remote url', { name: 'second', url: 'https://example.org/second.git' })
  expect(await desk.git('config', 'remote.second.url')).toBe('https://example.org/second.git')
  expect(await failure(add('second', desk.origin))).toBe('There is a remote second already: choose another name.')
  await ask(work, 'remove remote', { name: 'second' })
  expect(await desk.git('remote')).toBe('origin')
  expect(await desk.git('for-each-ref', 'refs/remotes/second')).toBe('')
  expect(await desk.git('config', '--get-regexp', '^branch\\.main|^remote\\.second').catch(() => '')).toBe('')
  expect(await failure(ask(work, 'remove remote', { name: 'second' }))).toContain('There is no remote second')
})

test.each([
  ['ext::sh -c evil', 'no protocol of git’s own'],
  ['ext://evil', 'no protocol of git’s own'],
  ['fd::7', 'no protocol of git’s own'],
  ['--upload-pack=evil', 'can’t begin with a dash'],
  ['ssh://-oProxyCommand=evil/x', 'can’t begin with a dash'],
  ['git@-oProxyCommand=evil:x', 'can’t begin with a dash'],
  ['https://ada:hunter-two@example.org/a.git', 'sign in with git in a terminal'],
  ['https://hunter-two@example.org/a.git', 'sign in with git in a terminal'],
  ['https://example.org/a.git?token=hunter-two', 'sign in with git in a terminal'],
  ['ssh://git:hunter-two@example.org/a.git', 'sign in with git in a terminal'],
  ['https://example.org/\nhunter-two', 'control character'],
  ['   ', 'is empty'],
])('the address %j is refused, and not repeated', async (url, why) => {
  await using desk = await makeFar()
  const config = await desk.git('config', '--local', '--list')
  const said = [
    await failure(ask(desk.work, 'add remote', { name: 'other', url })),
    await failure(ask(desk.work, 'change remote url', { name: 'origin', url })),
  ]
  for (const words of said) expect(words).toContain(why)
  expect(JSON.stringify([said, desk.news])).not.toMatch(/hunter-two|evil/)
  expect(await desk.git('config', '--local', '--list')).toBe(config)
})

test('usual addresses are accepted: ssh, scp and a folder', async () => {
  await using desk = await makeFar()
  const urls = [
    'ssh://git@example.org:22/a.git',
    'git@example.org:a/b.git',
    '../far',
    'http://example.org:8080/a@b.git',
  ]
  for (const url of urls) {
    await ask(desk.work, 'change remote url', { name: 'origin', url })
    expect(await desk.git('config', 'remote.origin.url')).toBe(url)
  }
  for (const name of ['-x', 'a b', 'a..b'])
    expect(await failure(ask(desk.work, 'add remote', { name, url: '/x' }))).toContain("can't be the name of a remote")
})
