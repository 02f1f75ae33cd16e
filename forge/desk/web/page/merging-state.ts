/** A merge, rebase or cherry-pick that waits in a branch for a person, as the page knows it. */
import { effect, signal } from '@preact/signals'
import type { ConflictFile, Merging, MergingFile } from '../../contract/merging.ts'
import type { At } from '../../contract/values.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'

/** How long after a change it is asked for again, in milliseconds. */
const ASK_AFTER_MS = 120

/** Its value is null where nothing waits. */
export class MergingState extends ServerValue<Merging | null> {
  /** The sides of files in conflict that were asked for. */
  readonly files = signal<ReadonlyMap<string, ConflictFile>>(new Map())
  /** What a person made of the message; undefined: the server's words. */
  readonly message = signal<string | undefined>(undefined)
  /** Whether the person wants the explorer at the side, or the conflicts; undefined: what is usual. */
  readonly showsExplorer = signal<boolean | undefined>(undefined)
  /** Whether Finish or Abort is under way. */
  readonly isEnding = signal(false)

  /** A file that is opened to go to a conflict in it, and in which direction. */
  goingTo: { path: string; by: 1 | -1 } | undefined

  readonly #connection: Connection
  readonly #branch: string | undefined
  /** What the sides are of: those of another commit are others. */
  #step = ''

  constructor(connection: Connection, at: At) {
    const branch = at.kind === 'branch' ? at.branch : undefined
    super(async () => (branch === undefined ? null : await connection.ask('merging', { branch })), {
      delayMs: ASK_AFTER_MS,
    })
    this.#connection = connection
    this.#branch = branch
  }

  /** What waits, as soon as the server has said it; null where nothing does. */
  async known(): Promise<Merging | null> {
    const { promise, resolve } = Promise.withResolvers<Merging | null>()
    const stop = effect(() => {
      const { value } = this.latest
      if (value !== undefined) resolve(value)
    })
    try {
      return await promise
    } finally {
      stop()
    }
  }

  protected override take(merging: Merging | null): void {
    const step = merging ? `${merging.oursCommit} ${merging.theirsCommit}` : ''
    if (step !== this.#step) {
      this.#step = step
      this.files.value = new Map()
      this.message.value = undefined
    }
    super.take(merging)
  }

  /** A file among those of the merge; undefined for all others. */
  file(path: string): MergingFile | undefined {
    return this.latest.value?.files.find(file => file.path === path)
  }

  /** Asks for the sides of a file in conflict. */
  async askFor(path: string): Promise<void> {
    const step = this.#step
    if (this.#branch === undefined || this.files.peek().has(path)) return
    try {
      const file = await this.#connection.ask('conflict', { branch: this.#branch, path })
      if (step === this.#step) this.files.value = new Map(this.files.peek()).set(path, file)
    } catch (error) {
      this.problem.value = (error as Error).message
    }
  }
}
