/** Reads FORK.md, in which the maintainers of the fork instruct the agent. */
import { join } from 'node:path'
import { readStart } from '../core/git/objects.ts'
import type { Oid } from '../core/git/repository.ts'
import { read } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { readUntrusted } from '../core/untrusted.ts'

const MAX_FORK_MD_BYTES = 1 << 20

/**
 * Reads FORK.md from the root of a checkout. The checkout is upstream's code too, so links are not followed: one could
 * lead to any file of the user. Where the checkout has none (it may be sparse), FORK.md is read from `start`.
 */
export async function readForkMd(
  checkout: string,
  scratch: Scratch,
  start: Oid,
  note: (text: string) => void,
): Promise<Buffer | undefined> {
  const file = await readUntrusted(join(checkout, 'FORK.md'), MAX_FORK_MD_BYTES)
  if (file && file.kind !== 'file') note('FORK.md is no plain file, so the agent will not see it.')
  if (file) return file.kind === 'file' ? file.bytes : undefined
  const entry = await read(scratch, ['ls-tree', start, '--', 'FORK.md'])
  const blob = /^100\d+ blob (\w+)/.exec(entry)?.[1]
  if (!blob) return undefined
  return await readStart(scratch, blob, MAX_FORK_MD_BYTES)
}
