/** Answers the page's questions about code: where names are defined and mentioned, and how a file is built. */
import { withOneSideInPlace } from '../../../core/git/conflict-marks.ts'
import { findText, type GrepMatch, textSearch } from '../../../core/git/grep.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Path } from '../../../core/git/repository.ts'
import type { CodeFacts, Definition } from '../../code/facts.ts'
import { CodeReader, type StartParser } from '../../code/reader.ts'
import { type Vfs, WorkInProgressVfs } from '../../vfs.ts'
import type { codeQuestions, DefinitionPlace, FileStructure, LineRange } from '../contract/code.ts'
import type { Answer, Fields } from '../contract/contract.ts'
import type { Handlers } from '../contract/question.ts'
import type { At } from '../contract/values.ts'
import { readingPlace } from '../reading/place.ts'
import { type MarkLengths, type WithShownLine, withShownLines } from '../reading/shown-lines.ts'
import type { Window } from '../server/window.ts'
import { structureOf } from './structure.ts'
import { SymbolIndex } from './symbol-index.ts'

/** At most this many lines with a name are read. */
const MAX_LINES = 2000
/** At most this many files with a name are parsed for one question. */
const MAX_FILES = 400
/** A larger text, in bytes, has no structure: the editor does not colour it either. */
const MAX_TEXT_BYTES = 1 << 20

export type CodeOptions = {
  /** The files of a branch with its drafts, or those of a commit. */
  vfsAt: (at: At) => Promise<Vfs>
  /** The lengths of conflict markers in the files of a branch or commit that can have them. */
  marksAt: (at: At) => Promise<MarkLengths>
  /** The folder of the cache, outside any repository. */
  folder: string
  /** How parsers are started. Default: with processes of their own. */
  startParser?: StartParser | undefined
}

/** A file with lines that have the name, and what is known of it from its syntax. */
type NamedFile = { path: Path; lines: readonly GrepMatch[]; facts: CodeFacts }

export class Code implements Disposable {
  #opened: CodeReader | undefined
  #symbols: SymbolIndex | undefined

  constructor(
    readonly objects: Objects,
    readonly options: CodeOptions,
  ) {}

  readonly handlers: Handlers<typeof codeQuestions, Window> = {
    'named places': fields => this.#namedPlaces(fields),
    'file structure': fields => this.#fileStructure(fields),
    'syntax around': async ({ at, path, ranges }) => {
      const text = await this.#textOf(await this.options.vfsAt(at), path)
      const around = text === undefined ? undefined : await this.#reader.around(path, text, ranges)
      return (around ?? []).map(list => list.map((range): LineRange => [...range]))
    },
    'find symbol': async ({ at, words, count }) => {
      const files = await this.options.vfsAt(at)
      const { tree } = await readingPlace(this.objects, files)
      const { symbols, left } = await this.#index.find(tree, words, count)
      return { symbols: symbols.map(await this.#withShownLines(at, files)), left }
    },
  }

  async #fileStructure({ at, path }: Fields<'file structure'>): Promise<FileStructure> {
    const files = await this.options.vfsAt(at)
    this.#readAhead(files)
    const text = await this.#textOf(files, path)
    return text === undefined ? { symbols: [], folds: [] } : await structureOf(this.#reader, path, text)
  }

  /** Reads the saved files of a branch in the background, so that its symbols are found at once later. */
  async #readAhead(files: Vfs): Promise<void> {
    const commit = files instanceof WorkInProgressVfs ? files.base : undefined
    if (commit === undefined) return
    try {
      const tree = await this.objects.info(`${commit}^{tree}`)
      if (tree) await this.#index.warm(tree.oid)
    } catch {
      // The search itself says what is wrong.
    }
  }

  /**
   * The text of a file, with one side of each conflict in it; undefined for a binary or large one, or where there is
   * none.
   */
  async #textOf(files: Vfs, path: Path): Promise<string | undefined> {
    const entry = await files.entryAt(path)
    if (!entry?.mode.startsWith('100')) return undefined
    const bytes = await files.readFile(path)
    if (bytes.length > MAX_TEXT_BYTES || bytes.subarray(0, 8192).includes(0)) return undefined
    // The page shows a text without its byte order mark.
    return withOneSideInPlace(bytes.toString('utf8').replace(/^\ufeff/, ''))
  }

