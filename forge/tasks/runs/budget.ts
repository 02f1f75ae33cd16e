/**
 * What a run may take, and what it has taken: a ledger in the run's folder that all processes of this machine share.
 * What a request may cost is reserved before it is sent, in one transaction with the look whether it is allowed, and
 * settled after it. A reservation that was never settled, since its process died, counts as spent.
 */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { many } from '../../../core/text.ts'
import type { Usage } from '../../ai/request.ts'
import { type Price, providerOf, type Settings } from '../../ai/settings.ts'
import type { LimitName, Limits, Spent } from '../contract.ts'

/** A run has taken all that it may: the message says what, as a sentence. */
export class OutOfBudget extends Error {
  constructor(
    message: string,
    readonly limit: LimitName,
  ) {
    super(message)
  }
}

/** What a request may take at most. */
export type Estimate = { tokens: number; cost: number }
/** A request that may be sent now. */
export type Reservation = { id: number }

/** An answer that git knows, for a ledger that was lost. */
export type PaidAnswer = { key: string; usage: Usage }

/** Milliseconds that another process is waited for. */
const PATIENCE = 30_000

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

type Sums = { requests: number; input: number; output: number; tokens: number; cost: number }

/** The ledger of one run. Any number of processes may have it open. To be closed. */
export class Ledger implements Disposable {
  readonly #database: Database

  private constructor(database: Database) {
    this.#database = database
  }

  /**
   * Opens the ledger in a run's folder. Where there was none, it is made from the answers that git has, which `paid`
   * gives. It knows of no minutes: the run has a clock that stands still while a person thinks.
   */
  static async open(folder: string, { paid }: { paid: () => Promise<PaidAnswer[]> }): Promise<Ledger> {
    const database = new Database(join(folder, 'ledger.sqlite'), { create: true })
    database.exec(`PRAGMA busy_timeout = ${PATIENCE}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`)
    database.exec(TABLES)
    const ledger = new Ledger(database)
    if (ledger.#fact('complete') === undefined) ledger.#rebuild(await paid())
    return ledger
  }

  /**
   * Sets aside what a request may take. Throws {@link OutOfBudget} where that is more than there is: then it must not
   * be sent.
   */
  reserve(key: string, estimate: Estimate, limits: Limits): Reservation {
    return this.#together(() => {
      this.#verifyAllowed(estimate, limits)
      const row = this.#database
        .query<{ id: number }, [string, number, number]>(
          'INSERT INTO requests (key, tokens, cost) VALUES (?, ?, ?) RETURNING id',
        )
        .get(key, estimate.tokens, estimate.cost)
      if (!row) throw new Error('The ledger took no reservation')
      return { id: row.id }
    })
  }

  /** Takes what a request has used in place of what was set aside; no usage: nothing but that it was sent. */
  settle({ id }: Reservation, usage: Usage | undefined): void {
    const { input = 0, output = 0, cost = 0 } = usage ?? {}
    this.#database
      .query('UPDATE requests SET settled = 1, input = ?, output = ?, tokens = ?, cost = ? WHERE id = ?')
      .run(input, output, input + output, cost, id)
  }

  /** Takes back a reservation whose request was never sent. */
  release({ id }: Reservation): void {
    this.#database.query('DELETE FROM requests WHERE id = ?').run(id)
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

  /** What all requests have used; what was only set aside is not among the tokens sent and answered. */
  spent(): Spent {
    const { requests, input, output, cost } = this.#sums()
    return { requests, input, output, cost }
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  #verifyAllowed(estimate: Estimate, limits: Limits): void {
    const { requests, tokens, cost } = this.#sums()
    if (limits.requests !== undefined && requests + 1 > limits.requests)
      throw new OutOfBudget(`It has sent ${many(requests, 'request')}, which is the limit of this run.`, 'requests')
    if (limits.tokens !== undefined && tokens + estimate.tokens > limits.tokens)
      throw new OutOfBudget(
        `The next request could take it beyond ${many(limits.tokens, 'token')}, which is the limit of this run.`,
        'tokens',
      )
    if (limits.cost !== undefined && cost + estimate.cost > limits.cost)
      throw new OutOfBudget(
        `The next request could take it beyond $${limits.cost.toFixed(2)}, which is the limit of this run.`,
        'cost',
      )
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

  #insert({ key, usage: { input, output, cost = 0 } }: PaidAnswer): void {
    this.#database
      .query('INSERT INTO requests (key, settled, input, output, tokens, cost) VALUES (?, 1, ?, ?, ?, ?)')
      .run(key, input, output, input + output, cost)
  }

  /** All of it or nothing, and nobody else's between. */
  #together<Value>(work: () => Value): Value {
    return this.#database.transaction(work).immediate()
  }
}

