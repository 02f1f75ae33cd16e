/** The main case: from `forklift` in a fork to a pull request. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { contains, git, gitWith, parentsOf, show } from '../support/git.ts'
import { processes } from '../support/processes.ts'
import { exists, expectExit, filesBelow, KEY, makeWorld, snapshot, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** The published commit. */
const published = (world: World): string => world.pull.headSha

test('a conflict that the agent resolves becomes a pull request in the fork', async () => {
  await using world = await makeWorld()
  const run = await world.run()
  expectExit(run, 0)
  const { pull } = world
  expect(pull).toMatchObject({ base: 'main', state: 'open' })
  expect(pull.repo.name).toBe('me/fork')
  expect(pull.head).toMatch(/^forklift\/main-\d{8}_\d{6}$/)
  expect(await show(world.origin, published(world), 'greeting.txt')).toBe('hello from the fork\nhello from upstream')
  expect(run.last).toContain('https://github.com/me/fork/pull/1')
  expect(run.stderr).toBe('')
})

test('what is published is one commit, of the person, on top of the fork and upstream', async () => {
  await using world = await makeWorld()
  await world.agent('good; echo more >more.txt; git add more.txt; git commit --quiet -m "A second commit"')
  expectExit(await world.run(), 0)
  const head = published(world)
  expect(await parentsOf(world.origin, head)).toEqual([
    (await world.tip('origin')) ?? '',
    (await world.tip('upstream')) ?? '',
  ])
  expect(await git(world.origin, 'show', '-s', '--format=%an <%ae>|%cn <%ce>', head)).toBe(
    'Max Maintainer <max@fork.example>|Max Maintainer <max@fork.example>',
  )
  const trailer = await git(world.origin, 'show', '-s', '--format=%(trailers:key=Forklift-Upstream,valueonly)', head)
  expect(trailer.trim()).toBe((await world.tip('upstream')) ?? '')
  expect(await show(world.origin, head, 'more.txt')).toBe('more')
})

test('a person without a git identity gets a fixed one', async () => {
  await using world = await makeWorld({ story: 'clean' })
  for (const name of ['user.name', 'user.email']) await world.git('config', '--global', '--unset', name)
  expectExit(await world.run(), 0)
  expect(await git(world.origin, 'show', '-s', '--format=%an', published(world))).toMatch(/forklift/i)
})

test('a clean merge becomes a pull request', async () => {
  await using world = await makeWorld({ story: 'clean' })
  expectExit(await world.run(), 0)
  const head = published(world)
  const lines = await show(world.origin, head, 'long.txt')
  expect(lines).toContain('line 3 of the fork')
  expect(lines).toContain('line 38 of upstream')
})

test('an agent that rebases brings its tree, and ancestry all the same', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.agent('git rebase --quiet "refs/remotes/upstream/$upstream_branch"')
  expectExit(await world.run(), 0)
  const head = published(world)
  expect(await parentsOf(world.origin, head)).toEqual([
    (await world.tip('origin')) ?? '',
    (await world.tip('upstream')) ?? '',
  ])
})

test('nothing new upstream: exit 0, no word, no container, no run directory', async () => {
  await using world = await makeWorld({ story: 'current' })
  const run = await world.run()
  expectExit(run, 0)
  expect(run.stdout + run.stderr).toBe('')
  expect(await world.agentRuns()).toBe(0)
  expect(await exists(world.runsFolder)).toBe(false)
})

test('a fork without commits of its own is fast-forwarded without an agent', async () => {
  await using world = await makeWorld({ story: 'pristine' })
  expectExit(await world.run(), 0)
  expect(await world.agentRuns()).toBe(0)
  expect(published(world)).toBe((await world.tip('upstream')) ?? '')
  expect(world.pull.body).toContain('Sync fork')
})

test('a day later the same pull request is enough', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const again = await world.run()
  expectExit(again, 0)
  expect(again.stdout + again.stderr).toBe('')
  expect(await world.agentRuns()).toBe(1)
  expect(world.github.pulls).toHaveLength(1)
})

test('the default branches have other names, and a note says so', async () => {
  await using world = await makeWorld({ branch: 'trunk', upstreamBranch: 'release/next' })
  const run = await world.run()
  expectExit(run, 0)
  expect(world.pull.base).toBe('trunk')
  expect(world.pull.head).toMatch(/^forklift\/trunk-/)
  expect(run.stdout).toContain('trunk')
  expect(run.stdout).toContain('release/next')
})

