/**
 * Finds the files related to a step's own files, by evidence only: one imports the other, or one uses what the other
 * defines and both often change together. A name in common is not enough.
 */
import { posix } from 'node:path'
import { lastCommits } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asText, type Oid, type Path } from '../../../core/git/repository.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { short } from '../../../core/text.ts'
import type { Near } from './map.ts'
import type { Offer, ReadInterface } from './offers.ts'

/**
 * A file related to the step's own files. `lines`: of an imported file, the definitions that the own files use; of an
 * importing file, the lines that use definitions of the own files.
 */
export type Related = { path: Path; how: 'imported' | 'importing'; lines: string[] }
/** A file that changed together with the step's own files. `together`: in how many of `of` commits. */
export type Companion = { path: Path; together: number; of: number }

export type Relating = {
  objects: Objects
  /** The commit whose files and history are searched; for a tree in place of a commit, only the files. */
  commit: Oid
  own: readonly Path[]
  /** Names in the task. */
  names: ReadonlySet<string>
  readInterface: ReadInterface
}

const MAX_BYTES = 256 << 10
const MAX_CANDIDATES = 60
const MAX_IMPORTED = 8
const MAX_IMPORTING = 6
const MAX_SIGNATURES = 12
const MAX_USES = 4
const MAX_LINE = 160
/** A name that more of the files related to the step define (such as String or Set in Go) is ignored. */
const MAX_DEFINERS = 3
/** At most this many commits of the repository are read. MAX_COMMIT_FILES: commits with more files are ignored. */
const MAX_COMMITS = 600
const MAX_COMMIT_FILES = 20
/** The histories of at most this many commits are kept, some hundred kilobytes each. */
const MAX_KEPT_HISTORIES = 16
/**
 * A companion (a file that often changes with the step's own files) has changed with them in at least this many
 * commits.
 */
const MIN_TOGETHER = 3
/** A companion has changed in at least this share of the commits that changed the step's own files. */
const MIN_SHARE = 0.3
const MAX_COMPANIONS = 4

/**
 * Those of the `near` files that are related to the step's own files. Always the same for the same commit and files.
 */
export async function relatedTo(near: readonly Near[], relating: Relating): Promise<Related[]> {
  const { objects, commit, own, names, readInterface } = relating
  const texts = new Map<Path, string>()
  for (const path of own) texts.set(path, (await textAt(objects, commit, path)) ?? '')
  const candidates = new Map<Path, string>()
  for (const { path } of near.filter(({ isNext }) => isNext).slice(0, MAX_CANDIDATES)) {
    const text = await textAt(objects, commit, path)
    if (text !== undefined) candidates.set(path, text)
  }
  const read = async ([path, text]: [Path, string]) => [path, await readInterface(path, text)] as const
  const interfaces = new Map(await Promise.all([...texts, ...candidates].map(read)))
  const offersOf = (path: Path): readonly Offer[] => interfaces.get(path)?.offers ?? []
  const importsOf = (path: Path): readonly string[] => interfaces.get(path)?.imports ?? []
  const isTelling = tellingNames([...interfaces.values()].map(({ offers }) => offers))
  const found: Related[] = []
  const count = (how: Related['how']) => found.filter(it => it.how === how).length
  for (const [path, text] of candidates) {
    const from = [...texts].filter(([it]) => doesImport(it, importsOf(it), path))
    const importedBy = own.filter(it => doesImport(path, importsOf(path), it))
    if (from.length > 0 && count('imported') < MAX_IMPORTED) {
      // Only the words of files that import this one: a text such as a README contains nearly any word, and so names by
      // chance.
      const words = new Set([...names, ...from.flatMap(([, its]) => its.match(NAME) ?? [])])
      const used = offersOf(path).filter(({ name }) => words.has(name) && isTelling(name))
      const lines = [...new Set(used.map(({ line }) => short(line.trim(), MAX_LINE)))].slice(0, MAX_SIGNATURES)
      if (lines.length > 0) found.push({ path, how: 'imported', lines })
    }
    if (found.some(it => it.path === path)) continue
    if (importedBy.length > 0 && count('importing') < MAX_IMPORTING) {
      const offered = importedBy.flatMap(it => offersOf(it).map(({ name }) => name))
      const classes = interfaces.get(path)?.classes ?? new Set()
      const lines = usesIn({ text, classes }, new Set(offered.filter(isTelling)), names)
      if (lines.length > 0) found.push({ path, how: 'importing', lines })
    }
  }
  return found
}

/** A function that tells whether few of these files define a name, so that a use refers to one of them. */
function tellingNames(offers: readonly (readonly Offer[])[]): (name: string) => boolean {
  const definers = new Map<string, number>()
  for (const own of offers)
    for (const name of new Set(own.map(it => it.name))) definers.set(name, (definers.get(name) ?? 0) + 1)
  return name => (definers.get(name) ?? 0) <= MAX_DEFINERS
}

const NAME = /[A-Za-z_$][\w$]{2,60}/g

/**
 * Lines that use one of `names`, without mere imports. Subclasses of a named class come first, since a change of it
 * affects them silently; then lines with a name from the task. `classes`: the indexes of the lines that name a class.
 */
