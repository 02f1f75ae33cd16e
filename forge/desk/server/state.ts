/**
 * What a desk keeps outside of the repository: that it is open, at which address, and what its windows show. It is in a
 * folder of its own for each repository, the same for all of the repository's worktrees, and the user's alone.
 */
import { basename, dirname, join } from 'node:path'
import * as v from 'valibot'
import type { Repository } from '../../../core/git/repository.ts'
import { readJson, writeJson } from '../../../core/state.ts'

/** Where a desk answers, and what lets in. `host` is the machine: the folder may be on a disk of several. */
const Address = v.object({
  host: v.string(),
  port: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535)),
  // A shorter one is none of ours: as the key of the next desk it could be guessed.
  token: v.pipe(v.string(), v.regex(/^[\w-]{43}$/)),
})
export type Address = v.InferOutput<typeof Address>

/** What a repository is called, and its main folder: the one that its .git is in, or itself where it is bare. */
export function repositoryName({ commonDir }: Pick<Repository, 'commonDir'>): { name: string; folder: string } {
  const folder = basename(commonDir) === '.git' ? dirname(commonDir) : commonDir
  return { name: basename(folder).replace(/(.)\.git$/, '$1') || folder, folder }
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

/** What the windows showed last; undefined where it was never written, or can't be read any more. */
export async function readLayout<Schema extends v.GenericSchema>(
  state: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | undefined> {
  return await readJson(layoutFile(state), schema)
}

export async function writeLayout(state: string, layout: unknown): Promise<void> {
  await writeJson(layoutFile(state), layout)
}
