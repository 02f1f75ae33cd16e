/**
 * `make bench`: measures Forklift beside the bare git commands that any such tool must run, on a small and a large
 * repository. Prints a table; nothing passes or fails. All files are in a temporary folder that is removed, and only
 * the machine's own network is used.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { serveGit } from '../test/doubles/git-http.ts'
import { git } from '../test/support/git.ts'
import { FORKLIFT, makeWorld, PROJECT, type World } from '../test/support/world.ts'
import { type Cost, inTurns, type Memory, time, watchMemory } from './measure.ts'
import { fill, type Size } from './repositories.ts'

const SIZES: Size[] = [
  { name: 'small', files: 60, commits: 100, bytesPerFile: 4_000 },
  { name: 'large', files: 50_000, commits: 3_000, bytesPerFile: 7_000 },
]
const QUICK = { rounds: 15, seconds: 10 }
const SLOW = { rounds: 5, seconds: 30 }
/** Milliseconds before the git and GitHub servers answer. */
const DELAY = 50

const rows: string[] = []
const milliseconds = (value: number): string =>
  value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`

/** Adds a row to the table: Forklift's wall-clock time beside that of the bare commands. */
function row(what: string, size: string, forklift: Cost, bare: string, cost: Cost, goal = ''): void {
  const cells = [milliseconds(forklift.wall), bare, milliseconds(cost.wall), (forklift.wall / cost.wall).toFixed(2)]
  rows.push(`| ${[what, size, ...cells, goal].join(' | ')} |`)
}

async function measure(size: Size): Promise<void> {
  console.error(`${size.name}: making a fork of ${size.files} files and ${size.commits} commits`)
  await using world = await makeWorld()
  await fill(world, size)
  const pack = /size-pack: (.*)/.exec(await git(world.checkout, 'count-objects', '-vH'))?.[1]
  console.error(`${size.name}: ${pack} of packs`)
  if (size.name === 'small') await startUp(world)
  console.error(`${size.name}: workspace`)
  await workspace(world, size)
  console.error(`${size.name}: judgement and page`)
  await judgement(world, size)
  await world.agent('good')
  console.error(`${size.name}: a whole run without its agent`)
  await besideTheAgent(world, size)
  console.error(`${size.name}: a whole run, and nothing to do`)
  memory(size, await wholeRun(world))
  await nothingToDo(world, size, 'upstream is in the open pull request')
  await world.github.merge(world.pull.number)
  await nothingToDo(world, size, 'upstream is in origin')
}

async function startUp(world: World): Promise<void> {
  const at = { cwd: world.checkout, env: world.env }
  const { forklift, bun } = await inTurns(QUICK, {
    forklift: () => time([FORKLIFT, '--version'], at),
    bun: () => time(['bun', '--eval', '0'], at),
  })
  row('start-up (`--version`)', 'any', forklift, '`bun --eval 0`', bun)
  const cpu = (cost: Cost): Cost => ({ ...cost, wall: cost.cpu })
  row('the same, CPU time', 'any', cpu(forklift), '`bun --eval 0`', cpu(bun))
}

async function nothingToDo(world: World, { name }: Size, why: string): Promise<void> {
  await using server = serveGit(world.path('servers'), { delay: DELAY })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  await using api = slowly(world.github.url)
  const at = { cwd: world.checkout, env: { ...world.env, GITHUB_API_URL: api.url } }
  const [first, second] = ['origin', 'upstream'].map(remote => [
    'git',
    'ls-remote',
    '--symref',
    remote,
    'HEAD',
    'refs/heads/*',
  ])
  await time([FORKLIFT], at)
  const { forklift, bare } = await inTurns(QUICK, {
    forklift: () => time([FORKLIFT], at),
    bare: async () => {
      const both = await Promise.all([time(first ?? [], at), time(second ?? [], at)])
      return { wall: Math.max(...both.map(({ wall }) => wall)), cpu: both.reduce((sum, { cpu }) => sum + cpu, 0) }
    },
  })
  row(`nothing to do: ${why}`, name, forklift, 'two `git ls-remote` at once', bare, '< 2.0')
  await world.reachable({ 'https://github.com/': `${world.root}/servers/` })
}

/** A proxy that forwards requests after a delay, without limiting how many at once. */
function slowly(target: string): AsyncDisposable & { url: string } {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      await Bun.sleep(DELAY)
      const { pathname, search } = new URL(request.url)
      const body = request.method === 'GET' ? null : await request.arrayBuffer()
      return fetch(`${target}${pathname}${search}`, { method: request.method, headers: request.headers, body })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) }
}

/** Measures from the line that announces the workspace to the start of the container. */
async function workspace(world: World, { name }: Size): Promise<void> {
  await world.agent('exit 5')
  const at = { cwd: world.home, env: world.env }
  const target = world.path('tmp/clone')
  const clone = async (flag: string): Promise<Cost> => {
    const cost = await time(['git', 'clone', '--quiet', flag, world.checkout, target], at)
    await rm(target, { recursive: true })
    return cost
  }
  const { forklift, noLocal, noHardlinks } = await inTurns(SLOW, {
    forklift: async () => {
      const { wall } = await betweenSteps(world, 'Preparing the workspace', 'The agent merges')
      await rm(world.runsFolder, { recursive: true })
      return { wall, cpu: 0 }
    },
    noLocal: () => clone('--no-local'),
    noHardlinks: () => clone('--no-hardlinks'),
  })
  row('making the workspace', name, forklift, '`git clone --no-local`', noLocal, '< 0.3')
  row('making the workspace', name, forklift, '`git clone --no-hardlinks`', noHardlinks)
}

/** Measures a run without the agent's time, beside the commands that a person would type for the same. */
async function besideTheAgent(world: World, { name }: Size): Promise<void> {
  await using server = serveGit(world.path('servers'), { delay: DELAY })
  await world.reachable({ 'https://github.com/': `${server.url}/` })
  await using api = slowly(world.github.url)
  const env = { ...world.env, GITHUB_API_URL: api.url }
  const [work, tracking] = [world.path('tmp/work'), 'refs/remotes/upstream/main']
  const begin = await world.git('merge-base', 'origin/main', 'upstream/main')
  const forget = async () => {
    for (const { head } of world.github.pulls.splice(0))
      await git(world.origin, 'update-ref', '-d', `refs/heads/${head}`)
    await world.git('update-ref', tracking, begin)
    await rm(world.runsFolder, { recursive: true, force: true })
    await rm(work, { recursive: true, force: true })
  }
  const shell = (script: string) => time(['bash', '-euc', script], { cwd: world.checkout, env })
  const ask = (method: string, path: string, body?: object) =>
    fetch(`${api.url}/repos/me/fork${path}`, {
      method,
      headers: { authorization: `token ${world.github.token}`, 'user-agent': 'bench' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const before = `
    git ls-remote --symref origin >/dev/null & git ls-remote --symref upstream >/dev/null & wait
    git fetch --quiet --no-tags upstream
    git merge-tree --write-tree -z origin/main upstream/main >/dev/null || true
    git init --quiet --template= ${work}; at=$(git rev-parse origin/main)
    git rev-parse origin/main upstream/main | GIT_OBJECT_DIRECTORY=${work}/.git/objects \\
      GIT_ALTERNATE_OBJECT_DIRECTORIES=$PWD/.git/objects \\
      git pack-objects --revs --quiet --delta-base-offset ${work}/.git/objects/pack/pack >/dev/null
    echo "$at refs/heads/main" >${work}/.git/packed-refs
    git rev-parse upstream/main >${work}/.git/upstream
    cd ${work}; git -c checkout.workers=0 checkout --quiet --force
    [ "$(id -u)" != 0 ] || chown -R 1000:1000 .`
  const after = `
    git fetch --quiet --no-tags ${work} +refs/heads/main:refs/bench/result
    tree=$(git merge-tree --write-tree -z origin/main upstream/main | head -z -n 1 | tr -d '\\0') || true
    for to in origin/main upstream/main refs/bench/result; do git diff-tree -r -z --no-renames $tree $to >/dev/null & done; wait
    git show --remerge-diff --format= refs/bench/result >/dev/null
    git log --format=%s upstream/main --not origin/main >/dev/null
    git push --quiet origin refs/bench/result:refs/heads/forklift/main-20260101_000000
    git update-ref -d refs/bench/result; git update-ref -d refs/remotes/origin/forklift/main-20260101_000000`
  const { forklift, bare } = await inTurns(SLOW, {
    forklift: async () => {
      await forget()
      const begun = performance.now()
      const { wall } = await betweenSteps(world, 'The agent merges', 'Judging the result', env)
      return { wall: performance.now() - begun - wall, cpu: 0 }
    },
    bare: async () => {
      await forget()
      const begun = performance.now()
      const [prepared] = await Promise.all([shell(before), ask('GET', ''), ask('GET', '/pulls?state=open')])
      const atWork = performance.now()
      await shell(`cd ${work}; git config --global safe.directory '*'; git -c user.name=A -c user.email=a@b merge --quiet "$(cat .git/upstream)" >/dev/null ||
        { git diff --name-only --diff-filter=U | xargs sed -i -E '/^(<{7}|={7}|>{7})( |$)/d'
          git -c user.name=A -c user.email=a@b commit --quiet --all --message Merge; }`)
      const merged = performance.now()
      await shell(after)
      await ask('POST', '/pulls', { title: 'Merge', head: 'forklift/main-20260101_000000', base: 'main', body: '' })
      return { wall: performance.now() - begun - (merged - atWork), cpu: prepared.cpu }
    },
  })
  row('a whole run without its agent', name, forklift, 'the commands that it takes', bare, '< 1.1')
  await forget()
  await world.reachable({ 'https://github.com/': `${world.root}/servers/` })
}

async function betweenSteps(world: World, from: string, to: string, env = world.env): Promise<{ wall: number }> {
  const child = Bun.spawn([FORKLIFT], { cwd: world.checkout, env, stdio: ['ignore', 'pipe', 'ignore'] })
  let [text, begun, ended] = ['', 0, 0]
  for await (const bytes of child.stdout) {
    text += Buffer.from(bytes).toString()
    if (!begun && text.includes(from)) begun = performance.now()
    if (!ended && text.includes(to)) ended = performance.now()
  }
  if (!begun || !ended) throw new Error(`forklift did not say "${from}" and "${to}":\n${text}`)
  return { wall: ended - begun }
}

/** Measures forklift/judge.ts on a result as an agent makes it, in the checkout's repository. */
async function judgement(world: World, { name }: Size) {
  const [start, upstream] = ['origin/main', 'upstream/main']
  const work = world.path('tmp/merge')
  await world.git('worktree', 'add', '--quiet', '--detach', work, start)
  await Bun.spawn(['git', 'merge', '--quiet', upstream], {
    cwd: work,
    env: world.env,
    stdio: ['ignore', 'ignore', 'ignore'],
  }).exited
  const files = (await world.git('diff', '--name-only', '--diff-filter=U', { cwd: work })).split('\n')
  await Bun.spawn(['sed', '-i', '-E', '/^(<{7}|={7}|>{7})( |$)/d', ...files], { cwd: work }).exited
  await world.git('commit', '--quiet', '--all', '--message', 'Merge', { cwd: work })
  const result = await world.git('rev-parse', 'HEAD', { cwd: work })
  const tree = (
    await Bun.spawn(['git', 'merge-tree', '--write-tree', '--name-only', '--no-messages', start, upstream], {
      cwd: world.checkout,
      env: world.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).stdout.text()
  ).split('\n')[0]
  const at = { cwd: world.checkout, env: world.env, codes: [0, 1] }
  const program = join(PROJECT, 'forklift/judge.ts')
  const script = `git merge-tree --write-tree -z ${start} ${upstream} >${work}.out
    for to in ${start} ${upstream} ${result}; do git diff-tree -r -z --no-renames ${tree} $to >${work}.$$.out & done
    wait; git show --remerge-diff --no-textconv --no-ext-diff --format= ${result} >${work}.out`
  const { review, usage, bare } = await inTurns(QUICK, {
    review: () => time([program, start, upstream, result], at),
    usage: () => time([program], { ...at, codes: [64] }),
    bare: () => time(['sh', '-c', script], at),
  })
  await world.git('worktree', 'remove', '--force', work)
  const net = { wall: review.wall - usage.wall, cpu: review.cpu - usage.cpu }
  row('judgement and page', name, net, '`merge-tree`, 3 `diff-tree`, `show --remerge-diff`', bare, '< 1.5')
}

/** Measures a whole run up to the pull request, with an agent that resolves the conflicts at once. */
async function wholeRun(world: World): Promise<Memory> {
  const child = Bun.spawn([FORKLIFT], { cwd: world.checkout, env: world.env, stdio: ['ignore', 'ignore', 'inherit'] })
  const memory = await watchMemory(child, line => line.includes('supervise-container'))
  if ((await child.exited) !== 0) throw new Error('the whole run failed')
  return memory
}

function memory({ name }: Size, { alone, tree }: Memory): void {
  const mebibytes = (value: number) => `${Math.round(value)} MiB`
  rows.push(`| peak memory of the process alone, whole run | ${name} | ${mebibytes(alone)} | | | | < 100 MiB |`)
  rows.push(`| peak memory with all of git's processes, whole run | ${name} | ${mebibytes(tree)} | | | | |`)
}

const begun = performance.now()
for (const size of SIZES) await measure(size)
console.log('| what | repository | Forklift | bare | time | ratio | goal |')
console.log('|---|---|---:|---|---:|---:|---|')
console.log(rows.join('\n'))
console.error(`${Math.round((performance.now() - begun) / 1000)} s in all`)