  async #namedPlaces({ at, path, name }: Fields<'named places'>): Promise<Answer<'named places'>> {
    const vfs = await this.options.vfsAt(at)
    const { tree } = await readingPlace(this.objects, vfs)
    const { repository } = this.objects
    const search = await textSearch(repository, { tree, words: name, isRegex: false, matchCase: true, matchWord: true })
    const lines: GrepMatch[] = []
    const { isCut } = await findText(repository, search, {
      signal: new AbortController().signal,
      onFound: found => lines.push(...found),
      most: MAX_LINES,
    })
    const byPath = [...Map.groupBy(lines, match => match.path)]
    const ordered = byPath.sort(([one], [other]) => Number(other === path) - Number(one === path))
    const files = await this.#filesOf(tree, ordered.slice(0, MAX_FILES))
    const definitions = files.flatMap(file => definitionsIn(file, name))
    definitions.sort((one, other) => one.rank - other.rank)
    const mentions = files.filter(file => isMentionedIn(file, name)).flatMap(file => file.lines)
    const withShownLine = await this.#withShownLines(at, vfs)
    return {
      definitions: definitions.map(({ place }) => withShownLine(place)),
      mentions: mentions.map(withShownLine),
      isCut: isCut || ordered.length > MAX_FILES,
    }
  }

  async #withShownLines(at: At, files: Vfs): Promise<WithShownLine> {
    return await withShownLines(files, await this.options.marksAt(at))
  }

  async #filesOf(tree: string, found: readonly [Path, GrepMatch[]][]): Promise<NamedFile[]> {
    const facts = await this.#reader.factsAt(
      tree,
      found.map(([path]) => path),
    )
    return found.flatMap(([path, lines]) => {
      const known = facts.get(path)
      return known ? [{ path, lines, facts: known }] : []
    })
  }

  /** The reader of facts, whose cache is opened by the first question. */
  get #reader(): CodeReader {
    this.#opened ??= new CodeReader(this.objects, this.options.folder, this.options.startParser)
    return this.#opened
  }

  get #index(): SymbolIndex {
    this.#symbols ??= new SymbolIndex(this.objects, this.#reader)
    return this.#symbols
  }

  [Symbol.dispose](): void {
    this.#symbols?.[Symbol.dispose]()
    this.#opened?.[Symbol.dispose]()
  }
}

/** The definitions of a name in a file. Those with a lower rank are listed first. */
function definitionsIn({ path, facts }: NamedFile, name: string): { place: DefinitionPlace; rank: number }[] {
  return facts.definitions
    .filter(definition => isNamed(definition, name) && definition.kind !== 'impl')
    .map(definition => {
      const { line, signature: text, kind } = definition
      const column = definition.column + definition.name.length - name.length
      const place = { path, line, ranges: [[column, column + name.length] as [number, number]], text, kind }
      return { place, rank: rankOf(facts, definition) }
    })
}

/** Whether a definition has this name. A module, as `Phoenix.Endpoint`, also has that of its last part. */
const isNamed = (definition: Definition, name: string): boolean =>
  definition.name === name || definition.name.endsWith(`.${name}`)

/** A constructor says less than its class, and a declaration without a body less than the definition itself. */
function rankOf({ definitions }: CodeFacts, { kind, name, inside }: Definition): number {
  if (kind === 'declaration') return 2
  const around = inside === undefined ? undefined : definitions[inside]
  return around?.kind === 'class' && around.name === name ? 1 : 0
}

/** Whether the name is in the code of a file, and not only in its comments and strings. */
function isMentionedIn({ facts }: NamedFile, name: string): boolean {
  // A file that was not parsed (no grammar, generated, too large) is judged by its text.
  const isParsed = facts.references.length > 0
  if (!isParsed || facts.definitions.some(definition => isNamed(definition, name))) return true
  // The references of a file that is read by its lines have no `!` and `?`.
  return facts.references.includes(name) || facts.references.includes(name.replace(/[!?]$/, ''))
}
