/** Collects all activities for a Temporal worker. */
import { join } from 'node:path'
import { xdgFolder } from '../../../core/folders.ts'
import { type Objects, openObjects } from '../../../core/git/objects.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { openState } from '../../../core/state.ts'
import { Approvals } from '../../ai/approvals.ts'
import { hasBatches } from '../../ai/batches/services.ts'
import { NetworkPermission } from '../../ai/network.ts'
import { openModel } from '../../ai/providers.ts'
import { readSettings } from '../../ai/settings.ts'
import { openSummaries } from '../../ai/summaries.ts'
import type { CodeReader } from '../../code/reader.ts'
import { ApprovedCommands } from '../checks/approved.ts'
import { checksInWords, programsOf } from '../checks/programs.ts'
import { readyMadeIn } from '../checks/ready-made.ts'
import { Slots } from '../checks/slots.ts'
import { validate } from '../checks/validate.ts'
import { Verdicts } from '../checks/verdicts.ts'
import { openCodeMap } from '../context/map.ts'
import { wishedInWords } from '../context/wished.ts'
import type { Activities } from '../contract.ts'
import { evaluationsForPlanners } from '../evaluation/results.ts'
import { SharedRuns } from '../hub/shared-runs.ts'
import { readPlaybooks } from '../lessons/playbooks.ts'
import { lintPlan } from '../plan/lint.ts'
import { listRuns } from '../runs/folder.ts'
import { batchPriceOf, priceOf } from '../runs/prices.ts'
import { type KnownStats, statsForPlanners } from '../runs/stats.ts'
import { RunStore } from '../runs/store.ts'
import { reviewersOf } from '../steps/request.ts'
import { BatchWork } from './batch.ts'
import { LessonWork } from './lessons.ts'
import { ListWork } from './lists.ts'
import { type ActivityOptions, type AttemptCheck, guarded, type Lint, Means, type PlannerFacts } from './means.ts'
import { PlanWork } from './plan.ts'
import { RunWork } from './run.ts'
import { StepWork } from './step.ts'
import { TaskEffects } from './task.ts'
import { LONG_PATIENCE_MS } from './through-hub.ts'

export type { ActivityOptions, AttemptCheck, CheckMeans, Lint, Surroundings } from './means.ts'

/** Milliseconds to wait for the list of programs in the image. Plans can be made without it. */
const IMAGE_CHECK_TIMEOUT_MS = 90_000

type Environment = Record<string, string | undefined>

/**
 * The activities of the flows. `learns`: whether runs learn from earlier ones. `shared`: the hub, if there is one.
 * Dispose it to close journals, ledgers and git processes.
 */
type OpenActivities = { activities: Activities; learns: boolean; shared?: SharedRuns | undefined } & AsyncDisposable

/**
 * Makes all activities for a repository's worker, with the models in the user's settings and checks in the container.
 * @throws Failure where a setting is wrong.
 */
