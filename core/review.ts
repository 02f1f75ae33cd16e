/**
 * Judges a merge of upstream with git alone: the result is compared, file by file, with the merge that git makes
 * by itself.
 */
import { changedAround, conflictLines, type MarkedFile } from './around.ts'
import {
  type FileVersions,
  isCalledByOthers,
  isOfBothSides,
  lifecycleScripts,
  mayBeCalled,
  startsMore,
  startsOf,
  startsWhatIsOff,
} from './automation.ts'
import { checkAttribute } from './git/attributes.ts'
import { LIMITS, TooLarge } from './git/bounds.ts'
import { type CommitList, commitsBetween, isAncestor, mergeBases } from './git/commits.ts'
import { changesIn, diffTrees, patchOf, plainDiff } from './git/diffs.ts'
import { mergeTrees, type Stage } from './git/merges.ts'
import { type Objects, openObjects, writeObjects } from './git/objects.ts'
import type { Entry, Oid, Path } from './git/repository.ts'
import { read } from './git/run.ts'
import type { Scratch } from './git/scratch.ts'
import { entryAt, isFolder, readTree, treeBytes, verifyFewChanges } from './git/trees.ts'
import { linksOf, type SteersCi, steersCiThrough } from './links.ts'
import { isLockFile, isRecipe, looksAutomatic, steersAgents, steersCi } from './steering.ts'
import { visiblePath } from './text.ts'
import { allOf } from './together.ts'

/** `start` is where the agent began, `origin` the branch that the pull request goes to, `result` the agent's branch. */
export type Commits = { origin: Oid; start: Oid; upstream: Oid; result: Oid }
type Resolution =
  | "upstream's version"
  | "the fork's version"
  | "git's own merge of both"
  | 'a mixture of both'
  | 'a version of its own'
  | 'deleted'
/** A path that git could not settle, git's word for why, and what the result has there. */
export type ReviewedConflict = { path: Path; kind: string; stages: Stage[]; resolution: Resolution }
/** A change of a file that the merge did not need; `to` is where its content went. */
export type ReviewedEdit = { path: Path; change: 'added' | 'changed' | 'deleted' | 'moved'; to?: Path }
/**
 * A file of upstream's, and how many of its lines the fork's version adds and deletes: `before` the merge, and `after`.
 */
type Shrunk = { path: Path; before: number; after: number }

