// A whole run: the real forklift.ts, engine and OpenCode, git over HTTP, with a scripted model and the double of GitHub
// that the quick tests use.
import { afterEach, describe, expect, test } from 'bun:test'
import { chownSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { serveGit } from '../doubles/git-http.ts'
import { parentsOf, show } from '../support/git.ts'
import {
  expectExit,
  FORKLIFT,
  KEY,
  makeWorld,
  snapshot,
  until,
  type World,
  type WorldOptions,
} from '../support/world.ts'
import { docker, gateway } from './box.ts'
import { bash, edit, read, type Script, startModel, write } from './model.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** A test world with the real docker and the real OpenCode, whose servers are reached over HTTP. */
async function realWorld(script: Script, options: WorldOptions = {}) {
  const world = await makeWorld(options)
  rmSync(join(world.root, 'bin/docker'))
  world.env.DOCKER_HOST = process.env.DOCKER_HOST
  const model = startModel(await gateway(), script)
  const server = serveGit(join(world.root, 'servers'), { token: world.github.token })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  await world.settings({ OPENCODE_BASE_URL: model.url, OPENCODE_MODEL: 'test-model' })
  undo.push(
    () => world[Symbol.asyncDispose](),
    () => model.stop(),
    () => server[Symbol.asyncDispose](),
  )
  return { world, model, server }
}

const containers = async () =>
  (await docker('ps', '--all', '--filter', 'label=forklift', '--format', '{{.Names}}')).stdout

const markers = /^(<{7}|\|{7}|={7}|>{7})/m
const conflictedText = async (world: World) =>
  readFileSync(join((await world.lastRun()).workspace, 'greeting.txt'), 'utf8')

describe('a run on a real engine', () => {
  test('of a clean merge ends with a pull request', async () => {
    const { world, model, server } = await realWorld(
      [
        { say: 'Let me see the tests.', calls: [bash('ls; git status --short; git log --oneline -1')] },
        { say: 'There are no tests; the merge stands.' },
      ],
      { story: 'clean' },
    )
    const before = await snapshot(world.checkout, /^\/\.git\/(refs\/remotes|objects|packed-refs|FETCH_HEAD|logs)/)
    const run = await world.run()
    expectExit(run, 0)
    expect(run.last).toContain('https://github.com/me/fork/pull/1')
    const head = world.pull.headSha
    expect(await parentsOf(world.origin, head)).toEqual([
      (await world.tip('origin')) ?? '',
      (await world.tip('upstream')) ?? '',
    ])
    expect(server.asked.some(({ path, status }) => path.endsWith('git-receive-pack') && status === 200)).toBe(true)
    expect(model.requests.map(request => request.authorization)).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`])
    expect(await snapshot(world.checkout, /^\/\.git\/(refs\/remotes|objects|packed-refs|FETCH_HEAD|logs)/)).toBe(before)
    expect(await containers()).toBe('')
  })

  test("of a conflict that the agent resolves with OpenCode's own tools ends with a pull request", async () => {
    const resolved = 'hello from the fork\nhello from upstream\n'
    const { world, model } = await realWorld([
      { say: 'I look at the conflict.', calls: [read('/workspace/greeting.txt')] },
      { calls: [edit('/workspace/greeting.txt', '<<<<<<< HEAD\n', '')] },
      { calls: [write('/workspace/greeting.txt', resolved)] },
      { calls: [bash('git add greeting.txt && git commit -q -m "Greet from both sides" -m "Tests: none found."')] },
      { say: 'Both greetings are kept.' },
    ])
    const run = await world.run()
    expectExit(run, 0)
    expect(`${await show(world.origin, world.pull.headSha, 'greeting.txt')}\n`).toBe(resolved)
    expect(world.pull.body).toContain('greeting.txt')
    expect(model.toolResults()[0]).toContain('1: <<<<<<< HEAD')
    expect(model.toolResults()[1]).not.toMatch(/error/i)
    const { state, path } = await world.lastRun()
    expect(readFileSync(join(state, 'logs/transcript.txt'), 'utf8')).toContain('Both greetings are kept.')
    const everything = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
    const withKey = everything.filter(file => readFileSync(join(file.parentPath, file.name)).includes(KEY))
    expect(withKey.map(file => file.name)).toEqual([])
  })

  test('that gets stuck shows the question, and leaves it as it is', async () => {
    const question = 'Should SSO stay?\n'
    const { world } = await realWorld([{ calls: [write('/workspace/STUCK.md', question)] }, { say: 'I need to know.' }])
    const run = await world.run()
    expectExit(run, 4)
    expect(run.stdout + run.stderr).toContain('Should SSO stay?')
    expect(readFileSync(join((await world.lastRun()).workspace, 'STUCK.md'), 'utf8')).toBe(question)
    expect(world.github.pulls).toEqual([])
  })

  test('whose time runs out has a STUCK.md of the harness', async () => {
    const { world } = await realWorld([{ say: 'I am thinking about SSO.', calls: [bash('sleep 900', 900_000)] }])
    const run = await world.run([], { env: { FORKLIFT_TIMEOUT_SECONDS: '24' } })
    expectExit(run, 2)
    const stuck = readFileSync(join((await world.lastRun()).workspace, 'STUCK.md'), 'utf8')
    expect(stuck).toContain('- greeting.txt')
    expect(stuck).toContain('> I am thinking about SSO.')
    expect(await conflictedText(world)).toMatch(markers)
    expect(world.github.pulls).toEqual([])
    expect(await containers()).toBe('')
  })

  test("whose model refuses the key ends as the agent's failure", async () => {
    const { world } = await realWorld(401)
    expectExit(await world.run(), 5)
    expect(world.github.pulls).toEqual([])
  })

  test("as an ordinary user in docker's group works on that user's own files", async () => {
    const { world, model } = await realWorld([{ calls: [bash('id --user; touch mine')] }, { say: 'Done.' }], {
      story: 'clean',
    })
    for (const entry of ['', ...readdirSync(world.root, { recursive: true })]) {
      const path = join(world.root, String(entry))
      if (existsSync(path)) chownSync(path, 1001, 1001)
    }
    const group = await socketGroup()
    await world.tool('as-1001', `exec setpriv --reuid 1001 --regid 1001 --groups ${group} ${FORKLIFT} "$@"`)
    expectExit(await world.run([], { as: join(world.root, 'bin/as-1001') }), 0)
    expect(model.toolResults()[0]?.trim()).toBe('1001')
    expect(world.github.pulls).toHaveLength(1)
  })
})

/** The group that may use the engine's socket. */
async function socketGroup(): Promise<string> {
  const socket = (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace('unix://', '')
  const stat = Bun.spawn(['stat', '--format', '%g', socket], { stdout: 'pipe' })
  return (await stat.stdout.text()).trim()
}

test('the preflight finds this engine and this image fit', async () => {
  const { world } = await realWorld([])
  const run = await world.run(['--check'])
  expectExit(run, 0)
  expect(run.stdout + run.stderr).not.toMatch(/make image/)
})

describe("the host's clocks", () => {
  // The agent kills the process that would end it on request (`read -r agent`) and stops the harness with its time
  // limit: only `docker stop` and the removal are left.
  const deaf = `pkill -KILL -f '[r]ead -r agent'; pkill -STOP -f 'harness/[r]un.sh'; touch started; sleep 900`

  test('end a container that does not listen to `docker stop`', async () => {
    const { world } = await realWorld([{ calls: [bash(deaf, 900_000)] }])
    const began = performance.now()
    expectExit(await world.run([], { env: { FORKLIFT_TIMEOUT_SECONDS: '40' } }), 2)
    expect((performance.now() - began) / 1000).toBeLessThan(40 + 10 + 15)
    expect(existsSync(join((await world.lastRun()).workspace, 'started'))).toBe(true)
    expect(await containers()).toBe('')
  })

  test('stop the container when forklift is interrupted', async () => {
    const { world } = await realWorld([{ calls: [bash('touch started; sleep 900', 900_000)] }])
    const run = world.start()
    await until(
      'the agent is at work',
      async () => {
        const [last] = await world.runs()
        return last !== undefined && existsSync(join(last.workspace, 'started'))
      },
      60,
    )
    run.child.kill('SIGINT')
    expectExit(await run.ended, 130)
    expect(await containers()).toBe('')
  })

  // Process 1 would end the container too, but 15 seconds after its time limit: an earlier removal was the watchdog's
  // work.
  test('remove the container after forklift itself was killed', async () => {
    const { world } = await realWorld([{ calls: [bash(deaf, 900_000)] }])
    const run = world.start()
    const name = await until(
      'the agent is at work',
      async () => {
        const [last] = await world.runs()
        return last && existsSync(join(last.workspace, 'started')) ? containers() : undefined
      },
      60,
    )
    run.child.kill('SIGKILL')
    await run.ended
    expect(await containers()).toBe(name)
    await until('the container is gone', async () => (await containers()) === '', 10)
  })
})
