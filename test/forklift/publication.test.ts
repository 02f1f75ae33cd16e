/** From a good result to a pull request, when the way there is not smooth. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serveGit } from '../doubles/git-http.ts'
import { commit, contains, git, parentsOf } from '../support/git.ts'
import { exists, expectExit, makeWorld, until, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** A server's hook that refuses what is pushed to it. */
async function refusePushes(world: World, words: string): Promise<void> {
  const hook = join(world.origin, 'hooks/pre-receive')
  await Bun.write(hook, `#!/bin/sh\necho "${words}" >&2\nexit 1\n`)
  await chmod(hook, 0o755)
}
const allowPushes = (world: World) => Bun.file(join(world.origin, 'hooks/pre-receive')).delete()

test('a push that the server refuses: exit 1 with its reason, and the next run publishes without another agent', async () => {
  await using world = await makeWorld()
  await refusePushes(world, 'the disk is full')
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.stderr).toContain('the disk is full')
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 1 })
  await allowPushes(world)
  expectExit(await world.run(), 0)
  expect(await world.agentRuns()).toBe(1)
  expect(world.pull.state).toBe('open')
})

test('a pull request that cannot be opened: the compare link, and tomorrow it is opened without another agent', async () => {
  await using world = await makeWorld()
  world.github.fail({ method: 'POST', path: /pulls$/, status: 500, message: 'Server Error', times: 99 })
  const failed = await world.run()
  expectExit(failed, 1)
  const [branch = ''] = await world.branches()
  expect(failed.last).toContain(`https://github.com/me/fork/compare/main...${branch}`)
  world.github.faults.length = 0
  expectExit(await world.run(), 0)
  expect(world.pull.head).toBe(branch)
  expect(world.pull.body).toContain('greeting.txt')
  expect(await world.agentRuns()).toBe(1)
  expect(await world.branches()).toEqual([branch])
})

test('upstream moved on before the unpublished result was made up for', async () => {
  await using world = await makeWorld()
  world.github.fail({ method: 'POST', path: /pulls$/, status: 500, message: 'Server Error', times: 99 })
  expectExit(await world.run(), 1)
  world.github.faults.length = 0
  const newest = await world.push('upstream', { 'newest.txt': 'newest\n' })
  expectExit(await world.run(), 0)
  expect(await contains(world.origin, newest, world.pull.headSha)).toBe(true)
})

test('a token without the workflow scope, seen only at the push, is explained', async () => {
  await using world = await makeWorld()
  await refusePushes(
    world,
    'refusing to allow a Personal Access Token to create or update workflow .github/workflows/ci.yml without workflow scope',
  )
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.last).toContain('workflow')
  expect(failed.last).toContain('gh auth refresh')
})

test('a token whose scopes lack workflow is told before the agent is paid for, when upstream changes workflows', async () => {
  await using world = await makeWorld({ files: { upstream: { '.github/workflows/ci.yml': 'on: push\n' } } })
  world.github.scopes = 'repo'
  // The remotes look like GitHub's own addresses to all who ask; only what goes over the network is led elsewhere.
  await world.reachable({})
  const real = Bun.which('git')
  const there = `-c url.${world.path('servers/')}.insteadOf=https://github.com/`
  await world.tool(
    'git',
    `case " $* " in *" ls-remote "*|*" fetch "*) exec ${real} ${there} "$@" ;; *) exec ${real} "$@" ;; esac`,
  )
  const run = await world.run()
  expectExit(run, 1)
  expect(run.last).toMatch(/workflow/)
  expect(await world.agentRuns()).toBe(0)
})

test.each([
  [403, 'Resource not accessible by personal access token', /403|may not/],
  [404, 'Not Found', /404/],
  [410, 'Pull requests are disabled', /410|switched off|disabled/],
  [422, 'Validation Failed', /422/],
] as const)(
  'GitHub answers %i to the pull request: the branch is there, and the way on is told',
  async (status, message, sentence) => {
    await using world = await makeWorld()
    world.github.fail({ method: 'POST', path: /pulls$/, status, message, times: 99 })
    const run = await world.run()
    expectExit(run, 1)
    expect(run.stdout + run.stderr).toMatch(sentence)
    expect(run.stdout + run.stderr).toContain('/compare/')
    expect(await world.branches()).toHaveLength(1)
  },
)

test('a secondary rate limit is waited for', async () => {
  await using world = await makeWorld()
  world.github.fail({
    method: 'POST',
    path: /pulls$/,
    status: 403,
    message: 'You have exceeded a secondary rate limit',
    headers: { 'retry-after': '1' },
    times: 1,
  })
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
})

