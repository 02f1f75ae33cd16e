/** The means of activities: repository, models, and the stores of runs, opened once and closed together. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Context } from '@temporalio/activity'
import { ApplicationFailure, type MetricMeter } from '@temporalio/common'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { whyFull } from '../../../core/full-disk.ts'
import type { CommitIdentity } from '../../../core/git/commits.ts'
import { Maintenance } from '../../../core/git/maintenance.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { listRefs, type RefName } from '../../../core/git/refs.ts'
import type { Path } from '../../../core/git/repository.ts'
import type { TreeChange } from '../../../core/git/trees.ts'
import type { BatchableModel } from '../../ai/batches/batches.ts'
import { ModelError } from '../../ai/request.ts'
import { blackOut } from '../../ai/secrets.ts'
import { providerOf, type Settings } from '../../ai/settings.ts'
import type { Summaries } from '../../ai/summaries.ts'
import { RUNS } from '../../formats/tasks-json.ts'
import type { ApprovedCommands } from '../checks/approved.ts'
import type { Judged } from '../checks/validate.ts'
import type { Verdicts } from '../checks/verdicts.ts'
import type { CodeMap } from '../context/map.ts'
import type { Limits, Oid, Reference, RunId, Spent, Standing, TaskId } from '../contract.ts'
import { type Budgets, TemporalBudgets } from '../engine/budgets.ts'
import type { Collectors } from '../engine/collectors.ts'
import { type CountedRequest, countRequest } from '../engine/metrics.ts'
import { HubTrouble } from '../hub/remote.ts'
import type { SharedRuns } from '../hub/shared-runs.ts'
import type { PriceOf } from '../plan/estimate.ts'
import type { PlannedShape } from '../plan/lint.ts'
import { Plan, type Task } from '../plan/schema.ts'
import { widensOf } from '../plan/widens.ts'
import type { Purse } from '../run/purse.ts'
import { Ledger } from '../runs/budget.ts'
import { BRANCHES, openRunFolder, runsFolder } from '../runs/folder.ts'
import { Journal } from '../runs/journal.ts'
import { readStoredRun, type StoredRun } from '../runs/plans.ts'
import { priceOf } from '../runs/prices.ts'
import { RunStore } from '../runs/store.ts'
import { allStoredAnswers } from '../runs/stored-answer.ts'
import { Troubles } from '../runs/troubles.ts'
import { personAt, readUser, setRef } from '../steps/commits.ts'
import { reviewersOf } from '../steps/request.ts'
import { Gate } from './gate.ts'
import { type HubNeeds, withHub } from './through-hub.ts'

/** The environment of one execution of an activity: its cancellation signal and its heartbeat. */
export type Surroundings = {
  signal: AbortSignal
  heartbeat: (details?: unknown) => void
  /** Which try of the activity this is, from 1. */
  attempt?: number
  /** When the server has scheduled it, in milliseconds since 1970 by its clock. */
  scheduled?: number
  /** For metrics; without it, nothing is counted. */
  meter?: MetricMeter
}

/** The run's functions that its checks use. */
export type CheckMeans = {
  run: RunId
  keep: (kind: string, text: string) => Promise<Reference>
  commitMended: (head: Oid, changes: ReadonlyMap<Path, TreeChange>) => Promise<Oid>
  signal: AbortSignal
  onProgress: (words: string) => void
}
/** Checks an attempt or, without a task, the whole run's result. */
export type AttemptCheck = (
  means: CheckMeans,
  attempt: { plan: Plan; task?: Task; base: Oid; head: Oid },
) => Promise<Judged>

/**
 * Lints a plan: gives what the flow needs to know of its tasks, or a sentence for each complaint. `standing`: the
 * progress of the tasks of `before`, the previous plan. `inBatch`: whether the work is sent in batches. `settings`:
 * those of the run. `notes`: sentences for the journal.
 */
export type Lint = (
  plan: Plan,
  input: {
    tree: Oid
    limits: Limits
    standing: readonly Standing[]
    before?: Plan
    inBatch?: boolean
    settings: Settings
  },
) => Promise<{ tasks: PlannedShape[]; complaints: string[]; notes?: string[] }>

/**
 * Collects facts for a planner besides the files, for a run with this base and wish. `isSearched`: the command has
 * searched the repository for the words of the wish already, so what it has on them is left out.
 */
export type PlannerFacts = (
  base: Oid,
  wish: string,
  options: { isSearched: boolean },
) => Promise<{ kind: 'checks' | 'stats' | 'evaluated' | 'wished'; text: string }[]>

