/** What activities work with: the repository, the models, and what a run keeps, opened once and closed together. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { whyFull } from '../../../core/full-disk.ts'
import type { CommitIdentity } from '../../../core/git/commits.ts'
import { Maintenance } from '../../../core/git/maintenance.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { listRefs } from '../../../core/git/refs.ts'
import type { Path } from '../../../core/git/repository.ts'
import type { TreeChange } from '../../../core/git/trees.ts'
import { type Model, ModelError } from '../../ai/request.ts'
import { blackOut } from '../../ai/secrets.ts'
import { providerOf, type Settings } from '../../ai/settings.ts'
import type { Summaries } from '../../ai/summaries.ts'
import { RUNS } from '../../formats/tasks-json.ts'
import type { ApprovedCommands } from '../checks/approved.ts'
import type { Judged } from '../checks/validate.ts'
import type { Verdicts } from '../checks/verdicts.ts'
import type { CodeMap } from '../context/map.ts'
import type { Limits, Oid, Reference, RunId, Standing, TaskId } from '../contract.ts'
import type { PriceOf } from '../plan/estimate.ts'
import type { PlannedShape } from '../plan/lint.ts'
import { Plan, type Task } from '../plan/schema.ts'
import { widensOf } from '../plan/widens.ts'
import { Ledger } from '../runs/budget.ts'
import { BRANCHES, openRunFolder, runsFolder } from '../runs/folder.ts'
import { Journal } from '../runs/journal.ts'
import { readStoredRun, type StoredRun } from '../runs/plans.ts'
import { priceOf } from '../runs/prices.ts'
import { RunStore } from '../runs/store.ts'
import { parseStoredAnswer } from '../runs/stored-answer.ts'
import { Troubles } from '../runs/troubles.ts'
import { personAt, readUser } from '../steps/commits.ts'
import { reviewersOf } from '../steps/request.ts'
import { Gate } from './gate.ts'

/** Where an activity runs: how it hears that it is to end, and how it says that it lives. */
export type Surroundings = {
  signal: AbortSignal
  heartbeat: (details?: unknown) => void
  /** Which try of the activity it is, from 1. */
  attempt?: number
}

