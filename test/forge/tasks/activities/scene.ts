/** A repository with a run that has begun, and its activities with a scripted model: no Temporal, but real git. */
import { ApplicationFailure } from '@temporalio/common'
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { Approvals } from '../../../../forge/ai/approvals.ts'
import type { Model } from '../../../../forge/ai/request.ts'
import { type ActivityOptions, activitiesOf, type Surroundings } from '../../../../forge/tasks/activities/activities.ts'
import { ApprovedCommands } from '../../../../forge/tasks/checks/approved.ts'
import { Verdicts } from '../../../../forge/tasks/checks/verdicts.ts'
import type {
  Activities,
  Limits,
  Reference,
  RunInput,
  StepInput,
  StepKind,
  StepResult,
} from '../../../../forge/tasks/contract.ts'
import type { Budgets } from '../../../../forge/tasks/engine/budgets.ts'
import { SharedRuns } from '../../../../forge/tasks/hub/shared-runs.ts'
import type { Plan } from '../../../../forge/tasks/plan/schema.ts'
import { batchedId, close, type Purse, reserve, settle, settleKnown } from '../../../../forge/tasks/run/purse.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { callsOf } from '../../../doubles/task-calls.ts'
import { bare, commit, type Files, gitWith } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'
import { type Script, ScriptedModel } from '../../../support/scripted-model.ts'
import { settingsOf } from '../../ai/models.ts'

export const RUN = '20261122-test-abcd'
export const MODEL = 'openai/scripted'

/** One call of the tool `answer`. */
export const answer = (sent: object) => ({ calls: callsOf(sent) })
export const edits = (...wanted: object[]) =>
  answer({ signal: 'success', words: 'Do it. Since it was asked.', edits: wanted })
export const replace = (path: string, search: string, by: string) => ({ kind: 'replace', path, search, replace: by })

export const PLAN: Plan = {
  title: 'Add undo',
  summary: 'A stack.',
  contract: [{ id: 'A1', says: 'Undo works.', how: { kind: 'command', command: 'true', seconds: 10 } }],
  tasks: ['stack', 'docs'].map(id => ({
    id,
    title: `The ${id}`,
    objective: { behaviour: `Make the ${id}.`, outputs: [], acceptance: [] },
    claims: id === 'stack' ? ['A1'] : [],
    boundaries: { write: [`${id}/**`], never: [] },
    context: { files: ['a.txt'], tests: [], documents: [] },
    validation: { checks: [], reviews: [] },
    depends_on: [],
    tier: 'generation' as const,
    recursion: 1,
    size: 'small' as const,
  })),
}

export type Scene = AsyncDisposable & {
  place: Place
  base: string
  model: ScriptedModel
  store: RunStore
  activities: Activities
  plan: Reference
  /** Makes activities for the same run, as another process has them. */
  again: (more?: Partial<ActivityOptions>) => Activities
  input: (more?: Partial<StepInput>) => StepInput
  /** The input of the run. */
  runInput: RunInput
  /** Runs all five activities of a step. */
  step: (more?: Partial<StepInput>) => Promise<StepResult>
  /** Activities are cancelled by the controller that `off` had when they began; a test can set another one. */
  calls: { off: AbortController }
  /** Resolves when `git maintenance` has ended, if it was started. */
  tidied: () => Promise<void>
}

export type SceneOptions = {
  files?: Files
  script?: Script
  limits?: Partial<Limits>
  env?: Record<string, string>
  openModel?: (name: string) => Promise<Model>
} & Partial<Pick<ActivityOptions, 'check' | 'openGate' | 'collectors'>>

