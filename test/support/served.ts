/** A desk for tests: the real server on a repository, and a window that is connected to it. */
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { openRepository } from '../../core/git/repository.ts'
import type { Asked } from '../../forge/desk/contract/contract.ts'
import type { News } from '../../forge/desk/contract/news.ts'
import { Desk, type DeskOptions } from '../../forge/desk/desk.ts'
import { cookieFor, type Key, secretFor } from '../../forge/desk/server/access.ts'
import { Pages } from '../../forge/desk/server/pages.ts'
import { protocolsWith, SECRET_HEADER } from '../../forge/desk/server/secret.ts'
import { serve } from '../../forge/desk/server/server.ts'
import { PLAIN } from './git.ts'
import { lendParser } from './lent-parsers.ts'
import { makeFolder } from './repository.ts'

export const SCRIPT = '/main-abcd1234.js'
export const SCRIPT_TEXT = `export const text = '${'desk '.repeat(500)}'\n`

/** Makes a page with one script for the server. */
export async function makePage(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const metas = '<meta name="style-nonce" content="STYLE_NONCE"><meta name="forge-secret" content="PAGE_SECRET">'
  await writeFile(join(folder, 'page.html'), `<!doctype html>${metas}<body>PAGE_BEGINNING</body>`)
  await writeFile(join(folder, SCRIPT), SCRIPT_TEXT)
  return folder
}

export type TestDesk = AsyncDisposable & {
  key: Key
  desk: Desk
  state: string
  said: string[]
  /** The request headers of a browser. */
  headers: Record<string, string>
  window: () => Promise<TestWindow>
}

export type TestDeskOptions = Pick<DeskOptions, 'models' | 'forklift' | 'tasks' | 'languageServers'> & {
  /** The folder of the built page, for a browser. By default, a minimal page. */
  built?: string
  /** The folder of the desk's state. By default a new one, which is removed with the desk. */
  state?: string
  /** The key of an earlier desk, whose windows reconnect. */
  last?: Key
}

/** Starts the desk of a repository on a free port. */
export async function openTestDesk(path: string, options: TestDeskOptions = {}): Promise<TestDesk> {
  const { built, last, ...programs } = options
  const folder = await makeFolder()
  const state = options.state ?? join(folder.path, 'state')
  await mkdir(state, { recursive: true })
  const said: string[] = []
  const identity = { GIT_CONFIG_COUNT: '2', GIT_CONFIG_KEY_0: 'user.name', GIT_CONFIG_VALUE_0: 'Dora Desk' }
  const email = { GIT_CONFIG_KEY_1: 'user.email', GIT_CONFIG_VALUE_1: 'dora@desk.example' }
  const repository = await openRepository(path, { env: { ...PLAIN, ...identity, ...email } })
  const desk = await Desk.open(repository, {
    ...programs,
    state,
    startParser: lendParser,
    log: words => said.push(words),
  })
  const served = {
    pages: await Pages.open(built ?? (await makePage(join(folder.path, 'page')))),
    image: (oid: string) => desk.image(oid),
    name: 'repo',
    enter: desk.enter.bind(desk),
    theme: () => desk.theme,
    beginning: () => desk.beginning(),
  }
  const { key, stop } = serve(served, { last })
  return {
    key,
    desk,
    state,
    said,
    headers: ours(key),
    window: () => TestWindow.open(key),
    [Symbol.asyncDispose]: async () => {
      await stop()
      await desk[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** The headers of a request from our own page. */
export const ours = (key: Key): Record<string, string> => ({
  Host: `127.0.0.1:${key.port}`,
  Origin: `http://127.0.0.1:${key.port}`,
  Cookie: cookieOf(key),
  [SECRET_HEADER]: secretFor(key),
})

/** The cookie as a browser sends it. */
export const cookieOf = (key: Key): string => cookieFor(key).split(';')[0] ?? ''

export type RawAnswer = { status: number; headers: Record<string, string>; body: string }

/** Sends the raw bytes of a request, which may be invalid, and reads the answer to its end. */
export function send(port: number, head: string): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(head, 'latin1')))
    const done = () => {
      const [top = '', ...rest] = text.split('\r\n\r\n')
      const [first = '', ...lines] = top.split('\r\n')
      const pairs = lines.map(line => line.split(/: (.*)/s) as [string, string])
      const headers = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]))
      resolve({ status: Number(first.split(' ')[1] ?? 0), headers, body: rest.join('\r\n\r\n') })
    }
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (isWhole(text)) socket.destroy()
    })
    socket.on('close', done)
    socket.on('error', error => (text ? undefined : reject(error)))
  })
}

