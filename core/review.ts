/**
 * Judges a merge of upstream with git alone: the result is compared, file by file, with the merge that git makes
 * by itself.
 */
import { LIMITS, TooLarge } from './git/bounds.ts'
import { type CommitList, commitsBetween, isAncestor } from './git/commits.ts'
import { changesIn, diffTrees, patchOf, plainDiff } from './git/diffs.ts'
import { mergeTrees, type Stage } from './git/merges.ts'
import { type Objects, openObjects, readStart, writeObjects } from './git/objects.ts'
import type { Entry, Oid, Path } from './git/repository.ts'
import { read, run } from './git/run.ts'
import type { Scratch } from './git/scratch.ts'
import { treeBytes, verifyFewChanges } from './git/trees.ts'
import { steersAgents, steersCi } from './steering.ts'
import { visiblePath } from './text.ts'
import { allOf } from './together.ts'

/** `start` is where the agent began, `origin` the branch that the pull request goes to, `result` the agent's branch. */
export type Commits = { origin: Oid; start: Oid; upstream: Oid; result: Oid }
export type Resolution = "upstream's version" | "the fork's version" | 'a mixture of both' | 'deleted'
/** A path that git could not settle, git's word for why, and what the result has there. */
export type Conflict = { path: Path; kind: string; stages: Stage[]; resolution: Resolution }
/** A file that nobody had to touch; `to` is where its content went. */
export type Edit = { path: Path; change: 'added' | 'changed' | 'deleted' | 'moved'; to?: Path }
/**
 * A file of upstream's, and how many of its lines the fork's version adds and deletes: `before` the merge, and `after`.
 */
export type Shrunk = { path: Path; before: number; after: number }

/** How the result differs from git's own merge of origin's branch and upstream. */
type Ledger = {
  conflicts: Conflict[]
  edits: Edit[]
  /** Changes of upstream's, and of the fork's, that are not in the result though nothing was in their way. */
  dropped: Path[]
  vanished: Path[]
  /** Files changed by upstream that steer CI, and those that agents obey or hooks run. */
  ci: Path[]
  steering: Path[]
  /** How many files git merges without a conflict: with upstream's changes, and with the fork's. */
  files: { upstream: number; fork: number }
}
export type Review = Ledger & {
  commits: Commits
  /** Why the result may not be published, a sentence each. */
  refusals: string[]
  /** Those of them that nobody can lift: upstream's commits are missing, or conflict markers were left. */
  unliftable: string[]
  /** What a person has to decide, a sentence each: with any, the pull request is a draft. */
  partial: string[]
  /** The blob of a STUCK.md in the result that neither side has. */
  stuck: Oid | undefined
  /** The result has upstream's history but not the start's: the trees alone were judged. */
  rebased: boolean
  /** Files in which what the start had beyond origin is gone, though nothing was in its way. */
  goneFromStart: Path[]
  /** Whose tree the result is, unchanged, because there was nothing but conflicts and all went one way. */
  settledOn: Comparison['whole']
  shrunk: Shrunk[]
  /** How the result differs from git's own merge, by path, as `git show --remerge-diff` has it. Bounded. */
  diffs: ReadonlyMap<Path, string>
  upstreamCommits: CommitList
}

/** A path where the result differs from git's own merge, or which git could not settle: then it has a `kind`. */
type Spot = { path: Path; kind: string | undefined; stages: Stage[] } & Record<Version, Entry>
type Version = 'automatic' | 'ours' | 'theirs' | 'result'
type Comparison = {
  ledger: Ledger
  spots: Map<Path, Spot>
  /** Of the files that git merges without a conflict, those in which a side's change is lost. */
  lost: { upstream: Path[]; fork: Path[] }
  /** Whose tree the result is, unchanged. */
  whole: 'the fork' | 'upstream' | undefined
}

/** What is read is bounded, because a hostile result is not. */
const SHOWN = { files: 300, bytes: 1 << 20, biggestFile: '512k', commits: 100 }
const READ_BYTES = 8 << 20

