/** Reads, in parts, lists that are stored as blobs, since they are too long for one event of a workflow's history. */
import type { List, RunId } from '../contract.ts'
import { atOnce } from './effects.ts'

/** Reads all items of a list. */
export async function readList<Item>(run: RunId, list: List | undefined): Promise<Item[]> {
  const items: Item[] = []
  if (!list || list.count === 0) return items
  for (let from: number | undefined = 0; from !== undefined; ) {
    const part: { items: unknown[]; next?: number } = await atOnce.readItems({ run, list, from })
    for (const item of part.items) items.push(item as Item)
    from = part.next
  }
  return items
}
