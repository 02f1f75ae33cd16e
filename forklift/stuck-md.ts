/** Reads STUCK.md, in which the agent asks what the fork wants. */
import { join } from 'node:path'
import { MAX_STUCK_CHARS, STUCK_FILE } from '../core/formats/forklift-run.ts'
import { attributesFor, openAttributesPlace } from '../core/git/attributes.ts'
import { openObjects } from '../core/git/objects.ts'
import type { Oid } from '../core/git/repository.ts'
import { run } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { visibleLines } from '../core/text.ts'
import { readUntrusted } from '../core/untrusted.ts'

/**
 * The text of the workspace's STUCK.md, made harmless and shortened; undefined where it has none, or one of the known
 * commits has the same.
 */
export async function newStuckFile(scratch: Scratch, workspace: string, known: Oid[]): Promise<string | undefined> {
  const file = await readUntrusted(join(workspace, STUCK_FILE), MAX_READ_BYTES)
  if (!file) return undefined
  if (file.kind === 'other') return '(STUCK.md is not a regular file, so it is not shown)'
  await using objects = openObjects(scratch)
  for (const commit of known) {
    // Read as it would be checked out: line ends and encodings may differ from what is committed.
    await using place = await openAttributesPlace(scratch, await attributesFor(objects, commit, [STUCK_FILE]))
    // One byte more is read than of the agent's STUCK.md, so that a longer file is not taken for an equal one.
    const limit = MAX_READ_BYTES + 1
    const theirs = await run(place, ['cat-file', '--filters', `${commit}:${STUCK_FILE}`], { ok: [0, 128], limit })
    if (theirs.code === 0 && !theirs.cut && unix(theirs.stdout) === unix(file.bytes)) return undefined
  }
  if (file.kind === 'link') return '(STUCK.md is a link: it is not followed)'
  return harmlessCopy(file.bytes)
}

const unix = (bytes: Buffer): string => bytes.toString('latin1').replaceAll('\r\n', '\n')

/** At most this many bytes of the agent's file are read. */
const MAX_READ_BYTES = 1 << 20

/** Makes a STUCK.md safe to print: control characters are made visible. */
export const harmlessCopy = (bytes: Buffer): string => visibleLines(bytes.toString('utf8').slice(0, MAX_STUCK_CHARS))

/** The first lines of a STUCK.md, shown at the end of a run. */
export const preview = (text: string): string =>
  text.slice(0, 2000).trimEnd().split('\n').slice(0, 20).join('\n').replace(/^/gm, '  | ')
