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
import { serverFor } from '../../language/servers.ts'
import type { WorkInProgressVfs } from '../../vfs.ts'
import type { BranchWork } from '../branches/branch-work.ts'
import type { LanguageState, Problem } from '../contract/language.ts'
import type { News } from '../contract/news.ts'
import type { At } from '../contract/values.ts'
import { BranchServers, type IdleLimits } from './branch-servers.ts'
import { Slots } from './slots.ts'

/** How often idle servers are looked for, in milliseconds. */
const LOOK_INTERVAL_MS = 15_000
const IDLE_MS: IdleLimits = { closed: 2 * 60_000, open: 30 * 60_000 }
/** At most this many servers start and run at a time. */
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
  idle?: IdleLimits
}

export class Languages implements AsyncDisposable {
  /** By the work on a branch, whose name may change. */
  readonly #branches = new Map<BranchWork, BranchServers>()
  readonly #slots = new Slots(MAX_SERVERS)
  readonly #launcher: Launcher
  /** Whether the user has switched servers on, once it is known. */
  #isOn: Promise<boolean> | undefined
  #check: { at: number; words: Promise<string | undefined> } | undefined
  readonly #clock: ReturnType<typeof setInterval>
  #hasEnded = false

  constructor(readonly options: LanguagesOptions) {
    this.#launcher = options.launcher ?? IN_CONTAINER
    this.#clock = setInterval(() => {
      // A folder that can't be removed is removed with the next start of the desk.
      this.look().catch(() => undefined)
    }, LOOK_INTERVAL_MS)
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
    // The first file will ask for this at once.
    if (isOn) this.#whyMissing()
    else await this.#endAll()
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
    const work = await this.options.work(branch)
    // They may have been switched off meanwhile.
    if (!(await this.isOn())) return { is: 'off', program }
    return this.#of(work).understand(path)
  }

  /** The servers of a branch. Throws a {@link Failure} where none run. */
  async running(branch: string): Promise<BranchServers> {
    const running = this.#branches.get(await this.options.work(branch))
    if (!running) throw new Failure(`No language server runs for ${visiblePath(branch)}.`)
    return running
  }

  /** Starts the server of a file again, also where it ended too often. */
  async restart(branch: string, path: Path): Promise<void> {
    const work = await this.options.work(branch)
    if (await this.isOn()) this.#of(work).restart(path)
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
    const work = await this.options.work(branch)
    if (!(await this.isOn())) throw new Failure('Language servers are switched off.')
    return await this.#of(work).problemsIn(vfs, known, { timeout: PROBLEMS_TIMEOUT_MS, signal })
  }

  /** Takes notice of news that the desk sends to windows. */
  hear(news: News): void {
    if (!('branch' in news) || news.branch === undefined) return
    const running = this.#named(news.branch)
    if (!running) return
    switch (news.say) {
      case 'edited':
      case 'replaced':
        running.edited(news.path)
        break
      case 'branch':
      case 'saved':
        running.changed()
        break
      case 'renamed file':
        running.reconcile()
        break
    }
  }

  #named(branch: string): BranchServers | undefined {
    for (const servers of this.#branches.values()) if (servers.branch === branch) return servers
    return undefined
  }

  /**
   * The servers of a branch, to be used at once: those without a server are removed from time to time. The work on a
   * branch that was deleted and created again is another one, so the servers of the former end.
   */
  #of(work: BranchWork): BranchServers {
    if (this.#hasEnded) throw new Failure('The desk has ended.')
    for (const other of this.#branches.values())
      if (other.branch === work.name && other.work !== work) this.#drop(other).catch(() => undefined)
    const known = this.#branches.get(work)
    if (known) return known
    const { state, config, say } = this.options
    const shown = () =>
      new Set([...this.options.shown()].flatMap(({ at, path }) => (isIn(at, work.name) ? [path] : [])))
    const options = { state, approvals: new Approvals(config), launcher: this.#launcher, say, shown }
    const servers = new BranchServers(work, { ...options, slots: this.#slots })
    this.#branches.set(work, servers)
    return servers
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

  // --- The end

  /** Ends idle servers, as is done from time to time. */
  async look(): Promise<void> {
    for (const servers of [...this.#branches.values()]) {
      servers.endIdle(this.options.idle ?? IDLE_MS)
      if (servers.isIdle) await this.#drop(servers)
    }
  }

  async #drop(servers: BranchServers): Promise<void> {
    this.#branches.delete(servers.work)
    await servers[Symbol.asyncDispose]()
  }

  async #endAll(): Promise<void> {
    await Promise.all([...this.#branches.values()].map(servers => this.#drop(servers)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#hasEnded = true
    clearInterval(this.#clock)
    await this.#endAll()
  }
}

const isIn = (at: At, branch: string): boolean => at.kind === 'branch' && at.branch === branch
