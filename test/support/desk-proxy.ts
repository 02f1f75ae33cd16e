/**
 * A proxy between a page and its desk, on an address of its own. It records what the page asks, and can delay, refuse
 * or hold questions, lose answers, break connections, and go away and come back.
 */
import type { Server, ServerWebSocket } from 'bun'
import type { Asked, QuestionName } from '../../forge/desk/contract/contract.ts'
import type { News } from '../../forge/desk/contract/news.ts'

/** One window's connection: the page's side, and the desk's once that is open. */
type Line = { desk: WebSocket; page?: ServerWebSocket<Line> }

export class DeskProxy implements AsyncDisposable {
  /** The page's questions, oldest first. */
  readonly asked: Asked[] = []
  /** The delay for each question, in milliseconds. */
  delay = 0
  /** Questions that are refused, and the error for each. The desk does not get them. */
  readonly refused = new Map<QuestionName, string>()
  /** Questions that are lost on the way. */
  readonly lost = new Set<QuestionName>()
  /** Questions that arrive, but whose answers are lost. */
  readonly unanswered = new Set<QuestionName>()
  /** News that do not reach the page. */
  readonly untold = new Set<News['say']>()
  /**
   * How often a page was told that what it shows is current: that it has missed no news while it was made, or what it
   * shows instead. Until then it may load everything again, and drop news that only the proxy has said.
   */
  begun = 0
  /** Refuses everything, as a desk does whose key is not the page's. */
  isLocked = false

  #isAway = false
  /** Resolves when a stall ends. */
  #stalled: Promise<void> | undefined
  readonly #server: Server<Line>
  readonly #lines = new Set<Line>()
  readonly #held = new Map<QuestionName, Promise<void>>()

  /** `address` is the desk's current address. */
  constructor(public address: string) {
    this.#server = this.#listen()
  }

  /** The address of the page through the proxy. */
  get url(): string {
    const url = new URL(this.address)
    url.port = String(this.#server.port)
    return url.href
  }

  /** Holds all questions of a name until the returned function is called. */
  hold(name: QuestionName): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held.set(name, promise)
    return () => {
      this.#held.delete(name)
      resolve()
    }
  }

  /** Sends news to the page as if from the desk. */
  say(news: News): void {
    for (const { page } of this.#lines) page?.send(JSON.stringify(news))
  }

  /** Breaks all connections; new ones can be made. */
  breakConnections(): void {
    for (const { page } of this.#lines) page?.terminate()
  }

  /** Breaks all connections, and refuses everything until the returned function is called. */
  goAway(): () => void {
    this.#isAway = true
    this.breakConnections()
    return () => {
      this.#isAway = false
    }
  }

  /** Lets nothing pass in either direction, while connections stay open, until the returned function is called. */
  stall(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#stalled = promise
    return () => {
      this.#stalled = undefined
      resolve()
    }
  }

  count(name: QuestionName): number {
    return this.asked.filter(({ ask }) => ask === name).length
  }

  #listen(): Server<Line> {
    return Bun.serve<Line>({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: (request, server) => this.#answer(request, server),
      websocket: {
        maxPayloadLength: 64 << 20,
        open: page => this.#open(page),
        message: (page, text) => void this.#pass(page, String(text)),
        close: ({ data }) => {
          this.#lines.delete(data)
          data.desk.close()
        },
      },
    })
  }

  async #answer(request: Request, server: Server<Line>): Promise<Response | undefined> {
    if (this.#isAway) return new Response('The desk is away.', { status: 502 })
    if (this.isLocked) return new Response('Not with this key.', { status: 401 })
    const { pathname, search } = new URL(request.url)
    const address = new URL(pathname + search, this.address)
    // The desk only accepts the address at which it was started.
    const headers = Object.fromEntries(request.headers)
    const sent = { ...headers, host: address.host, ...(headers.origin && { origin: address.origin }) }
    if (pathname !== '/socket') {
      const answer = await fetch(address, { headers: sent, decompress: false, redirect: 'manual' }).catch(
        () => undefined,
      )
      return answer ?? new Response('The desk is away.', { status: 502 })
    }
    const protocols = (headers['sec-websocket-protocol'] ?? '').split(/, */)
    const kept = { cookie: headers.cookie ?? '', host: address.host, origin: address.origin }
    const desk = new WebSocket(`ws://${address.host}/socket`, { headers: kept, protocols } as never)
    const isOpen = await new Promise<boolean>(resolve => {
      desk.addEventListener('open', () => resolve(true))
      desk.addEventListener('error', () => resolve(false))
    })
    if (!isOpen) return new Response('The desk refuses.', { status: 401 })
    if (this.#isAway) {
      desk.close()
      return new Response('The desk is away.', { status: 502 })
    }
    const isTaken = server.upgrade(request, { data: { desk }, headers: { 'sec-websocket-protocol': desk.protocol } })
    return isTaken ? undefined : new Response('No socket.', { status: 400 })
  }

  #open(page: ServerWebSocket<Line>): void {
    const line = page.data
    line.page = page
    this.#lines.add(line)
    line.desk.addEventListener('close', () => page.close())
    line.desk.addEventListener('message', async ({ data }) => {
      if (this.#stalled) await this.#stalled
      if (this.unanswered.size > 0 && this.#isUnanswered(String(data))) return
      if (this.#isBeginning(String(data))) this.begun++
      if (this.untold.size > 0 && this.untold.has(JSON.parse(String(data)).say)) return
      page.send(String(data))
    })
  }

  #isBeginning(text: string): boolean {
    const [, id] = /^\{"re":(\d+),/.exec(text) ?? []
    const question = id === undefined ? undefined : this.asked.findLast(it => it.id === Number(id))
    return question?.ask === 'desk' || (question?.ask === 'has missed' && JSON.parse(text).value === false)
  }

  #isUnanswered(text: string): boolean {
    const { re } = JSON.parse(text)
    return this.asked.some(({ id, ask }) => id === re && this.unanswered.has(ask))
  }

  async #pass(page: ServerWebSocket<Line>, text: string): Promise<void> {
    const question = JSON.parse(text) as Asked
    const { id, ask } = question
    this.asked.push(question)
    if (this.#stalled) await this.#stalled
    if (this.lost.has(ask)) return
    if (this.delay > 0) await Bun.sleep(this.delay)
    if (this.#held.has(ask)) await this.#held.get(ask)
    const error = this.refused.get(ask)
    if (error === undefined) page.data.desk.send(text)
    else page.send(JSON.stringify({ re: id, error }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { desk } of this.#lines) desk.close()
    await this.#server.stop(true)
  }
}