/** How the result differs from git's own merge of origin's branch and upstream. */
type Ledger = {
  conflicts: ReviewedConflict[]
  edits: ReviewedEdit[]
  /** Changes of upstream's, and of the fork's, that are not in the result though nothing was in their way. */
  dropped: Path[]
  vanished: Path[]
  /** Files that steer CI, and that the result has as the fork has them (or not at all), since it has switched them off. */
  keptOff: Path[]
  /** Files changed by upstream that steer CI, and those that agents obey or hooks run. */
  ci: Path[]
  steering: Path[]
  /** How many files git merges without a conflict: with upstream's changes, and with the fork's. */
  files: { upstream: number; fork: number }
}
export type MergeReview = Ledger & {
  commits: Commits
  /** Why the result may not be published, a sentence each. */
  refusals: string[]
  /** Those of them that --anyway can't lift: upstream's commits are missing, or conflict markers were left. */
  unliftable: string[]
  /** Those of them that do not count where a person resolved the conflicts: the merge itself says that it is meant. */
  meantByHand: string[]
  /** What a person has to decide, a sentence each: with any, the pull request is a draft. */
  partial: string[]
  /** The blob of a STUCK.md in the result that neither side has. */
  stuck: Oid | undefined
  /** The result has upstream's history but not the start's: the trees alone were judged. */
  rebased: boolean
  /** Files with a conflict that differ from git's own merge where nothing was in conflict, too. */
  around: Path[]
  /** Files with a conflict that have a line of `=======` which neither side has, and no other marker. */
  middles: Path[]
  /** Files that machines tend to run or obey, as neither git's own merge nor a side has them. */
  automation: Path[]
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
  /** Which paths steer CI in the result. */
  steerCi: SteersCi
  /** Contents that a side has where git's own merge has something else. */
  ofSides: ReadonlySet<Oid>
  /** Of the files that git merges without a conflict, those in which a side's change is lost. */
  lost: { upstream: Path[]; fork: Path[] }
  /** Files of CI that the fork has switched off and git's own merge would start; and those that the result starts. */
  switchedOff: { files: ReadonlySet<Path>; started: Path[] }
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
export async function review(scratch: Scratch, commits: Commits): Promise<MergeReview> {
  const { origin, start, upstream } = commits
  await using objects = openObjects(scratch)
  const [judged, missing, upstreamCommits] = await allOf([
    compare(scratch, objects, start, commits),
    unreachable(scratch, commits),
    commitsBetween(scratch, origin, upstream, SHOWN.commits),
  ])
  const isFirst = origin === start
  const shown = isFirst ? judged : await compare(scratch, objects, origin, commits)
  const judgedAround = await besideConflicts(scratch, objects, judged, commits)
  const [diffs, shrunk, markers, ci, restarted, uncovered, judgedAutomation, losses, earlier] = await allOf([
    diffsOf(scratch, shown, commits),
    shrunkIn(scratch, shown),
    withMarkers(objects, commits, judged),
    slippedIntoCi(objects, judged, judgedAround),
    restartedCi(objects, judged),
    uncoveredCi(objects, judged, commits),
    newAutomation(objects, judged),
    lossesOf(scratch, judged),
    isFirst ? Promise.resolve(NOTHING_ODD) : oddIn(scratch, objects, shown, { ...commits, start: origin }),
  ])
  const around = union(judgedAround, earlier.around)
  const middles = union(markers.middles, earlier.middles)
  const automation = union(judgedAutomation, earlier.automation)
  const { conflicts, edits, dropped, vanished } = shown.ledger
  const ofNeither = conflicts.filter(({ resolution }) => resolution === 'a version of its own').map(pathOf)
  const stuck = judged.spots.get('STUCK.md')
  const isStuck = stuck?.result && ![stuck.automatic, stuck.ours, stuck.theirs].some(known => same(known, stuck.result))
  const lacks = (oid: Oid) => `The history of the result lacks ${oid === start ? 'the start' : 'upstream'}, ${oid}.`
  const rebased = missing.length === 1 && missing[0] === start
  const history = rebased ? [] : missing.map(lacks)
  const unresolved = naming('Conflict markers were left in', markers.left)
  const meantByHand = naming('CI that the fork has switched off would run again, by', restarted)
  const refusals = [
    ...history,
    ...losses,
    ...unresolved,
    ...naming('Guidance that may be private is neither as in the start nor as git merges it:', guidance(judged)),
    ...naming("Files that steer CI differ from git's own merge, and a push would run them:", ci),
    ...meantByHand,
    ...naming('Upstream brings what would run into CI that the fork has switched off:', judged.switchedOff.started),
    ...naming('A Forgejo or Gitea would run other workflows in place of the deleted ones:', uncovered),
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
    ...naming('In conflict, and neither as a side has it nor a mixture of the two:', ofNeither),
    ...naming('Changed beside a conflict, in the same file:', around),
    ...naming('A line of ======= that neither side has may be left of a conflict, in', middles),
    ...naming("Automation that git's own merge does not have may run by itself:", automation),
  ]
  const seen = { ...shown.ledger, diffs, shrunk, upstreamCommits }
  return {
    commits,
    refusals,
    unliftable: [...history, ...unresolved],
    meantByHand,
    partial,
    around,
    middles,
    automation,
    stuck: isStuck ? stuck.result?.oid : undefined,
    rebased,
    goneFromStart,
    settledOn,
    ...seen,
  }
}

/** What of a comparison is worth a look and does not follow from its list of changes. */
type Odd = Record<'around' | 'middles' | 'automation', Path[]>
const NOTHING_ODD: Odd = { around: [], middles: [], automation: [] }

async function oddIn(scratch: Scratch, objects: Objects, comparison: Comparison, commits: Commits): Promise<Odd> {
  const [around, { middles }, automation] = await allOf([
    besideConflicts(scratch, objects, comparison, commits),
    withMarkers(objects, commits, comparison),
    newAutomation(objects, comparison),
  ])
  return { around, middles, automation }
}

const union = (paths: Path[], more: Path[]): Path[] => [...new Set([...paths, ...more])]

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
  // Only now: a tree of a few objects can stand for more files than can be listed.
  const links = linksOf(objects, result)
  const diffs = [result, ours, upstream].map(oid => diffTrees(scratch, merge.tree, oid))
  const [steerCi, toResult = '', toOurs = '', toTheirs = ''] = await allOf([links.then(steersCiThrough), ...diffs])
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
  const arrived: Arrival[] = []
  const ofSides = new Set<Oid>()
  for (const [path, automatic, there] of changesIn(toResult)) note(path, automatic, { result: there })
  for (const [path, automatic, there] of changesIn(toOurs)) {
    if (there) ofSides.add(there.oid)
    if (kinds.has(path) || spots.has(path)) note(path, automatic, { ours: there })
    if (!kinds.has(path)) files.upstream++
    const isCi = steerCi(path, automatic)
    if (isCi && automatic && !kinds.has(path) && !isCalledByOthers(path))
      arrived.push({ path, entry: automatic, before: there })
    if (isCi) ci.push(path)
    else if (steersAgents(path)) steering.push(path)
  }
  for (const [path, automatic, there] of changesIn(toTheirs)) {
    if (there) ofSides.add(there.oid)
    if (kinds.has(path) || spots.has(path)) note(path, automatic, { theirs: there })
    if (!kinds.has(path)) files.fork++
  }
  const whole = toResult === toOurs ? 'the fork' : toResult === toTheirs ? 'upstream' : undefined
  const conflicts = conflictsIn(spots, ofSides)
  const off = await switchedOff(objects, ours, upstream, arrived)
  const givenUp = await foldersGivenUp(objects, conflicts, result)
  const { lost, ...changes } = changesBeyond(spots, { off, givenUp })
  const started = await startedOf(objects, off, spots)
  const ledger = { conflicts, ...changes, ci, steering, files }
  return { ledger, spots, steerCi, ofSides, lost, switchedOff: { files: off, started }, whole }
}

