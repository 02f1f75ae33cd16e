/**
 * The open files of one branch: their texts as typed, and the news about them for windows. The drafts are passed in by
 * the branch's work (branch-work.ts).
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
import { originsIn } from './draft-renames.ts'
import { contentIn, type Drafts, entryIn, entryInTip } from './drafts.ts'

/** An open file. `windows`: how many windows show it. `document`: undefined if the file is not editable text. */
type OpenFile = { windows: number; document: Document | undefined; shown: Entry }

export class OpenFiles {
  #branch: string
  readonly #files = new Map<Path, OpenFile>()
  /** The files with edits that are not in the drafts yet. */
  readonly #typed = new Set<Path>()
  /** The old paths of renamed files. Kept, since each open file asks for its own. */
  #origins: { drafts: Drafts | undefined; byPath: ReadonlyMap<Path, Path> } = { drafts: undefined, byPath: new Map() }
  /** Why no file can be edited now, as a sentence. */
  #readOnly: string | undefined

  constructor(
    branch: string,
    readonly objects: Objects,
    readonly filters: Filters,
    readonly say: (news: News) => void,
  ) {
    this.#branch = branch
  }

  /** Sets the branch's name in the news, after a rename. */
  rename(branch: string): void {
    this.#branch = branch
  }

  get hasAny(): boolean {
    return this.#files.size > 0
  }

  /** The files with edits that are not in the drafts yet. */
  get typed(): ReadonlySet<Path> {
    return this.#typed
  }

  /** Opens a file for one more window, and returns what it shows. */
  async open(drafts: Drafts, path: Path): Promise<File> {
    const open = this.#files.get(path) ?? (await this.#load(drafts, path))
    open.windows++
    this.#files.set(path, open)
    return await this.#show(drafts, path, open)
  }

  /** Closes a file in one window. {@link forgetClosed} removes it if no window is left. */
  close(path: Path): void {
    const open = this.#files.get(path)
    if (open) open.windows--
  }

  /** Removes files that no window shows, after their edits were collected. */
  forgetClosed(): void {
    for (const [path, { windows }] of this.#files) if (windows === 0 && !this.#typed.has(path)) this.#files.delete(path)
  }

  /** Applies edits to an open file. In a file with a conflict, they belong to its draft. */
  edit(path: Path, version: number, edits: readonly Edit[]): Taken {
    const { document } = this.#files.get(path) ?? {}
    if (!document) throw new Failure(`${visiblePath(path)} is not open, or can't be edited: open it again.`)
    const taken = document.take(version, edits)
    if (!taken.accepted || taken.edits.length === 0) return taken
    this.#typed.add(path)
    this.say({ say: 'edited', branch: this.#branch, path, version, edits: taken.edits })
    return taken
  }

  /** The text of an open file as it is typed, and its version; undefined for a file that is not open or no text. */
  textOf(path: Path): { text: string; version: number } | undefined {
    const { document } = this.#files.get(path) ?? {}
    return document && { text: document.text, version: document.version }
  }

  /** The bytes of a file with edits, and marks it as collected: later edits apply on top. */
  take(path: Path): Buffer | undefined {
    this.#typed.delete(path)
    return this.#files.get(path)?.document?.mark()
  }

  /** Records the tree entry (mode and id) that a file has in the drafts with its collected edits. */
  took(path: Path, entry: Entry): void {
    const open = this.#files.get(path)
    if (open) open.shown = entry
  }

  /** Follows the rename of a file or folder: its files stay open in all windows, with all edits. */
  reopen(renamed: Renamed): void {
    for (const [path, open] of [...this.#files]) {
      const other = pathAfter(renamed, path)
      if (other === path) continue
      this.#files.delete(path)
      // A window may have opened the target path when it did not exist.
      const windows = open.windows + (this.#files.get(other)?.windows ?? 0)
      this.#files.set(other, { ...open, windows })
      if (this.#typed.delete(path)) this.#typed.add(other)
    }
    this.say({ say: 'renamed file', branch: this.#branch, ...renamed })
  }

  /** The open files that these drafts do not contain. */
  async missingIn(drafts: Drafts): Promise<Path[]> {
    const paths = [...this.#files.keys()]
    const entries = await Promise.all(paths.map(path => entryIn(this.objects, drafts, path)))
    return paths.filter((_, at) => entries[at] === undefined)
  }

  /** Updates the open files to these drafts; later edits are kept. */
  async follow(drafts: Drafts): Promise<void> {
    await allOf([...this.#files].map(([path, open]) => this.#followIn(drafts, path, open)))
  }

  /** Updates as {@link follow} and sets why files are read-only (undefined: editable). Only differences are sent. */
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
    // Edits of a file that is deleted, or no longer text, become a draft, so that they are not lost.
    if (open.document && !decoded && this.#typed.has(path)) return
    open.shown = entry
    if (!isSame && open.document && decoded) {
      // Typed edits that are not in the drafts yet stay, on top of the new text; windows get the difference as an edit.
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

  /** The text of an editable file; undefined for any other. */
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
    const before = await entryInTip(this.objects, drafts.tip, this.#originOf(drafts, path))
    const saved = before && (await textAt(this.objects, path, before))
    const isNewPath = drafts.files.has(path) && (await entryInTip(this.objects, drafts.tip, path)) === undefined
    if (!document) {
      const filter = await this.filters.of(drafts.tip, path)
      const why = this.#readOnly ?? (filter === undefined ? undefined : whyFiltered(path, filter))
      return await showFile(this.objects, path, entry, saved, why)
    }
    const { text, version, form } = document
    const shown = { kind: 'text', text, version, saved, ...form, mode: entry.mode, isNewPath } as const
    return { ...shown, readOnly: this.#readOnly }
  }

  /** The path of a file in the last commit, which is another one if the drafts rename it. */
  #originOf(drafts: Drafts, path: Path): Path {
    if (this.#origins.drafts !== drafts) this.#origins = { drafts, byPath: originsIn(drafts) }
    return this.#origins.byPath.get(path) ?? path
  }
}