export type ActivityOptions = {
  objects: Objects
  settings: Settings
  /** The environment, for the user's folders. */
  env: Record<string, string | undefined>
  /** Opens a model that sends each request once, since Temporal retries. */
  openModel: (name: string) => Promise<BatchableModel>
  /** Gathers requests for batches; by default at the Temporal server of the activity. */
  collectors?: Collectors
  check: AttemptCheck
  lint: Lint
  facts?: PlannerFacts
  /** Opens what the user has signed for a run. Without this function, signatures are not checked. */
  approved?: (store: RunStore) => ApprovedCommands
  /** Opens the signed results of a run's checks and reviews; without this function, none are signed. */
  verdicts?: (store: RunStore) => Verdicts
  summaries?: Summaries
  map?: CodeMap
  surroundings?: () => Surroundings
  now?: () => number
  /** Makes a provider's gate, which limits its concurrent requests (gate.ts). */
  openGate?: () => Gate
  /** The hub by which other machines work on the same runs; undefined where there is none. */
  shared?: SharedRuns | undefined
  /** With a hub: the budgets that all machines share; by default those of the Temporal server of the activity. */
  budgets?: Budgets
}

/** A run that is open in this process. `inode` tells its folder from a later one at the same path. */
export type OpenRun = {
  store: RunStore
  folder: string
  inode: number | undefined
  journal: Journal
  ledger: Ledger
  troubles: Troubles
  approved?: ApprovedCommands | undefined
  verdicts?: Verdicts | undefined
  /** With a hub: the budget that all machines share, which decides in place of the ledger. */
  budget?: Budgets | undefined
}

const inodeOf = (folder: string): number | undefined => statSync(folder, { throwIfNoEntry: false })?.ino
const isThere = ({ folder, inode }: OpenRun): boolean => inode !== undefined && inodeOf(folder) === inode

/** `git maintenance` is started after this many commits to runs' stores, since each leaves obsolete objects. */
const MANY_WRITES = 300
/** At most this many unused runs stay open; a long-lived worker sees many. */
const MAX_IDLE_RUNS = 8

/** What activities share: objects, settings, open runs. Disposing closes all that was opened. */
export class Means implements Disposable {
  readonly objects: Objects
  readonly settings: Settings
  readonly now: () => number
  readonly surroundings: () => Surroundings
  /** Open runs, with the last used one at the end. */
  readonly #runs = new Map<RunId, Promise<OpenRun>>()
  /** The number of activities under way for each run. */
  readonly #users = new Map<RunId, number>()
  readonly #gates = new Map<string, Gate>()
  readonly #models = new Map<string, Promise<BatchableModel>>()
  readonly #open = new Set<OpenRun>()
  /** The stored state of a run that was last found to be signed, as JSON. */
  readonly #asked = new WeakMap<RunStore, string>()
  readonly #maintenance: Maintenance
  readonly #budgets: Budgets
  #written = 0
  #user: Promise<CommitIdentity> | undefined
  /** The time of the activity that calls, in milliseconds since 1970 by the server's clock. */
  readonly #time = new AsyncLocalStorage<number>()

  constructor(readonly options: ActivityOptions) {
    this.objects = options.objects
    this.settings = options.settings
    this.now = options.now ?? Date.now
    this.surroundings = options.surroundings ?? currentSurroundings
    this.#budgets = options.budgets ?? new TemporalBudgets()
    this.#maintenance = new Maintenance(options.objects.repository)
  }

  /**
   * Opens a run's store, folder, journal and ledger, or gives the open ones; reopens them where the folder was deleted.
   */
  async run(run: RunId): Promise<OpenRun> {
    const before = this.#runs.get(run)
    const opened = await before?.catch(() => undefined)
    // Activities under way still use the old folder's run, so it is closed when they end.
    if (opened && !isThere(opened) && this.#runs.get(run) === before) this.#runs.delete(run)
    return await this.#known(run)
  }

  #known(run: RunId): Promise<OpenRun> {
    const known = this.#runs.get(run) ?? this.#openRun(run)
    this.#runs.delete(run)
    this.#runs.set(run, known)
    known.catch(() => {
      // Errors are not cached.
      if (this.#runs.get(run) === known) this.#runs.delete(run)
    })
    return known
  }

  /** The folders that are written to for a run. */
  async foldersOf(run: RunId): Promise<string[]> {
    const { objects, temporary } = this.objects.repository
    const runs = await runsFolder(this.objects.repository, this.options.env)
    return [join(runs, run), objects, temporary]
  }

  /** Calls `work`, whose lines in a journal of several machines have this time. */
  at<Result>(time: number | undefined, work: () => Promise<Result>): Promise<Result> {
    return time === undefined ? work() : this.#time.run(time, work)
  }

  /** Calls `work`, and keeps the run's store, journal and ledger open until it has ended. */
  async using<Result>(run: RunId, work: () => Promise<Result>): Promise<Result> {
    this.#users.set(run, (this.#users.get(run) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const left = (this.#users.get(run) ?? 1) - 1
      if (left > 0) this.#users.set(run, left)
      else this.#users.delete(run)
      this.#closeIdle()
    }
  }

