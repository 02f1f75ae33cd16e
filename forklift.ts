#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Forklift keeps a fork current: it fetches, lets an agent merge upstream in a container that can reach nothing of
 * yours, judges the result with git alone, and opens a pull request. main() is the list of steps; what they do follows
 * in the same order. (The first line keeps the .env and bunfig.toml of the checkout, which is upstream's code, out.)
 */
import { appendFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProcessOutput, type ProcessPromise } from 'zx/core'
import { EXIT, type ExitCode, Failure } from './core/failure.ts'
import { commit, isAncestor } from './core/git/commits.ts'
import { OWN_CONFIG } from './core/git/environment.ts'
import { openObjects, readStart } from './core/git/objects.ts'
import type { Oid } from './core/git/repository.ts'
import { GitError, read, run as runGit, type Where } from './core/git/run.ts'
import { openScratch, type Scratch } from './core/git/scratch.ts'
import { type Review, review } from './core/review.ts'
import { allOf, shellIn } from './core/shell.ts'
import { clockFace, firstLine } from './core/text.ts'
import { takeBranch } from './core/untrusted.ts'
import { readForkMd } from './forklift/fork-md.ts'
import { containerLogOf, harnessSays, lastWords, usage } from './forklift/logs.ts'
import { commitMessage, ledgerText, mergeBody, page, type Story } from './forklift/page.ts'
import { type Head, type Plan, whereToStart } from './forklift/plan.ts'
import { type Fork, IMAGE, lookAround, type Remote, theRulesAgree } from './forklift/preflight.ts'
import * as wire from './forklift/remotes.ts'
import { Report } from './forklift/report.ts'
import * as runs from './forklift/runs.ts'
import { type Options, parseOptions } from './forklift/settings.ts'
import { newStuckFile, preview } from './forklift/stuck.ts'
import { fill, namesStayApart, takeUntidyFilesAsTheyAre } from './forklift/workspace.ts'
import { version } from './package.json'

const HELP = `forklift: brings upstream's new commits into this fork as a pull request.

Run it in a checkout of a fork with the remotes origin (the fork) and upstream (what was forked).

  --model M, --variant V, --agent A   instead of what opencode.env says
  --check      look whether everything is ready, a line a check; changes nothing
  --retry      ask the agent again although it got stuck here before, took too long, was refused or thrown away
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
const report = new Report()

/** Gives the last line of a good end; every other end is thrown. */
async function main(options: Options): Promise<string> {
  if (options.check) report.begin()
  const fork = await lookAround(options, report, interruption.signal)
  if (options.check) return 'Everything is ready.'
  await allOf([tidyUp(fork), wire.forgetWhatIsGone(fork), fetchBothBranches(fork)])
  const [base] = await Promise.all([mergeBase(fork), sayWhatIsUnpushed(fork)])
  if (base === fork.upstream.tip) return nothingToDo(`${nameOf(fork.upstream)} is in ${nameOf(fork.origin)}`)
  const { state, objects, format } = fork
  const room = await openScratch({ parent: state, borrowed: [objects], format, signal: interruption.signal })
  try {
    const plan = await decideWhereToStart(fork, room)
    if (plan.kind === 'nothing') return nothingToDo(plan.because)
    if (plan.kind === 'propose') return await publishWithoutAgent(fork, room, plan, plan.head.tip)
    const [isForward] = await Promise.all([
      isAncestor(room, plan.start, fork.upstream.tip),
      theRulesAgree(fork.github, fork.origin, note),
      wire.theTokenMayPushWorkflows(fork, base),
      wire.largeFilesCanBeCarried(fork),
    ])
    if (isForward)
      report.step('The fork has nothing of its own to merge: upstream is taken as it is, without the agent.')
    if (isForward) return await publishWithoutAgent(fork, room, plan, fork.upstream.tip)
    const forkMd = await readForkMd(fork.top, room, plan.start, note)
    const metadata = await describeTheRun(fork, room, plan, forkMd)
    const earlier = await runs.earlierRuns(join(fork.state, 'runs'), fork.project, fork.origin.url)
    const dropped = runs.thrownAway(earlier, metadata, fork.origin.heads, fork.github !== undefined)
    if (dropped && !options.retry)
      return nothingToDo(`a person dropped what was made for this upstream commit (${dropped}): --retry makes it again`)
    report.begin()
    const unpublished = options.retry ? undefined : await whatIsPaidForAlready(earlier, metadata)
    if (unpublished) return await publishEarlier(fork, room, plan, unpublished)
    return await mergeWithTheAgent(fork, room, plan, metadata, forkMd)
  } finally {
    await room[Symbol.asyncDispose]()
  }
}

function nothingToDo(because: string): string {
  interruption.signal.throwIfAborted()
  return `Nothing to do: ${because}.`
}

const nameOf = (remote: Remote): string => `${remote.name}/${remote.branch}`
const note = (text: string): void => report.step(`Note: ${text}`)
const now = (): string => new Date().toISOString()

async function tidyUp(fork: Fork): Promise<void> {
  const living = shellIn('/', {}, { nothrow: true, timeout: '20s' })
  const containers = async () =>
    (await living`docker ps --filter label=forklift --format ${'{{.Names}}'}`).stdout.split('\n')
  const gone = await runs.tidy(fork.state, containers)
  if (gone.length > 0) report.step(`Removed what is old: ${gone.join(', ')}`)
}

// --- Ask and fetch --------------------------------------------------------------------------------------------------

/** Brings the remote-tracking refs of both default branches up to date. */
async function fetchBothBranches(fork: Fork): Promise<void> {
  const both = [fork.origin, fork.upstream]
  await allOf(both.map(remote => wire.fetchDefaultBranch(fork, remote)))
  for (const remote of both) {
    if (remote.branch !== 'main') note(`the default branch of ${remote.name} is ${remote.branch}.`)
  }
}

async function mergeBase({ sh, origin, upstream }: Fork): Promise<Oid> {
  const base = await sh({ nothrow: true })`git merge-base ${origin.tip} ${upstream.tip}`
  if (base.exitCode === 0) return base.stdout.trim()
  if (base.exitCode !== 1) throw base
  const pair = `${nameOf(origin)} and ${nameOf(upstream)}`
  throw new Failure(`${pair} have no common ancestor: check the URL of upstream (git remote -v).`)
}

async function sayWhatIsUnpushed({ sh, origin: { branch } }: Fork): Promise<void> {
  const local = `refs/remotes/origin/${branch}..refs/heads/${branch}`
  const ahead = (await sh({ nothrow: true })`git rev-list --count ${local}`).stdout.trim()
  if (ahead > '0') note(`${ahead} unpushed commits on ${branch} are not part of this run.`)
}

// --- Where to start, and whether ------------------------------------------------------------------------------------

async function decideWhereToStart(fork: Fork, room: Scratch): Promise<Plan> {
  const { origin, upstream, github } = fork
  const pulls = await fork.pulls
  const heads = await wire.fetchOurHeads(fork, pulls)
  // Among very many, those into other branches can hide ours.
  const all =
    github && pulls.mayBeMore ? github.own(await github.pulls('closed', { base: origin.branch })) : pulls.closed
  const closed = all.filter(pull => wire.isOurs(pull.head.ref)).slice(0, 20)
  const fetchCommit = (oid: Oid) => wire.commitIsHere(fork, oid)
  return await whereToStart({
    scratch: room,
    github,
    origin: origin.tip,
    upstream: upstream.tip,
    heads,
    closed,
    fetchCommit,
  })
}

// --- Run directory --------------------------------------------------------------------------------------------------

type Merge = Extract<Plan, { kind: 'merge' }>

async function mergeWithTheAgent(fork: Fork, room: Scratch, plan: Merge, described: runs.Metadata, forkMd?: Buffer) {
  const path = await runs.claimRunDirectory(join(fork.state, 'runs'), fork.project)
  const metadata = { ...described, container: `forklift-${fork.project}-${path.slice(-15)}-${process.pid}` }
  return await recordTheEnd({ path, metadata }, 'outcome', async outcome => {
    await runs.record(path, 'metadata', metadata)
    await prepareWorkspace(fork, room, { path, metadata }, forkMd)
    const agent = await runTheAgent(fork, { path, metadata })
    outcome.agentSeconds = agent.seconds
    return await judgeAndPublish(fork, room, plan, { path, metadata, agent }, outcome)
  })
}

async function publishEarlier(fork: Fork, room: Scratch, plan: Merge, run: runs.Finished): Promise<string> {
  report.step(`Publishing the result of an earlier run, ${run.path}`)
  // One that a power cut left half written can't be read, and is there.
  const file = (await runs.exists(join(run.path, 'outcome.json'))) ? 'published' : 'outcome'
  return await recordTheEnd(run, file, outcome => judgeAndPublish(fork, room, plan, run, outcome))
}

/** Writes how it ended, whatever happens. A second try that could not publish either leaves room for a third. */
async function recordTheEnd(
  { path, metadata: { startedAt } }: runs.Run,
  file: 'outcome' | 'published',
  work: (outcome: Partial<runs.Outcome>) => Promise<string>,
): Promise<string> {
  const outcome: Partial<runs.Outcome> = {}
  const end = (exitCode: ExitCode, line: string) =>
    runs.record(path, file, { exitCode, outcome: line, startedAt, endedAt: now(), ...outcome })
  try {
    const line = await work(outcome)
    await end(EXIT.done, line)
    return line
  } catch (error) {
    const failure = inWords(error)
    if (file === 'outcome' || failure.code === EXIT.refused) await end(failure.code, failure.message)
    throw failure
  }
}

async function describeTheRun(fork: Fork, room: Scratch, { start }: Merge, forkMd?: Buffer): Promise<runs.Metadata> {
  const { origin, upstream, openCode } = fork
  return {
    version,
    origin: origin.url,
    upstream: upstream.url,
    branch: origin.branch,
    upstreamBranch: upstream.branch,
    originCommit: origin.tip,
    startCommit: start,
    upstreamCommit: upstream.tip,
    conflicts: await runs.conflictsBetween(room, start, upstream.tip),
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

/** An earlier run whose result was never published. Where one ended without a result, it is not paid for again. */
async function whatIsPaidForAlready(earlier: runs.Run[], metadata: runs.Metadata): Promise<runs.Finished | undefined> {
  const unpublished = await runs.unpublished(earlier, metadata)
  if (unpublished) return unpublished
  const { code, path } = runs.answerBefore(earlier, metadata) ?? {}
  const remedy = 'Change FORK.md or the model, or run forklift --retry.'
  if (code === EXIT.stuck) throw new Failure(`Still stuck: see ${path}/STUCK.md. ${remedy}`, code)
  if (code === EXIT.timedOut) throw new Failure(`Time ran out on this before: see ${path}. ${remedy}`, code)
  if (code !== EXIT.refused) return undefined
  throw new Failure(`This result was refused before: see ${path}. Run forklift --retry to ask again.`, code)
}

// --- Workspace ------------------------------------------------------------------------------------------------------

/** A repository born without remotes, with only what the start and upstream's branch reach. */
async function prepareWorkspace(fork: Fork, room: Scratch, run: runs.Run, forkMd?: Buffer): Promise<void> {
  report.step(`Preparing the workspace in ${run.path}`)
  const [workspace, state] = [runs.workspaceOf(run), runs.harnessStateOf(run)]
  await mkdir(workspace)
  await mkdir(state)
  const { branch, upstreamBranch, startCommit: start, upstreamCommit: upstream } = run.metadata
  const here: Where = { cwd: workspace, env: OWN_CONFIG, signal: interruption.signal }
  const sh = shellIn(workspace, OWN_CONFIG, { signal: interruption.signal })
  await sh`git init --quiet --template= --object-format=${fork.format} --initial-branch=${branch}`
  await namesStayApart(here, room, start, upstream)
  const onHistory = [`--merged=${fork.origin.tip}`, `--merged=${upstream}`, '--format=%(objectname) %(refname)']
  const { stdout: tags } = await fork.sh`git for-each-ref ${onHistory} refs/tags`
  const refs = `${start} refs/heads/${branch}\n${upstream} refs/remotes/upstream/${upstreamBranch}\n`
  await writeFile(join(workspace, '.git/packed-refs'), refs + tags)
  await mkdir(join(workspace, '.git/info'))
  const wanted = `${start}\n${upstream}\n${tags.replace(/ .*/g, '')}`
  await fill(here, wanted, room, report)
  await takeUntidyFilesAsTheyAre(here)
  const inStart = (await runGit(room, ['cat-file', '-e', `${start}:FORK.md`], { ok: [0, 1, 128] })).code === 0
  await writeFile(join(workspace, '.git/info/exclude'), inStart ? '/STUCK.md\n' : '/STUCK.md\n/FORK.md\n')
  if (forkMd) await writeFile(join(state, 'fork-context.md'), forkMd)
  if (forkMd && !inStart) await writeFile(join(workspace, 'FORK.md'), forkMd)
  await writeFile(join(state, 'run.txt'), runs.factsOf(run.metadata))
  if (process.getuid?.() === 0) await shellIn(run.path)`chown -R -h 1000:1000 workspace harness-state`
}

// --- Agent ----------------------------------------------------------------------------------------------------------

/** Runs the container until it ends, its time is over or Forklift is interrupted; it is gone when this returns. */
async function runTheAgent(fork: Fork, run: runs.Run): Promise<runs.Agent> {
  interruption.signal.throwIfAborted()
  const { container: name, timeLimitSeconds: limit } = run.metadata
  const log = containerLogOf(run)
  // The value of --mount is a line of CSV: a comma in a path needs quotes.
  const csv = (field: string) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)
  const mount = (source: string, target: string) => ['--mount', `type=bind,${csv(`source=${source}`)},target=${target}`]
  const flags = [
    ['--rm', '--stop-timeout', String(GRACE_SECONDS), '--pull', 'never', '--name', name, '--label', `forklift=${name}`],
    ['--log-driver', 'none', '--read-only', '--tmpfs', '/tmp:exec,mode=1777,size=512m', '--cap-drop', 'ALL'],
    ['NET_ADMIN', 'SETUID', 'SETGID', 'SETPCAP'].flatMap(capability => ['--cap-add', capability]),
    ['--security-opt', 'no-new-privileges', '--pids-limit', '512', '--memory', '4g', '--memory-swap', '4g'],
    [...mount(runs.workspaceOf(run), '/workspace'), ...mount(runs.harnessStateOf(run), '/harness-state')],
    Object.keys(fork.openCode).flatMap(setting => ['--env', setting]),
  ].flat()
  await appendFile(log, `docker run ${flags.join(' ')} ${IMAGE}\n`)
  report.step(`The agent merges: ${fork.openCode.OPENCODE_MODEL}, at most ${clockFace(limit)}`)
  const begun = performance.now()
  const seconds = () => Math.round((performance.now() - begun) / 1000)
  // Ends the container when this process is gone (end of file on its input) or hangs.
  const watchdog = shellIn('/', {}, { nothrow: true, stdio: ['pipe', 'ignore', 'ignore'] })`
    read -r -t ${limit + 60} || for attempt in 1 2 3 4 5 6 7 8 9; do docker rm --force ${name} || true; sleep 1; done`
  const client = shellIn('/', fork.openCode, {
    detached: true,
    nothrow: true,
  })`exec docker run ${flags} ${IMAGE} >> ${log} 2>&1`
  const ended = (async () => (await client).exitCode ?? EXIT.agentFailed)()
  const gone = () => report.live(`${clockFace(seconds())} gone, ${clockFace(Math.max(limit - seconds(), 0))} left`)
  const clock = setInterval(gone, 1000)
  interruption.signal.addEventListener('abort', () => clearInterval(clock))
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, interruption.signal])
  const timeIsUp = sleep(limit * 1000, undefined, { signal }).catch(() => undefined)
  const code = await Promise.race([ended, timeIsUp])
  over.abort()
  const last = await endTheContainer(name, client, ended, code)
  clearInterval(clock)
  watchdog.stdin.end('over\n')
  // An interruption may meet an agent that has just ended well: what is paid for is kept.
  const isFinished = interruption.signal.aborted && last === EXIT.done
  if (!isFinished) interruption.signal.throwIfAborted()
  if (code === 125) throw new Failure(`docker did not start the container (${await lastWords(run)}): see ${log}.`)
  const exitCode = isFinished ? EXIT.done : (code ?? EXIT.timedOut)
  const agent = { exitCode, seconds: seconds(), ...(await usage(run)) }
  await runs.record(run.path, 'agent', agent)
  interruption.signal.throwIfAborted()
  return agent
}

/**
 * `docker stop` for the grace, then removal until it is gone: a kill can miss a container that is just being made, and
 * a client that ended by itself may have left it behind. Gives the client's exit code, where it has one in the end.
 */
async function endTheContainer(name: string, client: ProcessPromise, ended: Promise<number>, code: number | undefined) {
  if (code === EXIT.done) return code
  const docker = shellIn('/', {}, { nothrow: true, timeout: `${GRACE_SECONDS + 10}s` })
  await (code === undefined ? docker`docker stop ${name}` : docker`docker rm --force ${name}`)
  if (code !== undefined) return code
  for (let attempt = 0; attempt < 10; attempt++) {
    const end = await Promise.race([ended, sleep(1000)])
    if (end !== undefined) return end
    await docker`docker rm --force ${name}`
  }
  await client.kill('SIGKILL')
  return undefined
}

/** Where several ends hold, a time-out counts before being stuck, and that before a failure of the agent. */
async function theAgentEndedWell(room: Scratch, run: runs.Finished): Promise<void> {
  const { exitCode } = run.agent
  const { startCommit, upstreamCommit, timeLimitSeconds } = run.metadata
  const stuck = await newStuckFile(room, runs.workspaceOf(run), [startCommit, upstreamCommit])
  const place = stuck === undefined ? run.path : join(run.path, 'STUCK.md')
  if (stuck !== undefined) {
    await symlink('workspace/STUCK.md', place).catch(() => undefined)
    report.step(stuck.replace(/^/gm, '  | '))
  }
  if (exitCode === EXIT.timedOut)
    throw new Failure(`Time ran out (${clockFace(timeLimitSeconds)}): see ${place}.`, exitCode)
  if (stuck !== undefined)
    throw new Failure(`The agent is stuck: answer ${place} in FORK.md and run forklift again.`, EXIT.stuck)
  if (exitCode === 0) return
  throw new Failure(`The agent or its harness failed (${await lastWords(run)}): see ${place}.`, EXIT.agentFailed)
}

// --- Judgement ------------------------------------------------------------------------------------------------------

async function judgeAndPublish(
  fork: Fork,
  room: Scratch,
  plan: Merge,
  run: runs.Finished,
  outcome: Partial<runs.Outcome>,
) {
  await theAgentEndedWell(room, run)
  report.step('Judging the result')
  const { branch, startCommit: start, upstreamCommit: upstream } = run.metadata
  const left = { workspace: runs.workspaceOf(run), branch, known: [start, upstream] }
  const result = await takeBranch(room, left)
  outcome.result = result
  const judged = await review(room, { origin: fork.origin.tip, start, upstream, result })
  if (judged.stuck) {
    const committed = (await readStart(room, judged.stuck, 65_536)).toString()
    await writeFile(join(run.path, 'STUCK.md'), committed, { flag: 'wx' }).catch(() => undefined)
    report.step(preview(committed).replace(/^/gm, '  | '))
    throw new Failure(`The agent is stuck: answer ${run.path}/STUCK.md in FORK.md and run forklift again.`, EXIT.stuck)
  }
  if (judged.refusals.length > 0) {
    report.step(ledgerText(judged))
    throw new Failure(`Refused: ${judged.refusals.join(' ')} Nothing was pushed: see ${run.path}.`, EXIT.refused)
  }
  const range = ['--format=%B', '-n', '20', result, '--not', start, upstream]
  const log = runGit(room, ['log', ...range], { limit: 20_000 })
  const { model, variant, agent } = run.metadata
  const { seconds, requests, tokens } = run.agent
  const isCutShort = /The tests did not finish\.$/.test(await harnessSays(run))
  const notes = isCutShort ? ['The tests did not finish in time.'] : []
  const words = (await log).stdout.toString()
  const story = { ...storyOf(fork, plan), model, variant, agent, seconds, requests, tokens, words, notes }
  outcome.commit = await makeTheCommit(fork, room, run, commitMessage(judged, story))
  return await publish(fork, room, plan, outcome.commit, { judged, story, outcome })
}

/** The one commit that is published: the result's tree, the start and upstream as parents, whatever the agent chose. */
async function makeTheCommit(fork: Fork, room: Scratch, run: runs.Run, message: string): Promise<Oid> {
  const { name, email } = fork.identity
  const { startCommit: start, upstreamCommit: upstream } = run.metadata
  const author = { name, email }
  const tree = await read(room, ['rev-parse', 'refs/heads/result^{tree}'])
  const parents = [start, upstream]
  await using objects = openObjects(room)
  return await commit(objects, { tree, parents, message: `${message.trimEnd()}\n`, author, committer: author })
}

// --- Publication ----------------------------------------------------------------------------------------------------

type Publishable = Extract<Plan, { leftBehind: Head[] }>
type Told = { judged: Review; story: Story; outcome: Partial<runs.Outcome> }

async function publishWithoutAgent(fork: Fork, room: Scratch, plan: Publishable, tip: Oid): Promise<string> {
  const [origin, upstream] = [fork.origin.tip, fork.upstream.tip]
  const judged = await review(room, { origin, start: origin, upstream, result: tip })
  const story = { ...storyOf(fork, plan), fastForward: tip === upstream }
  return await publish(fork, room, plan, tip, { judged, story, outcome: {} })
}

function storyOf({ origin, upstream, github, repository }: Fork, plan: Publishable): Story {
  const leftBehind = plan.leftBehind.flatMap(({ pull }) => (pull ? [pull.html_url] : []))
  const branches = { originBranch: origin.branch, upstreamBranch: upstream.branch }
  const { allow_merge_commit: merge, allow_squash_merge: squash, allow_rebase_merge: rebase } = repository ?? {}
  const buttons = merge === undefined ? undefined : { merge, squash: squash ?? true, rebase: rebase ?? true }
  return { ...branches, origin: github?.place.web, upstream: upstream.web, buttons, leftBehind }
}

/** The branch to push to; undefined where a new one is due. A person may have merged or closed it meanwhile. */
async function theHeadNow(fork: Fork, head: Head | undefined): Promise<Head | undefined> {
  const { github, origin } = fork
  if (!github || !head?.pull) return head
  const { number, html_url: address } = head.pull
  const pulls = await github.pullsFrom(head.ref, origin.branch, 'all')
  const pull = pulls.find(it => it.number === number) ?? head.pull
  if (pull.state === 'open') return { ...head, pull }
  if (!pull.merged_at)
    throw new Failure(
      `A person closed ${address} while the agent worked: nothing was pushed. Run forklift for a new one.`,
    )
  if (await wire.hasNow(fork, origin, head.tip)) return undefined
  throw new Failure(`${address} was squashed while the agent worked, so this no longer fits it: run forklift again.`)
}

async function publish(fork: Fork, room: Scratch, plan: Publishable, commit: Oid, told: Told): Promise<string> {
  const { origin, github } = fork
  report.begin()
  const head = await theHeadNow(fork, plan.head)
  const ref = head?.ref ?? (await wire.newBranch(fork))
  told.outcome.branch = ref
  if (plan.kind === 'merge') {
    if (await wire.largeFilesCanBeCarried(fork)) await wire.carryLargeFiles(fork)
    report.step(`Pushing ${ref}`)
    const faster = await wire.push(fork, room, ref, commit, head?.tip ?? '')
    if (faster) return `Pull request of another run: ${faster.html_url}`
  }
  const ledger = github ? '' : ledgerText(told.judged)
  if (ledger) report.step(ledger)
  if (!github) return `Pushed ${ref} to origin: merge it into ${origin.branch} there, with a merge commit.`
  const { title, body, draft } = page(told.judged, told.story)
  const pull = head?.pull
  try {
    const text = { title, body: mergeBody(pull?.body ?? '', body) }
    const made = pull
      ? await github.update(pull, text)
      : await github.open({ ...text, head: ref, base: origin.branch, draft })
    told.outcome.pullRequest = made.html_url
    return `Pull request ${pull ? 'updated' : 'opened'}: ${made.html_url}`
  } catch (error) {
    const link = `${github.place.web}/compare/${origin.branch}...${ref}?expand=1`
    throw new Failure(`${ref} is pushed, its pull request is not made. ${inWords(error).message} By hand: ${link}`)
  }
}

// --- Ends -----------------------------------------------------------------------------------------------------------

/** The one place where an error becomes a sentence and an exit code. */
function inWords(error: unknown): Failure {
  if (interruption.signal.aborted) return interruption.signal.reason as Failure
  if (error instanceof Failure) return error
  const full = new Failure('The disk is full: free some space and run forklift again.')
  const isGit = error instanceof GitError
  if ((isGit || error instanceof ProcessOutput) && /No space left|Out of diskspace|quota exceeded/i.test(error.stderr))
    return full
  if (isGit) return new Failure(`git or docker failed: ${error.message}.`)
  if (error instanceof ProcessOutput) {
    const reason = error.stderr ? firstLine(error.stderr) : `ended by ${error.signal ?? error.exitCode}`
    return new Failure(`git or docker failed: ${reason}.`)
  }
  const { code, path, message } = error as NodeJS.ErrnoException
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code ?? '')) return full
  if (code && path) return new Failure(`${path} can't be used (${code}): check its owner and its disk.`)
  return new Failure(`${message}: this was not expected, please report it.`)
}

/** A second signal does not wait: then the watchdog removes the container. */
function interruptWith(code: ExitCode): void {
  if (interruption.signal.aborted) {
    report.end('Interrupted at once: the container is being removed, run forklift again.', true)
    process.exit(code)
  }
  report.step(`Interrupted: ending what runs, within ${GRACE_SECONDS} s (again: at once).`)
  interruption.abort(new Failure('Interrupted: nothing is left running, run forklift again.', code))
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
// Who reads our output may leave early, and what still waits for a dead engine may not keep us.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
await run(process.argv.slice(2))
process.stdout.write('', () => process.exit())
