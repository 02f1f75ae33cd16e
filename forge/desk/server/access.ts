/**
 * Access to the desk: only for the browser of the user that started it, on a page that the desk itself served. Any page
 * in that browser, and any program on the machine, can send requests to a port of this machine; so each of them has to
 * show what it was given, name this machine (a foreign name could be pointed here by whoever owns it), and come from
 * our own page.
 *
 * Two things are given to whoever comes with the token of the address, or with a ticket for it, and neither tells the
 * other or the token. A cookie, which no script can read, lets in to the page. But browsers send it to every port of a
 * machine, so any other server there that the user visits gets it, too. What is in the repository therefore takes a
 * secret besides, which the page keeps where only pages of this very port can read it.
 */
import { SECRET_HEADER, SECRET_PROTOCOL } from './secret.ts'

/** What lets in, and the port that it is for. */
export type Key = { token: string; port: number }
export type AccessRefusal = { status: 400 | 401 | 403 | 405 | 421; words: string }
/**
 * What a request asks for: the page, a file that it is made of, the socket, what is in the repository, or whether this
 * is the desk that another start of the command looks for.
 */
export type Door = 'page' | 'asset' | 'socket' | 'content' | 'here'

export const newToken = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')

/** The values derived here reveal neither the token nor the values for another purpose or port. */
const madeOf = ({ token, port }: Key, purpose: string): string =>
  new Bun.CryptoHasher('sha256', token).update(`${purpose}\n${port}`).digest('base64url')

/** Browsers send a cookie to every port of a machine: so its name says for which one it is. */
const cookieName = (port: number): string => `desk_${port}`
const cookieValue = (key: Key): string => madeOf(key, 'cookie')

/** The header that makes a browser keep the cookie where no script can read it, and show it to no other site. */
export const cookieFor = (key: Key): string =>
  `${cookieName(key.port)}=${cookieValue(key)}; Path=/; HttpOnly; SameSite=Strict`

/** What the page keeps, and shows for all that is in the repository. */
export const secretFor = (key: Key): string => madeOf(key, 'page')

/**
 * How another start of the command asks whether the desk is there, without revealing anything to another program that
 * may have taken the port meanwhile: both sides show that they have the token for a word that is new each time.
 */
export const CHALLENGE_HEADER = 'x-forge-challenge'
export const questionFor = (key: Key, challenge: string): string => madeOf(key, `is it you\n${challenge}`)
export const proofFor = (key: Key, challenge: string): string => madeOf(key, `it is me\n${challenge}`)

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/

/** The page for a browser without a key. It names the repository, not its folder. */
const byTheAddress = (name: string): string =>
  `This window has no key to the desk: run \`forge\` again in the folder of ${name}, and use the address that it prints.`

/** Why a request is not answered; undefined where it may be. `name` is the repository's, for a person. */
export function accessRefusalOf(request: Request, key: Key, door: Door, name: string): AccessRefusal | undefined {
  const { method, headers } = request
  const host = headers.get('host') ?? ''
  if (!LOOPBACK.test(host)) return { status: 421, words: 'The desk answers to no name but localhost and 127.0.0.1.' }
  if (method !== 'GET' && (method !== 'HEAD' || door === 'socket'))
    return { status: 405, words: 'The desk is asked by GET alone.' }
  const origin = headers.get('origin')
  if (origin === null ? door === 'socket' : origin !== `http://${host}`)
    return { status: 403, words: 'The desk speaks with its own page alone.' }
  // Another port of this machine is the same site for a browser, so its pages are let in by the cookie. They may lead
  // here, as a link does, but not take anything.
  const site = headers.get('sec-fetch-site')
  const isVisit = door === 'page' && headers.get('sec-fetch-mode') === 'navigate'
  if ((site === 'cross-site' || site === 'same-site') && !(isVisit && headers.get('sec-fetch-dest') === 'document'))
    return { status: 403, words: 'The desk speaks with its own page alone.' }
  if (door === 'page' && hasTicket(request)) return undefined
  return hasKey(headers, key, door) ? undefined : notAdmitted(name)
}

/** Whether the address has something that lets in; which it is, is looked at later. */
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

/** Whether the token in an address is the one. */
export const isToken = (token: string, key: Key): boolean => isSame(token, key.token)

/** How long a ticket is good for, in milliseconds: a browser that has to be started first takes its time. */
const TICKET_VALID_MS = 120_000

/**
 * Words that let in once, soon after they were made. The browser is opened by a program that is told the address as an
 * argument, which every user of the machine can read: so that is not the token.
 */
export class Tickets {
  readonly #made = new Map<string, number>()

  make(): string {
    const ticket = newToken()
    this.#made.set(digestOf(ticket), performance.now() + TICKET_VALID_MS)
    return ticket
  }

  /** Whether it is one; it is none any more then. */
  take(ticket: string): boolean {
    const now = performance.now()
    for (const [digest, end] of this.#made) if (end < now) this.#made.delete(digest)
    return this.#made.delete(digestOf(ticket))
  }
}

const digestOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** What is said to a browser that comes with a token or ticket that is none. */
export const notAdmitted = (name: string): AccessRefusal => ({ status: 401, words: byTheAddress(name) })

function hasCookie(header: string, key: Key): boolean {
  const name = `${cookieName(key.port)}=`
  const values = header.split(/; */).filter(pair => pair.startsWith(name))
  // There may be several, since other ports may set one of this name for a part of our paths.
  return values.some(pair => isSame(pair.slice(name.length), cookieValue(key)))
}

/** Takes as long for a text that is nearly right as for any other. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map(text => new Bun.CryptoHasher('sha256').update(text).digest())
  return a !== undefined && b !== undefined && crypto.timingSafeEqual(a, b)
}
