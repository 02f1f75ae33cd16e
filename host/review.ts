#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Judges a merge of upstream with git alone: the result is compared, file by file, with the merge that git makes
 * by itself. `host/review.ts START UPSTREAM RESULT` prints the page of the pull request, or why there is none.
 */
import { tmpdir } from 'node:os'
import type { ProcessOutput } from 'zx/core'
import {
  bytesOf,
  mergeTree,
  type Oid,
  openRoom,
  type Path,
  type Room,
  type Stage,
  shellIn,
  useAttributesOf,
} from './git.ts'
import { ledgerText, page } from './page.ts'
import { visible, visibleLines, visiblePath } from './terminal.ts'

/** `start` is where the agent began, `origin` the branch that the pull request goes to, `result` the agent's branch. */
export type Commits = { origin: Oid; start: Oid; upstream: Oid; result: Oid }
export type Resolution = "upstream's version" | "the fork's version" | 'a mixture' | 'deleted'
/** A path that git could not settle, git's word for why, and what the result has there. */
export type Conflict = { path: Path; kind: string; stages: Stage[]; resolution: Resolution }
/** A file that nobody had to touch; `to` is where its content went. */
export type Edit = { path: Path; change: 'added' | 'changed' | 'deleted' | 'moved'; to?: Path }
export type Lines = { added: number; deleted: number }
/** The size of the fork's change in a file that is now smaller, against upstream then and now. */
export type Shrunk = { path: Path; before: Lines; after: Lines }
export type UpstreamCommit = { oid: Oid; date: string; subject: string }

export type Review = {
  commits: Commits
  /** Why the result may not be published, a sentence each. */
  refusals: string[]
  /** What a person has to decide, a sentence each: with any, the pull request is a draft. */
  partial: string[]
  /** The blob of a STUCK.md in the result that neither side has. */
  stuck: Oid | undefined
  /** The result holds upstream's history, not the start's: the trees alone were judged. */
  rebased: boolean
  conflicts: Conflict[]
  edits: Edit[]
  /** Upstream's changes that are not in the result, though nothing was in their way. */
  dropped: Path[]
  /** The fork's changes that are gone, though nothing was in their way. */
  vanished: Path[]
  shrunk: Shrunk[]
  /** Files that upstream changed and that steer CI; that agents obey, or that hooks run. */
  ci: Path[]
  steering: Path[]
  /** How the result differs from git's own merge, by path, as `git show --remerge-diff` has it. Bounded. */
  diffs: ReadonlyMap<Path, string>
  upstreamCommits: { count: number; newest: UpstreamCommit[] }
  /** Files that git merges without a conflict: in which upstream's changes arrive, in which the fork's remain. */
  files: { upstream: number; fork: number }
}

/** What stands at a path; undefined where nothing does. */
type Entry = { mode: string; oid: Oid } | undefined
/** A path where the result differs from git's own merge, or which git could not settle: then it has a `kind`. */
type Spot = {
  path: Path
  kind: string | undefined
  stages: Stage[]
  automatic: Entry
  ours: Entry
  theirs: Entry
  result: Entry
}
/** How the result compares with git's own merge of upstream and one commit. */
type Ledger = {
  spots: Map<Path, Spot>
  conflicts: (Conflict & Spot)[]
  edits: (Edit & Spot)[]
  dropped: Spot[]
  vanished: Spot[]
  /** Of the files that git settles on upstream's or the fork's account: how many, and which the result lost. */
  upstream: { files: number; lost: Path[] }
  fork: { files: number; lost: Path[] }
  ci: Path[]
  steering: Path[]
}

