/**
 * Faults during a run: it is killed at any moment, or there is no disk space, network or docker, or another process
 * holds a lock, or the repository changes. Afterwards the checkout is unchanged, nothing is left behind, and the next
 * run succeeds.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, connect as open } from 'node:net'
import { dirname, join } from 'node:path'
import { serveGit } from '../doubles/git-http.ts'
import { commit, contains, git, tryGit } from '../support/git.ts'
import { hurry } from '../support/injector.ts'
import { AT_WORK, letTheAgentGo, untilTheAgentWorks, waitingAgent } from '../support/moments.ts'
import { untilAllHasEnded } from '../support/processes.ts'
import { DOCKER, exists, expectExit, makeWorld, PROJECT, until, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** The parts of the user's repository that Forklift must never change. */
async function belongings(world: World): Promise<string[]> {
  const refs = (await git(world.checkout, 'for-each-ref')).split('\n')
  return [
    ...refs.filter(line => !/\trefs\/remotes\/(origin|upstream)\//.test(line)),
    await git(world.checkout, 'status', '--porcelain', '--branch', '--untracked-files=all'),
    await git(world.checkout, 'symbolic-ref', 'HEAD'),
    await readFile(join(world.checkout, '.git/config'), 'utf8'),
  ].map(text => text.replace(/ \[.*\]$/m, ''))
}

/** Waits until all processes have ended, and checks that they left nothing behind. */
async function nothingIsLeft(world: World, before: string[]): Promise<void> {
  await untilAllHasEnded(world)
  expect(await world.containers()).toEqual([])
  expect(await belongings(world)).toEqual(before)
  const { code, stdout, stderr } = await tryGit(world.checkout, ['fsck', '--full', '--no-dangling', '--no-progress'])
  expect([code, stdout + stderr]).toEqual([0, ''])
  const locks = (await readdir(join(world.checkout, '.git'), { recursive: true })).filter(name => /\.lock$/.test(name))
  expect(locks).toEqual([])
}

/** The next run finishes the work: one pull request with upstream's newest commit, and nothing left behind. */
async function theNextRunWorks(world: World, before: string[]): Promise<void> {
  expectExit(await world.run(), 0)
  await nothingIsLeft(world, before)
  await world.github.settle()
  const open = world.github.pulls.filter(pull => pull.state === 'open')
  expect(open.map(pull => pull.head)).toEqual(await world.branches())
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', open[0]?.headSha ?? '')).toBe(true)
  const state = await readdir(dirname(world.runsFolder))
  expect(state.filter(name => name.startsWith('scratch-'))).toEqual([])
  expect(await readdir(world.path('tmp'))).toEqual([])
}

async function thenThereIsNothingToDo(world: World): Promise<void> {
  const quiet = await world.run()
  expect([quiet.code, quiet.stdout + quiet.stderr]).toEqual([0, ''])
}

/**
 * Kills Forklift when it starts a command that matches `fits`. The command itself then runs (`goes on`), or not
 * (`stops`).
 */
async function killAt(world: World, tool: 'git' | 'docker', fits: string, then: 'goes on' | 'stops'): Promise<void> {
  const real = tool === 'git' ? Bun.which('git') : DOCKER
  await world.tool(
    tool,
    `case " $* " in ${fits})
      if mkdir '${world.path('killed')}' 2>/dev/null; then
        pid=$$
        while [ "$pid" -gt 1 ] && ! grep -qaF forklift.ts "/proc/$pid/cmdline"; do
          pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
        done
        [ "$pid" -le 1 ] || kill -KILL "$pid"
        ${then === 'stops' ? 'exit 1' : ''}
      fi ;;
    esac
    exec ${real} "$@"`,
  )
}

const KILLED = 137

/**
 * Each row: a step of a run, and the command (a tool and a pattern) that belongs to it, before or after which Forklift
 * is killed.
 */
test.concurrent.each([
  ['looks around', 'docker', "*' info '*", 'goes on'],
  ['asks the remotes', 'git', "*' ls-remote '*", 'goes on'],
  ['fetches', 'git', "*' fetch '*'refs/remotes/upstream/'*", 'goes on'],
  ['looks for the merge base', 'git', "*' merge-base '*", 'stops'],
  ['makes the workspace', 'git', "*' init '*", 'goes on'],
  ['merges for a try', 'git', "*' merge-tree '*", 'stops'],
  ['copies the objects', 'git', "*' pack-objects '*", 'goes on'],
  ['checks the files out', 'git', "*' checkout '*' --force '*", 'goes on'],
  ['starts the container', 'docker', "*' run '*", 'goes on'],
  ['is about to start the container', 'docker', "*' run '*", 'stops'],
  ['reads the result', 'git', "*' fetch '*'refs/heads/result'*", 'goes on'],
  ['judges', 'git', "*' diff-tree '*", 'stops'],
  ['makes the commit', 'git', "*' unpack-objects '*", 'goes on'],
  ['is about to push', 'git', "*' push '*", 'stops'],
  ['pushes', 'git', "*' push '*", 'goes on'],
] as const)('killed outright when it %s: the next run finishes it', async (_, tool, fits, then) => {
  await using world = await makeWorld()
  await hurry(world)
  const before = await belongings(world)
  await killAt(world, tool, fits, then)
  const killed = await world.run()
  expectExit(killed, KILLED)
  expect(await exists(world.path('killed'))).toBe(true)
  await nothingIsLeft(world, before)
  await rm(world.path('bin', tool))
  await world.tool(tool, `exec ${tool === 'git' ? Bun.which('git') : DOCKER} "$@"`)
  const finished = (await world.runs()).some(run => Bun.file(join(run.path, 'agent.json')).size > 0)
  const paid = await world.agentRuns()
  await theNextRunWorks(world, before)
  // An agent is not paid again for a result that exists.
  if (finished) expect(await world.agentRuns()).toBe(paid)
})

test.concurrent.each(['before', 'after'] as const)(
  'killed outright %s GitHub makes the pull request: the next run has it, once',
  async when => {
    await using world = await makeWorld()
    const before = await belongings(world)
    const started = world.start()
    const kill = async () => {
      started.child.kill('SIGKILL')
      await started.child.exited
    }
    if (when === 'before') world.github.fail({ method: 'POST', path: /pulls$/, times: 1, meanwhile: kill, cut: true })
    else world.github.fail({ method: 'POST', path: /pulls$/, times: 1, meanwhile: kill })
    await started.ended
    await nothingIsLeft(world, before)
    await theNextRunWorks(world, before)
    await thenThereIsNothingToDo(world)
    expect(world.github.pulls).toHaveLength(1)
    expect(await world.agentRuns()).toBe(1)
  },
)

test.concurrent('killed outright while the agent works: the container ends, the next run works', async () => {
  await using world = await makeWorld()
  await hurry(world)
  const before = await belongings(world)
  await world.agent(`${AT_WORK}; sleep 300`)
  const started = world.start()
  await untilTheAgentWorks(world)
  started.child.kill('SIGKILL')
  await started.ended
  await nothingIsLeft(world, before)
  await world.agent('good')
  await theNextRunWorks(world, before)
})

/** Mounts a small file system, as only root can; elsewhere another test covers a full disk. */
async function mounted(place: string, options: string): Promise<AsyncDisposable | undefined> {
  await mkdir(place, { recursive: true })
  if (process.getuid?.() !== 0) return undefined
  const mount = Bun.spawn(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', place], {
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  if ((await mount.exited) !== 0) return undefined
  return { [Symbol.asyncDispose]: async () => void (await Bun.spawn(['umount', '--lazy', place]).exited) }
}

const RANDOM = Buffer.from(crypto.getRandomValues(new Uint8Array(48_000))).toString('base64')
const BIG = { base: { 'big.txt': RANDOM.replace(/.{76}/g, '$&\n') } }

test('a state folder that is read-only is named, and the next run works', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  const state = dirname(world.runsFolder)
  {
    await using mount = await mounted(state, 'ro,size=64k')
    if (!mount) await Bun.spawn(['chmod', '0555', state]).exited
    const failed = await world.run()
    expectExit(failed, 1)
    expect(failed.last).toContain(state)
    expect(failed.last).not.toContain('not expected')
    await nothingIsLeft(world, before)
  }
  await Bun.spawn(['chmod', '0755', state]).exited
  await theNextRunWorks(world, before)
})

test('a full disk under the state folder is named, and the next run works', async () => {
  await using world = await makeWorld({ files: BIG })
  const before = await belongings(world)
  const state = dirname(world.runsFolder)
  {
    await using mount = await mounted(state, 'size=96k')
    if (mount) {
      const failed = await world.run()
      expectExit(failed, 1)
      expect(failed.last).toMatch(/Less than 2 GiB are left where runs are kept/)
      await nothingIsLeft(world, before)
    }
  }
  await theNextRunWorks(world, before)
})

test('files that may not grow end the run, and the next run works', async () => {
  await using world = await makeWorld({ files: BIG })
  const before = await belongings(world)
  await world.tool('forklift-with-a-quota', `ulimit -f 32; exec '${join(PROJECT, 'forklift.ts')}' "$@"`)
  const failed = await world.run([], { as: world.path('bin/forklift-with-a-quota') })
  expectExit(failed, 1)
  await nothingIsLeft(world, before)
  await theNextRunWorks(world, before)
})

test('a run directory that exists already is another run’s', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  const two = (value: number) => String(value).padStart(2, '0')
  const stamp = (date: Date) =>
    `${date.getUTCFullYear()}${two(date.getUTCMonth() + 1)}${two(date.getUTCDate())}_${two(date.getUTCHours())}${two(date.getUTCMinutes())}${two(date.getUTCSeconds())}`
  const taken = [0, 1, 2].map(seconds => join(world.runsFolder, `fork_${stamp(new Date(Date.now() + seconds * 1000))}`))
  for (const path of taken) await mkdir(path, { recursive: true })
  await theNextRunWorks(world, before)
  for (const path of taken) expect(await readdir(path)).toEqual([])
})

