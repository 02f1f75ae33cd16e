/** The review of merges on real repositories: what is refused, what is only shown, and what is ignored. */
import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MergeReview } from '../../core/review.ts'
import { page } from '../../forklift/pull-request.ts'
import { git, gitWith } from '../support/git.ts'
import { type History, makeHistory, type Tree, text } from '../support/histories.ts'

/** Both sides changed the same line of `both`; each has changes of its own, some of them next to the other's. */
const BASE: Tree = { both: text(), upstream1: text(), upstream2: text(), fork1: text(), fork2: text(), shared: text() }
const FORK: Tree = {
  ...BASE,
  both: text({ 5: 'fork' }),
  fork1: text({ 1: 'fork' }),
  fork2: text({ 1: 'fork' }),
  shared: text({ 2: 'fork' }),
}
const UPSTREAM: Tree = {
  ...BASE,
  both: text({ 5: 'upstream' }),
  upstream1: text({ 1: 'up' }),
  upstream2: text({ 1: 'up' }),
  shared: text({ 20: 'up' }),
}
const RESOLVED: Tree = {
  ...{ both: text({ 5: 'fork and upstream' }), shared: text({ 2: 'fork', 20: 'up' }) },
  ...{
    upstream1: text({ 1: 'up' }),
    upstream2: text({ 1: 'up' }),
    fork1: text({ 1: 'fork' }),
    fork2: text({ 1: 'fork' }),
  },
}

type Sides = { base?: Tree; fork?: Tree; upstream?: Tree }

/** Makes the three commits of a fork, and reviews results on them. */
async function fork(history: History, { base = BASE, fork = FORK, upstream = UPSTREAM }: Sides = {}) {
  const root = await history.commit(base)
  const [start, tip] = [await history.commit(fork, [root]), await history.commit(upstream, [root])]
  const reviewOf = async (result: Tree, parents = [start, tip]): Promise<MergeReview> =>
    history.review(start, tip, await history.commit(result, parents))
  return { root, start, upstream: tip, reviewOf }
}

const without = (tree: Tree, ...paths: string[]): Tree =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => !paths.includes(path)))

const lookFirst = (review: MergeReview): string =>
  /### Look at this first\n([\s\S]*?)\n### /.exec(
    page(review, { originBranch: 'main', upstreamBranch: 'upstream/main' }).body,
  )?.[1] ?? ''

test('a good merge is not refused, and asks for nothing', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const review = await reviewOf(RESOLVED)
  expect([review.refusals, review.partial, lookFirst(review)]).toEqual([[], [], ''])
  expect(review.conflicts.map(({ path, kind, resolution }) => [path, kind, resolution])).toEqual([
    ['both', 'contents', 'a mixture of both'],
  ])
  expect(review.diffs.get('both')).toContain('+fork and upstream')
  expect(review.files).toEqual({ upstream: 3, fork: 3 })
  expect(review.upstreamCommits.count).toBe(1)
})

test("upstream's version, the fork's, and a deletion are told from a mixture", async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const resolutionOf = async (result: Tree) => (await reviewOf(result)).conflicts[0]?.resolution
  expect(await resolutionOf({ ...RESOLVED, both: text({ 5: 'upstream' }) })).toBe("upstream's version")
  expect(await resolutionOf({ ...RESOLVED, both: text({ 5: 'fork' }) })).toBe("the fork's version")
  expect(await resolutionOf(without(RESOLVED, 'both'))).toBe('deleted')
})

test('a merge that keeps nothing of upstream is refused', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const [sentence = '', ...more] = (await reviewOf(FORK)).refusals
  expect(more).toEqual([])
  expect(sentence).toMatch(/fork's tree as it was; upstream's changes are gone from .*upstream1/)
})

test('a merge that keeps nothing of the fork is refused', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  expect((await reviewOf(UPSTREAM)).refusals.join()).toMatch(
    /upstream's tree; the fork's changes are gone from .*fork1/,
  )
})

test('a reset to the start is refused, because upstream is not in its history', async () => {
  await using history = await makeHistory()
  const { start, upstream } = await fork(history)
  expect((await history.review(start, upstream, start)).refusals[0]).toContain(`lacks upstream, ${upstream}`)
})

test('a reset to upstream is refused, because the changes of the fork are gone', async () => {
  await using history = await makeHistory()
  const { start, upstream } = await fork(history)
  const review = await history.review(start, upstream, upstream)
  expect(review.refusals.join()).toContain("The result is upstream's tree")
})

test('a result beside both histories is refused twice', async () => {
  await using history = await makeHistory()
  const { root, reviewOf } = await fork(history)
  const review = await reviewOf(RESOLVED, [root])
  expect(review.refusals).toHaveLength(2)
})

test('commits that are dated before upstream’s do not hide that upstream is in the history', async () => {
  await using history = await makeHistory()
  const { start, upstream } = await fork(history)
  let result = await history.commit(RESOLVED, [start, upstream])
  const old = { GIT_AUTHOR_DATE: '@978307200 +0000', GIT_COMMITTER_DATE: '@978307200 +0000' }
  const una = { GIT_AUTHOR_NAME: 'U', GIT_AUTHOR_EMAIL: 'u@u', GIT_COMMITTER_NAME: 'U', GIT_COMMITTER_EMAIL: 'u@u' }
  for (const at of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const words = ['commit-tree', `${result}^{tree}`, '-p', result, '-m', `Old ${at}`]
    result = await gitWith(history.repo, words, undefined, { ...old, ...una })
  }
  expect((await history.review(start, upstream, result)).refusals).toEqual([])
})

test('an agent that rebased is judged by its files', async () => {
  await using history = await makeHistory()
  const { upstream, reviewOf } = await fork(history)
  const review = await reviewOf(RESOLVED, [upstream])
  expect([review.refusals, review.rebased]).toEqual([[], true])
})

