/** One language server: its start, the texts that it knows, the problems that it has found, and questions to it. */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import type { Path } from '../../core/git/repository.ts'
import type { FileEvent } from './branch-copy.ts'
import { Connection } from './connection.ts'
import type { Launcher } from './launch.ts'
import {
  ApplyEdit,
  type Capabilities,
  type CodeAction,
  type Diagnostic,
  Initialized,
  initializeParams,
  Progress,
  PublishedDiagnostics,
  WorkspaceEdit,
} from './protocol.ts'
import type { ServerSpec } from './servers.ts'
import { editBetween, forServer, lineStarts, movedRange, pathOf, positionOf, uriOf } from './texts.ts'

/** The time limits of the start, and of making an edit, in milliseconds. */
const START_TIMEOUT_MS = 120_000
const EDIT_TIMEOUT_MS = 60_000
/** At most this many files have problems that are kept; those of others are dropped. */
const MAX_FILES_WITH_PROBLEMS = 2_000
/** At most this many earlier texts of a file are kept, since problems may be found in one of them. */
const MAX_EARLIER_TEXTS = 10
/** At most this many tasks of a server are followed at a time. */
const MAX_TASKS = 100
const BETWEEN_TASKS_MS = 200
/** A server has found all problems of a text when it sends none for this long after its first, in milliseconds. */
const QUIET_MS = 1_500

/** A text that the server knows. `earlier`: texts of lower versions, the newest first. */
type Known = { version: number; text: string; languageId: string; earlier: { version: number; text: string }[] }

/** Problems of a file, and the text in which they were found; undefined for a file that is not open. */
type Found = { problems: Diagnostic[]; text: string | undefined }

export type ServerOptions = {
  /** Called when the problems of a file have changed. */
  onProblems: (path: Path) => void
  /** Called once when the server has ended or was ended; `why`: a sentence. */
  onEnd: (why: string) => void
  /**
   * Resolves when the folder has its files: the server is told that it may read them then (`initialized`), while its
   * program, and the programs that it starts itself, are loaded before. Default: the files are there.
   */
  filesAreThere?: Promise<void>
}

export class LanguageServer {
  readonly #connection: Connection
  /** Resolves when the server can be asked. Rejects with a {@link Failure} where it does not start. */
  readonly ready: Promise<Capabilities>
  #capabilities: Capabilities | undefined
  readonly #known = new Map<Path, Known>()
  readonly #found = new Map<Path, Found>()
  /** The edits that the server asks to make while one of its commands runs; undefined at other times. */
  #proposed: WorkspaceEdit[] | undefined
  readonly #listeners = new Set<(path: Path) => void>()
  /** The tokens of the server's own tasks that are under way. */
  readonly #tasks = new Set<number | string>()
  readonly #whenIdle = new Set<() => void>()