test('lock files left behind in .git are no matter where Forklift does not write', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  const locks = ['index.lock', 'packed-refs.lock', 'config.lock', 'HEAD.lock'].map(name =>
    join(world.checkout, '.git', name),
  )
  for (const lock of locks) await writeFile(lock, '')
  expectExit(await world.run(), 0)
  for (const lock of locks) await rm(lock)
  await nothingIsLeft(world, before)
  expect(world.pull.state).toBe('open')
})

test('a lock file left behind on the branch of upstream is named, and once it is gone the next run works', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  const lock = join(world.checkout, '.git/refs/remotes/upstream/main.lock')
  await mkdir(dirname(lock), { recursive: true })
  await writeFile(lock, '')
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.last).toContain('main.lock')
  await rm(lock)
  await nothingIsLeft(world, before)
  await theNextRunWorks(world, before)
})

/**
 * A connection that is cut at the nth matching request, before the request arrives or at its answer, until it is
 * repaired.
 */
async function wire(target: string, request: RegExp, nth: number, side: 'asked' | 'answered') {
  let [seen, isMended] = [0, false]
  const server = createServer(client => {
    let isCut = false
    const service = open(Number(new URL(target).port), '127.0.0.1')
    client.on('data', bytes => {
      if (request.test(bytes.toString('latin1'))) isCut = ++seen >= nth && !isMended
      if (isCut && side === 'asked') client.destroy()
      else service.write(bytes)
    })
    service.on('data', bytes => {
      if (isCut) client.destroy()
      else client.write(bytes)
    })
    client.on('error', () => client.destroy())
    client.on('close', () => service.destroy())
    service.on('error', () => client.destroy())
    service.on('end', () => client.end())
  })
  const ready = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', ready.resolve)
  await ready.promise
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const mend = () => {
    isMended = true
  }
  return { url: `http://127.0.0.1:${port}`, mend, [Symbol.asyncDispose]: async () => void server.close() }
}

