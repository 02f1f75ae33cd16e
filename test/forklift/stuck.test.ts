/** An agent with questions: STUCK.md, what later runs remember of it, and hostile files in its place. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { lstat, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { git, show } from '../support/git.ts'
import { expectExit, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

const STUCK = 'merge || true\nprintf "Which greeting do you want?\\n\\nI tried both.\\n" >STUCK.md\nexit 4'

/** Checks that a run ends with 4 and publishes nothing. */
async function stuck(world: World, args: string[] = [], terminal?: number) {
  const run = await world.run(args, { env: { FORKLIFT_TIMEOUT_SECONDS: '60' }, ...(terminal ? { terminal } : {}) })
  expectExit(run, 4)
  expect(await world.branches()).toEqual([])
  expect(world.github.pulls).toEqual([])
  return run
}

test('STUCK.md: exit 4, a preview, the file left as it is, a copy of it, and no pull request', async () => {
  await using world = await makeWorld()
  await world.agent(STUCK)
  const run = await stuck(world)
  const last = await world.lastRun()
  expect(run.stdout + run.stderr).toContain('Which greeting do you want?')
  expect(run.last).toContain('STUCK.md')
  expect(run.last).toContain(last.path)
  expect(await readFile(join(last.workspace, 'STUCK.md'), 'utf8')).toBe(
    'Which greeting do you want?\n\nI tried both.\n',
  )
  expect((await lstat(join(last.path, 'STUCK.md'))).isFile()).toBe(true)
  expect(await readFile(join(last.path, 'STUCK.md'), 'utf8')).toBe('Which greeting do you want?\n\nI tried both.\n')
  expect(last.outcome).toMatchObject({ exitCode: 4 })
})

test('a committed STUCK.md is one, too', async () => {
  await using world = await makeWorld()
  await world.agent('good; echo "Please help" >STUCK.md; git add --force STUCK.md; git commit --quiet -m "I am stuck"')
  await stuck(world)
})

test('a committed STUCK.md that is gone from the tree is one all the same', async () => {
  await using world = await makeWorld()
  await world.agent(
    'good; echo "Please help" >STUCK.md; git add --force STUCK.md; git commit --quiet -m stuck; rm STUCK.md',
  )
  await stuck(world)
})

test('a STUCK.md without permissions is one all the same', async () => {
  await using world = await makeWorld()
  await world.agent('good; echo "Please help" >STUCK.md; chmod 000 STUCK.md')
  const run = await world.run()
  expectExit(run, 4)
  expect(run.last).toContain('STUCK.md')
  expect(await world.branches()).toEqual([])
  expect(world.github.pulls).toEqual([])
})

test('a committed STUCK.md that is gone from the tree can be read in the run directory, and its first lines are shown', async () => {
  await using world = await makeWorld()
  await world.agent(
    'good; echo "Which greeting do you want?" >STUCK.md; git add --force STUCK.md; git commit --quiet -m stuck; rm STUCK.md',
  )
  const run = await world.run()
  expectExit(run, 4)
  const { path } = await world.lastRun()
  expect(run.last).toContain(join(path, 'STUCK.md'))
  expect((await lstat(join(path, 'STUCK.md'))).isFile()).toBe(true)
  expect(await readFile(join(path, 'STUCK.md'), 'utf8')).toBe('Which greeting do you want?\n')
  expect(run.stdout).toContain('| Which greeting do you want?')
  expect(await world.branches()).toEqual([])
})

test('being stuck comes before a failure', async () => {
  await using world = await makeWorld()
  await world.agent('echo "Please help" >STUCK.md; exit 5')
  await stuck(world)
})

test('running out of time comes before being stuck', async () => {
  await using world = await makeWorld()
  await world.agent('echo "Please help" >STUCK.md; exit 2')
  expectExit(await world.run(), 2)
})

