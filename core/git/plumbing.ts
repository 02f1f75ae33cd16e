/**
 * Git as Forklift runs it: never asking, never paging, never taking words for options, and, where a verdict is made,
 * in a repository of our own that knows nothing of the user's configuration.
 */
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Options, ProcessOutput, Shell } from 'zx/core'
import { shellIn } from '../shell.ts'
import { OWN_CONFIG } from './environment.ts'
import type { Entry, Format, Oid, Path, Repository } from './repository.ts'

export type { Entry, Oid, Path } from './repository.ts'

/** One stage of a conflicted path: the merge base's (1), ours (2) or theirs (3). */
export type Stage = { mode: string; oid: Oid; stage: 1 | 2 | 3; path: Path }
/** What git calls a conflict (`contents`, `modify/delete`, …), and every path that it concerns. */
export type Conflict = { kind: string; paths: Path[] }
/** What `git merge-tree --write-tree` makes of two commits: a tree, and what it could not settle. */
export type Merge = { tree: Oid; stages: Stage[]; conflicts: Conflict[] }

/** Runs a command for its exact bytes, one character each: zx itself decodes, which spoils file names that are no UTF-8. */
export async function bytesOf(run: (shell: Shell) => PromiseLike<ProcessOutput>, shell: Shell): Promise<string> {
  const store = { stdin: [], stdout: [] as Uint8Array[], stderr: [], stdall: [] }
  await run(shell({ store } as unknown as Partial<Options>) as unknown as Shell)
  return Buffer.concat(store.stdout).toString('latin1')
}

/** Splits git's `-z` output. */
export const fields = (output: string): string[] => output.split('\0').slice(0, -1)

/** A repository of our own to judge in: {@link openRoom}. */
export type Room = Repository & { path: string; sh: Shell; close: () => Promise<void>; hasAttributes?: boolean }

/**
 * Makes a repository with default configuration, an empty work tree and the objects of others, in a new folder below
 * `parent`. What git writes while it judges goes here, so that the user's repository gains nothing.
 */
export async function openRoom(
  parent: string,
  borrowed: string[],
  format: string,
  options: Partial<Options> = {},
): Promise<Room> {
  await mkdir(parent, { recursive: true })
  const path = await mkdtemp(join(parent, `scratch-${hostname()}-${process.pid}-`))
  const objects = join(path, '.git/objects')
  const gitDir = join(path, '.git')
  const env = { ...OWN_CONFIG, GIT_DIR: gitDir, GIT_WORK_TREE: path }
  const where = { cwd: path, env, ...(options.signal && { signal: options.signal }) }
  const sh = shellIn(where, options)
  const close = () => rm(path, { recursive: true, force: true })
  const room = { ...where, path, gitDir, objects, format: format as Format, sh, close }
  try {
    // As gitrepository-layout(5) has it: `git init` takes longer, and asks the user's and the system's wishes.
    await mkdir(join(objects, 'info'), { recursive: true })
    await mkdir(join(path, '.git/refs/heads'), { recursive: true })
    await writeFile(join(path, '.git/HEAD'), 'ref: refs/heads/none\n')
    const version = '[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = '
    await writeFile(join(path, '.git/config'), `${version}${format}\n`)
    const lenders = await Promise.all(borrowed.map(from => lendersOf(from, sh)))
    const alternates = [...lenders.flat(), ...borrowed.map(quoteInC)]
    await writeFile(join(objects, 'info/alternates'), `${alternates.join('\n')}\n`)
    return room
  } catch (error) {
    await room.close()
    throw error
  }
}

/** What an object folder borrows from, the deepest first: git follows a chain of them only so far. Quoted as in C. */
async function lendersOf(objects: string, sh: Shell): Promise<string[]> {
  const borrows = await stat(join(objects, 'info/alternates')).catch(() => undefined)
  if (!borrows) return []
  const counted = await sh`GIT_OBJECT_DIRECTORY=${objects} git count-objects -v`
  return [...counted.stdout.matchAll(/^alternate: (.+)$/gm)].map(([, lender = '']) => lender).reverse()
}

/** A string as in C: where git reads a list of names, a line that starts with a double quote is one. */
export const quoteInC = (path: string): string => `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`

/**
 * The automatic merge of two commits, by the attributes of ours, as where ours is checked out. Throws where git can't
 * tell (no common ancestor, a missing object). One at a time in a room.
 */
export async function mergeTree(room: Room, ours: Oid, theirs: Oid): Promise<Merge> {
  await useAttributesOf(room, ours, [])
  const merge = await mergeAsItIs(room, ours, theirs)
  // Attributes count for nothing but what both sides have changed: to look for them in all folders would take longer.
  const matter = await useAttributesOf(room, ours, merge.met)
  return matter ? await mergeAsItIs(room, ours, theirs) : merge
}

/**
 * Lets those .gitattributes of a commit count in the room, and no others, that hold for some paths: git reads them from
 * the work tree alone. Gives whether there are any.
 */
