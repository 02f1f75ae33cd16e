/** What a second look found once, and what must stay mended. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { shellIn } from '../../core/shell.ts'
import { credentialHelper, GitHub, placeOf } from '../../forklift/github.ts'
import { serveGit } from '../doubles/git-http.ts'
import { contains, git, show } from '../support/git.ts'
import { type Ended, exists, expectExit, FORKLIFT, filesBelow, makeWorld, until, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** A hook of origin's server. */
async function hook(world: World, name: string, script: string): Promise<void> {
  const path = join(world.origin, 'hooks', name)
  await mkdir(join(world.origin, 'hooks'), { recursive: true })
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
}
const beforePushes = (world: World, script: string) => hook(world, 'pre-receive', script)
const allowPushes = (world: World) => rm(join(world.origin, 'hooks/pre-receive'))

const noTrace = ({ stdout, stderr }: Ended) => expect(stdout + stderr).not.toMatch(/^\s+at |EPIPE/m)

/** Runs forklift, and does something at the moment when the agent works. */
async function whileTheAgentWorks(world: World, meanwhile: () => Promise<unknown>): Promise<Ended> {
  const go = world.path('go')
  await rm(go, { force: true })
  await world.agent(`touch "$state/here"; while [ ! -e "${go}" ]; do sleep 0.05; done; good`)
  const started = world.start()
  try {
    await until('the agent works', async () => {
      const run = (await world.runs()).at(-1)
      return run !== undefined && !run.outcome && (await exists(join(run.state, 'here')))
    })
    await meanwhile()
  } finally {
    await writeFile(go, '')
  }
  return await started.ended
}

/** Leaves an open pull request, and an upstream that moved on. */
async function openPull(world: World): Promise<void> {
  expectExit(await world.run(), 0)
  await world.push('upstream', { 'greeting.txt': 'hello once more\n' })
}

// The token.

test('git’s own store of passwords is not given the token', async () => {
  await using world = await makeWorld()
  await using server = serveGit(world.path('servers'), { token: world.github.token })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  await world.git('config', '--global', 'credential.helper', 'store', { cwd: world.home })
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
  expect(server.asked.some(one => one.path.endsWith('/git-receive-pack') && one.status === 200)).toBe(true)
  expect(await exists(join(world.home, '.git-credentials'))).toBe(false)
  for (const file of await filesBelow(world.home)) {
    expect((await readFile(file, 'latin1')).includes(world.github.token) && file).toBe(false)
  }
})

test('a credential helper of the user’s own that knows the password is enough for git: the token stays at home', async () => {
  await using world = await makeWorld()
  await using server = serveGit(world.path('servers'), { token: 'from-the-helper' })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  const answer = `!f() { test "$1" = get && printf "username=max\\npassword=from-the-helper\\n"; }; f`
  await world.git('config', '--global', `credential.${server.url}.helper`, answer, { cwd: world.home })
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
  const users = new Set(server.asked.filter(one => one.status === 200).map(one => one.user))
  expect([...users]).toEqual(['max'])
  expect(server.asked.map(one => one.user)).not.toContain('x-access-token')
})

