/**
 * Reading what strangers could write. Git never looks at the workspace as a repository: its configuration, hooks and
 * links are the agent's. Files are opened without following links, and objects come through a repository of our own.
 */
import { constants } from 'node:fs'
import { lstat, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { EXIT, Failure } from './failure.ts'
import { type Oid, openRoom, type Room } from './git/plumbing.ts'
import { shellIn } from './shell.ts'
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

/**
 * Brings the agent's branch into the room as refs/heads/result, objects checked: those that the known commits do not
 * have. A workspace with tricks is refused.
 */
export async function takeBranch(
  room: Room,
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
  const tip = await readTip(join(workspace, '.git'), ref)
  if (!tip || tip.length !== (room.format === 'sha1' ? 40 : 64)) throw refused(`branch ${branch} is no commit's id`)
  const objects = join(workspace, '.git/objects')
  const odd = await shellIn(
    { cwd: workspace },
    { nothrow: true },
  )`find ${objects} ! -type f ! -type d -o -ipath '*/info/*alternates'`
  if (odd.stdall) throw refused(`.git/objects has what git does not put there (${visible(firstLine(odd.stdall))})`)
  const carrier = await openRoom(
    join(room.path, '.git'),
    [objects],
    room.format,
    room.signal ? { signal: room.signal } : {},
  )
  // Caches that git believes without looking at the objects, in a folder that the agent could write.
  await carrier.sh`git config core.commitGraph false; git config core.multiPackIndex false; git config pack.useBitmaps false
    echo ${tip} > .git/refs/heads/result`
  const flags = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const fetched = await room.sh({ nothrow: true, timeout: '10m' })`
    for known in ${known}; do git update-ref refs/heads/known-$known $known; done
    git -c fetch.fsckObjects=true fetch --quiet ${flags} ${join(carrier.path, '.git')} +refs/heads/result:refs/heads/result
    git rev-parse --verify --quiet ${'refs/heads/result^{commit}'}`
  if (fetched.stdout.trim() === tip) return tip
  const reason = visible(firstLine(fetched.stderr))
  // What is the host's own trouble is no verdict: the result can be judged another day.
  const ours =
    fetched.exitCode === null ||
    /No space|quota|Read-only|not allowed|out of memory|Cannot allocate/.test(fetched.stderr)
  if (ours)
    throw new Failure(`The agent's branch could not be read (${reason}): the result is kept, run forklift again.`)
  throw refused(`branch ${branch} can't be read (${reason})`)
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
