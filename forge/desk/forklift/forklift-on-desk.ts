/**
 * Forklift on the desk. The two programs share no code: they exchange git refs, run directories, and command lines with
 * which the desk starts `forklift`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { basename } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import {
  isByAgent,
  projectOf,
  type RecordedRun,
  runsFolderIn,
  stampOf,
  stateFolder,
} from '../../../core/formats/forklift-run.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { listRefs } from '../../../core/git/refs.ts'
import { asBytes, asText, fields, isOid, type Oid } from '../../../core/git/repository.ts'
import { run as runGit } from '../../../core/git/run.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { bringStart, takeOver } from '../../taken-over/takeover.ts'
import { newMergingBranch } from '../branches/branch-operations.ts'
import { branchOfRef, HEADS } from '../branches/branches.ts'
import type { OpenBranches } from '../branches/open-branches.ts'
import { conflictRows } from '../conflicts/conflicts.ts'
import type { ForkliftRun, Forklift as Told } from '../contract/forklift.ts'
import type { News } from '../contract/news.ts'
import { mergeSourceInto } from '../steps/merge.ts'
import { waitForPerson } from '../steps/perform.ts'
import type { Stop } from '../steps/plan.ts'
import { endOfRun, letterOf, pullRequestOf, readRuns, wordsOfRun } from './forklift-runs.ts'

type Environment = Record<string, string | undefined>

export type ForkliftOptions = {
  /** The program with its first arguments, such as `forklift`. */
  command: readonly string[]
  /** The environment of the program, which also defines where its runs are. */
  env: Environment
}

/** At most this many runs are shown. */
const MAX_RUNS_SHOWN = 12
/** At most this many lines of Forklift's output are kept, the last ones. */
const MAX_OUTPUT_LINES = 500
/** At most this many characters of a line are kept. */
const MAX_OUTPUT_LINE_CHARS = 2_000
/** The outcomes that a user can continue from. */
const OPENABLE: readonly ForkliftRun['end'][] = ['stuck', 'timed out', 'refused']

/** The output of the Forklift started last: the branch it publishes, its lines, and its exit code. */
type Said = { branch?: string; lines: string[]; end?: number }
/** Whether a run began at or after a time. Both are whole milliseconds of the same clock. */
const isSince = (run: RecordedRun, since: number): boolean => Date.parse(run.metadata.startedAt) >= since
type Remotes = { origin: string; upstream: string }

export class ForkliftOnDesk {
  #child: ChildProcess | undefined
  /** When the running Forklift was started, in milliseconds since 1970. */
  #since = 0
  #said: Said | undefined
  /** The number of commits per pair of commits, cached. */
  readonly #counts = new Map<string, number>()

  constructor(
    readonly objects: Objects,
    readonly branches: OpenBranches,
    readonly options: ForkliftOptions,
    /** Sends news of changes. */
    readonly say: (news: News) => void,
  ) {}

  // --- State ---

