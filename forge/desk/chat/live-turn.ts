/** The state of a running turn, and the news about it for windows. */
import { CleanStream } from '../../ai/clean-stream.ts'
import type { CallBlock, Usage } from '../../ai/request.ts'
import { type Clean, NO_USAGE } from '../../ai/session.ts'
import type { TurnEvent } from '../../ai/turn.ts'
import type { Call, Item, TurnNews } from '../contract/chat.ts'

export class LiveTurn {
  words = 'Begins'
  usage: Usage = NO_USAGE
  /** The id of the running tool call. `#waits`: whether it waits for an answer from the user. */
  #running: string | undefined
  #waits = false
  /** The items of the answer that is arriving. */
  #partial: Item[] = []
  /** The tool calls of the model's last answer and their progress, by id. */
  readonly #calls = new Map<string, Call>()
  readonly #notes: Item[] = []
  /** Arriving text, held back while it may be part of a secret. */
  readonly #coming: CleanStream

  constructor(
    readonly turn: string,
    readonly clean: Clean,
    readonly say: (news: TurnNews) => void,
  ) {
    this.#coming = new CleanStream(clean)
  }

  get partial(): readonly Item[] {
    return this.#partial
  }

  get notes(): readonly Item[] {
    return this.#notes
  }

  get waits(): boolean {
    return this.#waits
  }

  /** The running call. */
  get running(): string | undefined {
    return this.#running
  }

  /** A tool call of the model's last answer; undefined if there is none with this id. */
  callOf(id: string): Call | undefined {
    return this.#calls.get(id)
  }

  hear(event: TurnEvent): void {
    const { turn } = this
    switch (event.type) {
      case 'progress':
        this.#progress(event.progress)
        break
      case 'answered':
        this.#endText()
        this.#partial = []
        this.#calls.clear()
        break
      case 'runs':
        this.#running = event.call.id
        this.#call({ ...this.#about(event.call), title: this.clean(event.title), state: 'runs' })
        break
      case 'ran': {
        this.#running = undefined
        const { text, isError, words } = event.result
        const state = isError ? 'failed' : 'done'
        const said = { words: this.clean(words), result: this.clean(text), seconds: event.seconds }
        this.#call({ ...this.#about(event.call), title: this.clean(event.title), state, ...said })
        break
      }
      case 'doing':
        this.words = this.clean(event.words)
        this.usage = event.usage
        this.say({ is: 'doing', turn, words: this.words, usage: event.usage })
        break
      case 'note':
        this.#notes.push({ kind: 'note', words: this.clean(event.words), isBad: false })
        this.say({ is: 'changed', turn })
        break
    }
  }

  /** Sets whether a tool call waits for an answer from the user. */
  wait(id: string, waits: boolean): void {
    this.#waits = waits
    const call = this.#calls.get(id)
    if (call) this.#call({ ...call, state: waits ? 'waits' : 'runs' })
    this.say({ is: 'changed', turn: this.turn })
  }

  #progress(progress: Extract<TurnEvent, { type: 'progress' }>['progress']): void {
    const { turn } = this
    switch (progress.type) {
      case 'text':
      case 'reasoning': {
        if (this.#partial.at(-1)?.kind !== progress.type) {
          this.#endText()
          this.#partial.push({ kind: progress.type, turn, text: '' })
        }
        this.#give(this.#coming.take(progress.delta))
        break
      }
      case 'call': {
        this.#endText()
        const name = this.clean(progress.name)
        const call: Call = { id: progress.id, name, title: name, state: 'coming' }
        this.#partial.push({ kind: 'call', turn, call })
        this.say({ is: 'call', turn, call })
        break
      }
      case 'again':
        this.#endText()
        this.#partial = []
        this.words = this.clean(progress.words)
        this.say({ is: 'again', turn, words: this.words, seconds: progress.seconds })
        break
      case 'arguments':
      case 'resent':
        break
    }
  }

  /** Ends the arriving text, and shows its last part, which was held back since it might have been part of a secret. */
  #endText(): void {
    this.#give(this.#coming.end())
  }

  #give(delta: string): void {
    const last = this.#partial.at(-1)
    if (delta === '' || (last?.kind !== 'text' && last?.kind !== 'reasoning')) return
    last.text += delta
    this.say({ is: last.kind, turn: this.turn, delta })
  }

  #about({ id, name }: CallBlock): Pick<Call, 'id' | 'name'> {
    return { id, name: this.clean(name) }
  }

  #call(call: Call): void {
    this.#calls.set(call.id, call)
    this.say({ is: 'call', turn: this.turn, call })
  }
}
