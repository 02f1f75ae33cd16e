/**
 * Reads repositories and files that strangers could write. Git never opens the workspace as a repository: its
 * configuration, hooks and links are the agent's. Files are opened without following links; objects are read through a
 * repository of our own.
 */
import { constants } from 'node:fs'
import { lstat, mkdir, open, opendir, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EXIT, Failure } from './failure.ts'
import { canBeWritten } from './full-disk.ts'
import { INDEXING, LIMITS, LISTING, QUESTIONS, TooLarge } from './git/bounds.ts'
import { isOid, type Oid } from './git/repository.ts'
import { GitError, read, run } from './git/run.ts'
import { openScratch, type Scratch } from './git/scratch.ts'
import { visible } from './text.ts'

/** The suffix for `.git` and `HEAD` in a stranger's repository, so that no git command opens it by itself. */
export const DISABLED = '.disabled'

/**
 * At most `limit` bytes of a regular file, the target of a link, or the fact that it is something else; undefined where
 * nothing exists.
 */
type Untrusted = { kind: 'file' | 'link'; bytes: Buffer } | { kind: 'other' }

export async function readUntrusted(path: string, limit: number): Promise<Untrusted | undefined> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats?.isSymbolicLink()) return { kind: 'link', bytes: Buffer.from(await readlink(path)) }
  if (!stats?.isFile()) return stats && { kind: 'other' }
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch(() => undefined)
  if (!file) return { kind: 'other' }
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(stats.size, limit)), 0)
    return { kind: 'file', bytes: buffer.subarray(0, bytesRead) }
  } finally {
    await file.close()
  }
}

/**
 * Switches off caches that git trusts without checking the objects. The agent's own caches are not linked into the
 * repository through which its objects are read; with this, git does not even look for any.
 */
const NO_CACHES = '[core]\n\tcommitGraph = false\n\tmultiPackIndex = false\n[pack]\n\tuseBitmaps = false\n'

/**
 * Fetches the agent's branch into the scratch repository as refs/heads/result, and checks its new objects. A workspace
 * with manipulated git files is refused.
 *
 * Git reads the agent's loose objects and packs through a repository of our own, the carrier. It links only to the
 * folders of loose objects and to the packs of the workspace: no index, reverse index, bitmap, commit-graph or
 * alternates file that the agent wrote is opened.
 */
export async function takeBranch(
  scratch: Scratch,
  { workspace, branch, known }: { workspace: string; branch: string; known: Oid[] },
): Promise<Oid> {
  const ref = `refs/heads/${branch}`
  const folders = ref.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))
  for (const folder of ['..', 'objects', ...folders]) {
    const stats = await lstat(join(workspace, '.git', folder)).catch(() => undefined)
    const mayBeGone = folder.startsWith('refs/heads/')
    if (!stats?.isDirectory() && (stats || !mayBeGone))
      throw refused(`in the workspace, ${join('.git', folder)} is no folder`)
  }
  const { format, signal } = scratch
  const tip = await readTip(join(workspace, '.git'), ref)
  if (!tip || !isOid(format, tip)) throw refused(`in the workspace, branch ${branch} is no commit's id`)
  const theirs = await listObjects(join(workspace, '.git/objects'))
  const borrowed = [scratch.objects]
  await using carrier = await openScratch({ parent: scratch.gitDir, borrowed, format, signal, config: NO_CACHES })
  for (const { name, path } of theirs.loose) await symlink(path, join(carrier.objects, name))
  await writeFile(join(carrier.gitDir, 'refs/heads/result'), `${tip}\n`)
  // Git does not fetch what these refs have.
  for (const oid of known) await writeFile(join(scratch.gitDir, `refs/heads/known-${oid}`), `${oid}\n`)
  const flags = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const settings = ['-c', 'fetch.fsckObjects=true', '-c', 'fetch.unpackLimit=1']
  const fetch = [...settings, 'fetch', '--quiet', ...flags, carrier.gitDir]
  const taken = await twice(scratch, `in the workspace, branch ${branch} can't be read`, async () => {
    await verifyFewBytes(scratch, carrier, await listNew(carrier, theirs.packs, tip, known))
    await run(scratch, [...fetch, '+refs/heads/result:refs/heads/result'])
    return await read(scratch, ['rev-parse', '--verify', '--quiet', 'refs/heads/result^{commit}'])
  })
  if (taken === tip) return tip
  throw refused(`in the workspace, branch ${branch} can't be read (no reason given)`)
}

