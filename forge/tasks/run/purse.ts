/**
 * What the requests of a run have used and may still use, for a run that several machines work on: a pure decision,
 * which one workflow makes for all of them (flows/budget.ts). On one machine, the ledger in the run's folder decides by
 * the same rule (runs/budget.ts).
 */
import type { Limits } from '../contract.ts'

/** What a request may use at most, with an answer of at most `output` tokens. */
export type Room = { output: number; tokens: number; cost: number }

/** A request that is under way, or that was lost with its worker. `at`: milliseconds since 1970. */
type Reserved = { id: string; key: string; tokens: number; cost: number; at: number }

/**
 * `requests`, `tokens`, `cost`: of all requests that were ever sent; for those under way, the most that they may use.
 * `open`: those under way. `lost`: the last ones that were never settled, which count with all that was reserved.
 */
export type Purse = { requests: number; tokens: number; cost: number; open: Reserved[]; lost: Reserved[] }

/**
 * A request for room. `sender`: the activity that sends it, and `id`: its try, so that a repeated one takes the place of
 * the one before. `rooms`: the first that fits is granted.
 */
export type Wanted = { id: string; sender: string; key: string; rooms: Room[]; limits: Limits }

/** Why a request would pass a limit: what was `used` until now, and the `most` that may be. */
export type Beyond = { limit: 'requests' | 'tokens' | 'cost'; used: number; most: number; room: Room }

export type Granting = { is: 'granted'; output: number } | { is: 'wait' } | ({ is: 'beyond' } & Beyond)

/** What a request has used. */
export type Used = { tokens: number; cost: number }

/** Milliseconds after which a request counts as lost, as none takes longer. */
const MAX_REQUEST_MS = 2 * 3_600_000
/** At most this many lost requests are remembered, to be corrected where their answers turn up. */
const MAX_LOST = 200

export const emptyPurse = (): Purse => ({ requests: 0, tokens: 0, cost: 0, open: [], lost: [] })

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
  const { id, sender, key, rooms, limits } = wanted
  const isGone = (it: Reserved) => (it.id !== id && it.id.startsWith(`${sender} `)) || now - it.at > MAX_REQUEST_MS
  const gone = purse.open.filter(isGone)
  const open = purse.open.filter(it => !isGone(it))
  const lost = [...purse.lost, ...gone].slice(-MAX_LOST)
  const current = { ...purse, open, lost }
  const before = open.find(it => it.id === id)
  const granted = before && rooms.find(({ tokens }) => tokens === before.tokens)
  // The same question again, as its answer did not arrive.
  if (granted) return { purse: current, granting: { is: 'granted', output: granted.output } }
  let beyond: Beyond | undefined
  for (const room of rooms) {
    beyond = whyBeyond(current, room, limits)
    if (beyond) continue
    const { tokens, cost } = room
    const requests = purse.requests + 1
    const added = { requests, tokens: purse.tokens + tokens, cost: purse.cost + cost }
    const next = { ...current, ...added, open: [...open, { id, key, tokens, cost, at: now }] }
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

/** Settles a request whose answer is stored, though its own worker has not said so; one that is unknown changes nothing. */
export function settleKnown(purse: Purse, key: string, used: Used): Purse {
  const there = [...purse.open, ...purse.lost].find(it => it.key === key)
  return there ? replaced(purse, there, used) : purse
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
