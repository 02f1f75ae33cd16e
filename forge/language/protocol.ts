/**
 * The part of the Language Server Protocol that is used: what is sent at the start, and schemas of the answers. A
 * server is untrusted, so lists and texts are cut, and an item that is not as the protocol has it is left out.
 */
import * as v from 'valibot'
import { WORKSPACE } from './launch.ts'
import { Position, Range } from './texts.ts'

/** At most this many characters of a message, and of a documentation. */
const MAX_MESSAGE_CHARS = 2_000
const MAX_DOCUMENTATION_CHARS = 20_000
/** Data of a problem that is longer as JSON is not kept, and so not sent back. */
const MAX_DATA_CHARS = 4_000
/** At most this many items of a list are read. */
const MAX = { problems: 1_000, completions: 20_000, locations: 5_000, edits: 20_000, files: 2_000, fixes: 200 }

/** The items of a list that fit a schema, of the first `most`. */
const some = <Schema extends v.GenericSchema>(schema: Schema, most: number) =>
  v.pipe(
    v.array(v.unknown()),
    v.transform(items =>
      items.slice(0, most).flatMap((item): v.InferOutput<Schema>[] => {
        const parsed = v.safeParse(schema, item)
        return parsed.success ? [parsed.output] : []
      }),
    ),
  )

const text = (most: number) =>
  v.pipe(
    v.string(),
    v.transform(it => it.slice(0, most).toWellFormed()),
  )
const Name = text(400)

// --- Problems

const Severity = v.picklist([1, 2, 3, 4])

/** `raw`: what the server wants back with a question for fixes. */
export const Diagnostic = v.pipe(
  v.object({
    range: Range,
    severity: v.optional(Severity),
    code: v.optional(v.union([v.number(), v.pipe(v.string(), v.maxLength(400))])),
    source: v.optional(v.pipe(v.string(), v.maxLength(400))),
    message: text(MAX_MESSAGE_CHARS),
    tags: v.optional(v.pipe(v.array(v.number()), v.maxLength(20))),
    data: v.pipe(
      v.optional(v.unknown()),
      v.transform(data => ((JSON.stringify(data)?.length ?? 0) > MAX_DATA_CHARS ? undefined : data)),
    ),
  }),
  v.transform(raw => ({
    range: raw.range,
    severity: SEVERITIES[raw.severity ?? 1],
    message: raw.message,
    source: [raw.source, raw.code]
      .filter(it => it !== undefined)
      .join(' ')
      .slice(0, 100)
      .toWellFormed(),
    isUnused: raw.tags?.includes(1) === true,
    raw,
  })),
)
export type Diagnostic = v.InferOutput<typeof Diagnostic>

const SEVERITIES = { 1: 'error', 2: 'warning', 3: 'info', 4: 'hint' } as const

export const PublishedDiagnostics = v.object({
  uri: v.string(),
  version: v.optional(v.nullable(v.number())),
  diagnostics: some(Diagnostic, MAX.problems),
})

/** The begin, a report or the end of a server's own work, such as building an index. */
export const Progress = v.object({
  token: v.union([v.number(), v.pipe(v.string(), v.maxLength(400))]),
  value: v.object({ kind: v.picklist(['begin', 'report', 'end']) }),
})

// --- Texts

const Markup = v.union([
  v.string(),
  v.object({ kind: v.picklist(['plaintext', 'markdown']), value: v.string() }),
  v.object({ language: v.string(), value: v.string() }),
])

