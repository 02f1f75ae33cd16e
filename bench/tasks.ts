/**
 * `make bench BENCH=tasks`: measures what the tasks add to the models' own time: a step on many files, the engine's
 * rate, a fan-out of a thousand, the memory of worker and server, the time to a run's first request, and the parts of a
 * request that grow with the repository. Everything is real but the model, which answers at once. Prints a table;
 * nothing passes or fails. `bun bench/tasks.ts [PART …]` runs some parts alone.
 */
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Objects, openObjects } from '../core/git/objects.ts'
import { openRepository, type Repository } from '../core/git/repository.ts'
import { writeTree } from '../core/git/trees.ts'
import { openCodeMap } from '../forge/tasks/context/map.ts'
import type { List, Oid, Reference, StepInput } from '../forge/tasks/contract.ts'
import { ensureBundle } from '../forge/tasks/engine/bundle.ts'
import { workflowIdOf } from '../forge/tasks/engine/client.ts'
import { type Engine, openEngine } from '../forge/tasks/engine/engine.ts'
import { endWorker, findWorkers } from '../forge/tasks/engine/workers.ts'
import type { FanOutEnd, FanOutInput } from '../forge/tasks/flows/ends.ts'
import { lintPlan } from '../forge/tasks/plan/lint.ts'
import type { Plan } from '../forge/tasks/plan/schema.ts'
import type { TaskEnd, TaskInput } from '../forge/tasks/run/events.ts'
import { RunStore } from '../forge/tasks/runs/store.ts'
import { type Heard, ModelServer, type Turn } from '../test/doubles/model-server.ts'
import { callsOf } from '../test/doubles/task-calls.ts'
import { plan, task } from '../test/forge/tasks/plan/plans.ts'
import { bare, type Files, commit as filesAsCommit, git } from '../test/support/git.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../test/support/temporal.ts'
import { workOn } from '../test/support/test-worker.ts'
import { PROJECT } from '../test/support/world.ts'
import { inTurns, median, memoryOf, time } from './measure.ts'

const FILES = 20_000
const AGENTS = 1000
const TASKS = 1000
const STEPS = 15
/** A worker is idle that uses less than this share of a processor in this many looks in a row. */
const [IDLE_SHARE, IDLE_LOOKS, LOOK_MS] = [0.1, 3, 1000]
const FORGE = join(PROJECT, 'forge.ts')
const RUN = '20261122-bench-0000'

const rows: string[] = []
const milliseconds = (value: number): string =>
  value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`
const mebibytes = (value: number): string => `${Math.round(value)} MiB`

/** Adds a row to the table; `bare` is the time in milliseconds that any program would need for the same. */
function row(what: string, forge: string, goal = '', bare?: { what: string; wall: number; ratio: number }): void {
  const beside = bare ? [bare.what, milliseconds(bare.wall), bare.ratio.toFixed(2)] : ['', '', '']
  rows.push(`| ${[what, forge, ...beside, goal].join(' | ')} |`)
  console.error(`${what}: ${forge}`)
}

async function timed<T>(act: () => Promise<T>): Promise<[result: T, wall: number]> {
  const begun = performance.now()
  const result = await act()
  return [result, performance.now() - begun]
}

// --- The repository --------------------------------------------------------------------------------------------------

const pathOf = (file: number): string => `part${file % 23}/area${Math.floor(file / 23) % 29}/file${file}.ts`
const contentOf = (file: number): string =>
  `/** File ${file}: what it is about, in one sentence. */\nimport { act${(file * 7) % FILES}x0 } from '../other.ts'\n\n` +
  Array.from(
    { length: 8 },
    (_, at) =>
      `export function act${file}x${at}(path: string): number {\n  return act${(file * 7) % FILES}x0(path, ${at})\n}\n\n`,
  ).join('')

async function makeRepository(path: string): Promise<void> {
  await bare(path)
  for (let from = 0; from < FILES; from += 10_000) {
    const files: Files = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [pathOf(from + at), contentOf(from + at)]),
    )
    await filesAsCommit(path, 'main', files, { message: `Add files from ${from}` })
  }
  await git(path, 'config', 'user.name', 'Ada')
  await git(path, 'config', 'user.email', 'ada@example.org')
  await git(path, 'repack', '-adfq')
}

type Ground = { temporal: TestTemporal; repository: Repository; objects: Objects; base: Oid; path: string }

// --- A model that takes no time --------------------------------------------------------------------------------------

/** When a request was received, and when it was answered. */
type Clock = { asked: number; answered: number }

/** Answers each kind of step at once; an edit changes a file that the request names. */
function answerTo(heard: Heard): object {
  const asked = heard.messages.map(({ text }) => text).join('\n')
  const [, kind] = /^# Your task: (.+)$/m.exec(heard.system) ?? []
  if (kind === 'a text') return { signal: 'success', words: 'Found.', text: 'It is there.' }
  if (kind === 'the plan') return { signal: 'failure_terminal', words: 'That is all that is measured.' }
  const [, path = ''] = /^- `(part\S+)`$/m.exec(asked) ?? []
  const edits = [{ kind: 'write', path, content: `// ${crypto.randomUUID()}\n` }]
  return { signal: 'success', words: 'Change a file.', edits }
}

