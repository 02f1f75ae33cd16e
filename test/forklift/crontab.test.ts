/** The line that goes into a crontab. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { cronEnvironment, make, makeWorld } from '../support/world.ts'

setDefaultTimeout(60_000)

test('the line that make cron prints works under cron’s bare PATH', async () => {
  await using world = await makeWorld({ folder: 'my forks/it’s 100% mine' })
  const child = make(world.checkout, world.env, 'cron')
  const [line, code] = [(await child.stdout.text()).trimEnd(), await child.exited]
  expect([code, line.split('\n').length]).toEqual([0, 1])
  const [, when, command = ''] = /^((?:\S+ ){5})(.*)$/.exec(line) ?? []
  expect(when).toMatch(/^\d+ \d+ \* \* \* $/)
  // In a crontab a bare percent sign is a line end.
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
