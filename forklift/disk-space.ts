/** The disk on which runs are stored: how much space is left, and how a run that filled it is removed. */
import { existsSync, statfsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Failure } from '../core/failure.ts'
import { harnessStateOf, workspaceOf } from '../core/formats/forklift-run.ts'
import { visible } from '../core/text.ts'
import { openFolders, removeFolders } from './leftovers.ts'
import { lockSays } from './logs.ts'

const GIB = 1024 ** 3
/**
 * The least free space for starting a run. A run ends below 1 GiB or 10,000 files (harness/disk-watch.mjs), so it needs
 * more to start.
 */
const NEEDED = { bytes: 2 * GIB, files: 20_000 }
/** Logs that say why a run ended; they are kept when the run's other files are removed. */
const LOGS = ['harness.log', 'events.jsonl', 'transcript.txt', 'agent.log']
const KEPT = ['run.txt', 'fork-context.md', 'instructions.txt', ...LOGS.map(name => `logs/${name}`)]
const MAX_KEPT_FILE_BYTES = 8 << 20

/**
 * The line of --check about the disk: how much is left, and whether runs share it with the system. Throws where a run
 * would end as soon as it began.
 */
export async function describeDisk(folder: string): Promise<string> {
  // Before the first run the folder does not exist: then its nearest existing parent is measured.
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
    ? `${left}; runs share the disk of the system (a file system of their own bounds an agent: see docs/forklift.md, Security)`
    : `${left}, on a file system of its own`
}

const nearest = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder))

/**
 * Whether the run was ended because the agent had nearly filled the disk, by the container's log, which the agent can't
 * write.
 */
export async function hasFilledTheDisk(run: { path: string }): Promise<boolean> {
  return (await lockSays(run))?.startsWith('disk: ') ?? false
}

/**
 * Removes what the agent wrote: the workspace, its home, and all but the small logs. The run's own files stay. Gives
 * the folder with the rest where removal takes too long.
 */
export async function removeWhatTheAgentWrote(run: { path: string }): Promise<string | undefined> {
  const [workspace, state] = [workspaceOf(run), harnessStateOf(run)]
  await openFolders([workspace, state])
  const kept = await mkdtemp(join(run.path, '.kept-'))
  for (const name of KEPT) {
    if (!(await isSmall(join(state, name)))) continue
    await mkdir(join(kept, dirname(name)), { recursive: true })
    await rename(join(state, name), join(kept, name))
  }
  const gone = await mkdtemp(join(run.path, '.gone-'))
  await rename(workspace, workspaceOf({ path: gone }))
  await rename(state, harnessStateOf({ path: gone }))
  await rename(kept, state)
  return (await removeFolders([gone])) ? undefined : gone
}

/** Whether a path is a small regular file in a regular folder: a folder that is a link leads out of the run. */
async function isSmall(path: string): Promise<boolean> {
  const [folder, file] = await Promise.all([dirname(path), path].map(it => lstat(it).catch(() => undefined)))
  // The blocks count too, since a file may occupy more space than its size says.
  return Boolean(
    folder?.isDirectory() && file?.isFile() && Math.max(file.size, file.blocks * 512) <= MAX_KEPT_FILE_BYTES,
  )
}
