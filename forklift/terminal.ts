/** Prints the progress of a run: one line a step, on a terminal, in a pipe or in a mail from cron. */
import { visible, visibleLines } from '../core/text.ts'

/** Prints a run's lines: steps and good ends to standard output, failures to standard error. */
export class Report {
  /** The prefix of each line without a terminal, which separates forks that share a log. */
  name = 'forklift'
  readonly #terminal = Boolean(process.stdout.isTTY)
  readonly #colour = this.#terminal && !process.env.NO_COLOR
  /** Without a terminal, lines are held back until the run has something to merge: otherwise it prints nothing. */
  #held: string[] | undefined = this.#terminal ? undefined : []
  readonly #counts = new Map<unknown, string>()

  step(text: string): void {
    const lines = visibleLines(text).split('\n')
    for (const line of lines) this.#print(this.#line(line, 0))
  }

  /** Prints information that does not change the run. */
  note(text: string): void {
    this.step(`Note: ${text}`)
  }

  /** The option for git's progress: shown on a terminal only. */
  get counting(): string {
    return this.#terminal ? '--progress' : '--quiet'
  }

  /** Shows git's progress while `work` runs; `work` gets a function that takes git's messages. */
  async follow<T>(work: (onWords: (text: string) => void) => Promise<T>): Promise<T> {
    const one = Symbol('one of those that work')
    const onWords = (text: string) => {
      this.#counts.set(one, text.split(/[\r\n]/).findLast(Boolean) ?? '')
      this.live([...this.#counts.values()].join('  '))
    }
    try {
      return await work(onWords)
    } finally {
      this.#counts.delete(one)
    }
  }

  /** Shows what is happening right now: on a terminal only, replaced by the next line. */
  live(text: string): void {
    if (this.#terminal) process.stdout.write(`\r\x1b[K  ${visible(text).slice(0, (process.stdout.columns || 80) - 3)}`)
  }

  /** Called when the run turns out to have something to merge: prints the lines held back. */
  begin(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const line of held) this.#print(line)
  }

  /** Prints the last line. Without a terminal, nothing is printed for a run with nothing to do. */
  end(text: string, failed: boolean): void {
    if (failed) this.begin()
    if (failed && this.#terminal) process.stdout.write('\r\x1b[K')
    if (failed) process.stderr.write(`${this.#line(visible(text), 31)}\n`)
    else this.#print(this.#line(visible(text), 32))
  }

  #print(line: string): void {
    if (this.#held) this.#held.push(line)
    else process.stdout.write(`${this.#terminal ? '\r\x1b[K' : ''}${line}\n`)
  }

  #line(text: string, colour: number): string {
    if (!this.#terminal) return `${new Date().toTimeString().slice(0, 8)} ${this.name}: ${text}`
    return this.#colour && colour ? `\x1b[${colour}m${text}\x1b[0m` : text
  }
}
