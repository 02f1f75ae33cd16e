/**
 * What the requests of a run have used and may still use, for a run that several machines work on: a pure decision,
 * which one workflow makes for all of them (flows/budget.ts). On one machine, the ledger in the run's folder decides by
 * the same rule (runs/budget.ts).
 */
import type { Limits } from '../contract.ts'

/** What a request may use at most, with an answer of at most `output` tokens. */
export type Room = { output: number; tokens: number; cost: number }

/**
 * A request that is under way, or that was lost with its worker. `at`: milliseconds since 1970. `output`: the most
 * tokens of its answer; reservations of earlier versions lack it. `isBatched`: it is in a batch, whose answers may take
 * a day.
 */
export type Reserved = {
  id: string
  key: string
  tokens: number
  cost: number
  at: number
  output?: number
  isBatched?: boolean
}

/**
 * `requests`, `tokens`, `cost`: of all requests that were ever sent; for those under way, the most that they may use.
 * `open`: those under way. `lost`: the last ones that were never settled, which count with all that was reserved.
 */
export type Purse = { requests: number; tokens: number; cost: number; open: Reserved[]; lost: Reserved[] }

/**
 * A request for room. `sender`: the activity that sends it, and `id`: its try, so that a repeated one takes the place
 * of the one before. `rooms`: the first that fits is granted.
 */
export type Wanted = {
  id: string
  sender: string
  key: string
  rooms: Room[]
  limits: Limits
  isBatched?: boolean
}

/** Why a request would pass a limit: what was `used` until now, and the `most` that may be. */
export type Beyond = { limit: 'requests' | 'tokens' | 'cost'; used: number; most: number; room: Room }

export type Granting = { is: 'granted'; output: number } | { is: 'wait' } | ({ is: 'beyond' } & Beyond)

/** What a request has used. */
export type Used = { tokens: number; cost: number }

/**
 * What became of a request in a batch: it was answered, and has `used` this; it got no answer, which costs nothing
 * (`free`); or it may have been answered and be paid for (`lost`).
 */
export type Closing = { key: string } & ({ used: Used } | { is: 'free' | 'lost' })

/** Milliseconds after which a request counts as lost, as none takes longer. */
const MAX_REQUEST_MS = 2 * 3_600_000
/** The same for a request in a batch. */
const MAX_BATCH_MS = 50 * 3_600_000
/** At most this many lost requests are remembered, to be corrected where their answers turn up. */
const MAX_LOST = 200

export const emptyPurse = (): Purse => ({ requests: 0, tokens: 0, cost: 0, open: [], lost: [] })

/**
 * The name of a request in a batch: it is the same for all machines, as any of them may submit and collect the batch.
 */
export const batchedId = (key: string): string => `batch ${key}`

/** Which limit a request would exceed; undefined where it fits. */
export function whyBeyond(
  used: Pick<Purse, 'requests' | 'tokens' | 'cost'>,
  room: Room,
  limits: Limits,
): Beyond | undefined {
  const wanted = { requests: 1, tokens: room.tokens, cost: room.cost }
  for (const limit of ['requests', 'tokens', 'cost'] as const) {
    const most = limits[limit]
    if (most !== undefined && used[limit] + wanted[limit] > most) return { limit, used: used[limit], most, room }
  }
  return undefined
}

/** Decides whether a request may be sent, and sets aside what it may use. */
export function reserve(purse: Purse, wanted: Wanted, now: number): { purse: Purse; granting: Granting } {
  const { id, sender, key, rooms, limits, isBatched } = wanted
  const isGone = (it: Reserved) =>
    (it.id !== id && it.id.startsWith(`${sender} `)) || now - it.at > (it.isBatched ? MAX_BATCH_MS : MAX_REQUEST_MS)
  const gone = purse.open.filter(isGone)
  const open = purse.open.filter(it => !isGone(it))
  const lost = [...purse.lost, ...gone].slice(-MAX_LOST)
  const current = { ...purse, open, lost }
  const before = open.find(it => it.id === id)
  const granted = before && (before.output ?? rooms.find(({ tokens }) => tokens === before.tokens)?.output)
  // The same question again, as its answer did not arrive.
  if (granted !== undefined) return { purse: current, granting: { is: 'granted', output: granted } }
  let beyond: Beyond | undefined
  for (const room of rooms) {
    beyond = whyBeyond(current, room, limits)
    if (beyond) continue
    const { tokens, cost } = room
    const requests = purse.requests + 1
    const added = { requests, tokens: purse.tokens + tokens, cost: purse.cost + cost }
    const own = { id, key, tokens, cost, at: now, output: room.output, ...(isBatched && { isBatched }) }
    const next = { ...current, ...added, open: [...open, own] }
    return { purse: next, granting: { is: 'granted', output: room.output } }
  }
  if (!beyond) throw new Error('A request has room for no answer')
  // What is under way may use less than was set aside.
  if (beyond.limit !== 'requests' && open.length > 0) return { purse: current, granting: { is: 'wait' } }
  return { purse: current, granting: { is: 'beyond', ...beyond } }
}

/** Replaces what was set aside for a request by what it has used. A second time changes nothing. */
export function settle(purse: Purse, id: string, used: Used): Purse {
  const there = [...purse.open, ...purse.lost].find(it => it.id === id)
  return there ? replaced(purse, there, used) : purse
}

/**
 * Settles a request whose answer is stored, though its own worker has not said so; one that is unknown changes nothing.
 */
export function settleKnown(purse: Purse, key: string, used: Used): Purse {
  const there = [...purse.open, ...purse.lost].find(it => it.key === key)
  return there ? replaced(purse, there, used) : purse
}

/** Settles requests in batches. A second time changes nothing. */
export const close = (purse: Purse, closings: readonly Closing[]): Purse => closings.reduce(closeOne, purse)

function closeOne(purse: Purse, closing: Closing): Purse {
  const { key } = closing
  if ('used' in closing) return settleKnown(purse, key, closing.used)
  const there = purse.open.find(it => it.id === batchedId(key))
  if (!there) return purse
  const open = purse.open.filter(it => it !== there)
  if (closing.is === 'lost') return { ...purse, open, lost: [...purse.lost, there].slice(-MAX_LOST) }
  const { requests, tokens, cost } = purse
  return { ...purse, requests: requests - 1, tokens: tokens - there.tokens, cost: cost - there.cost, open }
}

function replaced(purse: Purse, there: Reserved, { tokens, cost }: Used): Purse {
  const isOther = (it: Reserved) => it !== there
  return {
    requests: purse.requests,
    tokens: purse.tokens - there.tokens + tokens,
    cost: purse.cost - there.cost + cost,
    open: purse.open.filter(isOther),
    lost: purse.lost.filter(isOther),
  }
}
