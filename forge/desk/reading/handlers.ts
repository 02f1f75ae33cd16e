/** Answers the page's questions that read branches and commits. */
import { Failure } from '../../../core/failure.ts'
import { blame } from '../../../core/git/blame.ts'
import { isAncestor, mergeBases } from '../../../core/git/commits.ts'
import { lineBefore } from '../../../core/git/diffs.ts'
import { findText, textSearch } from '../../../core/git/grep.ts'
import { lineHistory } from '../../../core/git/line-history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { pathspecsOf } from '../../../core/git/path-filters.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, entryAt } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Vfs } from '../../vfs.ts'
import type { Answer, Fields } from '../contract/contract.ts'
import type { Handlers } from '../contract/question.ts'
import type { FolderEntry, Match, readingQuestions } from '../contract/reading.ts'
import type { At } from '../contract/values.ts'
import { imageTypeOf, readImage } from '../server/images.ts'
import { errorInWords, type Window } from '../server/window.ts'
import { changesBetween, changesOfDrafts } from './changes.ts'
import { editorConfigOf } from './editor-config.ts'
import { FileFinder } from './find.ts'
import { findEditable, type ReadOnlyFile } from './find-editable.ts'
import { type DraftRenames, listFolder } from './folders.ts'
import {
  commitByDigits,
  commitInFull,
  Histories,
  MAX_FOUND_COMMITS,
  mergeThatBrought,
  modelsOf,
  rowsBeyond,
  rowsMatching,
  rowsOf,
  rowsTouching,
  treeBefore,
} from './history.ts'
import { listedAt, type ReadingPlace, readingPlace } from './place.ts'
import { type MarkLengths, withShownLines } from './shown-lines.ts'
import { guess, isUtf16 } from './text.ts'

/** Larger files, in bytes, are not downloaded by the page. */
const MAX_DOWNLOADED_BYTES = 16 << 20
/** Larger text files are not sent. */
const MAX_TEXT_BYTES = 2 << 20
/** Nothing is replaced in lines with more characters than this. */
const MAX_REPLACED_LINE_CHARS = 5_000
/** At most this many files are found by one search. */
const MAX_FILES_FOUND = 1000

/** What the answers to questions about files and history need to know of branches. */
export interface Branches {
  /** The files of a branch with its drafts, or those of a commit. */
  vfsAt: (at: At) => Promise<Vfs>
  /** The renames that the shown files of a branch include: its drafts, or those of an AI's turn. */
  renamesIn: (branch: string) => Promise<DraftRenames>
  /**
   * The commit of a branch, also while a merge waits in it, as the desk knows it: that of the files that windows show.
   * Undefined before its first one.
   */
  headOf: (branch: string) => Promise<Oid | undefined>
  /** The commit of a branch as git has it now: another program may have moved the branch before the desk notices it. */
  tipOf: (branch: string) => Promise<Oid | undefined>
  /** The commit at which the AI's turn that a branch shows began, if the branch has been moved since. */
  turnBaseOf: (branch: string) => Promise<Oid | undefined>
  /** The path of a file of a branch in its last commit, before renames that are drafts. */
  savedPath: (branch: string, path: Path) => Promise<Path>
  /** The lengths of conflict markers in the files of a branch or commit that can have them. */
  marksAt: (at: At) => Promise<MarkLengths>
  /** Why nothing is replaced in files of a branch by a search with the path filters `files`; others are missing. */
  whyNotReplaced: (branch: string, paths: readonly Path[], files: string) => Promise<ReadonlyMap<Path, string>>
  /** How the context of a branch's AI contains files. */
  contextOf: (branch: string, paths: readonly Path[]) => Promise<ReadonlyMap<Path, FolderEntry['context']>>
}

export class Reading implements AsyncDisposable {
  readonly #histories: Histories
  readonly #finder: FileFinder

  constructor(
    readonly objects: Objects,
    readonly branches: Branches,
  ) {
    this.#histories = new Histories(objects)
    this.#finder = new FileFinder(objects.repository)
  }

