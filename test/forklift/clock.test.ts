/** Time limits and signals: the container always ends. (faults has a Forklift that is killed.) */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { lstat, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AT_WORK, untilTheAgentWorks } from '../support/moments.ts'
import { exists, expectExit, makeWorld, until } from '../support/world.ts'

setDefaultTimeout(60_000)

const limit = (seconds: number) => ({ FORKLIFT_TIMEOUT_SECONDS: String(seconds) })

/** An agent that reports that it works, and then works until it gets TERM. */
const BUSY = `trap 'exit 2' TERM; ${AT_WORK}; sleep 300 & wait`
const DEAF = `${AT_WORK}; sleep 300`

test('an agent that does not end is ended: exit 2, no pull request, no container', async () => {
  await using world = await makeWorld()
  await world.agent(BUSY)
  const begun = Date.now()
  const run = await world.run([], { env: limit(2) })
  expectExit(run, 2)
  expect(Date.now() - begun).toBeGreaterThan(2000)
  expect(await world.containers()).toEqual([])
  expect(world.github.pulls).toEqual([])
  const last = await world.lastRun()
  expect(run.last).toContain(last.path)
  expect(last.outcome).toMatchObject({ exitCode: 2 })
  expect(last.metadata).toMatchObject({ timeLimitSeconds: 2 })
})

test('an agent that is asked to stop has a moment to write STUCK.md', async () => {
  await using world = await makeWorld()
  await world.agent('trap \'echo "Half done" >STUCK.md; exit 2\' TERM; sleep 300 & wait')
  const run = await world.run([], { env: limit(2) })
  expectExit(run, 2)
  const last = await world.lastRun()
  expect(run.stdout + run.stderr).toContain('Half done')
  expect((await lstat(join(last.path, 'STUCK.md'))).isFile()).toBe(true)
})

test('a harness that ends by its own clock says so with 2', async () => {
  await using world = await makeWorld()
  await world.agent('echo "Half done" >STUCK.md; exit 2')
  expectExit(await world.run(), 2)
})

test('a good result that was complete when time ran out counts', async () => {
  await using world = await makeWorld()
  await world.agent("good; trap 'exit 0' TERM; sleep 300 & wait")
  const run = await world.run([], { env: limit(2) })
  // The harness ends well before Forklift's own deadline; a container that Forklift had to stop has exceeded its time.
  expectExit(run, 2)
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends the container first, then forklift with %i', async (signal, code) => {
  await using world = await makeWorld()
  await world.agent(BUSY)
  const started = world.start()
  await untilTheAgentWorks(world)
  started.child.kill(signal)
  const run = await started.ended
  expectExit(run, code)
  expect(await world.containers()).toEqual([])
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: code })
  expect(world.github.pulls).toEqual([])
  expect(run.last).not.toBe('')
})

test('an interrupted run is tried again', async () => {
  await using world = await makeWorld()
  await world.agent(BUSY)
  const started = world.start()
  await untilTheAgentWorks(world)
  started.child.kill('SIGINT')
  expectExit(await started.ended, 130)
  await world.agent('good')
  expectExit(await world.run(), 0)
})

test('Ctrl-C on a terminal ends the container, too', async () => {
  await using world = await makeWorld()
  await world.agent(BUSY)
  const started = world.start([], { terminal: 80 })
  await untilTheAgentWorks(world)
  started.child.terminal?.write('\u0003')
  expectExit(await started.ended, 130)
  expect(await world.containers()).toEqual([])
})

test('SIGTERM while git waits for a server ends forklift at once', async () => {
  await using world = await makeWorld()
  const real = Bun.which('git')
  await world.tool(
    'git',
    `case "$*" in *ls-remote*) touch ${world.path('waiting')}; exec sleep 300 ;; esac; exec ${real} "$@"`,
  )
  const started = world.start()
  await until('git waits', () => exists(world.path('waiting')))
  started.child.kill('SIGTERM')
  expectExit(await started.ended, 143)
  expect(await exists(world.runsFolder)).toBe(false)
})

test('an agent that does not listen is ended all the same', async () => {
  await using world = await makeWorld()
  await world.agent(DEAF)
  expectExit(await world.run([], { env: limit(1) }), 2)
  expect(await world.containers()).toEqual([])
})

test('STUCK.md of an earlier run is not this one’s', async () => {
  await using world = await makeWorld()
  await writeFile(join(world.checkout, 'STUCK.md'), 'Notes of the person.\n')
  expectExit(await world.run(), 0)
  expect(await readFile(join(world.checkout, 'STUCK.md'), 'utf8')).toBe('Notes of the person.\n')
})

test('a docker client that is killed leaves no container behind: exit 5', async () => {
  await using world = await makeWorld()
  await world.agent(DEAF)
  const started = world.start()
  await untilTheAgentWorks(world)
  const [name = ''] = await world.containers()
  const clients: number[] = []
  for (const pid of (await readdir('/proc')).filter(entry => /^\d+$/.test(entry))) {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
    if (words.includes('run') && words.includes('--name') && words.includes(name)) clients.push(Number(pid))
  }
  expect(clients).toHaveLength(1)
  for (const pid of clients) process.kill(pid, 'SIGKILL')
  const run = await started.ended
  expectExit(run, 5)
  expect(run.stdout + run.stderr).not.toMatch(/^\s+at |EPIPE/m)
  expect(await world.containers()).toEqual([])
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 5 })
  expect(await world.branches()).toEqual([])
})
