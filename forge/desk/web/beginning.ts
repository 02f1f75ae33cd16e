/** The connection as the page's first script begins it, and how the rest of the page takes it over. */
import type { Question } from '../messages.ts'
import { protocolsWith } from '../server/secret.ts'

export interface Beginning {
  socket: WebSocket
  /** What is asked as soon as the socket is open. */
  question: Question
  /** Gives what the server has said so far, and leaves all that it says from now on to whoever called. */
  takeOver: () => string[]
}

declare global {
  interface Window {
    /** Left by the first script; gone when the page has taken it. */
    beginning?: Beginning | undefined
  }
}

/** Opens the socket, and asks for the desk. */
export function begin(secret: string): Beginning {
  const socket = open(secret)
  const question: Question = { id: 0, ask: 'desk' }
  const heard: string[] = []
  const listen = (event: MessageEvent) => heard.push(String(event.data))
  socket.addEventListener('open', () => socket.send(JSON.stringify(question)), { once: true })
  socket.addEventListener('message', listen)
  const takeOver = () => {
    socket.removeEventListener('message', listen)
    return heard
  }
  return { socket, question, takeOver }
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