  constructor(
    readonly spec: ServerSpec,
    launcher: Launcher,
    folder: string,
    readonly options: ServerOptions,
  ) {
    this.#connection = new Connection(launcher.start(spec, folder), {
      onNotification: (method, params) => this.#notified(method, params),
      onRequest: (method, params) => this.#requested(method, params),
      onEnd: options.onEnd,
      patience: launcher.patience ?? 1,
    })
    this.ready = this.#start()
    this.ready.catch(() => undefined)
  }

  get hasEnded(): boolean {
    return this.#connection.hasEnded
  }

  /** What the server can do; undefined before it has started. */
  get capabilities(): Capabilities | undefined {
    return this.#capabilities
  }

  end(why: string): void {
    this.#connection.end(why)
  }

  async #start(): Promise<Capabilities> {
    try {
      const params = initializeParams(this.spec.initializationOptions)
      const options = { timeout: START_TIMEOUT_MS }
      const { capabilities } = await this.#connection.request('initialize', params, Initialized, options)
      if ((capabilities.positionEncoding ?? 'utf-16') !== 'utf-16')
        throw new Failure('It counts characters in another way than it was asked to.')
      await this.options.filesAreThere
      this.#connection.notify('initialized', {})
      this.#connection.notify('workspace/didChangeConfiguration', { settings: this.spec.settings })
      this.#capabilities = capabilities
      for (const [path, known] of this.#known) this.#sayOpen(path, known)
      return capabilities
    } catch (error) {
      this.end(error instanceof Failure ? error.message : 'It did not start.')
      throw error
    }
  }

  // --- Texts

  get openPaths(): Path[] {
    return [...this.#known.keys()]
  }

  /** Tells the server the text of a file that is worked on, which stands for the one in the folder. */
  show(path: Path, typed: string, languageId: string): void {
    const text = forServer(typed)
    const known = this.#known.get(path)
    if (!known) {
      const opened = { version: 1, text, languageId, earlier: [] }
      this.#known.set(path, opened)
      if (this.#capabilities) this.#sayOpen(path, opened)
      return
    }
    const edit = editBetween(known.text, text)
    if (!edit) return
    const before = known.text
    known.earlier = [{ version: known.version, text: before }, ...known.earlier].slice(0, MAX_EARLIER_TEXTS)
    known.version++
    known.text = text
    const uri = uriOf(path)
    if (!this.#capabilities || uri === undefined) return
    const starts = lineStarts(before)
    const range = { start: positionOf(starts, edit.from), end: positionOf(starts, edit.to) }
    const change = this.#isIncremental ? { range, text: edit.text } : { text }
    this.#connection.notify('textDocument/didChange', {
      textDocument: { uri, version: known.version },
      contentChanges: [change],
    })
  }

  /** Tells the server that a file is not worked on any more: what is in the folder counts. */
  hide(path: Path): void {
    const uri = uriOf(path)
    if (!this.#known.delete(path) || uri === undefined) return
    this.#found.delete(path)
    if (this.#capabilities) this.#connection.notify('textDocument/didClose', { textDocument: { uri } })
  }

  /** The text of an open file as the server knows it. */
  textOf(path: Path): string | undefined {
    return this.#known.get(path)?.text
  }

  /** Tells the server which files of the folder have changed. */
  filesChanged(events: readonly FileEvent[]): void {
    const changes = events.flatMap(({ path, type }) => {
      const uri = uriOf(path)
      return uri === undefined ? [] : [{ uri, type }]
    })
    if (changes.length === 0 || !this.#capabilities) return
    this.#connection.notify('workspace/didChangeWatchedFiles', { changes })
    this.saved(events.map(({ path }) => path))
  }

  /** Tells the server of open files that the folder has their text, which is what a save means to it. */
  saved(paths: readonly Path[]): void {
    const sync = this.#capabilities?.textDocumentSync
    if (typeof sync !== 'object' || sync.save === undefined || sync.save === false) return
    for (const path of paths) {
      const uri = uriOf(path)
      if (uri !== undefined && this.#known.has(path))
        this.#connection.notify('textDocument/didSave', { textDocument: { uri } })
    }
  }

  get #isIncremental(): boolean {
    const sync = this.#capabilities?.textDocumentSync
    return (typeof sync === 'number' ? sync : sync?.change) === 2
  }

  #sayOpen(path: Path, { version, text, languageId }: Known): void {
    const uri = uriOf(path)
    if (uri === undefined) return
    this.#connection.notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } })
  }

  // --- Problems

  /** The files with problems. */
  get pathsWithProblems(): Path[] {
    return [...this.#found].flatMap(([path, { problems }]) => (problems.length > 0 ? [path] : []))
  }

  /** The problems of a file, at their places in its current text. */
  problemsOf(path: Path): Diagnostic[] {
    const found = this.#found.get(path)
    if (!found) return []
    const text = this.textOf(path)
    if (text === undefined || found.text === undefined || text === found.text) return found.problems
    const before = found.text
    return found.problems.map(problem => ({ ...problem, range: movedRange(problem.range, before, text) }))
  }

  /**
   * Resolves when the server has found the problems of the current texts of files, or after `timeout` milliseconds.
   * Gives the files whose problems are not known then.
   */
  async settled(paths: readonly Path[], timeout: number, signal?: AbortSignal): Promise<Path[]> {
    const missing = new Set(paths.filter(path => this.#known.has(path)))
    const isCurrent = (path: Path) => this.#found.get(path)?.text === this.textOf(path)
    for (const path of missing) if (this.#found.has(path) && isCurrent(path)) missing.delete(path)
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = setTimeout(resolve, timeout)
    let quiet: ReturnType<typeof setTimeout> | undefined
    const wait = () => {
      clearTimeout(quiet)
      if (missing.size === 0) quiet = setTimeout(resolve, QUIET_MS)
    }
    const listener = (path: Path) => {
      if (isCurrent(path)) missing.delete(path)
      wait()
    }
    this.#listeners.add(listener)
    signal?.addEventListener('abort', () => resolve(), { once: true })
    this.#connection.process.ended.then(() => resolve())
    wait()
    await promise
    this.#listeners.delete(listener)
    clearTimeout(end)
    clearTimeout(quiet)
    return [...missing]
  }

  #publish({ uri, version, diagnostics }: v.InferOutput<typeof PublishedDiagnostics>): void {
    const path = pathOf(uri)
    if (path === undefined) return
    const known = this.#known.get(path)
    const isFull = this.#found.size >= MAX_FILES_WITH_PROBLEMS && !this.#found.has(path)
    if (isFull && !known) return
    if (diagnostics.length === 0 && !known) this.#found.delete(path)
    else {
      const made = known?.earlier.find(earlier => earlier.version === version)
      this.#found.set(path, { problems: diagnostics, text: known && (made?.text ?? known.text) })
    }
    this.options.onProblems(path)
    for (const listener of this.#listeners) listener(path)
  }

  // --- Questions

  /** Asks a question about a position in a file. See {@link Connection.request}. */
  async ask<Schema extends v.GenericSchema>(
    method: string,
    path: Path,
    params: object,
    schema: Schema,
    options: { timeout?: number; signal?: AbortSignal } = {},
  ): Promise<v.InferOutput<Schema>> {
    await this.ready
    const uri = uriOf(path)
    if (uri === undefined) throw new Failure('The name of this file is not UTF-8: language servers can’t be asked.')
    return await this.#connection.request(method, { textDocument: { uri }, ...params }, schema, options)
  }

  /** Asks a question about what the server has sent before, such as an item of a completion. */
  async resolve<Schema extends v.GenericSchema>(
    method: string,
    sent: unknown,
    schema: Schema,
  ): Promise<v.InferOutput<Schema>> {
    await this.ready
    return await this.#connection.request(method, sent, schema)
  }

  /** The edits of an action. A command of it is run, and the edits that the server then asks for are collected. */
  async editsOf(action: CodeAction): Promise<WorkspaceEdit[]> {
    const resolved = action.edit || action.command ? undefined : await this.#resolveAction(action)
    const edit = action.edit ?? resolved
    const edits = edit ? [edit] : []
    if (!action.command) return edits
    if (this.#proposed) throw new Failure('Another quick fix is being made: wait until it is done.')
    this.#proposed = []
    try {
      await this.#connection.request('workspace/executeCommand', action.command, v.unknown(), {
        timeout: EDIT_TIMEOUT_MS,
      })
      return [...edits, ...this.#proposed]
    } finally {
      this.#proposed = undefined
    }
  }

  async #resolveAction({ raw }: CodeAction): Promise<WorkspaceEdit | undefined> {
    const found = await this.#connection.request(
      'codeAction/resolve',
      raw,
      v.looseObject({ edit: v.optional(WorkspaceEdit) }),
    )
    return found.edit
  }

  /**
   * Resolves when the server has no task of its own under way, such as building an index, without which it does not
   * know all files; or after `timeout` milliseconds. Gives whether there was one.
   */
  async idle(timeout: number): Promise<boolean> {
    await this.ready
    if (this.#tasks.size === 0) return false
    const end = performance.now() + timeout
    // One task may begin after another.
    for (let isQuiet = false; !isQuiet && !this.hasEnded && performance.now() < end; ) {
      await this.#tasksEnded(end - performance.now())
      await Bun.sleep(BETWEEN_TASKS_MS)
      isQuiet = this.#tasks.size === 0
    }
    return true
  }

  async #tasksEnded(timeout: number): Promise<void> {
    if (this.#tasks.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = setTimeout(resolve, timeout)
    this.#whenIdle.add(resolve)
    this.#connection.process.ended.then(() => resolve())
    await promise
    this.#whenIdle.delete(resolve)
    clearTimeout(end)
  }

  // --- What the server says and asks

  #notified(method: string, params: unknown): void {
    if (method === '$/progress') this.#progress(params)
    if (method !== 'textDocument/publishDiagnostics') return
    const parsed = v.safeParse(PublishedDiagnostics, params)
    if (parsed.success) this.#publish(parsed.output)
  }

  #progress(params: unknown): void {
    const parsed = v.safeParse(Progress, params)
    if (!parsed.success) return
    const { token, value } = parsed.output
    if (value.kind === 'begin' && this.#tasks.size < MAX_TASKS) this.#tasks.add(token)
    if (value.kind !== 'end' || !this.#tasks.delete(token) || this.#tasks.size > 0) return
    for (const resolve of this.#whenIdle) resolve()
  }

  #requested(method: string, params: unknown): unknown {
    switch (method) {
      case 'workspace/configuration':
        return this.#configuration(params)
      case 'workspace/applyEdit':
        return { applied: this.#propose(params) }
      case 'client/registerCapability':
      case 'client/unregisterCapability':
      case 'window/workDoneProgress/create':
      case 'window/showMessageRequest':
      case 'workspace/workspaceFolders':
        return null
      default:
        throw new Failure(`${method} is not known`)
    }
  }

  #configuration(params: unknown): unknown[] {
    const Items = v.object({ items: v.array(v.looseObject({ section: v.optional(v.nullable(v.string())) })) })
    const { items } = v.parse(Items, params)
    const { settings } = this.spec
    return items.slice(0, 100).map(({ section }) => {
      if (section === undefined || section === null) return settings
      return Object.hasOwn(settings, section) ? settings[section] : null
    })
  }

  #propose(params: unknown): boolean {
    const parsed = v.safeParse(ApplyEdit, params)
    if (!this.#proposed || !parsed.success || this.#proposed.length >= 100) return false
    this.#proposed.push(parsed.output.edit)
    return true
  }
}