const play = (heard: Heard): Turn => ({ calls: callsOf(answerTo(heard)) })

/** The times of the requests that a server got, from number `from` on. */
async function clocksOf(model: ModelServer, from: number): Promise<Clock[]> {
  return await Promise.all(
    model.requests.slice(from).map(async ({ at, closed }) => ({ asked: at, answered: (await closed).at })),
  )
}

// --- A step, and a fan-out of real ones ------------------------------------------------------------------------------

/** A run that exists only as files, so that its steps can be started one by one. */
async function beginRun({ objects, base }: Ground): Promise<{ store: RunStore; reference: Reference; given: Plan }> {
  const store = new RunStore(objects, RUN)
  const tasks = Array.from({ length: STEPS + 1 }, (_, at) => {
    const path = pathOf(at * 401)
    const files = { context: { files: [pathOf(at * 401 + 1), pathOf(at * 401 + 2)] } }
    return task(`t${at}`, { boundaries: { write: [path] }, objective: { outputs: [path] }, ...files })
  })
  const given = plan(tasks)
  const reference = await store.putJson('plan', given)
  const wish = await store.put('wish', 'Measure it.')
  const limits = { depth: 3 }
  const input = { run: RUN, wish, base, limits, isApproved: true, onlyPlan: false, atMost: 8, began: Date.now() }
  await store.set('run.json', JSON.stringify(input))
  return { store, reference, given }
}

async function steps(ground: Ground, engine: Engine, model: ModelServer): Promise<void> {
  const { base, path } = ground
  const { reference } = await beginRun(ground)
  const beside: number[] = []
  // Without docker an attempt ends before its checks: the measured task has one request and no checks.
  const inputOf = (at: number): TaskInput => ({
    ...{ run: RUN, task: `t${at}`, attempt: 1, plan: reference, tier: 'generation', base, results: [], depth: 0 },
    ...{ about: [], above: {} },
    shape: {
      ...{ id: `t${at}`, title: 'A step', dependsOn: [], tier: 'generation', recursion: 0, isSmall: true, reviews: 0 },
      ...{ isAlone: false, hash: '' },
    },
  })
  for (let at = 0; at <= STEPS; at++) {
    const from = model.requests.length
    const workflowId = `${workflowIdOf(RUN)}/t${at}`
    const run = () =>
      engine.client.workflow.execute('forgeAttempt', { args: [inputOf(at)], taskQueue: engine.queue, workflowId })
    const [end, wall] = await timed(run as () => Promise<TaskEnd>)
    if (!end.isUnchecked) throw new Error(`An attempt did not come to its checks: ${JSON.stringify(end)}`)
    if (at === 0) await untilIdle(ground)
    const [clock] = await clocksOf(model, from)
    beside.push(wall - ((clock?.answered ?? 0) - (clock?.asked ?? 0)) - (await checkTimeOf(engine.client, workflowId)))
  }
  const [cold = 0, ...warm] = beside
  const script = `export GIT_INDEX_FILE=${ground.temporal.folder}/index GIT_DIR=${path} && git read-tree main &&
    blob=$(echo other | git hash-object -w --stdin) && git update-index --cacheinfo 100644,$blob,${pathOf(1)} &&
    git update-ref refs/heads/bare "$(echo bare | git commit-tree -p main "$(git write-tree)")"`
  const { commit } = await inTurns(
    { rounds: 10, seconds: 10 },
    {
      commit: () => time(['sh', '-c', script], { cwd: '/', env: process.env }),
    },
  )
  const wall = median(warm)
  row(`the first step on ${FILES.toLocaleString('en')} files, beside the model's time`, milliseconds(cold))
  row(`a step with its commit, beside the model's time`, milliseconds(wall), '< 300 ms', {
    what: 'a commit by a temporary index',
    wall: commit.wall,
    ratio: wall / commit.wall,
  })
}

