/** The text with markers of a draft's conflict: how it is made, and what was typed in it. */
import {
  endsInConflict,
  type MarkedPart,
  markedPartsOf,
  markLength,
  marksLeft,
  mergeWithMarks,
  type Sides,
  withSide,
} from '../../../core/git/conflict-marks.ts'
import { type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Entry, Oid } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { differingLines, linesOf, placeAfter } from '../contract/line-diff.ts'
import { DRAFT_SIDE } from '../contract/merging.ts'
import { textBytes } from '../reading/file-content.ts'
import { decodeText } from '../reading/text.ts'
import type { Clashing, Working } from './drafts.ts'

/**
 * The text with markers of a clash (a conflict of a draft) with the file of the other side, whose markers name it
 * `label`. Empty where there is no such text: of a file that one of them deletes, that is binary, or too large to edit.
 */
export async function marked(
  objects: Objects,
  clash: Clashing,
  other: Entry,
  label: string,
): Promise<Pick<Clashing, 'working'>> {
  const { mode, base: from, draft, bytes } = clash
  if (draft === undefined) return {}
  const [base, theirs] = await Promise.all(
    [from === undefined ? undefined : { mode, oid: from }, other].map(it => textBytes(objects, it)),
  )
  const ours = bytes ? editable(bytes) : await textBytes(objects, { mode, oid: draft })
  if (!other || !ours || !theirs || (from !== undefined && !base)) return {}
  const { repository } = objects
  const mark = markLength([base, ours, theirs])
  const text = await mergeWithMarks(repository, { base, ours, theirs }, { ours: DRAFT_SIDE, theirs: label }, mark)
  if (!editable(text)) return {}
  const [oid = ''] = await writeObjects(repository, [{ type: 'blob', bytes: text }])
  const left = marksLeft(text.toString('latin1'), mark)
  return { working: { oid, mark, left, marked: oid, theirs: other.oid } }
}

const editable = (bytes: Buffer): Buffer | undefined =>
  bytes.length <= MAX_EDITABLE_BYTES && decodeText(bytes) ? bytes : undefined

/** The text of a conflicting draft with what git has merged from the other side; undefined if it deletes the file. */
export async function ownText(objects: Objects, { draft, bytes, working }: Clashing): Promise<Buffer | undefined> {
  const text = working && (working.bytes ?? (await readBytes(objects, working.oid)))?.toString('latin1')
  const ours = text === undefined ? undefined : withSide(text, working?.mark ?? 0, 'ours')
  return ours === undefined ? (bytes ?? (await readBytes(objects, draft))) : Buffer.from(ours, 'latin1')
}

/** Whether the text with markers of a clash (a conflict of a draft) was typed in: the draft is that text then. */
async function isMarkedTextTyped(objects: Objects, clash: Clashing): Promise<boolean> {
  const [own, draft] = await Promise.all([ownText(objects, clash), clash.bytes ?? readBytes(objects, clash.draft)])
  return own !== undefined && draft !== undefined && withoutLastLineEnd(own) === withoutLastLineEnd(draft)
}

/**
 * A clash (a conflict of a draft) without the text with markers, of which the other side is to be the base again:
 * - its base has the lines that git has merged from the other side, since these were not typed;
 * - its draft has what was typed, and its own lines again where theirs or both were chosen.
 *
 * Undefined if nothing was typed in the text.
 */
export async function withoutMarkedText(objects: Objects, clash: Clashing): Promise<Clashing | undefined> {
  const { mode, working } = clash
  if (!working || !(await isMarkedTextTyped(objects, clash))) return undefined
  const bytes = await textWithoutChoices(objects, clash)
  if (bytes === undefined) return undefined
  const base = await baseWithMerged(objects, clash, working, 'base')
  const [draft] = await writeObjects(objects.repository, [{ type: 'blob', bytes }])
  return { mode, base, draft }
}

/**
 * The text of a conflicting draft with what git has merged from the other side, and with our side where theirs or both
 * were chosen; undefined if it deletes the file.
 */