test('with the one conflict of a folder the whole folder may go, and no other file of it', async () => {
  await using history = await makeHistory()
  const many = (word: string) => Object.fromEntries([1, 2, 3, 4].map(at => [`src/new/${at}`, word + at]))
  const base = { ...many('old'), 'src/new/own': '1', 'src/new/gone': text() }
  const { reviewOf } = await fork(history, {
    base,
    fork: without({ ...base, 'src/new/own': '2' }, 'src/new/gone'),
    upstream: { ...base, ...many('young'), 'src/new/gone': text({ 1: 'up' }) },
  })
  expect((await reviewOf({ 'src/new/own': '2' })).refusals.join()).toContain('changes to 4 of 4 files are gone')
  expect((await reviewOf({})).refusals.join()).not.toContain('files are gone')
})

test('the one conflict may go to upstream, even where that leaves nothing of the fork', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history, {
    base: { both: text() },
    fork: { both: text({ 5: 'a' }) },
    upstream: { both: text({ 5: 'b' }) },
  })
  const review = await reviewOf({ both: text({ 5: 'b' }) })
  expect(review.refusals).toEqual([])
  expect(review.partial.join()).toContain('The result is the tree of upstream')
})

test('a change beside the conflict, in the same file, is something to lose', async () => {
  await using history = await makeHistory()
  const sides = {
    base: { both: text() },
    fork: { both: text({ 5: 'a' }) },
    upstream: { both: text({ 5: 'b', 20: 'b' }) },
  }
  const { reviewOf } = await fork(history, sides)
  expect((await reviewOf(sides.fork)).refusals.join()).toContain("upstream's changes are gone from both")
  expect((await reviewOf(sides.upstream)).refusals).toEqual([])
})

test('more than half of what upstream changed, taken back, is refused; half is shown by name', async () => {
  await using history = await makeHistory()
  const files = ['a', 'b', 'c', 'd']
  const all = (changes?: Record<number, string>) => Object.fromEntries(files.map(file => [file, text(changes)]))
  const base = { ...all(), own: '1' }
  const { reviewOf } = await fork(history, {
    base,
    fork: { ...base, own: '2' },
    upstream: { ...base, ...all({ 1: 'up' }) },
  })
  const taking = (...back: string[]) => ({
    ...all({ 1: 'up' }),
    own: '2',
    ...Object.fromEntries(back.map(file => [file, text()])),
  })
  const half = await reviewOf(taking('a', 'c'))
  expect([half.refusals, half.dropped]).toEqual([[], ['a', 'c']])
  expect(lookFirst(half)).toMatch(/Upstream's change was not taken[\s\S]*<code>a<\/code>[\s\S]*<code>c<\/code>/)
  expect((await reviewOf(taking('a', 'c', 'd'))).refusals.join()).toContain(
    "Upstream's changes to 3 of 4 files are gone",
  )
})

test('more than half of what the fork changed, undone, is refused; one file is shown by name', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const one = await reviewOf({ ...RESOLVED, fork1: text() })
  expect([one.refusals, one.vanished]).toEqual([[], ['fork1']])
  expect(lookFirst(one)).toContain('fork1')
  const two = await reviewOf({ ...RESOLVED, fork1: text(), fork2: text() })
  expect(two.refusals.join()).toContain("The fork's changes to 2 of 3 files are gone")
})

test('deleting most of what upstream changed is refused like taking it back', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  expect((await reviewOf(without(RESOLVED, 'upstream1', 'upstream2'))).refusals.join()).toContain('2 of 3')
})

test('edits beyond the conflict are shown with their names and make a draft', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const review = await reviewOf({ ...RESOLVED, new: 'slipped in', fork1: text({ 1: 'fork', 9: 'more' }) })
  expect(review.refusals).toEqual([])
  expect(review.edits).toEqual([
    { path: 'fork1', change: 'changed' },
    { path: 'new', change: 'added' },
  ])
  expect(page(review, { originBranch: 'main', upstreamBranch: 'up' }).draft).toBe(true)
  expect(lookFirst(review)).toContain('+slipped in')
})

test('the old name of a file that both sides renamed gets nothing unseen', async () => {
  await using history = await makeHistory()
  const [old, its, upstreams] = [{ old: text() }, { forks: text() }, { upstreams: text() }]
  const { reviewOf } = await fork(history, {
    base: old,
    fork: { ...its, own: '1' },
    upstream: { ...upstreams, up: '1' },
  })
  const good = { ...its, own: '1', up: '1' }
  expect((await reviewOf(good)).partial).toEqual([])
  expect((await reviewOf({ ...good, old: 'anything' })).partial.join()).toContain('a mixture of the two: old.')
})

test('the beginning of a conflict in a side’s own text hides no edit beside the real one', async () => {
  await using history = await makeHistory()
  const root = await history.commit({ both: text() })
  const start = await history.commit({ both: text({ 15: 'fork' }) }, [root])
  const fake = { 1: `<<<<<<< ${start}` }
  const upstream = await history.commit({ both: text({ ...fake, 15: 'up' }) }, [root])
  const reviewOf = async (changes: Record<number, string>) =>
    await history.review(start, upstream, await history.commit({ both: text(changes) }, [start, upstream]))
  expect((await reviewOf({ ...fake, 15: 'fork and up' })).around).toEqual([])
  expect((await reviewOf({ ...fake, 8: 'changed', 15: 'fork and up' })).around).toEqual(['both'])
})

test('a file moved by the agent is neither dropped nor new', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const review = await reviewOf({ ...without(RESOLVED, 'upstream1', 'upstream2'), moved: text({ 1: 'up' }) })
  expect(review.edits).toContainEqual({ path: 'upstream1', change: 'moved', to: 'moved' })
  expect(review.dropped).toEqual([])
})

