/**
 * The connection to the desk's server: questions with their replies, and what the server says by itself. It is made
 * again whenever it breaks. What only asks is then asked again; what does something is not, because nobody knows
 * whether it was done: it fails with `Disconnected`, and who asked decides.
 */
import { signal } from '@preact/signals'
import * as v from 'valibot'
import {
  type Answer,
  type Asked,
  type Fields,
  PageBeginning,
  type QuestionName,
  questions,
  Reply,
} from '../../contract/contract.ts'
import { News } from '../../contract/news.ts'
import { firstQuestions } from '../../first-questions.ts'
import { type Beginning, open, takeBeginning, takeBrought } from './beginning.ts'
import { fetchWith, readSecret } from './secret.ts'

/** The server said no, in a sentence for the person. */
export class Refused extends Error {}

/** The connection broke before the answer came. */
export class Disconnected extends Error {
  constructor() {
    super('The connection to the desk broke before it answered. Look whether it was done before you try again.')
  }
}

interface Pending {
  question: Asked
  schema: v.GenericSchema
  resolve: (value: unknown) => void
  reject: (reason: Error) => void
}

const FIRST_PAUSE = 200
const LONGEST_PAUSE = 5_000
const SLICE = 4_000
/** How long what the first script has asked is good for who has not asked for it yet. */
const ASKED_FOR = 5_000

export class Connection {
  /** Whether the server hears us now. */
  readonly isUp = signal(false)
  /** Whether it heard us before, or somebody tried in vain. */
  readonly isLost = signal(false)
  /** Whether somebody answers, but does not know this window: it has no key, or that of another time. */
  readonly isLockedOut = signal(false)
  /**
   * Called each time that the connection is there, before anything is asked again: the first time not where what came
   * with the page is still all there is to know.
   */
  onUp: (isFirst: boolean) => void = () => {}
  onNews: (news: News) => void = () => {}

  readonly #pending = new Map<number, Pending>()
  #socket: WebSocket | undefined
  /**
   * What is answered by the page itself, or was asked by its first script, until somebody here wants to know it, and
   * replies that came before that. Something else may be true a moment later: then it is asked again.
   */
  #asked: Asked[] = []
  readonly #early = new Map<number, Reply>()
  #lastId = firstQuestions(true).length
  #pause = FIRST_PAUSE
  #wasUp = false
  /** How much had been said to all windows before what came with the page. */
  #said: number | undefined

  /**
   * Goes on with what the page's first script has begun, or connects by itself where that has come to nothing. Answers
   * whether the page brought what it begins with: whoever asks for that is answered at once, without any connection.
   */
  start(): boolean {
    const brought = this.#takeBrought()
    const beginning = takeBeginning()
    const isGood = beginning && beginning.socket.readyState <= WebSocket.OPEN
    if (isGood) this.#goOn(beginning)
    else this.connect()
    return brought
  }

  #takeBrought(): boolean {
    const text = takeBrought()
    if (text === '') return false
    const { said, replies } = v.parse(PageBeginning, JSON.parse(text))
    this.#said = said
    this.#expect(firstQuestions(true).filter(({ id }) => replies.some(({ re }) => re === id)))
    for (const reply of replies) this.#replied(reply)
    return true
  }

  #expect(asked: readonly Asked[]): void {
    this.#asked.push(...asked)
    setTimeout(() => this.#forgetAsked(), ASKED_FOR)
  }

  connect(): void {
    // Another tab may have been given a new secret since the last time.
    this.#listenTo(open(readSecret()))
  }

  #goOn({ socket, questions, takeOver }: Beginning): void {
    this.#expect(questions)
    const heard = takeOver()
    this.#listenTo(socket)
    if (socket.readyState === WebSocket.OPEN) this.#opened()
    for (const data of heard) this.#heard(data)
  }

  #listenTo(socket: WebSocket): void {
    this.#socket = socket
    socket.addEventListener('open', () => this.#opened())
    socket.addEventListener('message', event => this.#heard(String(event.data)))
    socket.addEventListener('close', () => this.#closed())
  }

  ask<Name extends QuestionName>(ask: Name, fields: Fields<Name>): Promise<Answer<Name>> {
    const { reply: schema, isRepeatable } = questions[ask]
    const wanted = { ...fields, id: ++this.#lastId, ask } as unknown as Asked
    const asked = this.#takeAsked(wanted)
    const question = asked ?? wanted
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (!this.isUp.peek() && !isRepeatable) {
      reject(new Refused('The desk does not answer at the moment. Try again when it is back.'))
      return promise as Promise<Answer<Name>>
    }
    this.#pending.set(question.id, { question, schema, resolve, reject })
    const early = this.#early.get(question.id)
    if (!asked) this.#send(question)
    else if (early && this.#early.delete(question.id)) this.#replied(early)
    return promise as Promise<Answer<Name>>
  }

  /** The same question, where the first script has asked it. */
  #takeAsked(wanted: Asked): Asked | undefined {
    const words = contentOf(wanted)
    const place = this.#asked.findIndex(question => contentOf(question) === words)
    return place < 0 ? undefined : this.#asked.splice(place, 1)[0]
  }

  #forgetAsked(): void {
    this.#asked = []
    this.#early.clear()
  }

  /** Resolves when the server hears us. */
  async up(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = this.isUp.subscribe(isUp => {
      if (isUp) resolve()
    })
    await promise
    stop()
  }

  #send(question: Asked): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(question))
  }

  #opened(): void {
    const unanswered = [...this.#pending.values()]
    this.#pause = FIRST_PAUSE
    this.isUp.value = true
    this.isLost.value = false
    this.isLockedOut.value = false
    const isFirst = !this.#wasUp
    this.#wasUp = true
    if (isFirst && this.#said !== undefined) this.#catchUp(this.#said)
    else this.onUp(isFirst)
    for (const { question } of unanswered) this.#send(question)
  }

  /** What was said after the page was made, and before it could hear it, it has to ask for. */
  async #catchUp(said: number): Promise<void> {
    const hasMissed = await this.ask('has missed', { said }).catch(() => true)
    if (hasMissed && this.isUp.peek()) this.onUp(false)
  }

  #closed(): void {
    this.isUp.value = false
    this.isLost.value = true
    this.#forgetAsked()
    for (const [id, { question, reject }] of this.#pending) {
      if (questions[question.ask].isRepeatable) continue
      this.#pending.delete(id)
      reject(new Disconnected())
    }
    this.#askWhy()
    setTimeout(() => this.connect(), this.#pause * (0.75 + Math.random() / 2))
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
  }

  /** A socket does not say why it could not be opened. */
  async #askWhy(): Promise<void> {
    try {
      const { status } = await fetchWith(readSecret(), '/key')
      this.isLockedOut.value = status === 401 || status === 403
    } catch {
      this.isLockedOut.value = false
    }
  }

  #heard(data: string): void {
    const said: unknown = JSON.parse(data)
    const news = v.safeParse(News, said)
    if (news.success) {
      this.#forgetAsked()
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
    if (!pending) {
      if (this.#asked.some(({ id }) => id === reply.re)) this.#early.set(reply.re, reply)
      return
    }
    this.#pending.delete(reply.re)
    if ('error' in reply) {
      pending.reject(new Refused(reply.error))
      return
    }
    read(pending.schema, reply.value).then(pending.resolve, pending.reject)
  }
}

/** A question without its number. */
function contentOf({ id, ...content }: Asked): string {
  return JSON.stringify(Object.entries(content).sort())
}

/** Reads an answer. A long list is read in slices, so that the page goes on answering to the person meanwhile. */
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