const AGENTS_OF = (asks: Reference) =>
  Array.from({ length: AGENTS }, (_, at) => ({ id: `a${at}`, tier: 'generation' as const, asks }))

/** Waits until the worker has nothing to do: the first step of a repository has its code read in the background. */
async function untilIdle({ temporal }: Ground): Promise<void> {
  const [worker] = await findWorkers(temporal.env)
  const spent = async () => (await memoryOf(worker?.process.pid ?? 0)).cpu
  for (let before = await spent(), idle = 0; idle < IDLE_LOOKS; ) {
    await Bun.sleep(LOOK_MS)
    const now = await spent()
    idle = now - before < IDLE_SHARE * LOOK_MS ? idle + 1 : 0
    before = now
  }
}

/** The milliseconds from the end of an attempt's step until the end of the attempt. */
async function checkTimeOf(client: Engine['client'], workflowId: string): Promise<number> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
  const times = (events ?? []).map(
    ({ eventTime }) => Number(eventTime?.seconds) * 1000 + Number(eventTime?.nanos) / 1e6,
  )
  const check = events?.findIndex(
    ({ activityTaskScheduledEventAttributes: it }) => it?.activityType?.name === 'validate',
  )
  const [from, to] = [times[check ?? -1], times.at(-1)]
  if (from === undefined || to === undefined) throw new Error(`The attempt ${workflowId} began no check.`)
  return to - from
}

async function fanOut(ground: Ground, engine: Engine): Promise<void> {
  const { store, reference } = await beginRun(ground)
  const asks = await store.putJson('asks', { text: 'What is it?', files: [pathOf(5)] })
  const agents = { ...(await store.putJson('agents', AGENTS_OF(asks))), count: AGENTS }
  const server = engine.server.running?.process.pid ?? 0
  const [worker] = await findWorkers(ground.temporal.env)
  const pid = worker?.process.pid ?? 0
  const idle = { worker: await memoryOf(pid), server: await memoryOf(server) }
  row('memory of the worker, before a fan-out', mebibytes(idle.worker.own))
  row('memory of the server, before a fan-out', mebibytes(idle.server.own))
  const peak = { worker: 0, server: 0 }
  const look = setInterval(async () => {
    peak.worker = Math.max(peak.worker, (await memoryOf(pid)).own)
    peak.server = Math.max(peak.server, (await memoryOf(server)).own)
  }, 500)
  const parent: StepInput = {
    run: RUN,
    task: 't0',
    attempt: 1,
    step: 't0/1/fan',
    kind: 'implement',
    tier: 'generation',
    choice: 0,
    base: ground.base,
    depth: 1,
    about: [reference],
  }
  const [end, wall] = await timed(() => fan(engine.client, engine.queue, parent, agents))
  clearInterval(look)
  verifyWhole(end)
  row(`a fan-out to ${AGENTS.toLocaleString('en')} sub-agents, with all that they keep`, milliseconds(wall))
  row('  memory of the worker at its peak', mebibytes(peak.worker))
  row('  memory of the server at its peak', mebibytes(peak.server))
}

async function fan(client: Engine['client'], taskQueue: string, parent: StepInput, agents: List): Promise<FanOutEnd> {
  const spent = { requests: 0, input: 0, output: 0, cost: 0 }
  const input: FanOutInput = { parent, agents, spent, isHeld: false }
  const workflowId = `${workflowIdOf(parent.run)}/${parent.step}:fan-out`
  return (await client.workflow.execute('forgeFanOut', { args: [input], taskQueue, workflowId })) as FanOutEnd
}