test('a default branch with slashes in its name', async () => {
  await using world = await makeWorld({ branch: 'release/1.x', upstreamBranch: 'main' })
  expectExit(await world.run(), 0)
  expect(world.pull.base).toBe('release/1.x')
  expect(world.pull.head).toMatch(/^forklift\/release\/1\.x-\d{8}_\d{6}$/)
})

test('the odd configuration of a person breaks nothing', async () => {
  await using world = await makeWorld()
  const odd = {
    'commit.gpgSign': 'true',
    'gpg.program': '/bin/false',
    'push.gpgSign': 'if-asked',
    'push.followTags': 'true',
    'push.default': 'nothing',
    'push.recurseSubmodules': 'on-demand',
    'fetch.recurseSubmodules': 'true',
    'fetch.output': 'compact',
    'remote.pushDefault': 'upstream',
    'color.ui': 'always',
    'core.pager': 'false',
    'core.quotePath': 'false',
    'core.hooksPath': '/nonexistent',
    'core.abbrev': '4',
    'diff.noprefix': 'true',
    'diff.external': '/bin/false',
    'diff.renames': 'false',
    'log.showSignature': 'true',
    'log.date': 'relative',
    'merge.conflictStyle': 'diff3',
    'merge.ff': 'only',
    'pull.rebase': 'true',
    'tag.gpgSign': 'true',
    'i18n.logOutputEncoding': 'ISO-8859-1',
    'user.useConfigOnly': 'true',
  }
  for (const [name, value] of Object.entries(odd)) await world.git('config', '--global', name, value)
  const env = { GIT_PAGER: 'false', GIT_EXTERNAL_DIFF: 'false', GIT_EDITOR: 'false', LANG: 'de_DE.UTF-8', LC_ALL: 'C' }
  expectExit(
    await world.run([], {
      env: { ...env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'color.ui', GIT_CONFIG_VALUE_0: 'always' },
    }),
    0,
  )
  expect(world.pull.body).toContain('greeting.txt')
  expect(await parentsOf(world.origin, published(world))).toHaveLength(2)
})

test('a remote that names no default branch has main', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await git(world.upstream, 'symbolic-ref', 'HEAD', 'refs/heads/gone')
  expectExit(await world.run(), 0)
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', published(world))).toBe(true)
})

test('the servers’ current branches are used, not old remote-tracking refs', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.git('fetch', '--quiet', '--all')
  const origin = await world.push('origin', { 'later.txt': 'later\n' })
  const upstream = await world.push('upstream', { 'newer.txt': 'newer\n' })
  expectExit(await world.run(), 0)
  expect(await parentsOf(world.origin, published(world))).toEqual([origin, upstream])
})

test('in a subdirectory', async () => {
  await using world = await makeWorld({ files: { base: { 'src/deep/a.txt': 'a\n' } } })
  expectExit(await world.run([], { cwd: join(world.checkout, 'src/deep') }), 0)
  expect(world.pull.state).toBe('open')
})

test('paths with spaces, quotes and umlauts', async () => {
  await using world = await makeWorld({ named: 'forklift "wörld" $(x) \' of-', folder: 'my forks/the "fork" & co' })
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
})

test('in a worktree', async () => {
  await using world = await makeWorld()
  const tree = world.path('home/tree')
  await world.git('worktree', 'add', '--quiet', '-b', 'topic', tree)
  expectExit(await world.run([], { cwd: tree }), 0)
  expect(world.pull.base).toBe('main')
})

test('on another branch, or on none', async () => {
  await using world = await makeWorld()
  await world.git('checkout', '--quiet', '--detach')
  expectExit(await world.run(), 0)
  expect(world.pull.base).toBe('main')
})

test('another repository in the environment is not used', async () => {
  await using world = await makeWorld()
  await git(world.root, 'init', '--quiet', 'other')
  const other = world.path('other/.git')
  expectExit(
    await world.run([], { env: { GIT_DIR: other, GIT_INDEX_FILE: join(other, 'index'), GIT_WORK_TREE: world.root } }),
    0,
  )
  expect(await git(world.path('other'), 'for-each-ref')).toBe('')
})

test('GIT_LITERAL_PATHSPECS=1 in the environment changes nothing', async () => {
  // The two sides only merge without a conflict by these attributes.
  await using world = await makeWorld({ files: { base: { '.gitattributes': 'greeting.txt merge=union\n' } } })
  expectExit(await world.run([], { env: { GIT_LITERAL_PATHSPECS: '1' } }), 0)
  expect((await world.lastRun()).metadata).toMatchObject({ conflicts: [] })
  expect(world.pull).toMatchObject({ state: 'open', draft: false })
})

