/**
 * The language servers of all branches of a repository. They run only where the user has switched them on for the
 * repository; one starts with the first file of its language that a window shows in a branch, and ends when it is idle.
 */

import { Failure } from '../../../core/failure.ts'
import type { Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import { Approvals } from '../../ai/approvals.ts'
import { isSwitchedOn, switchTo } from '../../ai/switches.ts'
import { IN_CONTAINER, type Launcher } from '../../language/launch.ts'
import { type ServerName, serverFor } from '../../language/servers.ts'
import type { WorkInProgressVfs } from '../../vfs.ts'
import type { BranchWork } from '../branches/branch-work.ts'
import type { LanguageState, Problem } from '../contract/language.ts'
import type { News } from '../contract/news.ts'
import type { At } from '../contract/values.ts'
import { BranchServers } from './branch-servers.ts'

/** How often idle servers are looked for, in milliseconds. */
const LOOK_INTERVAL_MS = 15_000
/** A server ends after this long without an open file, and without being used, in milliseconds. */
const IDLE_MS = { closed: 2 * 60_000, open: 30 * 60_000 }
/** At most this many servers run at a time. One more ends the one that was used least recently. */
const MAX_SERVERS = 8
/** Whether servers can run here is looked up again after this many milliseconds; without an answer after the second. */
const CHECK_VALID_MS = 60_000
const CHECK_TIMEOUT_MS = 5_000
/** Problems of files are waited for at most this long, in milliseconds. */
const PROBLEMS_TIMEOUT_MS = 90_000

export type LanguagesOptions = {
  /** The desk's state folder for the repository, which has the switch and the copies of the files. */
  state: string
  /** The folder of the user's settings for the forge, with the key of approvals. */
  config: string
  say: (news: News) => void
  work: (branch: string) => Promise<BranchWork>
  /** The files that windows show. */
  shown: () => Iterable<{ at: At; path: Path }>
  /** How servers are started. Default: in the locked container. */
  launcher?: Launcher | undefined
}

export class Languages implements AsyncDisposable {
  readonly #branches = new Map<string, Promise<BranchServers>>()
  readonly #launcher: Launcher
  /** Whether the user has switched servers on, once it is known. */
  #isOn: Promise<boolean> | undefined
  #check: { at: number; words: Promise<string | undefined> } | undefined
  readonly #clock: ReturnType<typeof setInterval>

  constructor(readonly options: LanguagesOptions) {
    this.#launcher = options.launcher ?? IN_CONTAINER
    this.#clock = setInterval(() => this.#look(), LOOK_INTERVAL_MS)
    this.#clock.unref()
  }

  /** Whether the user has switched language servers on for this repository. */
  async isOn(): Promise<boolean> {
    this.#isOn ??= isSwitchedOn(this.options.state, 'language-servers-are-on')
    return await this.#isOn
  }

  async switchOn(isOn: boolean): Promise<void> {
    await switchTo(this.options.state, 'language-servers-are-on', isOn)
    this.#isOn = Promise.resolve(isOn)
    this.#check = undefined
    if (!isOn) await this.#endAll()
    this.options.say({ say: 'language servers' })
  }

  /** Begins to ask a server about a file that a window shows. */
  async understand(branch: string, path: Path): Promise<LanguageState | undefined> {
    const found = serverFor(path)
    if (!found) return undefined
    const { program } = found.spec
    if (!(await this.isOn())) return { is: 'off', program }
    const missing = await this.#whyMissing()
    if (missing !== undefined) return { is: 'missing', program, words: missing }
    const servers = await this.#of(branch)
    this.#makeRoom(branch, found.spec.name)
    return servers.understand(path)
  }

  /** The servers of a branch. Throws a {@link Failure} where none run. */
  async running(branch: string): Promise<BranchServers> {
    const running = this.#branches.get(branch)
    if (!running) throw new Failure(`No language server runs for ${visiblePath(branch)}.`)
    return await running
  }

  /** Whether servers are switched on, and can run here. */
  async canRun(): Promise<boolean> {
    return (await this.isOn()) && (await this.#whyMissing()) === undefined
  }

  /** Finds the problems of files as they are in `vfs`. See {@link BranchServers.problemsIn}. */
  async problemsIn(
    branch: string,
    vfs: WorkInProgressVfs,
    paths: readonly Path[],
    signal: AbortSignal,
  ): Promise<{ found: Map<Path, Problem[]>; unknown: Path[] }> {
    const known = paths.filter(path => serverFor(path) !== undefined)
    if (known.length === 0) return { found: new Map(), unknown: [] }
    const servers = await this.#of(branch)
    return await servers.problemsIn(vfs, known, { timeout: PROBLEMS_TIMEOUT_MS, signal })
  }

  /** Takes notice of news that the desk sends to windows. */
  hear(news: News): void {
    if (this.#branches.size === 0) return
    if (news.say === 'renamed') this.#renamed(news.branch, news.to)
    if (!('branch' in news) || news.branch === undefined) return
    const running = this.#branches.get(news.branch)
    if (!running) return
    switch (news.say) {
      case 'edited':
      case 'replaced':
        running.then(servers => servers.edited(news.path))
        break
      case 'branch':
      case 'saved':
        running.then(servers => servers.changed())
        break
      case 'renamed file':
        running.then(servers => servers.reconcile())
        break
    }
  }

  #renamed(from: string, to: string): void {
    const running = this.#branches.get(from)
    if (!running) return
    this.#branches.delete(from)
    this.#branches.set(to, running)
  }

  async #of(branch: string): Promise<BranchServers> {
    const known = this.#branches.get(branch) ?? this.#open(branch)
    this.#branches.set(branch, known)
    known.catch(() => this.#branches.delete(branch))
    return await known
  }

  async #open(branch: string): Promise<BranchServers> {
    const { state, config, say, work } = this.options
    const opened = await work(branch)
    const shown = () =>
      new Set([...this.options.shown()].flatMap(({ at, path }) => (isIn(at, opened.name) ? [path] : [])))
    return new BranchServers(opened, { state, approvals: new Approvals(config), launcher: this.#launcher, say, shown })
  }

  async #whyMissing(): Promise<string | undefined> {
    if (!this.#check || Date.now() - this.#check.at > CHECK_VALID_MS)
      this.#check = { at: Date.now(), words: this.#lookForDocker() }
    return await this.#check.words
  }

  async #lookForDocker(): Promise<string | undefined> {
    try {
      const why = await this.#launcher.whyNot(AbortSignal.timeout(CHECK_TIMEOUT_MS))
      return why && `Language servers need ${why}`
    } catch {
      return 'Language servers need docker, and its engine does not answer: start it.'
    }
  }

  // --- Idle servers

  async #all(): Promise<BranchServers[]> {
    const all = await Promise.allSettled(this.#branches.values())
    return all.flatMap(it => (it.status === 'fulfilled' ? [it.value] : []))
  }

  async #look(): Promise<void> {
    for (const servers of await this.#all()) {
      servers.reconcile()
      if (servers.isHeld) continue
      for (const { name, used, isOpen } of servers.uses)
        if (Date.now() - used > (isOpen ? IDLE_MS.open : IDLE_MS.closed)) servers.sleep(name)
      if (servers.isIdle) await this.#drop(servers)
    }
  }

  async #drop(servers: BranchServers): Promise<void> {
    this.#branches.delete(servers.branch)
    await servers[Symbol.asyncDispose]()
  }

  /** Ends the server that was used least recently, where one more would be too many. */
  async #makeRoom(branch: string, name: ServerName): Promise<void> {
    const all = (await this.#all()).flatMap(servers => servers.uses.map(use => ({ servers, ...use })))
    if (all.length < MAX_SERVERS || all.some(it => it.servers.branch === branch && it.name === name)) return
    const [oldest] = all.sort((one, other) => one.used - other.used)
    oldest?.servers.sleep(oldest.name)
  }

  async #endAll(): Promise<void> {
    const all = await this.#all()
    this.#branches.clear()
    await Promise.all(all.map(servers => servers[Symbol.asyncDispose]()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#clock)
    await this.#endAll()
  }
}

const isIn = (at: At, branch: string): boolean => at.kind === 'branch' && at.branch === branch
