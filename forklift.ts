#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Forklift keeps a fork current: it fetches, lets an agent merge upstream in a container that can reach nothing of
 * yours, judges the result with git alone, and opens a pull request. main() is the list of steps; what they do follows
 * in the same order. (The first line keeps the .env and bunfig.toml of the checkout, which is upstream's code, out.)
 */
import { appendFile, lstat, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProcessOutput, type Shell } from 'zx/core'
import {
  mergeTree,
  type Oid,
  OWN_CONFIG,
  openRoom,
  quoteAlternate,
  type Room,
  shellIn,
  useAttributesOf,
} from './host/git.ts'
import { type Pull, withoutCredentials } from './host/github.ts'
import { EXIT, type ExitCode, Failure } from './host/outcome.ts'
import { commitMessage, ledgerText, mergeBody, page, type Story } from './host/page.ts'
import { type Fork, firstLine, IMAGE, lookAround } from './host/preflight.ts'
import { type Review, review } from './host/review.ts'
import * as runs from './host/runs.ts'
import { type Options, parseOptions } from './host/settings.ts'
import { type Head, isAncestor, type Plan, whereToStart } from './host/start.ts'
import { type Reporter, reporterFor, visible, visibleLines, visiblePath } from './host/terminal.ts'
import { version } from './package.json'

const HELP = `forklift: brings upstream's new commits into this fork as a pull request.

Run it in a checkout of a fork with the remotes origin (the fork) and upstream (what was forked).

  --model M, --variant V, --agent A   instead of what opencode.env says
  --check      look whether everything is ready, a line a check; changes nothing
  --retry      ask the agent again although these conflicts got it stuck or its result was refused
  --version, --help

Exit codes
  0  a pull request is open (new or updated), or there was nothing to do
  1  an error before or after the agent: git, docker, GitHub, configuration
  2  time ran out
  3  the result did not pass judgement
  4  stuck: STUCK.md says why
  5  the agent or its harness failed
  64 wrong usage
  130, 143 interrupted`

const GRACE_SECONDS = 10
const interruption = new AbortController()
const report: Reporter = reporterFor('forklift')

/** Gives the last line of a good end; every other end is thrown. */
async function main(options: Options): Promise<string> {
  const fork = await everythingIsReady(options)
  if (options.check) return 'Everything is ready.'
  await fetchBothBranches(fork)
  const base = await mergeBase(fork)
  if (base === fork.upstream.tip) return nothingToDo(`${nameOf(fork.upstream)} is in ${nameOf(fork.origin)}`)
  const room = await openRoom(fork.state, [fork.objects], fork.format)
  try {
    await useAttributesOf(room, fork.origin.tip)
    const plan = await decideWhereToStart(fork, room)
    if (plan.kind === 'nothing') return nothingToDo(plan.because)
    report.begin()
    if (plan.kind === 'propose') return await publishWithoutAgent(fork, room, plan, plan.head.tip)
    if (await isAncestor(room, plan.start, fork.upstream.tip)) {
      return await publishWithoutAgent(fork, room, plan, fork.upstream.tip)
    }
    await theTokenMayPushWorkflows(fork, base)
    return await mergeWithTheAgent(fork, room, plan, options)
  } finally {
    await room.close()
  }
}

const nothingToDo = (because: string): string => `Nothing to do: ${because}.`
const nameOf = (remote: Fork['origin']): string => `${remote.name}/${remote.branch}`

// --- 1. Preflight ---------------------------------------------------------------------------------------------------

async function everythingIsReady(options: Options): Promise<Fork> {
  const note = (text: string) => report.step(`Note: ${text}`)
  if (!options.check) return await lookAround(options, interruption.signal, failFast, note)
  report.begin()
  const failures: Failure[] = []
  const tell = (name: string, line: string, failure?: Failure) => {
    if (failure) failures.push(failure)
    report.step(`${failure ? 'FAILED' : 'ok'.padEnd(6)} ${name}: ${failure?.message ?? line}`)
  }
  const secrets = "pushing runs the fork's CI on upstream's new code: keep secrets from forklift/** in its settings."
  return await lookAround(options, interruption.signal, tell, note)
    .catch(() => {
      throw new Failure(`${failures.length} of the checks failed, see above: not ready.`)
    })
    .finally(() => note(secrets))
}

function failFast(_name: string, _line: string, failure?: Failure): void {
  if (failure) throw failure
}

// --- 2. Ask and fetch -----------------------------------------------------------------------------------------------

/** Brings the remote-tracking refs of both default branches up to date; what is fetched counts, not what was listed. */
async function fetchBothBranches(fork: Fork): Promise<void> {
  const both = [fork.origin, fork.upstream]
  for (const remote of both)
    if (remote.branch !== 'main') report.step(`Note: ${remote.name}'s default branch is ${remote.branch}.`)
  await Promise.all(both.map(remote => fetchBranches(fork, remote, [remote.branch])))
  const tips = await tracked(
    fork,
    both.map(remote => `refs/remotes/${remote.name}/${remote.branch}`),
  )
  for (const remote of both) remote.tip = tips.get(`refs/remotes/${remote.name}/${remote.branch}`) ?? remote.tip
}

async function tracked(fork: Fork, refs: string[]): Promise<Map<string, Oid>> {
  const list = await fork.sh`git for-each-ref --format=${'%(refname) %(objectname)'} ${refs}`
  return new Map(
    list.stdout
      .split('\n')
      .filter(Boolean)
      .map(line => line.split(' ') as [string, Oid]),
  )
}

async function fetchBranches(fork: Fork, remote: Fork['origin'], branches: string[]): Promise<void> {
  const have = await tracked(
    fork,
    branches.map(branch => `refs/remotes/${remote.name}/${branch}`),
  )
  const differ = branches.filter(
    branch => have.get(`refs/remotes/${remote.name}/${branch}`) !== remote.heads.get(branch),
  )
  if (differ.length === 0) return
  report.step(`Fetching ${differ.map(branch => `${remote.name}/${branch}`).join(', ')}`)
  const refspecs = differ.map(branch => `+refs/heads/${branch}:refs/remotes/${remote.name}/${branch}`)
  const fetched = await fetch(fork.sh, remote.name, refspecs)
  if (fetched.exitCode === 0) return
  throw new Failure(`${remote.name} could not be fetched (${reasonOf(fetched)}): check the network and try again.`)
}

/** Fetches exactly what is named: no tags, no pruning, no FETCH_HEAD, none of the user's own refspecs. */
async function fetch(sh: Shell, from: string, refspecs: string[]): Promise<ProcessOutput> {
  const exactly = ['--no-tags', '--no-prune', '--no-write-fetch-head', '--no-auto-maintenance', '--refmap=']
  for (let attempt = 1; ; attempt++) {
    const fetched = await sh({
      nothrow: true,
    })`git fetch --quiet --no-recurse-submodules ${exactly} ${from} ${refspecs}`
    // Another fetch at the same moment, by the user or by another run, holds the ref for an instant.
    if (!/cannot lock ref|\.lock': File exists/.test(fetched.stderr) || attempt === 5) return fetched
    await sleep(300 * attempt, undefined, { signal: interruption.signal })
  }
}

async function mergeBase(fork: Fork): Promise<Oid> {
  const base = await fork.sh({ nothrow: true })`git merge-base ${fork.origin.tip} ${fork.upstream.tip}`
  if (base.exitCode === 0) return base.stdout.trim()
  const pair = `${nameOf(fork.origin)} and ${nameOf(fork.upstream)}`
  throw new Failure(`${pair} have no commit in common: check the URL of upstream (git remote -v).`)
}

// --- 3. Where to start, and whether ---------------------------------------------------------------------------------

async function decideWhereToStart(fork: Fork, room: Room): Promise<Plan> {
  const { origin, upstream, github } = fork
  await room.sh`printf ${'create %s %s\n'} refs/heads/origin ${origin.tip} refs/heads/upstream ${upstream.tip} | git update-ref --stdin`
  const prefix = `forklift/${origin.branch}-`
  const isOurs = (ref: string) => ref.startsWith(prefix) && /^\d{8}_\d{6}$/.test(ref.slice(prefix.length))
  const refs = [...origin.heads.keys()].filter(isOurs).sort().reverse().slice(0, 20)
  const pulls = (state: 'open' | 'closed') => github?.pulls({ state, base: origin.branch }) ?? Promise.resolve([])
  const [open, closed] = await Promise.all([pulls('open'), pulls('closed')])
  const heads: Head[] = []
  for (const ref of refs) {
    const pull = open.find(it => it.head.ref === ref)
    const tip = origin.heads.get(ref) ?? ''
    if (pull) heads.push({ ref, tip, pull })
    else if (!github || !(await hasPull(fork, ref))) heads.push({ ref, tip })
  }
  await fetchBranches(
    fork,
    origin,
    heads.map(head => head.ref),
  )
  const recent = closed.filter(pull => isOurs(pull.head.ref)).slice(0, 20)
  const fetchCommit = (oid: Oid) => commitIsHere(fork, oid)
  return await whereToStart({
    room,
    origin: origin.tip,
    upstream: upstream.tip,
    heads,
    closed: recent,
    github,
    fetchCommit,
  })
}

async function hasPull({ github, origin }: Fork, ref: string): Promise<boolean> {
  const found = await github?.pulls({ state: 'all', base: origin.branch, head: `${github.place.owner}:${ref}` })
  return found?.some(pull => pull.head.ref === ref) ?? false
}

/** Whether a commit is in the user's repository, or can be had from origin without a ref of ours. */
async function commitIsHere(fork: Fork, oid: Oid): Promise<boolean> {
  const local = await fork.sh({ nothrow: true })`git cat-file -e ${`${oid}^{commit}`}`
  return local.exitCode === 0 || (await fetch(fork.sh, 'origin', [oid])).exitCode === 0
}

/** A classic token tells its scopes: without `workflow` GitHub would refuse the push, after the agent was paid. */
async function theTokenMayPushWorkflows({ repository, sh, upstream, urls }: Fork, base: Oid): Promise<void> {
  if (!repository?.scopes || repository.scopes.includes('workflow') || !urls.origin.push.startsWith('https:')) return
  const touched = await sh({ nothrow: true })`git diff --quiet ${base} ${upstream.tip} -- .github/workflows`
  if (touched.exitCode === 0) return
  throw new Failure(
    'Upstream changed .github/workflows and the token lacks the scope workflow: gh auth refresh -s workflow.',
  )
}

// --- 4. Run directory -----------------------------------------------------------------------------------------------

type Merge = Extract<Plan, { kind: 'merge' }>

async function mergeWithTheAgent(fork: Fork, room: Room, plan: Merge, options: Options): Promise<string> {
  await useAttributesOf(room, plan.start)
  const metadata = await describeTheRun(fork, room, plan)
  const unpublished = await whatIsPaidForAlready(fork, metadata, options.retry)
  if (unpublished) {
    report.step(`Publishing the result of an earlier run: ${unpublished.path}`)
    return await judgeAndPublish(fork, room, plan, unpublished, {})
  }
  const path = await runs.claimRunDirectory(join(fork.state, 'runs'), fork.project)
  const run = {
    path,
    metadata: { ...metadata, container: `forklift-${fork.project}-${path.slice(-15)}-${process.pid}` },
  }
  const outcome: Partial<runs.Outcome> = {}
  const end = (exitCode: number, line: string) =>
    runs.writeOutcome(path, { ...outcome, exitCode, outcome: line, startedAt: metadata.startedAt, endedAt: now() })
  try {
    await runs.writeMetadata(path, run.metadata)
    await prepareWorkspace(fork, room, run)
    const agent = await runTheAgent(fork, run)
    outcome.agentSeconds = agent.seconds
    await theAgentEndedWell(room, run, agent)
    const line = await judgeAndPublish(fork, room, plan, { ...run, agent }, outcome)
    await end(EXIT.done, line)
    return line
  } catch (error) {
    const failure = inWords(error)
    await end(failure.code, failure.message)
    throw failure
  }
}

const now = (): string => new Date().toISOString()

async function describeTheRun(fork: Fork, room: Room, plan: Merge): Promise<runs.Metadata> {
  const { origin, upstream, openCode } = fork
  const conflicts = new Map<string, { path: string; base: string; ours: string; theirs: string }>()
  for (const { path, oid, stage } of (await mergeTree(room, plan.start, upstream.tip)).stages) {
    const conflict = conflicts.get(path) ?? { path: visiblePath(path), base: '', ours: '', theirs: '' }
    conflicts.set(path, { ...conflict, [({ 1: 'base', 2: 'ours', 3: 'theirs' } as const)[stage]]: oid })
  }
  const forkMd = await readForkMd(fork)
  return {
    version,
    origin: origin.url,
    upstream: upstream.url,
    branch: origin.branch,
    upstreamBranch: upstream.branch,
    originCommit: origin.tip,
    startCommit: plan.start,
    upstreamCommit: upstream.tip,
    conflicts: [...conflicts.values()],
    forkMd: forkMd ? runs.sha256(forkMd) : null,
    image: fork.image,
    container: '',
    model: openCode.OPENCODE_MODEL,
    variant: openCode.OPENCODE_VARIANT,
    agent: openCode.OPENCODE_AGENT,
    timeLimitSeconds: fork.seconds,
    startedAt: now(),
  }
}

/** FORK.md lies in the checkout, which is upstream's code too: a link in its place could name any file of the user's. */
async function readForkMd(fork: Fork): Promise<Buffer | undefined> {
  const file = await runs.readUntrusted(join(fork.top, 'FORK.md'), 1 << 20)
  return file?.stats.isFile() ? file.bytes : undefined
}

/** An earlier run whose good end was never published; where an earlier one ended without a result, the same end again. */
async function whatIsPaidForAlready(
  fork: Fork,
  metadata: runs.Metadata,
  retry: boolean,
): Promise<runs.Run | undefined> {
  const earlier = await runs.earlierRuns(join(fork.state, 'runs'), fork.project, metadata.origin)
  const samePair = ({ metadata: it }: runs.Run) =>
    it.startCommit === metadata.startCommit && it.upstreamCommit === metadata.upstreamCommit
  const unpublished = earlier.find(
    run => samePair(run) && run.agent?.exitCode === 0 && (run.outcome?.exitCode ?? 1) === 1,
  )
  if (unpublished || retry) return unpublished
  const sameQuestion = earlier.filter(run => runs.question(run.metadata) === runs.question(metadata))
  const answer = sameQuestion.find(run =>
    ([0, 2, 3, 4] as unknown[]).includes(run.outcome?.exitCode ?? run.agent?.exitCode),
  )
  const code = answer?.outcome?.exitCode ?? answer?.agent?.exitCode
  const remedy = 'Change FORK.md or the model, or run forklift --retry.'
  if (code === EXIT.stuck) throw new Failure(`Still stuck, see ${answer?.path}/STUCK.md. ${remedy}`, code)
  if (code === EXIT.timedOut) throw new Failure(`Time would run out again, see ${answer?.path}. ${remedy}`, code)
  if (!answer || code !== EXIT.refused || !samePair(answer)) return undefined
  throw new Failure(
    `The result for these commits was refused, see ${answer.path}. Run forklift --retry to ask again.`,
    code,
  )
}

// --- 5. Workspace ---------------------------------------------------------------------------------------------------

/** A repository born without remotes, with only what the start and upstream's branch reach. */
async function prepareWorkspace(fork: Fork, room: Room, run: runs.Run): Promise<void> {
  report.step(`Preparing the workspace in ${run.path}`)
  const [workspace, state] = [runs.workspaceOf(run), runs.harnessStateOf(run)]
  await mkdir(workspace)
  await mkdir(state)
  const { branch, upstreamBranch, startCommit, upstreamCommit, timeLimitSeconds } = run.metadata
  const sh = shellIn(workspace, OWN_CONFIG, { signal: interruption.signal })
  await sh`git init --quiet --template= --object-format=${fork.format} --initial-branch=${branch}`
  const tags = (
    await fork.sh`git for-each-ref --merged=${fork.origin.tip} --merged=${fork.upstream.tip} --format=${'%(objectname) %(refname)'} refs/tags`
  ).stdout
  const wanted = [startCommit, upstreamCommit, ...tags.split('\n').map(line => line.slice(0, line.indexOf(' ')))]
  const objects = join(workspace, '.git/objects')
  await writeFile(join(room.path, '.git/wanted'), `${wanted.filter(Boolean).join('\n')}\n`)
  await room.sh`GIT_OBJECT_DIRECTORY=${objects} GIT_ALTERNATE_OBJECT_DIRECTORIES=${quoteAlternate(room.objects)} \
    git pack-objects --revs --quiet --delta-base-offset ${`${objects}/pack/pack`} < .git/wanted`
  const refs = [`${startCommit} refs/heads/${branch}`, `${upstreamCommit} refs/remotes/upstream/${upstreamBranch}`]
  await writeFile(join(workspace, '.git/packed-refs'), `${refs.join('\n')}\n${tags}`)
  await sh`git -c core.logAllRefUpdates=false -c checkout.workers=0 checkout --quiet --force`
  const forkMd = await readForkMd(fork)
  const inStart = (await room.sh({ nothrow: true })`git cat-file -e ${`${startCommit}:FORK.md`}`).exitCode === 0
  await mkdir(join(workspace, '.git/info'), { recursive: true })
  await writeFile(join(workspace, '.git/info/exclude'), inStart ? '/STUCK.md\n' : '/STUCK.md\n/FORK.md\n')
  if (forkMd) await writeFile(join(state, 'fork-context.md'), forkMd)
  if (forkMd && !inStart) await writeFile(join(workspace, 'FORK.md'), forkMd)
  const facts = {
    branch,
    upstream_branch: upstreamBranch,
    start: startCommit,
    upstream: upstreamCommit,
    seconds: timeLimitSeconds,
  }
  await writeFile(
    join(state, 'run.txt'),
    Object.entries(facts)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
  )
  if (process.getuid?.() === 0) await shellIn(run.path)`chown -R -h 1000:1000 workspace harness-state`
}

// --- 6. Agent -------------------------------------------------------------------------------------------------------

/** Runs the container until it ends, its time is over or Forklift is interrupted; it is gone when this returns. */
async function runTheAgent(fork: Fork, run: runs.Run): Promise<runs.Agent> {
  const { container: name, timeLimitSeconds: limit } = run.metadata
  const log = join(run.path, 'container.log')
  // The value is a line of CSV: a comma in a path needs quotes.
  const csv = (field: string) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)
  const mount = (source: string, target: string) => ['--mount', `type=bind,${csv(`source=${source}`)},target=${target}`]
  const flags = [
    ['--rm', '--stop-timeout', String(GRACE_SECONDS), '--pull', 'never', '--name', name, '--label', `forklift=${name}`],
    ['--log-driver', 'none', '--read-only', '--tmpfs', '/tmp:exec,mode=1777,size=512m', '--cap-drop', 'ALL'],
    ['NET_ADMIN', 'SETUID', 'SETGID', 'SETPCAP'].flatMap(capability => ['--cap-add', capability]),
    ['--security-opt', 'no-new-privileges', '--pids-limit', '512', '--memory', '4g'],
    [...mount(runs.workspaceOf(run), '/workspace'), ...mount(runs.harnessStateOf(run), '/harness-state')],
    Object.keys(fork.openCode).flatMap(setting => ['--env', setting]),
  ].flat()
  await appendFile(log, `docker run ${flags.join(' ')} ${IMAGE}\n`)
  report.step(`The agent merges (${fork.openCode.OPENCODE_MODEL}, at most ${limit} s)`)
  const begun = performance.now()
  const seconds = () => Math.round((performance.now() - begun) / 1000)
  const watchdog = shellIn(run.path, {}, { detached: true, nothrow: true, stdio: ['pipe', 'ignore', 'ignore'] })`
    read -r -t ${limit + 60} || for attempt in 1 2 3 4 5; do docker rm --force ${name} || true; sleep 1; done`
  const client = shellIn(run.path, fork.openCode, {
    detached: true,
    nothrow: true,
  })`exec docker run ${flags} ${IMAGE} >> ${log} 2>&1`
  const ended = (async () => (await client).exitCode ?? EXIT.agentFailed)()
  const clock = setInterval(() => report.live(`${clockFace(seconds())} of ${clockFace(limit)}`), 1000)
  const waiting = new AbortController()
  const signal = AbortSignal.any([waiting.signal, interruption.signal])
  const code = await Promise.race([ended, sleep(limit * 1000, undefined, { signal }).catch(() => undefined)])
  if (code === undefined) await stopTheContainer(name, client, ended)
  waiting.abort()
  clearInterval(clock)
  watchdog.stdin.end('over\n')
  interruption.signal.throwIfAborted()
  if (code === 125) throw new Failure(`docker could not start the container: ${await lastLine(log)}. Look at ${log}.`)
  const agent = { exitCode: code ?? EXIT.timedOut, seconds: seconds(), ...(await usage(log)) }
  await runs.writeAgent(run.path, agent)
  return agent
}

const clockFace = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

/** `docker stop` for the grace, then removal until it is gone: a kill can miss a container that is just being made. */
async function stopTheContainer(
  name: string,
  client: Promise<unknown> & { kill: (signal: 'SIGKILL') => Promise<void> },
  ended: Promise<number>,
) {
  const docker = shellIn('/', {}, { nothrow: true, timeout: `${GRACE_SECONDS + 10}s` })
  await docker`docker stop ${name}`
  for (let attempt = 0; attempt < 10; attempt++) {
    if ((await Promise.race([ended, sleep(1000)])) !== undefined) return
    await docker`docker rm --force ${name}`
  }
  await client.kill('SIGKILL')
}

async function lastLine(log: string): Promise<string> {
  const lines = (await runs.readText(log)).split('\n').filter(Boolean)
  return visible(lines.at(-1) ?? 'it said nothing').slice(0, 300)
}

/** What the model was asked and gave, as the proxy in the container counted: `{"forklift":"request",…}` lines. */
async function usage(log: string): Promise<{ requests?: number; tokens?: number }> {
  const lines = (await runs.readText(log)).split('\n').filter(line => line.startsWith('{"forklift":"request"'))
  const counts = lines.map(line => /"input":(\d+).*"output":(\d+)/.exec(line) ?? ['', '0', '0'])
  const tokens = counts.reduce((sum, [, input, output]) => sum + Number(input) + Number(output), 0)
  return lines.length > 0 ? { requests: lines.length, ...(tokens > 0 && { tokens }) } : {}
}

/** Where several ends hold, a time-out counts before being stuck, and that before a failure of the agent. */
async function theAgentEndedWell(room: Room, run: runs.Run, agent: runs.Agent): Promise<void> {
  const stuck = await newStuckFile(room, run)
  const preview = stuck === undefined ? '' : `\n${stuck}`
  if (stuck !== undefined) await symlink('workspace/STUCK.md', join(run.path, 'STUCK.md'))
  if (agent.exitCode === EXIT.timedOut) {
    const where = stuck === undefined ? join(runs.harnessStateOf(run), 'logs') : join(run.path, 'STUCK.md')
    throw new Failure(`Time ran out after ${agent.seconds} s. See ${where}.${preview}`, EXIT.timedOut)
  }
  if (stuck !== undefined)
    throw new Failure(`The agent is stuck. See ${join(run.path, 'STUCK.md')}.${preview}`, EXIT.stuck)
  if (agent.exitCode === 0) return
  const reason = await lastLine(join(run.path, 'container.log'))
  throw new Failure(`The agent or its harness failed (${reason}). See ${run.path}.`, EXIT.agentFailed)
}

/** The beginning of a STUCK.md that neither the start nor upstream has, made harmless; undefined where there is none. */
async function newStuckFile(room: Room, run: runs.Run): Promise<string | undefined> {
  const file = await runs.readUntrusted(join(runs.workspaceOf(run), 'STUCK.md'), 1 << 20)
  if (!file) return undefined
  if (!file.bytes) return '(STUCK.md is no file: it is not shown.)'
  const sides = [run.metadata.startCommit, run.metadata.upstreamCommit].map(commit => `${commit}:STUCK.md`)
  const known = (await room.sh({ nothrow: true })`git rev-parse --quiet ${sides}`).stdout.split('\n')
  await writeFile(join(room.path, '.git/stuck'), file.bytes)
  const blob = (await room.sh`git hash-object --no-filters .git/stuck`).stdout.trim()
  if (known.includes(blob)) return undefined
  if (file.stats.isSymbolicLink()) return '(STUCK.md is a link: it is not followed.)'
  const lines = visibleLines(file.bytes.toString('utf8').slice(0, 4000)).trimEnd().split('\n')
  return lines
    .slice(0, 20)
    .map(line => `  ${line.slice(0, 200)}`)
    .join('\n')
}

// --- 7. Judgement ---------------------------------------------------------------------------------------------------

async function judgeAndPublish(fork: Fork, room: Room, plan: Merge, run: runs.Run, outcome: Partial<runs.Outcome>) {
  report.step('Judging the result')
  const { startCommit: start, upstreamCommit: upstream } = run.metadata
  const result = await takeTheResult(room, run)
  outcome.result = result
  const judged = await review(room, { origin: fork.origin.tip, start, upstream, result })
  if (judged.stuck) throw new Failure(`The agent committed a STUCK.md: it is stuck. See ${run.path}.`, EXIT.stuck)
  if (judged.refusals.length > 0) {
    for (const line of ledgerText(judged).split('\n')) report.step(line)
    throw new Failure(`Refused: ${judged.refusals.join(' ')} Nothing was pushed. See ${run.path}.`, EXIT.refused)
  }
  const log = room.sh({ nothrow: true })`git log --format=%B -n 20 ${result} --not ${start} ${upstream} | head -c 20000`
  const story = { ...tell(fork, plan), ...toldBy(run), words: (await log).stdout }
  outcome.commit = await makeTheCommit(fork, room, run, commitMessage(judged, story))
  return await publish(fork, room, plan, outcome.commit, judged, story, outcome)
}

/**
 * Takes the agent's branch out of the workspace without running git in it: its configuration, hooks and links are the
 * agent's. The branch's id is read as text, and its objects are fetched, checked, from a repository of our own.
 */
async function takeTheResult(room: Room, run: runs.Run): Promise<Oid> {
  const dotGit = join(runs.workspaceOf(run), '.git')
  const { branch } = run.metadata
  const refused = (what: string) => new Failure(`Refused: the workspace's ${what}. See ${run.path}.`, EXIT.refused)
  const parents = branch
    .split('/')
    .slice(0, -1)
    .map((_, index, all) => `refs/heads/${all.slice(0, index + 1).join('/')}`)
  for (const folder of ['', 'refs', 'refs/heads', 'objects']) {
    const stats = await lstat(join(dotGit, folder)).catch(() => undefined)
    if (!stats?.isDirectory()) throw refused(`.git/${folder} is no folder`)
  }
  for (const folder of parents) {
    const stats = await lstat(join(dotGit, folder)).catch(() => undefined)
    if (stats && !stats.isDirectory()) throw refused(`.git/${folder} is no folder`)
  }
  const loose = await runs.readUntrusted(join(dotGit, 'refs/heads', branch), 100)
  const packed = loose ? undefined : await runs.readUntrusted(join(dotGit, 'packed-refs'), 16 << 20)
  if ([loose, packed].some(file => file && !file.stats.isFile())) throw refused(`branch ${branch} is no file`)
  const lines = loose ? [loose.bytes?.toString('latin1').trim()] : packed?.bytes?.toString('latin1').split('\n')
  const ending = loose ? '' : ` refs/heads/${branch}`
  const tip = lines?.find(line => line?.endsWith(ending))?.slice(0, run.metadata.startCommit.length)
  if (!tip || !/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(tip)) throw refused(`branch ${branch} is gone or no commit`)
  const objects = join(dotGit, 'objects')
  const odd = await shellIn(run.path)`find ${objects} ! -type f ! -type d -o -path '*/info/*alternates'`
  if (odd.stdout) throw refused(`.git/objects has what git never puts there (${visible(firstLine(odd.stdout))})`)
  const carrier = await openRoom(
    join(room.path, '.git/carrier'),
    [objects],
    run.metadata.startCommit.length === 64 ? 'sha256' : 'sha1',
  )
  const distrust = ['core.commitGraph=false', 'core.multiPackIndex=false', 'pack.useBitmaps=false']
  await carrier.sh`for setting in ${distrust}; do git config "\${setting%%=*}" "\${setting#*=}"; done; echo ${tip} > .git/refs/heads/result`
  const flags = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const fetched = await room.sh({ nothrow: true, timeout: '10m' })`
    git -c fetch.fsckObjects=true fetch --quiet ${flags} ${join(carrier.path, '.git')} refs/heads/result:refs/heads/result
    git rev-parse --verify --quiet ${'refs/heads/result^{commit}'}`
  if (fetched.exitCode !== 0 || fetched.stdout.trim() !== tip)
    throw refused(`branch ${branch} can't be fetched (${reasonOf(fetched)})`)
  return tip
}

/** The one commit that is published: the result's tree, the start and upstream as parents, whatever the agent chose. */
async function makeTheCommit(fork: Fork, room: Room, run: runs.Run, message: string): Promise<Oid> {
  const { name, email } = fork.identity
  await writeFile(join(room.path, '.git/message'), message)
  const { startCommit: start, upstreamCommit: upstream } = run.metadata
  const commit = await room.sh`
    export GIT_AUTHOR_NAME=${name} GIT_AUTHOR_EMAIL=${email} GIT_COMMITTER_NAME=${name} GIT_COMMITTER_EMAIL=${email}
    git commit-tree ${'refs/heads/result^{tree}'} -p ${start} -p ${upstream} -F .git/message`
  return commit.stdout.trim()
}

// --- 8. Publication -------------------------------------------------------------------------------------------------

type Publishable = Extract<Plan, { leftBehind: Head[] }>

async function publishWithoutAgent(fork: Fork, room: Room, plan: Publishable, tip: Oid): Promise<string> {
  const { origin, upstream } = fork
  const judged = await review(room, { origin: origin.tip, start: origin.tip, upstream: upstream.tip, result: tip })
  return await publish(fork, room, plan, tip, judged, { ...tell(fork, plan), fastForward: tip === upstream.tip }, {})
}

function tell(fork: Fork, plan: Publishable): Story {
  const { origin, upstream, github, repository } = fork
  return {
    originBranch: origin.branch,
    upstreamBranch: upstream.branch,
    origin: github?.place.web,
    upstream: fork.upstreamWeb,
    buttons: repository?.buttons,
    leftBehind: plan.leftBehind.flatMap(({ pull }) => (pull ? [pull.html_url] : [])),
  }
}

const toldBy = ({ metadata, agent }: runs.Run) => ({
  model: metadata.model,
  variant: metadata.variant,
  agent: metadata.agent,
  seconds: agent?.seconds,
  requests: agent?.requests,
  tokens: agent?.tokens,
})

async function publish(
  fork: Fork,
  room: Room,
  plan: Publishable,
  commit: Oid,
  judged: Review,
  story: Story,
  outcome: Partial<runs.Outcome>,
): Promise<string> {
  const { origin, github } = fork
  const ref = plan.head?.ref ?? (await newBranch(fork))
  outcome.branch = ref
  if (plan.kind === 'merge') {
    report.step(`Pushing ${ref}`)
    await room.sh`git update-ref refs/heads/publish ${commit}`
    const brought = await fetch(fork.sh, join(room.path, '.git'), ['refs/heads/publish'])
    if (brought.exitCode !== 0) throw brought
    const there = await push(fork, ref, commit, plan.head?.tip ?? '')
    if (there) return there
  }
  if (!github) return `Pushed ${ref} to origin: merge it into ${origin.branch} there, with a merge commit.`
  const { title, body, draft } = page(judged, story)
  const pull = plan.head?.pull
  try {
    const text = { title, body: mergeBody(pull?.body ?? '', body) }
    const made = pull
      ? await github.update(pull, text)
      : await github.open({ ...text, head: ref, base: origin.branch, draft })
    outcome.pullRequest = made.html_url
    return `Pull request ${pull ? 'updated' : 'opened'}: ${made.html_url}`
  } catch (error) {
    const link = `${github.place.web}/compare/${origin.branch}...${ref}?expand=1`
    throw new Failure(
      `The branch ${ref} is pushed, the pull request is not made. ${inWords(error).message} By hand: ${link}`,
    )
  }
}

/**
 * A new branch is named after the newest commit in it, so that two runs at once choose the same name, and the lease lets
 * only one of them have it.
 */
async function newBranch({ sh, origin, upstream }: Fork): Promise<string> {
  const dates = (await sh`git show --no-patch --format=%ct ${origin.tip} ${upstream.tip}`).stdout
    .split('\n')
    .map(Number)
  for (let time = Math.max(...dates.filter(date => date < Date.now() / 1000), 0); ; time++) {
    const ref = `forklift/${origin.branch}-${runs.stamp(new Date(time * 1000))}`
    if (!origin.heads.has(ref)) return ref
  }
}

/** Pushes with a lease on what was first read. The line of another run that was faster, where there was one. */
async function push(fork: Fork, ref: string, commit: Oid, expected: Oid): Promise<string | undefined> {
  const flags = [
    '--no-verify',
    '--no-follow-tags',
    '--recurse-submodules=no',
    `--force-with-lease=refs/heads/${ref}:${expected}`,
  ]
  const pushed = await fork.sh({
    nothrow: true,
  })`git push --quiet --porcelain ${flags} origin ${`${commit}:refs/heads/${ref}`}`
  if (pushed.exitCode === 0) return undefined
  if (/stale info|fetch first|already exists|cannot lock ref/.test(pushed.stdall)) {
    const pull = await thePullOfAnotherRun(fork)
    if (pull) return `Pull request opened by another run: ${pull.html_url}`
    throw new Failure(`origin's ${ref} moved while the agent worked: run forklift again, the result is kept.`)
  }
  const again = 'The result is kept: run forklift again.'
  if (/without `?workflow`? scope|workflows?` permission/.test(pushed.stdall)) {
    throw new Failure(`The token lacks the right to push workflows: gh auth refresh -s workflow. ${again}`)
  }
  const reason = /^!.*\[(?:remote )?rejected\] \((.*)\)/m.exec(pushed.stdout)?.[1] ?? reasonOf(pushed)
  throw new Failure(`origin refused the branch ${ref} (${visible(reason)}): check your right to push to it. ${again}`)
}

/** The run that was faster has pushed, and may be about to open its pull request. */
async function thePullOfAnotherRun(fork: Fork): Promise<Pull | undefined> {
  for (let attempt = 0; attempt < 8; attempt++) {
    const open = (await fork.github?.pulls({ state: 'open', base: fork.origin.branch })) ?? []
    for (const pull of open.filter(it => it.head.ref.startsWith(`forklift/${fork.origin.branch}-`))) {
      const holds = fork.sh({ nothrow: true })`git merge-base --is-ancestor ${fork.upstream.tip} ${pull.head.sha}`
      if ((await commitIsHere(fork, pull.head.sha)) && (await holds).exitCode === 0) return pull
    }
    await sleep(1000, undefined, { signal: interruption.signal })
  }
  return undefined
}

// --- Ends -----------------------------------------------------------------------------------------------------------

const reasonOf = ({ stderr }: ProcessOutput): string => visible(withoutCredentials(firstLine(stderr)))

/** The one place where an error becomes a sentence and an exit code. */
function inWords(error: unknown): Failure {
  if (interruption.signal.aborted) return interruption.signal.reason as Failure
  if (error instanceof Failure) return error
  if (error instanceof ProcessOutput) return new Failure(`git or docker failed: ${reasonOf(error)}.`)
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC') return new Failure('The disk is full: free some space and run forklift again.')
  return new Failure(`${visible(message)}: this was not expected, please report it.`)
}

function interruptWith(code: ExitCode): void {
  if (interruption.signal.aborted) process.exit(code)
  interruption.abort(new Failure('Interrupted: the container is gone and nothing was published.', code))
}

async function run(argv: string[]): Promise<void> {
  try {
    const options = parseOptions(argv)
    if (options.help) return console.log(HELP)
    if (options.version) return console.log(version)
    report.end(await main(options), false)
  } catch (error) {
    const failure = inWords(error)
    report.end(failure.message, true)
    process.exitCode = failure.code
  }
}

process.on('SIGINT', () => interruptWith(EXIT.interrupted))
process.on('SIGTERM', () => interruptWith(EXIT.terminated))
process.on('SIGHUP', () => interruptWith(EXIT.terminated))
await run(process.argv.slice(2))
