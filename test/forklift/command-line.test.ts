/** The command line of Forklift, and the modules that it loads. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, expectExit, FORKLIFT, makeWorld, snapshot } from '../support/world.ts'

setDefaultTimeout(60_000)

test('--help explains the options and every exit code, anywhere, and touches nothing', async () => {
  await using world = await makeWorld({ story: 'current' })
  const help = await world.run(['--help'], { cwd: world.root, env: { GH_TOKEN: undefined } })
  expectExit(help, 0)
  for (const option of ['--model', '--variant', '--agent', '--check', '--retry', '--help', '--version']) {
    expect(help.stdout).toContain(option)
  }
  for (const code of [0, 1, 2, 3, 4, 5, 64, 130, 143]) expect(help.stdout).toMatch(new RegExp(`\\b${code}\\b`))
  expect(await world.calls()).toEqual([])
  expect(world.github.asked).toEqual([])
})

test('--version prints a version, anywhere', async () => {
  await using world = await makeWorld({ story: 'current' })
  const version = await world.run(['--version'], { cwd: world.root })
  expectExit(version, 0)
  expect(version.stdout).toMatch(/^(forklift )?\d+\.\d+\.\d+\n$/)
})

test.each([
  ['an unknown option', ['--force']],
  ['an unknown short option', ['-x']],
  ['a word that is no option', ['merge']],
  ['an option without its value', ['--model']],
  ['an empty value', ['--model=']],
  ['a value with a space', ['--agent', 'build it']],
  ['a value for the shell', ['--model', 'x;touch$IFS/tmp/x']],
  ['a command substitution', ['--variant', '$(id)']],
  ['a value with a line end', ['--model', 'a\nOPENCODE_API_KEY=x']],
  ['a value that looks like an option', ['--model=--privileged']],
  ['a value for a switch', ['--check=yes']],
])('wrong usage: %s ends with 64 before anything is touched', async (_, args) => {
  await using world = await makeWorld()
  const before = await snapshot(world.checkout)
  const run = await world.run(args)
  expectExit(run, 64)
  expect(run.stdout).toBe('')
  expect(run.stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(run.stderr).toContain('--help')
  expect(await world.calls()).toEqual([])
  expect(world.github.asked).toEqual([])
  expect(await exists(world.runsFolder)).toBe(false)
  expect(await snapshot(world.checkout)).toBe(before)
})

test('wrong usage is wrong usage outside a repository, too', async () => {
  await using world = await makeWorld({ story: 'current' })
  expectExit(await world.run(['--nosuch'], { cwd: world.root }), 64)
})

test('an option from a stranger brings no escape sequence to the terminal', async () => {
  await using world = await makeWorld({ story: 'current' })
  const run = await world.run(['--\u001b]0;owned\u0007'], { terminal: 80 })
  expectExit(run, 64)
  expect(run.stdout).not.toContain('\u001b]0;')
})

test('--model, --variant and --agent go before the words of opencode.env', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.agent('env >"$state/env.txt"; good')
  const words = ['--model', 'other/model-2.5', '--variant', 'low', '--agent', 'careful_one']
  expectExit(await world.run(words), 0)
  const run = await world.lastRun()
  const seen = await readFile(join(run.state, 'env.txt'), 'utf8')
  expect(seen).toContain('OPENCODE_MODEL=other/model-2.5\n')
  expect(seen).toContain('OPENCODE_VARIANT=low\n')
  expect(seen).toContain('OPENCODE_AGENT=careful_one\n')
  expect(run.metadata).toMatchObject({ model: 'other/model-2.5', variant: 'low', agent: 'careful_one' })
})

test("the checkout's .env, bunfig.toml, tsconfig.json and node_modules are not loaded", async () => {
  await using world = await makeWorld({ story: 'clean' })
  const marker = world.path('preloaded')
  const evil = `require('fs').writeFileSync(${JSON.stringify(marker)}, 'loaded')\n`
  const put = (name: string, text: string) => writeFile(join(world.checkout, name), text)
  await put('evil.js', evil)
  await put('bunfig.toml', 'preload = ["./evil.js"]\n')
  await put('.env', 'FORKLIFT_TIMEOUT_SECONDS=nonsense\nGH_TOKEN=ghp_wrong\nBUN_OPTIONS=--preload=./evil.js\n')
  await put('.env.local', 'FORKLIFT_TIMEOUT_SECONDS=nonsense\n')
  await put('tsconfig.json', '{"compilerOptions":{"paths":{"zx/core":["./evil.js"]}}}\n')
  await mkdir(join(world.checkout, 'node_modules/valibot'), { recursive: true })
  await put('node_modules/valibot/index.js', evil)
  expectExit(await world.run(), 0)
  expect(await exists(marker)).toBe(false)
})

test('a symlinked command works', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await mkdir(world.path('home/.local/bin'), { recursive: true })
  const command = world.path('home/.local/bin/forklift')
  await symlink(FORKLIFT, command)
  expectExit(await world.run([], { as: command }), 0)
  expect(world.pull.state).toBe('open')
})

test('FORKLIFT_DOCKER_COMMAND does not exist', async () => {
  await using world = await makeWorld({ story: 'clean' })
  expectExit(await world.run([], { env: { FORKLIFT_DOCKER_COMMAND: 'touch /tmp/owned' } }), 0)
  for (const call of await world.calls('run')) expect(call.join(' ')).not.toContain('touch')
})
