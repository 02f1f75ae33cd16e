/**
 * Problems that are found before a run: each gets a sentence with its remedy, before anything is written or paid for.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeUser } from '../../forklift/preflight.ts'
import { git, tryGit } from '../support/git.ts'
import { type Ended, exists, expectExit, makeWorld, type RunOptions, snapshot, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** The last line of a run that preflight stopped. */
async function stopped(world: World, options: RunOptions = {}): Promise<string> {
  const run = await world.run([], options)
  expectExit(run, 1)
  expect(run.stderr).not.toMatch(/^\s+at /m)
  expect(await world.agentRuns()).toBe(0)
  expect(await exists(world.runsFolder)).toBe(false)
  expect(await world.branches()).toEqual([])
  expect(world.github.requests('POST')).toEqual([])
  return run.last
}

test('outside a git repository', async () => {
  await using world = await makeWorld()
  await mkdir(world.path('elsewhere'))
  expect(await stopped(world, { cwd: world.path('elsewhere') })).toMatch(/not .*git repository/i)
})

test('a shallow clone', async () => {
  await using world = await makeWorld()
  const shallow = world.path('home/shallow')
  await git(world.root, 'clone', '--quiet', '--depth=1', `file://${world.origin}`, shallow)
  await git(shallow, 'remote', 'set-url', 'origin', 'https://github.com/me/fork.git')
  await git(shallow, 'remote', 'add', 'upstream', 'https://github.com/them/project.git')
  expect(await stopped(world, { cwd: shallow })).toContain('git fetch --unshallow')
})

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
  expect(run.stdout + run.stderr).not.toMatch(/^\s+at |EPIPE/m)
  expect(run.last).toMatch(/partial clone.*full clone/)
  expect(await world.agentRuns()).toBe(0)
  expect(await exists(world.runsFolder)).toBe(false)
})

test('a git that is too old', async () => {
  await using world = await makeWorld()
  const real = Bun.which('git')
  await world.tool('git', `case "$*" in *version*) echo git version 2.37.1 ;; *) exec ${real} "$@" ;; esac`)
  expect(await stopped(world)).toContain('2.38')
})

test.each(['origin', 'upstream'])('no remote %s', async name => {
  await using world = await makeWorld()
  await world.git('remote', 'remove', name)
  expect(await stopped(world)).toContain(`git remote add ${name}`)
})

test('origin and upstream are the same', async () => {
  await using world = await makeWorld()
  await world.reachable({ 'https://github.com/': world.path('servers/'), 'git@github.com:': world.path('servers/') })
  await world.git('remote', 'set-url', 'upstream', 'git@github.com:me/fork')
  expect(await stopped(world)).toMatch(/origin and upstream|the same/i)
})

test('origin pushes to two places', async () => {
  await using world = await makeWorld()
  await world.git('remote', 'set-url', '--push', 'origin', 'https://github.com/me/fork.git')
  await world.git('remote', 'set-url', '--push', '--add', 'origin', 'https://github.com/me/mirror.git')
  expect(await stopped(world)).toMatch(/push/i)
})

test('origin pushes elsewhere', async () => {
  await using world = await makeWorld()
  await world.git('remote', 'set-url', '--push', 'origin', 'https://github.com/me/mirror.git')
  expect(await stopped(world)).toMatch(/push/i)
})

/** A PATH without one program, in whichever folder it is. */
async function pathWithout(world: World, program: string): Promise<string> {
  const folders: string[] = []
  for (const [at, folder] of (world.env.PATH ?? '').split(':').entries()) {
    const names = await readdir(folder).catch(() => [] as string[])
    if (!names.includes(program)) {
      folders.push(folder)
      continue
    }
    const shadow = world.path(`shadow-${at}`)
    await mkdir(shadow)
    await Promise.all(
      names.filter(name => name !== program).map(name => symlink(join(folder, name), join(shadow, name))),
    )
    folders.push(shadow)
  }
  return folders.join(':')
}

test('docker is not installed', async () => {
  await using world = await makeWorld()
  expect(await stopped(world, { env: { PATH: await pathWithout(world, 'docker') } })).toMatch(
    /install.*docker|docker.*install/i,
  )
})

const NO_ENGINE =
  /The docker engine does not answer \(Cannot connect to the Docker daemon at unix:\/\/\S+ Is the docker daemon running\?\): start it/

test.each([
  ['the docker engine does not answer', 'down', NO_ENGINE],
  ['the docker engine does not answer a client of Docker 23', 'down-23', NO_ENGINE],
  ['the docker engine does not answer a client of Docker 20.10', 'down-20', NO_ENGINE],
  ['the docker engine is not ours to use', 'denied', /docker.*group/i],
  ['the docker engine is not ours to use with a client of Docker 20.10', 'denied-20', /docker.*group/i],
  ['a rootless docker engine', 'rootless', /rootless/i],
  ['a docker engine that maps users', 'userns', /userns|uid|users/i],
  ['the image is missing', 'no-image', /make image/],
])('%s', async (_, fault, sentence) => {
  await using world = await makeWorld()
  expect(await stopped(world, { env: { FORKLIFT_TEST_FAULT: fault } })).toMatch(sentence)
  expect((await world.calls()).some(call => call.includes('pull'))).toBe(false)
})