const BESIDE: Sides = {
  base: { both: text(), own: '1', up: '1' },
  fork: { both: text({ 5: 'fork', 12: 'fork too' }), own: '2', up: '1' },
  upstream: { both: text({ 5: 'up', 20: 'a fix' }), own: '1', up: '2' },
}
const besideOf = (changes: Record<number, string>): Tree => ({ both: text(changes), own: '2', up: '2' })

test.each([
  ["the fork's side, without what upstream changed elsewhere", besideOf({ 5: 'fork', 12: 'fork too' })],
  ["upstream's side, without what the fork changed elsewhere", besideOf({ 5: 'up', 20: 'a fix' })],
  ['a mixture that lacks a change of upstream’s elsewhere', besideOf({ 5: 'fork and up', 12: 'fork too' })],
  ['a line that nobody asked for', besideOf({ 5: 'fork and up', 12: 'fork too', 20: 'a fix', 26: 'slipped in' })],
  ['lines that both sides have, and that are gone', { ...besideOf({}), both: text({ 5: 'fork' }, 15) }],
  ['a link in place of the file', { ...besideOf({}), both: { mode: '120000', content: 'elsewhere' } as const }],
])('a conflict that is settled with other changes beside it is shown first, as a draft: %s', async (_, result) => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history, BESIDE)
  const review = await reviewOf(result)
  expect([review.refusals, review.around]).toEqual([[], ['both']])
  expect(page(review, { originBranch: 'main', upstreamBranch: 'up' }).draft).toBe(true)
  expect(lookFirst(review)).toContain('Changed beside a conflict')
})

test('lines next to a conflict may change with it, and a lock file anywhere', async () => {
  await using history = await makeHistory()
  const lock = (words: string) => `${text({ 5: words })}`
  const sides = (both: string, words: string) => ({ both, 'yarn.lock': lock(words), own: words === 'fork' ? '2' : '1' })
  const { reviewOf } = await fork(history, {
    base: sides(text(), 'base'),
    fork: sides(text({ 5: 'fork' }), 'fork'),
    upstream: { ...sides(text({ 5: 'up' }), 'up'), up: '2' },
  })
  const both = text({ 4: 'line 4,', 5: 'fork\nand up', 6: 'line 6;' })
  const review = await reviewOf({ both, 'yarn.lock': 'written anew\n', own: '2', up: '2' })
  expect([review.around, review.partial]).toEqual([[], []])
})

test('of a file that both renamed, git’s own merge is no side’s version', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history, {
    base: { old: text(), own: '1' },
    fork: { mine: text({ 5: 'fork' }), own: '2' },
    upstream: { theirs: text({ 20: 'up' }), own: '1' },
  })
  const merged = text({ 5: 'fork', 20: 'up' })
  const resolutions = async (result: Tree) =>
    Object.fromEntries((await reviewOf({ ...result, own: '2' })).conflicts.map(it => [it.path, it.resolution]))
  expect(await resolutions({ mine: merged })).toMatchObject({ mine: "git's own merge of both", theirs: 'deleted' })
  expect(await resolutions({ theirs: merged })).toMatchObject({ theirs: "git's own merge of both", mine: 'deleted' })
  expect(await resolutions({ mine: text({ 5: 'fork' }) })).toMatchObject({ mine: 'a mixture of both' })
})

test('conflict markers left in are refused, whatever their labels', async () => {
  await using history = await makeHistory()
  const { start, upstream, reviewOf } = await fork(history)
  const left = (ours: string, theirs: string, base = '') =>
    text({ 5: `<<<<<<< ${ours}\nfork\n${base}=======\nupstream\n>>>>>>> ${theirs}` })
  for (const both of [
    left('HEAD', 'upstream/main'),
    left(start, upstream),
    left('a', 'b', '||||||| 1234567\nline 5\n'),
  ])
    expect((await reviewOf({ ...RESOLVED, both })).refusals).toEqual(['Conflict markers were left in both.'])
})

test.each([
  ['the base alone, as zdiff3 leaves it', text({ 5: '||||||| 1234567\nline 5\n=======\nupstream' })],
  ['the base and the middle, without an id', text({ 5: '|||||||\nline 5\n=======\nupstream' })],
  ['the base’s line alone', text({ 5: 'fork\n||||||| merged common ancestors\nline 5' })],
  ['both sides in a file with a NUL', `\0${text({ 5: '<<<<<<< HEAD\nfork\n=======\nup\n>>>>>>> up' })}`],
  ['UTF-16', Buffer.from(`\ufeff${text({ 5: '<<<<<<< HEAD\nfork\n=======\nup\n>>>>>>> up' })}`, 'utf16le')],
  ['UTF-16, big-endian', Buffer.from(`\ufeff${text({ 5: '<<<<<<< a\nx' })}`, 'utf16le').swap16()],
  [
    'indented, as a formatter leaves them',
    text({ 5: '\t  <<<<<<< HEAD\n\t  fork\n\t  =======\n\t  up\n\t  >>>>>>> up' }),
  ],
  ['commented out', text({ 5: '# <<<<<<< HEAD\nfork\n# =======\n# up\n# >>>>>>> up' })],
  ['the indented base alone', text({ 5: '  ||||||| 1234567\n  line 5\n  =======\n  upstream' })],
  ['line ends of a Mac', text({ 5: '<<<<<<< HEAD\nfork\n=======\nup\n>>>>>>> up' }).replaceAll('\n', '\r')],
])('conflict markers are found: %s', async (_, left) => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const both = typeof left === 'string' ? left : await history.blob(left)
  expect((await reviewOf({ ...RESOLVED, both })).refusals).toEqual(['Conflict markers were left in both.'])
})

