/**
 * A history that people made, done once more as a run: each commit is a task, a scripted model answers with its own
 * edits, and in the end the tree must be the very same one. Also when tasks end in any order, some attempts fail, and a
 * person is asked.
 *
 *   FORGE_TEST_HISTORY=/path/to/a/clone FORGE_TEST_COMMITS=200 bun test test/forge/tasks/history.test.ts
 *
 * takes the newest commits of that repository, and does all of it four times. Without these, it is the history of this
 * project, or where its clone has too little of that, one that nobody would think of.
 */
import { describe, expect, test } from 'bun:test'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { commit } from '../../../core/git/commits.ts'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository } from '../../../core/git/repository.ts'
import type { ApprovedCommands } from '../../../forge/tasks/checks/approved.ts'
import { openApproved } from '../../../forge/tasks/commands/approval.ts'
import type { CommandContext } from '../../../forge/tasks/commands/context.ts'
import type { RunInput, RunStatus, TaskId } from '../../../forge/tasks/contract.ts'
import { queryRun, startRun, updateRun, workflowIdOf } from '../../../forge/tasks/engine/client.ts'
import { openEngine } from '../../../forge/tasks/engine/engine.ts'
import { readPlan } from '../../../forge/tasks/runs/plans.ts'
import { RunStore } from '../../../forge/tasks/runs/store.ts'
import { type Heard, ModelServer, type Turn } from '../../doubles/model-server.ts'
import { callsOf } from '../../doubles/task-calls.ts'
import { bare, git, gitWith } from '../../support/git.ts'
import { commitsOf, type HistoryPlan, planOf } from '../../support/history-plan.ts'
import { type Random, randomFrom } from '../../support/random.ts'
import { randomHistory } from '../../support/random-histories.ts'
import { hasNoTemporal, startTemporal } from '../../support/temporal.ts'
import { PROJECT } from '../../support/world.ts'

const { FORGE_TEST_HISTORY: GIVEN, FORGE_TEST_COMMITS, FORGE_TEST_SEED = '1' } = process.env
const COUNT = Number(FORGE_TEST_COMMITS ?? 16)
/** Of this project's own history: its newest commits may be merges of hundreds of files, which take their time. */
const OWN_COUNT = 8
const SEED = Number(FORGE_TEST_SEED)
const MINUTES = GIVEN ? 60 : 5
/** Milliseconds that a model may take. */
const LONGEST = GIVEN ? 1500 : 500
/** Tasks at a time. */
const AT_MOST = 8

/** What goes otherwise than straight on. */
type Trouble = { isShuffled?: boolean; failing?: number; questions?: number }

type Done = {
  status: RunStatus
  history: HistoryPlan
  tree: string
  requests: number
  /** Pairs of tasks that ended in another order than their commits were made in. */
  turned: number
  seconds: number
}

describe.skipIf(hasNoTemporal)('a history that is done once more ends in the tree of its newest commit', () => {
  // A few more failures than in life, so that each kind is among them.
  const all: Trouble = { isShuffled: true, failing: 0.25, questions: 4 }
  if (!GIVEN) {
    const limit = MINUTES * 60_000
    test(
      'that of this project, in any order, with failures and questions',
      () => seen(ownHistory, all, OWN_COUNT),
      limit,
    )
    test('one of renames, modes and folders that become files', () => seen(randomHistoryAt, all), limit)
    return
  }
  const given = (path: string) => git('/', 'clone', '--quiet', '--bare', GIVEN, path)
  const limit = MINUTES * 60_000
  test('straight on', () => seen(given, {}), limit)
  test('in any order', () => seen(given, { isShuffled: true }), limit)
  test('with a tenth of the first attempts failing', () => seen(given, { isShuffled: true, failing: 0.1 }), limit)
  test('with four questions to a person', () => seen(given, { isShuffled: true, questions: 4 }), limit)
})

async function seen(make: (path: string) => Promise<unknown>, trouble: Trouble, count = COUNT): Promise<void> {
  const { status, history, tree, requests, turned, seconds } = await doOnceMore(make, trouble, count)
  const { tasks } = history.plan
  const failing = troubled(
    tasks.map(({ id }) => id),
    trouble,
  )
  if (GIVEN) {
    const words = [`${tasks.length} tasks`, `${requests} requests`, `${seconds.toFixed(0)} s`, `${turned} pairs turned`]
    console.error(`${words.join(', ')}; given: ${history.given.length} paths`)
  }
  expect(status).toMatchObject({ state: 'done' })
  expect(tree).toBe(history.tree)
  expect(requests).toBe(tasks.length + failing.size)
  const attempts = status.tasks.filter(({ attempt }) => attempt > 1).map(({ id }) => id)
  // What can't be used is asked for once more within its step; only the others cost an attempt.
  const costly = [...failing].filter(([id, kind]) => !WITHIN.includes(kindFor(history, id, kind)))
  expect(attempts.sort()).toEqual(costly.map(([id]) => id).sort())
}

