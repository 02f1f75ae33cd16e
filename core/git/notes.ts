/** Notes on commits, by `git notes`, in a ref of their own. */
import type { Objects } from './objects.ts'
import type { RefName } from './refs.ts'
import type { Oid, Repository } from './repository.ts'
import { run } from './run.ts'

/** At most this many notes are read, and this many bytes of each. */
const [MAX_NOTES, MAX_NOTE_BYTES] = [5_000, 1 << 20]

/** The texts of all notes of a ref, by the object that each is on. */
export async function readNotes(objects: Objects, ref: RefName): Promise<Map<Oid, string>> {
  if (!(await objects.info(ref))) return new Map()
  const { stdout } = await run(objects.repository, ['notes', `--ref=${ref}`, 'list'])
  const lines = stdout.toString('latin1').split('\n').filter(Boolean).slice(0, MAX_NOTES)
  const read = lines.map(async line => {
    const [blob = '', on = ''] = line.split(' ')
    const note = await objects.read(blob, { limit: MAX_NOTE_BYTES })
    return [on, note?.bytes?.toString() ?? ''] as const
  })
  return new Map(await Promise.all(read))
}

/** Replaces the note on an object; without a text, the note is removed. */
export async function writeNote(
  repository: Repository,
  ref: RefName,
  on: Oid,
  text: string | undefined,
): Promise<void> {
  const args = text === undefined ? ['remove', '--ignore-missing', on] : ['add', '-f', '--file=-', on]
  await run(repository, ['notes', `--ref=${ref}`, ...args], {
    ...(text !== undefined && { input: Buffer.from(text) }),
  })
}
