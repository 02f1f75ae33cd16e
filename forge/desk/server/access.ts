/**
 * Access to the desk: only for the browser of the user that started it, from a page of the desk itself. Any web page
 * and any program on the machine can send requests to a local port, so each request must present a credential, name
 * this machine as its host (a foreign name could resolve to it: DNS rebinding), and come from the desk's own page.
 *
 * Two credentials are issued for the token in the address, or for a ticket; neither reveals the other or the token. A
 * cookie, unreadable for scripts, gives access to the page. But browsers send it to every port of a machine, so other
 * local servers receive it, too. The repository's content therefore also requires a secret, which the page stores where
 * only pages from this port can read it.
 */
import { SECRET_HEADER, SECRET_PROTOCOL } from './secret.ts'

/** The token, and the port that it is for. */
export type Key = { token: string; port: number }
export type AccessRefusal = { status: 400 | 401 | 403 | 405 | 421; words: string }
/**
 * What a request asks for: the page, one of its files, the socket, the repository's content, or whether this is the
 * running desk that another start of the command looks for.
 */
export type Door = 'page' | 'asset' | 'socket' | 'content' | 'here'

export const newToken = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')

/** Derives a value from the token for one purpose and port. It reveals neither the token nor other derived values. */
const madeOf = ({ token, port }: Key, purpose: string): string =>
  new Bun.CryptoHasher('sha256', token).update(`${purpose}\n${port}`).digest('base64url')

/** The cookie's name has the port, since browsers send a cookie to every port of a machine. */
const cookieName = (port: number): string => `desk_${port}`
const cookieValue = (key: Key): string => madeOf(key, 'cookie')

/** The header that sets the cookie, hidden from scripts and other sites. */
export const cookieFor = (key: Key): string =>
  `${cookieName(key.port)}=${cookieValue(key)}; Path=/; HttpOnly; SameSite=Strict`

/** The secret that the page stores, and sends for the repository's content. */
export const secretFor = (key: Key): string => madeOf(key, 'page')

/**
 * With this header another start of the command asks whether the desk is running. Both sides prove with a new challenge
 * that they have the token, so that another program on the port learns nothing.
 */
export const CHALLENGE_HEADER = 'x-forge-challenge'
export const questionFor = (key: Key, challenge: string): string => madeOf(key, `is it you\n${challenge}`)
export const proofFor = (key: Key, challenge: string): string => madeOf(key, `it is me\n${challenge}`)

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/

/** The page for a browser without access. It names the repository, but not its folder. */
const byTheAddress = (name: string): string =>
  `This window has no key to the desk: run \`forge\` again in the folder of ${name}, and use the address that it prints.`

/** Why a request is refused; undefined if it is allowed. `name`: the repository's name for the message. */
export function accessRefusalOf(request: Request, key: Key, door: Door, name: string): AccessRefusal | undefined {
  const { method, headers } = request
  const host = headers.get('host') ?? ''
  if (!LOOPBACK.test(host)) return { status: 421, words: 'The desk answers to no name but localhost and 127.0.0.1.' }
  if (method !== 'GET' && (method !== 'HEAD' || door === 'socket'))
    return { status: 405, words: 'The desk is asked by GET alone.' }
  const origin = headers.get('origin')
  if (origin === null ? door === 'socket' : origin !== `http://${host}`)
    return { status: 403, words: 'The desk speaks with its own page alone.' }
  // For a browser, another port of this machine is the same site, so its pages send the cookie. They may link here, but
  // not read anything.
  const site = headers.get('sec-fetch-site')
  const isVisit = door === 'page' && headers.get('sec-fetch-mode') === 'navigate'
  if ((site === 'cross-site' || site === 'same-site') && !(isVisit && headers.get('sec-fetch-dest') === 'document'))
    return { status: 403, words: 'The desk speaks with its own page alone.' }
  if (door === 'page' && hasTicket(request)) return undefined
  return hasKey(headers, key, door) ? undefined : notAdmitted(name)
}

/** Whether the address contains a token or a ticket, which is checked later. */
function hasTicket({ url }: Request): boolean {
  const { searchParams } = new URL(url)
  return searchParams.has('token') || searchParams.has('ticket')
}

function hasKey(headers: Headers, key: Key, door: Door): boolean {
  if (door === 'here') {
    const challenge = headers.get(CHALLENGE_HEADER)
    return challenge !== null && isSame(headers.get(SECRET_HEADER) ?? '', questionFor(key, challenge))
  }
  if (!hasCookie(headers.get('cookie') ?? '', key)) return false
  return door === 'page' || door === 'asset' || isSame(secretIn(headers, door), secretFor(key))
}

function secretIn(headers: Headers, door: Door): string {
  if (door !== 'socket') return headers.get(SECRET_HEADER) ?? ''
  const protocols = (headers.get('sec-websocket-protocol') ?? '').split(/\s*,\s*/)
  return protocols.find(protocol => protocol.startsWith(SECRET_PROTOCOL))?.slice(SECRET_PROTOCOL.length) ?? ''
}

/** Whether this is the token. */
export const isToken = (token: string, key: Key): boolean => isSame(token, key.token)

/** How long a ticket is valid, in milliseconds; a browser that has to start takes time. */
const TICKET_VALID_MS = 120_000

/**
 * Tickets: credentials for one visit soon after their creation. The program that opens the browser gets the address as
 * an argument, which every user of the machine can read: so it does not contain the token.
 */
export class Tickets {
  readonly #made = new Map<string, number>()

  make(): string {
    const ticket = newToken()
    this.#made.set(digestOf(ticket), performance.now() + TICKET_VALID_MS)
    return ticket
  }

  /** Uses up a ticket; returns whether it was valid. Each ticket is valid once. */
  take(ticket: string): boolean {
    const now = performance.now()
    for (const [digest, end] of this.#made) if (end < now) this.#made.delete(digest)
    return this.#made.delete(digestOf(ticket))
  }
}

const digestOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** The answer to a browser with an invalid token or ticket. */
export const notAdmitted = (name: string): AccessRefusal => ({ status: 401, words: byTheAddress(name) })

function hasCookie(header: string, key: Key): boolean {
  const name = `${cookieName(key.port)}=`
  const values = header.split(/; */).filter(pair => pair.startsWith(name))
  // There may be several cookies of this name, since other ports may set one for some paths.
  return values.some(pair => isSame(pair.slice(name.length), cookieValue(key)))
}

/** Compares in constant time. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map(text => new Bun.CryptoHasher('sha256').update(text).digest())
  return a !== undefined && b !== undefined && crypto.timingSafeEqual(a, b)
}
