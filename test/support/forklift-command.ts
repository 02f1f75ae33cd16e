/**
 * A command `forklift` for the desk that prints what a test says, and the directories that runs of the real one leave.
 * (The real command beside the desk is tested in merging/forklift.test.ts.)
 */
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AgentRunTask,
  type RunFile,
  type RunMetadata,
  type RunOutcome,
  runFileOf,
  runsFolderIn,
  STUCK_FILE,
  stateFolder,
} from '../../core/formats/forklift-run.ts'
import type { ForkliftOptions } from '../../forge/desk/forklift/forklift-on-desk.ts'

/** Notes its arguments, and prints the lines that come through a named pipe, until the line `exit CODE`. */
const SCRIPT = `
printf '%s\\n' "$*" >>"$SAYS/told"
exec 3<>"$SAYS/lines"
while IFS= read -r line <&3; do
  case "$line" in
    "exit "*) exit "\${line#exit }" ;;
    *) printf '%s\\n' "$line" ;;
  esac
done
`

export type ForkliftScene = {
  origin: string
  upstream: string
  start: string
  upstreamCommit: string
}

export class ForkliftCommand {
  private constructor(
    readonly folder: string,
    readonly scene: ForkliftScene,
  ) {}

  /** Makes a stand-in whose new folder `folder` has the recorded runs, and the pipe with the lines to print. */
  static async in(folder: string, scene: ForkliftScene): Promise<ForkliftCommand> {
    await mkdir(folder)
    await Bun.spawn(['mkfifo', join(folder, 'lines')]).exited
    return new ForkliftCommand(folder, scene)
  }

  get options(): ForkliftOptions {
    const env = { PATH: process.env.PATH, SAYS: this.folder, XDG_STATE_HOME: this.folder }
    return { command: ['/bin/sh', '-c', SCRIPT, 'forklift'], env }
  }

  /** The arguments of each time that it was started, oldest first. */
  async told(): Promise<string[]> {
    const text = await readFile(join(this.folder, 'told'), 'utf8').catch(() => '')
    return text.split('\n').slice(0, -1)
  }

  /** Prints a line, as soon as the command runs. */
  async says(line: string): Promise<void> {
    await appendFile(join(this.folder, 'lines'), `${line}\n`)
  }

  async ends(exitCode: number): Promise<void> {
    await this.says(`exit ${exitCode}`)
  }

  /**
   * Records a run in which an agent made the merge. `outcome`: how it ended. `letter`: the report of an agent that is
   * stuck.
   */
  async ran(
    name: string,
    outcome: Partial<RunOutcome> & { exitCode: number },
    more: { letter?: string; conflicts?: string[] } = {},
  ): Promise<void> {
    const task: AgentRunTask = {
      ...this.#subject(name, more.conflicts),
      ...{ forkMd: null, image: 'kitchen-sink', container: name, model: 'claude-sonnet-5', variant: '' },
      ...{ agent: 'opencode', timeLimitSeconds: 480 },
    }
    await this.#record(name, task, outcome)
    if (more.letter !== undefined) await writeFile(join(this.#pathOf(name), STUCK_FILE), more.letter)
  }

  /** Records a run of `forklift --publish`, which has published the merge that a person made on a branch. */
  async published(name: string, branch: string, pullRequest: string): Promise<void> {
    const task = { ...this.#subject(name), byHand: branch, anyway: false }
    await this.#record(name, task, { exitCode: 0, pullRequest })
  }

  #pathOf(name: string): string {
    return join(runsFolderIn(stateFolder({ XDG_STATE_HOME: this.folder })), name)
  }

  #subject(name: string, conflicts: string[] = []) {
    const { start, ...subject } = this.scene
    const [, year, month, day, hour, minute, second] =
      /_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)$/.exec(name)?.map(Number) ?? []
    const began = new Date(year ?? 0, (month ?? 1) - 1, day, hour, minute, second)
    return {
      ...subject,
      ...{ version: '1', branch: 'main', upstreamBranch: 'main', originCommit: start, startCommit: start },
      conflicts: conflicts.map(path => ({ path, base: start, ours: start, theirs: start })),
      startedAt: began.toISOString(),
    }
  }

  async #record(name: string, metadata: RunMetadata, end: Partial<RunOutcome> & { exitCode: number }): Promise<void> {
    await mkdir(this.#pathOf(name), { recursive: true })
    const { startedAt } = metadata
    const outcome: RunOutcome = { outcome: '', startedAt, endedAt: startedAt, ...end }
    const agent = { exitCode: end.exitCode, seconds: 60 }
    const files: Partial<Record<RunFile, unknown>> = { agent, outcome, metadata }
    for (const [file, value] of Object.entries(files))
      await writeFile(runFileOf({ path: this.#pathOf(name) }, file as RunFile), JSON.stringify(value))
  }
}
