/**
 * The tasks on the desk. The two share no code: the desk reads the output of `forge`, and acts by running it. Reading
 * starts no server and no worker: ended and paused runs are read from git.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { listRefs } from '../../../core/git/refs.ts'
import { asText, type Repository } from '../../../core/git/repository.ts'
import { visibleLines } from '../../../core/text.ts'
import { RunId } from '../../formats/tasks-json.ts'
import type { Answer, Fields } from '../contract/contract.ts'
import type {
  CheckedPlan,
  JournalLine,
  Landing,
  Lesson,
  Run,
  Runs,
  ShownPlan,
  TaskDetail,
  TasksWord,
} from '../contract/tasks.ts'
import { RUNS } from '../refs.ts'
import { type CommandOptions, callForge } from './command.ts'
import {
  digestOf,
  toldCheckedPlan,
  toldJournal,
  toldLanding,
  toldLessons,
  toldPlan,
  toldRun,
  toldRuns,
  toldStart,
  toldTask,
} from './told.ts'

/** Time limit of commands that only read, in milliseconds. */
const LOOK_TIMEOUT_MS = 60_000
/** Time limit of answers and decisions, in milliseconds: they may have to download and start the server first. */
const ACT_TIMEOUT_MS = 10 * 60_000
/** At most this many reading commands run at a time, since each is a process. */
const MAX_CONCURRENT_LOOKS = 2

export class Tasks {
  /** The running commands that only read, by their arguments. */
  readonly #looks = new Map<string, Promise<string[]>>()
  #busy = 0
  readonly #waiting: (() => void)[] = []

  constructor(
    readonly repository: Repository,
    readonly options: CommandOptions,
  ) {}

  /** A digest of the refs of all runs, which changes whenever one of them does, and the names of these runs. */
  async mark(): Promise<Answer<'tasks mark'>> {
    const refs = await listRefs(this.repository, [RUNS])
    const names = new Set(refs.map(({ name }) => name.slice(RUNS.length).split('/')[0] ?? ''))
    return {
      mark: digestOf(refs.map(({ name, oid }) => `${name} ${oid}`).join('\n')),
      // The names begin with the date.
      runs: [...names].filter(name => v.is(RunId, name)).toSorted((one, other) => (one < other ? 1 : -1)),
    }
  }

