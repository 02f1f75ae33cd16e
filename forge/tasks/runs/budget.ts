/**
 * The limits of a run and what it has used: a ledger in the run's folder, shared by all processes of this machine. The
 * most that a request may cost is reserved before it is sent, in one transaction with the check of the limits, and
 * settled afterwards. A reservation that was never settled, since its process died, counts as spent.
 */
import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isRunning } from '../../../core/processes.ts'
import { many } from '../../../core/text.ts'
import type { Usage } from '../../ai/request.ts'
import type { Price } from '../../ai/settings.ts'
import type { InBatches } from '../../formats/tasks-json.ts'
import type { LimitName, Limits, Spent, StepKind } from '../contract.ts'
import { type Beyond, type Room, whyBeyond } from '../run/purse.ts'
import { type RequestEstimate, requestEstimateOf } from './prices.ts'

/** A run has reached a limit; the message says which, as a sentence. */
export class OutOfBudget extends Error {
  constructor(
    message: string,
    readonly limit: LimitName,
  ) {
    super(message)
  }
}

/**
 * A request to be sent. `input`: its tokens. `output`: the most tokens of its answer. `price`: the most that its model
 * costs; `isAssumed` while nothing better is known of that model.
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
  /** Whether the request is sent in a batch: its answer may come from another process, a day later. */
  isBatched?: boolean
}

/** Permission to send a request, with an answer of at most `output` tokens. */
export type Reservation = { id: number; output: number }

/** An answer in git, to rebuild a lost ledger from. */
type PaidAnswer = {
  key: string
  usage: Usage
  model?: string | undefined
  kind?: string | undefined
  tier?: string | undefined
  saved?: number | undefined
}

/** Milliseconds to wait for another process's lock. */
const LOCK_TIMEOUT_MS = 30_000
/** Milliseconds between two queries for requests settled by other processes. */
const LOOK_AGAIN = 500
/** Milliseconds after which a reservation counts as lost, whatever its process does, as no request takes longer. */
const MAX_REQUEST_MS = 2 * 3_600_000
/** Milliseconds after which the reservation of a request in a batch counts as lost. */
const MAX_BATCH_MS = 50 * 3_600_000

/** The assumed tokens of an answer until some have come, by kind; for other kinds {@link FIRST_OUTPUT}. */
const FIRST_OUTPUTS: Partial<Record<string, number>> = {
  plan: 16_000,
  'check plan': 16_000,
  outline: 4_000,
  review: 4_000,
  summarise: 4_000,
  extract: 2_000,
  classify: 500,
} satisfies Partial<Record<StepKind, number>>
const FIRST_OUTPUT = 8_000
/** An estimate uses at most this many of the last answers of one kind and tier, and needs at least this many. */
const [MAX_SAMPLES, MIN_SAMPLES] = [50, 3]
/**
 * The safety factor of estimates: on the longest answer seen, and on the highest cost seen as a share of an assumed
 * one.
 */
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
/**
 * Columns that ledgers of earlier versions lack. `assumed`: the cost by an assumed price. `batch`: 1 for a request in a
 * batch. `saved`: US dollars that the batch has saved. `room`: the most tokens of the answer.
 */
const COLUMNS = {
  model: "TEXT NOT NULL DEFAULT ''",
  kind: "TEXT NOT NULL DEFAULT ''",
  tier: "TEXT NOT NULL DEFAULT ''",
  owner: "TEXT NOT NULL DEFAULT ''",
  at: 'INTEGER NOT NULL DEFAULT 0',
  assumed: 'REAL NOT NULL DEFAULT 0',
  batch: 'INTEGER NOT NULL DEFAULT 0',
  saved: 'REAL NOT NULL DEFAULT 0',
  room: 'INTEGER NOT NULL DEFAULT 0',
}

/** The requests under way. `since`: when the first of them was sent, in milliseconds since 1970. */
export type Sending = { count: number; since: number }

type Sums = { requests: number; input: number; output: number; tokens: number; cost: number }
type Open = { id: number; owner: string; at: number; cost: number; batch: number }

/** The ledger of one run, which any number of processes may have open. Dispose it to close it. */
export class Ledger implements Disposable {
  readonly #database: Database
  #waiting: (() => void)[] = []
  /** How many requests wait for budget in a line, and when the last of them has left it. */
  #waitingFor = 0
  #last: Promise<void> = Promise.resolve()

  private constructor(database: Database) {
    this.#database = database
  }

