/**
 * Providers that do not answer a run just now: kept in the run's folder while that lasts, so that `forge show` says
 * within seconds which provider does not answer, since when, and when it is asked again.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { readJson, writeJson } from '../../../core/state.ts'

const Trouble = v.object({
  model: v.string(),
  /** What the last try came to: a sentence. */
  words: v.string(),
  /** When the first try of these failed, and when the next one is due: milliseconds since 1970. */
  since: v.number(),
  next: v.number(),
  tries: v.number(),
})
export type Trouble = v.InferOutput<typeof Trouble>
const Stored = v.array(Trouble)

/** Milliseconds after the next try was due when a trouble is no longer believed: nothing tries any more. */
const STALE = 3 * 60_000

const fileIn = (folder: string): string => join(folder, 'troubles.json')

/** The troubles of one run, as the worker sees them. */
export class Troubles {
  #known: Promise<Map<string, Trouble>> | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(private readonly folder: string) {}

  /** A try has failed, and the next one is due at `next`. Gives whether it is the first of these. */
  async failed(model: string, { words, now, next }: { words: string; now: number; next: number }): Promise<boolean> {
    const known = await this.#read()
    const before = known.get(model)
    const { since = now, tries = 0 } = before ?? {}
    known.set(model, { model, words, since, next, tries: tries + 1 })
    await this.#write(known)
    return before === undefined
  }

  /** It has answered, or is asked no more. Gives the trouble that is over. */
  async over(model: string): Promise<Trouble | undefined> {
    const known = await this.#read()
    const before = known.get(model)
    if (!before) return undefined
    known.delete(model)
    await this.#write(known)
    return before
  }

  /** What a worker before this one has left is known, too. */
  #read(): Promise<Map<string, Trouble>> {
    this.#known ??= readJson(fileIn(this.folder), Stored).then(
      (stored = []) => new Map(stored.map(trouble => [trouble.model, trouble])),
      () => new Map(),
    )
    return this.#known
  }

  /** One after the other; it is only shown, so a file that can't be written is no reason to fail. */
  #write(known: ReadonlyMap<string, Trouble>): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const path = fileIn(this.folder)
      const all = [...known.values()]
      await (all.length === 0 ? rm(path, { force: true }) : writeJson(path, all)).catch(() => undefined)
    })
    return this.#writing
  }
}

/** Providers that do not answer a run just now, as its worker has written it down. */
export async function readTroubles(folder: string, now: number): Promise<Trouble[]> {
  const stored = (await readJson(fileIn(folder), Stored)) ?? []
  return stored.filter(({ next }) => now < next + STALE)
}

/** What a person is told of it, with the times of this machine's clock. */
export function troubleInWords({ model, words, since, next, tries }: Trouble, now: number): string {
  const again = next > now ? `the next is at ${clock(next)}` : 'the next is under way'
  const count = tries === 1 ? 'one try' : `${tries} tries`
  return `${words.replace(/\.$/, '')} (${model}, since ${clock(since)}): ${count} so far, ${again}.`
}

const clock = (time: number): string => new Date(time).toTimeString().slice(0, 8)
