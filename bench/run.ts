/**
 * `make bench`: what Forklift costs beside the bare git commands that it can't do without, on a small repository and on
 * a large one. It measures and prints one table; nothing here passes or fails. Everything lies in a folder for
 * temporary files that is gone afterwards, and the only network is the machine's own.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { serveGit } from '../test/doubles/git-http.ts'
import { git } from '../test/git.ts'
import { FORKLIFT, makeWorld, PROJECT, type World } from '../test/world.ts'
import { type Cost, inTurns, type Memory, time, watchMemory } from './measure.ts'
import { fill, type Size } from './repositories.ts'

const SIZES: Size[] = [
  { name: 'small', files: 60, commits: 100, bytesPerFile: 4_000 },
  { name: 'large', files: 50_000, commits: 3_000, bytesPerFile: 7_000 },
]
const QUICK = { rounds: 15, seconds: 10 }
const SLOW = { rounds: 5, seconds: 30 }
/** Milliseconds before the servers answer, git's and GitHub's. */
const DELAY = 50

const rows: string[] = []
const milliseconds = (value: number): string =>
  value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`

/** One line of the table: wall-clock time of Forklift, and of the bare commands that it is held against. */
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
  console.error(`${size.name}: a whole run, and nothing to do`)
  await world.agent('good')
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

/** Passes requests on after a delay, as many at once as there are. */
function slowly(target: string): AsyncDisposable & { url: string } {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      await Bun.sleep(DELAY)
      const { pathname, search } = new URL(request.url)
      return fetch(`${target}${pathname}${search}`, { method: request.method, headers: request.headers })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) }
}

/** From the step that says so to the start of the container. */
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

async function betweenSteps(world: World, from: string, to: string): Promise<{ wall: number }> {
  const child = Bun.spawn([FORKLIFT], { cwd: world.checkout, env: world.env, stdio: ['ignore', 'pipe', 'ignore'] })
  let [text, begun, ended] = ['', 0, 0]
  for await (const bytes of child.stdout) {
    text += Buffer.from(bytes).toString()
    if (!begun && text.includes(from)) begun = performance.now()
    if (!ended && text.includes(to)) ended = performance.now()
  }
  if (!begun || !ended) throw new Error(`forklift did not say "${from}" and "${to}":\n${text}`)
  return { wall: ended - begun }
}

/** A result as an agent makes it, in the checkout's repository, judged by host/review.ts. */
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
  const program = join(PROJECT, 'host/review.ts')
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

/** From nothing to the pull request, with an agent that resolves the conflicts at once. */
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