function usesIn(
  { text, classes }: { text: string; classes: ReadonlySet<number> },
  names: ReadonlySet<string>,
  wished: ReadonlySet<string>,
): string[] {
  const lines = text.split('\n').flatMap((line, at) => {
    if (/^\s*(?:import|from|use|#include|export \{)\b/.test(line)) return []
    const used = (line.match(NAME) ?? []).filter(name => names.has(name))
    if (used.length === 0) return []
    const rank = classes.has(at) ? 0 : used.some(name => wished.has(name)) ? 1 : 2
    return [{ at, rank, words: `${at + 1}: ${short(line.trim(), MAX_LINE)}` }]
  })
  const chosen = lines.toSorted((a, b) => a.rank - b.rank || a.at - b.at).slice(0, MAX_USES)
  return chosen.toSorted((a, b) => a.at - b.at).map(({ words }) => words)
}

/** The files that usually change together with the files `own`. */
export async function companionsOf({ objects, commit, own }: Relating): Promise<Companion[]> {
  const isCommit = (await objects.info(commit))?.type === 'commit'
  if (!isCommit || own.length === 0) return []
  const isOwn = new Set(own)
  const touching = (await changesBefore(objects, commit)).filter(files => files.some(it => isOwn.has(it)))
  const counts = new Map<Path, number>()
  for (const files of touching)
    for (const path of files) if (!isOwn.has(path)) counts.set(path, (counts.get(path) ?? 0) + 1)
  const of = touching.length
  const often = [...counts].filter(([, together]) => together >= MIN_TOGETHER && together / of >= MIN_SHARE)
  const there = await Promise.all(often.map(async ([path]) => (await entryAt(objects, commit, path)) !== undefined))
  return often
    .filter((_, at) => there[at])
    .map(([path, together]) => ({ path, together, of }))
    .sort((a, b) => b.together - a.together || (a.path < b.path ? -1 : 1))
    .slice(0, MAX_COMPANIONS)
}

/** For each reader of a repository, what the commits before a commit changed; the last used commit is last. */
const changes = new WeakMap<Objects, Map<Oid, Promise<Path[][]>>>()

/**
 * The files that each of the last commits up to `commit` changed, without commits that changed many. Kept for some
 * commits, since many steps of a run begin at the same one.
 */
async function changesBefore(objects: Objects, commit: Oid): Promise<Path[][]> {
  const kept = changes.get(objects) ?? new Map<Oid, Promise<Path[][]>>()
  changes.set(objects, kept)
  const reading = kept.get(commit) ?? readChanges(objects, commit)
  kept.delete(commit)
  kept.set(commit, reading)
  for (const old of [...kept.keys()].slice(0, -MAX_KEPT_HISTORIES)) kept.delete(old)
  try {
    return await reading
  } catch (error) {
    // Errors are not kept: git may be able to read the history the next time.
    if (kept.get(commit) === reading) kept.delete(commit)
    throw error
  }
}

async function readChanges({ repository }: Objects, commit: Oid): Promise<Path[][]> {
  const commits = await lastCommits(repository, commit, { most: MAX_COMMITS })
  const small = commits.map(({ files }) => files).filter(({ length }) => length <= MAX_COMMIT_FILES)
  // Parts of git's output would keep all of it in memory: the paths are copied.
  return small.map(files => files.map(path => Buffer.from(path, 'latin1').toString('latin1')))
}

async function textAt(objects: Objects, commit: Oid, path: Path): Promise<string | undefined> {
  const entry = await entryAt(objects, commit, path)
  if (!entry?.mode.startsWith('100')) return undefined
  const object = await objects.read(entry.oid, { limit: MAX_BYTES })
  return object?.bytes && !object.bytes.subarray(0, 8192).includes(0) ? object.bytes.toString() : undefined
}

// --- Imports

/** Whether a file imports another one, judged by its text without the project's configuration. */
export function doesImport(from: Path, imports: readonly string[], to: Path): boolean {
  const name = asText(to)
  const folder = posix.dirname(asText(from))
  // Go files of one folder are one package and do not import each other.
  if (/\.go$/.test(from) && /\.go$/.test(to)) {
    if (posix.dirname(name) === folder) return true
    const target = posix.dirname(name)
    return imports.some(spec => spec === target || spec.endsWith(`/${target}`))
  }
  const stem = stemOf(name)
  return imports.some(spec => {
    const wanted = spec.startsWith('.') ? stemOf(posix.join(folder, spec)) : stemOf(spec)
    if (spec.startsWith('.')) return wanted === stem
    return wanted !== '' && (stem === wanted || stem.endsWith(`/${wanted}`))
  })
}

/** A path without its extension, and without the file name by which a folder is imported. */
const stemOf = (path: string): string =>
  path
    .replace(/\.(?:[cm]?[jt]sx?|py|rs|go|rb|php|java|kt|h|hpp|hh|c|cc|cpp|vue|svelte)$/, '')
    .replace(/\/(?:index|__init__|mod|lib)$/, '')
