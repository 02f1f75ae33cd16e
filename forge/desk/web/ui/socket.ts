/**
 * The connection to the desk's server: questions with their answers, and news from the server. It reconnects after a
 * break. Questions without effects are then asked again; others fail with `Disconnected`, since they may have taken
 * effect, and the caller decides.
 */
import { signal } from '@preact/signals'
import * as v from 'valibot'
import {
  type Answer,
  type Asked,
  BEGINNING_ID,
  type Fields,
  PageBeginning,
  type QuestionName,
  questionKey,
  questions,
  Reply,
} from '../../contract/contract.ts'
import { News } from '../../contract/news.ts'
import { protocolsWith } from '../../server/secret.ts'
import { fetchWith, readSecret } from './secret.ts'

/** The server refused, with a sentence for the user. */
export class Refused extends Error {}

/** There is no connection: the question was not sent. */
export class NotConnected extends Error {
  constructor() {
    super('The desk does not answer at the moment. Try again when it is back.')
  }
}

/** The connection broke before the answer arrived. */
export class Disconnected extends Error {
  constructor() {
    super('The connection to the desk was lost before it answered. Check whether it was done before you try again.')
  }
}

interface Pending {
  question: Asked
  resolve: (value: unknown) => void
  reject: (reason: Error) => void
}

/** The message does not match the page's schema: page and desk have different versions. */
const OTHER_VERSION =
  'This page and its desk are of different versions: reload the page. If that does not help, run `make desk` in the folder of Forge.'

const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 5_000
const SLICE = 4_000
/** The time between two looks at the connection while a question waits. */
const LOOK_MS = 1_000
/** The looks without a message from the desk after which it is pinged, and after which it counts as silent. */
const [LOOKS_BEFORE_PING, LOOKS_BEFORE_SILENT] = [2, 6]
/** Time for which the answers embedded in the HTML page count as current, in milliseconds. */
const BROUGHT_ANSWERS_VALID_MS = 5_000

export class Connection {
  /** Whether the connection is open. */
  readonly isUp = signal(false)
  /** Whether the connection was open before, or an attempt failed. */
  readonly isLost = signal(false)
  /** Whether the server refuses this window: it has no key, or an old one. */
  readonly isLockedOut = signal(false)
  /** Whether the connection is open, but the desk sends nothing, not even the answer to a ping. */
  readonly isSilent = signal(false)
  /** How often the connection broke. After each break, the server has forgotten this window's state. */
  breaks = 0
  /**
   * Called each time the connection opens, before any question is repeated. Not called the first time if the answers
   * embedded in the page are still current.
   */
  onUp: () => void = () => {}
  onNews: (news: News) => void = () => {}

  readonly #pending = new Map<number, Pending>()
  #socket: WebSocket | undefined
  /** The answers embedded in the page, by question. Each is used once and then removed. */
  #embedded = new Map<string, unknown>()
  #lastId = 0
  #pause = FIRST_PAUSE_MS
  /** Runs while questions wait. */
  #watch: ReturnType<typeof setInterval> | undefined
  /** The checks since the last message of the desk. They are counted: a clock also runs while the machine sleeps. */
  #quietLooks = 0
  #wasUp = false
  /** The number of news sent to all windows before the embedded answers were made. */
  #said: number | undefined

  /** Connects. Returns whether the page has embedded answers, which are used without a connection. */
  start(): boolean {
    const hasEmbedded = this.#readEmbeddedAnswers()
    this.connect()
    return hasEmbedded
  }

  #readEmbeddedAnswers(): boolean {
    const element = document.getElementById(BEGINNING_ID)
    const text = element?.textContent ?? ''
    element?.remove()
    if (text === '') return false
    const { said, answers } = v.parse(PageBeginning, JSON.parse(text))
    this.#said = said
    this.#embedded = new Map(answers.map(({ ask, fields, value }) => [questionKey(ask, fields), value]))
    setTimeout(() => this.#embedded.clear(), BROUGHT_ANSWERS_VALID_MS)
    return true
  }

  connect(): void {
    const url = new URL('/socket', location.href)
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
    // Another tab may have received a new secret since the last attempt.
    this.#listenTo(new WebSocket(url, protocolsWith(readSecret())))
  }

