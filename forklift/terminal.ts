/** What a person sees while a run goes on: one line a step, on a terminal, in a pipe or in a mail of cron's. */
import { visible, visibleLines } from '../core/text.ts'

/** Where a run's lines go: steps and good ends to standard output, failures to standard error. */
export class Report {
  /** Tells the lines of many forks apart in one log. */
  name = 'forklift'
  readonly #terminal = Boolean(process.stdout.isTTY)
  readonly #colour = this.#terminal && !process.env.NO_COLOR
  /** Without a terminal nothing is printed until there is something to do. */
  #held: string[] | undefined = this.#terminal ? undefined : []
  readonly #counts = new Map<unknown, string>()

  step(text: string): void {
    const lines = visibleLines(text).split('\n')
    for (const line of lines) this.#print(this.#line(line, 0))
  }

  /** Something worth knowing that changes nothing. */
  note(text: string): void {
    this.step(`Note: ${text}`)
  }

  /** The option by which git shows its progress, on a terminal. */
  get counting(): string {
    return this.#terminal ? '--progress' : '--quiet'
  }

  /** Shows git's own counts while it works, beside those of what else works. `work` gets where to send its words. */
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

  /** What is going on right now: on a terminal only, and replaced by what comes next. */
  live(text: string): void {
    if (this.#terminal) process.stdout.write(`\r\x1b[K  ${visible(text).slice(0, (process.stdout.columns || 80) - 3)}`)
  }

  /** From here on there is something to do: what was held back is printed. */
  begin(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const line of held) this.#print(line)
  }

  /** Prints the last line. Without a terminal, the line of a run that began nothing is not printed. */
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
