/** The message of a waiting merge, in windows of which answers are lost, or that are opened while another one types. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Merging } from '../../../../forge/desk/contract/merging.ts'
import { MergingState } from '../../../../forge/desk/web/page/merging-state.ts'
import type { Connection } from '../../../../forge/desk/web/ui/socket.ts'

type Typed = { before: string; message: string }

const USUAL = 'Merge topic\n\nBody'
const globals = globalThis as { localStorage?: unknown; sessionStorage?: unknown }
/** What the desk keeps. */
let message: string
/** Runs after a message has arrived, and before its answer is sent; gives whether the answer is lost. */
let whenKept: (typed: Typed) => boolean

const keep = ({ before, message: typed }: Typed) => {
  if (message === before) message = typed
  return { message }
}
const connection = {
  ask: async (name: string, fields: Typed) => {
    if (name === 'merging')
      return { theirsCommit: 'theirs', oursCommit: 'ours', files: [], message } as never as Merging
    const answer = keep(fields)
    // The page repeats a question whose answer is lost.
    return whenKept(fields) ? keep(fields) : answer
  },
} as unknown as Connection

function storage() {
  const texts = new Map<string, string>()
  return {
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
    removeItem: (key: string) => void texts.delete(key),
  }
}

/** Whether the windows that were opened before still are: then their locks are held. */
let areOpen: boolean
const locks = new Set<string>()
Object.defineProperty(navigator, 'locks', {
  configurable: true,
  value: {
    request: async (name: string) => void locks.add(name),
    query: async () => ({ held: areOpen ? [...locks].map(name => ({ name })) : [] }),
  },
})

/** Opens a window, or loads it again with the texts that it has kept. */
async function openWindow(own = storage()) {
  globals.sessionStorage = own
  const state = new MergingState(connection, { kind: 'branch', branch: 'main' }, 'main', () => undefined)
  await state.refresh()
  return { state, own, shown: () => state.message.value ?? state.latest.value?.message }
}

beforeEach(() => {
  message = USUAL
  whenKept = () => false
  areOpen = true
  globals.localStorage = storage()
})
afterEach(() => {
  delete globals.localStorage
  delete globals.sessionStorage
})

test('what is corrected while an answer is lost is there once, with what another window has typed meanwhile', async () => {
  const { state, shown } = await openWindow()
  state.writeMessage('Bring in tho\n\nBody')
  whenKept = () => {
    whenKept = () => false
    message = `${message} and more`
    state.writeMessage('Bring in the topic\n\nBody')
    return true
  }
  await state.sendMessage()
  expect(message).toBe('Bring in the topic\n\nBody and more')
  expect(shown()).toBe(message)
})

test('what is corrected before the page is loaded again is there once, where an answer did not come any more', async () => {
  const { state, own } = await openWindow()
  state.writeMessage('Bring in tho\n\nBody')
  const { promise: isSent, resolve } = Promise.withResolvers<void>()
  const ask = connection.ask
  connection.ask = (async (name: string, fields: Typed) => {
    await (ask as (name: string, fields: Typed) => Promise<unknown>)(name, fields)
    resolve()
    return await new Promise(() => undefined)
  }) as never
  void state.sendMessage()
  await isSent
  connection.ask = ask
  state.writeMessage('Bring in the topic\n\nBody')
  message = `${message} and more`
  const again = await openWindow(own)
  await again.state.sendMessage()
  expect(message).toBe('Bring in the topic\n\nBody and more')
  expect(again.shown()).toBe(message)
})

test('what is corrected while another window is opened is there once', async () => {
  const { state } = await openWindow()
  state.writeMessage('Bring in tho\n\nBody')
  const other = await openWindow()
  // The other window gets it by the desk.
  expect(other.shown()).toBe(USUAL)
  state.writeMessage('Bring in the topic\n\nBody')
  await state.sendMessage()
  await other.state.refresh()
  other.state.writeMessage('Bring in the topic\n\nBody at last')
  await other.state.sendMessage()
  await state.refresh()
  expect(message).toBe('Bring in the topic\n\nBody at last')
  expect([state.latest.value?.message, other.shown()]).toEqual([message, message])
})

test('a new window sends what one that is closed was typing', async () => {
  const { state } = await openWindow()
  state.writeMessage('Bring in the topic')
  areOpen = false
  const other = await openWindow()
  expect(other.shown()).toBe('Bring in the topic')
  await other.state.sendMessage()
  expect(message).toBe('Bring in the topic')
})
