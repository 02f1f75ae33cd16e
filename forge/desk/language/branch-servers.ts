/**
 * The language servers of one branch: one for each language in use, all on one copy of the branch's files, which
 * follows saves, drafts, and moves of the branch.
 */

import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Path } from '../../../core/git/repository.ts'
import type { Approvals } from '../../ai/approvals.ts'
import { readForgeMd } from '../../ai/forge-md.ts'
import { NetworkPermission } from '../../ai/network.ts'
import { Signatures, type Signed } from '../../ai/signatures.ts'
import { BranchCopy } from '../../language/branch-copy.ts'
import type { Launcher } from '../../language/launch.ts'
import type { Capabilities, CodeAction, CompletionItem, Diagnostic } from '../../language/protocol.ts'
import { LanguageServer } from '../../language/server.ts'
import { type ServerName, type ServerSpec, serverFor } from '../../language/servers.ts'
import { materializedIn, type WorkInProgressVfs } from '../../vfs.ts'
import type { BranchWork } from '../branches/branch-work.ts'
import type { Abilities, LanguageState, Problem } from '../contract/language.ts'
import type { News } from '../contract/news.ts'
import { decodeText } from '../reading/text.ts'
import type { Slots, SlotUser } from './slots.ts'

/** Typed text is told to the servers after this many milliseconds, or before the next question. */
const TYPED_DELAY_MS = 10
/** The copy follows the branch, and problems are told, after this many milliseconds, once for several changes. */
const FOLLOW_DELAY_MS = 200
const PROBLEMS_DELAY_MS = 50
/** A server that has ended by itself is started again, unless that happened this often within the time. */
const FAILURES = { most: 2, within: 5 * 60_000 }
/** At most this many lists of completions and fixes are kept, for questions about their items. */
const MAX_LISTS = 10

export type BranchServersOptions = {
  /** The desk's state folder for the repository. */
  state: string
  approvals: Approvals
  launcher: Launcher
  say: (news: News) => void
  /** The files of the branch that windows show. */
  shown: () => ReadonlySet<Path>
  /** The slots that all branches share. */
  slots: Slots
}

/** A server of the branch, or why there is none. */
type Running = SlotUser & {
  spec: ServerSpec
  server: LanguageServer | undefined
  state: LanguageState
  /** Resolves when the server can be asked. Rejects with a {@link Failure}. */
  ready: Promise<LanguageServer>
  used: number
  /** How many tasks wait for its answers. */
  holders: number
}

/** The copy of the files, which is there at once, and what became of filling and preparing it. */
type Copied = { copy: BranchCopy; prepared: Promise<Prepared> }
/** Why a preparing command failed, and the commands that the user has not approved. */
type Prepared = { trouble: string | undefined; unapproved: string[] }

/** A server ends after this long without being used, in milliseconds: while a file of it is open, and otherwise. */
export type IdleLimits = { open: number; closed: number }

export class BranchServers implements AsyncDisposable {
  readonly #running = new Map<ServerName, Running>()
  readonly #failures = new Map<ServerName, number[]>()
  #copy: Promise<Copied> | undefined
  /** Work on the copy is done one after the other. */
  #queue: Promise<unknown> = Promise.resolve()
  readonly #typed = new Set<Path>()
  readonly #withNews = new Set<Path>()
  readonly #timers = new Map<'typed' | 'follow' | 'problems', ReturnType<typeof setTimeout>>()
  readonly #end = new AbortController()
  /** How many tasks use files that no window shows. */
  #holders = 0
  readonly #lists = new Map<number, readonly (CompletionItem | CodeAction)[]>()
  #lastList = 0

  constructor(
    readonly work: BranchWork,
    readonly options: BranchServersOptions,
  ) {}

  get branch(): string {
    return this.work.name
  }

  /** Whether no server runs or starts. */
  get isIdle(): boolean {
    return this.#running.size === 0 && this.#holders === 0
  }

  // --- Start and end

  /** Begins to show a file to its server, which is started where none runs. */
  understand(path: Path): LanguageState | undefined {
    const found = serverFor(path)
    if (!found) return undefined
    const running = this.#running.get(found.spec.name) ?? this.#begin(found.spec)
    running.used = Date.now()
    this.#show(path)
    return running.state
  }

