/** Asks a language server about a file of a branch, and makes its answers what the page understands. */
import { nullish } from 'valibot'
import { Failure } from '../../../core/failure.ts'
import type { Path } from '../../../core/git/repository.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import {
  type CodeAction,
  CodeActions,
  type CompletionItem,
  Completions,
  Hover,
  Locations,
  RenamePlace,
  ResolvedCompletion,
  SignatureHelp,
  type TextEdit,
  TextEdits,
  WorkspaceEdit,
} from '../../language/protocol.ts'
import type { LanguageServer } from '../../language/server.ts'
import { lineStarts, offsetOf, pathOf, withTextEdits } from '../../language/texts.ts'
import type { WorkInProgressVfs } from '../../vfs.ts'
import { changeTexts } from '../branches/change-texts.ts'
import { marksOf } from '../branches/places.ts'
import type { Answer, Fields } from '../contract/contract.ts'
import type { Completed, ListedProblem, Proposed, Signature, SymbolPlace, TextPosition } from '../contract/language.ts'
import { withShownLines } from '../reading/shown-lines.ts'
import { type BranchServers, textIn } from './branch-servers.ts'

/** At most this many items in one answer. */
const MAX = { completions: 300, places: 1_000, outside: 20, fixes: 50, problems: 2_000 }
/** At most this many characters of a line, and of a label. */
const MAX_LINE_CHARS = 400
const MAX_LABEL_CHARS = 200
/** Limits of the edits that a server proposes at once: their number, and the characters of their texts. */
const MAX_EDITS = 20_000
const MAX_EDITED_CHARS = 16 << 20
/** The time limits of questions in milliseconds: while something is typed, and for edits in many files. */
const TYPING_TIMEOUT_MS = 10_000
const EDIT_TIMEOUT_MS = 60_000
/** A server that builds its index is waited for at most this long before it is asked about all files. */
const INDEX_TIMEOUT_MS = 20_000

const QUICK = { timeout: TYPING_TIMEOUT_MS }

/** A file of a branch, and the servers of the branch. */
export type Asked = { servers: BranchServers; path: Path }

// --- Completion

/** The kinds of completions, by their number in the protocol, as CodeMirror names them. */
const KINDS: Readonly<Record<number, string>> = {
  2: 'method',
  3: 'function',
  4: 'function',
  5: 'property',
  6: 'variable',
  7: 'class',
  8: 'interface',
  9: 'namespace',
  10: 'property',
  13: 'enum',
  14: 'keyword',
  20: 'constant',
  21: 'constant',
  22: 'class',
  25: 'type',
}

