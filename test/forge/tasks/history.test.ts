/**
 * A real history, repeated as a run: each commit is a task, a scripted model answers with its edits, and the final tree
 * must be the same. Also with tasks that end in any order, failing attempts, and questions to the user.
 *
 *   FORGE_TEST_HISTORY=/path/to/a/clone FORGE_TEST_COMMITS=200 bun test test/forge/tasks/history.test.ts
 *
 * uses the newest commits of that repository, four times. Without these variables, it is this project's history, or a
 * made-up one where the clone is too shallow.
 */
import { describe, expect, test } from 'bun:test'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { commit } from '../../../core/git/commits.ts'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository } from '../../../core/git/repository.ts'
import type { ApprovedCommands } from '../../../forge/tasks/checks/approved.ts'
import { openApproved } from '../../../forge/tasks/commands/approved.ts'
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
/**
 * How many commits of this project's history are used, and at most how many changed lines each may have: a merge can
 * have thousands.
 */
const [OWN_COUNT, MAX_OWN_LINES] = [8, 1500]
const SEED = Number(FORGE_TEST_SEED)
const MINUTES = GIVEN ? 60 : 5
/** The longest answer time of the model, in milliseconds. */
const LONGEST = GIVEN ? 1500 : 500
/** The most tasks at the same time. */
const AT_MOST = 8

/**
 * What does not go smoothly in a run. `failing`: the share of tasks that are answered badly at first. `questions`: the
 * number of tasks that ask the user.
 */
type Trouble = { isShuffled?: boolean; failing?: number; questions?: number }

type Done = {
  status: RunStatus
  history: HistoryPlan
  tree: string
  requests: number
  /** `turned`: pairs of tasks that ended in another order than their commits. */
  turned: number
  seconds: number
}

describe.skipIf(hasNoTemporal)('a history that is done once more ends in the tree of its newest commit', () => {
  // More failures than in practice, so that each kind occurs.
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
  // An unusable answer is asked for again within its step; only other failures cost an attempt.
  const costly = [...failing].filter(([id, kind]) => !WITHIN.includes(kindFor(history, id, kind)))
  expect(attempts.sort()).toEqual(costly.map(([id]) => id).sort())
}

// --- Histories -------------------------------------------------------------------------------------------------------

/** The newest commits of this project that are small enough, one after the other; a made-up history without any. */
async function ownHistory(path: string): Promise<void> {
  const tip = await smallOwnCommits().catch(() => undefined)
  if (tip === undefined) return await randomHistoryAt(path)
  await git('/', 'clone', '--quiet', '--bare', PROJECT, path)
  await git(path, 'update-ref', '--no-deref', 'HEAD', tip)
}

/** The last one of the newest {@link OWN_COUNT} neighbouring commits that each change few lines. */
async function smallOwnCommits(): Promise<string | undefined> {
  const log = await git(PROJECT, 'log', '--first-parent', '-m', '--max-count=500', '--shortstat', '--format=%x00%H')
  const commits = log.split('\0').slice(1)
  const isSmall = commits.map(words => {
    const lines = [...words.matchAll(/(\d+) (?:insertion|deletion)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
    return lines <= MAX_OWN_LINES
  })
  // `log` lists the newest first. The run's base is the commit before the OWN_COUNT small ones, so one more has to
  // follow.
  const at = commits.findIndex((_, at) => {
    return at + OWN_COUNT < commits.length && isSmall.slice(at, at + OWN_COUNT).every(Boolean)
  })
  return commits[at]?.split('\n')[0]
}

async function randomHistoryAt(path: string): Promise<void> {
  await bare(path)
  await gitWith(path, ['fast-import', '--quiet'], randomHistory(SEED, COUNT))
}

// --- The model -------------------------------------------------------------------------------------------------------

type Kind = 'beyond' | 'nowhere' | 'gives up' | 'no answer' | 'asks'

/** The tasks with trouble, and its kind; the same for the same seed. */
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

/** The kinds of trouble that cost no attempt: the model is asked again within the same step. */
const WITHIN: readonly Kind[] = ['nowhere', 'no answer']

/** The kind of trouble for a task; one without boundaries can't go beyond them. */
function kindFor({ plan }: HistoryPlan, id: TaskId, kind: Kind): Kind {
  const isBounded = plan.tasks.some(task => task.id === id && task.boundaries.write.length > 0)
  return kind === 'beyond' && !isBounded ? 'nowhere' : kind
}

const answerOf = (id: TaskId): string => `Go on with ${id}.`

/** Whether a request is about the whole plan: a summary of finished work, or the check of the plan. */
const isLook = (asked: string): boolean => /answer (?:with the summary|whether the plan is right), by/i.test(asked)

/**
 * Makes a model that answers each task with the edits of its commit. A task that `trouble` chooses gets a bad answer
 * first, and these edits when it is asked again.
 */
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
  // A unique key, since the double's usual one is in this project's own files, and no answer may contain a key.
  const key = `key-of-this-run-${crypto.randomUUID()}`
  await using model = await ModelServer.start(modelOf(history, trouble, randomFrom(SEED + 1)), { key })
  const docker = await dockerIn(temporal.folder)
  // A lesson's request at the end would be one more than the tasks have.
  const env = { ...temporal.env, ...docker, ...model.environment('openai'), FORGE_LESSONS: 'off' }
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
  const approved = openApproved(
    { repository, objects, hub: async () => undefined } as Parameters<typeof openApproved>[0],
    run,
    context,
  )
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

/** The user: answers each question until the run has ended. Throws where it waits for anything else. */
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
    // The run asks this where many of the first tasks happen to fail: continue.
    if (state === 'asks' && words.includes('is the plan right?')) await updateRun(client, run, 'resume', [undefined])
    else if (state === 'paused' || (state === 'asks' && asking.length === 0))
      throw new Error(`The run is in state ${state}: ${words}`)
    for (const { id, question, words } of asking) {
      const asked = question ? await store.readText(question) : ''
      // Only questions of the model are answered: the run asks a different one after two failures.
      if (asked.trim() !== `Shall ${id} be done?`) throw new Error(`${words}\n${asked}`)
      const answer = await store.put('answer', answerOf(id))
      await approved.signAnswer(id, answer.oid)
      await updateRun(client, run, 'answer', [id, answer])
    }
  }
}

const wordsOf = (heard: Heard | undefined): string => heard?.messages.map(({ text }) => text).join('\n') ?? ''

/** How many pairs of answers were sent in another order than their tasks. */
function turnedIn(model: ModelServer): number {
  const order = model.requests.map(({ heard }) => {
    return Array.from(wordsOf(heard).matchAll(/^# The task c(\d{4}):/gm)).at(-1)?.[1] ?? ''
  })
  return order.reduce((sum, one, at) => sum + order.slice(at + 1).filter(other => other < one).length, 0)
}

/** The stand-in for docker, first in a PATH. */
async function dockerIn(folder: string): Promise<Record<string, string>> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await symlink(join(PROJECT, 'test/stand-ins/docker'), join(bin, 'docker'))
  return { PATH: `${bin}:${process.env.PATH}`, FORKLIFT_TEST_DOCKER: join(folder, 'docker') }
}
