/** The disk that runs are kept on: what is left of it, and how what filled it goes again. */
import { type Dirent, existsSync, statfsSync } from 'node:fs'
import { lstat, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { $ } from 'zx/core'
import { Failure } from '../core/failure.ts'
import { visible } from '../core/text.ts'
import { lockSays } from './logs.ts'
import { harnessStateOf, workspaceOf } from './runs.ts'

const GIB = 1024 ** 3
/**
 * A run ends when less than a gibibyte or ten thousand files are left (harness/disk-watch.mjs): so it must begin with
 * more.
 */
const NEEDED = { bytes: 2 * GIB, files: 20_000 }
/** What tells why a run ended, and is worth its place when the rest goes. */
const KEPT = ['run.txt', 'fork-context.md', 'instructions.txt', 'logs']
const LARGEST_KEPT = 8 << 20

/**
 * What a check says of the disk: how much is left, and whether an agent can take it from anybody else. Fails where a
 * run would end as soon as it began.
 */
export async function describeDisk(folder: string): Promise<string> {
  // Before the first run it is not there yet: then what it will be made in counts.
  const state = nearest(folder)
  const { bavail, bsize, files, ffree } = statfsSync(state)
  const free = bavail * bsize
  if (free < NEEDED.bytes)
    throw new Failure(`Less than 2 GiB are left where runs are kept, ${visible(state)}: free some.`)
  if (files > 0 && ffree < NEEDED.files)
    throw new Failure(`Fewer than 20,000 more files fit where runs are kept, ${visible(state)}: remove some.`)
  const left = `${Math.floor(free / GIB)} GiB left`
  const devices = await Promise.all([state, '/'].map(path => stat(path)))
  return devices[0]?.dev === devices[1]?.dev
    ? `${left}; runs share the disk of the system (a file system of their own bounds an agent: see README, Security)`
    : `${left}, on a file system of its own`
}

const nearest = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder))

/**
 * Whether the run was ended because the agent had nearly filled the disk: the container says so, where no agent writes.
 */
export async function hasFilledTheDisk(run: { path: string }): Promise<boolean> {
  return (await lockSays(run))?.startsWith('disk: ') ?? false
}

/** Removes what the agent wrote: the workspace, its home, and all but the small logs. The run's own files stay. */
export async function removeWhatTheAgentWrote(run: { path: string }): Promise<void> {
  const [workspace, state] = [workspaceOf(run), harnessStateOf(run)]
  // The agent may have left folders that even their owner can't look into. (find follows no symlinks.)
  await $({ nothrow: true, quiet: true })`find ${workspace} ${state} -type d ! -perm -700 -exec chmod u+rwx {} ${';'}`
  await remove(workspace)
  for (const entry of await entriesOf(state)) {
    const isLogs = entry.name === 'logs' && entry.isDirectory()
    if (!isLogs && !(KEPT.includes(entry.name) && (await isSmall(join(state, entry.name))))) {
      await remove(join(state, entry.name))
    }
  }
  const logs = join(state, 'logs')
  let room = LARGEST_KEPT
  for (const { name } of await entriesOf(logs)) {
    const { size } = await lstat(join(logs, name))
    if (await isSmall(join(logs, name), room)) room -= size
    else await remove(join(logs, name))
  }
}

const entriesOf = (folder: string): Promise<Dirent[]> => readdir(folder, { withFileTypes: true }).catch(() => [])

const isSmall = async (path: string, room = LARGEST_KEPT): Promise<boolean> => {
  const found = await lstat(path)
  // What it occupies may be more than what it says it holds.
  return found.isFile() && Math.max(found.size, found.blocks * 512) <= room
}

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true })