export async function complete(
  { servers, path }: Asked,
  { position, prefix, trigger }: Pick<Fields<'complete'>, 'position' | 'prefix' | 'trigger'>,
): Promise<Answer<'complete'>> {
  const server = await servers.serverOf(path)
  const context = trigger === undefined ? { triggerKind: 1 } : { triggerKind: 2, triggerCharacter: trigger }
  const found = await server.ask('textDocument/completion', path, { position, context }, Completions, QUICK)
  const all = found?.items ?? []
  const wanted = prefix.toLowerCase()
  const fitting = all.filter(item => isIn(wanted, (item.filterText ?? item.label).toLowerCase()))
  fitting.sort((one, other) => {
    const starts = Number(startsWith(other, wanted)) - Number(startsWith(one, wanted))
    if (starts !== 0) return starts
    return compare(one.sortText ?? one.label, other.sortText ?? other.label)
  })
  const items = fitting.slice(0, MAX.completions)
  return {
    list: servers.keepList(items),
    items: items.map(completed),
    isIncomplete: (found?.isIncomplete ?? false) || fitting.length > items.length,
  }
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** Whether the characters of `words` are in a text, in their order. */
function isIn(words: string, text: string): boolean {
  let at = 0
  for (const character of words) {
    at = text.indexOf(character, at) + 1
    if (at === 0) return false
  }
  return true
}

const startsWith = ({ filterText, label }: CompletionItem, words: string): boolean =>
  (filterText ?? label).toLowerCase().startsWith(words)

function completed(item: CompletionItem, index: number): Completed {
  const { label, kind = 0, detail, filterText = label, insertText = label, textEdit } = item
  const text = textEdit?.newText ?? insertText
  return {
    item: index,
    // clangd indents labels, beside its marks for includes.
    label: label.trim().slice(0, MAX_LABEL_CHARS).toWellFormed(),
    filter: filterText.slice(0, MAX_LABEL_CHARS).toWellFormed(),
    text: withPlainEnds(text).slice(0, MAX_EDITED_CHARS).toWellFormed(),
    ...(textEdit && { range: textEdit.range }),
    ...(KINDS[kind] !== undefined && { kind: KINDS[kind] }),
    ...(detail !== undefined && { detail: detail.slice(0, MAX_LABEL_CHARS).toWellFormed() }),
  }
}

export async function completionDetails(
  { servers, path }: Asked,
  list: number,
  index: number,
): Promise<Answer<'completion details'>> {
  const server = await servers.serverOf(path)
  const item = servers.listed(list, index)
  const canResolve = server.capabilities?.completionProvider?.resolveProvider === true
  const more = canResolve
    ? await server.resolve('completionItem/resolve', item.raw, ResolvedCompletion)
    : { detail: undefined, documentation: undefined, additionalTextEdits: undefined }
  const edits = more.additionalTextEdits ?? ('additionalTextEdits' in item ? item.additionalTextEdits : []) ?? []
  return {
    ...(more.detail !== undefined && { detail: more.detail }),
    ...(more.documentation !== undefined && { documentation: more.documentation }),
    changes: (edits as TextEdit[]).map(asChange),
  }
}

// --- What is known of a name

export async function hover({ servers, path }: Asked, position: TextPosition): Promise<Answer<'hover'>> {
  const server = await servers.serverOf(path)
  const found = await server.ask('textDocument/hover', path, { position }, Hover, QUICK)
  if (!found || found.contents.trim() === '') return undefined
  return { markdown: found.contents, ...(found.range && { range: found.range }) }
}

export async function signatures({ servers, path }: Asked, position: TextPosition): Promise<Signature[]> {
  const server = await servers.serverOf(path)
  const found = await server.ask('textDocument/signatureHelp', path, { position }, SignatureHelp, QUICK)
  if (!found) return []
  const active = found.activeSignature ?? 0
  const ordered = found.signatures.toSorted(
    (one, other) =>
      Number(found.signatures.indexOf(other) === active) - Number(found.signatures.indexOf(one) === active),
  )
  return ordered.map(({ label, documentation, parameters = [], activeParameter }) => {
    const place = rangeIn(label, parameters[activeParameter ?? found.activeParameter ?? 0]?.label)
    return { label, ...(documentation !== undefined && { documentation }), ...(place && { parameter: place }) }
  })
}

function rangeIn(label: string, parameter: string | [number, number] | undefined): [number, number] | undefined {
  if (parameter === undefined) return undefined
  const [from, to] =
    typeof parameter === 'string' ? [label.indexOf(parameter), label.indexOf(parameter) + parameter.length] : parameter
  const isInside = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to && to <= label.length
  return isInside ? [from, to] : undefined
}

export async function symbolPlaces(
  { servers, path }: Asked,
  position: TextPosition,
  of: 'definitions' | 'references',
): Promise<Answer<'symbol places'>> {
  const server = await servers.serverOf(path)
  if (of === 'references') await server.idle(INDEX_TIMEOUT_MS)
  const found =
    of === 'definitions'
      ? await server.ask('textDocument/definition', path, { position }, Locations)
      : await server.ask(
          'textDocument/references',
          path,
          { position, context: { includeDeclaration: true } },
          Locations,
          { timeout: EDIT_TIMEOUT_MS },
        )
  const vfs = await servers.work.vfs()
  const lines = new LinesOf(server, vfs)
  const withShownLine = await withShownLines(vfs, await marksOf(servers.work))
  const places: SymbolPlace[] = []
  const outside = new Set<string>()
  for (const { uri, range } of found ?? []) {
    if (places.length >= MAX.places) break
    const there = pathOf(uri)
    const place = there === undefined ? undefined : await lines.place(there, range)
    if (place) places.push(withShownLine(place))
    else if (outside.size < MAX.outside) outside.add(nameOfOutside(uri))
  }
  places.sort(
    (one, other) =>
      Number(other.path === path) - Number(one.path === path) || compare(one.path, other.path) || one.line - other.line,
  )
  return { places, outside: [...outside], isCut: (found?.length ?? 0) > places.length + outside.size }
}

/** The name of a file that is not in the branch, for display. */
const nameOfOutside = (uri: string): string => visible(uri.split('/').slice(-3).join('/').slice(-120))

/** Lines of files, each read once: as typed where it is open, else as in the branch. */
class LinesOf {
  readonly #lines = new Map<Path, Promise<string[] | undefined>>()

  constructor(
    readonly server: LanguageServer,
    readonly vfs: WorkInProgressVfs,
  ) {}

  /** A range as a place: its first line. Undefined for a file that is not in the branch. */
  async place(path: Path, { start, end }: TextEdit['range']): Promise<SymbolPlace | undefined> {
    const known = this.#lines.get(path) ?? this.#read(path)
    this.#lines.set(path, known)
    const line = (await known)?.[start.line]
    if (line === undefined) return undefined
    const to = end.line === start.line ? Math.min(end.character, line.length) : line.length
    const cut = line.slice(0, MAX_LINE_CHARS).toWellFormed()
    const ranges: [number, number][] = start.character <= to ? [[Math.min(start.character, to), to]] : []
    return { path, line: start.line + 1, text: cut, ranges }
  }

  async #read(path: Path): Promise<string[] | undefined> {
    return (this.server.textOf(path) ?? (await textIn(this.vfs, path).catch(() => undefined)))?.split('\n')
  }
}