/**
 * Judges the result from the start, and shows what it means for origin. The scratch repository reads all four commits.
 * Throws {@link TooLarge} where the result differs from git's own merge in more than what is looked at. Whether
 * upstream does ({@link verifyFewChanges}) is asked before anybody merges, once a run.
 */
export async function review(scratch: Scratch, commits: Commits): Promise<Review> {
  const { origin, start, upstream } = commits
  await using objects = openObjects(scratch)
  const [judged, missing, upstreamCommits] = await allOf([
    compare(scratch, objects, start, commits),
    unreachable(scratch, commits),
    commitsBetween(scratch, origin, upstream, SHOWN.commits),
  ])
  const shown = origin === start ? judged : await compare(scratch, objects, origin, commits)
  const [diffs, shrunk, markers, ci, losses] = await allOf([
    diffsOf(scratch, shown, commits),
    shrunkIn(scratch, shown),
    withMarkers(scratch, objects, judged),
    slippedIntoCi(scratch, objects, judged),
    lossesOf(scratch, judged),
  ])
  const { conflicts, edits, dropped, vanished } = shown.ledger
  const stuck = judged.spots.get('STUCK.md')
  const isStuck = stuck?.result && ![stuck.automatic, stuck.ours, stuck.theirs].some(known => same(known, stuck.result))
  const lacks = (oid: Oid) => `The history of the result lacks ${oid === start ? 'the start' : 'upstream'}, ${oid}.`
  const rebased = missing.length === 1 && missing[0] === start
  const history = rebased ? [] : missing.map(lacks)
  const unresolved = naming('Conflict markers were left in', markers)
  const refusals = [
    ...history,
    ...losses,
    ...unresolved,
    ...naming('Guidance that may be private is neither as in the start nor as git merges it:', guidance(judged)),
    ...naming("Files that steer CI differ from git's own merge, and a push would run them:", ci),
    ...naming('The result says itself that it is stuck, in', isStuck ? ['STUCK.md'] : []),
  ]
  // The start may be a pull request that people have added to: what they did is not in origin yet.
  const goneFromStart = judged.ledger.vanished.filter(path => !vanished.includes(path))
  const settledOn = refusals.length > 0 || conflicts.length === 0 ? undefined : judged.whole
  const partial = [
    ...naming(
      `The result is the tree of ${settledOn}, because all conflicts went its way:`,
      settledOn ? conflicts.map(pathOf) : [],
    ),
    ...naming("Upstream's changes were not taken, though nothing was in their way:", dropped),
    ...naming("The fork's changes were undone, though nothing was in their way:", vanished),
    ...naming('What the start had is gone, though nothing was in its way:', goneFromStart),
    ...naming('Edited beyond the conflicts:', edits.map(pathOf)),
  ]
  const seen = { ...shown.ledger, diffs, shrunk, upstreamCommits }
  return {
    commits,
    refusals,
    unliftable: [...history, ...unresolved],
    partial,
    stuck: isStuck ? stuck.result?.oid : undefined,
    rebased,
    goneFromStart,
    settledOn,
    ...seen,
  }
}

const pathOf = ({ path }: { path: Path }): Path => path
const same = (a: Entry, b: Entry): boolean => a?.oid === b?.oid && a?.mode === b?.mode
const isFile = (entry: Entry): boolean => entry?.mode.startsWith('100') ?? false
const stageOf = (stages: Stage[], number: number): Entry => stages.find(({ stage }) => stage === number)

/** Files that are as neither side has them. */
const written = ({ spots }: Comparison): Spot[] =>
  [...spots.values()].filter(
    ({ ours, theirs, result }) => isFile(result) && ![ours, theirs].some(side => same(side, result)),
  )

