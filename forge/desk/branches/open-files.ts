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
import { isIn, pathAfter } from '../contract/paths.ts'
import { showFile, textAt } from '../reading/file-content.ts'
import { type Filters, whyFiltered } from '../reading/filters.ts'
import { decodeText, showWithoutText, whyReadOnly } from '../reading/text.ts'
import { Document, type Taken } from './documents.ts'
import { filesIn } from './draft-files.ts'
import { originsIn } from './draft-renames.ts'
import { contentIn, type Drafts, entryIn, entryInTip, missingIn } from './drafts.ts'

/**
 * An open file. `windows`: how many windows show it. `document`: undefined if the file is not editable text. `last`:
 * its mode and id before it was deleted. `deleted`: how the file was deleted, if its text is kept since then.
 */
type OpenFile = {
  windows: number
  document: Document | undefined
  shown: Entry
  last?: Entry
  deleted?: Deleted | undefined
}

/**
 * The text of a deleted file. Edits restore the file, so that an edit that was on its way is not lost.
 *
 * `isShown`: whether windows show it, since it had unsaved changes; without these, an edit makes them show it.
 * `isRestored`: whether the windows know that the file is a draft again.
 */
type Deleted = { by: 'draft' | 'commit'; isShown: boolean; isRestored: boolean }

/** `run`: an id of this run of the desk. */
type OpenFilesRoom = { run: string; objects: Objects; filters: Filters; say: (news: News) => void }

const NEW_FILE = { mode: '100644', oid: '' }

export class OpenFiles {
  #branch: string
  readonly #files = new Map<Path, OpenFile>()
  /** The files with edits that are not in the drafts yet. */
  readonly #typed = new Set<Path>()
  /** The old paths of renamed files. Kept, since each open file asks for its own. */
  #origins: { drafts: Drafts | undefined; byPath: ReadonlyMap<Path, Path> } = { drafts: undefined, byPath: new Map() }
  /** Why no file can be edited now, as a sentence. */
  #readOnly: string | undefined
  /** The drafts in the repository, while newer ones can't be written into it. */
  #written: Drafts | undefined

  readonly objects: Objects
  readonly filters: Filters
  readonly say: (news: News) => void
  readonly #run: string