/**
 * The ids of the objects that the tip has and the known commits lack. They are usually loose, so packs are indexed only
 * where an object is missing.
 */
async function listNew(carrier: Scratch, packs: readonly Pack[], tip: Oid, known: readonly Oid[]): Promise<Oid[]> {
  const list = ['rev-list', '--objects', '--no-object-names', tip, '--not', ...known, '--']
  const loose = await run(carrier, list, { ok: 'any', bounds: LISTING })
  if (loose.code !== 0) await indexPacks(carrier, packs)
  const listed = loose.code === 0 ? loose : await run(carrier, list, { bounds: LISTING })
  return listed.stdout.toString().split('\n').filter(Boolean)
}

/** Links packs into a repository and writes their indexes. Packs that are already indexed are skipped. */
async function indexPacks({ objects, ...where }: Scratch, packs: readonly Pack[]): Promise<void> {
  if (packs.length > MAX_PACKS) throw new TooLarge(`it has ${packs.length} packs, and at most ${MAX_PACKS} are read`)
  await mkdir(join(objects, 'pack'), { recursive: true })
  // One time limit for all packs together: there may be many small ones.
  const bytes = packs.reduce((sum, pack) => sum + pack.bytes, 0)
  const end = performance.now() + 1000 * (INDEXING.seconds + bytes / INDEXING.bytesPerSecond)
  for (const [number, { path }] of packs.entries()) {
    const name = join(objects, `pack/pack-${String(number).padStart(40, '0')}`)
    if (await lstat(`${name}.idx`).catch(() => undefined)) continue
    const bounds = { ...QUESTIONS, seconds: Math.max((end - performance.now()) / 1000, 0.001) }
    await run(where, ['index-pack', '-o', `${name}.idx`, path], { bounds })
    await symlink(path, `${name}.pack`)
  }
}

/** At most this many packs. Git itself combines packs above 50. */
const MAX_PACKS = 1_000

/** Throws {@link TooLarge} where the new objects are too large together, unpacked. */
async function verifyFewBytes(scratch: Scratch, carrier: Scratch, oids: readonly Oid[]): Promise<void> {
  const ask = async (where: Scratch, some: readonly Oid[]) => {
    const asked = ['cat-file', '--buffer', '--batch-check=%(objectname) %(objectsize)']
    const { stdout } = await run(where, asked, { input: some.map(oid => `${oid}\n`).join('') })
    return stdout.toString().split('\n').filter(Boolean)
  }
  const missing = (await ask(scratch, oids)).flatMap(line => (line.endsWith(' missing') ? line.split(' ', 1) : []))
  const sizes = (await ask(carrier, missing)).map(line => Number(line.split(' ')[1]) || 0)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  if (bytes <= LIMITS.newBytes) return
  const [has, most] = [bytes.toLocaleString('en'), LIMITS.newBytes / 2 ** 20]
  throw new TooLarge(
    `its new files and commits have ${has} bytes, and at most ${most.toLocaleString('en')} MiB are read`,
  )
}

/** The failure for a refused result; `what` is the reason. */
const refused = (what: string) => new Failure(`Refused: ${what}. Nothing was pushed.`, EXIT.refused)

/**
 * Runs a git command on untrusted objects, and again if it fails: a temporary problem of the host is over then, an
 * unreadable object is not. Throws what the second failure means ({@link verdictOn}).
 */
