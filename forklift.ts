#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Forklift keeps a fork current: it fetches both remotes, lets an agent merge upstream in a container without access to
 * the user's network and files, judges the result with git alone, and opens a pull request. main() lists the steps; the
 * functions for them follow in the same order. (The options in the first line ignore the .env and bunfig.toml of the
 * checkout, which are upstream's code.)
 */
import { appendFile, lstat, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AGENT_USER, GRACE_SECONDS, IMAGE, LOCK, mountFlags, NOT_STARTED, runToItsEnd } from './core/container.ts'
import { EXIT, type ExitCode, Failure } from './core/failure.ts'
import {
  type AgentEnd,
  type AgentRun,
  type AgentRunTask,
  harnessStateOf,
  runFileOf,
  stampOf,
  stateFolder,
  workspaceOf,
} from './core/formats/forklift-run.ts'
import { isAncestor } from './core/git/commits.ts'
import { OWN_CONFIG } from './core/git/environment.ts'
import type { Oid } from './core/git/repository.ts'
import { openScratch, type Scratch } from './core/git/scratch.ts'
import type { MergeReview } from './core/review.ts'
import { shellIn } from './core/shell.ts'
import { clockFace } from './core/text.ts'
import { allOf } from './core/together.ts'
import { takeBranch } from './core/untrusted.ts'
import { inWords } from './forklift/errors.ts'
import { type Fork, remoteBranchName } from './forklift/fork.ts'
import { readForkMd } from './forklift/fork-md.ts'
import { tidy } from './forklift/house-keeping.ts'
import { keepGitSettings, makeSafeToLookAt } from './forklift/leftovers.ts'
import { containerLogOf, harnessSays, lastWords, usage } from './forklift/logs.ts'
import { nothingToDo, type RunSteps, recordTheEnd } from './forklift/outcome.ts'
import { decideWhereToStart, type MergePlan } from './forklift/plan.ts'
import { lookAround, verifyItCanBePublished } from './forklift/preflight.ts'
import { publishByHand } from './forklift/publish-by-hand.ts'
import * as remotes from './forklift/remotes.ts'
import * as runs from './forklift/runs.ts'
import { type AgentSetup, parseOptions, type RunOptions } from './forklift/settings.ts'
import { Report } from './forklift/terminal.ts'
import {
  judgeAndPublish,
  publishAsItIs,
  verifyItIsAccepted,
  verifyItIsNotStuck,
  verifyTheAgentEndedWell,
} from './forklift/verdict.ts'
import { fill, namesStayApart, takeUntidyFilesAsTheyAre } from './forklift/workspace.ts'
import { SETTINGS_FILE } from './harness/agents/chosen/settings.ts'
import { version } from './package.json'

const HELP = `forklift: brings upstream's new commits into this fork as a pull request.

Run it in a checkout of a fork with the remotes origin (the fork) and upstream (what was forked).

  --model M, --variant V, --agent A   override ${SETTINGS_FILE}
  --check      check that everything is ready, one line for each check; changes nothing
  --retry      ask the agent again about a merge that got stuck, took too long, was refused or was thrown away
  --publish B  judge your own merge on branch B, and open the pull request; no agent is asked
  --anyway     with --publish: open a draft even if the merge is refused
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

/** Runs all steps. Gives the last line of output for a good end; any other end is thrown. */
async function main(options: RunOptions, report: Report, signal: AbortSignal): Promise<string> {
  // With these options, the user waits at a terminal: print from the start.
  if (options.check || options.publish !== undefined) report.begin()
  const { fork: listed, setup } = await lookAround(options, report, signal)
  if (options.check) return 'Everything is ready.'
  const [fork] = await allOf<[Fork, unknown, unknown]>([
    remotes.fetchBothBranches(listed, report),
    remotes.forgetWhatIsGone(listed),
    tidyUp(listed, report),
  ])
  const [base] = await Promise.all([mergeBase(fork), setup && sayWhatIsUnpushed(fork, report)])
  if (base === fork.upstream.tip && options.publish === undefined)
    return nothingToDo(`${remoteBranchName(fork.upstream)} is in ${remoteBranchName(fork.origin)}`, signal)
  const { objects, format } = fork.repository
  await using scratch = await openScratch({ parent: fork.state, borrowed: [objects], format, signal })
  if (!setup) return await publishByHand(fork, scratch, options, base, report)
  const plan = await decideWhereToStart(fork, scratch, false, report)
  if (plan.kind === 'nothing') return nothingToDo(plan.because, signal)
  if (plan.kind === 'propose') return await publishAsItIs(fork, scratch, plan, plan.head.tip, report)
  const [isForward] = await Promise.all([
    isAncestor(scratch, plan.start, fork.upstream.tip),
    verifyItCanBePublished(fork, scratch, base, report),
  ])
  if (isForward) report.step('The fork has nothing of its own to merge: upstream is taken as it is, without the agent.')
  if (isForward) return await publishAsItIs(fork, scratch, plan, fork.upstream.tip, report)
  const forkMd = await readForkMd(fork.top, scratch, plan.start, text => report.note(text))
  const task = await runs.describeRun(fork, setup, scratch, plan.start, forkMd)
  const earlier = await runs.earlierRuns(fork)
  const dropped = runs.thrownAway(earlier, task, fork.origin.heads, fork.host !== undefined)
  if (dropped && !options.retry)
    return nothingToDo(
      `a person dropped what was made for this upstream commit (${dropped}): --retry makes it again`,
      signal,
    )
  report.begin()
  const unpublished = options.retry ? undefined : await runs.whatIsPaidForAlready(earlier, task)
  if (unpublished) return await publishEarlier(fork, scratch, plan, unpublished, report)
  return await mergeWithTheAgent(fork, setup, scratch, plan, task, forkMd, report)
}

async function tidyUp(fork: Fork, report: Report): Promise<void> {
  const sh = shellIn({ cwd: '/' }, { nothrow: true, timeout: '20s' })
  const containers = async () =>
    (await sh`docker ps --filter label=forklift --format ${'{{.Names}}'}`).stdout.split('\n')
  const gone = await tidy(fork.state, containers, fork.repository.signal)
  if (gone.length > 0) report.step(`Removed old runs: ${gone.join(', ')}`)
}

// --- Whether there is anything to do --------------------------------------------------------------------------------

async function mergeBase({ repository, origin, upstream }: Fork): Promise<Oid> {
  const base = await shellIn(repository, { nothrow: true })`git merge-base ${origin.tip} ${upstream.tip}`
  if (base.exitCode === 0) return base.stdout.trim()
  if (base.exitCode !== 1) throw base
  const pair = `${remoteBranchName(origin)} and ${remoteBranchName(upstream)}`
  throw new Failure(`${pair} have no common ancestor: check the URL of upstream (git remote -v).`)
}

async function sayWhatIsUnpushed({ repository, origin: { branch } }: Fork, report: Report): Promise<void> {
  const local = `refs/remotes/origin/${branch}..refs/heads/${branch}`
  const ahead = (await shellIn(repository, { nothrow: true })`git rev-list --count ${local}`).stdout.trim()
  if (ahead > '0') report.note(`${ahead} unpushed commits on ${branch} are not part of this run.`)
}

// --- Run directory --------------------------------------------------------------------------------------------------

async function mergeWithTheAgent(
  fork: Fork,
  setup: AgentSetup,
  scratch: Scratch,
  plan: MergePlan,
  described: AgentRunTask,
  forkMd: Buffer | undefined,
  report: Report,
): Promise<string> {
  const path = await runs.claimRunDirectory(fork)
  const metadata = { ...described, container: `forklift-${fork.project}-${stampOf(path)}-${process.pid}` }
  const steps = async function* (): RunSteps {
    await runs.recordFile(path, 'metadata', metadata)
    await prepareWorkspace(fork, scratch, { path, metadata }, forkMd, report)
    try {
      const agent = await runTheAgent(fork, setup, { path, metadata }, report)
      yield { agentSeconds: agent.seconds }
      return yield* takeAndPublish(fork, scratch, plan, { path, metadata, agent }, report)
    } finally {
      const trouble = await makeSafeToLookAt({ path })
      if (trouble) report.note(trouble)
    }
  }
  return await recordTheEnd({ path, metadata }, 'outcome', steps(), fork.repository.signal)
}

async function publishEarlier(fork: Fork, scratch: Scratch, plan: MergePlan, run: runs.FinishedRun, report: Report) {
  report.step(`Publishing the result of an earlier run, ${run.path}`)
  // An outcome file that a power failure has cut off can't be read, but is not overwritten: this result goes to another
  // file.
  const file = (await runs.exists(runFileOf(run, 'outcome'))) ? 'published' : 'outcome'
  return await recordTheEnd(run, file, takeAndPublish(fork, scratch, plan, run, report), fork.repository.signal)
}

// --- Workspace ------------------------------------------------------------------------------------------------------

/** Makes a repository without remotes, with only the history of the start and of upstream's branch. */
async function prepareWorkspace(
  fork: Fork,
  scratch: Scratch,
  run: AgentRun,
  forkMd: Buffer | undefined,
  report: Report,
): Promise<void> {
  report.step(`Preparing the workspace in ${run.path}`)
  const { signal, format } = fork.repository
  const [workspace, state] = [workspaceOf(run), harnessStateOf(run)]
  await mkdir(workspace)
  await mkdir(state)
  const { branch, upstreamBranch, startCommit: start, upstreamCommit: upstream } = run.metadata
  const inside = { cwd: workspace, env: OWN_CONFIG, signal }
  await shellIn(inside)`git init --quiet --template= --object-format=${format} --initial-branch=${branch}`
  await namesStayApart(inside, scratch, start, upstream)
  const onHistory = [`--merged=${fork.origin.tip}`, `--merged=${upstream}`, '--format=%(objectname) %(refname)']
  const { stdout: tags } = await shellIn(fork.repository)`git for-each-ref ${onHistory} refs/tags`
  const refs = `${start} refs/heads/${branch}\n${upstream} refs/remotes/upstream/${upstreamBranch}\n`
  await writeFile(join(workspace, '.git/packed-refs'), refs + tags)
  await mkdir(join(workspace, '.git/info'))
  const wanted = `${start}\n${upstream}\n${tags.replace(/ .*/g, '')}`
  await fill(inside, wanted, scratch, report)
  await takeUntidyFilesAsTheyAre(inside)
  const inStart = (await lstat(join(workspace, 'FORK.md')).catch(() => undefined)) !== undefined
  await writeFile(join(workspace, '.git/info/exclude'), inStart ? '/STUCK.md\n' : '/STUCK.md\n/FORK.md\n')
  if (forkMd) await writeFile(join(state, 'fork-context.md'), forkMd)
  if (forkMd && !inStart) await writeFile(join(workspace, 'FORK.md'), forkMd)
  await writeFile(join(state, 'run.txt'), runs.factsOf(run.metadata))
  await keepGitSettings(run)
  if (process.getuid?.() === 0)
    await shellIn({ cwd: run.path })`chown -R -h ${AGENT_USER}:${AGENT_USER} workspace harness-state`
}

// --- Agent ----------------------------------------------------------------------------------------------------------

/**
 * Runs the container until it ends, its time limit is reached or Forklift is interrupted. The container is removed when
 * this returns.
 */
async function runTheAgent(fork: Fork, setup: AgentSetup, run: AgentRun, report: Report): Promise<AgentEnd> {
  const { signal } = fork.repository
  const { container: name, timeLimitSeconds: limit } = run.metadata
  const log = containerLogOf(run)
  const mounts = mountFlags([
    { source: workspaceOf(run), target: '/workspace' },
    { source: harnessStateOf(run), target: '/harness-state' },
  ])
  const settings = Object.keys(setup.agent.environment).flatMap(setting => ['--env', setting])
  const known = ['--pull', 'never', '--name', name, '--label', `forklift=${name}`]
  const flags = [...known, ...LOCK, ...mounts, ...settings]
  signal.throwIfAborted()
  await appendFile(log, `docker run --rm --stop-timeout ${GRACE_SECONDS} ${flags.join(' ')} ${IMAGE}\n`)
  report.step(`The agent merges: ${setup.agent.model}, at most ${clockFace(limit)}`)
  const onSecond = (gone: number) =>
    report.live(`${clockFace(gone)} gone, ${clockFace(Math.max(limit - gone, 0))} left`)
  const sh = shellIn({ cwd: '/', env: setup.agent.environment }, { nothrow: true })
  const { wasStopped, exitCode, seconds } = await runToItsEnd(
    { name, seconds: limit, signal, onSecond },
    () => sh`exec docker run --rm --stop-timeout ${GRACE_SECONDS} ${flags} ${IMAGE} >> ${log} 2>&1`,
  )
  // If the agent ended well just as the interruption came, its result is kept: it has been paid for.
  if (exitCode !== EXIT.done) signal.throwIfAborted()
  if (!wasStopped && exitCode === NOT_STARTED)
    throw new Failure(`docker did not start the container (${await lastWords(run)}): see ${log}.`)
  const timedOut = wasStopped && !signal.aborted
  const agent = { exitCode: timedOut ? EXIT.timedOut : (exitCode ?? EXIT.agentFailed), seconds, ...(await usage(run)) }
  await runs.recordFile(run.path, 'agent', agent)
  signal.throwIfAborted()
  return agent
}

// --- Judgement ------------------------------------------------------------------------------------------------------

/** Reads the agent's commits, judges them, and publishes them. */
async function* takeAndPublish(
  fork: Fork,
  scratch: Scratch,
  plan: MergePlan,
  run: runs.FinishedRun,
  report: Report,
): RunSteps {
  await verifyTheAgentEndedWell(scratch, run, report)
  report.step('Judging the result')
  const { branch, startCommit: start, upstreamCommit: upstream, model, variant, agent } = run.metadata
  const result = await takeBranch(scratch, { workspace: workspaceOf(run), branch, known: [start, upstream] })
  yield { result }
  const commits = { origin: fork.origin.tip, start, upstream, result }
  const { seconds, requests, tokens } = run.agent
  const isCutShort = /The tests did not finish\.$/.test(await harnessSays(run))
  const notes = isCutShort ? ['The tests did not finish in time.'] : []
  const maker = { model, variant, agent, seconds, requests, tokens, notes }
  const verify = async (judged: MergeReview) => {
    await verifyItIsNotStuck(scratch, run, judged, report)
    verifyItIsAccepted(judged, `see ${run.path}`, report)
  }
  return yield* judgeAndPublish(fork, scratch, plan, { commits, tip: result, maker, again: 'forklift', verify }, report)
}

// --- Ends -----------------------------------------------------------------------------------------------------------

/**
 * Runs main() and prints its last line. A second signal ends this process at once: then the watchdog removes the
 * container.
 */
async function runToTheLastLine(argv: string[]): Promise<void> {
  const report = new Report()
  const interruption = new AbortController()
  const interruptWith = (code: ExitCode) => () => {
    if (interruption.signal.aborted) {
      report.end('Interrupted at once: the container is being removed, run forklift again.', true)
      process.exit(code)
    }
    report.step(`Interrupted: ending what runs, within ${GRACE_SECONDS} s (again: at once).`)
    interruption.abort(new Failure('Interrupted: nothing is left running, run forklift again.', code))
  }
  process.on('SIGINT', interruptWith(EXIT.interrupted))
  process.on('SIGTERM', interruptWith(EXIT.terminated))
  process.on('SIGHUP', interruptWith(EXIT.terminated))
  try {
    const options = parseOptions(argv)
    if (options.help) return console.log(HELP)
    if (options.version) return console.log(version)
    report.end(await main(options, report, interruption.signal), false)
  } catch (error) {
    const failure = await inWords(error, interruption.signal, stateFolder(process.env))
    report.end(failure.message, true)
    process.exitCode = failure.code
  }
}

// The reader of the output may close it early (EPIPE), and a request to a dead engine must not keep the process alive.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
await runToTheLastLine(process.argv.slice(2))
process.stdout.write('', () => process.exit())