const PLACE = placeOf(['https://github.com/me/fork.git'], {})
const TOKEN = { value: 'ghp_0123456789SECRET', source: 'GH_TOKEN' }
/** A person without a configuration, so without helpers. */
const NOBODY = { HOME: '/nonexistent', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
const nobody = () => shellIn({ cwd: '/', env: NOBODY })
function helperFor(url: string): Promise<Record<string, string>> {
  if (!PLACE) throw new Error('github.com was not known')
  return credentialHelper(url, new GitHub(PLACE, TOKEN, new AbortController().signal), nobody())
}

test.each([
  'https://evil.example/me/fork.git',
  'http://localhost:x@evil.example/a/b',
  'http://127.0.0.1:80@evil.example/a/b',
  'http://my-localhost/a/b',
  'http://localhost.evil.example/a/b',
  'http://github.com/me/fork.git',
  'https://github.com@evil.example/me/fork.git',
  'https://github.com.evil.example/me/fork.git',
  'https://not-github.com/me/fork.git',
  'https://evil.example/https://github.com/me/fork.git',
  'ssh://git@github.com/me/fork.git',
  'git@github.com:me/fork.git',
  '/srv/git/fork.git',
  'https://',
])('the token does not go to %s', async url => {
  expect(await helperFor(url)).toEqual({})
})

test('the token goes to its own host, and git asks for it there alone', async () => {
  const env = await helperFor('https://github.com/me/fork.git')
  expect(Object.keys(env)).toContain('FORKLIFT_GIT_TOKEN')
  const fill = async (host: string) => {
    const child = Bun.spawn(['git', 'credential', 'fill'], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1', ...env },
      stdin: new Blob([`protocol=https\nhost=${host}\n\n`]),
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const [text] = await Promise.all([child.stdout.text(), child.exited])
    return text
  }
  expect(await fill('github.com')).toContain(`password=${TOKEN.value}`)
  expect(await fill('evil.example')).not.toContain(TOKEN.value)
})

test('an upstream on another server that wants a password is not offered the token', async () => {
  await using world = await makeWorld()
  await using origin = serveGit(world.path('servers'), { token: world.github.token })
  await using upstream = serveGit(world.path('servers'), { token: 'another' })
  await world.reachable({
    'https://github.com/me/': `${origin.url}/me/`,
    'https://github.com/them/': `${upstream.url}/them/`,
  })
  const run = await world.run()
  expectExit(run, 1)
  expect(run.last).toContain('upstream')
  expect(upstream.asked.map(one => one.user).filter(Boolean)).toEqual([])
  expect(await world.agentRuns()).toBe(0)
})

// What people do meanwhile.

test.each(['kept', 'deleted'])(
  'a pull request that is merged while the agent works (its branch %s): the result gets a new one',
  async branch => {
    await using world = await makeWorld()
    await openPull(world)
    const { head } = world.pull
    const tip = await world.tip('origin', head)
    const run = await whileTheAgentWorks(world, async () => {
      await world.github.merge(1)
      if (branch === 'deleted') await world.github.deleteBranch(1)
    })
    expectExit(run, 0)
    expect(world.github.pulls).toHaveLength(2)
    const second = world.github.pull(2)
    expect(second.state).toBe('open')
    expect(second.head).not.toBe(head)
    expect(run.last).toContain(`/pull/2`)
    expect(await contains(world.origin, (await world.tip('upstream')) ?? '', second.headSha)).toBe(true)
    expect(await world.tip('origin', head)).toBe(branch === 'kept' ? tip : undefined)
    expect(await world.agentRuns()).toBe(2)
  },
)

test('a pull request that is squashed while the agent works: nothing that conflicts is pushed, the next run is right', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const run = await whileTheAgentWorks(world, () => world.github.merge(1, 'squash'))
  expectExit(run, 1)
  expect(run.last).toContain('https://github.com/me/fork/pull/1 was squashed while the agent worked')
  expect(world.github.pulls).toHaveLength(1)
  await world.agent('good')
  expectExit(await world.run(), 0)
  const second = world.github.pull(2)
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', second.headSha)).toBe(true)
  await world.github.merge(2)
  expect((await world.run()).stdout).toBe('')
})

test('a pull request that is closed while the agent works: exit 1, nothing is pushed, and it stays closed', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const { head, body } = world.pull
  const tip = await world.tip('origin', head)
  const run = await whileTheAgentWorks(world, () => world.github.close(1))
  expectExit(run, 1)
  expect(run.last).toMatch(/closed/)
  expect(run.last).toContain('/pull/1')
  expect(await world.branches()).toEqual([head])
  expect(await world.tip('origin', head)).toBe(tip)
  expect(world.pull).toMatchObject({ state: 'closed', body })
  expect(world.github.requests('PATCH')).toEqual([])
  // As the sentence says: who runs forklift now wants a new one.
  expectExit(await world.run(), 0)
  expect(world.github.pull(1).state).toBe('closed')
  expect(world.github.pull(2)).toMatchObject({ state: 'open' })
  expect(world.github.pull(2).head).not.toBe(head)
})

test('what a person writes into the page while the agent works stays', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const before = world.pull.body
  const run = await whileTheAgentWorks(world, async () =>
    world.github.editBody(1, body => `Rita: please wait for the release.\n\n${body}\n\nSee you on Monday.`),
  )
  expectExit(run, 0)
  const { body } = world.pull
  expect(body).toContain('Rita: please wait for the release.')
  expect(body).toContain('See you on Monday.')
  expect(body).not.toContain(before)
})