export async function makeActivities({
  repository,
  env,
}: {
  repository: Repository
  env: Environment
}): Promise<OpenActivities> {
  const settings = await readSettings(env)
  const state = await openState(repository, env)
  const objects = openObjects(repository)
  const shared = await SharedRuns.open(objects)
  const summaries = openSummaries(objects, { folder: state })
  const map = openCodeMap(objects, { folder: state })
  const slots = new Slots(repository, state)
  const approvals = new Approvals(join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge'))
  const network = new NetworkPermission(approvals, state, repository)
  const approved = (store: RunStore) => new ApprovedCommands(approvals, store)
  const opened = activitiesOf({
    objects,
    settings,
    env,
    summaries,
    map,
    // Temporal retries failed requests; retries in the client would multiply with those.
    openModel: name => openModel(name, settings, { again: {} }),
    check: checkOf({ objects, slots, approved, shared, network }),
    lint: lintOf({ objects, state, network }),
    facts: factsOf({ objects, code: map.code, state, network, env }),
    // Any process that can reach the server can submit, signal and complete anything, so only signed facts count.
    approved,
    verdicts: store => new Verdicts(approvals, store),
    shared,
  })
  const close = async () => {
    await opened.tidied()
    opened[Symbol.dispose]()
    await shared?.settle()
    shared?.[Symbol.dispose]()
    summaries[Symbol.dispose]()
    map[Symbol.dispose]()
    await slots[Symbol.asyncDispose]()
    await objects[Symbol.asyncDispose]()
  }
  return { activities: opened.activities, learns: settings.learns, shared, [Symbol.asyncDispose]: close }
}

type CheckSources = {
  objects: Objects
  slots: Slots
  approved: (store: RunStore) => ApprovedCommands
  shared: SharedRuns | undefined
  network: NetworkPermission
}

/** The check of an attempt: commands that the user has approved run in the container. */
function checkOf({ objects, slots, approved, shared, network }: CheckSources): AttemptCheck {
  return async ({ run, ...means }, attempt) => {
    const approvals = approved(new RunStore(objects, run))
    const unapproved = async (commands: readonly string[]) => {
      const missing = await approvals.missing(commands)
      if (missing.length === 0 || !shared) return missing
      // The user may have approved them on another machine.
      await shared.of(run).fetch()
      return await approvals.missing(commands)
    }
    return await validate({ ...means, objects, slots, unapproved, hasNetwork: await network.isGiven() }, attempt)
  }
}

type LintSources = { objects: Objects; state: string; network: NetworkPermission }

/** Lints plans. Finds out anew each time which checks can be run, since the image may be built while a plan is made. */
const lintOf =
  ({ objects, state, network }: LintSources): Lint =>
  async (plan, { settings, ...input }) => {
    const made = plan.tasks.flatMap(({ objective }) => objective.outputs)
    const [programs, readyMade, hasNetwork, { lessons }] = await Promise.all([
      programsOf(state, AbortSignal.timeout(IMAGE_CHECK_TIMEOUT_MS)).catch(() => undefined),
      readyMadeIn(objects, input.tree, made),
      network.isGiven(),
      readPlaybooks(objects),
    ])
    return await lintPlan(plan, {
      ...input,
      objects,
      canRun: { readyMade, hasNetwork, ...(programs && { programs: new Set(programs.keys()) }) },
      priceOf: tier => {
        const [name] = settings.modelsOf(tier)
        if (name === undefined) return undefined
        return input.inBatch && hasBatches(name, settings) ? batchPriceOf(name, settings) : priceOf(name, settings)
      },
      reviewersOf: tier => reviewersOf(settings, tier),
      lessons: new Set(lessons.map(({ id }) => id)),
    })
  }

type FactSources = LintSources & { code: CodeReader; env: Environment }

/**
 * Collects what a planner is told besides the wish and the files: possible checks, statistics of earlier runs, and what
 * the repository has on the words of the wish.
 */
function factsOf({ objects, code, state, network, env }: FactSources): PlannerFacts {
  const known: KnownStats = new Map()
  return async (base, wish, { isSearched }) => {
    const [programs, hasNetwork, runs] = await Promise.all([
      programsOf(state, AbortSignal.timeout(IMAGE_CHECK_TIMEOUT_MS)).catch(() => undefined),
      network.isGiven(),
      listRuns(objects.repository, env),
    ])
    const names = runs.filter(({ isInGit }) => isInGit).map(({ run }) => run)
    const [checks, stats, evaluated, wished] = await Promise.all([
      checksInWords(objects, base, { hasNetwork, programs }),
      // Statistics are optional: an unreadable run does not stop the planning.
      statsForPlanners(objects, names, known).catch(() => undefined),
      evaluationsForPlanners(objects).catch(() => undefined),
      isSearched ? '' : wishedInWords(code, base, wish).catch(() => ''),
    ])
    return [
      ...(stats === undefined ? [] : [{ kind: 'stats' as const, text: stats }]),
      ...(evaluated === undefined ? [] : [{ kind: 'evaluated' as const, text: evaluated }]),
      { kind: 'checks', text: checks },
      ...(wished === '' ? [] : [{ kind: 'wished' as const, text: wished }]),
    ]
  }
}

/** As {@link makeActivities}, with the given models, checks and stores in place of the real ones, for tests. */
export function activitiesOf(
  options: ActivityOptions,
): { activities: Activities; tidied: () => Promise<void> } & Disposable {
  const means = new Means(options)
  const steps = new StepWork(means)
  const batches = new BatchWork(means, steps)
  const lists = new ListWork(means)
  const plans = new PlanWork(means)
  const tasks = new TaskEffects(means)
  const runs = new RunWork(means, tasks)
  const lessons = new LessonWork(means)
  const activities: Activities = {
    construct: guarded(means, input => steps.construct(input)),
    send: guarded(means, input => steps.send(input), { isFresh: true, patience: LONG_PATIENCE_MS }),
    receive: guarded(means, input => steps.receive(input)),
    serialize: guarded(means, input => steps.serialize(input)),
    transition: guarded(means, input => steps.transition(input)),
    enlist: guarded(means, input => batches.enlist(input), { isFresh: true }),
    lookUp: guarded(means, input => batches.lookUp(input), { isFresh: true }),
    withdraw: guarded(means, input => batches.withdraw(input)),
    submitBatch: guarded(means, input => batches.submitBatch(input), { isFresh: true, patience: LONG_PATIENCE_MS }),
    lookAtBatch: guarded(means, input => batches.lookAtBatch(input), { isFresh: true }),
    cancelBatch: guarded(means, input => batches.cancelBatch(input)),
    collectBatch: guarded(means, input => batches.collectBatch(input), { isFresh: true, patience: LONG_PATIENCE_MS }),
    failBatch: guarded(means, input => batches.failBatch(input), { isFresh: true }),
    dropRequests: guarded(means, input => batches.dropRequests(input)),
    keepWords: guarded(means, input => steps.keepWords(input)),
    keepItems: guarded(means, input => lists.keepItems(input)),
    readItems: guarded(means, input => lists.readItems(input)),
    lintPlan: guarded(means, input => plans.lintPlan(input)),
    gather: guarded(means, input => tasks.gather(input)),
    judge: guarded(means, input => tasks.judge(input)),
    validate: guarded(means, input => tasks.validate(input), { patience: LONG_PATIENCE_MS }),
    reportFailure: guarded(means, input => tasks.reportFailure(input)),
    deliver: guarded(means, input => tasks.deliver(input)),
    begin: guarded(means, input => runs.begin(input), { isFresh: true, hasRefs: true }),
    note: guarded(means, input => runs.note(input), { isLazy: true }),
    remember: guarded(means, input => runs.remember(input), { isFresh: true }),
    escalate: guarded(means, input => runs.escalate(input)),
    rest: guarded(means, status => runs.rest(status), { isFresh: true, isLazy: true }),
    finish: guarded(means, input => runs.finish(input), { isFresh: true, hasRefs: true }),
    gatherLessons: guarded(means, input => lessons.gatherLessons(input)),
    keepLessons: guarded(means, input => lessons.keepLessons(input)),
    unlearned: () => lessons.unlearned(),
  }
  return { activities, tidied: () => means.tidied(), [Symbol.dispose]: () => means[Symbol.dispose]() }
}
