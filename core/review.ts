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
import { isPutAside, type MergeConflict, mergeTrees, type Stage } from './git/merges.ts'
import { type Objects, openObjects, writeObjects } from './git/objects.ts'
import type { Entry, Oid, Path } from './git/repository.ts'
import { read } from './git/run.ts'
import type { Scratch } from './git/scratch.ts'
import { entryAt, isFolder, readTree, treeBytes, verifyFewChanges } from './git/trees.ts'
import { linksOf, type SteersCi, steersCiThrough } from './links.ts'
import { isLockFile, isRecipe, looksAutomatic, steersAgents, steersCi } from './steering.ts'
import { visiblePath } from './text.ts'
import { allOf } from './together.ts'

/**
 * `start`: the commit at which the agent began. `origin`: the branch that the pull request goes to. `result`: the
 * agent's branch.
 */
export type Commits = { origin: Oid; start: Oid; upstream: Oid; result: Oid }
type Resolution =
  | "upstream's version"
  | "the fork's version"
  | "git's own merge of both"
  | 'a mixture of both'
  | 'a version of its own'
  | 'deleted'
/** A path in conflict: the kind in git's words, and what the result has there. */
export type ReviewedConflict = { path: Path; kind: string; stages: Stage[]; resolution: Resolution }
/** A change of a file that the merge did not need. `to`: the path to which its content was moved. */
export type ReviewedEdit = { path: Path; change: 'added' | 'changed' | 'deleted' | 'moved'; to?: Path }
/**
 * A file of upstream's that the fork changes in fewer lines after the merge: `before` and `after` count added and
 * deleted lines.
 */
type Shrunk = { path: Path; before: number; after: number }

/** The differences between the result and git's own merge of the origin branch and upstream. */
type Ledger = {
  conflicts: ReviewedConflict[]
  edits: ReviewedEdit[]
  /** Files without upstream's changes (`dropped`) or the fork's (`vanished`), though they were not in conflict. */
  dropped: Path[]
  vanished: Path[]
  /** CI files that the fork has switched off, and that stay off in the result: as in the fork's version, or missing. */
  keptOff: Path[]
  /** Files changed by upstream that steer CI (`ci`), and that agents obey or hooks run (`steering`). */
  ci: Path[]
  steering: Path[]
  /** How many files git merged without a conflict, with changes of upstream and of the fork. */
  files: { upstream: number; fork: number }
}
export type MergeReview = Ledger & {
  commits: Commits
  /** Reasons not to publish the result, a sentence each. */
  refusals: string[]
  /** Refusals that --anyway can't lift: upstream's commits are missing, or conflict markers are left. */
  unliftable: string[]
  /** Refusals that do not apply where a person made the merge, since the merge itself shows that it is intended. */
  meantByHand: string[]
  /** Points for a person to decide, a sentence each. If there are any, the pull request is a draft. */
  partial: string[]
  /** The blob of the result's STUCK.md, if neither side has it. */
  stuck: Oid | undefined
  /**
   * The result has upstream's history but not that of the start (the commit to merge upstream into), so only the trees
   * were judged.
   */
  rebased: boolean
  /** Files with a conflict that also differ from git's own merge outside of it. */
  around: Path[]
  /** Files with a conflict and a `=======` line that neither side has, but no other marker. */
  middles: Path[]
  /**
   * Files that programs tend to run or obey by themselves, in a version that neither git's own merge nor a side has.
   */
  automation: Path[]
  /** Files in which the result lacks the changes between origin and the start, though they were not in conflict. */
  goneFromStart: Path[]
  /**
   * The side whose tree the result equals, if that is so only because every conflict was resolved for it; else
   * undefined.
   */
  settledOn: Comparison['whole']
  shrunk: Shrunk[]
  /** Differences between the result and git's own merge by path, like `git show --remerge-diff`. Limited in size. */
  diffs: ReadonlyMap<Path, string>
  upstreamCommits: CommitList
}

/** A path where the result differs from git's own merge, or with a conflict: then `kind` says which. */
type Spot = { path: Path; kind: string | undefined; stages: Stage[] } & Record<Version, Entry>
type Version = 'automatic' | 'ours' | 'theirs' | 'result'
type Comparison = {
  ledger: Ledger
  spots: Map<Path, Spot>
  /** Whether a path steers CI in the result. */
  steerCi: SteersCi
  /** The ids of file contents that our or their side has at a path where git's own merge has another content. */
  ofSides: ReadonlySet<Oid>
  /** Files that git merges without a conflict in which a side's change is lost. */
  lost: { upstream: Path[]; fork: Path[] }
  /**
   * `files`: CI files that the fork has switched off and that git's own merge would start. `started`: those of them
   * that start something in the result.
   */
  switchedOff: { files: ReadonlySet<Path>; started: Path[] }
  /** The side whose tree the result is. */
  whole: 'the fork' | 'upstream' | undefined
}