  model(name: string): Promise<BatchableModel> {
    const known = this.#models.get(name) ?? this.options.openModel(name)
    this.#models.set(name, known)
    known.catch(() => this.#models.delete(name))
    return known
  }

  /** The user's git identity, with a date in seconds since 1970. It is read once. */
  async user(seconds: number): Promise<CommitIdentity> {
    this.#user ??= readUser(this.objects.repository)
    // After an error the settings are read again, so that a correction takes effect.
    this.#user.catch(() => {
      this.#user = undefined
    })
    return personAt(await this.#user, seconds)
  }

  /** The gate (limiter of concurrent requests) of a model's provider. */
  gate(model: string): Gate {
    const provider = providerOf(model) ?? model
    const gate = this.#gates.get(provider) ?? this.options.openGate?.() ?? new Gate()
    this.#gates.set(provider, gate)
    return gate
  }

  /** Sets a ref of a run, as {@link setRef} does, and notes it for the hub. */
  async setRef(run: RunId, ref: RefName, to: Oid, options: Parameters<typeof setRef>[3]): Promise<void> {
    if (await setRef(this.objects, ref, to, options)) this.options.shared?.of(run).moved(ref, to)
  }

  /** Counts a request to a model that has ended, for metrics. */
  count(model: string, request: Omit<CountedRequest, 'model' | 'provider'>): void {
    const { meter } = this.surroundings()
    if (meter) countRequest(meter, { ...request, model, provider: providerOf(model) ?? '' })
  }

  /** Blacks out known keys and whatever looks like a secret. */
  clean(text: string): string {
    return blackOut(text, this.settings.secrets)
  }

  /**
   * Reads a run's stored state. Throws a {@link Failure} where the run has not begun, or where a hub has brought
   * another wish, base, limits or models than the user has signed.
   */
  async stored(store: RunStore): Promise<StoredRun> {
    const stored = await this.#storedIn(store)
    if (stored) return stored
    throw new Failure(`The run ${store.run} has not begun in this repository.`)
  }