  /**
   * Opens the ledger in a run's folder. A missing one is rebuilt from the answers in git, which `paid` gives. It does
   * not count minutes: the run has a clock that stops while the user is asked. `isShared`: other machines work on the
   * run too, so that this ledger does not have all of its requests.
   */
  static async open(
    folder: string,
    { paid, isShared = false }: { paid: () => Promise<PaidAnswer[]>; isShared?: boolean },
  ): Promise<Ledger> {
    const database = new Database(join(folder, 'ledger.sqlite'), { create: true })
    database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`)
    addTables(database)
    const ledger = new Ledger(database)
    if (ledger.#fact('complete') === undefined) ledger.#rebuild(await paid())
    if (isShared) ledger.#set('shared')
    return ledger
  }

  /**
   * Reads the ledger in a run's folder without changing it; undefined where there is none on this machine. `spent`:
   * undefined where other machines work on the run too.
   */
  static look(folder: string): { spent: Spent | undefined; sending: Sending; batch: InBatches } | undefined {
    const path = join(folder, 'ledger.sqlite')
    if (!existsSync(path)) return undefined
    try {
      const database = new Database(path, { readwrite: true, create: false })
      database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`)
      addTables(database)
      using ledger = new Ledger(database)
      if (ledger.#fact('complete') === undefined) return undefined
      const open = ledger.#openOnes().filter(isUnderWay)
      const [out, now] = [open.filter(({ batch }) => batch === 1), open.filter(({ batch }) => batch === 0)]
      const sending = { count: now.length, since: Math.min(...now.map(({ at }) => at)) }
      const batch = {
        out: out.length,
        ...(out.length > 0 && { since: Math.min(...out.map(({ at }) => at)) }),
        ...ledger.#batched(),
      }
      const isShared = ledger.#fact('shared') !== undefined
      return { spent: isShared ? undefined : ledger.spent(), sending, batch }
    } catch {
      // The file may be gone or broken: then the caller uses other sources.
      return undefined
    }
  }

  /**
   * Reserves budget for a request: for the longest answer that it allows, or, if less is left, for the usual length of
   * such answers, unless `isWhole`. Gives 'wait' where not even that is left, but requests under way may return some of
   * theirs. Throws {@link OutOfBudget} where no more can be had: then the request must not be sent.
   */
  reserve(asked: AskedBudget, limits: Limits, { isWhole = false } = {}): Reservation | 'wait' {
    return this.#together(() => {
      let beyond: Beyond | undefined
      for (const room of this.roomsFor(asked, { isWhole })) {
        beyond = whyBeyond(this.#sums(), room, limits)
        if (!beyond) return this.#open(asked, room)
      }
      if (!beyond) throw new Error('A request has room for no answer')
      return this.#refuse(beyond)
    })
  }

  /**
   * Records a request that the budget of several machines has granted. What that says can't be trusted where others
   * use the same server, so this machine's own requests alone must not pass a limit: gives 'wait', and throws, as
   * {@link reserve} does.
   */
  openGranted(asked: AskedBudget, room: Room, limits: Limits): Reservation | 'wait' {
    return this.#together(() => {
      const beyond = whyBeyond(this.#sums(), room, limits)
      return beyond ? this.#refuse(beyond) : this.#open(asked, room)
    })
  }

  #refuse(beyond: Beyond): 'wait' {
    if (beyond.limit !== 'requests' && this.#openOnes().some(isUnderWay)) return 'wait'
    throw outOfBudget(beyond)
  }

  /**
   * What a request may use, as estimates: with the longest answer that it allows, and, unless `isWhole`, with one of
   * the usual length.
   */
  roomsFor(asked: AskedBudget, { isWhole = false } = {}): Room[] {
    const { input, output, isAssumed } = asked
    const price = isAssumed && asked.price ? this.#loweredPrice(asked.model, asked.price) : asked.price
    const usual = isWhole ? output : Math.min(output, this.#usualOutput(asked))
    return [...new Set([output, usual])].map(room => ({
      output: room,
      ...requestEstimateOf({ input, output: room }, price),
    }))
  }

  #open(asked: AskedBudget, room: Room): Reservation {
    return { id: this.#insertOpen(asked, room, room.output), output: room.output }
  }

  /**
   * Asks for budget until the answer is not 'wait': at once where no other request waits, else in the order in which
   * they came. One request is asked for at a time, so that a settled one wakes no crowd. Throws the signal's reason.
   */
  async inLine<Granted>(
    ask: () => Promise<Granted | 'wait'>,
    { signal, milliseconds }: { signal: AbortSignal; milliseconds?: number | undefined },
  ): Promise<Granted> {
    let hasAsked = false
    if (this.#waitingFor === 0) {
      const granted = await ask()
      if (granted !== 'wait') return granted
      // Another one may have begun to wait meanwhile: then there is a reason to ask again when it has left.
      hasAsked = this.#waitingFor === 0
    }
    this.#waitingFor++
    const before = this.#last
    const own = Promise.withResolvers<void>()
    this.#last = own.promise
    try {
      await unlessAborted(before, signal)
      if (hasAsked) await this.settled(signal, milliseconds)
      for (;;) {
        const granted = await ask()
        if (granted !== 'wait') return granted
        await this.settled(signal, milliseconds)
      }
    } finally {
      this.#waitingFor--
      // One that is aborted while others are before it lets these go first.
      void before.then(own.resolve)
    }
  }

  /**
   * Waits until a request may have been settled: until one of this process is, or for some milliseconds, as others
   * settle theirs too. Throws the signal's reason.
   */
  async settled(signal: AbortSignal, milliseconds = LOOK_AGAIN): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = () => reject(signal.reason)
    const clock = setTimeout(resolve, milliseconds)
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
   * Replaces a reservation by what the request has used; without usage, only the request itself is counted. `assumed`:
   * the cost by an assumed price. `saved`: US dollars, by a batch.
   */
  settle({ id }: Pick<Reservation, 'id'>, usage: Usage | undefined, assumed = 0, saved = 0): void {
    const { input = 0, output = 0, cost = 0 } = usage ?? {}
    this.#database
      .query(
        `UPDATE requests SET settled = 1, input = ?, output = ?, tokens = ?, cost = ?, assumed = ?, saved = ?
         WHERE id = ?`,
      )
      .run(input, output, input + output, cost, assumed, saved, id)
    this.#wake()
  }

  /** The reservation for a request in a batch that is not settled yet; undefined where there is none. */
  findBatched(key: string): Reservation | undefined {
    const query = 'SELECT id, room AS output FROM requests WHERE key = ? AND batch = 1 AND settled = 0'
    return this.#database.query<Reservation, [string]>(query).get(key) ?? undefined
  }

  /** Settles the reservation of a request in a batch by what its answer has used and saved. */
  settleBatched(key: string, usage: Usage, saved: number): void {
    this.#together(() => {
      const there = this.findBatched(key)
      // If the reservation is missing, the ledger was lost and rebuilt meanwhile.
      if (!there) return this.settleKnown(key, usage, saved)
      this.settle(there, usage, 0, saved)
    })
  }

  /** Removes the reservation of a request that got no answer from its batch: providers do not charge for that. */
  releaseBatched(key: string): void {
    this.#database.query('DELETE FROM requests WHERE key = ? AND batch = 1 AND settled = 0').run(key)
    this.#wake()
  }

  /** Counts the reservation of a request in a batch as spent: it may have been answered, and be paid for. */
  loseBatched(key: string): void {
    this.#database.query('UPDATE requests SET settled = 1 WHERE key = ? AND batch = 1 AND settled = 0').run(key)
    this.#wake()
  }

  /** Settles reservations for a request whose answer is stored: a process may have died before settling its own. */
  settleKnown(key: string, usage: Usage, saved = 0): void {
    this.#together(() => {
      const rows = this.#database
        .query<{ id: number; settled: number }, [string]>(
          'SELECT id, settled FROM requests WHERE key = ? ORDER BY settled DESC, id DESC',
        )
        .all(key)
      const [first] = rows
      if (first?.settled === 0) this.settle(first, usage, 0, saved)
      if (!first) this.#insert({ key, usage, saved })
    })
  }

  /**
   * The usage of all requests sent. The reservation of a lost one counts, as it may have been paid for; of one under
   * way, only the request itself.
   */
  spent(): Spent {
    const { requests, input, output, cost } = this.#sums()
    const open = this.#openOnes().filter(isUnderWay)
    return { requests, input, output, cost: Math.max(0, cost - open.reduce((sum, it) => sum + it.cost, 0)) }
  }

  [Symbol.dispose](): void {
    this.#wake()
    this.#database.close()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** An output length that nearly all answers of this kind and tier stay below, in tokens. */
  #usualOutput({ kind, tier }: AskedBudget): number {
    const query = `SELECT output FROM requests WHERE settled = 1 AND output > 0 AND kind = ? AND tier = ?
      ORDER BY id DESC LIMIT ${MAX_SAMPLES}`
    const samples = this.#database.query<{ output: number }, [string, string]>(query).all(kind, tier)
    const longest = Math.ceil(Math.max(0, ...samples.map(({ output }) => output)) * MARGIN)
    const first = FIRST_OUTPUTS[kind] ?? FIRST_OUTPUT
    return samples.length < MIN_SAMPLES ? Math.max(first, longest) : Math.max(longest, MIN_OUTPUT_TOKENS)
  }

  /** Lowers the assumed price of a model to what the costs reported by the provider suggest, plus a margin. */
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

  /** How many requests were answered in batches, and the US dollars that this has saved. */
  #batched(): { answered: number; saved: number } {
    const query = 'SELECT count(*) AS answered, ifnull(sum(saved), 0) AS saved FROM requests WHERE saved > 0'
    return this.#database.query<{ answered: number; saved: number }, []>(query).get() ?? { answered: 0, saved: 0 }
  }

  #insertOpen(
    { key, model, kind, tier, isBatched = false }: AskedBudget,
    { tokens, cost }: RequestEstimate,
    room: number,
  ): number {
    const values = [key, model, kind, tier, ownName(), Date.now(), tokens, cost, isBatched ? 1 : 0, room] as const
    const row = this.#database
      .query<{ id: number }, [...typeof values]>(
        `INSERT INTO requests (key, model, kind, tier, owner, at, tokens, cost, batch, room)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
      )
      .get(...values)
    if (!row) throw new Error('The ledger took no reservation')
    return row.id
  }

  /** The reservations that were never settled. */
  #openOnes(): Open[] {
    return this.#database.query<Open, []>('SELECT id, owner, at, cost, batch FROM requests WHERE settled = 0').all()
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

  #set(fact: string): void {
    this.#database.query('INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)').run(fact, 1)
  }

  #rebuild(paid: readonly PaidAnswer[]): void {
    this.#together(() => {
      // Another process may have rebuilt the table first.
      if (this.#fact('complete') !== undefined) return
      for (const answer of paid) this.#insert(answer)
      this.#set('complete')
    })
  }

  #insert({ key, usage, model = '', kind = '', tier = '', saved = 0 }: PaidAnswer): void {
    const { input, output, cost = 0 } = usage
    this.#database
      .query(
        `INSERT INTO requests (key, settled, input, output, tokens, cost, model, kind, tier, saved)
         VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(key, input, output, input + output, cost, model, kind, tier, saved)
  }

  /** Runs `work` in a transaction that excludes other processes. */
  #together<Value>(work: () => Value): Value {
    return this.#database.transaction(work).immediate()
  }
}

