/** Line ends in a merge of drafts: where one side has changed them in a whole file, the others get the same ones. */
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Entry, Path } from '../../../core/git/repository.ts'
import { allOf } from '../../../core/together.ts'
import type { LineEnd } from '../contract/editable-text.ts'
import { decodeText, encode, type Form } from '../reading/text.ts'
import { contentIn, type DraftFile, type Drafts, entryIn } from './drafts.ts'

/** The drafts of a merge: those at the start, and those of both sides. */
export interface Merging {
  start: Drafts
  ours: Drafts
  theirs: Drafts
}

/**
 * The drafts with the same line ends in each file that both sides have changed, if one side has changed all line ends
 * of it. Git would else see a change of every line, and a conflict with each other change.
 */
export async function withSameLineEnds(objects: Objects, merging: Merging): Promise<Merging> {
  const all = [merging.start, merging.ours, merging.theirs] as const
  const converted = await allOf([...merging.ours.files.keys()].map(path => convertedIn(objects, all, path)))
  const changed = converted.flatMap(file => file ?? [])
  if (changed.length === 0) return merging
  const inSide = (drafts: Drafts, side: number): Drafts => {
    const files = new Map(drafts.files)
    for (const { path, sides } of changed) files.set(path, sides[side])
    return { ...drafts, files }
  }
  const { start, ours, theirs } = merging
  return { start: inSide(start, 0), ours: inSide(ours, 1), theirs: inSide(theirs, 2) }
}

interface Converted {
  path: Path
  /** The file at the start, in ours and in theirs. */
  sides: DraftFile[]
}

/** A file of all three with the line ends that a side has given it; undefined where no side has changed all of them. */
async function convertedIn(
  objects: Objects,
  [start, ours, theirs]: readonly [Drafts, Drafts, Drafts],
  path: Path,
): Promise<Converted | undefined> {
  const all = [start, ours, theirs]
  if (all.some(({ clashes }) => clashes.has(path))) return undefined
  const entries = await allOf(all.map(drafts => entryIn(objects, drafts, path)))
  const [before, mine, other] = entries
  if (!before || !mine || !other || mine.oid === before.oid || other.oid === before.oid) return undefined
  const texts = await allOf(entries.map((entry, side) => textIn(objects, all[side] as Drafts, path, entry)))
  const [was, is, will] = texts
  if (!was || !is || !will) return undefined
  const lineEnd = is.lineEnd === was.lineEnd ? will.lineEnd : is.lineEnd
  if (texts.some(text => text?.lineEnd === 'mixed') || texts.every(text => text?.lineEnd === lineEnd)) return undefined
  return { path, sides: entries.map((entry, side) => withLineEnd(objects, entry, texts[side], lineEnd)) }
}

async function textIn(
  objects: Objects,
  drafts: Drafts,
  path: Path,
  entry: Entry,
): Promise<(Form & { text: string }) | undefined> {
  if (entry?.mode !== '100644' && entry?.mode !== '100755') return undefined
  const content = await contentIn(objects, drafts, path, entry)
  return content?.bytes && decodeText(content.bytes)
}

function withLineEnd(
  { repository }: Objects,
  entry: Entry,
  text: (Form & { text: string }) | undefined,
  lineEnd: LineEnd,
): DraftFile {
  if (!entry || !text || text.lineEnd === lineEnd) return entry
  const bytes = encode(text.text, { lineEnd, bom: text.bom })
  return { mode: entry.mode, oid: oidOf(repository.format, { type: 'blob', bytes }), bytes }
}
