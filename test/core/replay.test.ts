/** Random histories, reproducible: a good merge is never refused, and a bad one is always noticed. */
import { expect, test } from 'bun:test'
import type { MergeReview } from '../../core/review.ts'
import { page } from '../../forklift/pull-request.ts'
import { type History, makeHistory, type Tree, text } from '../support/histories.ts'
import { type Random, randomFrom } from '../support/random.ts'

const SEEDS = Number(process.env.REPLAY_SEEDS ?? 8)
const NAMES = [
  'a.txt',
  'src/b c.ts',
  'src/"d".ts',
  'src/deep/line\nbreak',
  'caf\xc3\xa9/e',
  'bytes\xff',
  'lib/-f',
  'lib/g',
  "h'",
  'docs/i',
  'docs/j',
  'k',
]

const contentOf = (file: Tree[string] | undefined): string => (typeof file === 'string' ? file : '')

/** Random edits of a working day: changes, new files, deletions, renames, modes, links. */
function workOn(tree: Tree, random: Random, who: string): Tree {
  const next = { ...tree }
  for (let left = 2 + random.below(5); left > 0; left--) {
    const path = random.pick(Object.keys(next))
    const lines = contentOf(next[path]).split('\n')
    const act = random.below(10)
    if (act < 5 && lines.length > 5) {
      const at = random.below(lines.length - 1)
      lines[at] = random.chance(0.15) ? 'the same on both sides' : `${who} ${random.below(1e6)}`
      next[path] = lines.join('\n')
    } else if (act === 5) next[`${who}/${random.below(1e6)} new`] = text({ 1: `${who} ${random.below(1e6)}` })
    else if (act === 6) delete next[path]
    else if (act === 7 && next[path] !== undefined) {
      next[`${random.pick(['moved', 'lib'])}/${random.below(1e6)}`] = next[path]
      delete next[path]
    } else if (act === 8) next[path] = { mode: '100755', content: contentOf(next[path]) || 'run' }
    else next[path] = { mode: '120000', content: `target ${random.below(1e6)}` }
  }
  return next
}

/** Resolves conflicts as maintainers do: with one side, the other, or a mixture. */
async function settle(
  history: History,
  ours: string,
  theirs: string,
  random: Random,
): Promise<{ tree: Tree; clean: boolean }> {
  const { tree, clean } = await history.merge(ours, theirs)
  const [fork, upstream] = [await history.tree(ours), await history.tree(theirs)]
  const { conflicts } = await history.review(ours, theirs, await history.commit(tree, [ours, theirs]))
  for (const { path } of conflicts) {
    const choices = [fork[path], upstream[path], text({ 3: 'something of both' })].filter(file => file !== undefined)
    const choice = random.pick(choices)
    if (random.chance(0.1)) delete tree[path]
    else tree[path] = choice
  }
  return { tree, clean }
}

const named = ({ dropped, vanished, edits, conflicts }: MergeReview): string[] => [
  ...dropped,
  ...vanished,
  ...edits.flatMap(({ path, to }) => [path, to ?? path]),
  ...conflicts.map(({ path }) => path),
]
const same = (a: Tree, b: Tree): boolean =>
  JSON.stringify(Object.entries(a).toSorted()) === JSON.stringify(Object.entries(b).toSorted())
const differing = (a: Tree, b: Tree): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    path => JSON.stringify(a[path]) !== JSON.stringify(b[path]),
  )