/** Waits for `work`. Throws the signal's reason where that is aborted first. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The error for a request that would exceed a limit, in a sentence. */
export function outOfBudget({ limit, used, most, room }: Beyond): OutOfBudget {
  const answer = `with an answer of up to ${many(room.output, 'token')}`
  switch (limit) {
    case 'requests':
      return new OutOfBudget(`It has sent ${many(used, 'request')}, which is the limit of this run.`, limit)
    case 'tokens':
      return new OutOfBudget(
        `It has used ${many(used, 'token')}, and the next request, ${answer}, could take it beyond ` +
          `${many(most, 'token')}, which is the limit of this run.`,
        limit,
      )
    case 'cost':
      return new OutOfBudget(
        `It has spent ${dollars(used)}, and the next request, ${answer}, may cost ${dollars(room.cost)}: that ` +
          `would take it beyond $${most.toFixed(2)}, which is the limit of this run.`,
        limit,
      )
  }
}

/** At least this many tokens are reserved for an answer, however short those before were. */
const MIN_OUTPUT_TOKENS = 1_000

/**
 * The name of this process, by which others tell whether it still runs; the start time is in it, as process ids are
 * reused.
 */
const ownName = (): string => `${hostname()} ${process.pid} ${Math.round(performance.timeOrigin)}`

/** Whether a reservation may still be settled: by the process that made it, or by the answers of its batch. */
function isUnderWay({ owner, at, batch }: Open): boolean {
  if (batch === 1) return Date.now() - at < MAX_BATCH_MS
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
      // Another process may have added the column first.
      if (!/duplicate column/.test(String(error))) throw error
    }
  }
}