  #listenTo(socket: WebSocket): void {
    this.#socket = socket
    socket.addEventListener('open', () => this.#opened())
    socket.addEventListener('message', event => this.#heard(String(event.data)))
    socket.addEventListener('close', () => this.#closed())
  }

  async ask<Name extends QuestionName>(ask: Name, fields: Fields<Name>): Promise<Answer<Name>> {
    const { reply, isRepeatable } = questions[ask]
    const value = await this.#value(ask, fields, isRepeatable)
    try {
      return (await read(reply, value)) as Answer<Name>
    } catch (error) {
      if (!(error instanceof v.ValiError)) throw error
      console.error(`The answer to “${ask}” is not understood.`, v.flatten(error.issues))
      throw new Refused(OTHER_VERSION)
    }
  }

  /** Asks the server. Returns its answer, not parsed yet. */
  #value(ask: QuestionName, fields: object, isRepeatable: boolean): unknown {
    const key = questionKey(ask, fields)
    if (this.#embedded.has(key)) {
      const value = this.#embedded.get(key)
      this.#embedded.delete(key)
      return value
    }
    if (!this.isUp.peek() && !isRepeatable) throw new NotConnected()
    const question = { ...fields, id: ++this.#lastId, ask } as Asked
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#pending.set(question.id, { question, resolve, reject })
    this.#send(question)
    return promise
  }

  /** Resolves when the connection is open. */
  async up(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = this.isUp.subscribe(isUp => {
      if (isUp) resolve()
    })
    await promise
    stop()
  }

  #send(question: Asked): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return
    this.#socket.send(JSON.stringify(question))
    if (this.#watch !== undefined) return
    this.#quietLooks = 0
    this.#watch = setInterval(() => this.#look(), LOOK_MS)
  }

  /**
   * Looks whether the desk answers at all. A question that takes long, such as a fetch, does not tell: the desk answers
   * others meanwhile.
   */
  #look(): void {
    if (this.#pending.size === 0 || !this.isUp.peek()) {
      this.#endWatch()
      return
    }
    this.#quietLooks++
    if (this.#quietLooks === LOOKS_BEFORE_PING) this.ask('ping', {}).catch(() => undefined)
    if (this.#quietLooks >= LOOKS_BEFORE_SILENT) this.isSilent.value = true
  }

  #endWatch(): void {
    clearInterval(this.#watch)
    this.#watch = undefined
    this.isSilent.value = false
  }

  #opened(): void {
    const unanswered = [...this.#pending.values()]
    this.#pause = FIRST_PAUSE_MS
    this.isUp.value = true
    this.isLost.value = false
    this.isLockedOut.value = false
    const isFirst = !this.#wasUp
    this.#wasUp = true
    if (isFirst && this.#said !== undefined) this.#catchUp(this.#said)
    else this.onUp()
    for (const { question } of unanswered) this.#send(question)
  }

  /**
   * Asks whether the desk sent news after it made this page and before the page connected; if so, everything is loaded
   * again. `said`: the number of news sent when the page was made.
   */
  async #catchUp(said: number): Promise<void> {
    const hasMissed = await this.ask('has missed', { said }).catch(() => true)
    if (hasMissed && this.isUp.peek()) this.onUp()
  }

  #closed(): void {
    if (this.isUp.peek()) this.breaks++
    this.isUp.value = false
    this.isLost.value = true
    this.#endWatch()
    this.#embedded.clear()
    for (const [id, { question, reject }] of this.#pending) {
      if (questions[question.ask].isRepeatable) continue
      this.#pending.delete(id)
      reject(new Disconnected())
    }
    this.#askWhy()
    setTimeout(() => this.connect(), this.#pause * (0.75 + Math.random() / 2))
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE_MS)
  }

  /** Asks over HTTP why the connection failed, since a WebSocket does not tell. */
  async #askWhy(): Promise<void> {
    try {
      const { status } = await fetchWith(readSecret(), '/key')
      this.isLockedOut.value = status === 401 || status === 403
    } catch {
      this.isLockedOut.value = false
    }
  }

  #heard(data: string): void {
    this.#quietLooks = 0
    this.isSilent.value = false
    const said: unknown = JSON.parse(data)
    const news = v.safeParse(News, said)
    if (news.success) {
      this.#embedded.clear()
      this.onNews(news.output)
      return
    }
    const reply = v.safeParse(Reply, said)
    if (!reply.success) {
      console.error('The desk said something that this page does not understand.', v.flatten(reply.issues))
      return
    }
    this.#replied(reply.output)
  }

  #replied(reply: Reply): void {
    const pending = this.#pending.get(reply.re)
    this.#pending.delete(reply.re)
    if ('error' in reply) pending?.reject(new Refused(reply.error))
    else pending?.resolve(reply.value)
  }
}

/** Parses an answer. A long list is parsed in slices, so that the page stays responsive. */
async function read(schema: v.GenericSchema, value: unknown): Promise<unknown> {
  const isLong = Array.isArray(value) && value.length > SLICE
  if (!isLong) return v.parse(schema, value)
  const slices: unknown[][] = []
  for (let from = 0; from < value.length; from += SLICE) {
    slices.push(v.parse(schema, value.slice(from, from + SLICE)) as unknown[])
    await new Promise(resolve => setTimeout(resolve))
  }
  return slices.flat()
}
