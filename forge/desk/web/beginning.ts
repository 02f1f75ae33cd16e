/** The connection as the page's first script begins it, and how the rest of the page takes it over. */
import type { Question } from '../messages.ts'
import { protocolsWith, SECRET_NAME } from '../server/secret.ts'
import { readSecret } from './secret.ts'

/** So many rows of the graph are asked for at a time. */
export const CHUNK = 100
/** By this the browser remembers that the window showed a branch or commit last, not the repository. */
export const SHOWED_TAB = 'a tab was shown'

export interface Beginning {
  socket: WebSocket
  /** What is asked as soon as the socket is open. */
  questions: readonly Question[]
  /** Gives what the server has said so far, and leaves all that it says from now on to whoever called. */
  takeOver: () => string[]
}

declare global {
  interface Window {
    /** Left by the script that came first; gone when the page has taken it. */
    beginning?: Beginning | undefined
    hasBegun?: true
  }
}

const DESK: Question = { id: 0, ask: 'desk' }
const GRAPH: readonly Question[] = [
  { id: 1, ask: 'graph', filter: { withAbandoned: false }, from: 0, count: CHUNK },
  { id: 2, ask: 'refs' },
]

/** Begins, in whichever of the page's scripts comes first: no browser promises that it is the small one. */
export function beginOnce(): void {
  if (window.hasBegun) return
  window.hasBegun = true
  const given = takeSecret()
  // The browser takes its time to keep something: the connection is on its way meanwhile.
  window.beginning = begin(given || readSecret(), localStorage.getItem(SHOWED_TAB) === null)
  if (!given) return
  localStorage.setItem(SECRET_NAME, given)
  history.replaceState(null, '', '/')
}

/** Who comes with a token or ticket gets the secret with the page, once. Neither stays where it came. */
function takeSecret(): string {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${SECRET_NAME}"]`)
  meta?.remove()
  return meta?.content ?? ''
}

/** Opens the socket, and asks for the desk, and for the graph where that is what the page will show. */
function begin(secret: string, showsGraph: boolean): Beginning {
  const socket = open(secret)
  const questions = showsGraph ? [DESK, ...GRAPH] : [DESK]
  const heard: string[] = []
  const listen = (event: MessageEvent) => heard.push(String(event.data))
  const ask = () => {
    for (const question of questions) socket.send(JSON.stringify(question))
  }
  socket.addEventListener('open', ask, { once: true })
  socket.addEventListener('message', listen)
  const takeOver = () => {
    socket.removeEventListener('message', listen)
    return heard
  }
  return { socket, questions, takeOver }
}

/** What the first script has begun, for who asks first. */
export function takeBeginning(): Beginning | undefined {
  const { beginning } = window
  window.beginning = undefined
  return beginning
}

export function open(secret: string): WebSocket {
  const url = new URL('/socket', location.href)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return new WebSocket(url, protocolsWith(secret))
}
