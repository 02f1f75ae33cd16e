/**
 * Who may speak to the desk: the browser of the user who started it, on a page that the desk itself served. Any page in
 * that browser, and any program on the machine, can send requests to a port of this machine; so each of them has to
 * show a key, name this machine (a foreign name could be pointed here by whoever owns it), and come from our own page.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** What lets in, and the port that it is for. */
export type Key = { token: string; port: number }
export type Refusal = { status: 400 | 401 | 403 | 405 | 421; words: string }

export const newToken = (): string => randomBytes(32).toString('base64url')

/** Browsers send a cookie to every port of a machine: so its name says for which one it is. */
const cookieName = (port: number): string => `desk_${port}`

/** The header that makes a browser keep the key where no script can read it, and show it to no other site. */
export const cookieFor = ({ token, port }: Key): string =>
  `${cookieName(port)}=${token}; Path=/; HttpOnly; SameSite=Strict`

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/
const BY_THE_ADDRESS = 'This desk opens by the address that `forge` prints: run it again to see it.'

/** Why a request is not answered; undefined where it may be. `door` is what it asks for. */
export function refusalOf(request: Request, key: Key, door: 'page' | 'file' | 'socket'): Refusal | undefined {
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
  if (door === 'page' && new URL(request.url).searchParams.has('token')) return undefined
  return hasCookie(headers.get('cookie') ?? '', key) ? undefined : { status: 401, words: BY_THE_ADDRESS }
}

/** What a visit with a token in its address gets: the key and the page without the token, or nothing. */
export function admit(token: string, key: Key): Response | Refusal {
  if (!isSame(token, key.token)) return { status: 401, words: BY_THE_ADDRESS }
  return new Response(null, { status: 303, headers: { location: '/', 'set-cookie': cookieFor(key) } })
}

function hasCookie(header: string, key: Key): boolean {
  const name = `${cookieName(key.port)}=`
  const values = header.split(/; */).filter(pair => pair.startsWith(name))
  // There may be several, since other ports may set one of this name for a part of our paths.
  return values.some(pair => isSame(pair.slice(name.length), key.token))
}

/** Takes as long for a text that is nearly right as for any other. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map(text => createHash('sha256').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}
