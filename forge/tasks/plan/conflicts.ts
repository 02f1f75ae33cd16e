/**
 * The conflicts of a merge as a run resolves them: files with conflict markers, conflicts without markers with what can
 * be chosen for each, and those that only a person can resolve.
 */
import { type MarkedPart, markedPartsOf, USUAL_MARK_LENGTH } from '../../../core/git/conflict-marks.ts'
import type { MergedTree, Stage } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, asText, type Entry, type Oid, type Path } from '../../../core/git/repository.ts'
import { entryAt, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { isOfTheForge } from '../../ai/model-files.ts'
import type { Choice, LeftConflict, OpenChoice } from '../runs/merging.ts'
import { isLiteral } from './globs.ts'

/** Larger files with conflict markers, in bytes, are left for a person. */
const MAX_TEXT_BYTES = 4 << 20
/** At most this many bytes of conflicts in one file: an answer has to have as much. */
const MAX_CONFLICT_BYTES = 96 << 10

/**
 * A file with conflict markers. `bytes`, `count`: the size and the number of its conflicts. `sides`: its blobs on both
 * sides.
 */
export type TextConflict = { path: string; bytes: number; count: number; sides: { ours: Oid; theirs: Oid } }
export type Conflicts = {
  texts: TextConflict[]
  choices: Omit<OpenChoice, 'id'>[]
  left: LeftConflict[]
  /** How many conflicts are resolved already, in a tree that was taken over. */
  settled: number
  /** The tree of the merge; each conflict has an id (M1, M2 …) behind its markers. */
  tree: Oid
}

/** Conflicting paths that are resolved together, and git's names for the conflict. */
type Group = { paths: Path[]; kinds: Set<string>; stages: Stage[] }

/**
 * Sorts the conflicts of a merge. Writes its tree with numbered conflicts. `taken`: the tree in place of git's own, in
 * which some conflicts are resolved.
 */
export async function conflictsOf(objects: Objects, merged: MergedTree, taken?: Oid): Promise<Conflicts> {
  const merge = { ...merged, tree: taken ?? merged.tree }
  const found: Conflicts = { texts: [], choices: [], left: [], settled: 0, tree: merge.tree }
  const numbered = new Map<Path, TreeChange>()
  let count = 0
  for (const group of groupsOf(merge)) {
    const paths = group.paths.map(asText)
    if (taken !== undefined && (await isSettled(objects, group, { before: merged.tree, taken }))) {
      found.settled++
      continue
    }
    const kind = [...group.kinds].join(', ') || 'contents'
    const why = whyLeft(group)
    if (why !== undefined) {
      found.left.push({ paths, why })
      continue
    }
    const marked = await markedFile(objects, merge, group)
    if (marked === 'unclear') found.left.push({ paths, why: 'it has conflict markers, and is renamed or too large' })
    else if (marked) {
      const { entry, parts, text, sides } = marked
      const lines = parts?.filter(part => !('same' in part)).length ?? 0
      const bytes = parts ? sizeOf(parts) : text.length
      if (bytes > MAX_CONFLICT_BYTES) {
        found.left.push({ paths, why: 'its conflicts are longer than a model can answer' })
        continue
      }
      const [path = ''] = group.paths
      if (parts) numbered.set(path, { mode: entry.mode, bytes: Buffer.from(withIds(parts, count), 'latin1') })
      count += lines
      found.texts.push({ path: asText(path), bytes, count: Math.max(1, lines), sides })
    } else {
      const choices = choicesFor(group, await treeEntries(objects, merge, group))
      if (choices.length < 2) found.left.push({ paths, why: `nothing can be chosen for this conflict (${kind})` })
      else found.choices.push({ kind, paths, choices })
    }
  }
  if (numbered.size > 0) found.tree = await writeTree(objects, merge.tree, numbered)
  return found
}

/** Whether a path can stand in a plan: as a glob that is only this file, and on a line. */
const isNameable = (path: Path): boolean => {
  const text = asText(path)
  return asBytes(text) === path && isLiteral(text) && !/[\p{Cc}\\]/u.test(text) && text.length <= 300
}

/** Kinds of conflicts, in git's words, for which a side can be chosen. */
const KNOWN_KINDS = ['contents', 'content', 'add/add', 'binary', 'modify/delete', 'rename/delete', 'rename/rename']
/** A file that one side added to a folder that the other side has renamed: git has moved it there. */
const MOVED = ['file location', 'directory rename suggested']

function whyLeft({ paths, kinds, stages }: Group): string | undefined {
  if (!paths.every(isNameable)) return 'its name can stand in no plan'
  if (paths.some(path => isOfTheForge(path))) return 'it belongs to the forge itself'
  const isLink = stages.some(({ mode }) => mode === '160000' || mode === '120000')
  const odd = [...kinds].find(
    kind => ![...KNOWN_KINDS, ...MOVED].includes(kind) && !(isLink && /^submodule/.test(kind)),
  )
  return odd === undefined ? undefined : `git reports it as ${odd}`
}

function groupsOf({ stages, conflicts }: MergedTree): Group[] {
  const groups = new Map<Path, Group>()
  for (const stage of stages) {
    const group = groups.get(stage.path) ?? { paths: [stage.path], kinds: new Set<string>(), stages: [] }
    group.stages.push(stage)
    groups.set(stage.path, group)
  }
  for (const { kind, paths } of conflicts) {
    const members = [...new Set(paths.flatMap(path => groups.get(path) ?? []))]
    for (const member of members) member.kinds.add(kind)
    // The original path stands second.
    const [member] = members
    if (MOVED.includes(kind) && member && members.length === 1 && paths[1] !== undefined && !groups.has(paths[1]))
      member.paths.push(paths[1])
    // A file that is in the way of a folder, and that git has moved out of it, is no conflict by itself.
    if (members.length === 0 && paths[0] !== undefined && kind !== 'file/directory')
      groups.set(paths[0], { paths: [paths[0]], kinds: new Set([kind]), stages: [] })
    if (members.length < 2 || !(kind === 'rename/rename' || kind === 'distinct modes')) continue
    const one: Group = {
      paths: members.flatMap(member => member.paths),
      kinds: new Set(members.flatMap(member => [...member.kinds])),
      stages: members.flatMap(member => member.stages),
    }
    for (const path of one.paths) groups.set(path, one)
  }
  return [...new Set(groups.values())]
}

/** Whether a conflict is resolved in a tree: its files differ from what git's merge has left, and have no markers. */
async function isSettled(
  objects: Objects,
  { paths }: Group,
  { before, taken }: { before: Oid; taken: Oid },
): Promise<boolean> {
  let isOther = false
  for (const path of paths) {
    const [was, is] = await Promise.all([before, taken].map(tree => entryAt(objects, tree, path)))
    if (was?.oid === is?.oid && was?.mode === is?.mode) continue
    isOther = true
    const object = is && isFile(is.mode) ? await objects.read(is.oid, { limit: MAX_TEXT_BYTES }) : undefined
    if (object?.bytes && MARKERS.test(object.bytes.toString('latin1'))) return false
  }
  return isOther
}

const MARKERS = /^<{7}(?: .*)?$[\s\S]*^>{7}(?: .*)?$/m

const isFile = (mode: string | undefined): boolean => mode === '100644' || mode === '100755'

/**
 * A group's file with markers; undefined where it has none; `unclear` where its markers can't be resolved in a part.
 */
async function markedFile(objects: Objects, merge: MergedTree, { paths, stages }: Group) {
  for (const path of paths) {
    const entry = await entryAt(objects, merge.tree, path)
    if (!entry || !isFile(entry.mode)) continue
    const object = await objects.read(entry.oid, { limit: MAX_TEXT_BYTES })
    const [ours, theirs] = [2, 3].map(side => stages.find(({ stage }) => stage === side))
    // A blob of one side may have such lines of its own: then git has merged nothing.
    if (entry.oid === ours?.oid || entry.oid === theirs?.oid) continue
    if (!object?.bytes) return 'unclear'
    const text = object.bytes.toString('latin1')
    if (!MARKERS.test(text)) continue
    if (paths.length > 1 || !ours || !theirs || !isFile(ours.mode) || !isFile(theirs.mode)) return 'unclear'
    const sides = { ours: ours.oid, theirs: theirs.oid }
    return { entry, text, parts: markedPartsOf(text, USUAL_MARK_LENGTH), sides }
  }
  return undefined
}

const sizeOf = (parts: readonly MarkedPart[]): number =>
  parts.reduce((sum, part) => sum + ('same' in part ? 0 : part.lines.length), 0)

/** Puts an id behind the first and last marker of each conflict: M5, where `before` is 4. */
function withIds(parts: readonly MarkedPart[], before: number): string {
  let number = before
  return parts
    .map(part => {
      if ('same' in part) return part.same
      const id = `M${++number}`
      return part.lines
        .replace(/^<{7}[^\r\n]*/, `<<<<<<< ${id} ours`)
        .replace(/^>{7}[^\r\n]*(\r?\n?)$/m, `>>>>>>> ${id} theirs$1`)
    })
    .join('')
}

/** The id of a conflict that {@link conflictsOf} has numbered; undefined for another one. */
export const idOfConflict = ({ lines }: { lines: string }): string | undefined => /^<{7} (M\d+) ours/.exec(lines)?.[1]

async function treeEntries(objects: Objects, { tree }: MergedTree, { paths }: Group): Promise<Map<Path, Entry>> {
  return new Map(await Promise.all(paths.map(async path => [path, await entryAt(objects, tree, path)] as const)))
}

/**
 * What can be chosen: each side's files, or the path of a file in a renamed folder, and what git has left (both names
 * of a renamed file). Each result once.
 */
function choicesFor({ paths, stages, kinds }: Group, there: ReadonlyMap<Path, Entry>): Choice[] {
  const of = (side: 2 | 3): Choice['files'] =>
    paths.map(path => {
      const stage = stages.find(it => it.path === path && it.stage === side)
      return { path: asText(path), ...(stage && { entry: { mode: stage.mode, oid: stage.oid } }) }
    })
  const [path = '', before] = paths
  const [moved] = stages
  if (MOVED.some(kind => kinds.has(kind)) && before !== undefined && moved) {
    const entry = { mode: moved.mode, oid: moved.oid }
    const [added, renamed] = moved.stage === 2 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)
    return [
      { take: renamed, files: [{ path: asText(path), entry }, { path: asText(before) }] },
      { take: added, files: [{ path: asText(path) }, { path: asText(before), entry }] },
    ]
  }
  const asLeft = paths.map(path => {
    const entry = there.get(path)
    return { path: asText(path), ...(entry && { entry }) }
  })
  const wanted: Choice[] = [
    { take: 'ours', files: of(2) },
    { take: 'theirs', files: of(3) },
    ...(kinds.has('rename/rename') && paths.length > 1 ? [{ take: 'both' as const, files: asLeft }] : []),
  ]
  const named = wanted.map(choice =>
    choice.files.every(({ entry }) => entry === undefined) ? { ...choice, take: 'deleted' as const } : choice,
  )
  return [...new Map(named.map(choice => [JSON.stringify(choice.files), choice])).values()]
}