// When fetching, the third POST is cut: a fetch lists the branches again before it fetches commits.
test.concurrent.each([
  ['asking a remote', /^GET \/them.*git-upload-pack/, 1, 'asked', /upstream .*does not answer/],
  ['fetching', /^POST \/them.*git-upload-pack/, 3, 'answered', /upstream could not be fetched/],
  ['asking whether it may push', /^GET \/me.*git-receive-pack/, 1, 'answered', /push/],
  ['pushing', /^POST \/me.*git-receive-pack/, 1, 'asked', /push/],
  ['pushing, after the branch has arrived', /^POST \/me.*git-receive-pack/, 1, 'answered', /push|meanwhile/],
] as const)('the network is cut while %s: it is said, and the next run works', async (_, request, nth, side, words) => {
  await using world = await makeWorld()
  const before = await belongings(world)
  await using server = serveGit(world.path('servers'))
  await using cut = await wire(server.url, request, nth, side)
  await world.reachable({ 'https://github.com/': `${cut.url}/` })
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.last).toMatch(words)
  cut.mend()
  await nothingIsLeft(world, before)
  await theNextRunWorks(world, before)
  await thenThereIsNothingToDo(world)
  expect(await world.agentRuns()).toBe(1)
})

test.concurrent.each([
  ['GET', /\/repos\/me\/fork$/],
  ['GET', /\/pulls$/],
  ['POST', /\/pulls$/],
] as const)('the network to GitHub is cut at %s %p: it is said, and the next run works', async (method, path) => {
  await using world = await makeWorld()
  const before = await belongings(world)
  world.github.fail({ method, path, cut: true, times: 99 })
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.last).toMatch(/GitHub|127\.0\.0\.1/)
  world.github.faults.length = 0
  await nothingIsLeft(world, before)
  await theNextRunWorks(world, before)
  expect(await world.agentRuns()).toBe(1)
})

