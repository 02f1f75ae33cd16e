/** Unattended runs: the crontab line, cron's minimal environment, no terminal, and no person to answer. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serveGit } from '../doubles/git-http.ts'
import { processes, untilAllHasEnded } from '../support/processes.ts'
import { cronEnvironment, exists, expectExit, FORKLIFT, make, makeWorld, until } from '../support/world.ts'

setDefaultTimeout(60_000)

test('make run works in a fork, and from anywhere with FORK', async () => {
  await using world = await makeWorld()
  const here = make(world.checkout, world.env, 'run')
  expect([await here.exited, await here.stdout.text()]).toEqual([0, expect.stringContaining('/pull/1')])
  await world.push('upstream', { 'more.txt': 'more\n' })
  const anywhere = make(world.root, world.env, 'run', `FORK=${world.checkout}`)
  expect(await anywhere.exited).toBe(0)
  expect(await world.agentRuns()).toBe(2)
})

test('make run hands the outcome on', async () => {
  await using world = await makeWorld()
  await world.agent('exit 5')
  const run = make(world.checkout, world.env, 'run', 'ARGS=--model m')
  expect(await run.exited).not.toBe(0)
  expect(await run.stderr.text()).toMatch(/Error 5/)
  expect((await world.lastRun()).metadata).toMatchObject({ model: 'm' })
})

test('make install makes forklift a command, and says so when its folder is not on PATH', async () => {
  await using world = await makeWorld()
  const install = make(world.root, world.env, 'install')
  expect(await install.exited).toBe(0)
  const bin = join(world.home, '.local/bin')
  expect(await install.stdout.text()).toMatch(new RegExp(`${bin} is not on your PATH`))
  const env = { PATH: `${bin}:${world.path('bin')}:/usr/bin:/bin` }
  expectExit(await world.run([], { as: join(bin, 'forklift'), env: { ...env, PATH: `${bin}:${world.env.PATH}` } }), 0)
  const again = make(world.root, { ...world.env, PATH: `${bin}:${world.env.PATH}` }, 'install')
  expect([await again.exited, await again.stdout.text()]).toEqual([0, expect.not.stringContaining('not on your PATH')])
})

test('make alone lists the targets', async () => {
  await using world = await makeWorld({ story: 'current' })
  const list = await make(world.root, world.env).stdout.text()
  for (const target of ['run', 'demo', 'image', 'test', 'check', 'install', 'cron', 'clean']) {
    expect(list).toMatch(new RegExp(`make ${target} +\\S+`))
  }
})

test('without HOME’s environment of a session: a run from cron says one plain line a step', async () => {
  await using world = await makeWorld()
  const env = {
    ...Object.fromEntries(Object.keys(world.env).map(name => [name, undefined])),
    ...cronEnvironment(world.env),
  }
  const run = await world.run([], { env: { ...env, PATH: world.env.PATH } })
  expectExit(run, 0)
  expect(run.stdout).not.toContain('\u001b')
})

test('a server that never answers: SIGTERM ends forklift and its git', async () => {
  await using world = await makeWorld()
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  try {
    await world.reachable({ 'https://github.com/': `http://127.0.0.1:${server.port}/` })
    const started = world.start()
    await until(
      'git asks',
      () => started.output() !== '' || processes(world).some(it => it.includes('git-remote-http')),
    )
    started.child.kill('SIGTERM')
    expectExit(await started.ended, 143)
    await untilAllHasEnded(world)
  } finally {
    server.stop(true)
  }
})

test('a credential helper that wants to prompt may not', async () => {
  await using world = await makeWorld()
  await using server = serveGit(world.path('servers'), { token: 'unknown' })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  const asker = world.path('asker')
  await Bun.write(asker, `#!/bin/sh\ntouch ${world.path('asked')}\nsleep 300\n`)
  await chmod(asker, 0o755)
  await world.git('config', '--global', 'core.askPass', asker, { cwd: world.home })
  const env = { GIT_ASKPASS: asker, SSH_ASKPASS: asker, DISPLAY: ':0', SSH_ASKPASS_REQUIRE: 'force' }
  expectExit(await world.run([], { env }), 1)
  expect(await exists(world.path('asked'))).toBe(false)
})

test('ssh is told never to ask', async () => {
  await using world = await makeWorld()
  await world.git('remote', 'set-url', 'origin', 'git@github.com:me/fork.git')
  await world.tool('ssh', `printf '%s\\n' "$*" >>${world.path('ssh-arguments')}; exit 255`)
  const run = await world.run()
  expectExit(run, 1)
  expect(await readFile(world.path('ssh-arguments'), 'utf8')).toMatch(/BatchMode[= ]yes/)
})

test('many forks in one crontab: each has its own runs', async () => {
  await using world = await makeWorld()
  const second = world.path('home/second')
  await mkdir(second)
  await world.git('clone', '--quiet', 'https://github.com/me/fork.git', second, { cwd: world.home })
  await world.git('remote', 'add', 'upstream', 'https://github.com/them/project.git', { cwd: second })
  expectExit(await world.run(), 0)
  const other = await world.run([], { cwd: second, as: FORKLIFT })
  expectExit(other, 0)
  expect(other.stdout + other.stderr).toBe('')
})

test('the line that make cron prints works under cron’s bare PATH', async () => {
  await using world = await makeWorld({ folder: 'my forks/it’s 100% mine' })
  const child = make(world.checkout, world.env, 'cron')
  const [line, code] = [(await child.stdout.text()).trimEnd(), await child.exited]
  expect([code, line.split('\n').length]).toEqual([0, 1])
  const [, when, command = ''] = /^((?:\S+ ){5})(.*)$/.exec(line) ?? []
  expect(when).toMatch(/^\d+ \d+ \* \* \* $/)
  // In a crontab, an unescaped percent sign is a line end.
  expect(command.replaceAll('\\%', '')).not.toContain('%')
  const cron = Bun.spawn(['/bin/sh', '-c', command.replaceAll('\\%', '%')], {
    cwd: '/',
    env: cronEnvironment(world.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, ended] = await Promise.all([cron.stdout.text(), cron.stderr.text(), cron.exited])
  expect([ended, stderr]).toEqual([0, ''])
  expect(stdout).toContain('https://github.com/me/fork/pull/1')
  expect(world.pull.state).toBe('open')
})