// --- Problems

const RANKS = { error: 0, warning: 1, info: 2, hint: 3 }

/** The problems that the servers of a branch have told of, in all its files, without hints. */
export async function allProblems(servers: BranchServers): Promise<ListedProblem[]> {
  servers.tellTyped()
  const vfs = await servers.work.vfs()
  const withShownLine = await withShownLines(vfs, await marksOf(servers.work))
  const listed: ListedProblem[] = []
  for (const server of servers.servers) {
    const lines = new LinesOf(server, vfs)
    for (const path of server.pathsWithProblems) {
      for (const { range, severity, message } of server.problemsOf(path)) {
        if (severity === 'hint' || listed.length >= MAX.problems) continue
        const place = await lines.place(path, range)
        if (place)
          listed.push({ ...withShownLine(place), text: message.split('\n')[0] ?? '', ranges: place.ranges, severity })
      }
    }
  }
  return listed.sort(
    (one, other) =>
      RANKS[one.severity] - RANKS[other.severity] || compare(one.path, other.path) || one.line - other.line,
  )
}

// --- Edits

export async function symbolToRename(
  { servers, path }: Asked,
  position: TextPosition,
): Promise<Answer<'symbol to rename'>> {
  const server = await servers.serverOf(path)
  const provider = server.capabilities?.renameProvider
  const typed = servers.work.textOf(path)?.text ?? ''
  const prepares = typeof provider === 'object' && provider.prepareProvider === true
  const place = prepares ? await server.ask('textDocument/prepareRename', path, { position }, RenamePlace) : undefined
  if (prepares && !place) return undefined
  if (place?.placeholder !== undefined) return { name: place.placeholder }
  const starts = lineStarts(typed)
  if (place?.range) {
    const [from, to] = [place.range.start, place.range.end].map(at => offsetOf(typed, starts, at))
    return { name: typed.slice(from, to).slice(0, MAX_LABEL_CHARS) }
  }
  const at = offsetOf(typed, starts, position)
  const before = /[\p{L}\p{N}_$]*$/u.exec(typed.slice(Math.max(0, at - MAX_LABEL_CHARS), at))?.[0] ?? ''
  const after = /^[\p{L}\p{N}_$]*/u.exec(typed.slice(at, at + MAX_LABEL_CHARS))?.[0] ?? ''
  return before + after === '' ? undefined : { name: before + after }
}

export async function renameSymbol(asked: Asked, position: TextPosition, name: string): Promise<Proposed> {
  const { servers, path } = asked
  const server = await servers.serverOf(path)
  const params = { position, newName: name }
  await server.idle(INDEX_TIMEOUT_MS)
  return await propose(asked, `rename a symbol to ${visible(name)}`, async () => {
    const edit = await server.ask('textDocument/rename', path, params, ANY_EDIT, { timeout: EDIT_TIMEOUT_MS })
    return edit ? [edit] : []
  })
}

/** Actions on the code at a place. Left out are those of a whole file or package, and links to documentation. */
const OFFERED_KINDS = /^(quickfix|refactor|source\.(organizeImports|fixAll)|$)/

export async function quickFixes({ servers, path }: Asked, range: TextEdit['range']): Promise<Answer<'quick fixes'>> {
  const server = await servers.serverOf(path)
  const diagnostics = server
    .problemsOf(path)
    .filter(problem => touches(problem.range, range))
    .map(problem => ({ ...problem.raw, range: problem.range }))
  const found = await server.ask(
    'textDocument/codeAction',
    path,
    { range, context: { diagnostics, triggerKind: 1 } },
    CodeActions,
  )
  const rank = ({ kind, isPreferred }: CodeAction) => (isPreferred ? 0 : kind.startsWith('quickfix') ? 1 : 2)
  const fixes = (found ?? [])
    .filter(({ isDisabled, kind }) => !isDisabled && OFFERED_KINDS.test(kind))
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, MAX.fixes)
  return { list: servers.keepList(fixes), fixes: fixes.map(({ title }, fix) => ({ fix, title })) }
}

