/**
 * The tasks on the desk. The two share no code: the desk reads what `forge` prints, and acts by starting it, as a
 * person would. Looking starts nothing, no server and no worker: what has ended or rests is read from git.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { listRefs } from '../../../core/git/refs.ts'
import { asText, type Repository } from '../../../core/git/repository.ts'
import { visibleLines } from '../../../core/text.ts'
import type { Fields } from '../contract/contract.ts'
import type {
  CheckedPlan,
  JournalLine,
  Landing,
  Run,
  Runs,
  ShownPlan,
  TaskDetail,
  TasksWord,
} from '../contract/tasks.ts'
import { RUNS } from '../refs.ts'
import { type CommandOptions, callForge } from './command.ts'
import { digestOf, toldCheckedPlan, toldJournal, toldLanding, toldPlan, toldRun, toldRuns, toldTask } from './told.ts'

/** Milliseconds after which a command that only reads is ended. */
const LOOK_TIMEOUT_MS = 60_000
/** Where a word is for a server that has to be started first, which may have to be downloaded. */
const ACT_TIMEOUT_MS = 10 * 60_000
/** How many reading commands run at a time: each is a process. */
const MAX_CONCURRENT_LOOKS = 2

export class Tasks {
  /** Looks that are under way. */
  readonly #looks = new Map<string, Promise<string[]>>()
  #busy = 0
  readonly #waiting: (() => void)[] = []

  constructor(
    readonly repository: Repository,
    readonly options: CommandOptions,
  ) {}

  /** Another mark where the refs of runs are different. */
  async mark(): Promise<{ mark: string }> {
    const refs = await listRefs(this.repository, [RUNS])
    return { mark: digestOf(refs.map(({ name, oid }) => `${name} ${oid}`).join('\n')) }
  }

  /** All runs. Where the tasks can't be used at all, the list says why. */
  async runs(): Promise<Runs> {
    try {
      return { runs: toldRuns(await this.#look(['runs', '--json'])) }
    } catch (error) {
      if (error instanceof Failure) return { missing: error.message, runs: [] }
      throw error
    }
  }

  /** A run. Throws a {@link Failure} in the words of `forge` where there is no such run, as all that follow. */
  async run(run: string): Promise<Run> {
    return toldRun(await this.#look(['show', run, '--json']))
  }

  async plan(run: string): Promise<ShownPlan> {
    return toldPlan(await this.#look(['show', run, '--plan', '--json']))
  }

  /** What is wrong with a plan as a person has edited it, or that plan whole. Nothing is changed. */
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

  /** What landing a run, or a task of it, onto a branch would show. */
  async landing({ run, task, onto }: Fields<'tasks landing'>): Promise<Landing> {
    return toldLanding(await this.#look(['land', run, ...some(task), `--onto=${asText(onto)}`, '--json']))
  }

  /** Tells a run something. Gives what `forge` says to it, line by line. */
  async tell(word: TasksWord): Promise<string[]> {
    const lines =
      word.tell === 'plan'
        ? await inFile(word.text, file => this.#call(planArguments(word, file), ACT_TIMEOUT_MS))
        : await this.#call(argumentsOf(word), ACT_TIMEOUT_MS)
    return lines.map(line => visibleLines(line))
  }

  /** What `forge` says to these arguments. Several windows that want to see the same wait for one process. */
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

  #call(args: readonly string[], patience: number): Promise<string[]> {
    const { workTree, gitDir } = this.repository
    return callForge(this.options, { args, cwd: workTree ?? gitDir, patience })
  }
}

/** Does something with a file of a text, for a command that reads one: it is there meanwhile. */
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

function argumentsOf(word: Exclude<TasksWord, PlanWord>): string[] {
  if (word.tell === 'approve') return ['approve', word.run, `--seen=${word.seen}`]
  const { run, task } = word
  switch (word.tell) {
    case 'answer':
      // After the two dashes nothing is an option, and with the line's end it is not taken for a wish for help.
      return [
        'answer',
        ...(word.mayWrite ?? []).map(glob => `--may-write=${glob}`),
        ...(word.with ?? []).map(path => `--with=${path}`),
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