  /** The server for a file, when it can be asked. Throws a {@link Failure} where there is none. */
  async serverOf(path: Path): Promise<LanguageServer> {
    const running = this.#running.get(serverFor(path)?.spec.name ?? 'typescript')
    if (!running) throw new Failure('No language server runs for this file.')
    running.used = Date.now()
    const server = await running.ready
    this.tellTyped()
    return server
  }

  /** Starts the server of a file again, also where it ended too often. */
  restart(path: Path): void {
    const found = serverFor(path)
    if (!found) return
    this.#failures.delete(found.spec.name)
    const running = this.#running.get(found.spec.name)
    if (running) this.#stop(running, 'It is started again.')
    this.#begin(found.spec)
    for (const shown of this.options.shown()) this.#show(shown)
  }

  /** Ends an idle server. The next request starts it again. */
  #sleep(running: Running): void {
    this.#sayNoProblems(running)
    this.#stop(running, 'It was idle.')
    this.#become(running, { is: 'idle', program: running.spec.program })
  }

  /** Ends the servers that were not used for a while, and hides files from the others that no window shows. */
  endIdle(limits: IdleLimits): void {
    this.reconcile()
    const shown = new Set([...this.options.shown()].map(path => serverFor(path)?.spec))
    for (const running of [...this.#running.values()]) {
      if (running.isHeld) continue
      const isOpen = shown.has(running.spec)
      if (Date.now() - running.used <= (isOpen ? limits.open : limits.closed)) continue
      if (running.state.is !== 'ended') this.#sleep(running)
      else if (!isOpen) this.#stop(running, 'It was idle.')
    }
  }

  #stop(running: Running, why: string): void {
    if (this.#running.get(running.spec.name) === running) this.#running.delete(running.spec.name)
    this.options.slots.free(running)
    running.server?.end(why)
  }

  #begin(spec: ServerSpec): Running {
    if (this.#end.signal.aborted) throw new Failure('The language servers of this branch have ended.')
    const { program } = spec
    const { promise, resolve, reject } = Promise.withResolvers<LanguageServer>()
    const running: Running = {
      spec,
      server: undefined,
      state: { is: 'starting', program, words: 'Copies the files of the branch' },
      ready: promise,
      used: Date.now(),
      holders: 0,
      get isHeld() {
        return running.holders > 0
      },
      giveUp: () => this.#sleep(running),
    }
    promise.catch(() => undefined)
    this.#running.set(spec.name, running)
    this.#start(running).then(resolve, error => {
      reject(error)
      this.options.slots.free(running)
      const words = error instanceof Failure ? error.message : `It did not start: ${String(error)}`
      if (this.#running.get(spec.name) === running && running.state.is === 'starting')
        this.#become(running, { is: 'ended', program, words })
    })
    this.#say(running)
    return running
  }

  async #start(running: Running): Promise<LanguageServer> {
    const { spec } = running
    const { program } = spec
    await this.options.slots.take(running)
    const { copy, prepared } = await this.#copied(running)
    this.#verifyNeeded(running)
    const filesAreThere = Promise.withResolvers<void>()
    // The program is loaded while the files are written.
    const server = new LanguageServer(spec, this.options.launcher, copy.folder, {
      onProblems: path => this.#problemsCame(path),
      onEnd: why => {
        if (running.server === server) this.#ended(running, why)
      },
      filesAreThere: filesAreThere.promise,
    })
    running.server = server
    const { trouble, unapproved } = await prepared.catch(error => {
      running.server = undefined
      server.end('Its files can’t be written.')
      throw error
    })
    this.#verifyNeeded(running)
    this.#become(running, { is: 'starting', program, words: 'Starts' })
    filesAreThere.resolve()
    for (const path of this.options.shown()) this.#show(path)
    const capabilities = await server.ready
    const commands = unapproved
    this.#become(running, {
      is: 'ready',
      program,
      can: abilitiesOf(capabilities),
      commands,
      ...(trouble !== undefined && { words: trouble }),
    })
    return server
  }

  #verifyNeeded(running: Running): void {
    if (this.#running.get(running.spec.name) !== running)
      throw new Failure('The language server is not needed any more.')
  }

  #ended(running: Running, why: string): void {
    const { spec } = running
    // A server that was ended on purpose is no longer in the list.
    if (this.#running.get(spec.name) !== running) return
    const now = Date.now()
    const failures = [...(this.#failures.get(spec.name) ?? []), now].filter(at => now - at < FAILURES.within)
    this.#failures.set(spec.name, failures)
    this.#sayNoProblems(running)
    running.server = undefined
    this.options.slots.free(running)
    if (failures.length > FAILURES.most) this.#become(running, { is: 'ended', program: spec.program, words: why })
    else {
      this.#running.delete(spec.name)
      this.#begin(spec)
    }
  }

  #become(running: Running, state: LanguageState): void {
    running.state = state
    this.#say(running)
  }

  #say({ spec, state }: Running): void {
    this.options.say({ say: 'language server', branch: this.branch, ends: Object.keys(spec.files), state })
  }

  /** Removes the problems of a server that has ended from the windows. */
  #sayNoProblems({ server }: Running): void {
    for (const path of server?.openPaths ?? []) {
      const typed = this.work.textOf(path)
      if (typed) this.#sayProblems(path, typed.version, [])
    }
  }

  // --- The copy

  async #copied(running: Running): Promise<Copied> {
    const begun = this.#copy ?? this.#beginCopy(running)
    this.#copy = begun
    const forget = () => {
      if (this.#copy === begun) this.#copy = undefined
    }
    begun.then(({ prepared }) => prepared).catch(forget)
    return await begun
  }

  async #beginCopy(running: Running): Promise<Copied> {
    const { state, launcher } = this.options
    const begun = Promise.withResolvers<BranchCopy>()
    const prepared = this.#queued(async () => {
      const vfs = await this.work.vfs()
      const copy = await BranchCopy.begin(vfs, materializedIn(state), launcher)
      begun.resolve(copy)
      try {
        await copy.filled
        return await this.#prepare(vfs, copy.folder, running)
      } catch (error) {
        await copy[Symbol.asyncDispose]()
        throw error
      }
    })
    prepared.catch(begun.reject)
    return { copy: await begun.promise, prepared }
  }

  /** Runs the commands of FORGE.md that prepare the files, if all of them are approved. */
  async #prepare(vfs: WorkInProgressVfs, folder: string, running: Running): Promise<Prepared> {
    const { state, launcher } = this.options
    const { commands, unapproved } = await this.#preparing(vfs)
    if (unapproved.length > 0 || commands.length === 0) return { trouble: undefined, unapproved }
    const hasNetwork = await new NetworkPermission(this.options.approvals, state, this.#repository).isGiven()
    for (const command of commands) {
      const { program } = running.spec
      this.#become(running, { is: 'starting', program, words: `Prepares the files: ${command.slice(0, 100)}` })
      const trouble = await launcher.prepare(folder, command, { hasNetwork, signal: this.#end.signal })
      if (trouble !== undefined) return { trouble, unapproved }
    }
    return { trouble: undefined, unapproved }
  }

  get #repository() {
    return this.work.room.objects.repository
  }

  get #signatures(): Signatures {
    return new Signatures(this.options.approvals, join(this.options.state, 'prepare.json'), this.#repository)
  }

  /** The commands of FORGE.md that prepare the files, and those that the user has not approved. */
  async #preparing(vfs: WorkInProgressVfs): Promise<{ commands: string[]; unapproved: string[] }> {
    const commands = vfs.base === undefined ? [] : (await readForgeMd(vfs.objects, vfs.base)).prepare
    if (commands.length === 0) return { commands, unapproved: [] }
    const missing = await this.#signatures.missing(commands.map(preparing))
    return { commands, unapproved: missing.map(({ words }) => words) }
  }

  /** Approves commands that the user has seen, and starts all servers again on prepared files. */
  async approve(commands: readonly string[]): Promise<void> {
    const { unapproved } = await this.#preparing(await this.work.vfs())
    if (unapproved.join('\0') !== commands.join('\0'))
      throw new Failure('FORGE.md has changed meanwhile: look at its commands again.')
    await this.#signatures.add(commands.map(preparing))
    const all = [...this.#running.values()]
    for (const running of all) this.#stop(running, 'It is started again.')
    await this.#dropCopy()
    for (const { spec } of all) if (!this.#running.has(spec.name)) this.#begin(spec)
  }

  async #dropCopy(): Promise<void> {
    const made = this.#copy
    this.#copy = undefined
    await this.#queued(async () => await (await made?.catch(() => undefined))?.copy[Symbol.asyncDispose]())
  }

  async #queued<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = this.#queue.then(task)
    this.#queue = done.catch(() => undefined)
    return await done
  }

  /** Makes the copy, and the texts that servers know, as the branch is now. Gives its files. */
  async follow(): Promise<WorkInProgressVfs> {
    const vfs = await this.work.vfs()
    await this.#followTo(vfs)
    return vfs
  }

  async #followTo(vfs: WorkInProgressVfs): Promise<void> {
    const made = this.#copy
    if (!made) return
    await this.#queued(async () => {
      const { copy } = await made
      const events = await copy.follow(vfs)
      for (const { server } of this.#running.values()) server?.filesChanged(events)
    })
    this.tellTyped()
  }

  // --- News of the branch

  /** A file was edited in a window, or has another text. */
  edited(path: Path): void {
    const found = serverFor(path)
    if (!found) return
    this.#typed.add(path)
    this.#later('typed', TYPED_DELAY_MS, () => this.tellTyped())
  }

  /** The files of the branch have changed. */
  changed(): void {
    if (!this.#copy) return
    this.#later('follow', FOLLOW_DELAY_MS, () => {
      // The files of a turn, which asks, are ahead of the branch; they follow it again when the turn has its answer.
      if (this.#holders === 0) this.follow().catch(() => undefined)
    })
  }

  /** Tells the servers what was typed since the last time. */
  tellTyped(): void {
    for (const path of this.#typed) this.#show(path)
    this.#typed.clear()
  }

  /** Hides files from the servers that no window shows any more. */
  reconcile(): void {
    if (this.#holders > 0) return
    const shown = this.options.shown()
    for (const running of this.#running.values())
      for (const path of running.server?.openPaths ?? []) {
        if (shown.has(path)) continue
        running.server?.hide(path)
        running.used = Date.now()
      }
  }

  /** Sends the text of an open file to its server at each change. */
  #show(path: Path): void {
    const found = serverFor(path)
    if (!found) return
    const running = this.#running.get(found.spec.name)
    const typed = this.work.textOf(path)
    if (!running?.server || !typed) return
    running.used = Date.now()
    running.server.show(path, typed.text, found.languageId)
  }

  // --- Problems

  #problemsCame(path: Path): void {
    this.#withNews.add(path)
    this.#later('problems', PROBLEMS_DELAY_MS, () => {
      this.tellTyped()
      const shown = this.options.shown()
      for (const changed of this.#withNews) {
        const found = shown.has(changed) ? this.problemsOf(changed) : undefined
        if (found) this.#sayProblems(changed, found.version, found.problems)
      }
      this.#withNews.clear()
    })
  }

  #sayProblems(path: Path, version: number, problems: Problem[]): void {
    this.options.say({ say: 'problems', branch: this.branch, path, version, problems })
  }

  /** The problems of an open file, and the version of its text. */
  problemsOf(path: Path): { version: number; problems: Problem[] } | undefined {
    const running = this.#running.get(serverFor(path)?.spec.name ?? 'typescript')
    const typed = this.work.textOf(path)
    if (!running?.server || !typed) return undefined
    const problems = running.server.problemsOf(path).map(withoutRaw)
    return { version: typed.version, problems }
  }

  /** The servers that run, for what they have found in all files. */
  get servers(): LanguageServer[] {
    return [...this.#running.values()].flatMap(({ server }) => (server ? [server] : []))
  }

  // --- Files that no window shows

  /**
   * Finds the problems of files as they are in `vfs`, which may be ahead of the branch. Gives the server's files by
   * path, and the paths whose problems are not known in time.
   */
  async problemsIn(
    vfs: WorkInProgressVfs,
    paths: readonly Path[],
    { timeout, signal }: { timeout: number; signal: AbortSignal },
  ): Promise<{ found: Map<Path, Problem[]>; unknown: Path[] }> {
    this.#holders++
    const shownHere = new Set<Path>()
    try {
      const byServer = Map.groupBy(paths, path => serverFor(path)?.spec)
      const found = new Map<Path, Problem[]>()
      const unknown: Path[] = []
      for (const [spec, all] of byServer) {
        if (!spec) continue
        await this.#holding(spec, async server => {
          await this.#followTo(vfs)
          for (const path of all) {
            const text = await textIn(vfs, path)
            const { languageId } = serverFor(path) ?? {}
            if (text === undefined || languageId === undefined) continue
            if (server.textOf(path) === undefined) shownHere.add(path)
            server.show(path, text, languageId)
          }
          server.saved(all)
          const end = performance.now() + timeout
          const rest = await server.settled(all, timeout, signal)
          // Compilers that a server runs tell their problems later.
          const hasWorked = !signal.aborted && (await server.idle(end - performance.now()))
          unknown.push(...(hasWorked ? await server.settled(all, Math.max(0, end - performance.now()), signal) : rest))
          signal.throwIfAborted()
          for (const path of all) found.set(path, server.problemsOf(path).map(withoutRaw))
        })
      }
      return { found, unknown }
    } finally {
      this.#holders--
      for (const { server } of this.#running.values()) for (const path of shownHere) server?.hide(path)
      this.changed()
    }
  }

  /** Runs a task with a server, which is started where it does not run, and not ended for another one meanwhile. */
  async #holding(spec: ServerSpec, task: (server: LanguageServer) => Promise<void>): Promise<void> {
    const running = this.#running.get(spec.name) ?? this.#begin(spec)
    running.used = Date.now()
    running.holders++
    try {
      await task(await running.ready)
    } finally {
      running.holders--
      running.used = Date.now()
      this.options.slots.look()
    }
  }

  // --- Lists

  /** Keeps a list for questions about its items. Gives its number. */
  keepList(items: readonly (CompletionItem | CodeAction)[]): number {
    this.#lists.set(++this.#lastList, items)
    for (const old of this.#lists.keys()) if (old <= this.#lastList - MAX_LISTS) this.#lists.delete(old)
    return this.#lastList
  }

  listed(list: number, item: number): CompletionItem | CodeAction {
    const found = this.#lists.get(list)?.[item]
    if (!found) throw new Failure('This list is out of date: open it again.')
    return found
  }

  #later(what: 'typed' | 'follow' | 'problems', delay: number, act: () => void): void {
    if (this.#timers.has(what)) return
    const timer = setTimeout(() => {
      this.#timers.delete(what)
      act()
    }, delay)
    this.#timers.set(what, timer)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Failure('The language servers have ended.'))
    for (const timer of this.#timers.values()) clearTimeout(timer)
    for (const running of [...this.#running.values()]) this.#stop(running, 'The desk has ended it.')
    await this.#dropCopy()
  }
}

const withoutRaw = ({ raw: _, ...problem }: Diagnostic): Problem => problem

/** The signed form of a command that prepares files. */
const preparing = (command: string): Signed => ({ name: 'preparing files for language servers', words: command })

/** The text of a file; undefined where there is none. */
export async function textIn(vfs: WorkInProgressVfs, path: Path): Promise<string | undefined> {
  if (!(await vfs.fileExists(path))) return undefined
  return decodeText(await vfs.readFile(path))?.text
}

function abilitiesOf(capabilities: Capabilities): Abilities {
  const { completionProvider, signatureHelpProvider, renameProvider, codeActionProvider } = capabilities
  const has = (provider: unknown) => provider !== undefined && provider !== null && provider !== false
  return {
    completes: has(completionProvider),
    completesAfter: completionProvider?.triggerCharacters ?? [],
    hovers: has(capabilities.hoverProvider),
    signs: has(signatureHelpProvider),
    signsAfter: signatureHelpProvider?.triggerCharacters ?? [],
    defines: has(capabilities.definitionProvider),
    refers: has(capabilities.referencesProvider),
    renames: has(renameProvider),
    fixes: has(codeActionProvider),
  }
}