// --- Histories -------------------------------------------------------------------------------------------------------

async function ownHistory(path: string): Promise<void> {
  const own = await git(PROJECT, 'rev-list', '--count', '--first-parent', 'HEAD').catch(() => '0')
  if (Number(own) > OWN_COUNT) await git('/', 'clone', '--quiet', '--bare', PROJECT, path)
  else await randomHistoryAt(path)
}

async function randomHistoryAt(path: string): Promise<void> {
  await bare(path)
  await gitWith(path, ['fast-import', '--quiet'], randomHistory(SEED, COUNT))
}

// --- The model -------------------------------------------------------------------------------------------------------

type Kind = 'beyond' | 'nowhere' | 'gives up' | 'no answer' | 'asks'

/** Which tasks do not go straight on, and how: the same ones for the same seed. */
function troubled(ids: readonly TaskId[], { failing = 0, questions = 0 }: Trouble): Map<TaskId, Kind> {
  const left = [...ids]
  const random = randomFrom(SEED)
  const take = (): TaskId => left.splice(random.below(left.length), 1)[0] ?? ''
  const kinds: Kind[] = ['beyond', 'nowhere', 'gives up', 'no answer']
  const failures = Array.from(
    { length: Math.round(ids.length * failing) },
    (_, at) => [take(), kinds[at % 4] as Kind] as const,
  )
  const asking = Array.from({ length: questions }, () => [take(), 'asks'] as const)
  return new Map([...failures, ...asking])
}

/** Troubles that end within the step that they come in. */
const WITHIN: readonly Kind[] = ['nowhere', 'no answer']

/** A task without boundaries can't go beyond them. */
function kindFor({ plan }: HistoryPlan, id: TaskId, kind: Kind): Kind {
  const isBounded = plan.tasks.some(task => task.id === id && task.boundaries.write.length > 0)
  return kind === 'beyond' && !isBounded ? 'nowhere' : kind
}

const answerOf = (id: TaskId): string => `Go on with ${id}.`

/** Whether it is about the plan as a whole, every few tasks: a summary of what was done, and whether it is still right. */
const isLook = (asked: string): boolean => /answer (?:with the summary|whether the plan is right), by/i.test(asked)

