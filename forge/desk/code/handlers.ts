/** Answers the page's questions about code: where a name is defined and mentioned in a branch or commit. */
import { findText, type GrepMatch, textSearch } from '../../../core/git/grep.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Path } from '../../../core/git/repository.ts'
import { entryAt, type FileEntry } from '../../../core/git/trees.ts'
import type { CodeFacts } from '../../code/facts.ts'
import { grammarOf } from '../../code/languages.ts'
import { CodeReader } from '../../code/reader.ts'
import type { Vfs } from '../../vfs.ts'
import type { codeQuestions, DefinitionPlace } from '../contract/code.ts'
import type { Answer, Fields } from '../contract/contract.ts'
import type { Handlers } from '../contract/question.ts'
import type { At } from '../contract/values.ts'
import { readingPlace } from '../reading/place.ts'
import type { Window } from '../server/window.ts'

/** At most this many lines with a name are read. */
const MAX_LINES = 2000
/** At most this many files with a name are parsed for one question. */
const MAX_FILES = 400

export type CodeOptions = {
  /** The files of a branch with its drafts, or those of a commit. */
  vfsAt: (at: At) => Promise<Vfs>
  /** The folder of the cache, outside any repository. */
  folder: string
}

/** A file with lines that have the name, and what is known of it from its syntax. */
type NamedFile = { path: Path; lines: readonly GrepMatch[]; facts: CodeFacts }

export class Code implements Disposable {
  #opened: CodeReader | undefined

  constructor(
    readonly objects: Objects,
    readonly options: CodeOptions,
  ) {}

  readonly handlers: Handlers<typeof codeQuestions, Window> = {
    'named places': fields => this.#namedPlaces(fields),
  }

  async #namedPlaces({ at, path, name }: Fields<'named places'>): Promise<Answer<'named places'>> {
    const { tree } = await readingPlace(this.objects, await this.options.vfsAt(at))
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
    // A declaration without a body says less than the definition itself.
    definitions.sort((one, other) => Number(isDeclaration(one)) - Number(isDeclaration(other)))
    const mentions = files.filter(file => isMentionedIn(file, name)).flatMap(file => file.lines)
    return { definitions, mentions, isCut: isCut || ordered.length > MAX_FILES }
  }

  async #filesOf(tree: string, found: readonly [Path, GrepMatch[]][]): Promise<NamedFile[]> {
    const entries = await Promise.all(
      found.map(async ([path]): Promise<FileEntry | undefined> => {
        const entry = await entryAt(this.objects, tree, path)
        return entry && { ...entry, path }
      }),
    )
    const there = found.flatMap(([path, lines], index) => {
      const entry = entries[index]
      return entry ? [{ path, lines, entry }] : []
    })
    const facts = await this.#reader.factsOf(there.map(({ entry }) => entry))
    return there.flatMap(({ path, lines }, index) => {
      const known = facts[index]
      return known ? [{ path, lines, facts: known }] : []
    })
  }

  /** The reader of facts, whose cache is opened by the first question. */
  get #reader(): CodeReader {
    this.#opened ??= new CodeReader(this.objects, this.options.folder)
    return this.#opened
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]()
  }
}

const isDeclaration = ({ kind }: DefinitionPlace): boolean => kind === 'declaration'

/** The definitions of a name in a file, at the first line of each that has the name. */
function definitionsIn({ path, lines, facts }: NamedFile, name: string): DefinitionPlace[] {
  return facts.definitions.flatMap((definition): DefinitionPlace[] => {
    if (definition.name !== name || definition.kind === 'impl') return []
    const line = lines.find(({ line }) => line >= definition.start && line <= definition.end)
    if (!line) return []
    return [{ path, line: line.line, ranges: line.ranges, text: definition.signature, kind: definition.kind }]
  })
}

/** Whether the name is in the code of a file, and not only in its comments and strings. */
function isMentionedIn({ path, facts }: NamedFile, name: string): boolean {
  // A file that was not parsed (no grammar, generated, too large) is judged by its text.
  const isParsed = grammarOf(path) !== undefined && facts.references.length > 0
  return !isParsed || facts.references.includes(name) || facts.definitions.some(definition => definition.name === name)
}