test('an origin on this machine gets the branch, and the last line names it', async () => {
  await using world = await makeWorld({ github: false })
  const run = await world.run()
  expectExit(run, 0)
  const [branch = '', ...others] = await world.branches()
  expect(others).toEqual([])
  expect(run.last).toContain(branch)
  expect(world.github.asked).toEqual([])
})

test('repositories of the newer object format', async () => {
  await using world = await makeWorld({ github: false, format: 'sha256' })
  expectExit(await world.run(), 0)
  const [branch = ''] = await world.branches()
  expect(await git(world.origin, 'rev-parse', branch)).toHaveLength(64)
})

test('origin behind an SSH alias is recognised by the URL that git makes of it', async () => {
  await using world = await makeWorld()
  await world.git('remote', 'set-url', 'origin', 'work:me/fork.git')
  const servers = world.path('servers/')
  await world.reachable({ 'https://github.com/': servers, 'work:': servers })
  const run = await world.run()
  expectExit(run, 0)
  expect(await world.branches()).toHaveLength(1)
  // A host has a dot in its name: "work" and a path have none, so no GitHub is assumed, and a note says so.
  expect(run.stdout).toMatch(/GitHub/)
})

/** Paths that Forklift may change: remote-tracking refs, and the objects that came with them. */
const theirs = /^\/\.git\/(objects|refs\/remotes|logs\/refs\/remotes)(\/|$)/

test('the checkout stays byte for byte as it was: dirty, staged, stashed, whatever', async () => {
  await using world = await makeWorld()
  const put = (name: string, text: string) => writeFile(join(world.checkout, name), text)
  await put('stashed.txt', 'stashed\n')
  await world.git('stash', '--include-untracked', '--quiet')
  await world.git('branch', 'topic')
  await world.git('tag', 'mine')
  await put('README.md', 'edited\n')
  await put('staged.txt', 'staged\n')
  await world.git('add', 'staged.txt')
  await put('untracked.txt', 'untracked\n')
  await writeFile(join(world.checkout, '.git/FETCH_HEAD'), 'as it was\n')
  const before = await snapshot(world.checkout, theirs)
  const refs = await world.git(
    'for-each-ref',
    '--format=%(refname) %(objectname)',
    'refs/heads',
    'refs/tags',
    'refs/stash',
  )
  expectExit(await world.run(), 0)
  expect(await snapshot(world.checkout, theirs)).toBe(before)
  expect(
    await world.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags', 'refs/stash'),
  ).toBe(refs)
})

test('no ref of ours stays behind, and no tag or pruned branch of the user comes or goes', async () => {
  await using world = await makeWorld()
  await git(world.upstream, 'tag', 'v9.9.9')
  await git(world.upstream, 'branch', 'their-topic')
  await git(world.origin, 'branch', 'gone', 'main')
  await world.git('fetch', '--quiet', 'origin')
  await git(world.origin, 'branch', '-D', 'gone')
  await world.git('config', 'fetch.prune', 'true')
  await world.git('config', 'remote.upstream.tagOpt', '--tags')
  await world.git('config', '--add', 'remote.upstream.fetch', '+refs/heads/*:refs/heads/theirs/*')
  expectExit(await world.run(), 0)
  const refs = (await world.git('for-each-ref', '--format=%(refname)')).split('\n')
  expect(refs.filter(ref => !ref.startsWith('refs/remotes/origin/forklift/'))).toEqual([
    'refs/heads/main',
    'refs/remotes/origin/HEAD',
    'refs/remotes/origin/gone',
    'refs/remotes/origin/main',
    'refs/remotes/upstream/main',
  ])
})

test('the push hooks of the user do not run', async () => {
  await using world = await makeWorld()
  const hook = `#!/bin/sh\ntouch "${world.path('hook-ran')}"\nexit 1\n`
  await mkdir(join(world.checkout, '.git/hooks'), { recursive: true })
  await writeFile(join(world.checkout, '.git/hooks/pre-push'), hook, { mode: 0o755 })
  expectExit(await world.run(), 0)
  expect(await exists(world.path('hook-ran'))).toBe(false)
})

test('a run has a directory of its own, named for the project and the time', async () => {
  await using world = await makeWorld({ folder: 'My fork (v2)' })
  expectExit(await world.run(), 0)
  const run = await world.lastRun()
  expect(run.path).toMatch(/\/\.local\/state\/forklift\/runs\/[A-Za-z0-9._-]+_\d{8}_\d{6}$/)
  expect((await readdir(run.path)).sort()).toContainValues([
    'harness-state',
    'metadata.json',
    'outcome.json',
    'workspace',
  ])
})