/**
 * What a million tokens of OpenRouter's models are taken for where FORGE_PRICES does not tell: more than nearly all of
 * them cost. It says after each request what that did cost, and only that counts then.
 */
const UNKNOWN: Price = { input: 20, output: 100, cacheRead: 20, cacheWrite: 25 }

/**
 * What a model costs at most, before it is asked; undefined where nobody knows. One on a machine of one's own costs
 * nothing.
 */
export function priceOf(model: string, settings: Settings): Price | undefined {
  const known = settings.price(model)
  if (known) return known
  const provider = providerOf(model)
  if (provider === 'openrouter') return UNKNOWN
  const endpoint = provider && settings.endpoint(provider)
  const isOwn = provider === 'openai' && endpoint && new URL(endpoint.address).hostname !== 'api.openai.com'
  return isOwn ? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } : undefined
}

/** The models of which nobody knows the price, each once. */
const unpricedOf = (models: readonly string[], settings: Settings): string[] =>
  [...new Set(models)].filter(model => !priceOf(model, settings))

/** What a person has to set before a limit in dollars can be held; undefined where it can be. */
export function missingPrice(models: readonly string[], settings: Settings, limits: Limits): string | undefined {
  if (limits.cost === undefined) return undefined
  const unknown = unpricedOf(models, settings)
  const [first] = unknown
  if (first === undefined) return undefined
  return (
    `A limit of $${limits.cost.toFixed(2)} can't be held, since the price of ${listed(unknown)} is not known: ` +
    `set FORGE_PRICES=${first}=INPUT/OUTPUT, in US dollars for a million tokens, in ${settings.file} or the ` +
    'environment, or run without a budget in dollars.'
  )
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** What may be spent where the person sets no limit: in dollars, or where these can't be counted, in requests. */
const USUAL = { cost: 5, requests: 200 }

/**
 * The limits of money and requests that a run gets, where the person has set none or one of them; `words` say so where
 * dollars can't be a limit.
 */
export function usualLimits(
  given: Pick<Limits, 'cost' | 'requests'>,
  models: readonly string[],
  settings: Settings,
): { limits: Pick<Limits, 'cost' | 'requests'>; words?: string } {
  if (given.cost !== undefined) return { limits: given }
  const unknown = unpricedOf(models, settings)
  const [first] = unknown
  if (first === undefined) return { limits: { ...given, cost: USUAL.cost } }
  const { requests = USUAL.requests } = given
  const words =
    `No limit in dollars holds, since the price of ${listed(unknown)} is not known: it stops after ` +
    `${many(requests, 'request')}. Set another with --requests, or FORGE_PRICES=${first}=INPUT/OUTPUT in ` +
    `${settings.file} for one in dollars.`
  return { limits: { requests }, words }
}

/** What was used with what it costs, by its price where the provider does not say. */
export function withCost(usage: Usage, price: Price | undefined): Usage {
  if (usage.cost !== undefined || !price) return usage
  const { input, output, cacheRead, cacheWrite } = usage
  const plain = (input - cacheRead - cacheWrite) * price.input + output * price.output
  return { ...usage, cost: (plain + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite) / 1_000_000 }
}

/** What a request may take at most: as if none of it were cached, and its answer as long as it may be. */
export function estimateOf(tokens: { input: number; output: number }, price: Price | undefined): Estimate {
  const { input = 0, output = 0, cacheWrite = 0 } = price ?? {}
  const cost = (tokens.input * Math.max(input, cacheWrite) + tokens.output * output) / 1_000_000
  return { tokens: tokens.input + tokens.output, cost }
}