/** What a push makes a CI system run. */
const CI = [
  /^\.(github|gitea|forgejo)\/(workflows|actions)\//i,
  /(^|\/)(\.gitlab-ci\.ya?ml|Jenkinsfile(\.[^/]*)?)$/i,
  /^\.(circleci|buildkite|woodpecker|semaphore|tekton|teamcity|builds|azure-pipelines|gitlab\/ci)\//i,
  /^\.?(travis|appveyor|cirrus|drone|woodpecker|build|wercker|codefresh|buddy)\.(ya?ml|star|jsonnet)$/i,
  /^\.?(azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec)[^/]*\.ya?ml$/i,
]
/** What agents obey, and what runs when a person opens, enters or commits to a checkout. */
const STEERING = [
  /(^|\/)(AGENTS?|CLAUDE|GEMINI|FORK)(\.local)?\.md$/i,
  /(^|\/)(opencode\.jsonc?|\.mcp\.json|\.cursorrules|\.windsurfrules|\.clinerules|\.goosehints|\.envrc)$/i,
  /(^|\/)\.(opencode|agents|claude|codex|cursor|gemini|windsurf|vscode|devcontainer|husky|githooks|git-hooks)\//i,
  /^\.github\/(copilot-instructions\.md$|(instructions|prompts|agents|hooks)\/)/i,
  /^\.?(lefthook|pre-commit-config|pre-commit-hooks|overcommit)\.(ya?ml|toml|json)$|^githooks\//i,
]
const isCi = (path: Path): boolean => CI.some(pattern => pattern.test(path))
const isSteering = (path: Path): boolean => STEERING.some(pattern => pattern.test(path))

/** What is read to be shown or searched is bounded: a hostile result is not. */
const SHOWN = { files: 300, bytes: 1 << 20, biggestFile: '512k', commits: 100 }
const READ_BYTES = 8 << 20

/** Judges the result from the start, and shows what it means for origin. The room reads all four commits. */
export async function review(room: Room, commits: Commits): Promise<Review> {
  const { origin, start, upstream } = commits
  const [judged, missing, whole, upstreamCommits] = await Promise.all([
    compare(room, start, commits),
    unreachable(room, commits),
    wholeTree(room, commits),
    newCommits(room, origin, upstream),
  ])
  const shown = origin === start ? judged : await compare(room, origin, commits)
  const [details, markers, ci, emptied] = await Promise.all([
    detailsOf(room, shown, commits),
    markersIn(room, judged),
    slippedIntoCi(room, judged),
    lostSide(room, judged, whole),
  ])
  const stuck = judged.spots.get('STUCK.md')
  const isStuck = stuck?.result && ![stuck.automatic, stuck.ours, stuck.theirs].some(known => same(known, stuck.result))
  const rebased = missing.length === 1 && missing[0] === start
  return {
    commits,
    refusals: [
      ...(rebased
        ? []
        : missing.map(oid => `The history of the result lacks ${oid === start ? 'the start' : 'upstream'}, ${oid}.`)),
      ...lossesOf(judged, emptied),
      ...naming('Conflict markers were left in', markers.left),
      ...naming(
        "Guidance for the agent, which may be private, is neither the start's nor upstream's:",
        changedGuidance(judged),
      ),
      ...naming("Files that steer CI differ from git's own merge, and a push would run them:", ci),
      ...naming('The agent says that it is stuck, in', isStuck ? ['STUCK.md'] : []),
    ],
    partial: [
      ...(whole
        ? [`Every conflict went to ${whole === 'start' ? 'the fork' : 'upstream'}: the result is its tree, unchanged.`]
        : []),
      ...naming("Changes of upstream's were not taken, though nothing was in their way:", shown.dropped.map(pathOf)),
      ...naming("Changes of the fork's were undone, though nothing was in their way:", shown.vanished.map(pathOf)),
      ...naming('Edited beyond the conflicts:', shown.edits.map(pathOf)),
      ...naming('Perhaps the rest of a conflict marker is in', markers.doubtful),
    ],
    stuck: isStuck ? stuck.result?.oid : undefined,
    rebased,
    conflicts: shown.conflicts,
    edits: shown.edits,
    dropped: shown.dropped.map(pathOf),
    vanished: shown.vanished.map(pathOf),
    ...details,
    ci: shown.ci,
    steering: shown.steering,
    upstreamCommits,
    files: { upstream: shown.upstream.files, fork: shown.fork.files },
  }
}