/** Limits on what is read, because the result may be hostile. */
const SHOWN = { files: 300, bytes: 1 << 20, biggestFile: '512k', commits: 100 }
const READ_BYTES = 8 << 20

/**
 * Judges the result of a merge from its start, and describes it relative to origin. The scratch repository must have
 * access to all four commits. Throws {@link TooLarge} where the result differs from git's own merge in too many paths.
 * The same check for upstream ({@link verifyFewChanges}) is made once a run, before the merge.
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
    ...naming(
      "A version of FORK.md that is neither the start's nor git's own merge may contain private guidance:",
      guidance(judged),
    ),
    ...naming("Files that steer CI differ from git's own merge, and a push would run them:", ci),
    ...meantByHand,
    ...naming('Upstream brings what would run into CI that the fork has switched off:', judged.switchedOff.started),
    ...naming('A Forgejo or Gitea would run other workflows in place of the deleted ones:', uncovered),
    ...naming('The result says itself that it is stuck, in', isStuck ? ['STUCK.md'] : []),
  ]
  // The start (the commit that upstream was merged into) may be the tip of an open pull request, with people's changes
  // that are not in origin's branch yet.
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

/** Files that a person should look at, found by comparing contents: see these fields of {@link MergeReview}. */
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

/** Files whose version in the result is neither the fork's nor upstream's. */
const written = ({ spots }: Comparison): Spot[] =>
  [...spots.values()].filter(
    ({ ours, theirs, result }) => isFile(result) && ![ours, theirs].some(side => same(side, result)),
  )