function touches(one: TextEdit['range'], other: TextEdit['range']): boolean {
  const isBefore = (a: TextPosition, b: TextPosition) =>
    a.line < b.line || (a.line === b.line && a.character < b.character)
  return !isBefore(one.end, other.start) && !isBefore(other.end, one.start)
}

export async function makeQuickFix(asked: Asked, list: number, fix: number): Promise<Proposed> {
  const { servers, path } = asked
  const server = await servers.serverOf(path)
  const action = servers.listed(list, fix)
  if (!('title' in action)) throw new Failure('This list is out of date: open it again.')
  return await propose(asked, `quick fix: ${visible(action.title)}`, () => server.editsOf(action))
}

export async function format(
  asked: Asked,
  { tabSize, usesSpaces }: Pick<Fields<'format by server'>, 'tabSize' | 'usesSpaces'>,
): Promise<Proposed> {
  const { servers, path } = asked
  const server = await servers.serverOf(path)
  if (!server.capabilities?.documentFormattingProvider)
    throw new Failure(
      `${server.spec.program} does not format: add a formatter to FORGE.md, under Checks, as - mend: \`COMMAND\`.`,
    )
  const options = { tabSize, insertSpaces: usesSpaces }
  return await propose(asked, `format ${visiblePath(path)}`, async uri => {
    const edits = await server.ask('textDocument/formatting', path, { options }, TextEdits, {
      timeout: EDIT_TIMEOUT_MS,
    })
    return edits ? [{ files: [{ uri, edits }], isWhole: true }] : []
  })
}

/** The edit of a rename: null where there is nothing to do. */
const ANY_EDIT = nullish(WorkspaceEdit)

/**
 * Takes over the edits that a server proposes, all or none: only in files of the branch, and within limits. Those of
 * the asked file alone are made by the page, in its editor; others become drafts, by one operation.
 */
async function propose(
  { servers, path }: Asked,
  words: string,
  ask: (uri: string) => Promise<readonly WorkspaceEdit[]>,
): Promise<Proposed> {
  const { work } = servers
  work.verifyFree()
  const vfs = await servers.follow()
  const version = work.textOf(path)?.version ?? 0
  const edits = await ask(OWN_FILE)
  const files = await editsByPath(edits, path, vfs)
  const count = [...files.values()].reduce((sum, all) => sum + all.length, 0)
  const own = files.get(path)
  if (count === 0) return { files: 0, edits: 0, version, skipped: [] }
  const typed = work.textOf(path)
  if (own && files.size === 1 && typed) {
    if (withTextEdits(typed.text, own) === undefined)
      throw new Failure('The edits of the language server do not fit the text. Nothing was changed.')
    return { changes: own.map(asChange), files: 1, edits: count, version, skipped: [] }
  }
  const made = await changeTexts(work, {
    tree: await vfs.writeTree(),
    kind: 'replace',
    words: changed => `${words} in ${many(changed, 'file')} in ${visiblePath(work.name)}`,
    files: [...files].map(([file, all]) => ({
      path: file,
      count: all.length,
      change: text => withTextEdits(text, all.map(withoutReturns)),
    })),
    hasChanged: file => new Failure(`${visiblePath(file)} has changed meanwhile. Nothing was changed: try again.`),
  })
  return { ...made, version }
}

/** Stands for the asked file in edits that name no other. */
const OWN_FILE = ''

async function editsByPath(
  edits: readonly WorkspaceEdit[],
  own: Path,
  vfs: WorkInProgressVfs,
): Promise<Map<Path, TextEdit[]>> {
  if (edits.some(({ isWhole }) => !isWhole))
    throw new Failure('The language server would also create, rename or delete files. Nothing was changed.')
  const files = new Map<Path, TextEdit[]>()
  let [count, characters] = [0, 0]
  for (const { uri, edits: some } of edits.flatMap(({ files }) => files)) {
    if (some.length === 0) continue
    const path = uri === OWN_FILE ? own : pathOf(uri)
    if (path === undefined || !(await vfs.fileExists(path)))
      throw new Failure('The language server would change files outside of this branch. Nothing was changed.')
    files.set(path, [...(files.get(path) ?? []), ...some])
    count += some.length
    characters += some.reduce((sum, { newText }) => sum + newText.length, 0)
    if (count > MAX_EDITS || characters > MAX_EDITED_CHARS)
      throw new Failure('The language server would change more than is changed at once. Nothing was changed.')
  }
  return files
}

const withPlainEnds = (text: string): string => text.replaceAll('\r\n', '\n')
const withoutReturns = (edit: TextEdit): TextEdit => ({ ...edit, newText: withPlainEnds(edit.newText) })
const asChange = ({ range, newText }: TextEdit) => ({ range, text: withPlainEnds(newText).toWellFormed() })
