/**
 * Stores and reads lists for workflows, since an event of a workflow's history has room for only some ten thousand
 * bytes.
 */
import * as v from 'valibot'
import type { List, ListActivities, Reference, RunId } from '../contract.ts'
import type { RunStore } from '../runs/store.ts'
import type { Means } from './means.ts'

/** At most this many bytes of JSON are read at once. */
const PART_BYTES = 32_000

const Items = v.array(v.unknown())

/** Stores a list as a blob. */
export async function keepItems(store: RunStore, kind: string, items: readonly unknown[]): Promise<List> {
  return { ...(await store.putJson(kind, items)), count: items.length }
}

/** Reads all items of a list. */
export async function allItems(store: RunStore, list: Reference): Promise<unknown[]> {
  return v.parse(Items, await store.readJson(list))
}

export class ListWork implements ListActivities {
  constructor(private readonly means: Means) {}

  async keepItems({ run, kind, items }: { run: RunId; kind: string; items: unknown[] }): Promise<List> {
    const { store } = await this.means.run(run)
    return await keepItems(store, kind, items)
  }

  async readItems({ run, list, from }: { run: RunId; list: Reference; from: number }) {
    const { store } = await this.means.run(run)
    const all = await allItems(store, list)
    const items: unknown[] = []
    let bytes = 0
    let at = from
    for (; at < all.length; at++) {
      bytes += Buffer.byteLength(JSON.stringify(all[at]))
      if (items.length > 0 && bytes > PART_BYTES) break
      items.push(all[at])
    }
    return { items, ...(at < all.length && { next: at }) }
  }
}
