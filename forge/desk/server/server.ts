/**
 * The desk's server on a local address: the page, images of the repository, and one socket per window. Unknown paths
 * are refused, and nothing is answered before {@link accessRefusalOf} was asked.
 */
import type { Server as BunServer, ServerWebSocket } from 'bun'
import { EXIT, Failure } from '../../../core/failure.ts'
import type { Theme } from '../contract/settings.ts'
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

/** The server's end of a window's socket. */
export type WindowSocket = {
  send(text: string): void
  /** Closes the socket with a reason; the window may reconnect. */
  end(why: string): void
}
/** The handler of one window's messages. */
export type Listener = { hear(text: string): void; leave(): void }

/** What is served: the page's files, images, and the handler of sockets. */
type Served = {
  pages: Pages
  /** Answers requests below /image/; undefined if there is no image of that id. */
  image(oid: string): Promise<Response | undefined>
  /** The repository's name, also shown without access. */
  name: string
  enter(line: WindowSocket): Listener
  /** The user's color theme, also shown without access. */
  theme(): Theme
  /** The answers embedded in a page with access. */
  beginning(): Promise<unknown>
}

type DeskServer = {
  key: Key
  /** Makes a ticket: an address with it gives access once. */
  ticket(): string
  stop(): Promise<void>
}

/** Large enough for text pasted into a file, which is one message. */
const MAX_MESSAGE_BYTES = 16 << 20
/** A window with more unsent data than this is disconnected, since it does not receive any more. */
const MAX_UNSENT_BYTES = 64 << 20
const MAX_WINDOWS = 64
/**
 * Seconds after which a silent connection is closed: of a request, and of a window, which the server's pings keep open.
 */
const [SILENT_REQUEST, SILENT_WINDOW] = [10, 120]

type Data = { listener: Listener | undefined }
type Socket = ServerWebSocket<Data>
type Bun127 = BunServer<Data>

/** Headers of every response: no other page may frame it, read it or guess its type, and it sends no referrer. */
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
 * The content security policy: scripts and styles only from the server; the editor adds styles by script, with the
 * nonce. Images are fetched by script with the secret, so they have no address. The page never turns text into HTML,
 * not even a model's Markdown, and the policy leaves no way to do so.
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
 * Starts the server on 127.0.0.1 and, if available, ::1. Without `port`, takes the last one if free, or any free one.
 * On the same port the token stays, so that open windows continue. On another port it is new, since another program on
 * the old port may have been sent the old credentials.
 */
export function serve(served: Served, { port, last }: { port?: number | undefined; last?: Key | undefined }) {
  const tickets = new Tickets()
  let key: Key | undefined
  let windows = 0
  const settings = {
    development: false,
    // Unless set, Bun shares a port with other processes of this user: half of the requests would go to another desk.
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
      // Another program has the port.
    }
    return on('127.0.0.1', 0)
  }
  try {
    const server = first()
    try {
      return [server, on('::1', server.port ?? 0)]
    } catch {
      // This machine has no IPv6, or another program has that port on it: the printed address works all the same.
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

/** What answering a request needs. `hasRoom`: whether one more window may connect. */
type House = { served: Served; key: Key; tickets: Tickets; hasRoom: boolean }

/** Answers a request. Undefined if it has become a socket. */
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
      if (token === null && ticket === null) return page(served)
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
  // An unknown path counts as a file of the page: with access, it gets a plain 404.
  return pathname === '/key' || pathname.startsWith('/image/') ? 'content' : 'asset'
}

/** Answers /key and images. /key tells a page whether its secret is valid, since a refused socket does not say why. */
async function content(pathname: string, served: Served): Promise<Response | undefined> {
  if (pathname === '/key') return new Response(null, { status: 204 })
  const [, oid] = /^\/image\/([0-9a-f]{40}|[0-9a-f]{64})$/.exec(pathname) ?? []
  return oid ? await served.image(oid) : undefined
}

const nothing = (): Response => new Response('There is nothing here.', { status: 404 })

/**
 * The response to a visit with a token: the page with the cookie, the secret, and the answers to its first questions.
 */
async function enter(served: Served, key: Key): Promise<Response> {
  const entered = page(served, { secret: secretFor(key), beginning: await beginningOf(served) })
  entered.headers.set('set-cookie', cookieFor(key))
  return entered
}

/**
 * The answers to the page's first questions, as JSON to embed in its HTML; '' if they fail, so that the page asks and
 * gets the error.
 */
async function beginningOf(served: Served): Promise<string> {
  try {
    return JSON.stringify(await served.beginning()).replaceAll('<', '\\u003c')
  } catch {
    return ''
  }
}

/** Parses the address of a request; an invalid one becomes a path at which nothing is served. */
function urlOf({ url }: Request): Pick<URL, 'pathname' | 'searchParams'> {
  return URL.parse(url) ?? { pathname: '/nowhere', searchParams: new URLSearchParams() }
}

const newNonce = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64')

function page({ pages, theme }: Served, visit: Omit<Visit, 'nonce' | 'theme'> = {}): Response {
  const nonce = newNonce()
  return new Response(pages.html({ ...visit, nonce, theme: theme() }), {
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policyOf(nonce) },
  })
}

const refuse = ({ status, words }: AccessRefusal): Response =>
  new Response(words, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

function setMissing(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value)
}
