/**
 * The desk's state outside the repository: whether it is open, its address, and the layout of its windows. Each
 * repository has a folder, shared by its worktrees and readable only by the user.
 */
import { basename, dirname, join } from 'node:path'
import * as v from 'valibot'
import type { Repository } from '../../../core/git/repository.ts'
import { readJson, writeJson } from '../../../core/state.ts'

/** The address and token of a desk. `host`: the machine's name, since the folder may be shared by several machines. */
const Address = v.object({
  host: v.string(),
  port: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535)),
  // Every desk makes a token of this length. A shorter one, which could be guessed, is refused: the next desk would
  // take it over.
  token: v.pipe(v.string(), v.regex(/^[\w-]{43}$/)),
})
export type Address = v.InferOutput<typeof Address>

/** The name of a repository, and its main folder: the one that contains .git, or a bare repository itself. */
export function repositoryName({ commonDir }: Pick<Repository, 'commonDir'>): { name: string; folder: string } {
  const folder = basename(commonDir) === '.git' ? dirname(commonDir) : commonDir
  return { name: basename(folder).replace(/(.)\.git$/, '$1') || folder, folder }
}

const addressFile = (state: string): string => join(state, 'desk.json')
const layoutFile = (state: string): string => join(state, 'layout.json')

/** The address written last, possibly of a desk that has ended. */
export async function readAddress(state: string): Promise<Address | undefined> {
  return await readJson(addressFile(state), Address)
}

export async function writeAddress(state: string, address: Address): Promise<void> {
  await writeJson(addressFile(state), address)
}

/** The layout of the windows; undefined if it was never written, or is unreadable. */
export async function readLayout<Schema extends v.GenericSchema>(
  state: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | undefined> {
  return await readJson(layoutFile(state), schema)
}

export async function writeLayout(state: string, layout: unknown): Promise<void> {
  await writeJson(layoutFile(state), layout)
}