test('a warning of docker is not taken for the reason', async () => {
  await using world = await makeWorld()
  const warning = 'WARNING: Error loading config file: open /home/me/.docker/config.json: permission denied'
  await world.tool('docker', `echo '${warning}' >&2; echo null; echo 'Cannot connect to the daemon' >&2; exit 1`)
  expect(await stopped(world)).toContain('does not answer (Cannot connect to the daemon)')
})

test('no token for GitHub', async () => {
  await using world = await makeWorld()
  const told = await stopped(world, { env: { GH_TOKEN: undefined } })
  expect(told).toContain('GH_TOKEN')
  expect(told).toContain('gh auth login')
})

test('an empty password of a credential helper is no token', async () => {
  await using world = await makeWorld()
  await world.git('config', '--global', 'credential.helper', '!printf "username=me\\npassword=\\n"; :', {
    cwd: world.home,
  })
  expect(await stopped(world, { env: { GH_TOKEN: undefined } })).toContain('GH_TOKEN')
})

test.each([
  [401, 'Bad credentials', /401|expired/i],
  [403, 'Resource protected by organization SAML enforcement', /403/],
  [404, 'Not Found', /404/],
])('GitHub answers %i', async (status, message, sentence) => {
  await using world = await makeWorld()
  world.github.fail({ path: /^\/repos\/me\/fork$/, status, message, times: 9 })
  const told = await stopped(world)
  expect(told).toMatch(sentence)
  expect(told).toMatch(/GH_TOKEN|token/)
})

test('the rate limit is used up', async () => {
  await using world = await makeWorld()
  const reset = String(Math.floor(Date.now() / 1000) + 1800)
  world.github.fail({
    status: 403,
    message: 'API rate limit exceeded',
    times: 9,
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset },
  })
  const told = await stopped(world)
  expect(told).toMatch(/rate limit/i)
  expect(told).toMatch(/30|31/)
})

test.each([
  ['x-ratelimit-reset', 'soon'],
  ['retry-after', 'Infinity'],
  ['retry-after', '99999999999999999999'],
])('the rate limit ends at no time that there is: %s: %s', async (name, value) => {
  await using world = await makeWorld()
  const headers = { 'x-ratelimit-remaining': '0', [name]: value }
  world.github.fail({ status: 403, message: 'API rate limit exceeded', times: 9, headers })
  expect(await stopped(world)).toEndWith('is used up: run forklift again later.')
})

test('GitHub is broken for longer than a moment', async () => {
  await using world = await makeWorld()
  world.github.fail({ path: /^\/repos\/me\/fork$/, status: 502, message: 'Bad Gateway', times: 99 })
  expect(await stopped(world)).toMatch(/502|later/)
})

test('GitHub fails only briefly: the run continues', async () => {
  await using world = await makeWorld({ story: 'clean' })
  world.github.fail({ path: /^\/repos\/me\/fork$/, status: 503, message: 'Unavailable', times: 1 })
  world.github.fail({ method: 'GET', path: /pulls$/, cut: true, times: 1 })
  expectExit(await world.run(), 0)
  expect(world.pull.state).toBe('open')
})

test('an archived repository', async () => {
  await using world = await makeWorld({ github: { archived: true } })
  expect(await stopped(world)).toMatch(/archived/i)
})

test('a token that may not push', async () => {
  await using world = await makeWorld({ github: { push: false } })
  expect(await stopped(world)).toMatch(/push|write/i)
})

test('origin and upstream have each other’s names', async () => {
  await using world = await makeWorld()
  await world.git('remote', 'set-url', 'origin', 'https://github.com/them/project.git')
  await world.git('remote', 'set-url', 'upstream', 'https://github.com/me/fork.git')
  Object.assign(world.github.repositories.get('them/project') ?? {}, { push: true })
  expect(await stopped(world)).toMatch(/swap|rename|other way/i)
})

test('a fork that GitHub does not know as one is fine', async () => {
  await using world = await makeWorld({ story: 'clean' })
  delete world.repository.parent
  expectExit(await world.run(), 0)
})

test('rules that want signed commits are told before the agent is paid for', async () => {
  await using world = await makeWorld({ github: { rules: [{ branch: /./, type: 'required_signatures' }] } })
  expect(await stopped(world)).toMatch(/sign/i)
})

