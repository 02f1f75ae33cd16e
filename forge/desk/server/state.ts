/**
 * What a desk keeps outside of the repository: that it is open, at which address, and what its windows show. It is in a
 * folder of its own for each repository, the same for all of the repository's worktrees, and the user's alone.
 */
import { Database } from 'bun:sqlite'
import { createHash, randomUUID } from 'node:crypto'
import { chmod, mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'

/** Where a desk answers, and what lets in. `host` is the machine: the folder may be on a disk of several. */
const Address = v.object({
  host: v.string(),
  pid: v.number(),
  port: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535)),
  // A shorter one is none of ours: as the key of the next desk it could be guessed.
  token: v.pipe(v.string(), v.regex(/^[\w-]{43}$/)),
})
export type Address = v.InferOutput<typeof Address>

/** What a repository is called, and its main folder: the one that its .git is in, or itself where it is bare. */
export function nameOf({ commonDir }: Pick<Repository, 'commonDir'>): { name: string; folder: string } {
  const folder = basename(commonDir) === '.git' ? dirname(commonDir) : commonDir
  return { name: basename(folder).replace(/(.)\.git$/, '$1') || folder, folder }
}

/** Finds the state folder of a repository's desk, and makes it where it is not there. */
export async function openState(repository: Repository, env: Record<string, string | undefined>): Promise<string> {
  const common = await realpath(repository.commonDir)
  const digest = createHash('sha256').update(common).digest('hex').slice(0, 16)
  const folder = join(xdgFolder(env.XDG_STATE_HOME, '.local/state'), 'forge', digest)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // One that somebody has opened to others is closed again: a key is in there.
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

/** That one desk at a time has a repository. The system lets go of it when the process ends, however it ends. */
export class Claim implements Disposable {
  readonly #lock: Database

  private constructor(lock: Database) {
    this.#lock = lock
  }

  /** Undefined where another process has it. */
  static take(state: string): Claim | undefined {
    const path = join(state, 'lock')
    let lock: Database | undefined
    try {
      // An open transaction on an empty database: a lock that every system has, and nothing that could be left behind.
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

const addressFile = (state: string): string => join(state, 'desk.json')
const layoutFile = (state: string): string => join(state, 'layout.json')

/** The address that was written last, which may be that of a desk that has ended. */
export async function readAddress(state: string): Promise<Address | undefined> {
  return await readJson(addressFile(state), Address)
}

export async function writeAddress(state: string, address: Address): Promise<void> {
  await writeJson(addressFile(state), address)
}

/** What the windows showed last; undefined where nobody knows, or where it can't be read any more. */
export async function readLayout<Schema extends v.GenericSchema>(
  state: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | undefined> {
  return await readJson(layoutFile(state), schema)
}

export async function writeLayout(state: string, layout: unknown): Promise<void> {
  await writeJson(layoutFile(state), layout)
}

/** Undefined where there is no such file, or none that can be read. */
export async function readJson<Schema extends v.GenericSchema>(
  path: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | undefined> {
  try {
    const parsed = v.safeParse(schema, JSON.parse(await readFile(path, 'utf8')))
    return parsed.success ? parsed.output : undefined
  } catch {
    // Not there, or cut off by a power failure: both mean that nothing is known.
    return undefined
  }
}

/** The whole of it or nothing: who reads meanwhile, or after a power failure, finds the old or the new one. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const draft = `${path}.${randomUUID()}`
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
