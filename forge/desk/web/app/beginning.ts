/**
 * How a page begins: with what came with it, or with what its first script asks; the rest of the page takes it over.
 */

import type { Asked } from '../../contract/contract.ts'
import { BEGINNING, firstQuestions } from '../../first-questions.ts'
import { protocolsWith, SECRET_NAME } from '../../server/secret.ts'
import { readSecret } from './secret.ts'

/** By this the browser remembers that the window showed a branch or commit last, not the repository. */
export const SHOWED_TAB = 'a tab was shown'

export interface Beginning {
  socket: WebSocket
  /** What is asked as soon as the socket is open: nothing where the answers come with the page. */
  questions: readonly Asked[]
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

/** Begins, in whichever of the page's scripts comes first: no browser promises that it is the small one. */
export function beginOnce(): void {
  if (window.hasBegun) return
  window.hasBegun = true
  const given = takeSecret()
  // The browser takes its time to keep something: the connection is on its way meanwhile.
  window.beginning = given ? begin(given, []) : begin(readSecret(), firstQuestions(!showedTab()))
  if (!given) return
  localStorage.setItem(SECRET_NAME, given)
  history.replaceState(null, '', '/')
}

const showedTab = (): boolean => localStorage.getItem(SHOWED_TAB) !== null

/** Who comes with a token or ticket gets the secret with the page, once. Neither stays where it came. */
function takeSecret(): string {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${SECRET_NAME}"]`)
  meta?.remove()
  return meta?.content ?? ''
}

/** Opens the socket, and asks as soon as it is open. */
function begin(secret: string, questions: readonly Asked[]): Beginning {
  const socket = open(secret)
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

/** What came with the page, as it was written; empty where nothing did. It does not stay there. */
export function takeBrought(): string {
  const element = document.getElementById(BEGINNING)
  element?.remove()
  return element?.textContent ?? ''
}

export function open(secret: string): WebSocket {
  const url = new URL('/socket', location.href)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return new WebSocket(url, protocolsWith(secret))
}