  constructor(branch: string, { run, objects, filters, say }: OpenFilesRoom) {
    this.#branch = branch
    this.#run = run
    this.objects = objects
    this.filters = filters
    this.say = say
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

  /**
   * Removes files that no window shows, after their edits were collected. The text of a deleted file stays: its window
   * may only have lost the connection.
   */
  forgetClosed(): void {
    for (const [path, { windows, deleted }] of this.#files)
      if (windows === 0 && !this.#typed.has(path) && !deleted?.isShown) this.#files.delete(path)
  }

  /** Applies edits to an open file. In a file with a conflict, they belong to its draft. */
  edit(path: Path, version: number, edits: readonly Edit[]): Taken {
    const open = this.#files.get(path)
    if (!open) throw new Failure(`${visiblePath(path)} is not open: open it again.`)
    const { document, deleted } = open
    if (!document)
      throw new Failure(
        `${visiblePath(path)} can't be edited as it is now. Load this page again: what you typed in it last is then a draft.`,
      )
    const taken = document.take(version, edits)
    if (!taken.accepted || taken.edits.length === 0) return taken
    this.#typed.add(path)
    if (deleted) deleted.isShown = true
    this.say({ say: 'edited', branch: this.#branch, path, version, edits: taken.edits })
    return taken
  }

  /** The text of an open file as it is typed, and its version; undefined for a file that is not open or no text. */
  textOf(path: Path): { text: string; version: number } | undefined {
    const { document, deleted } = this.#files.get(path) ?? {}
    if (deleted?.isShown === false) return undefined
    return document && { text: document.text, version: document.version }
  }

  /** Keeps showing the text of files that a draft is about to delete, where they have unsaved changes in `drafts`. */
  keepDeleted(drafts: Drafts, paths: readonly Path[]): void {
    for (const [path, open] of this.#files) {
      const isDraft = drafts.files.has(path) || this.#typed.has(path)
      if (!open.document || !isDraft || !paths.some(deleted => isIn(path, deleted))) continue
      open.deleted = { by: 'draft', isShown: true, isRestored: false }
    }
  }

  /** Restores a deleted file with the text that windows still show of it. Returns whether they show any. */
  restore(path: Path): boolean {
    const { document, deleted } = this.#files.get(path) ?? {}
    if (!document || !deleted?.isShown) return false
    this.#typed.add(path)
    return true
  }

  /**
   * Tells the windows which text of their files the repository has, while newer drafts can't be written into it.
   * `written`: the drafts there; undefined once all are.
   */
  async showWritten(drafts: Drafts, written: Drafts | undefined): Promise<void> {
    this.#written = written
    for (const [path, open] of this.#files) {
      if (!open.document) continue
      this.say({ say: 'replaced', branch: this.#branch, path, file: await this.#show(drafts, path, open) })
    }
  }

  /** The mode and id of a deleted file before its deletion; undefined if no window has had it open since. */
  lastShown(path: Path): Entry {
    return this.#files.get(path)?.last
  }

  /** Tells the windows which deleted files are drafts again, since they were edited. */
  async tellRestored(drafts: Drafts): Promise<void> {
    for (const [path, open] of this.#files) {
      if (!open.deleted || open.deleted.isRestored || !open.shown) continue
      if (drafts.files.has(path)) open.deleted.isRestored = true
      else open.deleted = undefined
      this.say({ say: 'replaced', branch: this.#branch, path, file: await this.#show(drafts, path, open) })
    }
  }

  /**
   * The text of a file with edits, after its texts before each choice in a conflict, and marks it as collected: later
   * edits apply on top. Empty if the file is not open, or no text.
   */
  take(path: Path): Buffer[] {
    this.#typed.delete(path)
    return this.#files.get(path)?.document?.mark() ?? []
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
    return await missingIn(this.objects, drafts, [...this.#files.keys()])
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
    // Edits of a file that is no longer text become a draft, so that they are not lost.
    if (entry && open.document && !decoded && this.#typed.has(path)) return
    const isDraft = drafts.files.has(path) || drafts.clashes.has(path)
    if (!entry) open.deleted = await this.#deletedIn(drafts, path, open)
    else if (!isSame || !isDraft) open.deleted = undefined
    open.last = entry ? undefined : (open.shown ?? open.last)
    open.shown = entry
    if (open.deleted) {
      if (!entry) open.deleted.isRestored = false
    } else if (!isSame && open.document && decoded) {
      // Typed edits that are not in the drafts yet stay, on top of the new text; windows get the difference as an edit.
      const edit = open.document.become(decoded.text, decoded)
      if (edit) this.say({ say: 'edited', branch: this.#branch, path, version: edit.version, edits: [edit.edit] })
    } else if (!isSame) {
      open.document = decoded && new Document(decoded.text, decoded)
    }
    this.say({ say: 'replaced', branch: this.#branch, path, file: await this.#show(drafts, path, open) })
  }

  /** How a file that is not in the drafts was deleted; undefined if its text is not kept. */
  async #deletedIn(drafts: Drafts, path: Path, open: OpenFile): Promise<Deleted | undefined> {
    if (!open.document) return undefined
    const isTyped = this.#typed.has(path)
    if (!isTyped && !(await this.#isFree(drafts, path))) return undefined
    const by = (await entryInTip(this.objects, drafts.tip, path)) ? 'draft' : 'commit'
    const { deleted = { by, isShown: false, isRestored: false } } = open
    return { ...deleted, isShown: deleted.isShown || isTyped }
  }

  /** Whether a file can be created at a path: by now there may be a folder, or a file in place of its folder. */
  async #isFree(drafts: Drafts, path: Path): Promise<boolean> {
    try {
      await filesIn(this.objects, drafts).verifyFree(path)
      return true
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return false
    }
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

  async #show(drafts: Drafts, path: Path, { document, deleted }: OpenFile): Promise<File> {
    const there = await entryIn(this.objects, drafts, path)
    const origin = this.#originOf(drafts, path)
    const before = await entryInTip(this.objects, drafts.tip, origin)
    const entry = there ?? (deleted?.isShown ? (before ?? NEW_FILE) : undefined)
    if (!entry) return { kind: 'nothing' }
    const last = before && (await textAt(this.objects, path, before))
    const saved = last?.text
    const isNewPath = drafts.files.has(path) && (origin !== path || before === undefined)
    if (!document) {
      const filter = await this.filters.of(drafts.tip, path)
      const why = this.#readOnly ?? (filter === undefined ? undefined : whyFiltered(path, filter))
      return await showFile(this.objects, path, entry, saved, why)
    }
    const { text, version, form } = document
    const written = this.#written && (await this.#writtenText(this.#written, path))
    const ends = last && { savedLineEnd: last.lineEnd }
    const more = { ...form, ...ends, mode: entry.mode, isNewPath, ...(written !== undefined && { written }) }
    const shown = { kind: 'text', text, version, run: this.#run, saved, ...more } as const
    const kept = deleted && { by: deleted.by, isRestored: deleted.isRestored }
    return { ...shown, readOnly: this.#readOnly, ...(kept && { deleted: kept }) }
  }

  async #writtenText(drafts: Drafts, path: Path): Promise<string> {
    const there = await this.#textIn(drafts, path, await entryIn(this.objects, drafts, path))
    return there?.text ?? ''
  }

  /** The path of a file in the last commit, which is another one if the drafts rename it. */
  #originOf(drafts: Drafts, path: Path): Path {
    if (this.#origins.drafts !== drafts) this.#origins = { drafts, byPath: originsIn(drafts) }
    return this.#origins.byPath.get(path) ?? path
  }
}
