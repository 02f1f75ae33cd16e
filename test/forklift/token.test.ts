/** The token for GitHub: where it is found, which servers get it, and which never do. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { shellIn } from '../../core/shell.ts'
import { credentialHelper, GitHub, gitHubPlaceOf } from '../../forklift/github.ts'
import { serveGit } from '../doubles/git-http.ts'
import { exists, expectExit, filesBelow, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

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

test('a credential helper of the user’s own that knows the password is enough for git: the token is not sent', async () => {
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

test('over real HTTP, the token also serves git, and is in no argument', async () => {
  await using world = await makeWorld()
  await using server = serveGit(world.path('servers'), { token: world.github.token })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  const real = Bun.which('git')
  await world.tool('git', `printf '%s\\n' "$*" >>${world.root}/git-arguments; exec ${real} "$@"`)
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
  expect(server.asked.some(one => one.path.endsWith('/git-receive-pack') && one.status === 200)).toBe(true)
  expect(await Bun.file(world.path('git-arguments')).text()).not.toContain(world.github.token)
})

test('over real HTTP, a server that requires another password is reported at once, without a prompt', async () => {
  await using world = await makeWorld()
  await using server = serveGit(world.path('servers'), { token: 'another' })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  const run = await world.run([], { terminal: 100 })
  expectExit(run, 1)
  expect(run.stdout).not.toMatch(/Username for|Password for/)
  expect(await world.agentRuns()).toBe(0)
})

test('the user’s own credential helper goes first', async () => {
  await using world = await makeWorld()
  await using server = serveGit(world.path('servers'), { token: 'from-the-helper' })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  await world.git(
    'config',
    '--global',
    'credential.helper',
    '!f() { test "$1" = get && printf "username=me\\npassword=from-the-helper\\n"; }; f',
    { cwd: world.home },
  )
  expectExit(await world.run(), 0)
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

/** Each source is found when the earlier ones are empty. */
test.each<[string, (world: World) => Promise<unknown>, (token: string) => Record<string, string>]>([
  ['GH_TOKEN', async () => {}, token => ({ GH_TOKEN: token, GITHUB_TOKEN: 'ghp_wrong' })],
  ['GITHUB_TOKEN', world => world.tool('gh', 'echo ghp_wrong'), token => ({ GITHUB_TOKEN: token })],
  [
    'gh auth token',
    world => world.tool('gh', `[[ "$*" == "auth token --hostname github.com" ]] && echo ${world.github.token}`),
    () => ({}),
  ],
  [
    'git credential fill',
    world =>
      world.git(
        'config',
        '--global',
        'credential.https://github.com.helper',
        `!f() { printf "username=me\\npassword=${world.github.token}\\n"; }; f`,
        { cwd: world.home },
      ),
    () => ({}),
  ],
])('the token comes from %s', async (_, prepare, env) => {
  await using world = await makeWorld({ story: 'clean' })
  await prepare(world)
  expectExit(await world.run([], { env: { GH_TOKEN: undefined, ...env(world.github.token) } }), 0)
  expect(world.pull.state).toBe('open')
})

test('GitHub Enterprise is known by its token', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.reachable({ 'git@git.corp.example:': world.path('servers/') })
  await world.git('remote', 'set-url', 'origin', 'git@git.corp.example:me/fork.git')
  await world.git('remote', 'set-url', 'upstream', 'git@git.corp.example:them/project.git')
  expectExit(await world.run([], { env: { GH_TOKEN: undefined, GH_ENTERPRISE_TOKEN: world.github.token } }), 0)
  expect(world.pull.state).toBe('open')
})

test('another forge gets the branch, not the token', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.reachable({ 'https://codeberg.example/': world.path('servers/') })
  await world.git('remote', 'set-url', 'origin', 'https://codeberg.example/me/fork.git')
  await world.git('remote', 'set-url', 'upstream', 'https://codeberg.example/them/project.git')
  const run = await world.run()
  expectExit(run, 0)
  const [branch = ''] = await world.branches()
  expect(run.last).toContain(branch)
  expect(world.github.asked).toEqual([])
})

const PLACE = gitHubPlaceOf(['https://github.com/me/fork.git'], {})
const TOKEN = { value: 'ghp_0123456789SECRET', source: 'GH_TOKEN' }
/** A user without git configuration, so without credential helpers. */
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
