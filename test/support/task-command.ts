/**
 * A command `forge` for the desk that prints the output that a test has written, in the format of `forge … --json`, and
 * records its arguments. (Runs of the real command are tested in tasks/true-run.test.ts.)
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JournalLine, Landing, Run, RunTask, ShownPlan, TaskDetail } from '../../forge/desk/contract/tasks.ts'
import type { CommandOptions } from '../../forge/desk/tasks/command.ts'
import type {
  ListedRun,
  RunStatus,
  ShownLanding,
  ShownRun,
  ShownTask,
  WrittenLine,
} from '../../forge/formats/tasks-json.ts'
import { git } from './git.ts'

/** Prints the file that the arguments name. Other commands are recorded, and answered by the file `said`. */
const SCRIPT = `
if [ -e "$SAYS/failure" ]; then
  cat "$SAYS/failure" >&2
  exit 1
fi
case "$*" in
  land*--yes*) ;;
  land*) exec cat "$SAYS/landing" ;;
  *--json) exec cat "$SAYS/$*" ;;
esac
for word; do printf '%s\\0' "$word"; done >>"$SAYS/told"
printf '\\0' >>"$SAYS/told"
exec cat "$SAYS/said"
`

export type Scene = {
  runs: Run[]
  /** The plans of tasks, by their ids. */
  details?: Record<string, TaskDetail>
  plan?: ShownPlan
  journal?: JournalLine[]
  landing?: Landing
}

export class TaskCommand {
  #changes = 0
  readonly #runs: Map<string, Run>

  private constructor(
    readonly folder: string,
    readonly scene: Scene,
  ) {
    this.#runs = new Map(scene.runs.map(run => [run.run, run]))
  }

  /** Makes the folder for the command's output, and the command. */
  static async in(folder: string, scene: Scene): Promise<TaskCommand> {
    await mkdir(folder)
    const command = new TaskCommand(folder, scene)
    await command.says(['Done.'])
    await command.#write()
    return command
  }

  get options(): CommandOptions {
    return { command: ['/bin/sh', '-c', SCRIPT, 'forge'], env: { PATH: process.env.PATH, SAYS: this.folder } }
  }

  /** The arguments of each recorded command, oldest first. */
  async told(): Promise<string[][]> {
    const text = await readFile(join(this.folder, 'told'), 'utf8').catch(() => '')
    return text
      .split('\0\0')
      .slice(0, -1)
      .map(words => words.split('\0'))
  }

  /** Sets the output for recorded commands. */
  async says(lines: string[]): Promise<void> {
    await writeFile(join(this.folder, 'said'), lines.join('\n'))
  }

  async lands(landing: Landing): Promise<void> {
    await this.#put('landing', [{ onto: 'main', ...landing } satisfies ShownLanding])
  }

  /** Makes the command fail with a message. */
  async fails(words: string): Promise<void> {
    await rm(join(this.folder, 'runs --json'))
    await writeFile(join(this.folder, 'failure'), `${words}\n`)
  }

  /** Changes the state of a run, and moves one of its refs. */
  async change(repository: string, run: string, more: Partial<Run>): Promise<void> {
    const before = this.#runs.get(run)
    if (!before) throw new Error(`There is no run ${run}`)
    this.#runs.set(run, { ...before, ...more })
    await this.#write()
    const words = ['-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit-tree', 'main^{tree}', '-m']
    const oid = await git(repository, ...words, String(++this.#changes))
    await git(repository, 'update-ref', `refs/forge/runs/${run}/state`, oid)
  }

  async changeTask(repository: string, run: string, id: string, more: Partial<RunTask>): Promise<void> {
    const tasks = this.#runs.get(run)?.tasks.map(task => (task.id === id ? { ...task, ...more } : task))
    await this.change(repository, run, { ...(tasks && { tasks }) })
  }

  async #put(name: string, values: unknown[]): Promise<void> {
    // Renamed into place, so that a command that runs meanwhile prints all of the old file or all of the new one.
    const file = join(this.folder, name)
    await writeFile(`${file}.new`, values.map(value => `${JSON.stringify(value)}\n`).join(''))
    await rename(`${file}.new`, file)
  }

  async #write(): Promise<void> {
    const { plan, landing, journal = [], details = {} } = this.scene
    const runs = [...this.#runs.values()]
    if (landing) await this.lands(landing)
    for (const run of runs) {
      const written = journal.map(line => writtenLine(run.run, line))
      await this.#put(`show ${run.run} --json`, [shownRun(run)])
      await this.#put(`show ${run.run} --journal --json`, written)
      if (plan) await this.#put(`show ${run.run} --plan --json`, [plan])
      for (const task of run.tasks) {
        const own = written.filter(line => line.task === task.id)
        await this.#put(`show ${run.run} ${task.id} --json`, [shownTask(task, details[task.id])])
        await this.#put(`show ${run.run} ${task.id} --journal --json`, own)
      }
    }
    // The list of runs is written last, since the page loads a run again when the list says that it has changed.
    const listed = runs.map(run => ({ run: run.run, wish: run.wish, status: statusOf(run) }) satisfies ListedRun)
    await this.#put('runs --json', listed)
  }
}

const statusOfTask = ({ tip, ...task }: RunTask): RunStatus['tasks'][number] => ({
  ...task,
  ...(tip !== undefined && { head: tip }),
})

function statusOf({ run, state, words, complaints, tasks, spent, batch, limit, hasResult }: Run): RunStatus {
  const result = hasResult ? { result: 'a'.repeat(40) } : {}
  return {
    run,
    state,
    words,
    complaints,
    tasks: tasks.map(statusOfTask),
    spent,
    batch,
    ...(limit && { limit }),
    ...result,
  }
}

function shownRun(run: Run): ShownRun {
  const { wish, limits, title, summary, contract, asks, report, unchecked, began } = run
  const shown = { wish, title, summary, contract, asks, tells: report, unchecked }
  const since = began === undefined ? {} : { began: began * 1_000 }
  return { ...statusOf(run), ...shown, ...since, limits: { depth: 2, ...limits } } as ShownRun
}

function shownTask(task: RunTask, detail: TaskDetail | undefined): ShownTask {
  if (!detail) return statusOfTask(task)
  const { asks, outside, behaviour = '', outputs, acceptance, write, never, checks, reviews, tier = '' } = detail
  const objective = { behaviour, outputs, acceptance }
  const planned = { objective, boundaries: { write, never }, validation: { checks, reviews }, tier }
  return { ...statusOfTask(task), ...(asks !== undefined && { asks }), ...(outside && { outside }), task: planned }
}

const writtenLine = (run: string, { at, ...line }: JournalLine): WrittenLine =>
  ({ ...line, run, at: at * 1_000, count: 0 }) as WrittenLine