test('a STUCK.md of upstream’s own is a file like any other', async () => {
  await using world = await makeWorld({ files: { upstream: { 'STUCK.md': '# What to do when the truck is stuck\n' } } })
  expectExit(await world.run(), 0)
  expect(await show(world.origin, world.pull.headSha, 'STUCK.md')).toContain('truck')
})

test('a STUCK.md of upstream’s own with the line ends of Windows is a file like any other', async () => {
  const files = { '.gitattributes': '*.md text eol=crlf\n', 'STUCK.md': '# When the truck is stuck\n\nPush.\n' }
  await using world = await makeWorld({ files: { upstream: files } })
  await world.agent(`good; cp STUCK.md "$state/seen"`)
  expectExit(await world.run(), 0)
  expect(await readFile(join((await world.lastRun()).state, 'seen'), 'utf8')).toContain('stuck\r\n')
  expect(world.pull.state).toBe('open')
})

test('a STUCK.md of the fork’s own is a file like any other', async () => {
  await using world = await makeWorld({ files: { fork: { 'STUCK.md': '# Our own\n' } } })
  expectExit(await world.run(), 0)
})

test('the same conflicts are not paid for twice', async () => {
  await using world = await makeWorld()
  await world.agent(STUCK)
  await stuck(world)
  const first = await world.lastRun()
  const again = await stuck(world)
  expect(again.last).toContain(join(first.path, 'STUCK.md'))
  expect(await world.agentRuns()).toBe(1)
  expect(await world.runs()).toHaveLength(1)
})

test('commits that leave the conflicts as they were change nothing', async () => {
  await using world = await makeWorld()
  await world.agent(STUCK)
  await stuck(world)
  await world.push('upstream', { 'unrelated.txt': 'unrelated\n' })
  await stuck(world)
  expect(await world.agentRuns()).toBe(1)
})

test.each<[string, (world: World) => Promise<unknown>, string[]]>([
  ['--retry', async () => {}, ['--retry']],
  ['another model', async () => {}, ['--model', 'better-model']],
  ['new words in FORK.md', world => writeFile(join(world.checkout, 'FORK.md'), 'Take both.\n'), []],
  ['other conflicts', world => world.push('upstream', { 'greeting.txt': 'hello again\n' }), []],
])('%s asks the agent again', async (_, change, args) => {
  await using world = await makeWorld()
  await world.agent(STUCK)
  await stuck(world)
  await change(world)
  await world.agent('good')
  expectExit(await world.run(args), 0)
  expect(world.pull.state).toBe('open')
})

test('a merge that ran out of time is not paid for twice, and has the same exit code', async () => {
  await using world = await makeWorld()
  await world.agent('echo "What is left" >STUCK.md; exit 2')
  expectExit(await world.run(), 2)
  const again = await world.run()
  expectExit(again, 2)
  expect(again.last).toContain((await world.lastRun()).path)
  expect(await world.agentRuns()).toBe(1)
})

test('a refused result is not paid for twice, until upstream or the fork moves', async () => {
  await using world = await makeWorld()
  await world.agent('git reset --quiet --hard "$upstream"')
  expectExit(await world.run(), 3)
  expectExit(await world.run(), 3)
  expect(await world.agentRuns()).toBe(1)
  await world.push('upstream', { 'more.txt': 'more\n' })
  await world.agent('good')
  expectExit(await world.run(), 0)
})

test('a refused result is asked for again with --retry', async () => {
  await using world = await makeWorld()
  await world.agent('git reset --quiet --hard "$upstream"')
  expectExit(await world.run(), 3)
  await world.agent('good')
  expectExit(await world.run(['--retry']), 0)
})

test('another fork of the same name has a memory of its own', async () => {
  await using world = await makeWorld()
  await world.agent(STUCK)
  await stuck(world)
  await world.git('remote', 'set-url', 'origin', 'https://github.com/me/second.git')
  await git(world.root, 'clone', '--quiet', '--bare', world.origin, 'servers/me/second.git')
  world.github.add('me/second', world.path('servers/me/second.git'))
  await world.agent('good')
  expectExit(await world.run(), 0)
})