test.each([3, 5, 12])('conflict markers are found with the size that an attribute says, %d', async size => {
  await using history = await makeHistory()
  const attributes = { '.gitattributes': `both conflict-marker-size=${size}\n` }
  const { reviewOf } = await fork(history, {
    base: { ...BASE, ...attributes },
    fork: { ...FORK, ...attributes },
    upstream: { ...UPSTREAM, ...attributes },
  })
  const run = (char: string) => char.repeat(size)
  const both = text({ 5: `${run('<')} HEAD\nfork\n${run('=')}\nup\n${run('>')} upstream` })
  expect((await reviewOf({ ...RESOLVED, ...attributes, both })).refusals).toEqual([
    'Conflict markers were left in both.',
  ])
})

test('conflict markers are found with the size that only upstream’s attributes say', async () => {
  await using history = await makeHistory()
  const attributes = { '.gitattributes': 'both conflict-marker-size=4\n' }
  const { reviewOf } = await fork(history, { upstream: { ...UPSTREAM, ...attributes } })
  const both = text({ 5: '<<<< ours\nfork\n====\nup\n>>>> theirs' })
  expect((await reviewOf({ ...RESOLVED, ...attributes, both })).refusals).toEqual([
    'Conflict markers were left in both.',
  ])
})

test('a row of a table of nothing but bars is no conflict marker', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  expect((await reviewOf({ ...RESOLVED, both: text({ 5: '|||||||' }) })).refusals).toEqual([])
})

test('a merge committed as it was, with conflicts and all, is refused', async () => {
  await using history = await makeHistory()
  const { start, upstream, reviewOf } = await fork(history)
  const merged = (await history.merge(start, upstream)).tree
  expect((await reviewOf(merged)).refusals).toEqual(['Conflict markers were left in both.'])
})

test('conflict markers in a file without conflict are refused', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const review = await reviewOf({ ...RESOLVED, fork1: `<<<<<<< HEAD\n${text({ 1: 'fork' })}` })
  expect(review.refusals).toEqual(['Conflict markers were left in fork1.'])
})

test('a file that documents conflict markers is no conflict', async () => {
  await using history = await makeHistory()
  const example = (more = '') => `Intro${more}\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\n\nEnd\n`
  const sides = {
    base: { 'docs.md': example(), 'new.md': 'x', own: '1', theirs: '1' },
    fork: { 'docs.md': example(' of the fork'), 'new.md': `x\n${example()}`, own: '2', theirs: '1' },
    upstream: { 'docs.md': example(' of upstream'), 'new.md': `${example()}\nx`, own: '1', theirs: '2' },
  }
  const { reviewOf } = await fork(history, sides)
  const review = await reviewOf({
    'docs.md': example(' of both'),
    'new.md': `${example()}\nx\n${example()}`,
    own: '2',
    theirs: '2',
  })
  expect(review.refusals).toEqual([])
})

test('an underlined heading in a conflict is no conflict marker', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const review = await reviewOf({ ...RESOLVED, both: text({ 5: 'Caching\n=======' }) })
  expect([review.refusals, review.middles]).toEqual([[], []])
})

test('of a conflict’s markers the middle one alone makes a draft', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const review = await reviewOf({ ...RESOLVED, both: text({ 5: 'of the fork\n=======\nof upstream' }) })
  expect([review.refusals, review.middles]).toEqual([[], ['both']])
  const { body, draft } = page(review, { originBranch: 'main', upstreamBranch: 'upstream/main' })
  expect(draft).toBe(true)
  expect(body).toContain('may be left of a conflict:\n\n- `both`')
})

const binary = (text: string) => `\0${text}\0`
const linkTo = (content: string) => ({ mode: '120000', content })
test.each([
  ['a binary file', binary('base'), binary('fork'), binary('up'), binary('agent')],
  ['a link', linkTo('base'), linkTo('fork'), linkTo('up'), linkTo('/etc/passwd')],
  ['a file that the fork has deleted', text(), undefined, text({ 5: 'up' }), text({ 5: 'agent' })],
  ['a file that upstream has deleted', text(), text({ 5: 'fork' }), undefined, text({ 5: 'agent' })],
])('a conflict in %s with a result of neither side makes a draft', async (_, base, ours, theirs, result) => {
  await using history = await makeHistory()
  const including = (tree: Tree, file: Tree[string] | undefined): Tree =>
    file === undefined ? tree : { ...tree, file }
  const { reviewOf } = await fork(history, {
    base: including({ own: '1', up: '1' }, base),
    fork: including({ own: '2', up: '1' }, ours),
    upstream: including({ own: '1', up: '2' }, theirs),
  })
  const merged: Tree = { own: '2', up: '2' }
  const review = await reviewOf({ ...merged, file: result })
  expect(review.conflicts).toMatchObject([{ path: 'file', resolution: 'a version of its own' }])
  const { body, draft } = page(review, { originBranch: 'main', upstreamBranch: 'upstream/main' })
  expect([review.refusals, draft]).toEqual([[], true])
  expect(body).toContain("**As neither side has it**, where git can't mix the two:\n\n- `file`")
  for (const side of [ours, theirs])
    expect((await reviewOf(including(merged, side))).partial.join()).not.toContain('neither')
})

test('an absurd size of conflict markers is no reason to fail', async () => {
  await using history = await makeHistory()
  const attributes = { '.gitattributes': 'both conflict-marker-size=2000000000\n' }
  const { reviewOf } = await fork(history, {
    base: { ...BASE, ...attributes },
    fork: { ...FORK, ...attributes },
    upstream: { ...UPSTREAM, ...attributes },
  })
  const both = text({ 5: '<<<<<<< HEAD\nfork' })
  expect((await reviewOf({ ...RESOLVED, ...attributes, both })).refusals).toEqual([
    'Conflict markers were left in both.',
  ])
})

