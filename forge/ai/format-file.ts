/**
 * Formats a file by the formatters that FORGE.md lists as `mend:`, in the container of the commands, on a copy of the
 * branch's files. What they change in other files is dropped.
 */
import { lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { NOT_STARTED } from '../../core/container.ts'
import { Failure } from '../../core/failure.ts'
import { asBytes, asText, type Path } from '../../core/git/repository.ts'
import { firstLine, short, visible, visiblePath } from '../../core/text.ts'
import { readUntrusted } from '../../core/untrusted.ts'
import { materializedIn, type WorkInProgressVfs } from '../vfs.ts'
import { openAll, runClosed } from './closed-container.ts'
import { whyNoCommands } from './commands.ts'
import type { ForgeMd } from './forge-md.ts'

/** The time limits of a preparing command and of a formatter, in seconds. */
const SECONDS = { prepare: 300, mend: 120 }

/**
 * Gives the bytes of a file as the formatters leave it, at most `limit` + 1 of them. Throws a {@link Failure} where no
 * formatter is listed, commands can't run here, or one fails.
 */
export async function formatFile(
  state: string,
  { prepare, mend }: Pick<ForgeMd, 'prepare' | 'mend'>,
  { vfs, path, limit, signal }: { vfs: WorkInProgressVfs; path: Path; limit: number; signal: AbortSignal },
): Promise<Buffer> {
  if (mend.length === 0)
    throw new Failure('No formatter is known: add one to FORGE.md, under Checks, as - mend: `COMMAND`, and save it.')
  const why = await whyNoCommands(state, signal)
  if (why !== undefined) throw new Failure(why)
  if (asBytes(asText(path)) !== path) throw new Failure(`${visiblePath(path)} is not formatted: its name is no UTF-8.`)
  await mkdir(materializedIn(state), { recursive: true })
  await using made = await vfs.materialize(materializedIn(state))
  const { folder } = made
  for (const command of prepare) await runIn(folder, { command, seconds: SECONDS.prepare }, signal)
  for (const command of mend) await runIn(folder, { command, seconds: SECONDS.mend }, signal)
  await verifyNoLink(folder, path)
  const left = await readUntrusted(join(folder, asText(path)), limit + 1)
  if (left?.kind !== 'file') throw new Failure(`The formatter left no file ${visiblePath(path)}.`)
  return left.bytes
}

async function runIn(folder: string, wish: { command: string; seconds: number }, signal: AbortSignal): Promise<void> {
  const end = await runClosed(folder, wish, signal).finally(() => openAll(folder))
  signal.throwIfAborted()
  if (!end.wasStopped && end.exitCode === 0) return
  if (end.exitCode === NOT_STARTED && !end.wasStopped)
    throw new Failure(`docker did not start the container (${visible(firstLine(end.output))}).`)
  const how = end.wasStopped ? `was stopped after ${wish.seconds} seconds` : `ended with ${end.exitCode ?? 'a signal'}`
  const last = end.output.trimEnd().split('\n').at(-1) ?? ''
  const said = last === '' ? '.' : `: ${visible(short(last, 200))}`
  throw new Failure(`${visible(short(firstLine(wish.command), 60))} ${how}${said}`)
}

/** Throws if a command has replaced a folder of the path by a link, which could lead out of the copy. */
async function verifyNoLink(folder: string, path: Path): Promise<void> {
  const names = asText(path).split('/').slice(0, -1)
  for (const [index] of names.entries()) {
    const stats = await lstat(join(folder, ...names.slice(0, index + 1))).catch(() => undefined)
    if (!stats?.isDirectory()) throw new Failure(`The formatter left no file ${visiblePath(path)}.`)
  }
}