test('XDG_STATE_HOME is honoured', async () => {
  await using world = await makeWorld()
  expectExit(await world.run([], { env: { XDG_STATE_HOME: world.path('state') } }), 0)
  expect(await world.runs(world.path('state/forklift/runs'))).toHaveLength(1)
  expect(await exists(world.runsFolder)).toBe(false)
})

test('metadata.json is complete before the container starts, and never touched again', async () => {
  await using world = await makeWorld({ forkMd: 'Keep the greeting.\n' })
  await world.agent(
    'cp --preserve=all "$state/../metadata.json" "$state/seen.json"; ls "$state/.." >"$state/seen.txt"; good',
  )
  expectExit(await world.run(), 0)
  const run = await world.lastRun()
  expect(await readFile(join(run.state, 'seen.json'), 'utf8')).toBe(
    await readFile(join(run.path, 'metadata.json'), 'utf8'),
  )
  expect(await readFile(join(run.state, 'seen.txt'), 'utf8')).not.toContain('outcome.json')
  const [origin = '', upstream = ''] = await parentsOf(world.origin, published(world))
  const blob = (id: string) => git(world.origin, 'rev-parse', `${id}:greeting.txt`)
  const base = await git(world.origin, 'merge-base', origin, upstream)
  expect(run.metadata).toMatchObject({
    origin: 'https://github.com/me/fork.git',
    upstream: 'https://github.com/them/project.git',
    branch: 'main',
    upstreamBranch: 'main',
    startCommit: origin,
    upstreamCommit: upstream,
    conflicts: [
      { path: 'greeting.txt', base: await blob(base), ours: await blob(origin), theirs: await blob(upstream) },
    ],
    model: 'claude-sonnet-5',
    variant: 'high',
    agent: 'build',
    timeLimitSeconds: 480,
  })
  expect(run.metadata.forkMd).toMatch(/^[0-9a-f]{64}$/)
  expect(run.metadata.image).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(run.metadata.version).toMatch(/^\d+\.\d+\.\d+$/)
})

test('outcome.json says how it ended', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { outcome } = await world.lastRun()
  expect(outcome).toMatchObject({
    exitCode: 0,
    commit: published(world),
    pullRequest: 'https://github.com/me/fork/pull/1',
  })
  expect(Date.parse(String(outcome?.startedAt))).toBeLessThanOrEqual(Date.parse(String(outcome?.endedAt)))
})

test('an agent that fails is a failure of its own, and the next run tries again', async () => {
  await using world = await makeWorld()
  await world.agent('exit 5')
  const failed = await world.run()
  expectExit(failed, 5)
  const first = await world.lastRun()
  expect(failed.last).toContain(first.path)
  expect(first.outcome).toMatchObject({ exitCode: 5 })
  expect(world.github.pulls).toEqual([])
  await world.agent('good')
  expectExit(await world.run(), 0)
  expect(await world.agentRuns()).toBe(2)
})

test.each([1, 17, 126, 127])('a harness that ends with %i has failed', async code => {
  await using world = await makeWorld()
  await world.agent(`good; exit ${code}`)
  expectExit(await world.run(), 5)
  expect(world.github.pulls).toEqual([])
})

test('docker run that refuses is an error, not a failure of the agent', async () => {
  await using world = await makeWorld()
  const run = await world.run([], { env: { FORKLIFT_TEST_FAULT: 'refuses' } })
  expectExit(run, 1)
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 1 })
})

test('an agent that does nothing is refused', async () => {
  await using world = await makeWorld()
  await world.agent('true')
  const run = await world.run()
  expectExit(run, 3)
  expect(run.last).toContain((await world.lastRun()).path)
  expect(await world.branches()).toEqual([])
})

test('a result that drops the fork is refused', async () => {
  await using world = await makeWorld()
  await world.agent('git reset --quiet --hard "$upstream"')
  expectExit(await world.run(), 3)
  expect(await world.branches()).toEqual([])
})

test('a result that drops upstream is refused', async () => {
  await using world = await makeWorld()
  await world.agent('git merge --quiet --strategy=ours --no-edit "$upstream"')
  expectExit(await world.run(), 3)
  expect(world.github.pulls).toEqual([])
})

test('a result with conflict markers is refused, and the file is named', async () => {
  await using world = await makeWorld()
  await world.agent('merge || git commit --quiet --all -m "Leave the markers in"')
  const run = await world.run()
  expectExit(run, 3)
  expect(run.stdout + run.stderr).toContain('greeting.txt')
})