const pathOf = ({ path }: { path: Path }): Path => path
const same = (a: Entry, b: Entry): boolean => a?.oid === b?.oid && a?.mode === b?.mode
const isFile = (entry: Entry): entry is NonNullable<Entry> => entry?.mode.startsWith('100') ?? false
const stageOf = (stages: Stage[], number: 1 | 2 | 3): Entry => stages.find(({ stage }) => stage === number)

/** A sentence that ends in the names of files; none where there are none. */
function naming(words: string, paths: Path[]): string[] {
  if (paths.length === 0) return []
  const names = paths.slice(0, 10).map(path => (/[\s,"]/.test(path) ? `"${visiblePath(path)}"` : visiblePath(path)))
  const others = paths.length > names.length ? ` and ${paths.length - names.length} more` : ''
  return [`${words} ${names.join(', ')}${others}.`]
}

async function compare(room: Room, ours: Oid, { upstream, result }: Commits): Promise<Ledger> {
  const merge = await mergeTree(room, ours, upstream)
  const diff = (oid: Oid) => bytesOf(sh => sh`git diff-tree -r -z --no-renames ${merge.tree} ${oid}`, room.sh)
  const [toResult, toOurs, toTheirs] = await Promise.all([diff(result), diff(ours), diff(upstream)])
  const stages = Map.groupBy(merge.stages, pathOf)
  const kinds = new Map(merge.conflicts.flatMap(({ kind, paths }) => paths.map(path => [path, kind])))
  const spots = new Map<Path, Spot>()
  // A commit that no diff mentions at a path has there what the automatic merge has: only differences are kept.
  const note = (path: Path, automatic: Entry, version: Partial<Spot>) => {
    const spot = spots.get(path) ?? {
      path,
      kind: kinds.get(path) ?? (stages.has(path) ? 'contents' : undefined),
      stages: stages.get(path) ?? [],
      ...{ automatic, ours: automatic, theirs: automatic, result: automatic },
    }
    spots.set(path, Object.assign(spot, version))
  }
  const settled = { files: 0, lost: [] }
  const ledger: Ledger = {
    ...{ spots, conflicts: [], edits: [], dropped: [], vanished: [], ci: [], steering: [] },
    upstream: structuredClone(settled),
    fork: structuredClone(settled),
  }
  const inConflict = (path: Path) => kinds.has(path) || stages.has(path)
  for (const [path, automatic, there] of changesIn(toResult)) note(path, automatic, { result: there })
  for (const [path, automatic, there] of changesIn(toOurs)) {
    if (inConflict(path) || spots.has(path)) note(path, automatic, { ours: there })
    if (!inConflict(path)) ledger.upstream.files++
    if (isCi(path)) ledger.ci.push(path)
    else if (isSteering(path)) ledger.steering.push(path)
  }
  for (const [path, automatic, there] of changesIn(toTheirs)) {
    if (inConflict(path) || spots.has(path)) note(path, automatic, { theirs: there })
    if (!inConflict(path)) ledger.fork.files++
  }
  settle(ledger)
  return ledger
}

/** Sorts what differs from the automatic merge by what it means. */
function settle(ledger: Ledger): void {
  const spots = [...ledger.spots.values()]
  const clean = spots.filter(({ kind }) => kind === undefined)
  for (const spot of spots) {
    // Without stages it is a former name, or a folder in the way: worth a word only where it was touched.
    if (spot.kind === undefined || (spot.stages.length === 0 && same(spot.result, spot.automatic))) continue
    ledger.conflicts.push({ ...spot, kind: spot.kind, resolution: resolutionOf(spot) })
  }
  const givenUp = ledger.conflicts
    .filter(({ kind, resolution }) => kind === 'modify/delete' && resolution === 'deleted')
    .map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1))
  const arrivals = new Map(
    clean.flatMap(({ automatic, ours, theirs, result, path }) =>
      result && !automatic && !ours && !theirs ? [[result.oid, path]] : [],
    ),
  )
  const movedTo = ({ automatic, result }: Spot) => (automatic && !result ? arrivals.get(automatic.oid) : undefined)
  const targets = new Set(clean.map(movedTo))
  for (const spot of clean) {
    const { path, automatic, ours, theirs, result } = spot
    const to = movedTo(spot)
    if (to) ledger.edits.push({ ...spot, change: 'moved', to })
    else if (targets.has(path)) continue
    else if (same(result, ours)) ledger.dropped.push(spot)
    else if (same(result, theirs)) ledger.vanished.push(spot)
    else ledger.edits.push({ ...spot, change: !automatic ? 'added' : result ? 'changed' : 'deleted' })
    // A new file in a folder whose other files were given up in conflicts is no sign of a lost merge.
    if (to || (!result && givenUp.some(folder => folder && path.startsWith(folder)))) continue
    if (!same(automatic, ours) && (!result || same(result, ours))) ledger.upstream.lost.push(path)
    if (!same(automatic, theirs) && (!result || same(result, theirs))) ledger.fork.lost.push(path)
  }
}

function resolutionOf({ stages, ours, theirs, result }: Spot): Resolution {
  if (!result) return 'deleted'
  if (same(result, stages.length > 0 ? stageOf(stages, 3) : theirs)) return "upstream's version"
  return same(result, stages.length > 0 ? stageOf(stages, 2) : ours) ? "the fork's version" : 'a mixture'
}

/** Reads `git diff-tree -r -z`: `:MODE MODE OID OID STATUS NUL PATH NUL`, over and over. */
function* changesIn(output: string): Generator<[path: Path, before: Entry, after: Entry]> {
  for (let at = 0; at < output.length; ) {
    const middle = output.indexOf('\0', at)
    const end = output.indexOf('\0', middle + 1)
    const [oldMode = '', mode = '', oldOid = '', oid = ''] = output.slice(at + 1, middle).split(' ')
    yield [output.slice(middle + 1, end), entryOf(oldMode, oldOid), entryOf(mode, oid)]
    at = end + 1
  }
}

const entryOf = (mode: string, oid: Oid): Entry => (mode === '000000' ? undefined : { mode, oid })

/** Which of upstream and the start the result does not descend from. */
async function unreachable(room: Room, { start, upstream, result }: Commits): Promise<Oid[]> {
  const lacks = async (...oids: Oid[]) =>
    (await room.sh`git rev-list --max-count=1 ${oids} ${`^${result}`} --`).stdout !== ''
  if (!(await lacks(start, upstream))) return []
  const missing = await Promise.all([upstream, start].map(async oid => ((await lacks(oid)) ? [oid] : [])))
  return missing.flat()
}

/** The side whose tree the result has, unchanged, where the sides differ. */
async function wholeTree(room: Room, { start, upstream, result }: Commits): Promise<'start' | 'upstream' | undefined> {
  const { stdout } = await room.sh`git rev-parse ${[start, upstream, result].map(oid => `${oid}^{tree}`)}`
  const [ours, theirs, tree] = stdout.trim().split('\n')
  if (ours === theirs) return undefined
  return tree === ours ? 'start' : tree === theirs ? 'upstream' : undefined
}

/** Upstream's commits that origin lacks: all counted, the newest named. */
async function newCommits(room: Room, origin: Oid, upstream: Oid): Promise<Review['upstreamCommits']> {
  const format = '--format=%H %as %<(200,trunc)%s'
  const { stdout } =
    await room.sh`git log ${format} ${upstream} ${`^${origin}`} -- | sed -n ${`1,${SHOWN.commits}p;$=`}`
  const lines = stdout.trimEnd().split('\n')
  const count = Number(lines.pop())
  const newest = lines.map(line => {
    const [oid = '', date = '', ...subject] = line.trimEnd().split(' ')
    return { oid, date, subject: subject.join(' ') }
  })
  return { count, newest }
}

/** Makes trees of files under names of our own, because a path does not survive an argument list. */
async function makeTrees(room: Room, trees: [name: string, entry: Entry][][]): Promise<Oid[]> {
  const line = ([name, entry]: [string, Entry]) =>
    entry ? `${entry.mode} ${entry.mode === '160000' ? 'commit' : 'blob'} ${entry.oid}\t${name}\0` : ''
  const input = trees.map(tree => `${tree.map(line).join('')}\0`).join('')
  const { stdout } = await room.sh({ input, stdio: 'pipe' })`git mktree -z --batch`
  return stdout.trim().split('\n')
}

/** The difference to git's own merge as text, and how large the fork's changes were and are. */
async function detailsOf(room: Room, ledger: Ledger, commits: Commits): Promise<Pick<Review, 'diffs' | 'shrunk'>> {
  const { conflicts, dropped, vanished, edits } = ledger
  const spots: Spot[] = [...conflicts, ...dropped, ...vanished, ...edits].slice(0, SHOWN.files)
  if (spots.length === 0) return { diffs: new Map(), shrunk: [] }
  const tree = (entry: (spot: Spot) => Entry) =>
    spots.map((spot, at): [string, Entry] => [String(at).padStart(4, '0'), entry(spot)])
  const sized = [0, 1, 2, 3].map(number => tree(spot => forkThenAndNow(spot)[number]))
  const [automatic, result, ...sizes] = await makeTrees(room, [tree(s => s.automatic), tree(s => s.result), ...sized])
  const diff = ['-c', `core.bigFileThreshold=${SHOWN.biggestFile}`, 'diff-tree', '--no-renames']
  const [patch, before, after] = await Promise.all([
    bytesOf(sh => sh({ nothrow: true })`git ${diff} -p ${automatic} ${result} | head -c ${SHOWN.bytes}`, room.sh),
    room.sh`git ${diff} --numstat ${sizes.slice(0, 2)}`,
    room.sh`git ${diff} --numstat ${sizes.slice(2)}`,
  ])
  const now = parseNumstat(after.stdout)
  const shrunk = [...parseNumstat(before.stdout)].flatMap(([at, before]) => {
    const after = now.get(at)
    const path = spots[at]?.path
    return path && after && after.added + after.deleted < before.added + before.deleted ? [{ path, before, after }] : []
  })
  const diffs = new Map<Path, string>()
  const [, ...sections] = patch.split(/^diff --git a\/(\d{4}) b\/\d{4}\n/m)
  for (let at = 0; at < sections.length; at += 2) {
    const path = spots[Number(sections[at])]?.path ?? ''
    diffs.set(path, (diffs.get(path) ?? '') + readable(sections[at + 1] ?? '', commits))
  }
  return { diffs, shrunk }
}

/** The fork's change in a file as two pairs, upstream's content and the fork's: as they met, and as they are now. */
function forkThenAndNow({ kind, stages, automatic, theirs, result }: Spot): Entry[] {
  const versions = kind
    ? [stageOf(stages, 1), stageOf(stages, 2), stageOf(stages, 3), result]
    : [theirs, automatic, theirs, result]
  return versions.every(isFile) ? versions : []
}

const parseNumstat = (output: string): Map<number, Lines> =>
  new Map(
    [...output.matchAll(/^(\d+)\t(\d+)\t(\d{4})$/gm)].map(([, added, deleted, at]) => [
      Number(at),
      { added: Number(added), deleted: Number(deleted) },
    ]),
  )

/** A section of a patch as a person reads it: without the names we made up, the sides called what they are. */
function readable(section: string, { origin, upstream }: Commits): string {
  const [head = '', ...hunks] = section.split(/^(?=@@ )/m)
  const text =
    head.replace(/^(index|---|\+\+\+) .*\n/gm, '').replace(/^Binary files .*$/m, 'Binary file') + hunks.join('')
  return visibleLines(Buffer.from(text, 'latin1').toString())
    .replaceAll(`<<<<<<< ${origin}`, '<<<<<<< the fork')
    .replaceAll(`>>>>>>> ${upstream}`, '>>>>>>> upstream')
}

/** Lines of conflict markers that neither side accounts for; `=======` alone may also be a heading. */
async function markersIn(room: Room, ledger: Ledger): Promise<{ left: Path[]; doubtful: Path[] }> {
  const known = ({ kind, stages, ours, theirs, automatic }: Spot): Entry[] =>
    kind && stages.length > 0
      ? [stageOf(stages, 2), stageOf(stages, 3), stageOf(stages, 1)]
      : [ours, theirs, kind ? undefined : automatic]
  const spots = [...ledger.conflicts, ...ledger.edits].filter(
    spot => isFile(spot.result) && !known(spot).some(entry => entry?.oid === spot.result?.oid),
  )
  if (spots.length === 0) return { left: [], doubtful: [] }
  const [tree = ''] = await makeTrees(room, [
    spots.flatMap((spot, at) =>
      [spot.result, ...known(spot)].map((entry, who): [string, Entry] => [
        `${at}.${who}`,
        isFile(entry) ? entry : undefined,
      ]),
    ),
  ])
  const marker = '^(<{7,}|>{7,}|={7}|[|]{7})([[:space:]]|$)'
  const found = await room.sh({ nothrow: true })`git grep -I -E -m 1000 -e ${marker} ${tree} | head -c ${READ_BYTES}`
  if (found.stderr) throw found
  const counts = new Map<string, number[]>()
  for (const [, at, who, line] of found.stdout.matchAll(/^[0-9a-f]+:(\d+)\.(\d):(.*)$/gm)) {
    const count = counts.get(`${at} ${line}`) ?? [0, 0, 0, 0]
    count[Number(who)] = (count[Number(who)] ?? 0) + 1
    counts.set(`${at} ${line}`, count)
  }
  const left = new Set<Path>()
  const doubtful = new Set<Path>()
  for (const [key, [result = 0, ours = 0, theirs = 0, base = 0]] of counts) {
    const [, at, sign] = /^(\d+) (.)/.exec(key) ?? []
    const spot = spots[Number(at)]
    if (!spot || result <= Math.max(ours, theirs, base, ours + theirs - base)) continue
    ;(sign === '<' || sign === '>' ? left : doubtful).add(spot.path)
  }
  return { left: [...left], doubtful: [...doubtful].filter(path => !left.has(path)) }
}

/** FORK.md as neither the start nor git's own merge has it: what the agent was told in private may be in it. */
function changedGuidance(ledger: Ledger): Path[] {
  const spot = ledger.spots.get('FORK.md')
  if (!spot || same(spot.result, spot.automatic) || same(spot.result, spot.ours)) return []
  return spot.kind && resolutionOf(spot) !== 'a mixture' ? [] : ['FORK.md']
}

/**
 * CI files with something in them that would run for the first time. The start's version runs already, and a conflict
 * may be resolved with what both sides have, not with a word of the agent's own.
 */
async function slippedIntoCi(room: Room, ledger: Ledger): Promise<Path[]> {
  const changed = [...ledger.spots.values()].filter(
    ({ path, kind, automatic, ours, result }) =>
      isCi(path) && !same(result, ours) && (kind || !same(result, automatic)),
  )
  const mixed = changed.filter(spot => spot.kind && resolutionOf(spot) === 'a mixture')
  const contents = await contentsOf(
    room,
    mixed.flatMap(({ result, stages }) => [result, ...stages]),
  )
  const words = (entry: Entry) => contents.get(entry?.oid ?? '')?.match(/[^\s"'`,;()[\]{}]+/g)
  const isNew = ({ result, stages }: Spot) => {
    const known = new Set(stages.flatMap(stage => words(stage) ?? []))
    return words(result)?.every(word => known.has(word)) !== true
  }
  return changed.filter(spot => (spot.kind ? mixed.includes(spot) && isNew(spot) : true)).map(pathOf)
}

/** The content of some files, as far as the bound goes. */
async function contentsOf(room: Room, entries: Entry[]): Promise<Map<Oid, string>> {
  const contents = new Map<Oid, string>()
  const oids = new Set(entries.filter(isFile).map(({ oid }) => oid))
  if (oids.size === 0) return contents
  const shell = room.sh({ input: `${[...oids].join('\n')}\n`, stdio: 'pipe', nothrow: true })
  const output = await bytesOf(sh => sh`git cat-file --batch | head -c ${READ_BYTES}`, shell)
  for (let at = 0; at < output.length; ) {
    const start = output.indexOf('\n', at) + 1
    const [oid = '', , size] = output.slice(at, start).split(' ')
    const end = start + Number(size)
    if (!(end < output.length)) break
    contents.set(oid, output.slice(start, end))
    at = end + 1
  }
  return contents
}

/** The side that lost all it had changed: the result is the other side's tree, and not only because of conflicts. */
async function lostSide(
  room: Room,
  { conflicts, upstream, fork }: Ledger,
  whole: 'start' | 'upstream' | undefined,
): Promise<'upstream' | 'fork' | undefined> {
  if (!whole) return undefined
  const [other, files, number] =
    whole === 'start' ? (['upstream', upstream.files, 2] as const) : (['fork', fork.files, 3] as const)
  if (files > 0) return other
  const contents = await contentsOf(
    room,
    conflicts.flatMap(({ automatic, stages }) => [automatic, ...stages]),
  )
  const losesMore = ({ automatic, stages }: Spot) => {
    const merged = contents.get(automatic?.oid ?? '')
    if (!merged?.includes('<<<<<<<')) return false
    const resolved = merged.replace(
      /^<{7} .*\n([\s\S]*?)^={7}\r?\n([\s\S]*?)^>{7} .*\n?/gm,
      whole === 'start' ? '$1' : '$2',
    )
    return resolved !== contents.get(stageOf(stages, number)?.oid ?? '')
  }
  return conflicts.some(losesMore) ? other : undefined
}

function lossesOf({ upstream, fork, conflicts }: Ledger, emptied: 'upstream' | 'fork' | undefined): string[] {
  const sides = [
    ['upstream', upstream, "The result is the fork's tree as it was; upstream's changes are gone from"],
    ['fork', fork, "The result is upstream's tree; the fork's changes are gone from"],
  ] as const
  return sides.flatMap(([side, { files, lost }, gone]) => {
    if (emptied === side) return naming(gone, lost.length > 0 ? lost : conflicts.map(pathOf))
    if (lost.length * 2 <= files) return []
    return naming(
      `${lost.length} of the ${files} files that ${side === 'fork' ? 'the fork' : side} changed, with nothing in their way, lost the change:`,
      lost,
    )
  })
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  if (args.length !== 3) {
    console.error('usage: host/review.ts START UPSTREAM RESULT')
    return 64
  }
  const sh = shellIn(process.cwd())
  let room: Room | undefined
  try {
    const commits: Oid[] = []
    for (const arg of args)
      commits.push((await sh`git rev-parse --verify --quiet --end-of-options ${`${arg}^{commit}`}`).stdout.trim())
    const [start = '', upstream = '', result = ''] = commits
    const where = await sh`git rev-parse --show-object-format --path-format=absolute --git-path objects`
    const [format = '', objects = ''] = where.stdout.split('\n')
    room = await openRoom(tmpdir(), [objects], format)
    await useAttributesOf(room, start)
    const verdict = await review(room, { origin: start, start, upstream, result })
    const [originBranch = '', upstreamBranch = ''] = args
    if (verdict.refusals.length === 0) console.log(page(verdict, { originBranch, upstreamBranch }).body)
    else console.log(ledgerText(verdict))
    return verdict.refusals.length === 0 ? 0 : 3
  } catch (error) {
    const said = (error as ProcessOutput).stderr?.trim() || (error as Error).message
    console.error(visible(`forklift review: ${said.split('\n')[0]}`))
    return 1
  } finally {
    await room?.close()
  }
}