/** A sentence that ends with file names; none for no files. */
function naming(words: string, paths: Path[]): string[] {
  if (paths.length === 0) return []
  const names = paths.slice(0, 10).map(path => (/[\s,"]/.test(path) ? `"${visiblePath(path)}"` : visiblePath(path)))
  return [`${words} ${names.join(', ')}${paths.length > 10 ? ` and ${paths.length - 10} more` : ''}.`]
}

/** Compares the result with git's own merge of `ours` and upstream. */
async function compare(
  scratch: Scratch,
  objects: Objects,
  ours: Oid,
  { upstream, result }: Commits,
): Promise<Comparison> {
  const merge = await mergeTrees(scratch, ours, upstream, { objects })
  await verifyFewChanges(objects, merge.tree, result, LIMITS.edits)
  // Links are listed only after the check above: a tree of a few objects can stand for more files than can be listed.
  const links = linksOf(objects, result)
  const diffs = [result, ours, upstream].map(oid => diffTrees(scratch, merge.tree, oid))
  const [steerCi, toResult = '', toOurs = '', toTheirs = ''] = await allOf([links.then(steersCiThrough), ...diffs])
  const moved = movedInResult(merge.conflicts, toResult)
  const named = (path: Path): Path => moved.get(path)?.path ?? path
  const stages = Map.groupBy(merge.stages, ({ path }) => named(path))
  const kinds = new Map(merge.stages.map(({ path }) => [named(path), 'contents']))
  for (const { kind, paths } of merge.conflicts) for (const path of paths) kinds.set(named(path), kind)

  const spots = new Map<Path, Spot>()
  // Records a version of a file that differs from git's own merge; the versions that are not recorded equal it. (A
  // side's version is recorded only where there is a conflict, or where the result differs too.)
  const note = (path: Path, automatic: Entry, version: Partial<Spot>) => {
    const unchanged = { automatic, ours: automatic, theirs: automatic, result: automatic }
    const spot = spots.get(path) ?? { path, kind: kinds.get(path), stages: stages.get(path) ?? [], ...unchanged }
    spots.set(path, Object.assign(spot, version))
  }
  const [ci, steering, files]: [Path[], Path[], Ledger['files']] = [[], [], { upstream: 0, fork: 0 }]
  const arrived: Arrival[] = []
  const ofSides = new Set<Oid>()
  const placed = new Set([...moved.values()].map(pathOf))
  for (const [path, automatic, there] of changesIn(toResult)) {
    if (placed.has(path)) continue
    note(named(path), automatic, { result: moved.get(path)?.entry ?? there })
  }
  for (const [is, automatic, there] of changesIn(toOurs)) {
    const path = named(is)
    if (there) ofSides.add(there.oid)
    if (kinds.has(path) || spots.has(path)) note(path, automatic, { ours: there })
    if (!kinds.has(path)) files.upstream++
    const isCi = steerCi(path, automatic)
    if (isCi && automatic && !kinds.has(path) && !isCalledByOthers(path))
      arrived.push({ path, entry: automatic, before: there })
    if (isCi) ci.push(path)
    else if (steersAgents(path)) steering.push(path)
  }
  for (const [is, automatic, there] of changesIn(toTheirs)) {
    const path = named(is)
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

/**
 * A file where the other side has a folder, or a file of another type, is moved by git to its path with ~ and a name
 * of its side, which differs from merge to merge: gives the paths that such files have in the result, with their
 * versions, by those in git's own merge.
 */
function movedInResult(
  conflicts: readonly MergeConflict[],
  toResult: string,
): ReadonlyMap<Path, { path: Path; entry: Entry }> {
  const moves = conflicts.filter(isPutAside).flatMap(({ paths }) => {
    const place = placeOf(paths)
    return paths.filter(path => path.startsWith(`${place}~`)).map(path => ({ path, beginning: `${place}~` }))
  })
  if (moves.length === 0) return new Map()
  const changes = [...changesIn(toResult)]
  const gone = new Set(changes.filter(([, , there]) => !there).map(([path]) => path))
  const added = changes.flatMap(([path, automatic, entry]) => (automatic ? [] : [{ path, entry }]))
  const moved = new Map<Path, { path: Path; entry: Entry }>()
  for (const { path, beginning } of moves) {
    const taken = new Set([...moved.values()].map(pathOf))
    const isIt = (it: { path: Path }) =>
      it.path.startsWith(beginning) && !it.path.includes('/', beginning.length) && !taken.has(it.path)
    const now = gone.has(path) ? added.find(isIt) : undefined
    if (now) moved.set(path, now)
  }
  return moved
}

/** The path that both sides have, and of which git has moved a file: it names it, and where that is now. */
const placeOf = (paths: readonly Path[]): Path => paths.toSorted((one, other) => one.length - other.length)[0] ?? ''

/** A CI file that upstream changed: git's own merge of it (`entry`), and the fork's version (`before`). */
type Arrival = { path: Path; entry: NonNullable<Entry>; before: Entry }

/**
 * Of the CI files that upstream changed (`arrived`), those that would start something that the fork has switched off:
 * its version of the file starts nothing, or it has deleted everything in the file's folder that starts something (the
 * common ancestor has such files there, the fork has none).
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

/** The files among `off` (CI files that the fork has switched off) that start something in the result. */
async function startedOf(objects: Objects, off: ReadonlySet<Path>, spots: Map<Path, Spot>): Promise<Path[]> {
  const started: Path[] = []
  for (const path of off) {
    const spot = spots.get(path)
    // What a symbolic link starts can't be read from the link, so a link counts as starting something.
    const isStarted = !spot || (spot.result && !isFile(spot.result))
    if (isStarted || startsOf(path, await bytesOf(objects, spot?.result)).size > 0) started.push(path)
  }
  return started
}

/** Whether a CI file in a folder of a commit starts anything by itself. */
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
 * The content of a file; undefined where there is none. For a file that is too large it is a placeholder text, which
 * {@link startsOf} takes for a CI file that starts something.
 */
async function bytesOf(objects: Objects, entry: Entry): Promise<Buffer | undefined> {
  if (!isFile(entry)) return undefined
  return (await objects.read(entry?.oid ?? '', { limit: READ_BYTES }))?.bytes ?? Buffer.from('too long')
}

function conflictsIn(spots: Map<Path, Spot>, ofSides: ReadonlySet<Oid>): ReviewedConflict[] {
  return [...spots.values()].flatMap(spot => {
    const { path, kind, stages, automatic, result } = spot
    // Some paths that git names in a conflict have no stages: the old name of a renamed file, or a file that became a
    // folder. They matter only where the result differs from git's own merge.
    const isNamed = kind && (stages.length > 0 || !same(result, automatic))
    return isNamed ? [{ path, kind, stages, resolution: resolutionOf(spot, ofSides) }] : []
  })
}

function resolutionOf({ stages, ours, theirs, automatic, result }: Spot, ofSides: ReadonlySet<Oid>): Resolution {
  if (!result) return 'deleted'
  const [own, upstreams] = stages.length > 0 ? [stageOf(stages, 2), stageOf(stages, 3)] : [ours, theirs]
  // Where both sides renamed a file, git merges its content first, and takes the merged content as each side's version.
  const isOfSide = (entry: Entry, atPath: Entry) => same(entry, atPath) || ofSides.has(entry?.oid ?? '')
  if (same(result, upstreams)) return isOfSide(upstreams, theirs) ? "upstream's version" : "git's own merge of both"
  if (same(result, own)) return isOfSide(own, ours) ? "the fork's version" : "git's own merge of both"
  // Where git can merge the content, its own merge is the file with markers. For deleted and binary files, links and
  // submodules it is one side's version; where both sides renamed a file, it is missing.
  const isMixable = own && upstreams && automatic && stages.every(({ oid }) => oid !== automatic.oid)
  return isMixable || ofSides.has(result.oid) ? 'a mixture of both' : 'a version of its own'
}

/** Finds differences between the result and git's own merge outside of conflicts: edits, and lost changes of a side. */
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
    // Where a conflict was resolved by deleting a folder, its other files are gone on purpose: their changes are not
    // lost.
    if (to || (!result && givenUp.some(folder => path.startsWith(folder)))) continue
    if (!same(automatic, ours) && (!result || same(result, ours))) lost.upstream.push(path)
    if (!same(automatic, theirs) && (!result || same(result, theirs))) lost.fork.push(path)
  }
  return { ...found, lost }
}

/** Folders that the result deleted to resolve their conflicts, with a trailing slash. */
async function foldersGivenUp(objects: Objects, conflicts: ReviewedConflict[], result: Oid): Promise<Path[]> {
  const deleted = conflicts.filter(({ kind, resolution }) => kind === 'modify/delete' && resolution === 'deleted')
  const folders = new Set(deleted.map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1)))
  const isGone = async (folder: Path) => folder !== '' && !(await entryAt(objects, result, folder.slice(0, -1)))
  return (await allOf([...folders].map(async folder => ((await isGone(folder)) ? [folder] : [])))).flat()
}

/** Gives those of start and upstream that are not in the history of the result. */
async function unreachable(scratch: Scratch, { start, upstream, result }: Commits): Promise<Oid[]> {
  // rev-list is not used here, since it stops early where the dates of commits are wrong.
  const lacks = async (oid: Oid) => !(await isAncestor(scratch, oid, result))
  return (await allOf([upstream, start].map(async oid => ((await lacks(oid)) ? [oid] : [])))).flat()
}

/** Writes trees with numbers as file names, because arbitrary paths are not preserved in a patch. */
function numberedTrees(scratch: Scratch, trees: Entry[][]): Promise<Oid[]> {
  const numbered = (entry: Entry, at: number) => (entry ? [{ name: String(at).padStart(7, '0'), ...entry }] : [])
  return writeObjects(
    scratch,
    trees.map(tree => ({ type: 'tree', bytes: treeBytes(tree.flatMap(numbered)) })),
  )
}

/** The differences from git's own merge as patches by path, files in conflict first. */
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
    // If a file became a symlink, or the reverse, the patch has two sections for its path.
    diffs.set(path, (diffs.get(path) ?? '') + readable(sections[at + 1] ?? '', commits))
  }
  return diffs
}