/** What checks need of a run. */
export type CheckMeans = {
  run: RunId
  /** The run's folder. */
  folder: string
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
 * What the flow has to know of a plan's tasks, or a sentence for each thing that is wrong with it. `standing` is how far
 * the tasks of `before` are. `notes` are sentences for the journal.
 */
export type Lint = (
  plan: Plan,
  input: { tree: Oid; limits: Limits; standing: readonly Standing[]; before?: Plan },
) => Promise<{ tasks: PlannedShape[]; complaints: string[]; notes?: string[] }>

/** What a planner is told besides the files, of a run that begins with a commit and a person's words. */
export type PlannerFacts = (base: Oid, wish: string) => Promise<{ kind: 'checks' | 'stats' | 'wished'; text: string }[]>

export type ActivityOptions = {
  objects: Objects
  settings: Settings
  /** For the folders of the user. */
  env: Record<string, string | undefined>
  /** Opens a model that asks once: Temporal asks again. */
  openModel: (name: string) => Promise<Model>
  check: AttemptCheck
  lint: Lint
  facts?: PlannerFacts
  /** What the person has signed for in a run. Without it, signatures are not checked. */
  approved?: (run: RunId, folder: string) => ApprovedCommands
  /** Signs what is found out about a run; where it is left out, nothing is signed. */
  verdicts?: (store: RunStore) => Verdicts
  summaries?: Summaries
  map?: CodeMap
  surroundings?: () => Surroundings
  now?: () => number
  /** How a provider's gate begins. */
  openGate?: () => Gate
}

/** A run that is open in this process. `inode` tells its folder from another one that is made in the same place. */
export type OpenRun = {
  store: RunStore
  folder: string
  inode: number | undefined
  journal: Journal
  ledger: Ledger
  troubles: Troubles
  approved?: ApprovedCommands | undefined
  verdicts?: Verdicts | undefined
}

const inodeOf = (folder: string): number | undefined => statSync(folder, { throwIfNoEntry: false })?.ino
const isThere = ({ folder, inode }: OpenRun): boolean => inode !== undefined && inodeOf(folder) === inode

/**
 * After this many commits to the stores of runs, `git maintenance` is started: each leaves objects that the next one
 * replaces.
 */
const MANY_WRITES = 300
/** Runs that stay open while nothing is done for them; a worker that lives for weeks sees many. */
const MAX_IDLE_RUNS = 8

/** To be closed. */
export class Means implements Disposable {
  readonly objects: Objects
  readonly settings: Settings
  readonly now: () => number
  readonly surroundings: () => Surroundings
  /** The one that was used last is the last one. */
  readonly #runs = new Map<RunId, Promise<OpenRun>>()
  /** Activities that are under way, by their run. */
  readonly #users = new Map<RunId, number>()
  readonly #gates = new Map<string, Gate>()
  readonly #models = new Map<string, Promise<Model>>()
  readonly #open = new Set<OpenRun>()
  readonly #maintenance: Maintenance
  #written = 0
  #user: Promise<CommitIdentity> | undefined

  constructor(readonly options: ActivityOptions) {
    this.objects = options.objects
    this.settings = options.settings
    this.now = options.now ?? Date.now
    this.surroundings = options.surroundings ?? currentSurroundings
    this.#maintenance = new Maintenance(options.objects.repository)
  }

  /** A run's store, folder, journal and ledger: opened again where the folder was deleted meanwhile. */
  async run(run: RunId): Promise<OpenRun> {
    const before = this.#runs.get(run)
    const opened = await before?.catch(() => undefined)
    // Activities that run still use the old one: it is closed with all the others in the end.
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

  /** What is written to for a run. */
  async foldersOf(run: RunId): Promise<string[]> {
    const { objects, temporary } = this.objects.repository
    const runs = await runsFolder(this.objects.repository, this.options.env)
    return [join(runs, run), objects, temporary]
  }

  /** Does something for a run, which stays open meanwhile. */
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

  model(name: string): Promise<Model> {
    const known = this.#models.get(name) ?? this.options.openModel(name)
    this.#models.set(name, known)
    known.catch(() => this.#models.delete(name))
    return known
  }

  /** Whose name commits bear, at a time in seconds: asked for once, as git is set up when this process needs it. */
  async user(seconds: number): Promise<CommitIdentity> {
    this.#user ??= readUser(this.objects.repository)
    // After an error the settings are read again, so that a correction is seen.
    this.#user.catch(() => {
      this.#user = undefined
    })
    return personAt(await this.#user, seconds)
  }

  /** The gate of a model's provider. */
  gate(model: string): Gate {
    const provider = providerOf(model) ?? model
    const gate = this.#gates.get(provider) ?? this.options.openGate?.() ?? new Gate()
    this.#gates.set(provider, gate)
    return gate
  }

  /** A text without the keys that this process knows, or anything that looks like one. */
  clean(text: string): string {
    return blackOut(text, this.settings.secrets)
  }

  /** Throws a {@link Failure} where it has not begun. */
  async stored(store: RunStore): Promise<StoredRun> {
    const stored = await readStoredRun(store)
    if (stored) return stored
    throw new Failure(`The run ${store.run} has not begun in this repository.`)
  }

  async plan(store: RunStore, reference: Reference): Promise<Plan> {
    return v.parse(Plan, await store.readJson(reference))
  }

  /** What a plan allows beyond the one that was approved before it. */
  widens(before: Plan, plan: Plan, done: readonly TaskId[]): string[] {
    const { settings } = this
    const priceOfTier: PriceOf = tier => {
      const [name] = settings.modelsOf(tier)
      return name === undefined ? undefined : priceOf(name, settings)
    }
    return widensOf(before, plan, { priceOf: priceOfTier, reviewersOf: tier => reviewersOf(settings, tier), done })
  }

  /** Starts `git maintenance` in the background. */
  tidyUp(): void {
    this.#written = 0
    this.#maintenance.afterCommit()
  }

  /** Packs what a run has written so far, many small objects, in the background. */
  packRun(run: RunId): void {
    const { repository } = this.objects
    this.#maintenance.pack(async () => {
      const own = await listRefs(repository, [`${RUNS}${run}/`, `${BRANCHES}${run}/`])
      const { base } = await this.stored((await this.run(run)).store)
      return [...own.map(({ oid }) => oid), `^${base}`]
    })
  }

  /** Waits for git's look, if it is to look. */
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
    const paid = async () => (await store.all('answers')).map(parseStoredAnswer)
    const ledger = await Ledger.open(folder, { paid })
    const journal = await Journal.open({ store, folder, secrets: settings.secrets, now })
    const approved = this.options.approved?.(run, folder)
    const verdicts = this.options.verdicts?.(store)
    const troubles = new Troubles(folder)
    const opened = { store, folder, inode: inodeOf(folder), journal, ledger, troubles, approved, verdicts }
    this.#open.add(opened)
    return opened
  }
}

function currentSurroundings(): Surroundings {
  const context = Context.current()
  const { cancellationSignal, info } = context
  return { signal: cancellationSignal, heartbeat: details => context.heartbeat(details), attempt: info.attempt }
}

/** How often a temporary failure is retried (a busy provider), and an unexpected one (a full disk). */
export const TRIES = { passing: 10, unexpected: 5 }

/** The type of failures that end as soon as there is space on the disk. */
export const FULL_DISK = 'FullDisk'

/**
 * An activity for a run, whose expected failures are not tried again: they are a sentence for a person. All else (git's
 * trouble, a full disk) is Temporal's to try again. No error carries a secret.
 */
export function guarded<Input extends { run: RunId }, Output>(
  means: Means,
  work: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async input => {
    try {
      return await means.using(input.run, () => work(input))
    } catch (error) {
      if (error instanceof ModelError)
        throw ApplicationFailure.nonRetryable(means.clean(error.inRun), 'ModelError', error.trouble)
      if (error instanceof Failure) throw ApplicationFailure.nonRetryable(means.clean(error.message), 'Failure')
      const full = await whyFull(error, await means.foldersOf(input.run))
      if (full !== undefined) throw ApplicationFailure.create({ message: full, type: FULL_DISK })
      throw error
    }
  }
}