test('a run that is interrupted while it pushes is finished by the next, without another agent', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('hold'), '')
  await beforePushes(world, `touch ${world.root}/pushing; while [ -e ${world.root}/hold ]; do sleep 0.05; done; exit 1`)
  const started = world.start()
  await until('git pushes', () => exists(world.path('pushing')))
  started.child.kill('SIGTERM')
  const interrupted = await started.ended
  await rm(world.path('hold'))
  expectExit(interrupted, 143)
  noTrace(interrupted)
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 143 })
  expect(world.github.pulls).toEqual([])
  await allowPushes(world)
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
  expect(await show(world.origin, world.pull.headSha, 'greeting.txt')).toContain('hello from upstream')
  expect(await world.agentRuns()).toBe(1)
  expect(await world.runs()).toHaveLength(1)
  expectExit(await world.run(), 0)
  expect(world.github.pulls).toHaveLength(1)
  expect(await world.agentRuns()).toBe(1)
})

test('a run that is interrupted when the push is through is finished by the next, without another agent', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('hold'), '')
  await hook(world, 'post-receive', `touch ${world.root}/pushed; while [ -e ${world.root}/hold ]; do sleep 0.05; done`)
  const started = world.start()
  await until('the push is through', () => exists(world.path('pushed')))
  started.child.kill('SIGTERM')
  const interrupted = await started.ended
  await rm(world.path('hold'))
  expectExit(interrupted, 143)
  const branches = await world.branches()
  expect(branches).toHaveLength(1)
  expectExit(await world.run(), 0)
  expect(world.pull).toMatchObject({ state: 'open', head: branches[0] })
  expect(await world.branches()).toEqual(branches)
  expect(await world.agentRuns()).toBe(1)
})

// STUCK.md.

test('a STUCK.md that nobody may read is one all the same', async () => {
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

test('a STUCK.md of upstream’s own with the line ends of Windows is a file like any other', async () => {
  const files = { '.gitattributes': '*.md text eol=crlf\n', 'STUCK.md': '# When the truck is stuck\n\nPush.\n' }
  await using world = await makeWorld({ files: { upstream: files } })
  await world.agent(`good; cp STUCK.md "$state/seen"`)
  expectExit(await world.run(), 0)
  expect(await readFile(join((await world.lastRun()).state, 'seen'), 'utf8')).toContain('stuck\r\n')
  expect(world.pull.state).toBe('open')
})

// Odd places and odd people.

test.each(['forklift', 'forklift --check'])(
  '%s | head -1: the reader leaves, no stack trace, and the work is done',
  async command => {
    const argument = command.slice('forklift'.length)
    await using world = await makeWorld()
    const line = `set -o pipefail; "$0"${argument} | head -n 1; exit \${PIPESTATUS[0]}`
    const run = await world.run(['-c', line, FORKLIFT], { as: 'bash' })
    expectExit(run, 0)
    noTrace(run)
    expect(run.stderr).toBe('')
    expect(world.github.pulls).toHaveLength(argument ? 0 : 1)
  },
)

test.each(['origin', 'another remote'])('a partial clone (%s has the rest): one sentence', async which => {
  await using world = await makeWorld()
  await git(world.origin, 'config', 'uploadpack.allowFilter', 'true')
  const partial = world.path('home/partial')
  await world.git('clone', '--quiet', '--filter=blob:none', `file://${world.origin}`, partial, { cwd: world.home })
  if (which !== 'origin') await world.git('remote', 'rename', 'origin', 'promisor', { cwd: partial })
  if (which !== 'origin') await world.git('remote', 'add', 'origin', 'https://github.com/me/fork.git', { cwd: partial })
  await world.git('remote', 'set-url', 'origin', 'https://github.com/me/fork.git', { cwd: partial })
  await world.git('remote', 'add', 'upstream', 'https://github.com/them/project.git', { cwd: partial })
  const run = await world.run([], { cwd: partial })
  expectExit(run, 1)
  noTrace(run)
  expect(run.last).toMatch(/partial clone.*full clone/)
  expect(await world.agentRuns()).toBe(0)
  expect(await exists(world.runsFolder)).toBe(false)
})

test.each(['me/renamed', 'us/fork'])(
  'a repository that is called %s by now still finds its pull request',
  async name => {
    await using world = await makeWorld()
    await openPull(world)
    world.repository.name = name
    const { head } = world.pull
    await world.agent('good')
    expectExit(await world.run(), 0)
    expect(world.pull).toMatchObject({ state: 'open', head })
    expect(
      await contains(world.origin, (await world.tip('upstream')) ?? '', await git(world.origin, 'rev-parse', head)),
    ).toBe(true)
    expect(await world.branches()).toEqual([head])
    expectExit(await world.run(), 0)
    expect(world.github.pulls).toHaveLength(1)
    expect(await world.agentRuns()).toBe(2)
  },
)

test('a refusal that only names a branch “workflow” is told as it is, not explained by the token', async () => {
  await using world = await makeWorld({ branch: 'workflow' })
  await beforePushes(world, 'echo "the disk is full" >&2; exit 1')
  const run = await world.run()
  expectExit(run, 1)
  expect(run.last).toContain('forklift/workflow-')
  expect(run.last).toContain('the disk is full')
  expect(run.last).not.toMatch(/scope|gh auth refresh/)
})

test('--check says that the folder for runs can’t be written', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('file'), '')
  const run = await world.run(['--check'], { env: { XDG_STATE_HOME: world.path('file/state') } })
  expectExit(run, 1)
  noTrace(run)
  expect(run.stdout).toMatch(/FAILED .*file\/state\/forklift can't be written \(ENOTDIR\)/)
  expect(run.last).toContain("can't be written")
})

test('a FORK.md that is a symbolic link is not followed, and that is said', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('private.txt'), 'the private words of the host\n')
  await symlink(world.path('private.txt'), join(world.checkout, 'FORK.md'))
  const run = await world.run()
  expectExit(run, 0)
  expect(run.stdout).toMatch(/Note: FORK\.md is no plain file/)
  const { path, state } = await world.lastRun()
  expect(await readdir(state)).not.toContain('fork-context.md')
  for (const file of await filesBelow(path)) {
    expect((await readFile(file, 'latin1')).includes('the private words of the host') && file).toBe(false)
  }
})