function verifyWhole(end: FanOutEnd): void {
  if (!('found' in end) || end.failed !== '' || end.found.count !== AGENTS)
    throw new Error(`Not all ${AGENTS} sub-agents found something: ${JSON.stringify(end)}`)
}

// --- The engine alone ------------------------------------------------------------------------------------------------

/** Runs the workflows with activities that do nothing: what remains is Temporal's own time. */
async function engineAlone({ temporal, base }: Ground): Promise<void> {
  const kept = { kind: 'kept', oid: base }
  let count = 0
  const doing =
    <Result>(result: Result) =>
    async () => {
      count++
      return result
    }
  const spent = { requests: 1, input: 0, output: 0, cost: 0 }
  // A flow that begins a new history keeps its lists and reads them again.
  const lists = new Map<Oid, unknown[]>()
  const keep = (items: unknown[]): List => {
    const oid = String(lists.size).padStart(40, '0')
    lists.set(oid, items)
    return { kind: 'kept', oid, count: items.length }
  }
  const activities = {
    construct: doing({ request: kept, key: 'key', model: 'none' }),
    send: doing({ answer: kept, model: 'none', spent, wasThere: false }),
    receive: doing({ parsed: kept, words: '' }),
    serialize: doing({ artifact: kept }),
    transition: doing({ outcome: 'success', words: '', artifact: kept, spent }),
    note: doing(undefined),
    keepWords: doing(kept),
    keepItems: async ({ items }: { items: unknown[] }) => keep(items),
    readItems: async ({ list, from }: { list: List; from: number }) => {
      const items = lists.get(list.oid)?.slice(from, from + 200) ?? []
      return { items, ...(from + 200 < list.count && { next: from + 200 }) }
    },
  }
  await using worker = await workOn(temporal, { bundle: await ensureBundle(), activities, parts: ['models'] })
  const parent: StepInput = {
    run: 'engine-alone',
    attempt: 1,
    step: 'x',
    kind: 'implement',
    tier: 'generation',
    choice: 0,
    base,
    depth: 1,
    about: [],
  }
  const [end, wall] = await timed(() => fan(temporal.client, worker.queue, parent, keep(AGENTS_OF(kept))))
  verifyWhole(end)
  row(`the same with activities that do nothing: Temporal's own part`, milliseconds(wall))
  row('activities a second, one worker and the local server', String(Math.round((count / wall) * 1000)))
}

// --- To the first request --------------------------------------------------------------------------------------------

/**
 * Measures from the start of the command to the model's first request, with and without a running server and worker.
 */
async function firstRequests(ground: Ground, model: ModelServer): Promise<void> {
  const { temporal, path } = ground
  // `forge run` checks docker before it asks a model. A stub script stands in for docker, so this takes equally long
  // everywhere.
  const docker = await mkdtemp(join(tmpdir(), 'forge-bench-docker-'))
  await symlink(join(import.meta.dir, '../test/stand-ins/docker'), join(docker, 'docker'))
  const env = {
    ...temporal.env,
    ...model.environment('openai'),
    PATH: `${docker}:${process.env.PATH}`,
    FORKLIFT_TEST_DOCKER: join(docker, 'state'),
    FORKLIFT_TEST_LABEL: 'any',
  }
  const down = async () => void (await time([FORGE, 'down'], { cwd: path, env }))
  const noWorker = async () => void (await Promise.all((await findWorkers(env)).map(endWorker)))
  const first = async (): Promise<number> => {
    const from = model.requests.length
    const begun = performance.now()
    const command = [FORGE, 'run', '--yes', `Measure ${from}`]
    const child = Bun.spawn(command, { cwd: path, env, stdio: ['ignore', 'ignore', 'pipe'] })
    const errors = child.stderr.text()
    const asked = model.asked(from + 1).then(() => true)
    if (!(await Promise.race([asked, child.exited.then(() => model.requests.length > from)])))
      throw new Error(`forge run asked nothing: ${await errors}`)
    const wall = (model.requests[from]?.at ?? 0) - begun
    await child.exited
    return wall
  }
  const times = async (rounds: number, before: () => Promise<void>): Promise<number> => {
    const walls: number[] = []
    for (let round = 0; round < rounds; round++) {
      await before()
      walls.push(await first())
    }
    return median(walls)
  }
  row('from `forge run` to the first request, with no server', milliseconds(await times(3, down)), '< 8 s')
  row('  with a server, and no worker', milliseconds(await times(3, noWorker)), '< 3 s')
  await untilIdle(ground)
  row('  with both', milliseconds(await times(5, async () => undefined)))
  await rm(docker, { recursive: true })
}

