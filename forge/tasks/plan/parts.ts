/**
 * Divides the conflicts of a merge into parts, one for each task: files that import each other, that the same commits
 * changed on either side, or that are called alike come together.
 */
import { posix } from 'node:path'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, asText, type Oid } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import type { FileEntry } from '../../../core/git/trees.ts'
import type { CodeFacts } from '../../code/facts.ts'
import type { CodeReader } from '../../code/reader.ts'
import type { MergePart, Sides } from '../runs/merging.ts'
import type { Conflicts } from './conflicts.ts'
import { groupUnits, type Link, type Unit } from './grouping.ts'

/**
 * `files`, `bytes`: at most this many in a part, the bytes of their conflicts: about as much as one request can hold
 * and one answer can resolve. A contract has at most `parts` assertions, one for each part.
 */
const MAX = { files: 8, bytes: 40 << 10, parts: 200 }
/** How much the bytes of a conflict without markers count: one of its sides is read. */
const CHOICE_BYTES = 4 << 10
/** At most this many of the newest commits of each side are read, of those that touched files in conflict. */
const MAX_COMMITS = 3000
/** A commit that touched more of the files in conflict says nothing of which belong together. */
const MAX_TOUCHED = 30
/** At most this many commits of each side are told to a part. */
const MAX_TOLD = 12
const WEIGHTS = { import: 2, name: 3, commit: 1 }

/** A commit of one side, and the files in conflict that it changed. */
type Touching = { oid: Oid; paths: string[] }

/** Divides conflicts into parts. Without `code`, imports are not read. */
export async function partsOf(
  objects: Objects,
  { ours, theirs }: Sides,
  conflicts: Pick<Conflicts, 'texts' | 'choices'>,
  code?: CodeReader,
): Promise<MergePart[]> {
  const { texts, choices } = conflicts
  const units: Unit[] = [
    ...texts.map(({ path, bytes }) => ({ paths: [path], bytes })),
    ...choices.map(({ paths }) => ({ paths, bytes: CHOICE_BYTES })),
  ]
  const paths = units.flatMap(unit => unit.paths)
  const [own, other] = await Promise.all([
    commitsTouching(objects, { of: ours, not: theirs }, paths),
    commitsTouching(objects, { of: theirs, not: ours }, paths),
  ])
  const links = [
    ...linksByCommits(units, [...own, ...other]),
    ...linksByNames(units),
    ...(code ? await linksByImports(units, conflicts, code) : []),
  ]
  const scale = Math.max(1, Math.ceil(paths.length / MAX.files / MAX.parts))
  let groups = groupUnits(units, links, { files: MAX.files * scale, bytes: MAX.bytes * scale })
  // Large conflicts make parts of few files: then more of them have to be in a part.
  for (let more = 2 * scale; groups.length > MAX.parts; more *= 2)
    groups = groupUnits(units, links, { files: MAX.files * more, bytes: MAX.bytes * more })
  let count = 0
  return groups.map((group, at) => {
    const files = new Set(group.flatMap(unit => units[unit]?.paths ?? []))
    const inGroup = choices.filter((_, index) => group.includes(texts.length + index))
    return {
      task: `part-${at + 1}`,
      texts: group.flatMap(unit => texts[unit]?.path ?? []),
      choices: inGroup.map(choice => ({ id: `C${++count}`, ...choice })),
      ours: telling(own, files),
      theirs: telling(other, files),
    }
  })
}