test('GIT_LITERAL_PATHSPECS=1 in the environment changes nothing', async () => {
  // Only who reads the attributes knows that these two do not conflict.
  await using world = await makeWorld({ files: { base: { '.gitattributes': 'greeting.txt merge=union\n' } } })
  expectExit(await world.run([], { env: { GIT_LITERAL_PATHSPECS: '1' } }), 0)
  expect((await world.lastRun()).metadata).toMatchObject({ conflicts: [] })
  expect(world.pull).toMatchObject({ state: 'open', draft: false })
})

test('where there is no GitHub, a branch that a person deleted is not made again until upstream moves', async () => {
  await using world = await makeWorld({ github: false })
  expectExit(await world.run(), 0)
  const [branch = ''] = await world.branches()
  await git(world.origin, 'update-ref', '-d', `refs/heads/${branch}`)
  const again = await world.run([], { terminal: 200 })
  expectExit(again, 0)
  expect(again.stdout).toContain(branch)
  expect(await world.branches()).toEqual([])
  expect(await world.agentRuns()).toBe(1)
  await world.push('upstream', { 'more.txt': 'more\n' })
  expectExit(await world.run(), 0)
  expect(await world.branches()).toHaveLength(1)
})

test('--retry asks the agent again, although a result waits to be published', async () => {
  await using world = await makeWorld()
  await beforePushes(world, 'exit 1')
  await world.agent('good "The first try"')
  expectExit(await world.run(), 1)
  await allowPushes(world)
  await world.agent('good "The second try"')
  expectExit(await world.run(['--retry']), 0)
  expect(await world.agentRuns()).toBe(2)
  expect(await git(world.origin, 'log', '-1', '--format=%B', world.pull.headSha)).toContain('The second try')
})

test('a person who signs every push can still use Forklift', async () => {
  await using world = await makeWorld()
  await world.git('config', '--global', 'push.gpgSign', 'true', { cwd: world.home })
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
})

test('a docker client that is killed leaves no container behind: exit 5', async () => {
  await using world = await makeWorld()
  await world.agent('touch "$state/busy"; sleep 300')
  const started = world.start()
  await until('the agent works', async () => {
    const run = (await world.runs()).at(-1)
    return run !== undefined && (await exists(join(run.state, 'busy')))
  })
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
  noTrace(run)
  expect(await world.containers()).toEqual([])
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 5 })
  expect(await world.branches()).toEqual([])
})
