/**
 * A simulation of weeks: Forklift runs every morning. In between, a seeded generator draws actions of upstream, the
 * fork's maintainers and its reviewers, and the behaviour of the agent and the network. No commit of a person is ever
 * lost, no agent is paid twice for the same commits, at most one pull request is open, and nothing piles up. MORNINGS
 * sets the number of mornings, MORNINGS_SEED other random numbers; a failure lists what happened before it.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { appendFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { branchesOf, contains, git, tipOf, tryGit } from '../support/git.ts'
import { refusePushes } from '../support/moments.ts'
import { type Random, randomFrom } from '../support/random.ts'
import { type Ended, makeWorld, type World } from '../support/world.ts'

const MORNINGS = Number(process.env.MORNINGS ?? 15)
const SEEDS = process.env.MORNINGS_SEED?.split(',').map(Number) ?? [1, 2]
setDefaultTimeout(60_000 + MORNINGS * 20_000)

/**
 * Unique lines that people wrote, by where they must be found; `dropped`: removed commits, which must not come back.
 */
type Known = { fork: string[]; upstream: string[]; onBranches: Map<string, string>; dropped: string[] }
type Life = { world: World; random: Random; known: Known; story: string[]; line: number }

test.concurrent.each(SEEDS)(`${MORNINGS} mornings of a fork, the story of seed %d`, async seed => {
  await using world = await makeWorld({ files: { base: { 'list.txt': 'first\nlast\n' } } })
  const life = {
    world,
    random: randomFrom(seed),
    known: { fork: [], upstream: [], onBranches: new Map(), dropped: [] },
    line: 0,
  }
  const story: string[] = []
  // Half of the users have no name configured in git.
  if (seed % 2 === 0) await world.git('config', '--global', '--remove-section', 'user')
  try {
    for (let day = 1; day <= MORNINGS; day++) {
      story.push(`day ${day}`)
      await morning({ ...life, story })
      life.line = 1000 * day
    }
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${story.slice(-120).join('\n')}`)
  }
})

async function morning(life: Life): Promise<void> {
  const { world, random, story } = life
  await somebodyWorks(life)
  const pull = await theOpenPull(life)
  if (pull) await somebodyReviews(life, pull)
  await aNightPasses(world)
  const agent = random.chance(0.65) ? 'good' : random.pick(Object.keys(AGENTS) as (keyof typeof AGENTS)[])
  await world.agent(AGENTS[agent])
  story.push(`  agent: ${agent}`)
  const isBad = random.chance(0.15)
  const first = isBad ? await aBadMorning(life) : await look(life)
  if (!isBad && agent === 'good') expect([0, 2, 3, 4]).toContain(first.code)
  await world.agent(random.chance(0.5) ? 'good' : AGENTS[agent])
  const paid = await world.agentRuns()
  const second = await look(life)
  const known = first.code === 0 || [2, 3, 4].includes(first.code)
  if (!isBad && known) expect([second.code, await world.agentRuns()]).toEqual([first.code, paid])
  await everythingIsInOrder(life)
}

const AGENTS = {
  good: 'good "Keep both"',
  'good, and edits more': 'good; date >>notes.txt; git add notes.txt; git commit --quiet --amend --no-edit',
  stuck: 'echo "Which greeting?" >STUCK.md',
  'out of time': 'exit 2',
  failing: 'exit 5',
  lazy: 'git merge --quiet -s ours "refs/remotes/upstream/$upstream_branch"',
  'leaving conflicts behind': 'merge || { git add --all; git commit --quiet -m Done; }',
} as const

// --- People's actions ------------------------------------------------------------------------------------------------

async function somebodyWorks(life: Life): Promise<void> {
  const { world, random, story, known } = life
  const work = async (where: 'upstream' | 'origin', token: string, branch?: string) => {
    const file = random.pick(['list.txt', 'list.txt', `${where}.txt`, `${where}/${token}.txt`])
    const tip = (await tipOf(world[where], branch ?? 'main')) ?? ''
    const { stdout } = await tryGit(world[where], ['cat-file', 'blob', `${tip}:${file}`])
    const lines = stdout.split('\n').slice(0, -1)
    lines.splice(random.chance(0.5) ? lines.length : random.below(lines.length + 1), 0, token)
    story.push(`  ${where}${branch ? ` ${branch}` : ''}: ${token} in ${file}`)
    return await world.push(where, { [file]: `${lines.join('\n')}\n` }, branch ? { branch } : {})
  }
  const token = (who: string) => `${who}-${++life.line}`
  if (random.chance(0.02)) {
    story.push('  upstream: rewritten')
    await git(world.upstream, 'update-ref', 'refs/heads/main', `${await world.tip('upstream')}~1`)
    const { stdout } = await tryGit(world.upstream, ['grep', '-hE', '^upstream-', 'main'])
    known.upstream = known.upstream.filter(line => stdout.split('\n').includes(line))
  }
  if (random.chance(0.6)) {
    for (let left = 1 + random.below(3); left > 0; left--) {
      const line = token('upstream')
      await work('upstream', line)
      known.upstream.push(line)
    }
  }
  if (random.chance(0.35)) {
    const line = token('fork')
    await work('origin', line)
    known.fork.push(line)
  }
  if (random.chance(0.03))
    story.push(`  origin: ${(await rebaseTheFork(world)) ? 'rebased onto upstream' : 'no rebase'}`)
  const pull = await theOpenPull(life)
  if (pull && random.chance(0.1)) {
    const line = token('person')
    known.onBranches.set(line, pull.head)
    await work('origin', line, pull.head)
  }
  if (random.chance(0.05)) {
    story.push('  FORK.md: changed')
    await appendFile(join(world.checkout, 'FORK.md'), 'We like greetings.\n')
  }
}

type Pull = World['github']['pulls'][number]

async function theOpenPull({ world }: Life): Promise<Pull | undefined> {
  await world.github.settle()
  return world.github.pulls.findLast(pull => pull.state === 'open')
}

async function somebodyReviews({ world, random, story, known }: Life, pull: Pull): Promise<void> {
  const { github } = world
  const { number } = pull
  const said = (what: string) => story.push(`  #${number}: ${what}`)
  const merge = async (how: 'merge' | 'squash' | 'rebase') => {
    // An agent may resolve a conflict with one side alone. The pull request says so, and a person who wants both sides
    // closes it.
    if (/Now: the fork's version|is the tree of/.test(pull.body)) {
      await github.close(number)
      said('closed, because it gives up what upstream has')
      return
    }
    await github
      .merge(number, how)
      .then(() => said(`merged (${how})`))
      .catch(() => said(`can't be merged (${how})`))
    if (pull.state === 'closed' && random.chance(0.5)) await github.deleteBranch(number)
  }
  const acts: (() => unknown)[] = [
    ...Array.from({ length: 5 }, () => () => merge('merge')),
    () => merge('squash'),
    () => merge('squash'),
    () => merge('rebase'),
    () => github.close(number).then(() => said('closed')),
    () =>
      github
        .close(number)
        .then(() => github.deleteBranch(number))
        .then(() => said('closed and deleted')),
    () => github.deleteBranch(number).then(() => said('branch deleted')),
    () => github.approve(number).then(() => said('approved')),
    () => github.review(number, 'CHANGES_REQUESTED', 'Not yet').then(() => said('changes requested')),
    () => said(`a comment${github.comment(number, 'Looks fine') ?? ''}`),
    () => updateBranch(world, pull).then(() => said('branch updated')),
    () => dropNewest(world, known, pull).then(() => said('newest commit dropped')),
  ]
  if (random.chance(0.4)) await random.pick(acts)()
}

/** Merges the base into a pull request's branch, as GitHub's button does. */
async function updateBranch({ origin }: World, { head, base }: Pull): Promise<void> {
  const merge = await tryGit(origin, ['merge-tree', '--write-tree', head, base])
  if (merge.code !== 0) return
  const tree = merge.stdout.split('\n')[0] ?? ''
  const person = ['-c', 'user.name=Rita', '-c', 'user.email=rita@fork.example']
  const tip = await git(origin, ...person, 'commit-tree', tree, '-p', head, '-p', base, '-m', `Merge ${base}`)
  await git(origin, 'update-ref', `refs/heads/${head}`, tip)
}

/** A person removes the newest commit of a pull request, whoever made it. */
async function dropNewest({ origin }: World, known: Known, { head, base }: Pull): Promise<void> {
  const tip = await git(origin, 'rev-parse', head)
  if (await contains(origin, `${tip}^1`, base)) return
  known.dropped.push(tip)
  await git(origin, 'update-ref', `refs/heads/${head}`, `${tip}^1`)
  for (const [line, branch] of known.onBranches)
    if (branch === head && (await tryGit(origin, ['grep', '-qwF', line, head])).code !== 0)
      known.onBranches.delete(line)
}

/** An alternative to merging: the fork's own commits are rebased onto upstream and force-pushed. */
async function rebaseTheFork(world: World): Promise<boolean> {
  const { origin, upstream } = world
  const place = world.path('rebase')
  await git('/', 'clone', '--quiet', '--no-local', '--branch', 'main', origin, place)
  await git(place, 'fetch', '--quiet', upstream, 'main')
  const person = ['-c', 'user.name=Fay', '-c', 'user.email=fay@fork.example']
  const { code } = await tryGit(place, [...person, 'rebase', '--quiet', 'FETCH_HEAD'])
  if (code === 0) await git(place, 'push', '--quiet', '--force', 'origin', 'HEAD:refs/heads/main')
  await rm(place, { recursive: true })
  return code === 0
}

/** Makes all of Forklift's files a day older. */
async function aNightPasses({ runsFolder }: World): Promise<void> {
  const names = await readdir(runsFolder).catch(() => [])
  for (const name of names.sort()) {
    const [, project, date = '', time] = /^(.*)_(\d{8})_(\d{6})$/.exec(name) ?? []
    const day = new Date(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T00:00:00Z`)
    const before = new Date(day.getTime() - 24 * 60 * 60 * 1000).toISOString().slice(0, 10).replaceAll('-', '')
    await rename(join(runsFolder, name), join(runsFolder, `${project}_${before}_${time}`))
  }
}

// --- Forklift's runs -------------------------------------------------------------------------------------------------

/** Runs Forklift, and checks what must be true after every run. */
async function look({ world, story, known }: Life, begin?: (run: ReturnType<World['start']>) => Promise<unknown>) {
  const before = new Map<string, string>()
  for (const branch of await branchesOf(world.origin)) before.set(branch, (await tipOf(world.origin, branch)) ?? '')
  const started = world.start([], begin ? {} : { terminal: 200, env: { NO_COLOR: '1' } })
  await begin?.(started)
  const run: Ended = await started.ended
  story.push(`  forklift: ${run.code} ${run.last.split('\r\x1b[K').at(-1)}`)
  for (const [branch, tip] of before) {
    const now = (await tipOf(world.origin, branch)) ?? ''
    if (!now || !(await contains(world.origin, tip, now))) throw new Error(`${branch} lost ${tip}`)
    if (branch === 'main') expect(now).toBe(tip)
  }
  for (const [line, branch] of known.onBranches) {
    const { code } = await tryGit(world.origin, ['grep', '-qwF', line, branch])
    if (before.has(branch) && code !== 0) throw new Error(`${branch} lost ${line}`)
  }
  return run
}

async function aBadMorning(life: Life): Promise<Ended> {
  const { world, random, story } = life
  const kind = random.pick(['api', 'hook', 'kill', 'interrupt'] as const)
  story.push(`  trouble: ${kind}`)
  if (kind === 'api') world.github.fail({ method: random.pick(['POST', 'GET', 'PATCH']), status: 502, times: 4 })
  const allowPushes = kind === 'hook' ? await refusePushes(world) : undefined
  const signal = kind === 'kill' ? 'SIGKILL' : kind === 'interrupt' ? 'SIGTERM' : undefined
  const delay = random.below(2500)
  const run = await look(life, async ({ child }) => {
    if (!signal) return
    await Promise.race([Bun.sleep(delay), child.exited])
    child.kill(signal)
  })
  await allowPushes?.()
  world.github.faults.length = 0
  return run
}

/** Checks that no change is lost, no pull request is doubled, no agent is paid twice, and nothing is left behind. */
async function everythingIsInOrder({ world, known }: Life): Promise<void> {
  const { origin, upstream, checkout, github } = world
  await github.settle()
  const names = github.pulls.map(({ head }) => head)
  expect(new Set(names).size).toBe(names.length)
  const inMain = (await git(origin, 'grep', '-h', '', 'main')).split('\n')
  expect(known.fork.filter(line => !inMain.includes(line))).toEqual([])
  const branches = ['main', ...(await branchesOf(origin, 'forklift/'))]
  for (const tip of known.dropped)
    for (const branch of branches)
      if (await contains(origin, tip, branch)) throw new Error(`${tip} is back on ${branch}`)
  // Everything of upstream that git considers merged is in the files.
  const base = (await tryGit(origin, ['merge-base', 'main', (await tipOf(upstream, 'main')) ?? ''])).stdout.trim()
  if (base) {
    const { stdout } = await tryGit(upstream, ['grep', '-hE', '^upstream-', base])
    expect(stdout.split('\n').filter(line => line && !inMain.includes(line))).toEqual([])
  }
  const open = github.pulls.filter(pull => pull.state === 'open')
  expect(new Set(open.map(pull => pull.head)).size).toBe(open.length)
  const living = []
  for (const pull of open)
    if ((await tryGit(origin, ['merge-tree', '--write-tree', 'main', pull.head])).code === 0) living.push(pull.number)
  if (living.length > 1) throw new Error(`several pull requests wait: ${living.map(number => `#${number}`).join(', ')}`)
  await nothingIsPaidTwice(world)
  expect(await readdir(dirname(world.runsFolder)).catch(() => [])).not.toContainEqual(
    expect.stringContaining('scratch-'),
  )
  expect(await readdir(world.path('tmp'))).toEqual([])
  expect(await world.containers()).toEqual([])
  const refs = (await git(checkout, 'for-each-ref', '--format=%(refname)')).split('\n')
  const gone = refs.filter(ref => /^refs\/remotes\/origin\/forklift\//.test(ref))
  const heads = await branchesOf(origin, 'forklift/')
  expect(gone.filter(ref => !heads.includes(ref.slice('refs/remotes/origin/'.length)))).toEqual([])
  const fsck = await tryGit(checkout, ['fsck', '--no-dangling', '--no-progress'])
  expect([fsck.code, fsck.stdout + fsck.stderr]).toEqual([0, ''])
}

async function nothingIsPaidTwice(world: World): Promise<void> {
  const paid = new Map<string, string>()
  for (const { path, metadata } of await world.runs()) {
    const agent = await Bun.file(join(path, 'agent.json'))
      .json()
      .catch(() => undefined)
    if (!agent || agent.exitCode === 5) continue
    const pair = `${metadata.startCommit} ${metadata.upstreamCommit} ${metadata.forkMd}`
    if (paid.has(pair)) throw new Error(`paid twice: ${paid.get(pair)} and ${path}`)
    paid.set(pair, path)
  }
}
