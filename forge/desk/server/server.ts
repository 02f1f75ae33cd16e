/**
 * The desk on this machine's own address: its page, the images of its repository, and one socket for each window. What
 * it does not know it does not answer, and nothing is answered before {@link accessRefusalOf} was asked.
 */
import type { Server as BunServer, ServerWebSocket } from 'bun'
import { EXIT, Failure } from '../../../core/failure.ts'
import {
  type AccessRefusal,
  accessRefusalOf,
  CHALLENGE_HEADER,
  cookieFor,
  type Door,
  isToken,
  type Key,
  newToken,
  notAdmitted,
  proofFor,
  secretFor,
  Tickets,
} from './access.ts'
import type { Pages, Visit } from './pages.ts'
import { PROTOCOL } from './secret.ts'

/** A window's end of the socket, as the desk sees it. */
export type WindowSocket = {
  send(text: string): void
  /** Ends it, and says why: the window may come again. */
  end(why: string): void
}
/** What listens to one window. */
export type Listener = { hear(text: string): void; leave(): void }

/** What is served: the page, other files of the desk, and the handler of the windows' sockets. */
type Served = {
  pages: Pages
  /** Answers what is asked for below /image/; undefined where there is nothing of that id. */
  image(oid: string): Promise<Response | undefined>
  /** The repository's name, shown without a key. */
  name: string
  enter(line: WindowSocket): Listener
  /** What is embedded in the page of a person with access. */
  beginning(): Promise<unknown>
}

type DeskServer = {
  key: Key
  /** A word for an address that lets in once, soon. */
  ticket(): string
  stop(): Promise<void>
}

/** A text pasted into a file comes in one message. */
const MAX_MESSAGE_BYTES = 16 << 20
/** What a window has not taken yet; one that takes nothing any more is ended. */
const MAX_UNSENT_BYTES = 64 << 20
const MAX_WINDOWS = 64
/** The seconds after which a connection that says nothing is closed. A window's is kept open by the server's pings. */
const [SILENT_REQUEST, SILENT_WINDOW] = [10, 120]

type Data = { listener: Listener | undefined }
type Socket = ServerWebSocket<Data>
type Bun127 = BunServer<Data>

/** What every answer says: no other page may frame it, read it or guess its type, and its address goes nowhere. */
const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), usb=(), serial=(), hid=()',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}

/**
 * Scripts and styles come from here alone; the editor's styles are made by its script, which shows the nonce. Images of
 * the repository are asked for by the page's script, which shows its secret: so no address leads to them. No text
 * becomes HTML or a script at all, not even a model's markdown, which the page makes elements of one by one: so there
 * is no policy by which it could.
 */
export const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'none'",
    "connect-src 'self'",
    'img-src data: blob:',
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

/**
 * Begins to answer, on 127.0.0.1 and, where the machine has it, ::1. `port` undefined takes the last one if it is free,
 * or any free one. With the port the key stays as it was, so that windows that are still open go on. At another port it
 * is a new one: whoever has taken the old port may have been shown what was for the desk there.
 */
export function serve(served: Served, { port, last }: { port?: number | undefined; last?: Key | undefined }) {
  const tickets = new Tickets()
  let key: Key | undefined
  let windows = 0
  const settings = {
    development: false,
    // Where it is not in development, Bun shares a port with any other process of this user that wants it: half of the
    // requests would go to another desk.
    reusePort: false,
    idleTimeout: SILENT_REQUEST,
    maxRequestBodySize: 1024,
    fetch: async (request: Request, server: Bun127) => {
      const response = key
        ? await answer(request, server, { served, key, tickets, hasRoom: windows < MAX_WINDOWS })
        : undefined
      if (response) for (const [name, value] of Object.entries(ALWAYS)) setMissing(response.headers, name, value)
      return response
    },
    error: () => new Response('The desk could not answer this.', { status: 500, headers: ALWAYS }),
    websocket: {
      maxPayloadLength: MAX_MESSAGE_BYTES,
      backpressureLimit: MAX_UNSENT_BYTES,
      closeOnBackpressureLimit: true,
      idleTimeout: SILENT_WINDOW,
      sendPings: true,
      perMessageDeflate: false,
      open: (socket: Socket) => {
        windows++
        socket.data.listener = served.enter({
          send: text => void socket.send(text),
          end: why => socket.close(1008, why),
        })
      },
      message: (socket: Socket, message: string | Buffer) => {
        if (typeof message === 'string') socket.data.listener?.hear(message)
        else socket.close(1003, 'The desk takes text.')
      },
      close: (socket: Socket) => {
        windows--
        socket.data.listener?.leave()
      },
    },
  }
  const servers = listen(settings, port, last?.port)
  const taken = servers[0]?.port ?? 0
  key = last?.port === taken ? { token: last.token, port: taken } : { token: newToken(), port: taken }
  const stop = async () => {
    await Promise.all(servers.map(server => server.stop(true)))
  }
  return { key, ticket: () => tickets.make(), stop } satisfies DeskServer
}