/** The commits that say most about some files: those that changed most of them, among equals the newest. */
const telling = (commits: readonly Touching[], files: ReadonlySet<string>): Oid[] =>
  commits
    .map(({ oid, paths }) => ({ oid, count: paths.filter(path => files.has(path)).length }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_TOLD)
    .map(({ oid }) => oid)

/** The commits of one side that changed some of these files, the newest first. */
async function commitsTouching(
  { repository }: Objects,
  { of, not }: { of: Oid; not: Oid },
  paths: readonly string[],
): Promise<Touching[]> {
  const flags = ['--no-merges', '--name-only', '--no-renames', '--format=%x01%H', '-z', `--max-count=${MAX_COMMITS}`]
  const args = ['--literal-pathspecs', 'log', ...flags, of, `^${not}`, '--stdin']
  const input = Buffer.from(`--\n${paths.map(path => `${asBytes(path)}\n`).join('')}`, 'latin1')
  const { stdout } = await run(repository, args, { input })
  return stdout
    .toString('latin1')
    .split('\x01')
    .slice(1)
    .map(entry => {
      const [oid = '', ...names] = entry.split('\0')
      return { oid, paths: names.map(name => asText(name.replace(/^\n/, ''))).filter(Boolean) }
    })
}

/** A commit that touched few of the files links them more strongly than one that touched many. */
function linksByCommits(units: readonly Unit[], commits: readonly Touching[]): Link[] {
  const unitOf = new Map(units.flatMap(({ paths }, at) => paths.map(path => [path, at] as const)))
  return commits.flatMap(({ paths }) => {
    const touched = [...new Set(paths.flatMap(path => unitOf.get(path) ?? []))]
    if (touched.length < 2 || touched.length > MAX_TOUCHED) return []
    return pairsOf(touched, WEIGHTS.commit / (touched.length - 1))
  })
}

const pairsOf = (units: readonly number[], weight: number): Link[] =>
  units.flatMap((one, at) => units.slice(at + 1).map(other => ({ one, other, weight })))

/** Links a file with its header and its test: `pool.cpp`, `pool.h`, `pool_test.cpp`, `test_pool.py`. */
function linksByNames(units: readonly Unit[]): Link[] {
  const byStem = Map.groupBy(units.keys(), at => stemOf(units[at]?.paths[0] ?? ''))
  return [...byStem].flatMap(([stem, some]) =>
    stem.length < 3 || some.length > MAX.files ? [] : pairsOf(some, WEIGHTS.name),
  )
}

/** Names that are in many folders, and say nothing. */
const COMMON = /^(?:index|main|mod|init|__init__|readme|makefile|package|types|utils?|common)$/

function stemOf(path: string): string {
  const stem = posix.basename(path).replace(/\..*$/, '').toLowerCase()
  return COMMON.test(stem) ? '' : stem.replace(/^test_|[_-]?tests?$|[_-]?spec$/g, '')
}

async function linksByImports(
  units: readonly Unit[],
  { texts }: Pick<Conflicts, 'texts'>,
  code: CodeReader,
): Promise<Link[]> {
  const byPath = new Map<string, number[]>()
  // An include may be relative to any folder, and a package of Go is a folder: so the ends of paths are compared, too.
  const byEnd = new Map<string, number[]>()
  for (const [at, { paths }] of units.entries())
    for (const path of paths) {
      const plain = withoutExtension(path)
      listIn(byPath, plain).push(at)
      for (let from = 0; from >= 0; from = plain.indexOf('/', from + 1)) {
        const end = from === 0 ? plain : plain.slice(from + 1)
        listIn(byEnd, end).push(at)
      }
    }
  const files = texts.flatMap(({ path, sides }) =>
    [sides.ours, sides.theirs].map(oid => ({ path: asBytes(path), mode: '100644', oid })),
  )
  const facts = await factsInTime(files, code)
  return facts.flatMap(({ imports }, at) => {
    const one = at >> 1
    const from = texts[one]?.path ?? ''
    return [...new Set(imports)].flatMap(name => {
      const wanted = name.startsWith('.') ? posix.join(posix.dirname(from), name) : name
      const ends = byEnd.get(withoutExtension(name.replace(/^(?:\.\.?\/)+/, ''))) ?? []
      // An end that many files have says nothing.
      const meant = byPath.get(withoutExtension(wanted)) ?? (ends.length > MAX.files ? [] : ends)
      return [...new Set(meant)].filter(other => other !== one).map(other => ({ one, other, weight: WEIGHTS.import }))
    })
  })
}

function listIn(lists: Map<string, number[]>, key: string): number[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}

/** Imports are read for at most this long, in milliseconds: parsing large files takes seconds each. */
const MAX_PARSING_MS = 10_000
/** The number of files that are parsed between two looks at the clock. */
const FILES_AT_ONCE = 16

async function factsInTime(files: readonly FileEntry[], code: CodeReader): Promise<CodeFacts[]> {
  const until = performance.now() + MAX_PARSING_MS
  const facts: CodeFacts[] = []
  while (facts.length < files.length && performance.now() < until)
    facts.push(...(await code.factsOf(files.slice(facts.length, facts.length + FILES_AT_ONCE))))
  return facts
}

const withoutExtension = (path: string): string => path.replace(/(?<=[^/])\.\w+$/, '')
