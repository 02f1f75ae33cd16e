/**
 * What a run may take, and what it has taken: a ledger in the run's folder that all processes of this machine share.
 * What a request may cost is reserved before it is sent, in one transaction with the look whether it is allowed, and
 * settled after it. A reservation that was never settled, since its process died, counts as spent.
 */
import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isRunning } from '../../../core/processes.ts'
import { many } from '../../../core/text.ts'
import type { Usage } from '../../ai/request.ts'
import type { Price } from '../../ai/settings.ts'
import type { LimitName, Limits, Spent, StepKind } from '../contract.ts'
import { type RequestEstimate, requestEstimateOf } from './prices.ts'

/** A run has taken all that it may: the message says what, as a sentence. */
export class OutOfBudget extends Error {
  constructor(
    message: string,
    readonly limit: LimitName,
  ) {
    super(message)
  }
}

/**
 * A request that is to be sent. `input` are the tokens that it sends, `output` those that its answer may have at most,
 * `price` what its model costs at most; it is `isAssumed` where nothing better is known of that model yet.
 */
export type AskedBudget = {
  key: string
  model: string
  kind: string
  tier: string
  input: number
  output: number
  price?: Price | undefined
  isAssumed?: boolean
}

/** A request that may be sent now, with an answer of at most `output` tokens. */
export type Reservation = { id: number; output: number }

/** An answer that git knows, for a ledger that was lost. */
type PaidAnswer = {
  key: string
  usage: Usage
  model?: string | undefined
  kind?: string | undefined
  tier?: string | undefined
}

/** Milliseconds that another process is waited for. */
const LOCK_TIMEOUT_MS = 30_000
/** Milliseconds after which requests of other processes are looked at again. */
const LOOK_AGAIN = 500
/** A request takes no longer, in milliseconds: a reservation that is older was lost, whatever its process does. */
const MAX_REQUEST_MS = 2 * 3_600_000

/** Tokens that an answer of a kind is taken to have, until some have come; of other kinds, {@link FIRST_OUTPUT}. */
const FIRST_OUTPUTS: Partial<Record<string, number>> = {
  plan: 16_000,
  'check plan': 16_000,
  outline: 4_000,
  review: 4_000,
  summarise: 4_000,
} satisfies Partial<Record<StepKind, number>>
const FIRST_OUTPUT = 8_000
/** Answers of one kind and tier that are looked at, and how many there have to be. */
const [MAX_SAMPLES, MIN_SAMPLES] = [50, 3]
/** How much longer than the longest one seen an answer may be, and how much dearer a request. */
const MARGIN = 1.5

const TABLES = `
  CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    settled INTEGER NOT NULL DEFAULT 0,
    input INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL,
    cost REAL NOT NULL
  );
  CREATE INDEX IF NOT EXISTS byKey ON requests (key);
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value REAL NOT NULL);
`
/** What ledgers of earlier versions lack. `assumed`: what it would have cost by the price that was assumed. */
const COLUMNS = {
  model: "TEXT NOT NULL DEFAULT ''",
  kind: "TEXT NOT NULL DEFAULT ''",
  tier: "TEXT NOT NULL DEFAULT ''",
  owner: "TEXT NOT NULL DEFAULT ''",
  at: 'INTEGER NOT NULL DEFAULT 0',
  assumed: 'REAL NOT NULL DEFAULT 0',
}

/** Requests that are under way, and when the first of them was sent: milliseconds since 1970. */
export type Sending = { count: number; since: number }

type Sums = { requests: number; input: number; output: number; tokens: number; cost: number }
type Open = { id: number; owner: string; at: number; cost: number }
/** Which limit a request would pass, and the end of a sentence that says by what. */
type Beyond = { limit: LimitName; words: string }

/** The ledger of one run. Any number of processes may have it open. To be closed. */
export class Ledger implements Disposable {
  readonly #database: Database
  #waiting: (() => void)[] = []

  private constructor(database: Database) {
    this.#database = database
  }

