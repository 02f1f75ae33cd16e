/**
 * Writes a session as bytes and reads it: JSON with one entry on each line, so that a commit's diff shows only new
 * entries. A session that is read is untrusted.
 */
import * as v from 'valibot'
import type { Path } from '../../core/git/repository.ts'
import { many } from '../../core/text.ts'
import type { Vfs } from '../vfs.ts'
import type { ModelAnswer } from './request.ts'
import { newSession, type Opening, SESSION, Session, type SessionEntry } from './session.ts'

/** A larger session, in bytes, is not parsed. */
const MAX_SESSION_BYTES = 32 << 20
/** A session with more entries is not parsed. */
const MAX_ENTRIES = 100_000
/**
 * A session that has reached one of these gets no more turns, so that the end of a turn can always be written and read.
 */
const FULL = { bytes: 22 << 20, entries: 50_000 }
/** Limits of one answer: bytes as in the file, and calls. */
const ANSWER_BOUNDS = { bytes: 8 << 20, calls: 256 }
const MAX_DEPTH = 64

/** A session to continue. `unreadable`: why a new one was begun though a file existed, as a sentence. */
export type LoadedSession = { session: Session; unreadable?: string }

/**
 * Loads the conversation from a branch's files. An unreadable one is no error: a new one begins, and the result says
 * so.
 */
export async function loadSession(vfs: Vfs): Promise<LoadedSession> {
  if (!(await vfs.fileExists(SESSION))) return readSession(undefined)
  try {
    return readSession(await vfs.readFile(SESSION))
  } catch (error) {
    return unreadable(error instanceof Error ? error.message.replace(/\.$/, '') : 'the reason is unknown')
  }
}

/** As {@link loadSession}, from the file's bytes; `bytes` is undefined where there is no file. */
export function readSession(bytes: Buffer | undefined): LoadedSession {
  if (!bytes) return { session: newSession() }
  if (bytes.length > MAX_SESSION_BYTES) return unreadable('it has more than 32 MB')
  if (depthOf(bytes) > MAX_DEPTH) return unreadable('its values are inside of each other too deep')
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return unreadable('it is no JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return unreadable('it is no object')
  const { version, messages } = value as { version?: unknown; messages?: unknown }
  if (typeof version === 'number' && version !== 1) return unreadable('another version of the desk has written it')
  if (Array.isArray(messages) && messages.length > MAX_ENTRIES) return unreadable('it has more than 100,000 entries')
  const parsed = v.safeParse(Session, value, { abortEarly: true })
  if (parsed.success) return { session: parsed.output }
  const [issue] = parsed.issues
  return unreadable(`what stands at ${v.getDotPath(issue) ?? 'its top'} is not what a session has there`)
}

/** Tracks the size of a growing session: each entry is measured once. */
export class Fullness {
  #bytes = 0
  #entries = 0

  /** Why nothing may be added to a session, as a sentence; undefined where there is room. */
  of({ messages }: Session): string | undefined {
    for (const entry of messages.slice(this.#entries)) this.#bytes += Buffer.byteLength(JSON.stringify(entry))
    this.#entries = messages.length
    if (this.#bytes < FULL.bytes && this.#entries < FULL.entries) return undefined
    return `The conversation is as large as one can be: begin a new one by deleting ${SESSION}.`
  }
}

/** The size as JSON in bytes; infinite for values too deeply nested to be written. */
function sizeOf(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value))
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Why an answer can't be added to a session, as a sentence; undefined where it can. */
export function whyTooMuch({ blocks }: Pick<ModelAnswer, 'blocks'>): string | undefined {
  const calls = blocks.filter(({ type }) => type === 'call').length
  const again = 'none of it was done. Send the message again, or choose another model.'
  if (calls > ANSWER_BOUNDS.calls) return `The model called ${many(calls, 'tool')} at once: ${again}`
  if (sizeOf(blocks) > ANSWER_BOUNDS.bytes)
    return `The model answered more than ${ANSWER_BOUNDS.bytes >> 20} MB at once: ${again}`
  return undefined
}

const unreadable = (why: string): LoadedSession => ({
  session: newSession(),
  unreadable: `The conversation in ${SESSION} can't be read: ${why}. It is kept beside, and a new one begins.`,
})

/** How deeply brackets are nested outside of strings: too deep a nesting overflows a parser. */
function depthOf(bytes: Buffer): number {
  let [depth, deepest] = [0, 0]
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isText) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) isText = false
    } else if (byte === 0x22) isText = true
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++depth)
    else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return deepest
}

/**
 * Keeps an unreadable session under a new name. Gives that name; undefined where there is no file, or one that can't
 * even be read as bytes, which stays in the history.
 */
export async function setAside(vfs: Vfs): Promise<Path | undefined> {
  if (!(await vfs.fileExists(SESSION))) return undefined
  const bytes = await vfs.readFile(SESSION).catch(() => undefined)
  if (!bytes) return undefined
  for (let number = 1; ; number++) {
    const path = SESSION.replace('session', `session-unreadable-${number}`)
    if (await vfs.fileExists(path)) continue
    await vfs.writeFile(path, bytes, { mode: '100644' })
    await vfs.deleteFile(SESSION)
    return path
  }
}

/** Writes a session into the files that the next commit contains. */
export async function storeSession(vfs: Vfs, session: Session): Promise<void> {
  await vfs.writeFile(SESSION, writeSession(session), { mode: '100644' })
}

/** Encodes a session, always to the same bytes; {@link readSession} is the reverse. */
export function writeSession({ model, active_files, left_out, opening, messages }: Session): Buffer {
  const parts = [
    '"version": 1',
    model !== undefined && `"model": ${JSON.stringify(model)}`,
    `"active_files": ${lines(active_files.map(pathInFile))}`,
    left_out && `"left_out": ${lines(left_out.map(pathInFile))}`,
    opening && `"opening": ${openingInFile(opening)}`,
    `"messages": ${lines(messages.map(entryInFile))}`,
  ]
  return Buffer.from(`{\n${parts.filter(Boolean).join(',\n')}\n}\n`)
}

/** One value on each line, with the comma before the next value, so that an addition changes no earlier line. */
function lines(values: readonly unknown[]): string {
  if (values.length === 0) return '[]'
  return `[\n ${values.map(it => JSON.stringify(it)).join('\n,')}\n]`
}

function openingInFile({ files, ...rest }: Opening): string {
  const head = JSON.stringify(rest).slice(0, -1)
  return `${head},"files":${lines(files.map(({ path, oid }) => ({ path: pathInFile(path), oid })))}}`
}

const entryInFile = (entry: SessionEntry): unknown =>
  entry.kind === 'file' ? { ...entry, path: pathInFile(entry.path) } : entry

/** A path as readable text where it is UTF-8; else as an object with one character for each byte. */
function pathInFile(path: Path): string | { bytes: string } {
  const bytes = Buffer.from(path, 'latin1')
  const text = bytes.toString()
  return Buffer.from(text).equals(bytes) ? text : { bytes: path }
}
