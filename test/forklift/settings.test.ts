/** Valid and invalid opencode.env files. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exists, expectExit, KEY, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

const refused = async (world: World, env: Record<string, string> = {}) => {
  const run = await world.run([], { env })
  expectExit(run, 1)
  expect(run.stderr).not.toContain(KEY)
  expect(await world.agentRuns()).toBe(0)
  expect(await exists(world.runsFolder)).toBe(false)
  return run.last
}

test('a missing opencode.env is reported with its path and its settings', async () => {
  await using world = await makeWorld()
  const file = await world.settings({})
  await rename(file, `${file}.away`)
  const told = await refused(world)
  expect(told).toContain(file)
  for (const name of ['API_KEY', 'MODEL', 'VARIANT', 'AGENT']) expect(told).toContain(`OPENCODE_${name}`)
})

test.each(['OPENCODE_API_KEY', 'OPENCODE_MODEL', 'OPENCODE_VARIANT', 'OPENCODE_AGENT'])(
  '%s must be there, and not empty',
  async name => {
    await using world = await makeWorld()
    await world.settings({ [name]: undefined })
    expect(await refused(world)).toContain(name)
    await world.settings({ [name]: '' })
    expect(await refused(world)).toContain(name)
  },
)

test('a setting that Forklift does not know is refused by name, and its value is not shown', async () => {
  await using world = await makeWorld()
  await world.settings({ AWS_SECRET_ACCESS_KEY: 'hush-hush' })
  const told = await refused(world)
  expect(told).toContain('AWS_SECRET_ACCESS_KEY')
  expect(told).not.toContain('hush-hush')
})

test.each([
  ['OPENCODE_MODEL', 'a b'],
  ['OPENCODE_VARIANT', '$(id)'],
  ['OPENCODE_AGENT', 'x;y'],
  ['OPENCODE_API_KEY', 'two`words`'],
  ['OPENCODE_MODEL', 'módel'],
  ['OPENCODE_BASE_URL', 'not a url'],
  ['OPENCODE_BASE_URL', 'file:///etc/passwd'],
  ['OPENCODE_BASE_URL', 'https://x.example/$(id)'],
])('%s=%s is refused by name', async (name, value) => {
  await using world = await makeWorld()
  await world.settings({ [name]: value })
  const told = await refused(world)
  expect(told).toContain(name)
  if (name.endsWith('KEY')) expect(told).not.toContain(value)
})

test('a line that is not NAME=value is reported by its number only', async () => {
  await using world = await makeWorld()
  const file = await world.settings({})
  await writeFile(file, `${await readFile(file, 'utf8')}secret words\n`)
  const told = await refused(world)
  expect(told).toMatch(/line 5/i)
  expect(told).not.toContain('secret words')
})

test('only the settings of OpenCode enter the container', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.settings({ OPENCODE_BASE_URL: 'https://models.example/v1' })
  await world.agent('env >"$state/env.txt"; good')
  expectExit(await world.run([], { env: { OPENCODE_CONFIG: '/etc/x', AWS_SECRET: 'x', SSH_AUTH_SOCK: '/tmp/x' } }), 0)
  const [call = []] = await world.calls('run')
  const names = call.filter((_, at) => call[at - 1] === '--env' || call[at - 1] === '-e')
  const five = ['AGENT', 'API_KEY', 'BASE_URL', 'MODEL', 'VARIANT'].map(name => `OPENCODE_${name}`)
  expect(names.sort()).toEqual(five)
  const seen = await readFile(join((await world.lastRun()).state, 'env.txt'), 'utf8')
  expect(seen).toContain(`OPENCODE_API_KEY=${KEY}\n`)
  expect(seen).toContain('OPENCODE_BASE_URL=https://models.example/v1\n')
  expect(seen).not.toMatch(/GH_TOKEN|GITHUB|AWS_SECRET|SSH_AUTH_SOCK|OPENCODE_CONFIG/)
})

test('XDG_CONFIG_HOME is honoured', async () => {
  await using world = await makeWorld({ story: 'clean' })
  const file = await world.settings({})
  const elsewhere = world.path('config/forklift/opencode.env')
  await mkdir(dirname(elsewhere), { recursive: true })
  await rename(file, elsewhere)
  expectExit(await world.run([], { env: { XDG_CONFIG_HOME: world.path('config') } }), 0)
})

test('FORKLIFT_OPENCODE_ENV names another file', async () => {
  await using world = await makeWorld({ story: 'clean' })
  const elsewhere = world.path('other.env')
  await rename(await world.settings({}), elsewhere)
  expectExit(await world.run([], { env: { FORKLIFT_OPENCODE_ENV: elsewhere } }), 0)
  const lost = await world.run([], { env: { FORKLIFT_OPENCODE_ENV: world.path('nosuch.env') } })
  expectExit(lost, 1)
  expect(lost.last).toContain('nosuch.env')
})

test('a file that others can read gets a warning, and the run goes on', async () => {
  await using world = await makeWorld({ story: 'clean' })
  const file = await world.settings({})
  await chmod(file, 0o644)
  const run = await world.run()
  expectExit(run, 0)
  expect(run.stdout + run.stderr).toContain('chmod 600')
})

test.each(['0', '-5', 'eight', '1.5', '1e3', '999999'])('FORKLIFT_TIMEOUT_SECONDS=%s is refused', async value => {
  await using world = await makeWorld()
  expect(await refused(world, { FORKLIFT_TIMEOUT_SECONDS: value })).toContain('FORKLIFT_TIMEOUT_SECONDS')
})
