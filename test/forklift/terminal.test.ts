/** The output of a run on a terminal and in a pipe. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { expectExit, FORKLIFT, makeWorld } from '../support/world.ts'

setDefaultTimeout(60_000)

const ESC = '\u001b'

test('in a pipe: one plain line a step with the time, no colours, no cursor movement', async () => {
  await using world = await makeWorld()
  const run = await world.run()
  expectExit(run, 0)
  expect(run.stdout).not.toContain(ESC)
  expect(run.stdout).not.toContain('\r')
  const lines = run.stdout.trimEnd().split('\n')
  expect(lines.length).toBeGreaterThan(3)
  const timed = lines.filter(line => /\d\d:\d\d(:\d\d)?/.test(line.slice(0, 24)))
  expect(timed.length).toBeGreaterThanOrEqual(lines.length - 1)
})

test('on a terminal: the step under way, the elapsed and remaining time of the agent, and the outcome last', async () => {
  await using world = await makeWorld()
  await world.agent('sleep 2.2; good')
  const run = await world.run([], { terminal: 100, env: { FORKLIFT_TIMEOUT_SECONDS: '100' } })
  expectExit(run, 0)
  expect(run.stdout).toMatch(/0:0[12]|\b[12] ?s\b/)
  expect(run.stdout).toMatch(/1:3[789]|9[789] ?s/)
  expect(run.last).toContain('https://github.com/me/fork/pull/1')
})

test('on a terminal, a run with nothing to do says so', async () => {
  await using world = await makeWorld({ story: 'current' })
  const run = await world.run([], { terminal: 80 })
  expectExit(run, 0)
  expect(run.stdout).toMatch(/nothing to do/i)
})

test('a narrow terminal is no problem', async () => {
  await using world = await makeWorld()
  expectExit(await world.run([], { terminal: 20 }), 0)
})

test('NO_COLOR is honoured', async () => {
  await using world = await makeWorld()
  const run = await world.run([], { terminal: 100, env: { NO_COLOR: '1' } })
  expectExit(run, 0)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them
  expect(run.stdout).not.toMatch(/\u001b\[(3|4|9)\d/)
})

test('a failure is one sentence on standard error, the steps are on standard output', async () => {
  await using world = await makeWorld()
  await world.agent('exit 5')
  const run = await world.run()
  expectExit(run, 5)
  expect(run.stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(run.stdout.trimEnd().split('\n').length).toBeGreaterThan(1)
})

test('an upstream whose commit messages hold escape sequences writes nothing on the terminal', async () => {
  await using world = await makeWorld()
  await world.push(
    'upstream',
    { 'x.txt': 'x\n' },
    { message: `Title ${ESC}]0;owned\u0007 ${ESC}[2J`, author: `Eve ${ESC}[31m <eve@x.example>` },
  )
  const run = await world.run([], { terminal: 100 })
  expectExit(run, 0)
  expect(run.stdout).not.toContain(`${ESC}]0;`)
  expect(run.stdout).not.toContain(`${ESC}[2J`)
  expect(world.pull.body).not.toContain(ESC)
})

test('GitHub’s own words bring no escape sequence either', async () => {
  await using world = await makeWorld()
  world.github.fail({ path: /^\/repos\/me\/fork$/, status: 403, message: `No ${ESC}[2J${ESC}]0;owned\u0007`, times: 9 })
  const run = await world.run([], { terminal: 100 })
  expectExit(run, 1)
  expect(run.stdout).not.toContain(`${ESC}[2J`)
  expect(run.stdout).not.toContain(`${ESC}]0;`)
})

test('a closed pipe ends nothing in a stack trace', async () => {
  await using world = await makeWorld()
  const child = Bun.spawn(
    ['bash', '-c', `"$0" --help | true; exit "\${PIPESTATUS[0]}"`, `${import.meta.dir}/../../forklift.ts`],
    {
      cwd: world.checkout,
      env: world.env,
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  expect(await child.stderr.text()).not.toMatch(/^\s+at /m)
  await child.exited
})

test.each(['forklift', 'forklift --check'])(
  '%s | head -1: the reader leaves, no stack trace, and the work is done',
  async command => {
    const argument = command.slice('forklift'.length)
    await using world = await makeWorld()
    const line = `set -o pipefail; "$0"${argument} | head -n 1; exit \${PIPESTATUS[0]}`
    const run = await world.run(['-c', line, FORKLIFT], { as: 'bash' })
    expectExit(run, 0)
    expect(run.stdout + run.stderr).not.toMatch(/^\s+at |EPIPE/m)
    expect(run.stderr).toBe('')
    expect(world.github.pulls).toHaveLength(argument ? 0 : 1)
  },
)