test('an engine that stops between the checks and the container is reported, and the next run works', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  const words = 'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.'
  await world.tool('docker', `case $1 in run|rm|stop) echo "${words}" >&2; exit 125 ;; esac; exec '${DOCKER}' "$@"`)
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.last).toContain('Cannot connect to the Docker daemon')
  await nothingIsLeft(world, before)
  await world.tool('docker', `exec '${DOCKER}' "$@"`)
  await theNextRunWorks(world, before)
})

test('an engine that is restarted while the agent works takes the container along: exit 5, and the next run works', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  await world.agent('kill -KILL $$')
  expectExit(await world.run(), 5)
  await nothingIsLeft(world, before)
  await world.agent('good')
  await theNextRunWorks(world, before)
})

test('origin is force-pushed while the agent works: what was pushed stays, and the next run makes it right', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  const root = await git(world.origin, 'rev-list', '--max-parents=0', 'main')
  const files = { 'greeting.txt': 'hello from a rewritten fork\n', 'fork.txt': 'rewritten\n' }
  const rewritten = await commit(world.origin, 'rewritten', files, { parents: [root], message: 'Make it ours, again' })
  await git(world.origin, 'branch', '-D', 'rewritten')
  await world.agent(`good; git --git-dir='${world.origin}' update-ref refs/heads/main ${rewritten}`)
  const first = await world.run()
  expect([0, 1]).toContain(first.code)
  await nothingIsLeft(world, before)
  await world.agent('good')
  expectExit(await world.run(), 0)
  await nothingIsLeft(world, before)
  expect(await world.tip('origin')).toBe(rewritten)
  await world.github.settle()
  const newest = world.github.pulls.filter(pull => pull.state === 'open').at(-1)
  for (const tip of [rewritten, (await world.tip('upstream')) ?? ''])
    expect(await contains(world.origin, tip, newest?.headSha ?? '')).toBe(true)
})

test('upstream rewrites its history: the next run brings the new one', async () => {
  await using world = await makeWorld()
  const before = await belongings(world)
  expectExit(await world.run(), 0)
  const root = await git(world.upstream, 'rev-list', '--max-parents=0', 'main')
  const files = { 'greeting.txt': 'hello from a rewritten upstream\n', 'rewritten.txt': 'new\n' }
  const rewritten = await commit(world.upstream, 'main', files, { parents: [root], message: 'Bring other news' })
  expectExit(await world.run(), 0)
  await nothingIsLeft(world, before)
  await world.github.settle()
  const newest = world.github.pulls.filter(pull => pull.state === 'open').at(-1)
  expect(await contains(world.origin, rewritten, newest?.headSha ?? '')).toBe(true)
  await thenThereIsNothingToDo(world)
})

test('two runs at once, one of them killed outright: the other one is not disturbed', async () => {
  await using world = await makeWorld()
  await hurry(world)
  const before = await belongings(world)
  await world.agent(waitingAgent(world))
  const [killed, other] = [world.start(), world.start()]
  await until('both agents work', async () => (await world.containers()).length === 2)
  killed.child.kill('SIGKILL')
  await killed.ended
  await until('the container of the killed one is gone', async () => (await world.containers()).length === 1)
  await letTheAgentGo(world)
  expectExit(await other.ended, 0)
  await nothingIsLeft(world, before)
  expect(world.pull.state).toBe('open')
  await theNextRunWorks(world, before)
})

test('a clock that was set back: runs with later dates are still found, nothing is paid for twice', async () => {
  await using world = await makeWorld()
  await world.agent('echo "Which greeting?" >STUCK.md')
  expectExit(await world.run(), 4)
  const [run] = await world.runs()
  const future = run?.path.replace(/_\d{8}_/, '_20991231_') ?? ''
  await rename(run?.path ?? '', future)
  await world.agent('good')
  const again = await world.run()
  expectExit(again, 4)
  expect(again.last).toContain(future)
  expect(await world.agentRuns()).toBe(1)
  // The next run also works with a commit of upstream that has a date in the future.
  await world.push('upstream', { 'greeting.txt': 'hello from 2099\n' }, { when: Date.UTC(2099, 0) / 1000 })
  await theNextRunWorks(world, await belongings(world))
  await thenThereIsNothingToDo(world)
  expect(world.github.pulls).toHaveLength(1)
})
