/** The two commands of docs/forklift.md for many forks, exactly as written there. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { FORKLIFT, makeWorld, PROJECT, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** Reads the shell commands from docs/forklift.md that go over `~/forks`: the loop, and the one with xargs. */
async function commands(): Promise<{ loop: string; xargs: string }> {
  const blocks = (await Bun.file(join(PROJECT, 'docs/forklift.md')).text()).matchAll(
    /^```sh\n([^`]*~\/forks\/[^`]*)^```$/gm,
  )
  const found = [...blocks].map(([, command = '']) => command.trim())
  const one = (what: string, fits: (command: string) => boolean): string => {
    const [command, ...more] = found.filter(fits)
    if (!command || more.length > 0) throw new Error(`docs/forklift.md has not one command with ${what} over ~/forks`)
    return command
  }
  return { loop: one('for', it => /^(\w+=.*; )?for /.test(it)), xargs: one('xargs', it => it.includes('xargs')) }
}

const NAMES = ['a fork', 'bad-fork', 'z-fork']

/**
 * Three forks in one user's ~/forks: one name has a space, and the upstream of one that is not the last is gone. Each
 * is a world of its own; the first world's user runs them all.
 */
async function threeForks(stack: AsyncDisposableStack): Promise<World[]> {
  const worlds: World[] = []
  for (const [at, name] of NAMES.entries()) {
    const world = stack.use(await makeWorld({ folder: `forks/${name}`, github: false, story: 'conflict' }))
    if (at === 1) await world.git('remote', 'set-url', 'upstream', world.path('servers/gone.git'))
    worlds.push(world)
  }
  const [first, ...others] = worlds
  if (!first) throw new Error('there is no world')
  for (const { checkout } of others)
    await symlink(checkout, join(first.home, 'forks', checkout.split('/').at(-1) ?? ''))
  await mkdir(first.path('bin'), { recursive: true })
  await symlink(FORKLIFT, first.path('bin/forklift'))
  return worlds
}

test.each([
  ['loop', 1],
  ['xargs', 1],
] as const)('many forks with the %s: one fork’s failure stops no other, and the whole fails', async (which, code) => {
  await using stack = new AsyncDisposableStack()
  const worlds = await threeForks(stack)
  const [first] = worlds
  const command = (await commands())[which]
  const all = Bun.spawn(['sh', '-c', command], {
    cwd: first?.root ?? '/',
    env: first?.env ?? {},
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, exit] = await Promise.all([all.stdout.text(), all.stderr.text(), all.exited])
  expect([exit, stderr.trim().split('\n')]).toEqual([code, [expect.stringContaining('bad-fork: upstream')]])
  expect(await Promise.all(worlds.map(async world => (await world.branches()).length))).toEqual([1, 0, 1])
  // Each line has the name of its fork after the time.
  const lines = stdout.trim().split('\n')
  const named = lines.map(line => /^\d\d:\d\d:\d\d ([\w-]+): /.exec(line)?.[1])
  expect([...new Set(named)].sort()).toEqual(['a-fork', 'z-fork'])
  for (const [at, name] of ['a-fork', 'z-fork'].entries()) {
    const last = lines.findLast((_, line) => named[line] === name)
    expect(last).toContain(`Pushed ${(await worlds[at * 2]?.branches())?.[0]} to origin`)
  }
})

test.each(['loop', 'xargs'] as const)('the %s ends with the worst exit code, whichever fork had it', async which => {
  await using stack = new AsyncDisposableStack()
  const [first] = await threeForks(stack)
  await first?.agent('echo "Which one?" >STUCK.md; exit 4')
  const all = Bun.spawn(['sh', '-c', (await commands())[which]], {
    cwd: '/',
    env: first?.env ?? {},
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  expect(await all.exited).toBe(4)
  expect((await first?.runs())?.map(run => run.outcome?.exitCode)).toEqual([4, 4])
})

test('both commands end well where every fork does', async () => {
  await using world = await makeWorld({ folder: 'forks/only', story: 'current' })
  await symlink(FORKLIFT, world.path('bin/forklift'))
  for (const command of Object.values(await commands())) {
    const all = Bun.spawn(['sh', '-c', command], { cwd: '/', env: world.env, stdio: ['ignore', 'pipe', 'pipe'] })
    expect([await all.exited, await all.stdout.text(), await all.stderr.text()]).toEqual([0, '', ''])
  }
})