/** A sentence that ends in the names of files; none where there are none. */
function naming(words: string, paths: Path[]): string[] {
  if (paths.length === 0) return []
  const names = paths.slice(0, 10).map(path => (/[\s,"]/.test(path) ? `"${visiblePath(path)}"` : visiblePath(path)))
  return [`${words} ${names.join(', ')}${paths.length > 10 ? ` and ${paths.length - 10} more` : ''}.`]
}

/** Compares the result with git's own merge of one commit and upstream. */
async function compare(
  scratch: Scratch,
  objects: Objects,
  ours: Oid,
  { upstream, result }: Commits,
): Promise<Comparison> {
  const merge = await mergeTrees(scratch, ours, upstream, { objects })
  await verifyFewChanges(objects, merge.tree, result, LIMITS.edits)
  const [toResult = '', toOurs = '', toTheirs = ''] = await allOf(
    [result, ours, upstream].map(oid => diffTrees(scratch, merge.tree, oid)),
  )
  const stages = Map.groupBy(merge.stages, pathOf)
  const kinds = new Map(merge.stages.map(({ path }) => [path, 'contents']))
  for (const { kind, paths } of merge.conflicts) for (const path of paths) kinds.set(path, kind)

  const spots = new Map<Path, Spot>()
  // A commit that a diff leaves out at a path has there what git's own merge has: only differences are kept.
  const note = (path: Path, automatic: Entry, version: Partial<Spot>) => {
    const unchanged = { automatic, ours: automatic, theirs: automatic, result: automatic }
    const spot = spots.get(path) ?? { path, kind: kinds.get(path), stages: stages.get(path) ?? [], ...unchanged }
    spots.set(path, Object.assign(spot, version))
  }
  const [ci, steering, files]: [Path[], Path[], Ledger['files']] = [[], [], { upstream: 0, fork: 0 }]
  for (const [path, automatic, there] of changesIn(toResult)) note(path, automatic, { result: there })
  for (const [path, automatic, there] of changesIn(toOurs)) {
    if (kinds.has(path) || spots.has(path)) note(path, automatic, { ours: there })
    if (!kinds.has(path)) files.upstream++
    if (steersCi(path)) ci.push(path)
    else if (steersAgents(path)) steering.push(path)
  }
  for (const [path, automatic, there] of changesIn(toTheirs)) {
    if (kinds.has(path) || spots.has(path)) note(path, automatic, { theirs: there })
    if (!kinds.has(path)) files.fork++
  }
  const whole = toResult === toOurs ? 'the fork' : toResult === toTheirs ? 'upstream' : undefined
  const conflicts = conflictsIn(spots)
  const { lost, ...changes } = changesBeyond(conflicts, spots)
  return { ledger: { conflicts, ...changes, ci, steering, files }, spots, lost, whole }
}

function conflictsIn(spots: Map<Path, Spot>): Conflict[] {
  return [...spots.values()].flatMap(spot => {
    const { path, kind, stages, automatic, result } = spot
    // Git names some paths in a conflict that have no stages: the old name of a renamed file, a file where a folder has
    // to be. They matter only where the result differs from git's own merge there.
    const isNamed = kind && (stages.length > 0 || !same(result, automatic))
    return isNamed ? [{ path, kind, stages, resolution: resolutionOf(spot) }] : []
  })
}

function resolutionOf({ stages, ours, theirs, result }: Spot): Resolution {
  if (!result) return 'deleted'
  if (same(result, stages.length > 0 ? stageOf(stages, 3) : theirs)) return "upstream's version"
  return same(result, stages.length > 0 ? stageOf(stages, 2) : ours) ? "the fork's version" : 'a mixture of both'
}

/**
 * Where the result differs from git's own merge though nothing was in conflict: edits, and changes that a side lost.
 */
function changesBeyond(conflicts: Conflict[], spots: Map<Path, Spot>) {
  const found = { edits: [] as Edit[], dropped: [] as Path[], vanished: [] as Path[] }
  const lost: Comparison['lost'] = { upstream: [], fork: [] }
  const clean = [...spots.values()].filter(({ kind }) => !kind)
  const isNew = ({ automatic, ours, theirs, result }: Spot) => result && !automatic && !ours && !theirs
  const arrivals = new Map(clean.filter(isNew).map(({ result, path }) => [result?.oid, path]))
  const movedTo = ({ automatic, result }: Spot) => (automatic && !result ? arrivals.get(automatic.oid) : undefined)
  const targets = new Set(clean.map(movedTo))
  const givenUp = conflicts
    .filter(({ kind, resolution, path }) => kind === 'modify/delete' && resolution === 'deleted' && path.includes('/'))
    .map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1))
  for (const spot of clean) {
    const { path, automatic, ours, theirs, result } = spot
    const to = movedTo(spot)
    if (to) found.edits.push({ path, change: 'moved', to })
    else if (targets.has(path)) continue
    else if (same(result, ours)) found.dropped.push(path)
    else if (same(result, theirs)) found.vanished.push(path)
    else found.edits.push({ path, change: !automatic ? 'added' : result ? 'changed' : 'deleted' })
    // Where a folder's conflicts were settled by deleting it, its other files went along: that is no lost merge.
    if (to || (!result && givenUp.some(folder => path.startsWith(folder)))) continue
    if (!same(automatic, ours) && (!result || same(result, ours))) lost.upstream.push(path)
    if (!same(automatic, theirs) && (!result || same(result, theirs))) lost.fork.push(path)
  }
  return { ...found, lost }
}

/** Which of upstream and the start the result does not descend from. */
async function unreachable(scratch: Scratch, { start, upstream, result }: Commits): Promise<Oid[]> {
  // Not by rev-list, which believes the dates of commits: it stops early where they are wrong.
  const lacks = async (oid: Oid) => !(await isAncestor(scratch, oid, result))
  return (await allOf([upstream, start].map(async oid => ((await lacks(oid)) ? [oid] : [])))).flat()
}

/** Writes trees whose files are named by their place in the list, because a path does not survive in a patch. */
function numberedTrees(scratch: Scratch, trees: Entry[][]): Promise<Oid[]> {
  const numbered = (entry: Entry, at: number) => (entry ? [{ name: String(at).padStart(7, '0'), ...entry }] : [])
  return writeObjects(
    scratch,
    trees.map(tree => ({ type: 'tree', bytes: treeBytes(tree.flatMap(numbered)) })),
  )
}

/** The difference to git's own merge as text, by path, the conflicts first. */
async function diffsOf(scratch: Scratch, { spots }: Comparison, commits: Commits): Promise<Review['diffs']> {
  const shown = [...spots.values()].sort((a, b) => Number(!a.kind) - Number(!b.kind)).slice(0, SHOWN.files)
  const diffs = new Map<Path, string>()
  if (shown.length === 0) return diffs
  const sides = [shown.map(({ automatic }) => automatic), shown.map(({ result }) => result)]
  const [automatic = '', result = ''] = await numberedTrees(scratch, sides)
  const patch = await patchOf(scratch, automatic, result, {
    context: 3,
    limit: SHOWN.bytes,
    biggestFile: SHOWN.biggestFile,
  })
  const [, ...sections] = patch.text.split(/^diff --git a\/(\d+) b\/\d+\n/m)
  for (let at = 0; at < sections.length; at += 2) {
    const path = shown[Number(sections[at])]?.path ?? ''
    // A file that became a symlink, or the reverse, has two sections.
    diffs.set(path, (diffs.get(path) ?? '') + readable(sections[at + 1] ?? '', commits))
  }
  return diffs
}

/** Files in which the fork changes fewer lines of upstream's than when they met. */
async function shrunkIn(scratch: Scratch, comparison: Comparison): Promise<Shrunk[]> {
  const pairs = written(comparison).flatMap(({ path, kind, stages, automatic, theirs, result }) => {
    const base = kind ? stageOf(stages, 1) : theirs
    const versions = kind ? [base, stageOf(stages, 2), stageOf(stages, 3), result] : [base, automatic, theirs, result]
    return versions.every(isFile) ? [{ path, versions }] : []
  })
  if (pairs.length === 0) return []
  const column = (number: number) => pairs.map(({ versions }) => versions[number])
  const trees = await numberedTrees(scratch, [column(0).concat(column(2)), column(1).concat(column(3))])
  const stdout = await read(scratch, [...plainDiff(SHOWN.biggestFile), '--numstat', ...trees])
  const sizes = new Map<number, number>()
  for (const [, added, deleted, at] of stdout.matchAll(/^(\d+)\t(\d+)\t(\d+)$/gm))
    sizes.set(Number(at), Number(added) + Number(deleted))
  return pairs.flatMap(({ path }, at) => {
    const [before = 0, after = 0] = [sizes.get(at), sizes.get(at + pairs.length)]
    return after > 0 && after < before ? [{ path, before, after }] : []
  })
}

/** A section of a patch without the numbers that stand for file names, and with names for the sides of a conflict. */
function readable(section: string, { origin, upstream }: Commits): string {
  const [head = '', ...hunks] = section.split(/^(?=@@ )/m)
  const named = head.replace(/^(index|---|\+\+\+) .*\n/gm, '').replace(/^Binary files .*$/m, 'Binary file')
  return Buffer.from(named + hunks.join(''), 'latin1')
    .toString()
    .replaceAll(`<<<<<<< ${origin}`, '<<<<<<< the fork')
    .replaceAll(`>>>>>>> ${upstream}`, '>>>>>>> upstream')
}

/** Files with more lines of conflict markers than the two sides account for. `=======` alone may be a heading. */
async function withMarkers(scratch: Scratch, objects: Objects, comparison: Comparison): Promise<Path[]> {
  const known = ({ kind, stages, ours, theirs, automatic }: Spot): Entry[] =>
    stages.length > 0 ? [2, 3, 1].map(number => stageOf(stages, number)) : [ours, theirs, kind ? undefined : automatic]
  // Content that a side has at another path was moved there, not written by whoever merged.
  const old = new Set([...comparison.spots.values()].flatMap(spot => known(spot).map(entry => entry?.oid)))
  const files = written(comparison).filter(({ result }) => !old.has(result?.oid))
  if (files.length === 0) return []
  await verifyReadable(objects, files)
  const versions = files.flatMap(spot =>
    [spot.result, ...known(spot)].map(entry => (isFile(entry) ? entry : undefined)),
  )
  const [tree = ''] = await numberedTrees(scratch, [versions])
  const search = ['grep', '-c', '-I', '-E', '-e', '^(<{7,}|>{7,})([[:space:]]|$)', tree]
  const counts = new Map<number, number>()
  // 1 is a search that found nothing.
  const found = (await run(scratch, search, { limit: READ_BYTES, ok: [0, 1] })).stdout.toString('latin1')
  for (const [, at, count] of found.matchAll(/:(\d+):(\d+)$/gm)) counts.set(Number(at), Number(count))
  const left = files.filter((_, at) => {
    const [result = 0, ours = 0, theirs = 0, base = 0] = [0, 1, 2, 3].map(who => counts.get(at * 4 + who) ?? 0)
    return result > Math.max(ours, theirs, base, ours + theirs - base)
  })
  return left.map(pathOf)
}

/** Throws where a file is larger than what is read whole. */
async function verifyReadable(objects: Objects, files: Spot[]): Promise<void> {
  const infos = await allOf(files.map(({ result }) => objects.info(result?.oid ?? '')))
  const at = infos.findIndex(info => !info || info.size > LIMITS.blob)
  if (at < 0) return
  const size = infos[at]?.size.toLocaleString('en') ?? 'no'
  throw new TooLarge(
    `${visiblePath(files[at]?.path ?? '')} has ${size} bytes, and at most ${LIMITS.blob >> 20} MiB are read`,
  )
}

/** FORK.md as neither the start nor git's own merge has it: the agent was told in private what may now be in it. */
function guidance({ spots }: Comparison): Path[] {
  const spot = spots.get('FORK.md')
  if (!spot || same(spot.result, spot.automatic) || same(spot.result, spot.ours)) return []
  return spot.kind && resolutionOf(spot) !== 'a mixture of both' ? [] : [spot.path]
}

/**
 * CI files in which something would run for the first time. What the start has runs already; a conflict may be
 * resolved with the words of both sides, and with none of the agent's own.
 */
async function slippedIntoCi(scratch: Scratch, objects: Objects, { spots }: Comparison): Promise<Path[]> {
  const wordsOf = async (entry: Entry): Promise<string[]> => {
    const oid = entry?.oid ?? ''
    const bytes = (await objects.read(oid, { limit: READ_BYTES }))?.bytes ?? (await readStart(scratch, oid, READ_BYTES))
    return bytes.toString('latin1').match(/[^\s"'`,;()[\]{}]+/g) ?? []
  }
  const isNew = async (spot: Spot): Promise<boolean> => {
    if (!spot.kind) return !same(spot.result, spot.automatic)
    if (resolutionOf(spot) !== 'a mixture of both') return false
    if (!isFile(spot.result)) return true
    const known = new Set((await allOf(spot.stages.map(wordsOf))).flat())
    return !(await wordsOf(spot.result)).every(word => known.has(word))
  }
  const changed = [...spots.values()].filter(({ path, ours, result }) => steersCi(path) && !same(result, ours))
  return (await allOf(changed.map(async spot => ((await isNew(spot)) ? [spot.path] : [])))).flat()
}

/** What a side lost though nothing was in its way, where that is all or most of what it had changed. */
async function lossesOf(scratch: Scratch, comparison: Comparison): Promise<string[]> {
  const { ledger, lost, whole } = comparison
  const side = whole === 'the fork' ? 'upstream' : 'fork'
  if (whole && (ledger.files[side] > 0 || (await losesHunks(scratch, comparison)))) {
    const tree = whole === 'the fork' ? "the fork's tree as it was; upstream's" : "upstream's tree; the fork's"
    const gone = lost[side].length > 0 ? lost[side] : ledger.conflicts.map(pathOf)
    return naming(`The result is ${tree} changes are gone from`, gone)
  }
  const most = (whose: string, files: number, gone: Path[]) =>
    naming(`${whose} changes to ${gone.length} of ${files} files are gone, though nothing was in their way:`, gone)
  return [
    ...(lost.upstream.length * 2 > ledger.files.upstream
      ? most("Upstream's", ledger.files.upstream, lost.upstream)
      : []),
    ...(lost.fork.length * 2 > ledger.files.fork ? most("The fork's", ledger.files.fork, lost.fork) : []),
  ]
}

/** Whether the side that every conflict went against also lost changes that were in no conflict, in the same files. */
async function losesHunks(scratch: Scratch, { spots, whole }: Comparison): Promise<boolean> {
  const sides = ({ stages }: Spot) => [stageOf(stages, 2), stageOf(stages, 3)]
  const merged = [...spots.values()].filter(spot => isFile(spot.automatic) && sides(spot).every(isFile))
  if (merged.length === 0) return false
  const [side = '', automatic = ''] = await numberedTrees(scratch, [
    merged.map(spot => sides(spot)[whole === 'the fork' ? 0 : 1]),
    merged.map(spot => spot.automatic),
  ])
  const patch = await patchOf(scratch, side, automatic, {
    context: 0,
    limit: SHOWN.bytes,
    biggestFile: SHOWN.biggestFile,
  })
  const [, ...hunks] = patch.text.split(/^@@ .*$/m)
  return hunks.some(hunk => !/^\+(<{7}|={7}|>{7})/m.test(hunk))
}