/** Finds files in which the fork changes fewer of upstream's lines than before the merge. */
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

/** A file's section of a patch, without the numbers that stand for file names, and with named sides in markers. */
function readable(section: string, { origin, upstream }: Commits): string {
  const [head = '', ...hunks] = section.split(/^(?=@@ )/m)
  const named = head.replace(/^(index|---|\+\+\+) .*\n/gm, '').replace(/^Binary files .*$/m, 'Binary file')
  return Buffer.from(named + hunks.join(''), 'latin1')
    .toString()
    .replaceAll(`<<<<<<< ${origin}`, '<<<<<<< the fork')
    .replaceAll(`>>>>>>> ${upstream}`, '>>>>>>> upstream')
}

/** The default length of git's conflict markers. */
const USUAL_MARKER = 7

/**
 * Finds files with more conflict marker lines than the two sides have (`left`). `=======` alone may underline a
 * heading, and `|||||||` may be a table row: they count only together, or with git's text after them. A file in
 * conflict that has only `=======` is among `middles`.
 */
async function withMarkers(
  objects: Objects,
  { start, upstream }: Commits,
  comparison: Comparison,
): Promise<{ left: Path[]; middles: Path[] }> {
  // Where both sides renamed a file, git merges its content first, so what it calls a side's version may have markers.
  const side = (entry: Entry, atPath: Entry) => (entry && comparison.ofSides.has(entry.oid) ? entry : atPath)
  const known = ({ kind, stages, ours, theirs, automatic }: Spot): [Entry, Entry, Entry] =>
    stages.length > 0
      ? [side(stageOf(stages, 2), ours), side(stageOf(stages, 3), theirs), stageOf(stages, 1)]
      : [ours, theirs, kind ? undefined : automatic]
  // Content that a side has at another path was moved here, not written by the merge.
  const contents = (spot: Spot) => (spot.stages.length > 0 ? known(spot).slice(0, 2) : known(spot))
  const old = new Set([...comparison.spots.values()].flatMap(spot => contents(spot).map(entry => entry?.oid)))
  const files = written(comparison).filter(({ result }) => !old.has(result?.oid))
  const found: { left: Path[]; middles: Path[] } = { left: [], middles: [] }
  if (files.length === 0) return found
  await verifyReadable(objects, files)
  // Git reads the marker size from the .gitattributes in the work tree: the start's during the merge, but upstream's
  // where a conflict is written again after the merge.
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
    // Git merges several common ancestors into one, and leaves markers in it where they conflict.
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
 * Numbers of lines: `sides` begin with `<<<<<<<` or `>>>>>>>`, `bases` with `|||||||`, of which `named` have an id
 * after it, `middles` with `=======`, of which `alone` do not underline a heading.
 */
type Markers = { sides: number; bases: number; named: number; middles: number; alone: number }

/** What may stand before a marker: formatters indent it, and a marker that is commented out is not a resolution. */
const BEFORE_MARKER = '[ \\t]*(?:(?:#+|//|--|;+|%|\\*|/\\*|<!--|>)[ \\t]*)?'

function countMarkers(bytes: Buffer | '', sizes: readonly number[]): Markers {
  // Without NULs, text in UTF-16 or UTF-32 has the same markers as other text; binary files are checked too.
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

/** Throws where a file is too large to be read whole. */
async function verifyReadable(objects: Objects, files: Spot[]): Promise<void> {
  const infos = await allOf(files.map(({ result }) => objects.info(result?.oid ?? '')))
  const at = infos.findIndex(info => !info || info.size > LIMITS.blob)
  if (at < 0) return
  const size = infos[at]?.size.toLocaleString('en') ?? 'no'
  throw new TooLarge(
    `${visiblePath(files[at]?.path ?? '')} has ${size} bytes, and at most ${LIMITS.blob >> 20} MiB are read`,
  )
}

/**
 * Gives FORK.md if the result has another version of it than the start (the commit that upstream was merged into) and
 * git's own merge: it may contain private instructions to the agent.
 */
function guidance({ spots, ofSides }: Comparison): Path[] {
  const spot = spots.get('FORK.md')
  if (!spot || same(spot.result, spot.automatic) || same(spot.result, spot.ours)) return []
  const isOfNeither = ['a mixture of both', 'a version of its own'].includes(resolutionOf(spot, ofSides))
  return spot.kind && !isOfNeither ? [] : [spot.path]
}

/** Whether the result's version of a file is neither git's own merge nor, in a conflict, that of a side. */
function isOwnVersion({ kind, stages, automatic, ours, theirs, result }: Spot): boolean {
  const sides = stages.length > 0 ? [2, 3].map(number => stageOf(stages, number)) : [ours, theirs]
  return Boolean(result) && !same(result, automatic) && !(kind ? sides : [ours]).some(side => same(side, result))
}

/**
 * CI files that the agent wrote itself and in which something would run for the first time. What is in the start (the
 * fork's commit before the merge) runs already, and deleted files run nothing. A conflict may be resolved with lines of
 * both sides, but not with lines of the agent's own.
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

/** The versions of a file in conflict: of both sides, their common ancestor, and the result. */
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

/** Forgejo and Gitea run the workflows of the first of these folders that exists, and ignore the others. */
const WORKFLOW_FOLDERS = ['.forgejo/workflows', '.gitea/workflows', '.github/workflows']

/**
 * Finds workflow folders that the result deleted though git's own merge has them, so that a Forgejo or Gitea would run
 * the workflows of another folder instead. Gives the deleted files.
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

/**
 * Files that look like automation, and packages with scripts that run by themselves, whose result is in neither side.
 */
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

/** Sentences for a side that lost all or most of its changes, though they were not in conflict. */
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
 * Files in conflict whose result also differs from git's own merge outside of the conflicts, or has a mode (file,
 * executable, link) that neither side has. Lock files do not count: their conflicts are resolved by generating them
 * again.
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
  // The files are read one at a time, since each may be as large as the limit.
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

/** Whether the side that lost every conflict also lost changes outside of the conflicts, in the same files. */
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
