/**
 * The files of one branch that windows have open: their texts as they are typed, and what windows are told of them.
 * The drafts that they become belong to the branch, which passes them in.
 */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Entry, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import { allOf } from '../../../core/together.ts'
import type { Renamed } from '../../operations.ts'
import type { Edit, File } from '../contract/branches.ts'
import type { News } from '../contract/news.ts'
import { pathAfter } from '../contract/paths.ts'
import { showFile, textAt } from '../reading/file-content.ts'
import { type Filters, whyFiltered } from '../reading/filters.ts'
import { decodeText, showWithoutText, whyReadOnly } from '../reading/text.ts'
import { Document, type Taken } from './documents.ts'
import { contentIn, type Drafts, entryIn, entryInTip } from './drafts.ts'

/** A file that windows have open. Where it is no text that can be edited, there is no document. */
type OpenFile = { windows: number; document: Document | undefined; shown: Entry }

export class OpenFiles {
  #branch: string
  readonly #files = new Map<Path, OpenFile>()
  /** Those with edits that are not among the drafts yet. */
  readonly #typed = new Set<Path>()
  /** Why none of them can be edited now, as a sentence. */
  #readOnly: string | undefined

  constructor(
    branch: string,
    readonly objects: Objects,
    readonly filters: Filters,
    readonly say: (news: News) => void,
  ) {
    this.#branch = branch
  }

  /** The branch has another name: what is said of its files is said of that from now on. */
  rename(branch: string): void {
    this.#branch = branch
  }

  get hasAny(): boolean {
    return this.#files.size > 0
  }

  /** The files with edits that are not among the drafts yet. */
  get typed(): ReadonlySet<Path> {
    return this.#typed
  }

  /** Opens a file for one more window, and gives what that shows. */
  async open(drafts: Drafts, path: Path): Promise<File> {
    const open = this.#files.get(path) ?? (await this.#load(drafts, path))
    open.windows++
    this.#files.set(path, open)
    return await this.#show(drafts, path, open)
  }

  /** One window less shows it: it is let go by {@link forgetClosed}. */
  close(path: Path): void {
    const open = this.#files.get(path)
    if (open) open.windows--
  }

  /** Lets go of what no window shows, once what was typed in it has been taken. */
  forgetClosed(): void {
    for (const [path, { windows }] of this.#files) if (windows === 0 && !this.#typed.has(path)) this.#files.delete(path)
  }

  /**
   * Takes edits of an open file. What is typed in a file that waits for a choice belongs to the draft there, too.
   */
  edit(path: Path, version: number, edits: readonly Edit[]): Taken {
    const { document } = this.#files.get(path) ?? {}
    if (!document) throw new Failure(`${visiblePath(path)} is not open, or can't be edited: open it again.`)
    const taken = document.take(version, edits)
    if (!taken.accepted || taken.edits.length === 0) return taken
    this.#typed.add(path)
    this.say({ say: 'edited', branch: this.#branch, path, version, edits: taken.edits })
    return taken
  }

  /** The bytes of a file that was typed in. What is typed from then on is known to come after them. */
  take(path: Path): Buffer | undefined {
    this.#typed.delete(path)
    return this.#files.get(path)?.document?.mark()
  }

  /** What was taken is this now, among the drafts. */
  took(path: Path, entry: Entry): void {
    const open = this.#files.get(path)
    if (open) open.shown = entry
  }

  /** A file or folder has another name: its files stay open under that in all windows, with all that is typed in them. */
  reopen(renamed: Renamed): void {
    for (const [path, open] of [...this.#files]) {
      const other = pathAfter(renamed, path)
      if (other === path) continue
      this.#files.delete(path)
      // A window may have the missing file of this name open.
      const windows = open.windows + (this.#files.get(other)?.windows ?? 0)
      this.#files.set(other, { ...open, windows })
      if (this.#typed.delete(path)) this.#typed.add(other)
    }
    this.say({ say: 'renamed file', branch: this.#branch, ...renamed })
  }

  /** Lets the open files be what they are with these drafts; what was typed since they were taken stays typed. */
  async follow(drafts: Drafts): Promise<void> {
    await allOf([...this.#files].map(([path, open]) => this.#followIn(drafts, path, open)))
  }

  /** {@link follow}, where from now on (or not any more) none can be edited: only what is different is told. */
  async hold(drafts: Drafts, readOnly: string | undefined): Promise<void> {
    const isTold = this.#readOnly === readOnly
    this.#readOnly = readOnly
    await allOf([...this.#files].map(([path, open]) => this.#followIn(drafts, path, open, isTold)))
  }

  async #followIn(drafts: Drafts, path: Path, open: OpenFile, onlyChanges = false): Promise<void> {
    const entry = await entryIn(this.objects, drafts, path)
    const isSame = entry?.oid === open.shown?.oid && entry?.mode === open.shown?.mode
    if (isSame && onlyChanges) return
    const decoded = await this.#textIn(drafts, path, entry)
    // Text that is just typed in a file that is deleted, or is no longer text, becomes a draft, so that it is not lost.
    if (open.document && !decoded && this.#typed.has(path)) return
    open.shown = entry
    if (!isSame && open.document && decoded) {
      // What was typed in the meantime is on top of it, and among the files that were typed in.
      const edit = open.document.become(decoded.text, decoded)
      if (edit) this.say({ say: 'edited', branch: this.#branch, path, version: edit.version, edits: [edit.edit] })
    } else if (!isSame) {
      open.document = decoded && new Document(decoded.text, decoded)
    }
    this.say({ say: 'replaced', branch: this.#branch, path, file: await this.#show(drafts, path, open) })
  }

  async #load(drafts: Drafts, path: Path): Promise<OpenFile> {
    const shown = await entryIn(this.objects, drafts, path)
    const decoded = await this.#textIn(drafts, path, shown)
    return { windows: 0, document: decoded && new Document(decoded.text, decoded), shown }
  }

  /** The text of a file that can be edited; undefined for any other. */
  async #textIn(drafts: Drafts, path: Path, entry: Entry): Promise<ReturnType<typeof decodeText>> {
    const content = entry && (await contentIn(this.objects, drafts, path, entry))
    if (!entry || !content?.bytes) return undefined
    if (showWithoutText(path, entry, content) || whyReadOnly(path, content.size)) return undefined
    if ((await this.filters.of(drafts.tip, path)) !== undefined) return undefined
    return decodeText(content.bytes)
  }

  async #show(drafts: Drafts, path: Path, { document }: OpenFile): Promise<File> {
    const entry = await entryIn(this.objects, drafts, path)
    if (!entry) return { kind: 'nothing' }
    const before = await entryInTip(this.objects, drafts.tip, path)
    const saved = before && (await textAt(this.objects, path, before))
    if (!document) {
      const filter = await this.filters.of(drafts.tip, path)
      const why = this.#readOnly ?? (filter === undefined ? undefined : whyFiltered(path, filter))
      return await showFile(this.objects, path, entry, saved, why)
    }
    const { text, version, form } = document
    const shown = { kind: 'text', text, version, saved, ...form, mode: entry.mode } as const
    return { ...shown, readOnly: this.#readOnly }
  }
}