  /** The settings, with the models that a run was asked for with. */
  async settingsOf(store: RunStore): Promise<Settings> {
    const models = (await this.#storedIn(store))?.models
    return models ? this.settings.withModels(models) : this.settings
  }

  async #storedIn(store: RunStore): Promise<StoredRun | undefined> {
    const stored = await readStoredRun(store)
    const approved = this.options.shared && this.options.approved?.(store)
    if (!stored || !approved) return stored
    const words = JSON.stringify(stored)
    if (this.#asked.get(store) === words) return stored
    await approved.verifyAsked(stored)
    this.#asked.set(store, words)
    return stored
  }

  async plan(store: RunStore, reference: Reference): Promise<Plan> {
    return v.parse(Plan, await store.readJson(reference))
  }

  /** What a new plan of a run with these settings allows beyond `before`, the approved one, as sentences. */
  widens(settings: Settings, before: Plan, plan: Plan, done: readonly TaskId[]): string[] {
    const priceOfTier: PriceOf = tier => {
      const [name] = settings.modelsOf(tier)
      return name === undefined ? undefined : priceOf(name, settings)
    }
    return widensOf(before, plan, { priceOf: priceOfTier, reviewersOf: tier => reviewersOf(settings, tier), done })
  }

  /** What the requests of a run have used, over all machines. */
  async spent(run: RunId): Promise<Spent> {
    const { ledger, budget } = await this.run(run)
    const own = ledger.spent()
    const purse = await budget?.used(run)
    return purse ? { ...own, requests: purse.requests, cost: spentIn(purse) } : own
  }

  /** Starts to read the code map of a commit, in the background: it takes from seconds to minutes the first time. */
  readAhead(commit: Oid): void {
    this.options.map?.warm(commit).catch(() => undefined)
  }

  /** Starts `git maintenance` in the background. */
  tidyUp(): void {
    this.#written = 0
    this.#maintenance.afterCommit()
  }

  /** Packs the many small objects that a run has written, in the background. */
  packRun(run: RunId): void {
    const { repository } = this.objects
    this.#maintenance.pack(async () => {
      const own = await listRefs(repository, [`${RUNS}${run}/`, `${BRANCHES}${run}/`])
      const { base } = await this.stored((await this.run(run)).store)
      return [...own.map(({ oid }) => oid), `^${base}`]
    })
  }

  /** Waits for `git maintenance`, if it is running. */
  async tidied(): Promise<void> {
    await this.#maintenance.settled()
  }

  #wrote(): void {
    if (++this.#written >= MANY_WRITES) this.tidyUp()
  }

  [Symbol.dispose](): void {
    for (const opened of [...this.#open]) this.#close(opened)
  }

  #closeIdle(): void {
    const idle = [...this.#runs].filter(([run]) => !this.#users.has(run))
    for (const [run, opening] of idle.slice(0, -MAX_IDLE_RUNS)) {
      this.#runs.delete(run)
      opening.then(
        opened => this.#close(opened),
        () => undefined,
      )
    }
  }

  #close(opened: OpenRun): void {
    this.#open.delete(opened)
    opened.journal[Symbol.dispose]()
    opened.ledger[Symbol.dispose]()
  }

  async #openRun(run: RunId): Promise<OpenRun> {
    const { objects, settings, now } = this
    const store = new RunStore(objects, run, now, () => this.#wrote())
    const folder = await openRunFolder(objects.repository, run, this.options.env)
    const paid = () => allStoredAnswers(store)
    const ledger = await Ledger.open(folder, { paid, isShared: this.options.shared !== undefined })
    // Where several machines write, their clocks differ: the time is that of the server.
    const time = this.options.shared ? () => this.#time.getStore() ?? now() : now
    const journal = await Journal.open({ store, folder, secrets: settings.secrets, now: time })
    const approved = this.options.approved?.(store)
    const verdicts = this.options.verdicts?.(store)
    const troubles = new Troubles(folder)
    const budget = this.options.shared && this.#budgets
    const opened = { store, folder, inode: inodeOf(folder), journal, ledger, troubles, approved, verdicts, budget }
    this.#open.add(opened)
    return opened
  }
}

/** The cost of what was used; of requests under way, what is set aside does not count. */
const spentIn = ({ cost, open }: Purse): number => Math.max(0, cost - open.reduce((sum, it) => sum + it.cost, 0))

function currentSurroundings(): Surroundings {
  const context = Context.current()
  const { cancellationSignal, info, metricMeter: meter } = context
  const { attempt, currentAttemptScheduledTimestampMs: scheduled } = info
  const heartbeat = (details?: unknown) => context.heartbeat(details)
  return { signal: cancellationSignal, heartbeat, attempt, scheduled, meter }
}

/**
 * How often an activity is retried: for temporary failures (a busy provider), and for unexpected ones (a full disk).
 */
export const TRIES = { passing: 10, unexpected: 5 }

/** The type of failures that are over once the disk has space again. */
export const FULL_DISK = 'FullDisk'

/**
 * Wraps an activity of a run. Expected failures are not retried: they become a sentence for the user. All others
 * (git's, a full disk) are left to Temporal's retries. No error contains a secret. `at`: the time of the flow, where it
 * says so (flows/effects.ts).
 */
export function guarded<Input extends { run: RunId }, Output>(
  means: Means,
  work: (input: Input) => Promise<Output>,
  needs?: HubNeeds,
): (input: Input & { at?: number }) => Promise<Output> {
  return async ({ at, ...rest }) => {
    const input = rest as unknown as Input
    try {
      const time = means.options.shared && (at ?? means.surroundings().scheduled)
      return await means.at(time, () => means.using(input.run, () => withHub(means, input, () => work(input), needs)))
    } catch (error) {
      if (error instanceof HubTrouble)
        throw ApplicationFailure.create({ message: means.clean(error.message), type: 'HubTrouble' })
      if (error instanceof ModelError)
        throw ApplicationFailure.nonRetryable(means.clean(error.inRun), 'ModelError', error.trouble)
      if (error instanceof Failure) throw ApplicationFailure.nonRetryable(means.clean(error.message), 'Failure')
      const full = await whyFull(error, await means.foldersOf(input.run))
      if (full !== undefined) throw ApplicationFailure.create({ message: full, type: FULL_DISK })
      throw error
    }
  }
}