test("upstream's commits that the fork has picked before are normal", async () => {
  await using history = await makeHistory()
  const upstream: Tree = { ...BASE, upstream1: text({ 1: 'up' }), upstream2: text({ 1: 'up' }) }
  const { reviewOf } = await fork(history, { fork: { ...upstream, fork1: text({ 1: 'fork' }) }, upstream })
  const review = await reviewOf({ ...upstream, fork1: text({ 1: 'fork' }) })
  expect([review.refusals, review.partial]).toEqual([[], []])
})

test("a fork whose changes upstream has all taken ends as upstream's tree", async () => {
  await using history = await makeHistory()
  const upstream: Tree = { ...BASE, fork1: text({ 1: 'fork' }), upstream1: text({ 1: 'up' }) }
  const { reviewOf } = await fork(history, { fork: { ...BASE, fork1: text({ 1: 'fork' }) }, upstream })
  const review = await reviewOf(upstream)
  expect([review.refusals, review.partial]).toEqual([[], []])
})

test('a fork without commits of its own may be moved to upstream, not left where it is', async () => {
  await using history = await makeHistory()
  const { root, upstream } = await fork(history)
  expect((await history.review(root, upstream, upstream)).refusals).toEqual([])
  const ignoring = await history.commit(BASE, [root, upstream])
  expect((await history.review(root, upstream, ignoring)).refusals.join()).toContain("upstream's changes are gone")
})

test('FORK.md that only the checkout has must not be in the result', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  expect((await reviewOf({ ...RESOLVED, 'FORK.md': 'private' })).refusals.join()).toContain('FORK.md')
})

test("FORK.md may keep the fork's version or be merged by git, and not be rewritten", async () => {
  await using history = await makeHistory()
  const guide = (tree: Tree, changes: Record<number, string>) => ({ ...tree, 'FORK.md': text(changes) })
  const sides = { base: guide(BASE, {}), fork: guide(FORK, { 1: 'fork' }), upstream: guide(UPSTREAM, { 20: 'up' }) }
  const { reviewOf } = await fork(history, sides)
  expect((await reviewOf(guide(RESOLVED, { 1: 'fork', 20: 'up' }))).refusals).toEqual([])
  expect((await reviewOf(guide(RESOLVED, { 1: 'fork' }))).refusals).toEqual([])
  expect((await reviewOf(guide(RESOLVED, { 9: 'agent' }))).refusals.join()).toContain('FORK.md')
})

test('a new STUCK.md is told to the caller; one of upstream is a file like others', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history, { upstream: { ...UPSTREAM, 'STUCK.md': 'doors' } })
  const stuck = await reviewOf({ ...RESOLVED, 'STUCK.md': 'I gave up' })
  expect(stuck.stuck).toMatch(/^[0-9a-f]{40}$/)
  expect(stuck.refusals.join()).toContain('STUCK.md')
  expect((await reviewOf({ ...RESOLVED, 'STUCK.md': 'doors' })).stuck).toBeUndefined()
})

test('a CI file that git would not have merged so is refused', async () => {
  await using history = await makeHistory()
  const ci = '.github/workflows/ci.yml'
  const job = (changes = {}) => text(changes)
  const sides = {
    base: { ...BASE, [ci]: job() },
    fork: { ...FORK, [ci]: job() },
    upstream: { ...UPSTREAM, [ci]: job({ 1: 'up' }) },
  }
  const { reviewOf } = await fork(history, sides)
  const good = { ...RESOLVED, [ci]: job({ 1: 'up' }) }
  expect((await reviewOf(good)).refusals).toEqual([])
  expect((await reviewOf(good)).ci).toEqual([ci])
  for (const bad of [
    { ...good, [ci]: job({ 1: 'mine' }) },
    { ...good, '.gitlab-ci.yml': 'x' },
    { ...good, 'ci/Jenkinsfile': 'x' },
  ])
    expect((await reviewOf(bad)).refusals.join()).toContain('Files that steer CI')
  const kept = await reviewOf({ ...good, [ci]: job() })
  expect([kept.refusals, kept.dropped]).toEqual([[], [ci]])
})

test.each([
  ...[
    'netlify.toml',
    'site/netlify.toml',
    'vercel.json',
    'render.yaml',
    'fly.toml',
    'app.yaml',
    'app.json',
    'Procfile',
  ],
  ...['amplify.yml', '.readthedocs.yaml', 'readthedocs.yml', 'heroku.yml', 'wrangler.toml', 'railway.json'],
  ...['.zuul.yaml', 'zuul.yaml', '.zuul.d/jobs.yaml', 'zuul.d/jobs.yaml', 'bitrise.yml', 'codemagic.yaml'],
  ...['deploy/cloudbuild.yaml', 'deploy/cloudbuild.prod.json', 'ci/buildspec.yml', '.semaphore/semaphore.yml'],
  ...['dagger.json', 'dagger/main.go', '.dagger/src/index.ts', 'Earthfile', 'services/api/Earthfile'],
  ...['.taskcluster.yml', '.packit.yaml', 'screwdriver.yaml', '.builds/alpine.yml', 'ci_scripts/ci_post_clone.sh'],
  ...['action.yml', 'tools/setup/action.yaml', '.codesandbox/tasks.json', '.do/app.yaml', '.Travis.YML'],
])('%s, which the agent brought, is refused as CI', async path => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  expect((await reviewOf({ ...RESOLVED, [path]: 'x' })).refusals.join()).toContain('Files that steer CI')
})

test.each(['docs/workflows.md', 'src/action.ts', 'app.py', 'render.ts', 'my.app.yaml.md', 'github/workflows/a.yml'])(
  '%s is no CI',
  async path => {
    await using history = await makeHistory()
    const { reviewOf } = await fork(history)
    expect((await reviewOf({ ...RESOLVED, [path]: 'x' })).refusals).toEqual([])
  },
)