export async function useAttributesOf(room: Room, commit: Oid, paths: Path[]): Promise<boolean> {
  const above = (path: Path) => path.split('/').map((_, depth, parts) => [...parts.slice(0, depth), ''].join('/'))
  const files = [...new Set(paths.flatMap(above))].map(folder => `${folder}.gitattributes`)
  const listed = (names: Path[]) => ({ input: Buffer.from(names.join('\0'), 'latin1'), stdio: 'pipe' }) as const
  const list = room.sh(listed(files))
  const present =
    files.length > 0 ? fields(await bytesOf(sh => sh`xargs -0 git ls-tree -z --name-only ${commit} --`, list)) : []
  if (room.hasAttributes) await room.sh`git ls-files -z | xargs -0 rm -f --; git read-tree --empty`
  room.hasAttributes = present.length > 0
  if (!room.hasAttributes) return false
  await room.sh(listed(present))`
    GIT_LITERAL_PATHSPECS=1 git checkout --quiet ${commit} --pathspec-from-file=- --pathspec-file-nul`
  return true
}

async function mergeAsItIs(room: Room, ours: Oid, theirs: Oid): Promise<Merge & { met: Path[] }> {
  const output = await bytesOf(async sh => {
    const merge = await sh({ nothrow: true })`git merge-tree --write-tree --messages -z ${ours} ${theirs}`
    // 1 is a merge with conflicts, but also an argument that is no commit: only the tree's id tells them apart.
    if (merge.exitCode === 0 || (merge.exitCode === 1 && merge.stdout)) return merge
    throw merge
  }, room.sh)
  const [tree = '', ...rest] = fields(output)
  const end = rest.includes('') ? rest.indexOf('') : rest.length
  return { tree, stages: rest.slice(0, end).map(parseStage), ...parseMessages(rest.slice(end + 1)) }
}

/** Each message is a number, so many paths, a short type and a sentence: what is a conflict, and all paths that met. */
function parseMessages(words: string[]): { conflicts: Conflict[]; met: Path[] } {
  const conflicts: Conflict[] = []
  const met: Path[] = []
  for (let at = 0; at < words.length; ) {
    const count = Number(words[at])
    const paths = words.slice(at + 1, at + count + 1)
    met.push(...paths)
    const kind = /^CONFLICT \((.*)\)$/.exec(words[at + count + 1] ?? '')?.[1]
    if (kind) conflicts.push({ kind, paths })
    at += count + 3
  }
  return { conflicts, met }
}

function parseStage(entry: string): Stage {
  const [, mode = '', oid = '', stage, path = ''] = /^(\d+) ([0-9a-f]+) ([123])\t(.*)$/s.exec(entry) ?? []
  return { mode, oid, stage: Number(stage) as Stage['stage'], path }
}

/** What differs between two trees, as `git diff-tree -r -z` writes it: {@link changesIn} reads it. */
export const diffTrees = (room: Room, from: Oid, to: Oid): Promise<string> =>
  bytesOf(sh => sh`git diff-tree -r -z --no-renames ${from} ${to}`, room.sh)

/** Reads `:MODE MODE OID OID STATUS NUL PATH NUL`, over and over, one at a time: there may be a hundred thousand. */
export function* changesIn(output: string): Generator<[path: Path, before: Entry, after: Entry]> {
  const entry = (mode: string, oid: Oid): Entry => (mode === '000000' ? undefined : { mode, oid })
  for (let at = 0; at < output.length; ) {
    const middle = output.indexOf('\0', at)
    const end = output.indexOf('\0', middle + 1)
    const [oldMode = '', mode = '', oldOid = '', oid = ''] = output.slice(at + 1, middle).split(' ')
    yield [output.slice(middle + 1, end), entry(oldMode, oldOid), entry(mode, oid)]
    at = end + 1
  }
}

/** Makes trees whose files are named by their place in the list, because a path does not survive an argument list. */
export async function makeTrees(room: Room, trees: Entry[][]): Promise<Oid[]> {
  const line = (entry: Entry, at: number) => {
    if (!entry) return ''
    return `${entry.mode} ${entry.mode === '160000' ? 'commit' : 'blob'} ${entry.oid}\t${String(at).padStart(7, '0')}\0`
  }
  const input = trees.map(tree => `${tree.map(line).join('')}\0`).join('')
  return (await room.sh({ input, stdio: 'pipe' })`git mktree -z --batch`).stdout.trim().split('\n')
}

/** How a command ends when `head` has had enough of it. */
const SIGPIPE = 141

/** The first bytes of what git says about trees from a stranger, who may have made it endless. */
export const firstBytes = (room: Room, args: string[], bytes: number): Promise<string> =>
  bytesOf(async sh => {
    const output = await sh({ nothrow: true })`git ${args} | head -c ${bytes}`
    // 1 is a search that found nothing.
    if ([0, 1, SIGPIPE].includes(output.exitCode ?? NaN)) return output
    throw output
  }, room.sh)

/** The commits that one has and another lacks: all counted, and the newest named. */
export type CommitList = { count: number; newest: { oid: Oid; date: string; subject: string }[] }

export async function commitsBetween(room: Room, old: Oid, tip: Oid, named: number): Promise<CommitList> {
  const list = ['log', '--format=%H %as %<(200,trunc)%s', tip, `^${old}`, '--']
  const lines = (await room.sh`git ${list} | sed -n ${`1,${named}p;$=`}`).stdout.trimEnd().split('\n')
  const count = Number(lines.pop())
  const newest = lines.map(line => {
    const [oid = '', date = '', ...subject] = line.trimEnd().split(' ')
    return { oid, date, subject: subject.join(' ') }
  })
  return { count, newest }
}
