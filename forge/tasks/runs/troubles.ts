/**
 * Models that do not answer a run at present: recorded in the run's folder meanwhile, so that `forge show` says within
 * seconds which one, since when, and when it is asked again.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { readJson, writeJson } from '../../../core/state.ts'

const Trouble = v.object({
  model: v.string(),
  /** The result of the last try, as a sentence. */
  words: v.string(),
  /** When the first of the failed tries in a row was, in milliseconds since 1970. `next`: when the next one is due. */
  since: v.number(),
  next: v.number(),
  tries: v.number(),
})
export type Trouble = v.InferOutput<typeof Trouble>
const Stored = v.array(Trouble)

/** Milliseconds after the time of the next try (`next`) from which a trouble is ignored: no process tries any more. */
const STALE = 3 * 60_000

const fileIn = (folder: string): string => join(folder, 'troubles.json')

/** The troubles of one run, written by its worker. */
export class Troubles {
  #known: Promise<Map<string, Trouble>> | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(private readonly folder: string) {}

  /** Records a failed try; the next one is due at `next`. Gives whether it is the first one in a row. */
  async failed(model: string, { words, now, next }: { words: string; now: number; next: number }): Promise<boolean> {
    const known = await this.#read()
    const before = known.get(model)
    const { since = now, tries = 0 } = before ?? {}
    known.set(model, { model, words, since, next, tries: tries + 1 })
    await this.#write(known)
    return before === undefined
  }

  /**
   * Records that the model has answered or is no longer asked. Gives its trouble (the failed tries) until now;
   * undefined where it had none.
   */
  async over(model: string): Promise<Trouble | undefined> {
    const known = await this.#read()
    const before = known.get(model)
    if (!before) return undefined
    known.delete(model)
    await this.#write(known)
    return before
  }

  /** Reads the recorded troubles, those recorded by an earlier worker included. */
  #read(): Promise<Map<string, Trouble>> {
    this.#known ??= readJson(fileIn(this.folder), Stored).then(
      (stored = []) => new Map(stored.map(trouble => [trouble.model, trouble])),
      () => new Map(),
    )
    return this.#known
  }

  /** Writes one version at a time. The file is only for display, so a failure to write it is ignored. */
  #write(known: ReadonlyMap<string, Trouble>): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const path = fileIn(this.folder)
      const all = [...known.values()]
      await (all.length === 0 ? rm(path, { force: true }) : writeJson(path, all)).catch(() => undefined)
    })
    return this.#writing
  }
}

/** Reads the models that do not answer a run at present. */
export async function readTroubles(folder: string, now: number): Promise<Trouble[]> {
  const stored = (await readJson(fileIn(folder), Stored)) ?? []
  return stored.filter(({ next }) => now < next + STALE)
}

/** Describes a trouble (failing requests to a model) to the user, with times of this machine's clock. */
export function troubleInWords({ model, words, since, next, tries }: Trouble, now: number): string {
  const again = next > now ? `the next is at ${clock(next)}` : 'the next is under way'
  const count = tries === 1 ? 'one try' : `${tries} tries`
  return `${words.replace(/\.$/, '')} (${model}, since ${clock(since)}): ${count} so far, ${again}.`
}

const clock = (time: number): string => new Date(time).toTimeString().slice(0, 8)