test('a STUCK.md that is a pipe hangs nothing', async () => {
  await using world = await makeWorld()
  await world.agent('mkfifo STUCK.md')
  await stuck(world)
})

test('a STUCK.md that is a folder is no secret', async () => {
  await using world = await makeWorld()
  await world.agent('mkdir STUCK.md')
  await stuck(world)
})

test('a STUCK.md of gigabytes is previewed in a few lines', async () => {
  await using world = await makeWorld()
  await world.agent('yes "Please help me with this." 2>/dev/null | head -c 30000000 >STUCK.md; truncate -s 8G STUCK.md')
  const run = await stuck(world)
  expect(run.stdout.length + run.stderr.length).toBeLessThan(8000)
})

test('a STUCK.md of one endless line is previewed, not poured out', async () => {
  await using world = await makeWorld()
  await world.agent('head -c 3000000 /dev/zero | tr "\\0" x >STUCK.md')
  const run = await stuck(world)
  expect(run.stdout.length + run.stderr.length).toBeLessThan(20_000)
})

test('escape sequences in STUCK.md are made visible', async () => {
  await using world = await makeWorld()
  await world.agent(
    `printf 'Look: \\033]0;owned\\007 \\033[31mred \\302\\233 and \\342\\200\\256reversed\\n' >STUCK.md`,
  )
  const run = await stuck(world, [], 100)
  expect(run.stdout).toContain('Look:')
  expect(run.stdout).not.toContain('\u001b]0;')
  expect(run.stdout).not.toContain('\u001b[31mred')
  expect(run.stdout).not.toContain('\u009b')
  expect(run.stdout).not.toContain('\u202e')
  // Printing the copy in the run directory is equally safe.
  const copy = await readFile(join((await world.lastRun()).path, 'STUCK.md'), 'utf8')
  expect(copy).toContain('Look: \\x1b]0;owned\\x07')
  for (const unseen of ['\u001b', '\u009b', '\u202e']) expect(copy).not.toContain(unseen)
})

test('a STUCK.md that is a link does not show a file of the host', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('private.txt'), 'the private words of the host\n')
  await world.agent(`ln -s ${world.path('private.txt')} STUCK.md`)
  const run = await stuck(world)
  expect(run.stdout + run.stderr).not.toContain('the private words of the host')
  const copy = join((await world.lastRun()).path, 'STUCK.md')
  expect((await lstat(copy)).isFile()).toBe(true)
  expect(await readFile(copy, 'utf8')).toBe('(STUCK.md is a link: it is not followed)')
})

test('says where a merge is too large for one agent: by many files, or out of time twice on the same', async () => {
  const filesOf = (count: number, word: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`many/${at}.txt`, `${word}\n`]))
  // One more file is in conflict in each of these worlds.
  const worldOf = (count: number) =>
    makeWorld({ files: { fork: filesOf(count, 'ours'), upstream: filesOf(count, 'theirs') } })
  await using few = await worldOf(19)
  await few.agent(STUCK)
  expect((await stuck(few)).stdout).not.toContain('forge resolve')
  await using world = await worldOf(20)
  await world.agent(STUCK)
  const run = await stuck(world)
  const name = basename((await world.lastRun()).path)
  expect(run.stdout).toContain('21 files in conflict are much for one agent')
  expect(run.stdout).toContain(`: forge resolve --forklift ${name} does it in parts.`)
  await using small = await makeWorld()
  await small.agent('exit 2')
  const first = await small.run()
  expectExit(first, 2)
  expect(first.stdout).not.toContain('forge resolve')
  const second = await small.run(['--retry'])
  expectExit(second, 2)
  expect(second.stdout).toContain('Time ran out on this merge more than once: forge resolve --forklift ')
})