export async function textWithoutChoices(objects: Objects, clash: Clashing): Promise<Buffer | undefined> {
  const { working } = clash
  if (!working) return await ownText(objects, clash)
  const { text, unchosen } = await textsOf(objects, clash)
  const ours = withSide(unchosen ?? text, working.mark, 'ours')
  return ours === undefined ? await ownText(objects, clash) : Buffer.from(ours, 'latin1')
}

/** The texts of a clash (a conflict of a draft): what {@link typedIn} needs of it. */
export interface ClashTexts {
  draft: Buffer | undefined
  /** The text with markers. */
  text: string
  /** See {@link Working}. */
  unchosen: string
}

/** The texts of a clash (a conflict of a draft), those that are only in memory as well. '' for those it has not. */
export async function textsOf(objects: Objects, { draft, bytes, working }: Clashing): Promise<ClashTexts> {
  const own = bytes ?? (await readBytes(objects, draft))
  if (!working) return { draft: own, text: '', unchosen: '' }
  const read = async (blob: Oid) => (await readBytes(objects, blob))?.toString('latin1') ?? ''
  const text = working.bytes?.toString('latin1') ?? (await read(working.oid))
  const marked = await read(working.marked)
  const unchosen = working.unchosen?.toString('latin1') ?? withoutChoices(marked, marked, text, working.mark)
  return { draft: own, text, unchosen }
}

/**
 * A clash (a conflict of a draft) after edits: its text with markers becomes each of `texts`, one by one, and its draft
 * our side of the last one. `before`: its texts before the edits.
 */
export function typedIn(
  { repository: { format } }: Objects,
  clash: Clashing,
  before: ClashTexts,
  texts: readonly Buffer[],
): Clashing {
  const bytes = texts.at(-1) ?? Buffer.of()
  const oid = oidOf(format, { type: 'blob', bytes })
  const { working } = clash
  if (!working) return { ...clash, draft: oid, bytes }
  const { mark } = working
  let { text, unchosen } = before
  for (const next of texts) {
    const now = next.toString('latin1')
    unchosen = withoutChoices(unchosen, text, now, mark)
    text = now
  }
  const ours = withSide(text, mark, 'ours') ?? text
  // In a conflict at the end of a text, our side has a line end before the next marker even if the draft has none.
  const hasNoLineEnd = before.draft !== undefined && before.draft.length > 0 && before.draft.at(-1) !== LINE_FEED
  const isCut = hasNoLineEnd && endsInConflict(text, mark)
  const own = Buffer.from(isCut ? ours.replace(/\r?\n$/, '') : ours, 'latin1')
  const { unchosen: _, ...rest } = working
  const chosen = unchosen === text ? {} : { unchosen: Buffer.from(unchosen, 'latin1') }
  const next = { ...rest, oid, bytes, left: marksLeft(text, mark), ...chosen }
  return { ...clash, draft: oidOf(format, { type: 'blob', bytes: own }), bytes: own, working: next }
}

const LINE_FEED = 10

/**
 * The base of a clash (a conflict of a draft), whose other side is about to change. Once its text was typed in, the
 * draft has what git has merged from that side: the base gets that, too, as it was not typed. `answered`: what the base
 * has where a conflict was resolved; the other side's text there is in conflict again only if that side changes it.
 */
export async function baseWithMerged(
  objects: Objects,
  clash: Clashing,
  { oid, bytes, mark, marked, theirs }: Working,
  answered: 'base' | 'theirs',
): Promise<Oid | undefined> {
  const { base, draft } = clash
  if (base === undefined || draft === undefined || !(await isMarkedTextTyped(objects, clash))) return base
  const [now, then] = await Promise.all([bytes ?? readBytes(objects, oid), readBytes(objects, marked)])
  const text = then?.toString('latin1') ?? ''
  const parts = markedPartsOf(text, mark)
  if (!parts || !now) return base
  const begin = new RegExp(`^<{${mark}}`, 'm')
  const resolved = conflictsNow(now.toString('latin1'), text, parts).filter(it => !begin.test(it.now))
  const hasAnswer = new Set<MarkedPart>(resolved.map(({ part }) => part))
  const merged = await otherSideWith(objects, parts, theirs, part => (hasAnswer.has(part) ? answered : 'base'))
  return merged ?? base
}

