/** Applies a model's resolutions of the conflicts of its part of a merge. */
import { markedPartsOf, USUAL_MARK_LENGTH } from '../../../core/git/conflict-marks.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, type Oid, type Path } from '../../../core/git/repository.ts'
import { entryAt, type TreeChange } from '../../../core/git/trees.ts'
import { many, short, visible } from '../../../core/text.ts'
import { idOfConflict } from '../plan/conflicts.ts'
import type { MergePart, OpenChoice } from '../runs/merging.ts'
import type { Resolution } from './answers.ts'

/** Larger files are not read, in bytes; the run has left these for a person (plan/conflicts.ts). */
const MAX_FILE_BYTES = 4 << 20
/** At most this many complaints are given. */
const MAX_COMPLAINTS = 10
/** At most this many ids are named in a complaint. */
const MAX_IDS = 40

/** The changed files; or what is wrong with the resolutions, as sentences for the model. */
type Resolved = { changes: Map<Path, TreeChange>; complaints?: never } | { changes?: never; complaints: string[] }

/** Applies resolutions to the files of a commit. Conflicts with markers that have none stay. */
export async function applyResolutions(
  objects: Objects,
  base: Oid,
  part: MergePart,
  resolutions: readonly Resolution[],
): Promise<Resolved> {
  const wanted = new Map(resolutions.map(it => [it.id, it]))
  const complaints = [...twiceIn(resolutions)].map(id => `${id} is resolved twice: say it once.`)
  const changes = new Map<Path, TreeChange>()
  const used = new Set<string>()
  for (const path of part.texts) {
    const entry = await entryAt(objects, base, asBytes(path))
    const object = entry?.mode.startsWith('100') ? await objects.read(entry.oid, { limit: MAX_FILE_BYTES }) : undefined
    const parts = object?.bytes && markedPartsOf(object.bytes.toString('latin1'), USUAL_MARK_LENGTH)
    if (!entry || !object?.bytes || !parts) continue
    const isUtf8 = Buffer.from(object.bytes.toString()).equals(object.bytes)
    let isChanged = false
    const text = parts.map(it => {
      if ('same' in it) return it.same
      const id = idOfConflict(it)
      const resolution = id === undefined ? undefined : wanted.get(id)
      if (id === undefined || !resolution) return it.lines
      used.add(id)
      isChanged = true
      const made = textFor(it, resolution)
      if (typeof made === 'string' && (isUtf8 || resolution.text === undefined)) return made
      complaints.push(
        typeof made === 'string'
          ? `${id}: ${visible(path)} is not UTF-8, so it can only be resolved by \`take\`.`
          : `${id}: ${made.why}.`,
      )
      return it.lines
    })
    if (isChanged) changes.set(asBytes(path), { mode: entry.mode, bytes: Buffer.from(text.join(''), 'latin1') })
  }
  for (const choice of part.choices) {
    const chosen = chosenIn(choice, wanted.get(choice.id))
    used.add(choice.id)
    if (typeof chosen === 'string') complaints.push(chosen)
    else for (const { path, entry } of chosen.files) changes.set(asBytes(path), entry)
  }
  const unknown = [...wanted.keys()].filter(id => !used.has(id))
  if (unknown.length > 0) complaints.push(`There is no conflict ${listed(unknown)} here.`)
  return complaints.length > 0 ? { complaints: complaints.slice(0, MAX_COMPLAINTS) } : { changes }
}

/** The complaint about conflicts of a part that are still in the files of a tree; undefined where there are none. */
export async function conflictsLeft(objects: Objects, tree: Oid, { texts }: MergePart): Promise<string | undefined> {
  const ids: string[] = []
  for (const path of texts) {
    const entry = await entryAt(objects, tree, asBytes(path))
    const object = entry?.mode.startsWith('100') ? await objects.read(entry.oid, { limit: MAX_FILE_BYTES }) : undefined
    const text = object?.bytes?.toString('latin1') ?? ''
    for (const [, id = ''] of text.matchAll(/^<{7} (M\d+) ours/gm)) ids.push(id)
  }
  if (ids.length === 0) return undefined
  return `${many(ids.length, 'conflict')} of this part ${ids.length === 1 ? 'is' : 'are'} not resolved (${listed(ids)}): send all resolutions again, with these.`
}

type Marked = { ours: string; theirs: string; lines: string }

/** What replaces a conflict, one character per byte. */
function textFor(marked: Marked, { take, text }: Resolution): string | { why: string } {
  if (take !== undefined && text !== undefined) return { why: 'it has `take` and `text`: give one of them' }
  const { ours, theirs } = marked
  if (text !== undefined) {
    const isCrlf = /\r\n$/.test(marked.lines)
    const lines = isCrlf ? text.replace(/\r?\n/g, '\r\n') : text
    const isEnded = lines === '' || lines.endsWith('\n') || !marked.lines.endsWith('\n')
    return Buffer.from(isEnded ? lines : `${lines}${isCrlf ? '\r\n' : '\n'}`).toString('latin1')
  }
  switch (take) {
    case 'ours':
      return ours
    case 'theirs':
      return theirs
    case 'both':
      return ours === '' || ours.endsWith('\n') || theirs === '' ? ours + theirs : `${ours}\n${theirs}`
    case 'deleted':
      return ''
    default:
      return { why: 'it has neither `take` nor `text`' }
  }
}

function chosenIn({ id, choices }: OpenChoice, said: Resolution | undefined): OpenChoice['choices'][number] | string {
  const takes = choices.map(({ take }) => take).join(', ')
  if (!said) return `${id} has no resolution: take one of ${takes}.`
  if (said.text !== undefined) return `${id} has no markers: give no text, but take one of ${takes}.`
  return (
    choices.find(({ take }) => take === said.take) ??
    `${id} can't be resolved by ${said.take ?? 'nothing'}: take one of ${takes}.`
  )
}

function twiceIn(resolutions: readonly Resolution[]): Set<string> {
  const byId = Map.groupBy(resolutions, ({ id }) => id)
  return new Set([...byId].flatMap(([id, some]) => (some.length > 1 ? [id] : [])))
}

const listed = (ids: readonly string[]): string => short(ids.slice(0, MAX_IDS).join(', '), 400)