export async function twice<T>(scratch: Scratch, what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const isFinal = !(error instanceof GitError) || error.ending.bound !== undefined
    if (isFinal) throw await verdictOn(error, scratch, what)
  }
  return await ask().catch(async error => {
    throw await verdictOn(error, scratch, what)
  })
}

/**
 * Classifies a failure of git on the agent's objects. An agent can choose git's error message, so the message is shown
 * but not trusted. The failure counts as a problem of this machine where another process killed git or the disk can't
 * be written; else the result is refused. Other errors are returned as they are.
 */
async function verdictOn(error: unknown, scratch: Scratch, what: string): Promise<unknown> {
  if (error instanceof TooLarge) return refused(`${what} (${error.message})`)
  if (!(error instanceof GitError)) return error
  const reason = visible(error.message)
  const { bound, signal } = error.ending
  // Other processes send these two signals; any other is a crash of git's own, caused by what it read.
  const wasEnded = bound === undefined && (signal === 'SIGKILL' || signal === 'SIGTERM')
  if (!wasEnded && (await canBeWritten(scratch.temporary))) return refused(`${what} (${reason})`)
  return new Failure(`The result could not be read (${reason}): it is kept, run forklift again.`)
}

/** At most this many nested folders below git's `objects` folder. */
const MAX_DEPTH = 3
/** At most this many files below git's `objects` folder. */
const MAX_FILES = 250_000

type Pack = { path: string; bytes: number }
/** The folders of loose objects, named by two hex digits, and the packs. */
type TheirObjects = { loose: { name: string; path: string }[]; packs: Pack[] }

/**
 * Lists the content of a stranger's objects folder. Anything that makes git read outside of the folder, or that blocks
 * or exhausts the reader, is refused.
 */
async function listObjects(folder: string): Promise<TheirObjects> {
  const found: TheirObjects = { loose: [], packs: [] }
  let files = 0
  const look = async (inside: string, depth: number): Promise<void> => {
    for await (const entry of await opendir(join(folder, inside))) {
      const name = `${inside}/${entry.name}`
      const path = join(folder, name)
      const isOdd = (!entry.isFile() && !entry.isDirectory()) || /\/info\/.*alternates$/is.test(name)
      if (isOdd || depth > MAX_DEPTH)
        throw refused(`in the workspace, .git/objects has what git does not put there (${visible(name.slice(1, 300))})`)
      if (++files > MAX_FILES)
        throw refused(`in the workspace, .git/objects has more than ${MAX_FILES.toLocaleString('en')} files`)
      if (/^\/[0-9a-f]{2}$/.test(name) && entry.isDirectory()) found.loose.push({ name: entry.name, path })
      if (/^\/pack\/[^/]*\.pack$/.test(name) && entry.isFile())
        found.packs.push({ path, bytes: (await lstat(path)).size })
      if (entry.isDirectory()) await look(name, depth + 1)
    }
  }
  await look('', 0).catch(error => {
    throw error instanceof Failure
      ? error
      : refused(`in the workspace, .git/objects can't be read (${visible(error.message)})`)
  })
  return found
}

/** The commit of a ref, from its file or from packed-refs. */
async function readTip(dotGit: string, ref: string): Promise<Oid | undefined> {
  const loose = await readUntrusted(join(dotGit, ref), 100)
  if (loose)
    return loose.kind === 'file' ? /^[0-9a-f]{40,64}(?=\s*$)/.exec(loose.bytes.toString('latin1'))?.[0] : undefined
  const packed = await readUntrusted(join(dotGit, 'packed-refs'), 16 << 20)
  const lines = packed?.kind === 'file' ? packed.bytes.toString('latin1').split('\n') : []
  return lines.find(line => /^[0-9a-f]{40,64} /.test(line) && line.endsWith(` ${ref}`))?.split(' ')[0]
}