  /** The fork, how far upstream is ahead, and the last runs. */
  async describe(): Promise<Told> {
    const remotes = await this.#remotes()
    if (typeof remotes === 'string') return { missing: remotes, runs: [], ...this.#now() }
    const runs = await this.#runs(remotes)
    const [upstream, branches] = await Promise.all([this.#upstream(remotes, runs), this.#branches()])
    const told = await Promise.all(runs.slice(0, MAX_RUNS_SHOWN).map(run => this.#tell(run, branches)))
    return { ...(upstream && { upstream }), runs: told, ...this.#now() }
  }

  /** Copies the output as of this reply; later lines come as news. */
  #now(): Pick<Told, 'isRunning' | 'said'> {
    const said = this.#said && { said: { ...this.#said, lines: [...this.#said.lines] } }
    return { isRunning: this.#child !== undefined, ...said }
  }

  /** The addresses of both remotes; or why this is no fork for Forklift, as a sentence. */
  async #remotes(): Promise<Remotes | string> {
    const { repository } = this.objects
    if (repository.workTree === undefined)
      return 'Forklift works in a checkout of a fork, and this repository has none.'
    const keys = ['config', '-z', '--get-regexp', '^remote\\.(origin|upstream)\\.url$']
    const { stdout } = await runGit(repository, keys, { ok: [0, 1] })
    const urls = new Map(fields(stdout).map(entry => entry.split(/\n(.*)/s).slice(0, 2) as [string, string]))
    const [origin, upstream] = [urls.get('remote.origin.url'), urls.get('remote.upstream.url')]
    if (upstream === undefined) return 'No upstream remote. To use Forklift here: git remote add upstream URL'
    if (origin === undefined) return 'This clone has no remote origin: name the fork by git remote add origin URL.'
    return { origin, upstream }
  }

  async #runs({ origin }: Remotes): Promise<RecordedRun[]> {
    const folder = runsFolderIn(stateFolder(this.options.env))
    return await readRuns(folder, projectOf(this.objects.repository.workTree ?? ''), origin)
  }

  /** How far upstream's branch is ahead of the fork's, as last fetched. */
  async #upstream({ upstream }: Remotes, runs: readonly RecordedRun[]): Promise<Told['upstream']> {
    const refs = await listRefs(this.objects.repository, ['refs/remotes/origin/', 'refs/remotes/upstream/'])
    const theirs = defaultBranch('upstream', refs, runs[0]?.metadata.upstreamBranch)
    const ours = defaultBranch('origin', refs, runs[0]?.metadata.branch)
    if (!theirs || !ours) return undefined
    const ahead = await this.#countBetween(ours.oid, theirs.oid)
    return { name: visible(ownerAndName(upstream)), branch: theirs.branch, ahead: ahead ?? 0 }
  }

  /** Counts the commits between two commits. Cached, since the answer for the same two never changes. */
  async #countOnce(old: Oid, tip: Oid): Promise<number | undefined> {
    const key = `${old}..${tip}`
    const count = this.#counts.get(key) ?? (await this.#countBetween(old, tip))
    if (count !== undefined) this.#counts.set(key, count)
    return count
  }

  async #countBetween(old: Oid, tip: Oid): Promise<number | undefined> {
    const { format } = this.objects.repository
    if (!isOid(format, old) || !isOid(format, tip)) return undefined
    const { code, stdout } = await runGit(this.objects.repository, ['rev-list', '--count', tip, `^${old}`, '--'], {
      ok: [0, 128],
    })
    return code === 0 ? Number(stdout.toString()) : undefined
  }

  async #branches(): Promise<Set<string>> {
    return new Set((await listRefs(this.objects.repository, [HEADS])).map(({ name }) => branchOfRef(name)))
  }