test('a CI file moved into its place by the agent is refused', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  const moved = { ...without(RESOLVED, 'upstream1'), '.github/workflows/evil.yml': text({ 1: 'up' }) }
  expect((await reviewOf(moved)).refusals.join()).toContain('evil.yml')
})

test('a conflict in a CI file may be resolved with the words of both sides, and no others', async () => {
  await using history = await makeHistory()
  const ci = '.github/workflows/ci.yml'
  const job = (branches: string) => `on:\n  push:\n    branches: [${branches}]\n`
  const sides = {
    base: { ...BASE, [ci]: job('main') },
    fork: { ...FORK, [ci]: job('main, fork') },
    upstream: { ...UPSTREAM, [ci]: job('main, next') },
  }
  const { reviewOf } = await fork(history, sides)
  for (const branches of ['main, fork', 'main, next', 'main, fork, next'])
    expect((await reviewOf({ ...RESOLVED, [ci]: job(branches) })).refusals).toEqual([])
  expect((await reviewOf({ ...RESOLVED, [ci]: job('main, evil') })).refusals.join()).toContain('ci.yml')
})

test('files that steer agents and hooks are named where upstream changed them', async () => {
  await using history = await makeHistory()
  const steering = ['.opencode/agent/x.md', 'AGENTS.md', 'docs/CLAUDE.md', 'opencode.json', '.husky/pre-commit']
  const added = Object.fromEntries(steering.map(path => [path, 'obey']))
  const { reviewOf } = await fork(history, { upstream: { ...UPSTREAM, ...added } })
  const review = await reviewOf({ ...RESOLVED, ...added })
  expect(review.steering.toSorted()).toEqual(steering.toSorted())
  expect([review.partial, lookFirst(review)]).toEqual([[], ''])
})

test('a file that the fork deleted and upstream changed is a conflict that either may win', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history, {
    upstream: { ...UPSTREAM, fork1: text({ 9: 'up' }) },
    fork: without(FORK, 'fork1'),
  })
  const deleted = await reviewOf(without(RESOLVED, 'fork1'))
  expect(deleted.conflicts.map(({ path, kind, resolution }) => [path, kind, resolution])).toContainEqual([
    'fork1',
    'modify/delete',
    'deleted',
  ])
  expect(deleted.refusals).toEqual([])
  const restored = await reviewOf({ ...RESOLVED, fork1: text({ 9: 'up' }) })
  expect(restored.refusals).toEqual([])
  expect(lookFirst(restored)).toMatch(/The fork's change is gone[\s\S]*fork1/)
})

test("a file deleted in a conflict is named among the fork's changes that are gone", async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history)
  expect(lookFirst(await reviewOf(without(RESOLVED, 'both')))).toMatch(/The fork's change is gone[\s\S]*both/)
})

test("upstream's new files in a folder that the fork gave up may go with it", async () => {
  await using history = await makeHistory()
  const web = (names: string[], changes = {}) => Object.fromEntries(names.map(name => [`web/${name}`, text(changes)]))
  const sides = {
    base: { ...web(['a']), own: '1' },
    fork: { own: '2' },
    upstream: { ...web(['a', 'b', 'c'], { 1: 'up' }), own: '1' },
  }
  const { reviewOf } = await fork(history, sides)
  const review = await reviewOf({ own: '2', readme: 'why' })
  expect([review.refusals, review.dropped]).toEqual([[], ['web/b', 'web/c']])
})

test('a rename on one side and an edit on the other is no conflict', async () => {
  await using history = await makeHistory()
  const { reviewOf } = await fork(history, {
    fork: { ...without(FORK, 'upstream1'), renamed: text() },
  })
  const review = await reviewOf({ ...without(RESOLVED, 'upstream1'), renamed: text({ 1: 'up' }) })
  expect([review.refusals, review.partial, review.conflicts.length]).toEqual([[], [], 1])
})

test('a folder that upstream renamed may keep the file that the fork put there', async () => {
  await using history = await makeHistory()
  const dir = (name: string) => Object.fromEntries([1, 2, 3].map(at => [`${name}/${at}`, text({ 1: `${at}` })]))
  const sides = {
    base: dir('old'),
    fork: { ...dir('old'), 'old/own': 'mine' },
    upstream: { ...dir('new'), other: '1' },
  }
  const { reviewOf } = await fork(history, sides)
  for (const place of ['old/own', 'new/own']) {
    const review = await reviewOf({ ...sides.upstream, [place]: 'mine' })
    expect([review.refusals, review.partial]).toEqual([[], []])
  }
})

test('a file on one side and a folder on the other are told', async () => {
  await using history = await makeHistory()
  const { start, upstream, reviewOf } = await fork(history, {
    fork: { ...FORK, thing: 'file' },
    upstream: { ...UPSTREAM, 'thing/inside': 'x' },
  })
  const merged = (await history.merge(start, upstream)).tree
  const moved = Object.keys(merged).find(path => path.startsWith('thing~')) ?? ''
  const review = await reviewOf({ ...without(merged, moved), both: text({ 5: 'ok' }), 'thing.txt': 'file' })
  expect(review.refusals).toEqual([])
  expect(review.conflicts.map(({ kind }) => kind)).toContain('file/directory')
})