test('an answer that was lost does not make a second pull request', async () => {
  await using world = await makeWorld()
  world.github.fail({
    method: 'POST',
    path: /pulls$/,
    times: 1,
    cut: true,
    meanwhile: async () => {
      const [head = ''] = await world.branches()
      world.github.pulls.push({
        number: 1,
        repo: world.repository,
        title: 'made',
        body: '',
        head,
        base: 'main',
        draft: false,
        state: 'open',
        headSha: await git(world.origin, 'rev-parse', head),
        baseSha: (await world.tip('origin')) ?? '',
        mergedAt: null,
        mergeCommit: null,
        createdAt: '2026-11-22T00:00:00Z',
        updatedAt: '2026-11-22T00:00:00Z',
        closedAt: null,
        reviews: [],
        comments: [],
        known: '',
      })
    },
  })
  expectExit(await world.run(), 0)
  expect(world.github.pulls).toHaveLength(1)
})

test('two runs at once end with one pull request', async () => {
  await using world = await makeWorld()
  await world.agent(`touch "$state/here"; while [ ! -e "${world.root}/go" ]; do sleep 0.05; done; good`)
  const [one, two] = [world.start(), world.start()]
  await until('both agents work', async () => (await world.containers()).length === 2)
  await writeFile(world.path('go'), '')
  const codes = await Promise.all([one.ended, two.ended])
  expect(codes.map(run => [run.code, run.code === 0 ? '' : run.stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  expect(world.github.pulls.filter(pull => pull.state === 'open')).toHaveLength(1)
})

test('a person’s commit that arrives while the agent works is not lost', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head } = world.pull
  await world.push('upstream', { 'greeting.txt': 'hello once more\n' })
  await world.agent(`touch "$state/here"; while [ ! -e "${world.root}/go" ]; do sleep 0.05; done; good`)
  const started = world.start()
  await until('the agent works', async () => (await world.containers()).length === 1)
  const theirs = await commit(world.origin, head, { 'person.txt': 'mine\n' }, { author: 'Rita <rita@fork.example>' })
  await writeFile(world.path('go'), '')
  const run = await started.ended
  expectExit(run, 1)
  expect(await contains(world.origin, theirs, head)).toBe(true)
  // The next run carries on from there.
  await world.agent('good')
  expectExit(await world.run(), 0)
  expect(await contains(world.origin, theirs, world.pull.headSha)).toBe(true)
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', world.pull.headSha)).toBe(true)
})

test('what a person threw away while the agent worked does not come back', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  await world.push('upstream', { 'greeting.txt': 'hello once more\n' })
  await world.agent(`while [ ! -e "${world.root}/go" ]; do sleep 0.05; done; good`)
  const started = world.start()
  await until('the agent works', async () => (await world.containers()).length === 1)
  await world.github.deleteBranch(1)
  await writeFile(world.path('go'), '')
  const run = await started.ended
  expectExit(run, 1)
  expect(await world.branches()).toEqual([])
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

test('over real HTTP, a server that wants another password is told at once, without a prompt', async () => {
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

/** Each finds the token where it lies, when the places before it are empty. */
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

test('the title and body are plain, and quiet towards upstream', async () => {
  await using world = await makeWorld()
  await world.push(
    'upstream',
    { 'b.txt': 'b\n' },
    { message: 'Fix #77 and them/project#78 for @octocat, see https://github.com/them/project/pull/79' },
  )
  expectExit(await world.run(), 0)
  const { body, title } = world.pull
  expect(body).toContain('greeting.txt')
  expect(body).toMatch(/merge commit/i)
  // In code, GitHub links nothing and notifies nobody.
  const live = body.replace(/^(`{3,})[\s\S]*?^\1$/gm, '').replace(/`[^`\n]*`/g, '')
  for (const text of [title, live]) {
    expect(text).not.toMatch(/(^|[^\w`])@octocat\b/)
    expect(text).not.toMatch(/(^|[\s(])#77\b/)
    expect(text).not.toMatch(/them\/project#78/)
    expect(text).not.toContain('https://github.com/them/project/pull/79')
  }
  expect(await parentsOf(world.origin, world.pull.headSha)).toHaveLength(2)
  expect(world.github.asked.every(one => !one.path.startsWith('/repos/them/project') || one.method === 'GET')).toBe(
    true,
  )
})

test('a very large upstream still has a page that GitHub takes', async () => {
  await using world = await makeWorld()
  const files = Object.fromEntries(
    Array.from({ length: 150 }, (_, at) => [`src/file-${at}.txt`, `${at}\n`.repeat(200)]),
  )
  for (let at = 0; at < 120; at++)
    await world.push('upstream', at === 0 ? files : { 'n.txt': `${at}\n` }, {
      message: `${'A long subject '.repeat(40)}${at}`,
    })
  expectExit(await world.run(), 0)
  expect(world.pull.body.length).toBeLessThanOrEqual(65_535)
})

test('an unpublished result of a run is not forgotten when the branch is a person’s', async () => {
  await using world = await makeWorld()
  await git(world.origin, 'branch', 'forklift/main-20200101_000000', 'main')
  expectExit(await world.run(), 0)
  expect(world.pull.head).not.toBe('forklift/main-20200101_000000')
  expect(await git(world.origin, 'rev-parse', 'forklift/main-20200101_000000')).toBe((await world.tip('origin')) ?? '')
  expect(await exists(world.runsFolder)).toBe(true)
})