  readonly handlers: Handlers<typeof readingQuestions, Window> = {
    folder: ({ at, path }) => this.#folder(at, path),
    entries: ({ at, paths }) => this.#entries(at, paths),
    'find file': async ({ at, words, count }) =>
      await this.#finder.find((await this.#placeOf(at)).tree, words, Math.min(count, MAX_FILES_FOUND)),
    changes: fields => this.#changes(fields),
    'file bytes': async ({ at, path }) => await this.#bytesOf(at, path),
    blob: ({ oid }) => this.#text(oid),
    history: fields => this.#history(fields),
    contained: fields => this.#contained(fields),
    commit: async ({ commit }) => await commitInFull(this.objects, await commitByDigits(this.objects, commit)),
    blame: async ({ at, path }) => {
      const commit = await this.#shownCommitOf(at)
      if (commit === undefined) return { lines: [], commits: [] }
      const { lines, commits } = await blame(this.objects, commit, await this.#savedPath(at, path))
      const models = await modelsOf(
        this.objects,
        commits.map(({ oid }) => oid),
      )
      return { lines, commits: commits.map(it => ({ ...it, model: models.get(it.oid) })) }
    },
    'line before': fields => this.#lineBefore(fields),
    'blob of': async ({ at, path }) => {
      const entry = await entryAt(this.objects, (await this.#placeOf(at)).tree, path)
      return entry?.mode.startsWith('100') ? { oid: entry.oid } : {}
    },
    'editor config': async ({ at, path }) => await editorConfigOf(await this.branches.vfsAt(at), path),
    'line history': fields => this.#lineHistory(fields),
    'find text': (fields, window) => this.#findText(window, fields),
    'stop finding': ({ search }, window) => window.endFinding(search),
  }

  /** Lists a folder; for a branch, also how its AI's context contains the files. */
  async #folder(at: At, path: Path): Promise<FolderEntry[]> {
    const listed = await listedAt(this.objects, await this.branches.vfsAt(at))
    const renames = at.kind === 'branch' ? await this.branches.renamesIn(at.branch) : undefined
    const entries = await listFolder(this.objects, listed, path, renames)
    if (at.kind === 'commit') return entries
    const paths = new Map(entries.map(({ name }) => [name, path === '' ? name : `${path}/${name}`]))
    const files = entries.filter(({ mode }) => mode !== '040000').map(({ name }) => paths.get(name) ?? name)
    const contexts = await this.branches.contextOf(at.branch, files)
    return entries.map(entry => {
      const context = contexts.get(paths.get(entry.name) ?? '')
      return context === undefined ? entry : { ...entry, context }
    })
  }

  /**
   * Lists some files and folders as {@link Reading.#folder} does. What does not exist, or is in a folder that is too
   * large to be listed, is left out.
   */
  async #entries(at: At, paths: readonly Path[]): Promise<Answer<'entries'>> {
    const byFolder = Map.groupBy(paths, path => path.slice(0, Math.max(0, path.lastIndexOf('/'))))
    const lists = [...byFolder].map(async ([folder, wanted]) => {
      const entries = await this.#folder(at, folder).catch(error => {
        if (error instanceof Failure) return []
        throw error
      })
      const byPath = new Map(entries.map(entry => [folder === '' ? entry.name : `${folder}/${entry.name}`, entry]))
      return wanted.flatMap(path => {
        const entry = byPath.get(path)
        return entry ? [{ path, ...entry }] : []
      })
    })
    return (await Promise.all(lists)).flat()
  }

  async #bytesOf(at: At, path: Path): Promise<Answer<'file bytes'>> {
    const files = await this.branches.vfsAt(at)
    const entry = await files.entryAt(path)
    const name = visiblePath(path)
    if (!entry || entry.mode === '160000') throw new Failure(`${name} is no file that can be downloaded.`)
    const size = (await this.objects.info(entry.oid))?.size ?? 0
    if (size > MAX_DOWNLOADED_BYTES)
      throw new Failure(`${name} is larger than ${MAX_DOWNLOADED_BYTES >> 20} MB: get it by git show.`)
    return { base64: (await files.readFile(path)).toString('base64') }
  }

  async #placeOf(at: At): Promise<ReadingPlace> {
    return await readingPlace(this.objects, await this.branches.vfsAt(at))
  }

  /**
   * Lists changes. Without `from`: a commit's own, or a branch's drafts. From a branch: by default, those since the
   * merge base.
   */
  async #changes({ from, to, isFromMergeBase = from?.kind === 'branch' }: Fields<'changes'>) {
    const place = await this.#placeOf(to)
    const before = from ? await this.#treeSince(from, to, place, isFromMergeBase) : await this.#treeBefore(to, place)
    const isOfDrafts = to.kind === 'branch' && before === (await this.#treeBefore(to, place))
    const renames = isOfDrafts ? await this.branches.renamesIn(to.branch) : undefined
    if (renames) return await changesOfDrafts(this.objects, before, place.tree, renames.origins)
    return await changesBetween(this.objects, before, place.tree)
  }

  async #treeSince(from: At, to: At, { commit }: ReadingPlace, isFromMergeBase: boolean): Promise<Oid> {
    const other = await this.#placeOf(from)
    const isItself = from.kind === 'branch' && to.kind === 'branch' && from.branch === to.branch
    if (!isFromMergeBase || isItself || commit === undefined || other.commit === undefined) return other.tree
    const [base] = await mergeBases(this.objects.repository, other.commit, commit)
    const tree = base && (await this.objects.info(`${base}^{tree}`))
    return tree ? tree.oid : other.tree
  }

  async #treeBefore(to: At, { commit }: ReadingPlace): Promise<Oid> {
    if (commit === undefined) return emptyTree(this.objects.repository.format)
    if (to.kind === 'commit') return await treeBefore(this.objects, commit)
    const tree = await this.objects.info(`${commit}^{tree}`)
    return tree?.oid ?? emptyTree(this.objects.repository.format)
  }

  /** A text for a diff, read-only; bytes that are not UTF-8 are decoded with a guessed encoding. */
  async #text(oid: Oid): Promise<Answer<'blob'>> {
    const blob = await this.objects.read(oid, { limit: MAX_TEXT_BYTES })
    if (blob?.type !== 'blob') return { what: 'Not in this repository' }
    const image = !blob.bytes || imageTypeOf(blob.bytes) ? await readImage(this.objects, oid) : undefined
    if (image) return { what: 'An image', image: { type: image.type, size: blob.size } }
    if (!blob.bytes) return { what: 'Larger than 2 MB' }
    if (isUtf16(blob.bytes)) return { what: 'Text in UTF-16, which is not shown' }
    if (blob.bytes.includes(0)) return { what: 'Binary' }
    try {
      return { text: new TextDecoder('utf-8', { fatal: true }).decode(blob.bytes) }
    } catch {
      const guessed = guess(blob.bytes)
      if (!guessed) return { what: 'Binary' }
      // The text keeps its line ends, as these may be what has changed.
      return { text: new TextDecoder('windows-1252').decode(blob.bytes), encoding: guessed.encoding }
    }
  }

  /**
   * The commit of a place, for questions about history. The page asks for the history of a branch once for each commit
   * that it has in the list of branches, which is read from git.
   */
  async #tipOf(at: At): Promise<Oid | undefined> {
    if (at.kind === 'branch') return await this.branches.tipOf(at.branch)
    return (await this.#placeOf(at)).commit
  }

  /** The commit whose lines the page compares its files with. */
  async #shownCommitOf(at: At): Promise<Oid | undefined> {
    if (at.kind === 'commit') return (await this.#placeOf(at)).commit
    return (await this.branches.turnBaseOf(at.branch)) ?? (await this.branches.headOf(at.branch))
  }

  async #history({ at, path, beyond, words, from, count }: Fields<'history'>) {
    const commit = await this.#tipOf(at)
    if (commit === undefined) return { rows: [], total: 0 }
    if (words !== undefined && words.trim() !== '') {
      const rows = await rowsMatching(this.objects, commit, words, path)
      const isCut = rows.length === MAX_FOUND_COMMITS
      return { rows: rows.slice(from, from + count), total: rows.length, ...(isCut && { isCut }) }
    }
    const other = beyond === undefined ? undefined : await this.#tipOf(beyond)
    if (other !== undefined)
      return { rows: await rowsBeyond(this.objects, commit, other, { from, count }), total: undefined }
    if (path !== undefined)
      return { rows: await rowsTouching(this.objects, commit, path, { from, count }), total: undefined }
    const name = at.kind === 'branch' ? `refs/heads/${at.branch}` : at.commit
    return await this.#histories.rows(name, commit, from, count)
  }

  /** The path of a file in the last commit, which is another one where a draft has renamed it. */
  async #savedPath(at: At, path: Path): Promise<Path> {
    return at.kind === 'branch' ? await this.branches.savedPath(at.branch, path) : path
  }

  /** The place of a line in an earlier commit; the same one where a commit does not have the file. */
  async #lineBefore({ later, earlier, line }: Fields<'line before'>): Promise<number> {
    const [before, after] = await Promise.all(
      [earlier, later].map(({ commit, path }) => entryAt(this.objects, commit, path)),
    )
    if (!before || !after) return line
    return await lineBefore(this.objects.repository, before.oid, after.oid, line)
  }

  async #lineHistory({ at, path, from, to }: Fields<'line history'>): Promise<Answer<'line history'>> {
    const commit = await this.#shownCommitOf(at)
    if (commit === undefined) return []
    const saved = await this.#savedPath(at, path)
    const changes = await lineHistory(this.objects.repository, commit, saved, { from: Math.min(from, to), to })
    const found = await rowsOf(
      this.objects,
      changes.map(({ oid }) => oid),
    )
    const rows = new Map(found.map(row => [row.oid, row]))
    return changes.flatMap(({ oid, path: there, hunks }) => {
      const row = rows.get(oid)
      return row ? [{ commit: row, hunks, ...(there !== undefined && { path: there }) }] : []
    })
  }

  async #contained({ at, into }: Fields<'contained'>): Promise<Answer<'contained'>> {
    const [tip, other] = await Promise.all([this.#tipOf(at), this.#tipOf(into)])
    if (tip === undefined || other === undefined || !(await isAncestor(this.objects.repository, tip, other)))
      return { isContained: false }
    const merge = await mergeThatBrought(this.objects, tip, other)
    return merge ? { isContained: true, merge } : { isContained: true }
  }

  /** Starts a search, which continues after the reply and sends its results as news to the asking window alone. */
  async #findText(
    window: Window,
    { at, files = '', wholeLines = false, ...asked }: Fields<'find text'>,
  ): Promise<Answer<'find text'>> {
    const vfs = await this.branches.vfsAt(at)
    const { tree } = await readingPlace(this.objects, vfs)
    const pathspecs = pathspecsOf(files)
    const { matchWord = false, ...question } = asked
    const wanted = await textSearch(this.objects.repository, { ...question, matchWord, tree })
    const withShownLine = await withShownLines(vfs, await this.branches.marksAt(at))
    const { search, signal } = window.beginToFind()
    const found = (lines: Match[], isDone: boolean, isCut: boolean, readOnly?: ReadOnlyFile[]) => {
      const matches = lines.map(withShownLine)
      window.tell({ say: 'found', search, matches, isDone, isCut, ...(readOnly && { readOnly }) })
    }
    const { repository } = this.objects
    const look = async () => {
      try {
        const ending =
          wholeLines && at.kind === 'branch'
            ? await findEditable(repository, wanted, {
                ...{ signal, pathspecs, maxLineChars: MAX_REPLACED_LINE_CHARS },
                whyNotEditable: paths => this.branches.whyNotReplaced(at.branch, paths, files),
                onFound: (matches, readOnly) => found(matches, false, false, readOnly),
              })
            : await findText(repository, wanted, { signal, pathspecs, onFound: it => found(it, false, false) })
        window.tell({ say: 'found', search, matches: [], isDone: true, ...ending })
      } catch (error) {
        found([], true, true)
        if (!signal.aborted) window.tell({ say: 'notice', topic: 'find text', words: errorInWords(error), isBad: true })
      } finally {
        window.endFinding(search)
      }
    }
    // The search starts after the reply, which contains the number that the results refer to.
    setImmediate(look)
    return { search, tree }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#histories[Symbol.asyncDispose]()
  }
}