test('a file that git moved beside a folder may have the name of any merge; what the folder lost to it is told', async () => {
  await using history = await makeHistory()
  const { start, upstream, reviewOf } = await fork(history, {
    fork: { ...FORK, thing: 'file' },
    upstream: { ...UPSTREAM, 'thing/inside': 'x' },
  })
  const merged = (await history.merge(start, upstream)).tree
  const moved = Object.keys(merged).find(path => path.startsWith('thing~')) ?? ''
  const settled = { ...without(merged, moved), both: text({ 5: 'ok' }) }
  const both = await reviewOf({ ...settled, 'thing~HEAD': 'file' })
  expect([both.refusals, both.edits, both.dropped, both.vanished]).toEqual([[], [], [], []])
  expect(both.conflicts.find(({ path }) => path === 'thing~HEAD')?.resolution).toBe("the fork's version")
  const file = await reviewOf({ ...without(settled, 'thing/inside'), thing: 'file' })
  expect([file.refusals, file.edits, file.dropped, file.vanished]).toEqual([[], [], ['thing/inside'], []])
  const other = await reviewOf({ ...settled, 'thing~HEAD': 'file', 'thing~more/own': 'y' })
  expect(other.edits).toEqual([{ path: 'thing~more/own', change: 'added' }])
})

test('a link and a file of one name may both be kept, under the name of any merge', async () => {
  await using history = await makeHistory()
  const link = { mode: '120000', content: 'elsewhere' }
  const { start, upstream, reviewOf } = await fork(history, {
    fork: { ...FORK, thing: link },
    upstream: { ...UPSTREAM, thing: 'file' },
  })
  const merged = (await history.merge(start, upstream)).tree
  const moved = Object.keys(merged).find(path => path.startsWith('thing~')) ?? ''
  expect(moved).not.toBe('')
  const settled = { ...without(merged, moved), both: text({ 5: 'ok' }) }
  const both = await reviewOf({ ...settled, 'thing~HEAD': merged[moved] ?? '' })
  expect([both.refusals, both.edits, both.dropped, both.vanished]).toEqual([[], [], [], []])
})

test('binary files, modes, symlinks and submodules are compared like all others', async () => {
  await using history = await makeHistory()
  const commit = '1234567890123456789012345678901234567890'
  const things = (word: string): Tree => ({
    binary: `\0${word}\0`,
    tool: { mode: '100755', content: text() },
    link: { mode: '120000', content: word },
    module: { mode: '160000', oid: commit.replace('1', word.length.toString()) },
    '.gitmodules': '[submodule "module"]\n\tpath = module\n\turl = ../module\n',
  })
  const sides = {
    base: { ...BASE, ...things('base'), tool: text() },
    fork: { ...FORK, ...things('fork!') },
    upstream: { ...UPSTREAM, ...things('upstream'), tool: text() },
  }
  const { reviewOf } = await fork(history, sides)
  const good = await reviewOf({ ...RESOLVED, ...things('upstream') })
  expect(good.refusals).toEqual([])
  expect(good.conflicts.map(({ path }) => path).toSorted()).toEqual(['binary', 'both', 'link', 'module'])
  const plain = await reviewOf({ ...RESOLVED, ...things('upstream'), tool: text() })
  expect(plain.vanished).toEqual(['tool'])
})

test('file names of any bytes are told apart and named', async () => {
  await using history = await makeHistory()
  const names = [
    'with space',
    'with "quote"',
    'line\nbreak',
    'caf\xc3\xa9',
    'bytes\xff\xfe',
    '-rf',
    ':(glob)*',
    'tab\t',
    "it's",
    '$(true)`x`',
  ]
  const all = (word: string): Tree => Object.fromEntries(names.map(name => [name, word]))
  const { reviewOf } = await fork(history, {
    base: { ...all('1'), own: '1' },
    fork: { ...all('1'), own: '2' },
    upstream: { ...all('2'), own: '1' },
  })
  const good = await reviewOf({ ...all('2'), own: '2' })
  expect([good.refusals, good.partial, good.files.upstream]).toEqual([[], [], names.length])
  for (const name of names) {
    expect((await reviewOf({ ...all('2'), own: '2', [name]: '1' })).dropped).toEqual([name])
    const edited = await reviewOf({ ...all('2'), own: '2', [name]: '3' })
    expect(edited.edits).toEqual([{ path: name, change: 'changed' }])
    expect(edited.diffs.get(name)).toContain('+3')
  }
  expect((await reviewOf({ ...all('2'), own: '2', 'bytes\xff\xfe': '1' })).partial.join()).toContain('bytes\\xff\\xfe')
})

test('what was dropped on Monday still shows on Tuesday', async () => {
  await using history = await makeHistory()
  const { start: origin, upstream: monday } = await fork(history)
  const first = await history.commit({ ...RESOLVED, upstream1: text() }, [origin, monday])
  const tuesday = await history.commit({ ...UPSTREAM, late: '1' }, [monday])
  const result = await history.commit({ ...RESOLVED, upstream1: text(), late: '1' }, [first, tuesday])
  const review = await history.review(first, tuesday, result, origin)
  expect([review.refusals, review.dropped]).toEqual([[], ['upstream1']])
  expect(review.conflicts.map(({ path }) => path)).toEqual(['both'])
  expect(review.upstreamCommits.count).toBe(2)
})

test('what was odd in a file with a conflict on Monday still shows on Tuesday', async () => {
  await using history = await makeHistory()
  const { start: origin, upstream: monday } = await fork(history)
  const odd = { ...RESOLVED, both: text({ 5: 'fork and upstream', 20: 'changed' }), 'hooks/post-merge': 'run this' }
  const first = await history.commit(odd, [origin, monday])
  const tuesday = await history.commit({ ...UPSTREAM, late: '1' }, [monday])
  const result = await history.commit({ ...odd, late: '1' }, [first, tuesday])
  const review = await history.review(first, tuesday, result, origin)
  expect([review.refusals, review.around, review.automation]).toEqual([[], ['both'], ['hooks/post-merge']])
  expect(lookFirst(review)).toContain('**Changed beside a conflict**')
})