// --- What grows with the repository ----------------------------------------------------------------------------------

async function planning({ objects, base }: Ground): Promise<void> {
  const tasks = Array.from({ length: TASKS }, (_, at) =>
    task(`t${at}`, {
      boundaries: { write: [pathOf(at), `part${at % 23}/made${at}/**`] },
      objective: { outputs: [pathOf(at)] },
      context: { files: [pathOf(at + 5000), pathOf(at + 9000)] },
      depends_on: at < 3 ? [] : [`t${Math.floor(at / 2)}`, `t${at - 3}`],
    }),
  )
  const given = plan(tasks)
  const walls: number[] = []
  for (let round = 0; round < 5; round++) {
    const [{ complaints }, wall] = await timed(() => lintPlan(given, { objects, tree: base, limits: { depth: 3 } }))
    if (complaints.length > 0) throw new Error(`The plan is not good: ${complaints.slice(0, 3).join(' ')}`)
    walls.push(wall)
  }
  row(`a plan of ${TASKS.toLocaleString('en')} tasks, linted`, milliseconds(median(walls)))
}

async function maps({ objects, base, temporal, path }: Ground): Promise<void> {
  const folder = temporal.folder
  const own = [pathOf(3), pathOf(600)]
  const read = async (map: ReturnType<typeof openCodeMap>, tree: Oid) => (await timed(() => map.near(tree, own)))[1]
  const cold = openCodeMap(objects, { folder })
  const wall = await read(cold, base)
  const { all } = await inTurns(
    { rounds: 3, seconds: 10 },
    { all: () => time(['git', 'grep', '-c', 'export', 'main'], { cwd: path, env: process.env }) },
  )
  row(`the map of ${FILES.toLocaleString('en')} files, never made before`, milliseconds(wall), '', {
    what: '`git grep` in all of them',
    wall: all.wall,
    ratio: wall / all.wall,
  })
  cold[Symbol.dispose]()
  using warm = openCodeMap(objects, { folder })
  row('  after a start', milliseconds(await read(warm, base)))
  const changed: number[] = []
  for (let round = 0; round < 5; round++) {
    const bytes = Buffer.from(`export const round${round} = 1\n`)
    changed.push(
      await read(warm, await writeTree(objects, base, new Map([[pathOf(round), { mode: '100644', bytes }]]))),
    )
  }
  row('  after one more commit', milliseconds(median(changed)))
}

// --- All of it -------------------------------------------------------------------------------------------------------

const PARTS = ['steps', 'fan-out', 'engine', 'start', 'plan', 'map']
const wanted = process.argv.length > 2 ? process.argv.slice(2) : PARTS

if (hasNoTemporal) process.exit(1)
const begun = performance.now()
await using temporal = await startTemporal()
const path = join(temporal.folder, 'large.git')
console.error(`a repository of ${FILES.toLocaleString('en')} files`)
await makeRepository(path)
const repository = await openRepository(path)
await using objects = openObjects(repository)
const base = await git(path, 'rev-parse', 'main')
const ground: Ground = { temporal, repository, objects, base, path }
await using model = await ModelServer.start(play)
if (wanted.includes('plan')) await planning(ground)
if (wanted.includes('map')) await maps(ground)
if (wanted.includes('steps') || wanted.includes('fan-out')) {
  await using engine = await openEngine(
    repository,
    { ...temporal.env, ...model.environment('openai') },
    { start: true },
  )
  if (wanted.includes('steps')) await steps(ground, engine, model)
  if (wanted.includes('fan-out')) await fanOut(ground, engine)
}
if (wanted.includes('engine')) await engineAlone(ground)
if (wanted.includes('start')) await firstRequests(ground, model)
console.log('| what | Forge | bare | time | ratio | goal |')
console.log('|---|---:|---|---:|---:|---|')
console.log(rows.join('\n'))
console.error(`${Math.round((performance.now() - begun) / 1000)} s in all`)