/** A file that steers CI, as git merges what upstream changed, and what the fork has in its place. */
type Arrival = { path: Path; entry: NonNullable<Entry>; before: Entry }

/**
 * Those arrivals that would start something where the fork has switched it off: its version starts nothing, or it has
 * none, in a folder where it has switched off all that was there (the common ancestor has files there that start
 * something, and the fork has none).
 */
async function switchedOff(
  objects: Objects,
  ours: Oid,
  upstream: Oid,
  arrived: readonly Arrival[],
): Promise<ReadonlySet<Path>> {
  const off = new Set<Path>()
  const isStarted = async (path: Path, entry: Entry) => startsOf(path, await bytesOf(objects, entry)).size > 0
  for (const { path, entry, before } of arrived)
    if (isFile(before) && !(await isStarted(path, before)) && (await isStarted(path, entry))) off.add(path)
  const added = arrived.filter(({ before }) => !before)
  const folders = Map.groupBy(added, ({ path }) => path.slice(0, path.lastIndexOf('/') + 1))
  folders.delete('')
  if (folders.size === 0) return off
  const bases = await mergeBases(objects.repository, ours, upstream)
  for (const [folder, arrivals] of folders) {
    if (await startsAnything(objects, ours, folder)) continue
    const before = await allOf(bases.map(base => startsAnything(objects, base, folder)))
    if (!before.includes(true)) continue
    for (const { path, entry } of arrivals) if (await isStarted(path, entry)) off.add(path)
  }
  return off
}

/** Those of the files that git's own merge would start, in which the result starts something, too. */
async function startedOf(objects: Objects, off: ReadonlySet<Path>, spots: Map<Path, Spot>): Promise<Path[]> {
  const started: Path[] = []
  for (const path of off) {
    const spot = spots.get(path)
    // A link, of which it can't be read what it starts, is no way around.
    const isStarted = !spot || (spot.result && !isFile(spot.result))
    if (isStarted || startsOf(path, await bytesOf(objects, spot?.result)).size > 0) started.push(path)
  }
  return started
}

