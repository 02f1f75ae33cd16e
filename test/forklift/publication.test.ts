/** Publishing a good result in spite of problems on the way. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { rm, writeFile } from 'node:fs/promises'
import { contains, git, gitWith, parentsOf, show } from '../support/git.ts'
import { addHook, letTheAgentGo, refusePushes, waitingAgent } from '../support/moments.ts'
import { exists, expectExit, makeWorld, until } from '../support/world.ts'

setDefaultTimeout(60_000)

/** Writes lessons as `forge` keeps them in a repository. */
async function keepLessons(repository: string, lines: string): Promise<void> {
  const blob = await gitWith(repository, ['hash-object', '-w', '--stdin'], lines)
  const tree = await gitWith(repository, ['mktree'], `100644 blob ${blob}\tfork-md\n`)
  const commit = await gitWith(repository, [
    '-c',
    'user.name=You',
    '-c',
    'user.email=you@x',
    'commit-tree',
    '-m',
    'x',
    tree,
  ])
  await git(repository, 'update-ref', 'refs/forge/playbooks', commit)
}

test('a push that the server refuses: exit 1 with its reason, and the next run publishes without another agent', async () => {
  await using world = await makeWorld()
  const allowPushes = await refusePushes(world, 'the disk is full')
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.stderr).toContain('the disk is full')
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 1 })
  await allowPushes()
  expectExit(await world.run(), 0)
  expect(await world.agentRuns()).toBe(1)
  expect(world.pull.state).toBe('open')
})

test('a pull request that cannot be opened: the compare link, and tomorrow it is opened without another agent', async () => {
  await using world = await makeWorld()
  world.github.fail({ method: 'POST', path: /pulls$/, status: 500, message: 'Server Error', times: 99 })
  await keepLessons(world.checkout, '## Lessons\n\n- Notes (2026-11-24): They end with their harbour.\n')
  const failed = await world.run()
  expectExit(failed, 1)
  const [branch = ''] = await world.branches()
  expect(failed.last).toContain(`https://github.com/me/fork/compare/main...${branch}`)
  world.github.faults.length = 0
  expectExit(await world.run(), 0)
  expect(world.pull.head).toBe(branch)
  expect(world.pull.body).toContain('greeting.txt')
  // What runs of Forge have learned in the fork is offered for its FORK.md.
  expect(world.pull.body).toContain(
    '```markdown\n## Lessons\n\n- Notes (2026-11-24): They end with their harbour.\n```',
  )
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

test('a refusal that only names a branch “workflow” is shown as it is, not explained by the token', async () => {
  await using world = await makeWorld({ branch: 'workflow' })
  await refusePushes(world, 'the disk is full')
  const run = await world.run()
  expectExit(run, 1)
  expect(run.last).toContain('forklift/workflow-')
  expect(run.last).toContain('the disk is full')
  expect(run.last).not.toMatch(/scope|gh auth refresh/)
})

test('a token whose scopes lack workflow is told before the agent is paid for, when upstream changes workflows', async () => {
  await using world = await makeWorld({ files: { upstream: { '.github/workflows/ci.yml': 'on: push\n' } } })
  world.github.scopes = 'repo'
  // The remotes have GitHub's addresses; only their network traffic goes to a test server.
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
  await world.agent(waitingAgent(world))
  const [one, two] = [world.start(), world.start()]
  await until('both agents work', async () => (await world.containers()).length === 2)
  await letTheAgentGo(world)
  const codes = await Promise.all([one.ended, two.ended])
  expect(codes.map(run => [run.code, run.code === 0 ? '' : run.stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  expect(world.github.pulls.filter(pull => pull.state === 'open')).toHaveLength(1)
})

test('a run that publishes what another one has just made: both end well, and how is recorded', async () => {
  await using world = await makeWorld()
  const [waits, go] = [world.path('waits'), world.path('go')]
  // The first push waits at the server until the second one is complete.
  const hold = `mkdir '${waits}' 2>/dev/null || exit 0; until [ -e '${go}' ]; do sleep 0.05; done`
  await addHook(world, 'pre-receive', hold)
  const one = world.start()
  await until('the first one pushes', () => exists(waits))
  expectExit(await world.run(), 0)
  await writeFile(go, '')
  const first = await one.ended
  expectExit(first, 0)
  expect(first.last).toContain('Pull request of another run')
  expect(world.pull.state).toBe('open')
  expect(await world.agentRuns()).toBe(1)
  const run = await world.lastRun()
  expect(run.outcome).toMatchObject({ exitCode: 0, pullRequest: 'https://github.com/me/fork/pull/1' })
  expect(await exists(`${run.path}/published.json`)).toBe(false)
})

test('a branch with a # in its name has a working link', async () => {
  await using world = await makeWorld({ branch: 'fix#1' })
  world.github.fail({ method: 'POST', path: /pulls$/, status: 500, message: 'Server Error', times: 99 })
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.last).toContain('https://github.com/me/fork/compare/fix%231...forklift/fix%231-')
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
  // In code, GitHub makes no links and sends no notifications.
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

test('a run that is interrupted while it pushes is finished by the next, without another agent', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('hold'), '')
  const hold = `touch ${world.root}/pushing; while [ -e ${world.root}/hold ]; do sleep 0.05; done; exit 1`
  const allowPushes = await addHook(world, 'pre-receive', hold)
  const started = world.start()
  await until('git pushes', () => exists(world.path('pushing')))
  started.child.kill('SIGTERM')
  const interrupted = await started.ended
  await rm(world.path('hold'))
  expectExit(interrupted, 143)
  expect(interrupted.stdout + interrupted.stderr).not.toMatch(/^\s+at |EPIPE/m)
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 143 })
  expect(world.github.pulls).toEqual([])
  await allowPushes()
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
  await addHook(
    world,
    'post-receive',
    `touch ${world.root}/pushed; while [ -e ${world.root}/hold ]; do sleep 0.05; done`,
  )
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

test('--retry asks the agent again, although a result waits to be published', async () => {
  await using world = await makeWorld()
  const allowPushes = await refusePushes(world)
  await world.agent('good "The first try"')
  expectExit(await world.run(), 1)
  await allowPushes()
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

test.each([true, false])(
  'a ready pull request that gets odd edits becomes a draft, where there are drafts: %p',
  async drafts => {
    await using world = await makeWorld({ github: { drafts } })
    expectExit(await world.run(), 0)
    expect(world.pull.draft).toBe(false)
    await world.push('upstream', { 'later.txt': 'later\n' })
    await world.agent('good; echo odd >odd.txt; git add odd.txt; git commit --quiet -m "Something else"')
    const run = await world.run()
    expectExit(run, 0)
    expect(world.pull.body).toContain('odd.txt')
    expect(world.pull.draft).toBe(drafts)
    expect(run.stdout.includes('stays ready')).toBe(!drafts)
  },
)
