/**
 * Typed text that the desk has not confirmed: while it can't be reached, or refuses it. The browser keeps it, so that
 * it survives when the page is loaded again, or its window is closed. The next page sends it, and the desk adds it to
 * the drafts, or makes a draft conflict of it. Confirmed text is removed from the browser at once.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import * as v from 'valibot'
import { type BranchInfo, Form } from '../../contract/branches.ts'
import type { DeskInfo } from '../../contract/desk.ts'
import { Branch, Oid, Path } from '../../contract/values.ts'
import type { OpenFile } from '../editor/open-file.ts'
import { baseName, named } from '../ui/names.ts'
import type { Connection } from '../ui/socket.ts'
import { keep, keptAs } from './kept.ts'
import { typedLines } from './typed-lines.ts'

/** Keys in the browser's storage: this, the page that wrote it, and a number. */
const KEY = 'unsent text of '
/** The name of a lock that a page holds for as long as it exists; the page's id is appended. */
const LOCK = 'the page '
/** Delay after the last change before the text is stored, in milliseconds: most edits are confirmed before. */
const DELAY_MS = 300

const Kept = v.object({
  /** The folder of the repository: desks of several may have had the same address. */
  folder: v.string(),
  branch: Branch,
  path: Path,
  since: v.optional(Oid),
  form: Form,
  start: v.string(),
  steps: v.array(v.unknown()),
})
type Kept = v.InferOutput<typeof Kept>

interface NoticeOf {
  topic: string
  tone: 'warn'
  title: string
  words: string
  text?: string
  actions: { words: string; isMain?: boolean; stays?: boolean; run: () => void }[]
}

/** The parts of the page that the texts use. */
interface Desk {
  readonly connection: Connection
  readonly desk: ReadonlySignal<DeskInfo | undefined>
  branch: (name: string) => BranchInfo | undefined
  tell: (news: { title: string }) => void
  notify: (notice: NoticeOf) => void
  solved: (topic: string) => void
  complain: (error: unknown) => void
}

export class UnsentTexts {
  /** Whether the browser could not store all of the text: it is in the page alone. */
  readonly isOnlyHere = signal(false)
  readonly #id = crypto.randomUUID()
  readonly #keys = new Map<OpenFile, string>()
  readonly #changed = new Set<OpenFile>()
  /** The files whose text could not be stored. */
  readonly #failed = new Set<OpenFile>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #count = 0
  /** The pages whose text is being sent, or will be when they are closed. */
  readonly #awaited = new Set<string>()
  /** Texts that the desk refused: they are sent again when something changes. */
  readonly #refused = new Map<string, Kept>()

  readonly #page: Desk

  constructor(page: Desk) {
    this.#page = page
  }

  /** Tells other pages that this one exists and sends its text itself, until it is closed. */
  start(): void {
    navigator.locks?.request(LOCK + this.#id, () => new Promise(() => {})).catch(() => {})
    window.addEventListener('pagehide', () => this.keepAll())
  }

  /** Records that a file has unconfirmed text, or none any more. */
  changed(file: OpenFile): void {
    if (!file.isUnsettled) {
      this.#forget(file)
      return
    }
    this.#changed.add(file)
    this.#timer ??= setTimeout(() => this.keepAll(), DELAY_MS)
  }

  /** Stores all unconfirmed text now. */
  keepAll(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const file of this.#changed) this.#keep(file)
    this.#changed.clear()
    this.isOnlyHere.value = this.#failed.size > 0
  }

  #keep(file: OpenFile): void {
    const { unsent, at, path } = file
    const folder = this.#page.desk.peek()?.folder
    if (!unsent || at.kind === 'commit' || folder === undefined) return
    const key = this.#keys.get(file) ?? `${KEY}${this.#id} ${++this.#count}`
    this.#keys.set(file, key)
    const { branch } = at
    const kept: Kept = { folder, branch, path, since: this.#page.branch(branch)?.tip, ...unsent }
    if (isStored(key, JSON.stringify(kept))) this.#failed.delete(file)
    else this.#failed.add(file)
  }

  #forget(file: OpenFile): void {
    const key = this.#keys.get(file)
    if (key !== undefined) removeKept(key)
    this.#keys.delete(file)
    this.#changed.delete(file)
    if (this.#failed.delete(file)) this.isOnlyHere.value = this.#failed.size > 0
  }

  /** Sends the text that closed pages have left. The text of open ones is sent when these are closed. */
  takeOver(): void {
    const owners = new Set(keptKeys().map(ownerOf))
    owners.delete(this.#id)
    for (const owner of owners) {
      if (this.#awaited.has(owner)) continue
      this.#awaited.add(owner)
      const send = () => this.#sendAllOf(owner)
      const sent = navigator.locks ? navigator.locks.request(LOCK + owner, send) : send()
      sent.catch(error => this.#page.complain(error)).finally(() => this.#awaited.delete(owner))
    }
  }

  /** Sends again what was refused in a branch that has changed. */
  branchChanged(branch: string): void {
    if ([...this.#refused.values()].some(kept => kept.branch === branch)) this.takeOver()
  }

  async #sendAllOf(owner: string): Promise<void> {
    for (const key of keptKeys().filter(it => ownerOf(it) === owner)) {
      const kept = readKept(key)
      if (kept && kept.folder === this.#page.desk.peek()?.folder) await this.#send(key, kept)
    }
  }

  async #send(key: string, kept: Kept): Promise<void> {
    const { folder: _, form, ...typed } = kept
    const topic = `unsent ${key}`
    try {
      const { branch, path, isConflict } = await this.#page.connection.ask('add unsent text', { ...typed, ...form })
      removeKept(key)
      this.#refused.delete(key)
      this.#page.solved(topic)
      const name = named(baseName(path))
      // A conflict has a notice of its own.
      if (!isConflict)
        this.#page.tell({
          title: `Added to ${name} in ${named(branch)}: what you typed before its page was closed or loaded again`,
        })
    } catch (error) {
      this.#refused.set(key, kept)
      this.#page.notify(this.#refusal(key, kept, topic, (error as Error).message))
    }
  }

  #refusal(key: string, kept: Kept, topic: string, why: string): NoticeOf {
    const discard = () => {
      removeKept(key)
      this.#refused.delete(key)
    }
    const text = typedLines(kept.start, kept.steps)
    return {
      topic,
      tone: 'warn',
      title: `What you typed in ${named(baseName(kept.path))} in ${named(kept.branch)} is not in its draft yet`,
      words: `${why} It stays in this browser.`,
      ...(text !== '' && { text }),
      actions: [
        { words: 'Discard it', run: discard },
        ...(text === '' ? [] : [{ words: 'Copy', stays: true, run: () => void this.#copy(text) }]),
        { words: 'Try again', isMain: true, stays: true, run: () => this.takeOver() },
      ],
    }
  }

  async #copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text)
      this.#page.tell({ title: 'Copied' })
    } catch (error) {
      this.#page.complain(error)
    }
  }
}

/**
 * Stores a text. Returns false if the browser's storage is full or blocked; an older text of this key is removed then.
 */
function isStored(key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text)
    return true
  } catch {
    removeKept(key)
    return false
  }
}

const removeKept = (key: string): void => keep(key, '')

function keptKeys(): string[] {
  try {
    return Object.keys(localStorage)
      .filter(key => key.startsWith(KEY))
      .sort()
  } catch {
    return []
  }
}

const ownerOf = (key: string): string => key.slice(KEY.length).split(' ')[0] ?? ''

/** Reads a text; undefined if it is gone, or is not understood: it is left there then. */
const readKept = (key: string): Kept | undefined => keptAs(Kept, key)