/** Whether a file in a folder of a commit steers CI and starts anything by itself. */
async function startsAnything(objects: Objects, commit: Oid, folder: Path): Promise<boolean> {
  const place = await entryAt(objects, commit, folder.slice(0, -1))
  if (!place || !isFolder(place)) return false
  for (const { name, ...entry } of await readTree(objects, place.oid)) {
    const path = `${folder}${name}`
    const mayStart = isFile(entry) && steersCi(path) && !isCalledByOthers(path)
    const isStarting = mayStart && startsOf(path, await bytesOf(objects, entry)).size > 0
    if (isStarting) return true
  }
  return false
}

/**
 * What a file holds; undefined where there is none. A workflow that is too long to be read counts as one that starts by
 * itself.
 */
async function bytesOf(objects: Objects, entry: Entry): Promise<Buffer | undefined> {
  if (!isFile(entry)) return undefined
  return (await objects.read(entry?.oid ?? '', { limit: READ_BYTES }))?.bytes ?? Buffer.from('too long')
}

function conflictsIn(spots: Map<Path, Spot>, ofSides: ReadonlySet<Oid>): ReviewedConflict[] {
  return [...spots.values()].flatMap(spot => {
    const { path, kind, stages, automatic, result } = spot
    // Git names some paths in a conflict that have no stages: the old name of a renamed file, a file where a folder has
    // to be. They matter only where the result differs from git's own merge there.
    const isNamed = kind && (stages.length > 0 || !same(result, automatic))
    return isNamed ? [{ path, kind, stages, resolution: resolutionOf(spot, ofSides) }] : []
  })
}

function resolutionOf({ stages, ours, theirs, automatic, result }: Spot, ofSides: ReadonlySet<Oid>): Resolution {
  if (!result) return 'deleted'
  const [own, upstreams] = stages.length > 0 ? [stageOf(stages, 2), stageOf(stages, 3)] : [ours, theirs]
  // Where both sides renamed a file, git merges it first, and has what came of it in the place of a side's version.
  const isOfSide = (entry: Entry, atPath: Entry) => same(entry, atPath) || ofSides.has(entry?.oid ?? '')
  if (same(result, upstreams)) return isOfSide(upstreams, theirs) ? "upstream's version" : "git's own merge of both"
  if (same(result, own)) return isOfSide(own, ours) ? "the fork's version" : "git's own merge of both"
  // Where git can mix the two, its own merge is the file with markers. Of files that one side has deleted, binary ones,
  // links and submodules it has one of the two, and none where both have renamed a file.
  const isMixable = own && upstreams && automatic && stages.every(({ oid }) => oid !== automatic.oid)
  return isMixable || ofSides.has(result.oid) ? 'a mixture of both' : 'a version of its own'
}

/**
 * Where the result differs from git's own merge though nothing was in conflict: edits, and changes that a side lost.
 */
