/** FORK.md: what the maintainers of the fork tell the agent. */
import { join } from 'node:path'
import { firstBytes, type Oid, type Room } from '../core/git/plumbing.ts'
import { readUntrusted } from '../core/untrusted.ts'

const LONGEST_GUIDE = 1 << 20

/**
 * FORK.md in the root of a checkout, which is upstream's code too: a link in its place could name any file of the user.
 * Where the checkout has none (it may be sparse), that of the start counts.
 */
export async function readForkMd(
  checkout: string,
  room: Room,
  start: Oid,
  note: (text: string) => void,
): Promise<Buffer | undefined> {
  const file = await readUntrusted(join(checkout, 'FORK.md'), LONGEST_GUIDE)
  if (file && file.kind !== 'file') note('FORK.md is no plain file, so the agent will not see it.')
  if (file) return file.kind === 'file' ? file.bytes : undefined
  const entry = (await room.sh`git ls-tree ${start} -- FORK.md`).stdout
  const blob = /^100\d+ blob (\w+)/.exec(entry)?.[1]
  if (!blob) return undefined
  return Buffer.from(await firstBytes(room, ['cat-file', 'blob', blob], LONGEST_GUIDE), 'latin1')
}
