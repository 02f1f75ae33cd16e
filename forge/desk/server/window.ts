/** One browser window at the desk: its messages are parsed, answered, and limited. */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { TooLarge } from '../../../core/git/bounds.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import { GitError } from '../../../core/git/run.ts'
import { whyGitFailed } from '../../../core/git/troubles.ts'
import { visible } from '../../../core/text.ts'
import { isQuestionName, type QuestionName, questions, type Reply } from '../contract/contract.ts'
import type { News } from '../contract/news.ts'
import { pathAfter } from '../contract/paths.ts'
import { type At, Count } from '../contract/values.ts'
import { isNotFetched, NOT_FETCHED } from '../not-fetched.ts'
import type { WindowSocket } from './server.ts'

/** At most this many open questions; a page with more is disconnected. */
const MAX_OPEN_QUESTIONS = 1000
/** At most this many messages at once, and per second. Typing makes about thirty per second. */
const [MAX_MESSAGES_AT_ONCE, MAX_MESSAGES_PER_SECOND] = [4000, 500]
/** At most this many searches of a window run at a time: a new one need not wait for the previous one. */
const MAX_SEARCHES = 2

export class Window {
  /** The files that the window has open; a file that it has opened twice is listed twice. */
  readonly shown: { at: At; path: string }[] = []
  readonly #finds = new Map<number, AbortController>()
  #preview: AbortController | undefined
  #searches = 0
  #waiting = 0
  #allowance = MAX_MESSAGES_AT_ONCE
  #counted = performance.now()
  #isGone = false

  constructor(
    readonly line: WindowSocket,
    readonly answer: (name: QuestionName, fields: unknown, window: Window) => Promise<unknown>,
    /** Tells all other windows. */
    readonly tellOthers: (news: News) => void,
  ) {}

  /** Follows the rename of a branch: its open files stay open. */
  branchRenamed({ branch, to }: { branch: string; to: string }): void {
    for (const file of this.shown)
      if (file.at.kind === 'branch' && file.at.branch === branch) file.at = { kind: 'branch', branch: to }
  }

  /** Follows the rename of a file or folder: open files stay open. */
  renamed(renamed: { branch: string; from: string; to: string }): void {
    for (const file of this.shown)
      if (file.at.kind === 'branch' && file.at.branch === renamed.branch) file.path = pathAfter(renamed, file.path)
  }

  tell(words: News | Reply): void {
    if (!this.#isGone) this.line.send(JSON.stringify(words))
  }

  /** Parses a message and answers it. A message that can't be parsed closes the connection. */
  async hear(text: string): Promise<void> {
    if (this.#isGone) return
    const now = performance.now()
    this.#allowance =
      Math.min(MAX_MESSAGES_AT_ONCE, this.#allowance + ((now - this.#counted) * MAX_MESSAGES_PER_SECOND) / 1000) - 1
    this.#counted = now
    if (this.#allowance < 0 || this.#waiting >= MAX_OPEN_QUESTIONS) return this.line.end('Too many questions at once.')
    const message = parseJson(text)
    const asked = v.safeParse(v.object({ id: Count, ask: v.optional(v.unknown()) }), message)
    if (!asked.success) return this.line.end('The desk did not understand this page.')
    const { id, ask: name } = asked.output
    if (!isQuestionName(name)) return this.tell({ re: id, error: notUnderstood('ask') })
    const fields = v.safeParse<v.GenericSchema>(questions[name].fields, message)
    if (!fields.success) return this.tell({ re: id, error: notUnderstood(v.getDotPath(fields.issues[0])) })
    this.#waiting++
    try {
      this.tell({ re: id, value: await this.answer(name, fields.output, this) })
    } catch (error) {
      this.tell({ re: id, error: errorInWords(error) })
    } finally {
      this.#waiting--
    }
  }

  beginToFind(): { search: number; signal: AbortSignal } {
    for (const earlier of [...this.#finds.keys()].slice(0, Math.max(0, this.#finds.size + 1 - MAX_SEARCHES)))
      this.endFinding(earlier)
    const control = new AbortController()
    this.#finds.set(++this.#searches, control)
    return { search: this.#searches, signal: control.signal }
  }

  endFinding(search: number): void {
    this.#finds.get(search)?.abort()
    this.#finds.delete(search)
  }

  /** Starts a preview and stops the previous one, since a window shows one at a time. */
  beginToPreview(): AbortSignal {
    this.endPreview()
    this.#preview = new AbortController()
    return this.#preview.signal
  }

  endPreview(): void {
    this.#preview?.abort()
    this.#preview = undefined
  }

  /** Whether the window has disconnected: nothing is sent to it any more. */
  get isGone(): boolean {
    return this.#isGone
  }

  leave(): void {
    this.#isGone = true
    this.endPreview()
    for (const search of [...this.#finds.keys()]) this.endFinding(search)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The error for a message that can't be parsed. `where`: the invalid field. */
function notUnderstood(where: string | null): string {
  return `The desk did not understand this page${where ? ` (${visible(where)})` : ''}: reload it.`
}

/** Any error as a sentence for the user. */
export function errorInWords(error: unknown): string {
  if (error instanceof Failure) return error.message
  if (error instanceof TooLarge) return `This is too large for the desk: ${error.message}.`
  if (error instanceof RefMoved) return 'The branch was moved meanwhile, so nothing was done: try it again.'
  if (isNotFetched(error)) return NOT_FETCHED
  if (error instanceof GitError) return `Git could not do this: ${whyGitFailed(error) ?? visible(error.message)}.`
  const { code, message = String(error) } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full: free some space and try it again.'
  return `This did not work: ${visible(message.split('\n')[0] ?? '').slice(0, 300)}.`
}