test('histories that crossed are judged by the merge that git makes of them', async () => {
  await using history = await makeHistory()
  const { start, upstream } = await fork(history)
  const mine = await history.commit(RESOLVED, [start, upstream])
  const theirs = await history.commit({ ...RESOLVED, both: text({ 5: 'theirs' }) }, [upstream, start])
  const next = await history.commit({ ...RESOLVED, both: text({ 5: 'theirs' }), late: '1' }, [theirs])
  const result = await history.commit({ ...RESOLVED, both: text({ 5: 'both again' }), late: '1' }, [mine, next])
  const review = await history.review(mine, next, result)
  expect(review.refusals).toEqual([])
  expect(review.conflicts.map(({ path }) => path)).toEqual(['both'])
})

test("the start's attributes count", async () => {
  await using history = await makeHistory()
  const attributes = { '.gitattributes': 'both merge=union\n' }
  const { reviewOf } = await fork(history, {
    base: { ...BASE, ...attributes },
    fork: { ...FORK, ...attributes },
    upstream: { ...UPSTREAM, ...attributes },
  })
  const review = await reviewOf({ ...RESOLVED, ...attributes, both: text({ 5: 'fork\nupstream' }) })
  expect([review.conflicts, review.partial]).toEqual([[], []])
})

test('SHA-256 repositories are judged too', async () => {
  await using history = await makeHistory('sha256')
  const { reviewOf } = await fork(history)
  expect((await reviewOf(RESOLVED)).refusals).toEqual([])
  expect((await reviewOf(FORK)).refusals).not.toEqual([])
})

test('a change of the fork that became smaller is shown', async () => {
  await using history = await makeHistory()
  const lines = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [at + 12, `fork ${at}`]))
  const { reviewOf } = await fork(history, { fork: { ...FORK, both: text({ 5: 'fork', ...lines }) } })
  const review = await reviewOf({ ...RESOLVED, both: text({ 5: 'fork' }) })
  expect(review.shrunk).toEqual([{ path: 'both', before: 20, after: 2 }])
  expect(lookFirst(review)).toContain('smaller')
})

const started = async (history: History, args: string[], cwd = history.repo) => {
  const child = Bun.spawn([join(import.meta.dir, '../../forklift/judge.ts'), ...args], {
    cwd,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { code: await child.exited, stdout, stderr }
}

test('the command judge.ts prints the page or the reason, and leaves nothing behind', async () => {
  await using history = await makeHistory()
  const { start, upstream } = await fork(history)
  const [good, bad] = [await history.commit(RESOLVED, [start, upstream]), await history.commit(FORK, [start, upstream])]
  const state = async () => [await git(history.repo, 'count-objects', '-v'), await readdir(history.repo)]
  const before = await state()
  const printed = await started(history, [start, upstream, good])
  expect([printed.code, printed.stderr]).toEqual([0, ''])
  expect(printed.stdout).toContain('### Conflicts')
  const refused = await started(history, [start, upstream, bad])
  expect(refused.code).toBe(3)
  expect(refused.stdout).toContain('both: both sides changed the same lines')
  expect(await state()).toEqual(before)
})

test('the command judge.ts explains wrong arguments and errors', async () => {
  await using history = await makeHistory()
  const { start, upstream } = await fork(history)
  expect((await started(history, [start])).code).toBe(64)
  const missing = await started(history, [start, upstream, 'nowhere'])
  expect([missing.code, missing.stderr.trim().split('\n').length]).toEqual([1, 1])
  expect((await started(history, [start, upstream, upstream], tmpdir())).code).toBe(1)
  const stranger = await history.commit({ a: '1' })
  const unrelated = await started(history, [start, stranger, stranger])
  expect([unrelated.code, unrelated.stderr]).toEqual([1, expect.stringContaining('unrelated')])
})

test('markers that git itself leaves in a file that both sides renamed are refused', async () => {
  await using history = await makeHistory()
  const rest = { own: '1' }
  const sides = { base: { ...rest, f: text() }, fork: { ...rest, a: text({ 5: 'fork' }) } }
  const { start, upstream, reviewOf } = await fork(history, {
    ...sides,
    upstream: { own: '2', b: text({ 5: 'upstream' }) },
  })
  const { tree } = await history.merge(start, upstream)
  expect((await reviewOf(tree)).refusals).toEqual(['Conflict markers were left in a, b.'])
  expect((await reviewOf({ own: '2', a: text({ 5: 'both' }) })).refusals).toEqual([])
})

test('a file about markers that both sides renamed and changed keeps the markers that it is about', async () => {
  await using history = await makeHistory()
  const about = (changes: Record<number, string>) => `${text(changes)}<<<<<<< ours\n=======\n>>>>>>> theirs\n`
  const { start, upstream, reviewOf } = await fork(history, {
    base: { own: '1', f: about({}) },
    fork: { own: '1', a: about({ 5: 'fork' }) },
    upstream: { own: '2', b: about({ 20: 'upstream' }) },
  })
  const { tree } = await history.merge(start, upstream)
  expect((await reviewOf(tree)).refusals).toEqual([])
})

test('markers in the common ancestor that git makes of several are refused as a resolution', async () => {
  await using history = await makeHistory()
  const commit = (f: string, own: string, up: string, parents: string[]) =>
    history.commit({ f: text({ 5: f }), own, up }, parents)
  const root = await commit('root', '1', '1', [])
  const [ours, theirs] = [await commit('a', '2', '1', [root]), await commit('b', '1', '2', [root])]
  const start = await commit('c', '3', '2', [ours, theirs])
  const upstream = await commit('d', '2', '3', [theirs, ours])
  const { stdout } = Bun.spawnSync(['git', 'merge-tree', '--write-tree', start, upstream], { cwd: history.repo })
  const oid = / ([0-9a-f]+) 1\tf$/m.exec(stdout.toString())?.[1] ?? ''
  const result = await history.commit({ f: { mode: '100644', oid }, own: '3', up: '3' }, [start, upstream])
  expect((await history.review(start, upstream, result)).refusals).toEqual(['Conflict markers were left in f.'])
})
