/**
 * The renames that drafts include. Git records none, so the drafts do: a save or a discard of a renamed file includes
 * its old path, whatever was typed in it since.
 */
import * as v from 'valibot'
import type { Path } from '../../../core/git/repository.ts'
import type { Renamed } from '../../operations.ts'
import { foldersAbove, isIn, pathAfter } from '../contract/paths.ts'
import { Path as PathSchema } from '../contract/values.ts'

/** The parts of drafts that renames are about. A file without a value is deleted. */
type WithRenames = {
  files: ReadonlyMap<Path, object | undefined>
  clashes: ReadonlyMap<Path, object>
  renames: readonly Renamed[]
}

/** At most this many renames are recorded; above that, the oldest are saved as a deletion and an addition. */
const MAX_RENAMES = 2_000

/** The old path of each renamed file, by its new path. A file has an old path only while the drafts delete that one. */
export function originsIn({ files, clashes, renames }: WithRenames): Map<Path, Path> {
  const origins = new Map<Path, Path>()
  if (renames.length === 0) return origins
  const byTarget = Map.groupBy(renames, ({ to }) => to)
  const taken = new Set<Path>()
  const isFree = (path: Path) => files.has(path) && files.get(path) === undefined && !taken.has(path)
  for (const path of new Set([...files.keys(), ...clashes.keys()])) {
    if (!files.get(path) && !clashes.has(path)) continue
    const origin = recordsOf(path, byTarget)
      .map(renamed => backwards(renamed, path))
      .find(isFree)
    if (origin === undefined) continue
    taken.add(origin)
    origins.set(path, origin)
  }
  return origins
}

/** The recorded renames of a file and of the folders above it, that of the file first. */
function recordsOf(path: Path, byTarget: ReadonlyMap<Path, readonly Renamed[]>): Renamed[] {
  const records = [...(byTarget.get(path) ?? [])]
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    records.push(...(byTarget.get(path.slice(0, at)) ?? []))
  return records
}

const backwards = ({ from, to }: Renamed, path: Path): Path => pathAfter({ from: to, to: from }, path)

/**
 * The recorded renames after one more. A file or folder that is renamed again keeps one record, from its first path to
 * its last.
 */
export function withRename(drafts: WithRenames, added: Renamed): Renamed[] {
  const byTarget = Map.groupBy(drafts.renames, ({ to }) => to)
  const earlier = recordsOf(added.from, byTarget).map(renamed => backwards(renamed, added.from))
  const followed = drafts.renames.map(({ from, to }) => ({ from, to: pathAfter(added, to) }))
  return [...followed, ...earlier.map(from => ({ from, to: added.to })), added]
}

/** The drafts without those recorded renames that no longer explain the old path of any file. */
export function withoutUnused<Drafts extends WithRenames>(drafts: Drafts): Drafts {
  if (drafts.renames.length === 0) return drafts
  const origins = originsIn(drafts)
  const used = new Map<string, Renamed>()
  const byTarget = Map.groupBy(drafts.renames, ({ to }) => to)
  for (const [path, origin] of origins) {
    const record = recordsOf(path, byTarget).find(it => backwards(it, path) === origin)
    if (record) used.set(`${record.from}\0${record.to}`, record)
  }
  const renames = [...used.values()].slice(-MAX_RENAMES)
  return renames.length === drafts.renames.length ? drafts : { ...drafts, renames }
}

/**
 * For each renamed file, by its new path, the recorded rename that explains its old path: of the file itself, or of a
 * folder above it.
 */
export function renamesFor({ renames }: WithRenames, origins: ReadonlyMap<Path, Path>): Map<Path, Renamed> {
  const byTarget = Map.groupBy(renames, ({ to }) => to)
  return new Map(
    [...origins].map(([path, origin]) => {
      const record = recordsOf(path, byTarget).find(it => backwards(it, path) === origin)
      return [path, record ?? { from: origin, to: path }]
    }),
  )
}

/**
 * The given drafts with everything that must be saved or discarded together with them: the other path of a renamed
 * file, and, where a file takes the place of a folder or the reverse, all of both.
 */
export function withWhatBelongs(drafts: WithRenames, paths: Iterable<Path>): Set<Path> {
  const origins = originsIn(drafts)
  const targets = new Map([...origins].map(([path, origin]) => [origin, path]))
  const all = new Set([...drafts.files.keys(), ...drafts.clashes.keys()])
  const replaced = [...all].filter(path => foldersAbove(path).some(folder => all.has(folder)))
  const chosen = new Set(paths)
  // A path that is added is visited, too: iterating a set includes what is added meanwhile.
  for (const path of chosen) {
    for (const other of [origins.get(path), targets.get(path)]) if (other !== undefined) chosen.add(other)
    for (const below of replaced) if (isIn(below, path)) chosen.add(below)
    for (const folder of foldersAbove(path)) if (all.has(folder)) chosen.add(folder)
  }
  return chosen
}

// --- In the message of the drafts' commit ---

const LINE = /^Forge-Renamed: (.*)$/gm
const Record = v.tuple([PathSchema, PathSchema])

export const renameLines = (renames: readonly Renamed[]): string =>
  renames.map(({ from, to }) => `Forge-Renamed: ${JSON.stringify([from, to])}\n`).join('')

/** Reads the lines of {@link renameLines}. A line that is none is ignored. */
export function readRenameLines(message: string): Renamed[] {
  return [...message.matchAll(LINE)].slice(0, MAX_RENAMES).flatMap(([, json = '']) => {
    const record = v.safeParse(Record, parseJson(json))
    return record.success ? [{ from: record.output[0], to: record.output[1] }] : []
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