function changesBeyond(spots: Map<Path, Spot>, { off, givenUp }: { off: ReadonlySet<Path>; givenUp: Path[] }) {
  const found = { edits: [] as ReviewedEdit[], dropped: [] as Path[], vanished: [] as Path[], keptOff: [] as Path[] }
  const lost: Comparison['lost'] = { upstream: [], fork: [] }
  const clean = [...spots.values()].filter(({ kind }) => !kind)
  const isNew = ({ automatic, ours, theirs, result }: Spot) => result && !automatic && !ours && !theirs
  const arrivals = new Map(clean.filter(isNew).map(({ result, path }) => [result?.oid, path]))
  const movedTo = ({ automatic, result }: Spot) => (automatic && !result ? arrivals.get(automatic.oid) : undefined)
  const targets = new Set(clean.map(movedTo))
  for (const spot of clean) {
    const { path, automatic, ours, theirs, result } = spot
    const to = movedTo(spot)
    if (off.has(path) && (!result || same(result, ours))) {
      found.keptOff.push(path)
      continue
    }
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

/** Folders whose conflicts were settled by deleting all of them, with a slash behind. */
async function foldersGivenUp(objects: Objects, conflicts: ReviewedConflict[], result: Oid): Promise<Path[]> {
  const deleted = conflicts.filter(({ kind, resolution }) => kind === 'modify/delete' && resolution === 'deleted')
  const folders = new Set(deleted.map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1)))
  const isGone = async (folder: Path) => folder !== '' && !(await entryAt(objects, result, folder.slice(0, -1)))
  return (await allOf([...folders].map(async folder => ((await isGone(folder)) ? [folder] : [])))).flat()
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
async function diffsOf(scratch: Scratch, { spots }: Comparison, commits: Commits): Promise<MergeReview['diffs']> {
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

/** The length of the markers that git writes where nothing else is said. */
const USUAL_MARKER = 7

/**
 * Files with more lines of conflict markers than the two sides account for (`left`). `=======` alone may be a heading,
 * and a line of `|||||||` a row of a table: they count together, or with what git writes behind it; of the former alone
 * a file with a conflict is among `middles`.
 */
async function withMarkers(
  objects: Objects,
  { start, upstream }: Commits,
  comparison: Comparison,
): Promise<{ left: Path[]; middles: Path[] }> {
  // Where both sides renamed a file, git merges it first: what it then calls a side's version may have markers itself.
  const side = (entry: Entry, atPath: Entry) => (entry && comparison.ofSides.has(entry.oid) ? entry : atPath)
  const known = ({ kind, stages, ours, theirs, automatic }: Spot): [Entry, Entry, Entry] =>
    stages.length > 0
      ? [side(stageOf(stages, 2), ours), side(stageOf(stages, 3), theirs), stageOf(stages, 1)]
      : [ours, theirs, kind ? undefined : automatic]
  // Content that a side has at another path was moved there, not written by the merge.
  const contents = (spot: Spot) => (spot.stages.length > 0 ? known(spot).slice(0, 2) : known(spot))
  const old = new Set([...comparison.spots.values()].flatMap(spot => contents(spot).map(entry => entry?.oid)))
  const files = written(comparison).filter(({ result }) => !old.has(result?.oid))
  const found: { left: Path[]; middles: Path[] } = { left: [], middles: [] }
  if (files.length === 0) return found
  await verifyReadable(objects, files)
  // Git takes the size from what is checked out: upstream's, too, where a conflict is written anew after the merge.
  const sizesIn = (commit: Oid) => checkAttribute(objects, commit, 'conflict-marker-size', files.map(pathOf))
  const sizes = await allOf([start, upstream].map(sizesIn))
  let bases: Oid[] | undefined
  for (const spot of files) {
    const lengths = sizes.map(it => Number(it.get(spot.path)) || USUAL_MARKER)
    const count = async (entry: Entry) => {
      const bytes = isFile(entry) && (await objects.read(entry?.oid ?? '', { limit: LIMITS.blob }))?.bytes
      return countMarkers(bytes || '', lengths)
    }
    const result = await count(spot.result)
    if (result.sides + result.bases + result.alone === 0) continue
    const [ours, theirs, base] = await allOf(known(spot).map(count))
    if (!ours || !theirs || !base) continue
    // Of several common ancestors git makes one, and leaves markers in it where they are in conflict.
    bases ??= await mergeBases(objects.repository, start, upstream)
    if (spot.kind && bases.length > 1) Object.assign(base, NO_MARKERS)
    const isMore = (kind: keyof Markers) =>
      result[kind] > Math.max(ours[kind], theirs[kind], base[kind], ours[kind] + theirs[kind] - base[kind])
    if (isMore('sides') || (isMore('bases') && (isMore('middles') || isMore('named')))) found.left.push(spot.path)
    else if (spot.kind && isMore('alone')) found.middles.push(spot.path)
  }
  return found
}

const NO_MARKERS: Markers = { sides: 0, bases: 0, named: 0, middles: 0, alone: 0 }

/**
 * How many lines begin with `<<<<<<<` or `>>>>>>>`, with `|||||||`, those of them with an id behind, and `=======`; and
 * those `alone` of the latter that underline no heading.
 */
type Markers = { sides: number; bases: number; named: number; middles: number; alone: number }

/** What may stand before a marker: a formatter indents it with the code, and what is commented out is no resolution. */
const BEFORE_MARKER = '[ \\t]*(?:(?:#+|//|--|;+|%|\\*|/\\*|<!--|>)[ \\t]*)?'

function countMarkers(bytes: Buffer | '', sizes: readonly number[]): Markers {
  // Without its NULs, text in UTF-16 or UTF-32 has the same markers as any other, and binary files are read as well.
  const text = bytes === '' ? '' : bytes.toString('latin1').replaceAll('\0', '')
  const either = (patternOf: (size: number) => string) => `(?:${[...new Set(sizes)].map(patternOf).join('|')})`
  const run = (char: string) => `(?:${char}{${USUAL_MARKER},}|${either(size => `${char}{${size}}`)})(?!${char})`
  const count = (pattern: string) =>
    text.match(new RegExp(`^(?:\\xef\\xbb\\xbf|\\xff\\xfe|\\xfe\\xff)?${BEFORE_MARKER}${pattern}`, 'gm'))?.length ?? 0
  return {
    sides: count(`(?:${run('<')}|${run('>')})(?:\\s|$)`),
    bases: count(`${run('\\|')}(?:\\s|$)`),
    named: count(`${run('\\|')} (?:[0-9a-f]{7,64}|merged common ancestors|base|parent of [0-9a-f]{7,}.*)\\b`),
    middles: count(`${run('=')}\\s*$`),
    alone: count(`${either(size => `(?<!^[^\\r\\n]{1,${size}}\\r?\\n.*)={${size}}`)}(?!=)\\s*$`),
  }
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
function guidance({ spots, ofSides }: Comparison): Path[] {
  const spot = spots.get('FORK.md')
  if (!spot || same(spot.result, spot.automatic) || same(spot.result, spot.ours)) return []
  const isOfNeither = ['a mixture of both', 'a version of its own'].includes(resolutionOf(spot, ofSides))
  return spot.kind && !isOfNeither ? [] : [spot.path]
}

/** Whether the result has a version of its own at a path: none that git's own merge or, in a conflict, a side has. */
function isOwnVersion({ kind, stages, automatic, ours, theirs, result }: Spot): boolean {
  const sides = stages.length > 0 ? [2, 3].map(number => stageOf(stages, number)) : [ours, theirs]
  return Boolean(result) && !same(result, automatic) && !(kind ? sides : [ours]).some(side => same(side, result))
}

/**
 * CI files in which something would run for the first time. What the start has runs already, and what is gone runs no
 * more; a conflict may be resolved with the lines of both sides, and with nothing of the agent's own.
 */
async function slippedIntoCi(objects: Objects, { spots, steerCi }: Comparison, around: Path[]): Promise<Path[]> {
  const isNew = async (spot: Spot): Promise<boolean> => {
    const { path, kind, stages, result } = spot
    if (!isFile(result)) return true
    const { size = 0 } = (await objects.info(result?.oid ?? '')) ?? {}
    if (size > READ_BYTES) return true
    const bytes = await bytesOf(objects, result)
    if (!bytes || (startsOf(path, bytes).size === 0 && !mayBeCalled(path, bytes))) return false
    if (!kind) return true
    const sides = await allOf([2, 3, 1].map(number => bytesOf(objects, stageOf(stages, number))))
    return !isOfBothSides(bytes, sides) || startsMore(path, await versionsOf(objects, spot), around.includes(path))
  }
  const own = [...spots.values()].filter(spot => isOwnVersion(spot) && steerCi(spot.path, spot.result))
  return (await allOf(own.map(async spot => ((await isNew(spot)) ? [spot.path] : [])))).flat()
}

/** What a file in conflict holds on both sides and in their common ancestor, and in the result. */
async function versionsOf(objects: Objects, { stages, ours, result: now }: Spot): Promise<FileVersions> {
  const entries = [stageOf(stages, 1), ours, stageOf(stages, 3), now]
  const [base, own, theirs, result] = await allOf(entries.map(entry => bytesOf(objects, entry)))
  return { base, ours: own, theirs, result }
}

/** CI files in conflict that start what the fork has switched off: deleted, emptied, or kept from running. */
async function restartedCi(objects: Objects, { spots, steerCi }: Comparison): Promise<Path[]> {
  const isStarted = async (spot: Spot) => startsWhatIsOff(spot.path, await versionsOf(objects, spot))
  const changed = [...spots.values()].filter(
    ({ path, kind, ours, result }) => kind && result && !same(result, ours) && steerCi(path, result),
  )
  return (await allOf(changed.map(async spot => ((await isStarted(spot)) ? [spot.path] : [])))).flat()
}

/** Forgejo and Gitea run the workflows of the first of these folders that is there, and look at no other. */
const WORKFLOW_FOLDERS = ['.forgejo/workflows', '.gitea/workflows', '.github/workflows']

/**
 * Workflows that a Forgejo or Gitea did not run as long as the start had files of another folder, all of which the
 * result has deleted though git's own merge has them. Gives the deleted files.
 */
async function uncoveredCi(objects: Objects, { spots }: Comparison, { start, result }: Commits): Promise<Path[]> {
  for (const [at, folder] of WORKFLOW_FOLDERS.entries()) {
    if (!(await entryAt(objects, start, folder))) continue
    const deleted = [...spots.values()].filter(it => it.path.startsWith(`${folder}/`) && it.ours && !it.result)
    if (deleted.length === 0 || (await entryAt(objects, result, folder))) return []
    const others = WORKFLOW_FOLDERS.slice(at + 1)
    const starts = await allOf(others.map(other => startsAnything(objects, result, `${other}/`)))
    return starts.includes(true) ? deleted.map(pathOf) : []
  }
  return []
}

/** Files with the shape of automation, and packages' scripts that run by themselves, that are the agent's own. */
async function newAutomation(objects: Objects, { spots, steerCi }: Comparison): Promise<Path[]> {
  const isNew = async (spot: Spot): Promise<boolean> => {
    const { path, kind, stages, automatic, ours, theirs, result } = spot
    const sides = stages.length > 0 ? [2, 3, 1].map(number => stageOf(stages, number)) : [ours, theirs, automatic]
    const read = (entry: Entry) => bytesOf(objects, entry)
    if (/(^|\/)(package|composer)\.json$/i.test(path)) {
      const known = new Set((await allOf(sides.map(read))).flatMap(lifecycleScripts))
      return lifecycleScripts(await read(result)).some(script => !known.has(script))
    }
    if (!steerCi(path, result) && !looksAutomatic(path)) return false
    if (kind && isRecipe(path)) return false
    const bytes = await read(result)
    return !kind || !bytes || !isOfBothSides(bytes, await allOf(sides.map(read)))
  }
  const own = [...spots.values()].filter(isOwnVersion)
  return (await allOf(own.map(async spot => ((await isNew(spot)) ? [spot.path] : [])))).flat()
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

/**
 * Files with a conflict that git's own merge differs from beside it, too; also those that are neither a file any more nor
 * what a side has. A lock file does not count: its conflicts are settled by writing it anew.
 */
async function besideConflicts(
  scratch: Scratch,
  objects: Objects,
  { spots }: Comparison,
  { start, upstream }: Commits,
): Promise<Path[]> {
  const merged = [...spots.values()].filter(({ path, kind, stages, automatic, result }) => {
    const before = [automatic, stageOf(stages, 2), stageOf(stages, 3)]
    return kind && result && before.every(isFile) && !isLockFile(path) && !same(automatic, result)
  })
  const isOther = ({ stages, result }: Spot) => ![2, 3].some(side => stageOf(stages, side)?.mode === result?.mode)
  const others = merged.filter(isOther).map(pathOf)
  const files = merged.filter(spot => !isOther(spot))
  const compared: MarkedFile[] = []
  // One after the other: each may be as long as what is read at most.
  for (const [number, { path, automatic }] of files.entries()) {
    const bytes = (await bytesOf(objects, automatic)) ?? Buffer.alloc(0)
    const conflicts = conflictLines(bytes, start, upstream)
    if (conflicts.length > 0) compared.push({ path, number, conflicts })
  }
  if (compared.length === 0) return others
  const sides = [files.map(({ automatic }) => automatic), files.map(({ result }) => result)]
  const [automatic = '', result = ''] = await numberedTrees(scratch, sides)
  return [...others, ...(await changedAround(scratch, [automatic, result], compared))]
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