/** Whether an answer is complete. For a WebSocket, which stays open, the first line is enough. */
function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = /^content-length: (\d+)/im.exec(text)?.[1]
  return text.startsWith('HTTP/1.1 101') || (length !== undefined && text.length >= head + 4 + Number(length))
}

/** The text of a request. Headers that are undefined are left out; a list is sent as several headers. */
export function request(path: string, headers: Record<string, string | string[] | undefined>, method = 'GET'): string {
  const lines = Object.entries({ Connection: 'close', ...headers }).flatMap(([name, value]) =>
    [value ?? []].flat().map(it => `${name}: ${it}\r\n`),
  )
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

export const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

type WithoutId<Q> = Q extends { id: number } ? Omit<Q, 'id'> : never
export type Ask = WithoutId<Asked>

/** A window of the page, without a user interface. */
export class TestWindow implements AsyncDisposable {
  readonly news: News[] = []
  readonly ended: Promise<{ code: number; reason: string }>
  #asked = 0
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #listeners: (() => void)[] = []

  private constructor(readonly socket: WebSocket) {
    this.ended = new Promise(resolve =>
      socket.addEventListener('close', ({ code, reason }) => {
        for (const { reject } of this.#waiting.values()) reject(new Error(`the socket was closed: ${code} ${reason}`))
        resolve({ code, reason })
      }),
    )
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data))))
  }

  /** Connects a window to the address that `forge` printed. */
  static at(address: string): Promise<TestWindow> {
    const { port, searchParams } = new URL(address)
    return TestWindow.open({ port: Number(port), token: searchParams.get('token') ?? '' })
  }

  static open(key: Key): Promise<TestWindow> {
    const { Origin, Cookie } = ours(key)
    const options = { headers: { Origin, Cookie }, protocols: protocolsWith(secretFor(key)) }
    const socket = new WebSocket(`ws://127.0.0.1:${key.port}/socket`, options as never)
    const window = new TestWindow(socket)
    return new Promise((resolve, reject) => {
      socket.addEventListener('open', () => resolve(window))
      socket.addEventListener('error', () => reject(new Error('the socket was refused')))
    })
  }

  /** Asks, and gives the value of the reply. Throws the error of a refusal. */
  ask(question: Ask): Promise<unknown> {
    return this.say({ id: ++this.#asked, ...question })
  }

  /** Sends any message with an id, and waits for its reply. */
  say(message: { id: number }): Promise<unknown> {
    const reply = new Promise((resolve, reject) => this.#waiting.set(message.id, { resolve, reject }))
    this.socket.send(JSON.stringify(message))
    return reply
  }

  /** Waits for news that match. */
  async heard<Kind extends News['say']>(
    kind: Kind,
    fits: (news: Extract<News, { say: Kind }>) => boolean = () => true,
  ): Promise<Extract<News, { say: Kind }>> {
    for (;;) {
      const found = this.news.find(news => news.say === kind && fits(news as never))
      if (found) return found as Extract<News, { say: Kind }>
      await new Promise<void>(resolve => this.#listeners.push(resolve))
    }
  }

  #take(message: News | { re: number; value?: unknown; error?: string }): void {
    if ('say' in message) {
      this.news.push(message)
      for (const wake of this.#listeners.splice(0)) wake()
      return
    }
    const waiting = this.#waiting.get(message.re)
    this.#waiting.delete(message.re)
    if (message.error === undefined) waiting?.resolve(message.value)
    else waiting?.reject(new Error(message.error))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close()
    await this.ended
  }
}