  /** All runs. If the tasks can't be used at all, the list says why. */
  async runs(): Promise<Runs> {
    try {
      return { runs: toldRuns(await this.#look(['runs', '--json'])) }
    } catch (error) {
      if (error instanceof Failure) return { missing: error.message, runs: [] }
      throw error
    }
  }

  /** A run. Throws a {@link Failure} with the message of `forge` if there is none, as do the following methods. */
  async run(run: string): Promise<Run> {
    return toldRun(await this.#look(['show', run, '--json']))
  }

  async plan(run: string): Promise<ShownPlan> {
    return toldPlan(await this.#look(['show', run, '--plan', '--json']))
  }

  /** Checks an edited plan: returns the linter's messages, or the whole plan. Changes nothing. */
  async checkPlan(run: string, text: string): Promise<CheckedPlan> {
    return await inFile(text, async file =>
      toldCheckedPlan(await this.#read(['plan', run, `--file=${file}`, '--json'])),
    )
  }

  async task(run: string, task: string): Promise<TaskDetail> {
    return toldTask(await this.#look(['show', run, task, '--json']))
  }

  async journal(run: string, task?: string): Promise<JournalLine[]> {
    return toldJournal(await this.#look(['show', run, ...some(task), '--journal', '--json']))
  }

  /** The lessons that runs of this repository have learned. */
  async lessons(): Promise<Lesson[]> {
    return toldLessons(await this.#look(['playbooks', '--json']))
  }

  /** The preview of landing a run, or a task of it, onto a branch. */
  async landing({ run, task, onto }: Fields<'tasks landing'>): Promise<Landing> {
    return toldLanding(await this.#look(['land', run, ...some(task), `--onto=${asText(onto)}`, '--json']))
  }

  /**
   * Starts a run, which the end of the desk does not stop; its plan waits for approval. Throws a {@link Failure} with
   * the message of `forge` if nothing was started.
   */
  async start({
    wish,
    base,
    cost,
    minutes,
    atMost,
    isBatched,
    models = {},
  }: Fields<'start run'>): Promise<Answer<'start run'>> {
    const options = [
      `--base=refs/heads/${asText(base)}`,
      ...limitsOf({ cost, minutes }),
      `--at-most=${atMost}`,
      // The user's own setting (FORGE_BATCH) is not used, as the page shows a choice.
      isBatched ? '--batch' : '--no-batch',
      ...Object.entries(models).map(([tier, names]) => `--model=${tier}=${names}`),
    ]
    return await inFile(wish, async file =>
      toldStart(await this.#call(['run', '--detach', '--json', ...options, file], ACT_TIMEOUT_MS)),
    )
  }

  /** Starts a run that resolves the merge of a run of Forklift in parts. */
  async resolveInParts({ forklift }: Fields<'resolve in parts'>): Promise<Answer<'resolve in parts'>> {
    return toldStart(await this.#call(['resolve', `--forklift=${forklift}`, '--detach', '--json'], ACT_TIMEOUT_MS))
  }

  /** Has the run keep what it has resolved of its merge, at a ref from which the desk opens it. */
  async keepMerge(run: string): Promise<void> {
    await this.#call(['resolve', '--open', run, '--json'], LOOK_TIMEOUT_MS)
  }

  /** Sends an answer or a decision to a run. Returns the output of `forge`, by line. */
  async tell(word: TasksWord): Promise<string[]> {
    const lines =
      word.tell === 'plan'
        ? await inFile(word.text, file => this.#call(planArguments(word, file), ACT_TIMEOUT_MS))
        : word.tell === 'edit lesson'
          ? await inFile(word.text, file =>
              this.#call(['playbooks', 'edit', word.id, `--file=${file}`], ACT_TIMEOUT_MS),
            )
          : await this.#call(argumentsOf(word), ACT_TIMEOUT_MS)
    return lines.map(line => visibleLines(line))
  }

  /** The output of `forge` for some arguments. Windows that ask for the same share one process. */
  #look(args: readonly string[]): Promise<string[]> {
    const key = JSON.stringify(args)
    const known = this.#looks.get(key)
    if (known) return known
    const looking = this.#read(args).finally(() => this.#looks.delete(key))
    this.#looks.set(key, looking)
    return looking
  }

  async #read(args: readonly string[]): Promise<string[]> {
    while (this.#busy >= MAX_CONCURRENT_LOOKS) await new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#busy++
    try {
      return await this.#call(args, LOOK_TIMEOUT_MS)
    } finally {
      this.#busy--
      this.#waiting.shift()?.()
    }
  }

  #call(args: readonly string[], timeoutMs: number): Promise<string[]> {
    const { workTree, gitDir } = this.repository
    return callForge(this.options, { args, cwd: workTree ?? gitDir, timeoutMs })
  }
}

/** Runs a task with a temporary file that contains a text. */
async function inFile<Result>(text: string, task: (file: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'forge-plan-'))
  const file = join(folder, 'plan.yaml')
  try {
    await writeFile(file, text, { mode: 0o600 })
    return await task(file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type PlanWord = Extract<TasksWord, { tell: 'plan' }>

const planArguments = ({ run, seen }: PlanWord, file: string): string[] => [
  'plan',
  run,
  `--file=${file}`,
  '--yes',
  `--seen=${seen}`,
]

function argumentsOf(word: Exclude<TasksWord, PlanWord | { tell: 'edit lesson' }>): string[] {
  if (word.tell === 'remove lesson') return ['playbooks', 'remove', word.id]
  if (word.tell === 'approve') return ['approve', word.run, `--seen=${word.seen}`]
  if (word.tell === 'replan') return ['plan', '--', word.run, `${word.text}\n`]
  const { run, task } = word
  switch (word.tell) {
    case 'answer':
      // After the two dashes nothing is an option; with a newline the text is not taken for a request for help.
      return [
        'answer',
        ...(word.mayWrite ?? []).map(glob => `--may-write=${glob}`),
        ...(word.with ?? []).map(path => `--with=${path}`),
        ...(word.onlyWords ? ['--only-words'] : []),
        '--',
        run,
        ...some(task),
        `${word.text}\n`,
      ]
    case 'resume':
      return ['resume', run, ...some(task), ...limitsOf(word.limits)]
    case 'land':
      return [
        'land',
        run,
        ...some(task),
        `--onto=${asText(word.onto)}`,
        '--yes',
        `--seen=${word.tree}`,
        ...(word.anyway ? ['--anyway'] : []),
      ]
    default:
      return [word.tell, run, ...some(task)]
  }
}

function limitsOf({ cost, requests, minutes }: NonNullable<Extract<TasksWord, { tell: 'resume' }>['limits']> = {}) {
  return [
    ...(cost === undefined ? [] : [`--budget=${cost.toFixed(2)}`]),
    ...(requests === undefined ? [] : [`--requests=${requests}`]),
    ...(minutes === undefined ? [] : [`--minutes=${minutes}`]),
  ]
}

const some = (word: string | undefined): string[] => (word === undefined ? [] : [word])