/**
 * A text after an edit, with the conflicts open again that were resolved by theirs or both, also before the edit.
 * `unchosen`: the same of the text before the edit (`before`), whose open conflicts are in both.
 */
function withoutChoices(unchosen: string, before: string, now: string, mark: number): string {
  const lines = linesOf(now)
  const hunks = differingLines(linesOf(before), lines)
  let [taken, at] = ['', 0]
  for (const { part, ...then } of conflictsNow(before, unchosen, markedPartsOf(unchosen, mark) ?? [])) {
    const { from, to } = placeAfter(then, hunks)
    // Two conflicts in one edited place have that as a whole, which stays.
    if (from < at) continue
    taken += lines.slice(at, from).join('') + unlessChosen(part, lines.slice(from, to).join(''))
    at = to
  }
  return taken + lines.slice(at).join('')
}

/**
 * The lines in the place of a conflict, as they are now; the conflict again where these are theirs, or others with
 * theirs at the end, as Both leaves them.
 */
function unlessChosen(part: ConflictPart, now: string): string {
  const isOwn = part.theirs === '' ? !isSameText(now, '') : [part.ours, part.base].some(it => isSameText(it, now))
  if (isOwn) return now
  if (isSameText(now, part.theirs)) return part.lines
  const both = now.endsWith('\n') ? now : `${now}\n`
  if (!both.endsWith(`\n${part.theirs}`)) return now
  const [begin = ''] = linesOf(part.lines)
  return begin + both.slice(0, both.length - part.theirs.length) + part.lines.slice(begin.length + part.ours.length)
}

type ConflictPart = Extract<MarkedPart, { ours: string }>

interface ConflictNow {
  part: ConflictPart
  /** Its lines in the text, from 0, `to` exclusive, and what they are. */
  from: number
  to: number
  now: string
}

/** The conflicts among the parts of a text with all its markers (`marked`), and what is in their place now. */
function conflictsNow(text: string, marked: string, parts: readonly MarkedPart[]): ConflictNow[] {
  const lines = linesOf(text)
  const hunks = differingLines(linesOf(marked), lines)
  let line = 0
  return parts.flatMap(part => {
    const from = line
    line += linesOf('same' in part ? part.same : part.lines).length
    if ('same' in part) return []
    const place = placeAfter({ from, to: line }, hunks)
    return [{ part, ...place, now: lines.slice(place.from, place.to).join('') }]
  })
}

/**
 * The other side's text (`theirs`) with another side in place of each conflict, written into the repository. `parts`:
 * the text with all its markers. Undefined where that can't be merged.
 */
export async function otherSideWith(
  objects: Objects,
  parts: readonly MarkedPart[],
  theirs: Oid,
  sideOf: (part: MarkedPart) => 'base' | 'theirs',
): Promise<Oid | undefined> {
  const there = await readBytes(objects, theirs)
  if (!there) return undefined
  const textOf = (side: typeof sideOf) =>
    Buffer.from(parts.map(part => ('same' in part ? part.same : part[side(part)])).join(''), 'latin1')
  const merged = await mergedText(objects, { base: textOf(() => 'theirs'), ours: textOf(sideOf), theirs: there })
  if (!merged) return undefined
  const [made] = await writeObjects(objects.repository, [{ type: 'blob', bytes: merged }])
  return made
}

/** Merges two versions of a text; undefined if they conflict, or if one is binary. */
export async function mergedText({ repository }: Objects, sides: Required<Sides>): Promise<Buffer | undefined> {
  const length = markLength(Object.values(sides))
  const merged = await mergeWithMarks(repository, sides, { ours: 'ours', theirs: 'theirs' }, length).catch(error => {
    if (!(error instanceof GitError)) throw error
    return undefined
  })
  if (!merged) return undefined
  return marksLeft(merged.toString('latin1'), length) > 0 ? undefined : merged
}

export const readBytes = async (objects: Objects, blob: Oid | undefined): Promise<Buffer | undefined> =>
  blob === undefined ? undefined : (await objects.read(blob))?.bytes

const withoutLastLineEnd = (bytes: Buffer): string => bytes.toString('latin1').replace(/\r?\n$/, '')
const isSameText = (one: string, other: string): boolean => one.replace(/\r?\n$/, '') === other.replace(/\r?\n$/, '')