/** A fence that is longer than any in a text. */
const fenceFor = (content: string): string =>
  '`'.repeat(Math.max(3, ...[...content.matchAll(/`+/g)].map(([run]) => run.length + 1)))

/** A text of the protocol as Markdown. Plain text is quoted, so that nothing in it is markup. */
function asMarkdown(markup: v.InferOutput<typeof Markup>): string {
  if (typeof markup === 'string') return markup
  const value = markup.value.slice(0, MAX_DOCUMENTATION_CHARS)
  if ('kind' in markup && markup.kind === 'markdown') return value
  const fence = fenceFor(value)
  const language = 'language' in markup ? markup.language.replace(/[^\w+-]/g, '').slice(0, 40) : ''
  return `${fence}${language}\n${value}\n${fence}`
}

/** Documentation as Markdown. */
const Documentation = v.pipe(
  Markup,
  v.transform(markup => asMarkdown(markup).slice(0, MAX_DOCUMENTATION_CHARS).toWellFormed()),
)

export const Hover = v.nullish(
  v.object({
    contents: v.pipe(
      v.union([Markup, v.array(Markup)]),
      v.transform(found =>
        [found].flat().slice(0, 50).map(asMarkdown).join('\n\n').slice(0, MAX_DOCUMENTATION_CHARS).toWellFormed(),
      ),
    ),
    range: v.optional(Range),
  }),
)

export const SignatureHelp = v.nullish(
  v.object({
    signatures: some(
      v.object({
        label: text(MAX_MESSAGE_CHARS),
        documentation: v.optional(Documentation),
        parameters: v.optional(some(v.object({ label: v.union([Name, v.tuple([v.number(), v.number()])]) }), 100)),
        activeParameter: v.nullish(v.number()),
      }),
      50,
    ),
    activeSignature: v.nullish(v.number()),
    activeParameter: v.nullish(v.number()),
  }),
)

// --- Edits

export const TextEdit = v.object({ range: Range, newText: v.string() })
export type TextEdit = v.InferOutput<typeof TextEdit>

const FileEdits = v.object({ textDocument: v.object({ uri: v.string() }), edits: some(TextEdit, MAX.edits) })
/** `isWhole`: nothing was left out, and nothing else than texts is changed (no file is created, renamed or deleted). */
export const WorkspaceEdit = v.pipe(
  v.looseObject({
    changes: v.optional(v.record(v.string(), some(TextEdit, MAX.edits))),
    documentChanges: v.optional(v.array(v.unknown())),
  }),
  v.transform(({ changes = {}, documentChanges = [] }) => {
    const listed = documentChanges.slice(0, MAX.files).map(change => v.safeParse(FileEdits, change))
    const documents = listed.flatMap(it => (it.success ? [it.output] : []))
    const files = [
      ...Object.entries(changes).map(([uri, edits]) => ({ uri, edits })),
      ...documents.map(({ textDocument: { uri }, edits }) => ({ uri, edits })),
    ]
    const isWhole = documents.length === documentChanges.length && files.length <= MAX.files
    return { files, isWhole }
  }),
)
export type WorkspaceEdit = v.InferOutput<typeof WorkspaceEdit>

export const TextEdits = v.nullish(some(TextEdit, MAX.edits))

/** `range`: that of the name to rename; `placeholder`: the name; neither: the word at the position. */
export const RenamePlace = v.nullish(
  v.union([
    v.object({ range: Range, placeholder: v.optional(Name) }),
    v.pipe(
      v.object({ defaultBehavior: v.boolean() }),
      v.transform(() => ({ range: undefined, placeholder: undefined })),
    ),
    v.pipe(
      Range,
      v.transform(range => ({ range, placeholder: undefined })),
    ),
  ]),
)

const Command = v.object({
  title: v.string(),
  command: v.pipe(v.string(), v.maxLength(400)),
  arguments: v.optional(v.array(v.unknown())),
})
/** `raw`: the action as the server sent it, to be resolved. */
export const CodeAction = v.pipe(
  v.looseObject({
    title: v.string(),
    kind: v.optional(Name),
    isPreferred: v.optional(v.boolean()),
    disabled: v.optional(v.unknown()),
    edit: v.optional(WorkspaceEdit),
    command: v.optional(v.union([v.string(), Command])),
    arguments: v.optional(v.array(v.unknown())),
  }),
  v.transform(raw => ({
    title: raw.title.slice(0, 200).toWellFormed(),
    kind: raw.kind ?? '',
    isPreferred: raw.isPreferred === true,
    isDisabled: raw.disabled !== undefined,
    edit: raw.edit,
    command: typeof raw.command === 'string' ? { command: raw.command, arguments: raw.arguments } : raw.command,
    raw,
  })),
)
export type CodeAction = v.InferOutput<typeof CodeAction>
export const CodeActions = v.nullish(some(CodeAction, MAX.fixes))
export const ApplyEdit = v.object({ edit: WorkspaceEdit })

// --- Completion

export const CompletionItem = v.pipe(
  v.looseObject({
    label: v.string(),
    kind: v.optional(v.number()),
    detail: v.optional(v.string()),
    documentation: v.optional(v.unknown()),
    sortText: v.optional(v.string()),
    filterText: v.optional(v.string()),
    insertText: v.optional(v.string()),
    insertTextFormat: v.optional(v.number()),
    textEdit: v.optional(
      v.union([
        TextEdit,
        v.pipe(
          v.object({ insert: Range, newText: v.string() }),
          v.transform(({ insert, newText }) => ({ range: insert, newText })),
        ),
      ]),
    ),
    additionalTextEdits: v.optional(some(TextEdit, MAX.edits)),
  }),
  v.transform(raw => ({ ...raw, raw })),
)
export type CompletionItem = v.InferOutput<typeof CompletionItem>

const CompletionItems = some(CompletionItem, MAX.completions)
export const Completions = v.nullish(
  v.union([
    v.pipe(
      CompletionItems,
      v.transform(items => ({ items, isIncomplete: false })),
    ),
    v.object({ items: CompletionItems, isIncomplete: v.optional(v.boolean(), false) }),
  ]),
)
export const ResolvedCompletion = v.looseObject({
  detail: v.optional(text(MAX_MESSAGE_CHARS)),
  documentation: v.optional(Documentation),
  additionalTextEdits: v.optional(some(TextEdit, MAX.edits)),
})

// --- Places

const Location = v.union([
  v.object({ uri: v.string(), range: Range }),
  v.pipe(
    v.object({ targetUri: v.string(), targetSelectionRange: Range }),
    v.transform(({ targetUri, targetSelectionRange }) => ({ uri: targetUri, range: targetSelectionRange })),
  ),
])
export const Locations = v.nullish(
  v.union([
    some(Location, MAX.locations),
    v.pipe(
      Location,
      v.transform(location => [location]),
    ),
  ]),
)

// --- The start

const Provider = v.optional(v.unknown())
export const Initialized = v.object({
  capabilities: v.looseObject({
    positionEncoding: v.optional(v.string()),
    textDocumentSync: v.optional(
      v.union([v.number(), v.looseObject({ change: v.optional(v.number()), save: v.optional(v.unknown()) })]),
    ),
    completionProvider: v.optional(
      v.looseObject({
        triggerCharacters: v.optional(some(v.pipe(v.string(), v.maxLength(2)), 50)),
        resolveProvider: v.optional(v.boolean()),
      }),
    ),
    signatureHelpProvider: v.optional(
      v.looseObject({ triggerCharacters: v.optional(some(v.pipe(v.string(), v.maxLength(2)), 50)) }),
    ),
    hoverProvider: Provider,
    definitionProvider: Provider,
    referencesProvider: Provider,
    renameProvider: v.optional(v.union([v.boolean(), v.looseObject({ prepareProvider: v.optional(v.boolean()) })])),
    codeActionProvider: v.optional(v.union([v.boolean(), v.looseObject({ resolveProvider: v.optional(v.boolean()) })])),
    documentFormattingProvider: Provider,
  }),
})
export type Capabilities = v.InferOutput<typeof Initialized>['capabilities']

const FORMATS = ['markdown', 'plaintext']
const ROOT = `file://${WORKSPACE}`

/** The parameters of the first request to a server. */
export const initializeParams = (initializationOptions: unknown) => ({
  processId: null,
  clientInfo: { name: 'forge' },
  rootUri: ROOT,
  workspaceFolders: [{ uri: ROOT, name: 'workspace' }],
  initializationOptions,
  capabilities: {
    general: { positionEncodings: ['utf-16'] },
    window: { workDoneProgress: true },
    workspace: {
      configuration: true,
      workspaceFolders: true,
      applyEdit: true,
      workspaceEdit: { documentChanges: true },
      didChangeWatchedFiles: { dynamicRegistration: true },
    },
    textDocument: {
      synchronization: { didSave: true },
      publishDiagnostics: { versionSupport: true, tagSupport: { valueSet: [1, 2] } },
      completion: {
        contextSupport: true,
        completionItem: {
          snippetSupport: false,
          documentationFormat: FORMATS,
          resolveSupport: { properties: ['documentation', 'detail', 'additionalTextEdits'] },
        },
      },
      hover: { contentFormat: FORMATS },
      signatureHelp: {
        contextSupport: true,
        signatureInformation: {
          documentationFormat: FORMATS,
          parameterInformation: { labelOffsetSupport: true },
          activeParameterSupport: true,
        },
      },
      definition: { linkSupport: true },
      references: {},
      rename: { prepareSupport: true },
      codeAction: {
        codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix', 'refactor', 'source'] } },
        isPreferredSupport: true,
        disabledSupport: true,
        dataSupport: true,
        resolveSupport: { properties: ['edit'] },
      },
      formatting: {},
    },
  },
})

export { Position }