for (let seed = 1; seed <= SEEDS; seed++)
  test(`history ${seed}: a good merge passes, and none of its mutations unseen`, async () => {
    const random = randomFrom(seed)
    await using history = await makeHistory()
    const base: Tree = Object.fromEntries(NAMES.map((name, at) => [name, text({ 1: `file ${at}` })]))
    const root = await history.commit(base)
    let [forkTree, upstreamTree] = [workOn(base, random, 'fork'), workOn(base, random, 'upstream')]
    let start = await history.commit(forkTree, [root])
    let upstream = await history.commit(upstreamTree, [root])
    if (random.chance(0.4)) {
      // An earlier merge of upstream; sometimes upstream also merged the fork, for a criss-cross history.
      const before = [start, upstream] as const
      start = await history.commit((await settle(history, ...before, random)).tree, [...before])
      if (random.chance(0.3))
        upstream = await history.commit((await settle(history, before[1], before[0], random)).tree, [
          before[1],
          before[0],
        ])
      forkTree = workOn(await contents(history, start), random, 'fork')
      upstreamTree = workOn(await contents(history, upstream), random, 'upstream')
      ;[start, upstream] = [await history.commit(forkTree, [start]), await history.commit(upstreamTree, [upstream])]
    }
    const [ours, theirs] = [await history.tree(start), await history.tree(upstream)]
    const merged = await history.merge(start, upstream)
    const good = await settle(history, start, upstream, random)
    const reviewOf = async (tree: Tree) =>
      history.review(start, upstream, await history.commit(tree, [start, upstream]))

    const review = await reviewOf(good.tree)
    const atStake = review.files
    if (!same(good.tree, ours) && !same(good.tree, theirs)) expect(review.refusals).toEqual([])
    if (good.clean) {
      expect([review.refusals, review.partial, review.conflicts]).toEqual([[], [], []])
      expect(page(review, { originBranch: 'main', upstreamBranch: 'up' }).body).not.toContain('Look at this first')
    }

    if (atStake.upstream > 0) expect((await reviewOf(ours)).refusals).not.toEqual([])
    if (atStake.fork > 0) expect((await reviewOf(theirs)).refusals).not.toEqual([])
    expect((await history.review(start, upstream, start)).refusals).not.toEqual([])
    if (atStake.fork > 0) expect((await history.review(start, upstream, upstream)).refusals).not.toEqual([])
    if (Object.values(merged.tree).length > 0 && !merged.clean) {
      const untouched = await reviewOf(merged.tree)
      const hasMarkers = untouched.conflicts.some(
        ({ path, kind }) => kind === 'contents' && contentful(ours[path]) && contentful(theirs[path]),
      )
      if (hasMarkers) expect(untouched.refusals.join()).toContain('Conflict markers')
    }
    const conflicted = new Set(review.conflicts.map(({ path }) => path))
    const clean = (paths: string[]) => paths.filter(path => !conflicted.has(path))
    for (const [side, tree] of [
      ['upstream', ours],
      ['fork', theirs],
    ] as const) {
      const changed = clean(differing(good.tree, tree)).filter(
        path => Object.hasOwn(tree, path) || Object.hasOwn(good.tree, path),
      )
      for (const some of [changed.slice(0, 1), changed.slice(0, Math.floor(changed.length / 2))]) {
        const mutant = { ...good.tree }
        for (const path of some) {
          if (tree[path] === undefined) delete mutant[path]
          else mutant[path] = tree[path]
        }
        const shown = await reviewOf(mutant)
        const missing = some.filter(path => !named(shown).includes(path))
        if (shown.refusals.length === 0) expect([side, missing]).toEqual([side, []])
      }
    }
    const victim = random.pick(clean(Object.keys(good.tree)))
    for (const path of [victim, 'slipped\nin'])
      expect(named(await reviewOf({ ...good.tree, [path]: 'slipped in\n' }))).toContain(path)
  }, 60_000)

const contentful = (file: Tree[string] | undefined): boolean => typeof file === 'object' && file.mode.startsWith('100')

/** A tree with its files' content, as a basis for more edits. */
async function contents(history: History, commit: string): Promise<Tree> {
  const tree = await history.tree(commit)
  for (const [path, file] of Object.entries(tree)) {
    if (typeof file !== 'object' || !('oid' in file) || file.mode !== '100644') continue
    tree[path] = Bun.spawnSync(['git', 'cat-file', 'blob', file.oid], { cwd: history.repo }).stdout.toString()
  }
  return tree
}