  async #tell(run: RecordedRun, branches: ReadonlySet<string>): Promise<ForkliftRun> {
    const { startCommit, upstreamCommit, startedAt } = run.metadata
    const byHand = 'byHand' in run.metadata ? run.metadata.byHand : undefined
    const end = endOfRun(run)
    const commits = end === 'merged' ? await this.#countOnce(startCommit, upstreamCommit) : undefined
    const isByHand = byHand !== undefined
    const pullRequest = pullRequestOf(run)
    const known = isByHand ? asBytes(byHand) : branchNameFor(run)
    return {
      run: basename(run.path),
      end,
      words: wordsOfRun(run, { commits, isOwn: this.#child !== undefined && isSince(run, this.#since) }),
      started: Date.parse(startedAt) / 1_000,
      ...(pullRequest !== undefined && { pullRequest }),
      canOpen: !isByHand && OPENABLE.includes(end),
      ...(branches.has(known) && { branch: known }),
      isByHand,
    }
  }

  // --- Opening a run ---

  /**
   * Opens a run as a branch at its start, with the merge of upstream waiting: with the agent's resolutions and its
   * report. If it is open already, returns that branch.
   */
  async open(name: string): Promise<string> {
    const remotes = await this.#remotes()
    if (typeof remotes === 'string') throw new Failure(remotes)
    const run = (await this.#runs(remotes)).find(it => basename(it.path) === name)
    if (!run)
      throw new Failure('There is no such run of Forklift any more: its directory is gone, or is not this fork’s.')
    const { canOpen } = await this.#tell(run, new Set())
    if (!canOpen) throw new Failure('This run ended otherwise: there is nothing in it to go on with.')
    const branch = branchNameFor(run)
    if ((await this.#branches()).has(branch)) return branch
    const start = await bringStart(this.objects, run)
    const letter = await letterOf(run)
    const left = await newMergingBranch(this.branches, branch, start, async held => {
      const source = { commit: run.metadata.upstreamCommit, words: asBytes(`upstream/${run.metadata.upstreamBranch}`) }
      const merge = await mergeSourceInto(this.objects, source, { branch, tip: start })
      const message = `Merge upstream/${run.metadata.upstreamBranch} into ${run.metadata.branch}\n`
      const words = { ours: asBytes(run.metadata.branch), theirs: source.words }
      const stop: Stop = {
        merge,
        ours: start,
        theirs: source.commit,
        words,
        state: { does: 'merge', message, todo: [] },
      }
      const marked = await conflictRows(this.objects, merge, { ours: start, theirs: source.commit, words })
      const taken = await takeOver(this.objects, run, { ...marked, words })
      await waitForPerson(held, {
        ...{ stop, ours: start, kind: 'open run', does: `go on with Forklift's run of ${stampOf(run.path)}` },
        forklift: { run: basename(run.path), ...(letter !== undefined && { stuck: letter }) },
        isNew: true,
        result: taken?.result,
        by: isByAgent(run) ? run.metadata.model : undefined,
      })
      return taken?.left
    })
    if (left !== undefined) this.say({ say: 'notice', words: left, isBad: true })
    return branch
  }

  // --- The program ---

  run(): void {
    this.#start([], undefined)
  }

  /** Starts Forklift to judge and publish a merge made on a branch. */
  async publish(branch: string): Promise<void> {
    const { isGone, merging, draftPaths } = await this.branches.work(branch)
    if (isGone) throw new Failure(`There is no branch ${visiblePath(branch)}.`)
    if (merging !== undefined)
      throw new Failure(`A merge waits in ${visiblePath(branch)}: finish it first, then publish it.`)
    if (draftPaths.length > 0)
      throw new Failure(`Not all of ${visiblePath(branch)} is saved: save or discard the drafts, then publish it.`)
    this.#start(['--publish', asText(branch)], branch)
  }

  /**
   * Interrupts the running Forklift as Ctrl-C does, so that Forklift stops its container first. Throws a {@link
   * Failure} if none is running.
   */
  stop(): void {
    if (!this.#child) throw new Failure('Forklift is not running here.')
    this.#child.kill('SIGINT')
  }

  /**
   * Starts Forklift as a process of its own, which continues when the browser or the desk is closed. Its output is sent
   * by line.
   */
  #start(args: readonly string[], branch: string | undefined): void {
    const { workTree } = this.objects.repository
    if (this.#child) throw new Failure('Forklift is running already: wait for it, or stop it.')
    if (workTree === undefined)
      throw new Failure('Forklift works in a checkout of a fork, and this repository has none.')
    const [program = '', ...first] = this.options.command
    const env = this.options.env as NodeJS.ProcessEnv
    const child = spawn(program, [...first, ...args], {
      ...{ cwd: workTree, env, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    this.#since = Date.now()
    const said: Said = { ...(branch !== undefined && { branch }), lines: [] }
    this.#said = said
    this.say({ say: 'forklift' })
    const tell = (text: string) => {
      const line = visible(text.slice(0, MAX_OUTPUT_LINE_CHARS)).trimEnd()
      if (line === '') return
      said.lines.push(line)
      if (said.lines.length > MAX_OUTPUT_LINES) said.lines.shift()
      this.say({ say: 'forklift', line })
    }
    const flushes = [child.stdout, child.stderr].map(stream => inLines(stream, tell))
    child.on('error', error => tell(`forklift could not be started: ${error.message}`))
    child.on('close', (code, signal) => {
      for (const flush of flushes) flush()
      this.#child = undefined
      said.end = code ?? (signal ? 128 + constants.signals[signal] : 1)
      this.say({ say: 'forklift', end: said.end })
      this.say({ say: 'repository' })
    })
    child.unref()
  }
}

/**
 * Calls `tell` with each line of a stream. Returns a function that reports the last, incomplete one. A progress line
 * (ended by \r) is reported when it is complete.
 */
function inLines(stream: NodeJS.ReadableStream, tell: (line: string) => void): () => void {
  const decoder = new TextDecoder()
  let rest = ''
  stream.on('data', (bytes: Buffer) => {
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split(/\r?\n|\r/)
    rest = (lines.pop() ?? '').slice(-MAX_OUTPUT_LINE_CHARS)
    for (const line of lines) tell(line)
  })
  return () => tell(rest)
}

/** The branch as which a run is opened. */
const branchNameFor = ({ path }: RecordedRun): string => `forklift-${stampOf(path)}`

/** The last two parts of an address, without secrets: owner/name. */
function ownerAndName(url: string): string {
  return /([^/:@]+\/[^/:@]+?)(?:\.git)?\/*$/.exec(url)?.[1] ?? 'upstream'
}

/** A remote's default branch as last fetched: by git's record, by the last run, or by the usual names. */
function defaultBranch(
  remote: string,
  refs: Awaited<ReturnType<typeof listRefs>>,
  known: string | undefined,
): { branch: string; oid: Oid } | undefined {
  const prefix = `refs/remotes/${remote}/`
  const head = refs.find(({ name }) => name === `${prefix}HEAD`)
  const candidates = [head?.symbolic?.slice(prefix.length), known, 'main', 'master']
  for (const branch of candidates) {
    const ref = branch === undefined ? undefined : refs.find(({ name }) => name === `${prefix}${branch}`)
    if (ref && branch !== undefined) return { branch, oid: ref.oid }
  }
  return undefined
}