  /**
   * Opens the ledger in a run's folder. Where there was none, it is made from the answers that git has, which `paid`
   * gives. It knows of no minutes: the run has a clock that stands still while a person thinks.
   */
  static async open(folder: string, { paid }: { paid: () => Promise<PaidAnswer[]> }): Promise<Ledger> {
    const database = new Database(join(folder, 'ledger.sqlite'), { create: true })
    database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`)
    addTables(database)
    const ledger = new Ledger(database)
    if (ledger.#fact('complete') === undefined) ledger.#rebuild(await paid())
    return ledger
  }

  /** Reads the ledger in a run's folder without changing it; undefined where there is none on this machine. */
  static look(folder: string): { spent: Spent; sending: Sending } | undefined {
    const path = join(folder, 'ledger.sqlite')
    if (!existsSync(path)) return undefined
    try {
      const database = new Database(path, { readwrite: true, create: false })
      database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`)
      addTables(database)
      using ledger = new Ledger(database)
      if (ledger.#fact('complete') === undefined) return undefined
      const open = ledger.#open().filter(isUnderWay)
      const sending = { count: open.length, since: Math.min(...open.map(({ at }) => at)) }
      return { spent: ledger.spent(), sending }
    } catch {
      // It may be gone just now, or be none: then others say what was spent.
      return undefined
    }
  }

  /**
   * Sets aside what a request may take: the longest answer that it allows, or where there is less left, as much as
   * answers of its kind and tier have had, unless it has to be `whole`. Gives 'wait' where not even that is left, but
   * requests that are under way may come to less than was set aside for them. Throws {@link OutOfBudget} where none is:
   * then it must not be sent.
   */
  reserve(asked: AskedBudget, limits: Limits, { isWhole = false } = {}): Reservation | 'wait' {
    return this.#together(() => {
      const { input, output, isAssumed } = asked
      const price = isAssumed && asked.price ? this.#loweredPrice(asked.model, asked.price) : asked.price
      const usual = isWhole ? output : Math.min(output, this.#usualOutput(asked))
      let beyond: Beyond | undefined
      for (const room of new Set([output, usual])) {
        const estimate = requestEstimateOf({ input, output: room }, price)
        beyond = this.#whyBeyond(estimate, room, limits)
        if (!beyond) return { id: this.#insertOpen(asked, estimate), output: room }
      }
      if (!beyond) throw new Error('A request has room for no answer')
      if (beyond.limit !== 'requests' && this.#open().some(isUnderWay)) return 'wait'
      throw new OutOfBudget(beyond.words, beyond.limit)
    })
  }

  /** Waits until a request may have been settled, here or by another process. Throws the signal's reason. */
  async settled(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = () => reject(signal.reason)
    const clock = setTimeout(resolve, LOOK_AGAIN)
    this.#waiting.push(resolve)
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      await promise
    } finally {
      clearTimeout(clock)
      signal.removeEventListener('abort', giveUp)
    }
  }

  /**
   * Takes what a request has used in place of what was set aside; no usage: nothing but that it was sent. `assumed` is
   * what that would have cost by a price that was assumed.
   */
  settle({ id }: Pick<Reservation, 'id'>, usage: Usage | undefined, assumed = 0): void {
    const { input = 0, output = 0, cost = 0 } = usage ?? {}
    this.#database
      .query('UPDATE requests SET settled = 1, input = ?, output = ?, tokens = ?, cost = ?, assumed = ? WHERE id = ?')
      .run(input, output, input + output, cost, assumed, id)
    this.#wake()
  }

  /** Takes back a reservation whose request was never sent. */
  release({ id }: Pick<Reservation, 'id'>): void {
    this.#database.query('DELETE FROM requests WHERE id = ?').run(id)
    this.#wake()
  }

  /**
   * Settles what is known of a request whose answer is there: of those that were sent for it, one may have died before
   * it could say what it used.
   */
  settleKnown(key: string, usage: Usage): void {
    this.#together(() => {
      const rows = this.#database
        .query<{ id: number; settled: number }, [string]>(
          'SELECT id, settled FROM requests WHERE key = ? ORDER BY settled DESC, id DESC',
        )
        .all(key)
      const [first] = rows
      if (first?.settled === 0) this.settle(first, usage)
      if (!first) this.#insert({ key, usage })
    })
  }

  /**
   * What all requests have used that were sent. What was set aside for one that was lost counts, as it may have been
   * paid for; for one that is under way, nothing but that it was sent.
   */
  spent(): Spent {
    const { requests, input, output, cost } = this.#sums()
    const open = this.#open().filter(isUnderWay)
    return { requests, input, output, cost: Math.max(0, cost - open.reduce((sum, it) => sum + it.cost, 0)) }
  }

  [Symbol.dispose](): void {
    this.#wake()
    this.#database.close()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #whyBeyond(estimate: RequestEstimate, output: number, limits: Limits): Beyond | undefined {
    const { requests, tokens, cost } = this.#sums()
    if (limits.requests !== undefined && requests + 1 > limits.requests)
      return { limit: 'requests', words: `It has sent ${many(requests, 'request')}, which is the limit of this run.` }
    const answer = `with an answer of up to ${many(output, 'token')}`
    if (limits.tokens !== undefined && tokens + estimate.tokens > limits.tokens)
      return {
        limit: 'tokens',
        words:
          `It has used ${many(tokens, 'token')}, and the next request, ${answer}, could take it beyond ` +
          `${many(limits.tokens, 'token')}, which is the limit of this run.`,
      }
    if (limits.cost !== undefined && cost + estimate.cost > limits.cost)
      return {
        limit: 'cost',
        words:
          `It has spent ${dollars(cost)}, and the next request, ${answer}, may cost ${dollars(estimate.cost)}: that ` +
          `would take it beyond $${limits.cost.toFixed(2)}, which is the limit of this run.`,
      }
    return undefined
  }

  /** The tokens of an answer that is longer than nearly all of its kind and tier. */
  #usualOutput({ kind, tier }: AskedBudget): number {
    const query = `SELECT output FROM requests WHERE settled = 1 AND output > 0 AND kind = ? AND tier = ?
      ORDER BY id DESC LIMIT ${MAX_SAMPLES}`
    const samples = this.#database.query<{ output: number }, [string, string]>(query).all(kind, tier)
    const longest = Math.ceil(Math.max(0, ...samples.map(({ output }) => output)) * MARGIN)
    const first = FIRST_OUTPUTS[kind] ?? FIRST_OUTPUT
    return samples.length < MIN_SAMPLES ? Math.max(first, longest) : Math.max(longest, MIN_OUTPUT_TOKENS)
  }

  /** A price that was assumed, less as far as the provider has said that the model's requests cost less. */
  #loweredPrice(model: string, assumed: Price): Price {
    const query = `SELECT count(*) AS samples, max(cost / assumed) AS share FROM requests
      WHERE settled = 1 AND assumed > 0 AND cost > 0 AND model = ?`
    const known = this.#database.query<{ samples: number; share: number | null }, [string]>(query).get(model)
    if (!known || known.samples < MIN_SAMPLES || known.share === null) return assumed
    const share = Math.min(1, known.share * MARGIN)
    const { input, output, cacheRead, cacheWrite } = assumed
    return {
      input: input * share,
      output: output * share,
      cacheRead: cacheRead * share,
      cacheWrite: cacheWrite * share,
    }
  }

  #insertOpen({ key, model, kind, tier }: AskedBudget, { tokens, cost }: RequestEstimate): number {
    const values = [key, model, kind, tier, ownName(), Date.now(), tokens, cost] as const
    const row = this.#database
      .query<{ id: number }, [...typeof values]>(
        `INSERT INTO requests (key, model, kind, tier, owner, at, tokens, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         RETURNING id`,
      )
      .get(...values)
    if (!row) throw new Error('The ledger took no reservation')
    return row.id
  }

  /** Reservations that were never settled. */
  #open(): Open[] {
    return this.#database.query<Open, []>('SELECT id, owner, at, cost FROM requests WHERE settled = 0').all()
  }

  #sums(): Sums {
    const sums = this.#database
      .query<Sums, []>(
        `SELECT count(*) AS requests, ifnull(sum(input), 0) AS input, ifnull(sum(output), 0) AS output,
           ifnull(sum(tokens), 0) AS tokens, ifnull(sum(cost), 0) AS cost FROM requests`,
      )
      .get()
    if (!sums) throw new Error('The ledger has no sums')
    return sums
  }

  #fact(name: string): number | undefined {
    return this.#database.query<{ value: number }, [string]>('SELECT value FROM facts WHERE name = ?').get(name)?.value
  }

  #rebuild(paid: readonly PaidAnswer[]): void {
    this.#together(() => {
      // Another process may have been faster.
      if (this.#fact('complete') !== undefined) return
      for (const answer of paid) this.#insert(answer)
      this.#database.query('INSERT INTO facts (name, value) VALUES (?, ?)').run('complete', 1)
    })
  }

  #insert({ key, usage: { input, output, cost = 0 }, model = '', kind = '', tier = '' }: PaidAnswer): void {
    this.#database
      .query(
        `INSERT INTO requests (key, settled, input, output, tokens, cost, model, kind, tier)
         VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(key, input, output, input + output, cost, model, kind, tier)
  }

  /** In one transaction that no other process can interleave with. */
  #together<Value>(work: () => Value): Value {
    return this.#database.transaction(work).immediate()
  }
}

/** No less is set aside for an answer, in tokens, however short those before were. */
const MIN_OUTPUT_TOKENS = 1_000

/** Of this process, so that another one can tell whether it still runs; a process id may be given again. */
const ownName = (): string => `${hostname()} ${process.pid} ${Math.round(performance.timeOrigin)}`

/** Whether a reservation is of a process that runs: then it will be settled. */
function isUnderWay({ owner, at }: Open): boolean {
  const own = ownName()
  if (owner === own) return true
  const [host, pid] = owner.split(' ')
  const [ownHost, ownPid] = own.split(' ')
  if (host !== ownHost || pid === ownPid || Date.now() - at > MAX_REQUEST_MS) return false
  return isRunning(Number(pid))
}

const dollars = (cost: number): string => `$${cost.toFixed(cost > 0 && cost < 0.1 ? 4 : 2)}`

function addTables(database: Database): void {
  database.exec(TABLES)
  const there = database.query<{ name: string }, []>("SELECT name FROM pragma_table_info('requests')").all()
  const names = new Set(there.map(({ name }) => name))
  for (const [name, type] of Object.entries(COLUMNS)) {
    if (names.has(name)) continue
    try {
      database.exec(`ALTER TABLE requests ADD COLUMN ${name} ${type}`)
    } catch (error) {
      // Another process may have been faster.
      if (!/duplicate column/.test(String(error))) throw error
    }
  }
}