test('rules that forbid new branches are told before the agent is paid for', async () => {
  await using world = await makeWorld({ github: { rules: [{ branch: /^forklift\//, type: 'creation' }] } })
  expect(await stopped(world)).toMatch(/rule|create/i)
})

test('a branch named forklift is in the way', async () => {
  await using world = await makeWorld()
  await git(world.origin, 'branch', 'forklift', 'main')
  expect(await stopped(world)).toMatch(/branch.*forklift|forklift.*branch/i)
})

test('no common ancestor', async () => {
  await using world = await makeWorld({ story: 'unrelated' })
  expect(await stopped(world)).toMatch(/common/i)
})

test.each(['me', 'them'])('the server of %s can’t be reached', async owner => {
  await using world = await makeWorld()
  const [lost, there] = [`https://github.com/${owner}/`, 'https://github.com/']
  await world.reachable({ [there]: world.path('servers/'), [lost]: world.path('nowhere/') })
  expect(await stopped(world)).toContain(owner === 'me' ? 'origin' : 'upstream')
})

const seen = (run: Ended) => run.stdout + run.stderr

test('unpushed commits on the local branch are mentioned', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await writeFile(join(world.checkout, 'local.txt'), 'mine\n')
  await world.git('add', 'local.txt')
  await world.git('commit', '--quiet', '--message', 'Not pushed yet')
  const run = await world.run()
  expectExit(run, 0)
  expect(seen(run)).toMatch(/unpushed|not pushed|not on origin/i)
  expect((await tryGit(world.origin, ['cat-file', '-e', `${world.pull.headSha}:local.txt`])).code).not.toBe(0)
})

test('--check prints a line a check, and changes nothing at all', async () => {
  await using world = await makeWorld()
  const before = await snapshot(world.checkout)
  const run = await world.run(['--check'])
  expectExit(run, 0)
  for (const word of [/git/i, /origin/i, /upstream/i, /docker|engine/i, /image/i, /opencode/i, /token|GH_TOKEN/i]) {
    expect(run.stdout).toMatch(word)
  }
  expect(run.lines.length).toBeGreaterThan(4)
  expect(await world.agentRuns()).toBe(0)
  expect(await exists(world.path('home/.local/state/forklift'))).toBe(false)
  expect(await snapshot(world.checkout)).toBe(before)
  expect(world.github.asked.every(one => one.method === 'GET')).toBe(true)
})

test("--check says that a push runs the fork's CI, and how to stop that", async () => {
  await using world = await makeWorld()
  const run = await world.run(['--check'])
  expectExit(run, 0)
  expect(run.stdout).toMatch(/\bCI\b|Actions|workflow/)
})

test('--check stops where a run would stop', async () => {
  await using world = await makeWorld()
  const run = await world.run(['--check'], { env: { FORKLIFT_TEST_FAULT: 'no-image' } })
  expectExit(run, 1)
  expect(seen(run)).toContain('make image')
})

test('--check says that the folder for runs can’t be written', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('file'), '')
  const run = await world.run(['--check'], { env: { XDG_STATE_HOME: world.path('file/state') } })
  expectExit(run, 1)
  expect(run.stdout + run.stderr).not.toMatch(/^\s+at |EPIPE/m)
  expect(run.stdout).toMatch(/FAILED .*file\/state\/forklift can't be written \(ENOTDIR\)/)
  expect(run.last).toContain("can't be written")
})

test('an image with another harness is worth a note, and the run goes on', async () => {
  await using world = await makeWorld({ story: 'clean' })
  const run = await world.run([], { env: { FORKLIFT_TEST_FAULT: 'old-image' } })
  expectExit(run, 0)
  expect(seen(run)).toContain('make image')
  expect(seen(await world.run(['--check']))).not.toContain('make image')
})

test.each([
  ['a file that is merged', 'origin/main:fork.txt'],
  ['a file of older history', 'origin/main~1:greeting.txt'],
])('a clone that lacks %s: a sentence that says how it is mended, and no run directory', async (_, name) => {
  await using world = await makeWorld()
  await world.push('origin', { 'greeting.txt': 'hello, for a while\n' })
  await world.push('origin', { 'greeting.txt': 'hello from the fork\n' })
  await world.git('fetch', '--quiet', '--all')
  // Loose objects, so that one of them can be deleted.
  const objects = join(world.checkout, '.git/objects')
  for (const pack of (await readdir(join(objects, 'pack'))).filter(it => it.endsWith('.pack'))) {
    const aside = world.path(pack)
    await rename(join(objects, 'pack', pack), aside)
    const child = Bun.spawn(['git', 'unpack-objects', '-q'], { cwd: world.checkout, stdin: Bun.file(aside) })
    expect(await child.exited).toBe(0)
  }
  const oid = await world.git('rev-parse', name)
  await rm(join(objects, oid.slice(0, 2), oid.slice(2)), { force: true })
  const run = await world.run()
  expectExit(run, 1)
  expect(run.last).toMatch(/This clone lacks an object.*git fsck.*git fetch --refetch/)
  expect(run.last).toContain(oid)
  expect(await world.runs()).toEqual([])
  expect(await world.agentRuns()).toBe(0)
})

test("a check says whose kernel limits the agent uses up: as root those of a user of its own, else the person's", () => {
  expect(describeUser(0)).toBe('the agent is user 2100000001 there')
  expect(describeUser(501)).toContain('your user id')
})