export async function makeScene({
  files,
  script = [],
  limits = {},
  env,
  ...options
}: SceneOptions = {}): Promise<Scene> {
  const place = await makePlace()
  await place.git('config', 'user.name', 'Pia Person')
  await place.git('config', 'user.email', 'pia@person.example')
  const base = await commit(place.path, 'main', files ?? { 'a.txt': 'one\ntwo\nthree\n' })
  const model = new ScriptedModel(script)
  const settings = await settingsOf({
    FORGE_MODEL: MODEL,
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    OPENAI_API_KEY: 'key-of-nobody-0123456789',
    ...env,
  })
  const calls = { off: new AbortController() }
  const surroundings = (): Surroundings => ({ signal: calls.off.signal, heartbeat: () => undefined })
  const opened: ReturnType<typeof activitiesOf>[] = []
  const again = (more: Partial<ActivityOptions> = {}): Activities => {
    const made = activitiesOf({
      objects: place.objects,
      settings,
      env: { XDG_STATE_HOME: `${place.folder}/state` },
      openModel: async () => model,
      check: async (means, { head }) => ({
        isGood: true,
        head,
        report: await means.keep('validation', '{"text":"All good."}'),
        words: 'All good.',
        commands: '',
      }),
      lint: async ({ tasks }) => ({ tasks: tasks.map(shapeOf), complaints: [] }),
      surroundings,
      ...options,
      ...more,
    })
    opened.push(made)
    return made.activities
  }
  const activities = again()
  const store = new RunStore(place.objects, RUN)
  const wish = await store.put('wish', 'Add undo.')
  const plan = await store.putJson('plan', PLAN)
  const run = { run: RUN, wish, base, limits: { depth: 3, ...limits }, isApproved: true, onlyPlan: false, atMost: 8 }
  await activities.begin(run)
  const input = (more: Partial<StepInput> = {}): StepInput => ({
    run: RUN,
    task: 'stack',
    attempt: 1,
    step: 'stack/1/1',
    kind: 'implement',
    tier: 'generation',
    choice: 0,
    base,
    depth: 1,
    about: [plan],
    ...more,
  })
  return {
    place,
    base,
    model,
    store,
    activities,
    plan,
    again,
    input,
    runInput: run,
    step: more => wholeStep(activities, input(more)),
    calls,
    tidied: async () => {
      for (const it of opened) await it.tidied()
    },
    [Symbol.asyncDispose]: async () => {
      for (const it of opened) it[Symbol.dispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}

/** A scene whose repository has a hub, with the signatures that a run has; its activities use both. */
export async function makeSharedScene(options: SceneOptions = {}): Promise<
  Scene & {
    hub: string
    approved: ApprovedCommands
    verdicts: Verdicts
    budgets: Budgets & { asked: number }
    /** Activities of another machine, with a clone of its own. */
    elsewhere: () => Promise<Activities>
  }
> {
  const scene = await makeScene(options)
  const { place, store, runInput } = scene
  const hub = await bare(`${place.folder}/hub.git`, 'main')
  await place.git('remote', 'add', 'hub', hub)
  await place.git('config', 'forge.hub', 'hub')
  const runs = await SharedRuns.open(place.objects)
  const approvals = new Approvals(`${place.folder}/config`)
  const approved = (of: RunStore) => new ApprovedCommands(approvals, of)
  const verdicts = (of: RunStore) => new Verdicts(approvals, of)
  await approved(store).approveAsking(runInput)
  const budgets = ownBudgets()
  const activities = scene.again({ shared: runs, approved, verdicts, budgets })
  await activities.begin(runInput)
  const others = new AsyncDisposableStack()
  const elsewhere = async () => {
    const path = `${place.folder}/elsewhere`
    await gitWith(place.folder, ['clone', '--quiet', '--origin', 'hub', hub, path])
    for (const [name, value] of [
      ['user.name', 'Pia Person'],
      ['user.email', 'pia@person.example'],
      ['forge.hub', 'hub'],
    ] as const)
      await gitWith(path, ['config', name, value])
    const objects = others.use(openObjects(await openRepository(path)))
    const shared = others.use((await SharedRuns.open(objects)) ?? { [Symbol.dispose]: () => undefined })
    const env = { XDG_STATE_HOME: `${place.folder}/elsewhere-state` }
    if (!(shared instanceof SharedRuns)) throw new Error('There is no hub')
    const made = scene.again({ objects, shared, approved, verdicts, budgets, env })
    await shared.of(RUN).fetch()
    return made
  }
  const end = async () => {
    runs?.[Symbol.dispose]()
    await others.disposeAsync()
    await scene[Symbol.asyncDispose]()
  }
  return {
    ...scene,
    hub,
    activities,
    step: more => wholeStep(activities, scene.input(more)),
    approved: approved(store),
    verdicts: verdicts(store),
    budgets,
    elsewhere,
    [Symbol.asyncDispose]: end,
  }
}

/** The budgets of all machines, kept in this process. `asked`: how often room was asked for. */
function ownBudgets(): Budgets & { asked: number } {
  let purse: Purse | undefined
  const budgets: Budgets & { asked: number } = {
    asked: 0,
    reserve: async (_, wanted, known) => {
      const first = await known()
      purse ??= first
      budgets.asked++
      const id = wanted.isBatched ? batchedId(wanted.key) : `sender ${budgets.asked}`
      const reserved = reserve(purse, { ...wanted, id, sender: id }, Date.now())
      purse = reserved.purse
      return { id, granting: reserved.granting }
    },
    settle: async (_, which, used) => {
      if (purse) purse = 'id' in which ? settle(purse, which.id, used) : settleKnown(purse, which.key, used)
    },
    close: async (_, closings) => {
      if (purse) purse = close(purse, closings)
    },
    used: async () => purse,
    end: async () => undefined,
  }
  return budgets
}

const shapeOf = ({ id, title, depends_on, tier, recursion }: Plan['tasks'][number]) => ({
  id,
  title,
  dependsOn: depends_on,
  tier,
  recursion,
  isSmall: true,
  reviews: 0,
  isAlone: false,
})

/** Calls the activities of a step as its flow does. */
export async function wholeStep(activities: Activities, input: StepInput): Promise<StepResult> {
  const { kind, base, run, attempt, step, task } = input
  const place = { run, attempt, step, ...(task !== undefined && { task }) }
  const constructed = await activities.construct(input)
  const sent = await activities.send({ ...place, ...constructed })
  const received = await activities.receive({ ...place, kind: kind as StepKind, answer: sent.answer })
  const { parsed } = received
  const serialized = parsed && (await activities.serialize({ ...place, kind, base, key: constructed.key, parsed }))
  return await activities.transition({ ...input, received, sent, ...(serialized && { serialized }) })
}

/** Sends as Temporal does: with retries where allowed, after the given delay. */
export async function sendAgain(activities: Activities, input: StepInput, tries = 10): Promise<{ tries: number }> {
  const { run, attempt, step, task } = input
  const constructed = await activities.construct(input)
  for (let count = 1; ; count++) {
    try {
      await activities.send({ run, attempt, step, ...(task !== undefined && { task }), ...constructed })
      return { tries: count }
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.nonRetryable || count >= tries) throw error
      await Bun.sleep(typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : 20)
    }
  }
}

/** The failure of an activity. */
export async function failureOf(work: Promise<unknown>): Promise<ApplicationFailure> {
  try {
    await work
  } catch (error) {
    if (error instanceof ApplicationFailure) return error
    throw error
  }
  throw new Error('It should have failed.')
}
