/**
 * Reading what strangers could write. Git never looks at the workspace as a repository: its configuration, hooks and
 * links are the agent's. Files are opened without following links, and objects come through a repository of our own.
 */
import { constants } from 'node:fs'
import { lstat, open, readdir, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EXIT, Failure } from './failure.ts'
import { isOid, type Oid } from './git/repository.ts'
import { GitError, read, run } from './git/run.ts'
import { openScratch, type Scratch } from './git/scratch.ts'
import { firstLine, visible } from './text.ts'

/** At most `limit` bytes of a regular file, the target of a link, or what else is there; undefined for nothing. */
export type Untrusted = { kind: 'file' | 'link'; bytes: Buffer } | { kind: 'other' }

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

/** Caches that git believes without looking at the objects, in a folder that the agent could write. */
const NO_CACHES = '[core]\n\tcommitGraph = false\n\tmultiPackIndex = false\n[pack]\n\tuseBitmaps = false\n'

/**
 * Brings the agent's branch into the scratch repository as refs/heads/result, objects checked: those that the known
 * commits do not have. A workspace with tricks is refused.
 */
export async function takeBranch(
  scratch: Scratch,
  { workspace, branch, known }: { workspace: string; branch: string; known: Oid[] },
): Promise<Oid> {
  const refused = (what: string) => new Failure(`Refused: in the workspace, ${what}.`, EXIT.refused)
  const ref = `refs/heads/${branch}`
  const folders = ref.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))
  for (const folder of ['..', 'objects', ...folders]) {
    const stats = await lstat(join(workspace, '.git', folder)).catch(() => undefined)
    const mayBeGone = folder.startsWith('refs/heads/')
    if (!stats?.isDirectory() && (stats || !mayBeGone)) throw refused(`${join('.git', folder)} is no folder`)
  }
  const { format, signal } = scratch
  const tip = await readTip(join(workspace, '.git'), ref)
  if (!tip || !isOid(format, tip)) throw refused(`branch ${branch} is no commit's id`)
  const objects = join(workspace, '.git/objects')
  const odd = await findOdd(objects, '')
  if (odd) throw refused(`.git/objects has what git does not put there (${visible(odd)})`)
  await using carrier = await openScratch({
    parent: scratch.gitDir,
    borrowed: [objects],
    format,
    signal,
    config: NO_CACHES,
  })
  await writeFile(join(carrier.gitDir, 'refs/heads/result'), `${tip}\n`)
  const updates = known.map(oid => `update refs/heads/known-${oid} ${oid}\n`)
  const flags = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const fetch = ['-c', 'fetch.fsckObjects=true', 'fetch', '--quiet', ...flags, carrier.gitDir]
  try {
    await run(scratch, ['update-ref', '--stdin'], { input: updates.join('') })
    await run(scratch, [...fetch, '+refs/heads/result:refs/heads/result'], { timeout: 600_000 })
    const taken = await read(scratch, ['rev-parse', '--verify', '--quiet', 'refs/heads/result^{commit}'])
    if (taken === tip) return tip
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    const reason = visible(firstLine(error.stderr))
    // What is the host's own trouble is no verdict: the result can be judged another day.
    const ours =
      error.code === undefined ||
      /No space|quota|Read-only|not allowed|out of memory|Cannot allocate/.test(error.stderr)
    if (ours)
      throw new Failure(`The agent's branch could not be read (${reason}): the result is kept, run forklift again.`)
    throw refused(`branch ${branch} can't be read (${reason})`)
  }
  throw refused(`branch ${branch} can't be read (no reason given)`)
}

/** What makes a folder of objects read other places than itself, or block who reads it: the first of it, or why it can't be told. */
async function findOdd(folder: string, inside: string): Promise<string | undefined> {
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const [path, name] = [join(folder, entry.name), `${inside}/${entry.name}`]
      if (!entry.isFile() && !entry.isDirectory()) return path
      if (/\/info\/.*alternates$/is.test(name)) return path
      const odd = entry.isDirectory() ? await findOdd(path, name) : undefined
      if (odd) return odd
    }
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** The id that a ref file holds, or else the list of packed refs. */
async function readTip(dotGit: string, ref: string): Promise<Oid | undefined> {
  const loose = await readUntrusted(join(dotGit, ref), 100)
  if (loose)
    return loose.kind === 'file' ? /^[0-9a-f]{40,64}(?=\s*$)/.exec(loose.bytes.toString('latin1'))?.[0] : undefined
  const packed = await readUntrusted(join(dotGit, 'packed-refs'), 16 << 20)
  const lines = packed?.kind === 'file' ? packed.bytes.toString('latin1').split('\n') : []
  return lines.find(line => /^[0-9a-f]{40,64} /.test(line) && line.endsWith(` ${ref}`))?.split(' ')[0]
}
