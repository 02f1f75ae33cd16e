/**
 * Files that programs keep in the user's state folder, outside of repositories: one folder for each repository, shared
 * by all of its worktrees; atomic reads and writes of small JSON files; and locks between processes.
 */
import { Database } from 'bun:sqlite'
import { chmod, mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from './failure.ts'
import { xdgFolder } from './folders.ts'
import type { Repository } from './git/repository.ts'
import { visible } from './text.ts'

type Environment = Record<string, string | undefined>

/** Finds or makes the state folder of a repository. */
export async function openState(repository: Pick<Repository, 'commonDir'>, env: Environment): Promise<string> {
  const common = await realpath(repository.commonDir)
  const digest = new Bun.CryptoHasher('sha256').update(common).digest('hex').slice(0, 16)
  return await openFolder(join(xdgFolder(env.XDG_STATE_HOME, '.local/state'), 'forge', digest))
}

/** Makes a folder with access for the user only, where it does not exist; gives its path. */
export async function openFolder(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // The folder holds keys and addresses, so widened permissions are narrowed again.
    await chmod(folder, 0o700)
  } catch (error) {
    throw unusable(folder, error)
  }
  return folder
}

const unusable = (path: string, error: unknown): Failure => {
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  return new Failure(`${visible(path)} can't be used (${code}): check its owner and its disk.`)
}

/**
 * A lock that one process at a time holds, such as the desk of a repository. The system releases it when the process
 * ends in any way.
 */
export class Claim implements Disposable {
  readonly #lock: Database

  private constructor(lock: Database) {
    this.#lock = lock
  }

  /** Takes the lock, on a file used for nothing else. Undefined where another process has it. */
  static take(path: string): Claim | undefined {
    let lock: Database | undefined
    try {
      // An open transaction on an empty database is a lock that works on every system and leaves nothing behind.
      lock = new Database(path, { create: true })
      lock.exec('BEGIN EXCLUSIVE')
      return new Claim(lock)
    } catch (error) {
      lock?.close()
      if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined
      throw unusable(path, error)
    }
  }

  [Symbol.dispose](): void {
    this.#lock.close()
  }
}

/** Reads a JSON file. Undefined where it is missing or malformed. */
export async function readJson<Schema extends v.GenericSchema>(
  path: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | undefined> {
  try {
    const parsed = v.safeParse(schema, JSON.parse(await readFile(path, 'utf8')))
    return parsed.success ? parsed.output : undefined
  } catch {
    // The file is missing, or incomplete after a power failure.
    return undefined
  }
}

/** Writes atomically: a reader finds the old or the new content, also after a power failure. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const draft = `${path}.${crypto.randomUUID()}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(JSON.stringify(value))
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw unusable(path, error)
  }
}