function listen(settings: object, port: number | undefined, wish: number | undefined): Bun127[] {
  const on = (hostname: string, at: number): Bun127 => Bun.serve<Data>({ ...settings, hostname, port: at } as never)
  const first = () => {
    if (port !== undefined) return on('127.0.0.1', port)
    try {
      if (wish !== undefined) return on('127.0.0.1', wish)
    } catch {
      // Another program has the port now.
    }
    return on('127.0.0.1', 0)
  }
  try {
    const server = first()
    try {
      return [server, on('::1', server.port ?? 0)]
    } catch {
      // A machine without IPv6, or another program there: the address that is printed works all the same.
      return [server]
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (port === undefined) throw new Failure(`No port of this machine can be listened on (${code}): see its firewall.`)
    if (code === 'EADDRINUSE') throw new Failure(`Port ${port} is taken: choose another one, or none for a free one.`)
    throw new Failure(
      `Port ${port} can't be listened on (${code}): choose another one, or none for a free one.`,
      EXIT.error,
    )
  }
}

/** What a request is answered from. */
type House = { served: Served; key: Key; tickets: Tickets; hasRoom: boolean }

/** Undefined where the request has become a socket. */
async function answer(request: Request, server: Bun127, house: House): Promise<Response | undefined> {
  const { served, key, tickets, hasRoom } = house
  const { pathname, searchParams } = urlOf(request)
  const door = doorOf(pathname)
  const refusal = accessRefusalOf(request, key, door, served.name)
  if (refusal) return refuse(refusal)
  switch (door) {
    case 'socket': {
      if (!hasRoom) return new Response('Too many windows are open.', { status: 503 })
      const headers = { 'sec-websocket-protocol': PROTOCOL }
      if (server.upgrade(request, { data: { listener: undefined }, headers })) return undefined
      return refuse({ status: 400, words: 'This is where windows talk to the desk.' })
    }
    case 'page': {
      const [token, ticket] = [searchParams.get('token'), searchParams.get('ticket')]
      if (token === null && ticket === null) return page(served.pages)
      const isAdmitted = token === null ? tickets.take(ticket ?? '') : isToken(token, key)
      return isAdmitted ? await enter(served, key) : refuse(notAdmitted(served.name))
    }
    case 'here':
      return Response.json({
        proof: proofFor(key, request.headers.get(CHALLENGE_HEADER) ?? ''),
        ticket: tickets.make(),
      })
    case 'content':
      return (await content(pathname, served)) ?? nothing()
    case 'asset':
      return (await served.pages.answer(pathname, request.headers)) ?? nothing()
  }
}

function doorOf(pathname: string): Door {
  if (pathname === '/') return 'page'
  if (pathname === '/socket') return 'socket'
  if (pathname === '/here') return 'here'
  // For a request with access, anything but an image or a key is not found.
  return pathname === '/key' || pathname.startsWith('/image/') ? 'content' : 'asset'
}

/** /key tells a page whether its secret is the right one; a socket that is refused does not say why. */
async function content(pathname: string, served: Served): Promise<Response | undefined> {
  if (pathname === '/key') return new Response(null, { status: 204 })
  const [, oid] = /^\/image\/([0-9a-f]{40}|[0-9a-f]{64})$/.exec(pathname) ?? []
  return oid ? await served.image(oid) : undefined
}

const nothing = (): Response => new Response('There is nothing here.', { status: 404 })

/**
 * What a visit with a token in its address gets: the page, with the cookie and the secret that let in from then on, and
 * what it begins with.
 */
async function enter(served: Served, key: Key): Promise<Response> {
  const entered = page(served.pages, { secret: secretFor(key), beginning: await beginningOf(served) })
  entered.headers.set('set-cookie', cookieFor(key))
  return entered
}

/** As a part of HTML: empty where it can't be had. Then the page asks, and is told why. */
async function beginningOf(served: Served): Promise<string> {
  try {
    return JSON.stringify(await served.beginning()).replaceAll('<', '\\u003c')
  } catch {
    return ''
  }
}

/** An address that is none leads nowhere. */
function urlOf({ url }: Request): Pick<URL, 'pathname' | 'searchParams'> {
  return URL.parse(url) ?? { pathname: '/nowhere', searchParams: new URLSearchParams() }
}

const newNonce = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64')

function page(pages: Pages, visit: Omit<Visit, 'nonce'> = {}): Response {
  const nonce = newNonce()
  return new Response(pages.html({ ...visit, nonce }), {
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policyOf(nonce) },
  })
}

const refuse = ({ status, words }: AccessRefusal): Response =>
  new Response(words, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

function setMissing(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value)
}
