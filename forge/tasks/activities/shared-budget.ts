/**
 * What is set aside for requests of a run: in this machine's ledger, or with a hub in the budget that all machines
 * share (flows/budget.ts).
 */
import type { Usage } from '../../ai/request.ts'
import type { Limits } from '../contract.ts'
import { batchedId, type Closing, emptyPurse, type Purse, type Reserved, type Room, type Used } from '../run/purse.ts'
import { BatchRecords } from '../runs/batch-records.ts'
import { type AskedBudget, outOfBudget, type Reservation } from '../runs/budget.ts'
import type { RunStore } from '../runs/store.ts'
import { allStoredAnswers } from '../runs/stored-answer.ts'
import type { OpenRun } from './means.ts'

export const usedBy = (usage: Usage | undefined): Used => ({
  tokens: (usage?.input ?? 0) + (usage?.output ?? 0),
  cost: usage?.cost ?? 0,
})

type Shared = OpenRun & { budget: NonNullable<OpenRun['budget']> }

/**
 * Asks the budget that several machines share. Gives the name under which the request is settled, and the room that it
 * has. Throws an OutOfBudget.
 */
export async function askShared(
  { store, ledger, budget }: Shared,
  asked: AskedBudget,
  { limits, isWhole }: { limits: Limits; isWhole: boolean },
): Promise<{ id: string; room: Room } | 'wait'> {
  const rooms = ledger.roomsFor(asked, { isWhole })
  const { key, isBatched = false } = asked
  const wanted = { key, rooms, limits, ...(isBatched && { isBatched }) }
  const { id, granting } = await budget.reserve(store.run, wanted, () => knownIn(store))
  if (granting.is === 'wait') return 'wait'
  if (granting.is === 'beyond') throw outOfBudget(granting)
  const { output } = granting
  const room = rooms.find(it => it.output === output)
  if (room) return { id, room }
  // Another machine has asked for the same request in a batch, and has estimated it otherwise.
  const [whole] = rooms
  if (!isBatched || !whole) throw new Error('The budget has granted what was not asked for')
  return { id, room: { ...whole, output } }
}

/** What git knows that the run has used, for a budget that has to begin again. */
async function knownIn(store: RunStore): Promise<Purse> {
  const used = (await allStoredAnswers(store)).map(({ usage }) => usedBy(usage))
  const open = (await new BatchRecords(store).out()).map(({ request: { key, output, room }, since }): Reserved => {
    const { tokens, cost } = room ?? { tokens: output, cost: 0 }
    return { id: batchedId(key), key, output, tokens, cost, at: since, isBatched: true }
  })
  const sumOf = (name: keyof Used) => [...used, ...open].reduce((sum, it) => sum + it[name], 0)
  const requests = used.length + open.length
  return { ...emptyPurse(), requests, tokens: sumOf('tokens'), cost: sumOf('cost'), open }
}

/** What is set aside for requests of one run in batches. */
export class BatchBudget {
  constructor(private readonly run: OpenRun) {}

  /** Sets the price of a request aside, once. Gives 'wait' where there may be room once other requests are settled. */
  async reserve(asked: AskedBudget, limits: Limits): Promise<(Reservation & { room?: Room }) | 'wait'> {
    const { ledger, budget } = this.run
    if (!budget) return ledger.findBatched(asked.key) ?? ledger.reserve({ ...asked, isBatched: true }, limits)
    const granted = await askShared({ ...this.run, budget }, { ...asked, isBatched: true }, { limits, isWhole: false })
    return granted === 'wait' ? 'wait' : { id: 0, output: granted.room.output, room: granted.room }
  }

  /** The room for the answer to each of these requests for which something is set aside, by their keys. */
  async outputsOf(keys: readonly string[]): Promise<Map<string, number>> {
    const { store, ledger, budget } = this.run
    const found = new Map<string, number>()
    const purse = await budget?.used(store.run)
    if (budget && !purse) throw new Error('The budget of the run does not answer.')
    const open = new Map(purse?.open.map(it => [it.id, it.output]))
    for (const key of keys) {
      const output = budget ? open.get(batchedId(key)) : ledger.findBatched(key)?.output
      if (output !== undefined) found.set(key, output)
    }
    return found
  }

  /** Replaces what was set aside for a request by what its answer has used. */
  async settle(key: string, usage: Usage, saved: number): Promise<void> {
    this.run.ledger.settleBatched(key, usage, saved)
    await this.#close([{ key, used: usedBy(usage) }])
  }

  /** Gives back what was set aside for requests that got no answer: providers do not charge for that. */
  async release(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.run.ledger.releaseBatched(key)
    await this.#close(keys.map(key => ({ key, is: 'free' as const })))
  }

  /** Counts what was set aside for requests as spent: they may have been answered, and be paid for. */
  async lose(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.run.ledger.loseBatched(key)
    await this.#close(keys.map(key => ({ key, is: 'lost' as const })))
  }

  /** Tells the budget of all machines. */
  async #close(closings: Closing[]): Promise<void> {
    if (closings.length > 0) await this.run.budget?.close(this.run.store.run, closings)
  }
}