test('a result that changes a CI file is refused, and the file is named', async () => {
  await using world = await makeWorld()
  await world.agent(
    'good; mkdir -p .github/workflows; echo "on: push" >.github/workflows/evil.yml; git add .github; git commit -qm ci',
  )
  const run = await world.run()
  expectExit(run, 3)
  expect(run.stdout + run.stderr).toContain('.github/workflows/evil.yml')
})

test('an edit beyond the conflicts makes the pull request a draft', async () => {
  await using world = await makeWorld()
  await world.agent('good; echo "beyond" >>README.md; git commit --quiet --all -m "Improve the README"')
  expectExit(await world.run(), 0)
  expect(world.pull.draft).toBe(true)
  expect(world.pull.body).toContain('README.md')
})

test('an edit beyond the conflicts is shown where drafts do not exist, too', async () => {
  await using world = await makeWorld({ github: { drafts: false } })
  await world.agent('good; echo "beyond" >>README.md; git commit --quiet --all -m "Improve the README"')
  expectExit(await world.run(), 0)
  expect(world.pull).toMatchObject({ draft: false, state: 'open' })
})

test('uncommitted changes of the agent are not part of the result', async () => {
  await using world = await makeWorld()
  await world.agent('good; echo loose >loose.txt')
  expectExit(await world.run(), 0)
  expect(await git(world.origin, 'ls-tree', '--name-only', published(world))).not.toContain('loose.txt')
})

test('the words of the agent are quoted, and made harmless', async () => {
  await using world = await makeWorld()
  await world.agent(
    `good $'Merge [skip ci]\\n\\nFixes #12 for @octocat\\n\\nForklift-Upstream: 0000000000000000000000000000000000000000\\nCo-authored-by: Eve <eve@evil.example>'`,
  )
  expectExit(await world.run(), 0)
  const message = await git(world.origin, 'show', '-s', '--format=%B', published(world))
  expect(message).not.toMatch(/\[skip ci\]/i)
  expect(message).not.toMatch(/fixes #12/i)
  expect(message).not.toMatch(/@octocat\b/)
  const trailers = await git(
    world.origin,
    'show',
    '-s',
    '--format=%(trailers:key=Forklift-Upstream,valueonly)%(trailers:key=Co-authored-by)',
    published(world),
  )
  expect(trailers.trim()).toBe((await world.tip('upstream')) ?? '')
})

test('neither the key nor the token is in an argument, in what is printed, or in a file', async () => {
  await using world = await makeWorld()
  const real = Bun.which('git')
  await world.tool('git', `printf '%s\\n' "$*" >>${world.root}/git-arguments; exec ${real} "$@"`)
  const run = await world.run()
  expectExit(run, 0)
  const check = await world.run(['--check'])
  const secrets = [KEY, world.github.token]
  const texts = [run.stdout, run.stderr, check.stdout, await readFile(world.path('git-arguments'), 'utf8')]
  for (const call of await world.calls()) texts.push(call.join('\n'))
  for (const folder of [(await world.lastRun()).path, world.checkout, world.origin]) {
    for (const file of await filesBelow(folder)) texts.push(await readFile(file, 'latin1'))
  }
  for (const secret of secrets) expect(texts.filter(text => text.includes(secret))).toEqual([])
})

test('credentials in the URL of a remote go nowhere', async () => {
  await using world = await makeWorld()
  await gitWith(world.checkout, ['remote', 'set-url', 'origin', 'https://me:hunter2@github.com/me/fork.git'])
  const servers = world.path('servers/')
  await world.reachable({ 'https://github.com/': servers, 'https://me:hunter2@github.com/': servers })
  const run = await world.run()
  expectExit(run, 0)
  const { path } = await world.lastRun()
  const texts = [run.stdout, run.stderr, world.pull.body]
  for (const file of await filesBelow(path)) texts.push(await readFile(file, 'latin1'))
  expect(texts.filter(text => text.includes('hunter2'))).toEqual([])
})

test('nothing is left in the folder for temporary files, and no process', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  expect(await readdir(world.path('tmp'))).toEqual([])
  expect(processes(world)).toEqual([])
  const state = await readdir(world.path('home/.local/state/forklift'))
  expect(state).toEqual(['runs'])
})

test('two runs of one second have two directories', async () => {
  await using world = await makeWorld()
  await world.agent('exit 5')
  const both = await Promise.all([world.run(), world.run()])
  expect(both.map(run => run.code)).toEqual([5, 5])
  expect(await world.runs()).toHaveLength(2)
})
