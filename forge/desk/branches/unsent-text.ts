/**
 * Adds text to a draft that was typed and had not reached the desk, and that the browser kept while its page was closed
 * or loaded again.
 */
import { ChangeSet, Text } from '@codemirror/state'
import { diffChars } from 'diff'
import { Failure } from '../../../core/failure.ts'
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import { isOid, type Oid, type Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import { verifyPath } from '../../vfs.ts'
import { commonEnds } from '../contract/common-ends.ts'
import type { Form } from '../contract/editable-text.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { cameFrom } from '../contract/lost-edits.ts'
import { encode } from '../reading/text.ts'
import type { BranchWork } from './branch-work.ts'
import { changeBetween, changeFrom, NotAnEdit } from './documents.ts'
import { mergeDrafts } from './draft-merges.ts'
import { type Drafts, draftsOf, entryIn, entryInTip } from './drafts.ts'

/** A text as it was typed. */
export type UnsentText = {
  path: Path
  /** The commit of the branch when it was typed; undefined before the first one. */
  since?: Oid | undefined
  /** A text that the desk had: the newest one that it has surely written. */
  start: string
  /** Changes as JSON that lead from each text to the next, the last of them to all that was typed. */
  steps: readonly unknown[]
} & Form

interface Texts {
  /** The texts before the last change, the oldest first. */
  before: readonly Text[]
  typed: Text
}

/** The client id of these edits. */
const CLIENT = 'unsent text'
/** How often the edit is made for a newer version of the file, before the two are merged. */
const MAX_TRIES = 3
/** Two texts with more different characters than this are compared no further: all between counts as different. */
const MAX_DIFFERENT_CHARS = 1_000

/**
 * Adds the text to the file's draft, and writes that. If the file is not as it was before the text was typed, the two
 * are merged; where that is impossible, both are kept as a draft conflict. Adding a text again changes nothing, and so
 * does what another window has added before.
 *
 * @returns Whether the file is in conflict.
 * @throws A {@link Failure}, without any effect, if the branch can't be edited now or no text file can have the text.
 */
export async function addUnsentText(work: BranchWork, typed: UnsentText): Promise<{ isConflict: boolean }> {
  work.verifyFree()
  const texts = textsOf(typed)
  if (!(await isTypedAgain(work, typed.path, texts))) await merge(work, typed, texts)
  // The browser forgets the text once it is told, so that the draft has to be in the repository.
  await work.write()
  return { isConflict: work.conflictPaths.includes(typed.path) }
}

/** All texts that the file had. */
function textsOf({ start, steps }: UnsentText): Texts {
  const texts = [Text.of(start.split('\n'))]
  for (const step of steps) {
    const before = texts.at(-1) as Text
    texts.push(appliedTo(before, step))
  }
  return { before: texts.slice(0, -1), typed: texts.at(-1) as Text }
}

function appliedTo(text: Text, step: unknown): Text {
  try {
    return changeFrom(step, text.length).apply(text)
  } catch (error) {
    if (!(error instanceof NotAnEdit)) throw error
    throw new Failure('The browser has kept it as an edit of another text: copy it, and insert it where it belongs.')
  }
}

/**
 * Makes the edit in a file that has one of the texts from before it. Returns false, without any effect, for any other
 * file.
 */
async function isTypedAgain(work: BranchWork, path: Path, { before, typed }: Texts): Promise<boolean> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const file = await work.open(path)
    try {
      if (file.kind !== 'text' || file.readOnly !== undefined) return false
      const now = Text.of(file.text.split('\n'))
      if (now.eq(typed)) return true
      if (!before.some(text => text.eq(now))) return false
      const changes = changeBetween(file.text, typed.toString()).toJSON()
      const taken = work.edit(path, file.version, [{ client: CLIENT, changes }])
      if (taken.accepted) return true
      if (taken.refused !== undefined) throw new Failure(taken.refused)
    } finally {
      await work.close(path)
    }
  }
  return false
}

async function merge(work: BranchWork, typed: UnsentText, texts: Texts): Promise<void> {
  const text = texts.typed.toString()
  const start = await baseIn(work, typed.path, texts)
  const bytes = encode(text, typed)
  if (text.includes('\0') || !text.isWellFormed() || bytes.length > MAX_EDITABLE_BYTES)
    throw new Failure(`${visiblePath(typed.path)} can’t have this text: it is too large, or no text in UTF-8.`)
  await work.inOneGo(
    async held => {
      const { objects } = work.room
      const [before, after] = await draftsWith(objects, work.drafts, typed, [start, text])
      await held.becomeSoon(await mergeDrafts(objects, before, after, work.drafts))
    },
    { isMerging: true },
  )
}

/** The one of the texts from which the file has come: another window may have added what both knew. */
async function baseIn(work: BranchWork, path: Path, { before }: Texts): Promise<string> {
  const file = await work.open(path)
  try {
    const now = file.kind === 'text' ? cameFrom(Text.of(file.text.split('\n')), before, changeOfChars) : undefined
    return (now?.text ?? before[0] ?? Text.empty).toString()
  } finally {
    await work.close(path)
  }
}

/** The change from one text to another, by character. */
function changeOfChars(from: Text, to: Text): ChangeSet {
  const [before, after] = [from.toString(), to.toString()]
  const { start, end } = commonEnds(before, after)
  const [removed, added] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  const parts = diffChars(removed, added, { maxEditLength: MAX_DIFFERENT_CHARS })
  if (!parts) return ChangeSet.of({ from: start, to: start + removed.length, insert: added }, before.length)
  let at = start
  const changes = parts.map(({ added = false, removed = false, value }) => {
    const from = at
    if (!added) at += value.length
    return { from, to: removed ? at : from, insert: added ? value : '' }
  })
  return ChangeSet.of(changes, before.length)
}

/** Drafts with each of these texts, from the commit at which it was typed. */
async function draftsWith(
  objects: Objects,
  now: Drafts,
  typed: UnsentText,
  texts: readonly [string, string],
): Promise<[Drafts, Drafts]> {
  const { path, since } = typed
  const { format } = objects.repository
  const known = since !== undefined && isOid(format, since) ? await objects.info(`${since}^{commit}`) : undefined
  const tip = known?.oid ?? now.tip
  const entry = (await entryIn(objects, now, path)) ?? (await entryInTip(objects, tip, path))
  if (!entry) verifyPath(path)
  const [start, ours] = texts.map(text => {
    const bytes = encode(text, typed)
    const oid = oidOf(format, { type: 'blob', bytes })
    return draftsOf(tip, new Map([[path, { mode: entry?.mode ?? '100644', oid, bytes }]]))
  })
  return [start as Drafts, ours as Drafts]
}