/** Answers each task with its commit's edits; those in trouble only when they are asked again. */
function modelOf(history: HistoryPlan, trouble: Trouble, random: Random): (heard: Heard) => Turn {
  const { edits, plan } = history
  const kinds = troubled(
    plan.tasks.map(({ id }) => id),
    trouble,
  )
  const answerTo = (asked: string): object => {
    if (isLook(asked)) return { signal: 'success', words: 'It is still right.', text: 'All goes well.' }
    const id = Array.from(asked.matchAll(/^# The task (c\d{4}):/gm)).at(-1)?.[1] ?? ''
    const own = edits.get(id)
    if (!own) return { signal: 'failure_terminal', words: 'Nobody has said how this is done.' }
    const success = { signal: 'success', words: `Do ${id} once more.`, edits: own }
    const isTold =
      asked.includes(answerOf(id)) ||
      /^# (?:Why the last attempt failed|What is wrong with the last answer)/m.test(asked)
    const wanted = isTold ? undefined : kinds.get(id)
    const kind = wanted && kindFor(history, id, wanted)
    const path = own[0]?.path ?? ''
    switch (kind) {
      case 'beyond':
        return { ...success, edits: [...own, { kind: 'write', path: 'beyond/all/boundaries.txt', content: 'Here.\n' }] }
      case 'nowhere':
        return { ...success, edits: [{ kind: 'replace', path, search: 'This stands nowhere.\n', replace: '' }] }
      case 'gives up':
        return { signal: 'failure_retryable', words: 'It did not work out.' }
      case 'no answer':
        return { ...success, edits: 'all that it takes' }
      case 'asks':
        return { signal: 'blocked_on_human', words: 'It is not clear.', question: `Shall ${id} be done?` }
      default:
        return success
    }
  }
  return heard => {
    const answer = answerTo(wordsOf(heard))
    const delay = trouble.isShuffled ? random.below(LONGEST) : 0
    return { calls: callsOf(answer), delay }
  }
}

// --- The run ---------------------------------------------------------------------------------------------------------

async function doOnceMore(make: (path: string) => Promise<unknown>, trouble: Trouble, count: number): Promise<Done> {
  await using temporal = await startTemporal()
  const path = join(temporal.folder, 'history.git')
  await make(path)
  await git(path, 'config', 'user.name', 'Pia Person')
  await git(path, 'config', 'user.email', 'pia@person.example')
  const repository = await openRepository(path)
  await using objects = openObjects(repository)
  const history = await planOf(objects, await commitsOf(path, count))
  // The usual key of the double stands in this project's own files, and no answer may have a key in it.
  const key = `key-of-this-run-${crypto.randomUUID()}`
  await using model = await ModelServer.start(modelOf(history, trouble, randomFrom(SEED + 1)), { key })
  const env = { ...temporal.env, ...(await dockerIn(temporal.folder)), ...model.environment('openai') }
  const context = { env, cwd: path } as unknown as CommandContext
  const run = 'history'
  const who = { name: 'Ada', email: 'ada@example.org', date: { seconds: 1_700_000_000, zone: '+0000' } }
  const base = await commit(objects, {
    tree: history.base,
    parents: [],
    message: 'Begin\n',
    author: who,
    committer: who,
  })
  const store = new RunStore(objects, run)
  const input: RunInput = {
    run,
    base,
    wish: await store.put('wish', 'Do it once more.'),
    plan: await store.putJson('plan', history.plan),
    limits: { depth: 0 },
    isApproved: true,
    onlyPlan: false,
    atMost: AT_MOST,
  }
  const approved = await openApproved({ repository, objects } as Parameters<typeof openApproved>[0], run, context)
  await approved.approveAll()
  await approved.approveAsking(input)
  await approved.approvePlan(await readPlan(store, input.plan))
  await using engine = await openEngine(repository, env, { start: true })
  const { client, queue } = engine
  const began = performance.now()
  await startRun(client, queue, input)
  await answerAll(client, run, { store, approved })
  await client.workflow.getHandle(workflowIdOf(run)).result()
  const status = await queryRun<RunStatus>(client, run, 'status')
  const seconds = (performance.now() - began) / 1000
  const tree = status.result === undefined ? '' : await git(path, 'rev-parse', `${status.result}^{tree}`)
  const requests = model.requests.filter(({ heard }) => !isLook(wordsOf(heard))).length
  return { status, history, tree, requests, turned: turnedIn(model), seconds }
}

/** The person: answers each question when it comes, until the run has ended. Throws where it waits for more. */
async function answerAll(
  client: Client,
  run: string,
  { store, approved }: { store: RunStore; approved: ApprovedCommands },
): Promise<void> {
  for (const handle = client.workflow.getHandle(workflowIdOf(run)); ; await Bun.sleep(250)) {
    const { status } = await handle.describe()
    if (status.name !== 'RUNNING') return
    const { state, words, tasks } = await queryRun<RunStatus>(client, run, 'status')
    const asking = tasks.filter(task => task.state === 'asks')
    // Many of the first ones may be among those that fail.
    if (state === 'asks' && words.includes('is the plan right?')) await updateRun(client, run, 'resume', [undefined])
    else if (state === 'paused' || (state === 'asks' && asking.length === 0))
      throw new Error(`The run is in state ${state}: ${words}`)
    for (const { id, question, words } of asking) {
      const asked = question ? await store.readText(question) : ''
      // What a task asks after two failures is no question of its own.
      if (asked.trim() !== `Shall ${id} be done?`) throw new Error(`${words}\n${asked}`)
      const answer = await store.put('answer', answerOf(id))
      await approved.signAnswer(id, answer.oid)
      await updateRun(client, run, 'answer', [id, answer])
    }
  }
}

const wordsOf = (heard: Heard | undefined): string => heard?.messages.map(({ text }) => text).join('\n') ?? ''

/** How many pairs of answers went out in another order than that of their tasks. */
function turnedIn(model: ModelServer): number {
  const order = model.requests.map(({ heard }) => {
    return Array.from(wordsOf(heard).matchAll(/^# The task c(\d{4}):/gm)).at(-1)?.[1] ?? ''
  })
  return order.reduce((sum, one, at) => sum + order.slice(at + 1).filter(other => other < one).length, 0)
}

/** The stand-in of docker, as the first on a PATH. */
async function dockerIn(folder: string): Promise<Record<string, string>> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await symlink(join(PROJECT, 'test/stand-ins/docker'), join(bin, 'docker'))
  return { PATH: `${bin}:${process.env.PATH}`, FORKLIFT_TEST_DOCKER: join(folder, 'docker') }
}
