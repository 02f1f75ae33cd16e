/**
 * What a run's store knows of its requests in batches, so that a crash, or the loss of the Temporal server's database,
 * submits nothing twice. Each record is written once.
 */
import * as v from 'valibot'
import type { BatchRequest, Submission } from '../contract.ts'
import { TIERS } from '../plan/schema.ts'
import { RunStore } from './store.ts'

const SubmissionSchema = v.object({
  id: v.string(),
  home: v.string(),
  list: v.object({ kind: v.string(), oid: v.string(), count: v.number() }),
})
/**
 * What is recorded before a batch is submitted. `newest`: the id of the newest batch that the provider has at that
 * time. `at`: the time, in milliseconds since 1970.
 */
const Intent = v.object({ newest: v.string(), at: v.number() })
/** The requests of a submission. */
export const BatchRequests = v.array(
  v.object({
    run: v.string(),
    task: v.optional(v.string()),
    attempt: v.number(),
    step: v.string(),
    request: v.object({ kind: v.string(), oid: v.string() }),
    key: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
    model: v.string(),
    kind: v.optional(v.string()),
    tier: v.optional(v.picklist(TIERS)),
    prompt: v.optional(v.number()),
    output: v.number(),
    bytes: v.number(),
    waiter: v.string(),
    room: v.optional(v.object({ tokens: v.pipe(v.number(), v.minValue(0)), cost: v.pipe(v.number(), v.minValue(0)) })),
  }),
)
const Sent = v.object({ batch: v.string() })
const Failed = v.object({ words: v.string() })

export type Intent = v.InferOutput<typeof Intent>

export class BatchRecords {
  constructor(private readonly store: RunStore) {}

  /**
   * The submission (a batch of requests sent to the provider) that has sent this request, or may have; undefined where
   * there was none, or all were cancelled. It is also found after the server has lost the run and the run was submitted
   * again.
   */
  async submissionOf(key: string): Promise<Submission | undefined> {
    return (await this.#last(key)).submission
  }

  /** Records, before it is submitted, that a request belongs to a submission. */
  async joins(key: string, submission: Submission): Promise<void> {
    const { submission: before, number } = await this.#last(key)
    if (before?.id !== submission.id) await this.#keep(`request ${key} ${number}`, submission)
  }

  /** Records that a request of a cancelled submission got no answer, so that it may join another submission. */
  async leaves(key: string, { id }: Submission): Promise<void> {
    await this.#keep(`cancelled ${key} ${id}`, {})
  }

  /**
   * What was recorded just before a submission was sent; undefined where it was not sent. Only the store of the
   * submission's home (the run that keeps the list of its requests) has this record.
   */
  async intent(id: string): Promise<Intent | undefined> {
    return await this.#find(`intent ${id}`, Intent)
  }

  async intends(id: string, intent: Intent): Promise<void> {
    await this.#keep(`intent ${id}`, intent)
  }

  /**
   * The provider's id of a submission's batch. Only the store of the submission's home (the run that keeps the list of
   * its requests) has this record.
   */
  async batchOf(id: string): Promise<string | undefined> {
    return (await this.#find(`sent ${id}`, Sent))?.batch
  }

  async isSent(id: string, batch: string): Promise<void> {
    await this.#keep(`sent ${id}`, { batch } satisfies v.InferOutput<typeof Sent>)
  }

  /** Why a request got no answer from its batch and is sent singly; undefined where that has not happened. */
  async failureOf(key: string): Promise<string | undefined> {
    return (await this.#find(`failed ${key}`, Failed))?.words
  }

  async fails(key: string, words: string): Promise<void> {
    await this.#keep(`failed ${key}`, { words } satisfies v.InferOutput<typeof Failed>)
  }

  /** The requests of this run that are in batches and have no answer yet; `since`: when their batch was submitted. */
  async out(): Promise<{ request: BatchRequest; since: number }[]> {
    const records = (await this.store.all('batches')).flatMap(bytes => {
      const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SubmissionSchema), bytes.toString())
      return parsed.success ? [parsed.output] : []
    })
    const submissions = [...new Map(records.map(it => [it.id, it])).values()]
    return (await Promise.all(submissions.map(it => this.#outOf(it).catch(() => [])))).flat()
  }

  async #outOf({ id, home, list }: Submission): Promise<{ request: BatchRequest; since: number }[]> {
    const store = home === this.store.run ? this.store : new RunStore(this.store.objects, home)
    const intent = await new BatchRecords(store).intent(id)
    if (!intent) return []
    const requests = v.parse(BatchRequests, await store.readJson(list)) as BatchRequest[]
    const isOut = async ({ run, key }: BatchRequest) =>
      run === this.store.run &&
      (await this.store.find('answers', key)) === undefined &&
      (await this.failureOf(key)) === undefined &&
      (await this.submissionOf(key))?.id === id
    const out = await Promise.all(requests.map(async it => ((await isOut(it)) ? [it] : [])))
    return out.flat().map(request => ({ request, since: intent.at }))
  }

  /** The last submission of a request that was not cancelled, and the number of the next record. */
  async #last(key: string): Promise<{ submission?: Submission; number: number }> {
    for (let number = 1; ; number++) {
      const submission = await this.#find(`request ${key} ${number}`, SubmissionSchema)
      if (!submission) return { number }
      const isCancelled = await this.store.find('batches', `cancelled ${key} ${submission.id}`)
      if (isCancelled === undefined) return { submission, number: number + 1 }
    }
  }

  async #find<Schema extends v.GenericSchema>(
    name: string,
    schema: Schema,
  ): Promise<v.InferOutput<Schema> | undefined> {
    const oid = await this.store.find('batches', name)
    if (oid === undefined) return undefined
    return v.parse(schema, await this.store.readJson({ kind: 'batch', oid }))
  }

  async #keep(name: string, value: unknown): Promise<void> {
    await this.store.keep('batches', name, `${JSON.stringify(value)}\n`)
  }
}
