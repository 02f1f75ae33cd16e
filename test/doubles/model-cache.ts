/**
 * The prompt cache of a model provider, as documented. Tokens are estimated: tests only use the share that was read
 * from the cache.
 */

export type CacheMark = '5m' | '1h'

/** A piece of a request in the order in which the provider reads it: tools, system, messages. */
export type Piece = { bytes: string; mark?: CacheMark }

/** In tokens: the total input, the part read from the cache, and the part written to it for each lifetime. */
export type Counted = { input: number; read: number; write: Record<CacheMark, number> }

/** How many pieces before a mark a provider searches for a cached prefix. */
const LOOK_BACK = 20
const SECONDS: Record<CacheMark, number> = { '5m': 300, '1h': 3600 }
/** Providers without cache marks cache by themselves: a multiple of `step` tokens, and at least `least`. */
const AUTOMATIC = { step: 128, least: 1024 }

const tokens = (bytes: number): number => Math.ceil(bytes / 3.6)

type Entry = { key: string; until: number; lifetime: CacheMark }

export class ModelCache {
  private readonly entries = new Map<string, Entry>()
  private seen: { model: string; bytes: string; at: number }[] = []

  /** `now` is in seconds; prefixes shorter than `least` tokens are silently not cached. */
  constructor(
    private readonly now: () => number,
    private readonly least = 0,
  ) {}

  /** Clears the cache, as a provider may at any time. */
  clear(): void {
    this.entries.clear()
    this.seen = []
  }

  /** Caching with marks, as Anthropic does: cached prefixes end at a mark. */
  countMarked(model: string, pieces: readonly Piece[]): Counted {
    const ends = endsOf(pieces)
    const keys = keysOf(model, pieces)
    const read = this.findKept(pieces, keys)
    if (read >= 0) this.renew(keys[read] ?? '')
    const counted: Counted = {
      input: tokens(ends.at(-1) ?? 0),
      read: tokens(ends[read] ?? 0),
      write: { '5m': 0, '1h': 0 },
    }
    let from = counted.read
    for (const [index, { mark }] of pieces.entries()) {
      if (!mark || index <= read) continue
      const until = tokens(ends[index] ?? 0)
      if (until < this.least) continue
      counted.write[mark] += until - from
      from = until
      const key = keys[index] ?? ''
      this.entries.set(key, { key, until: this.now() + SECONDS[mark], lifetime: mark })
    }
    return counted
  }

  /** Caching without marks, as OpenAI does: the longest prefix that an earlier request also had. */
  countAutomatic(model: string, pieces: readonly Piece[]): Counted {
    const bytes = pieces.map(piece => piece.bytes).join('')
    const now = this.now()
    this.seen = this.seen.filter(earlier => earlier.at + SECONDS['5m'] > now)
    const same = this.seen.filter(earlier => earlier.model === model).map(earlier => commonLength(earlier.bytes, bytes))
    const longest = tokens(Math.max(0, ...same))
    this.seen.push({ model, bytes, at: now })
    const read = longest < AUTOMATIC.least ? 0 : longest - (longest % AUTOMATIC.step)
    return { input: tokens(Buffer.byteLength(bytes)), read, write: { '5m': 0, '1h': 0 } }
  }

  /** The index of the last piece of the longest cached prefix that ends within LOOK_BACK pieces of a mark, or -1. */
  private findKept(pieces: readonly Piece[], keys: readonly string[]): number {
    for (let index = pieces.length - 1; index >= 0; index--) {
      const isReached = pieces.slice(index, index + LOOK_BACK).some(piece => piece.mark)
      const entry = this.entries.get(keys[index] ?? '')
      if (isReached && entry && entry.until > this.now()) return index
    }
    return -1
  }

  private renew(key: string): void {
    const entry = this.entries.get(key)
    if (entry) entry.until = this.now() + SECONDS[entry.lifetime]
  }
}

/** The number of bytes up to the end of each piece. */
function endsOf(pieces: readonly Piece[]): number[] {
  let end = 0
  return pieces.map(piece => {
    end += Buffer.byteLength(piece.bytes)
    return end
  })
}

/** A cache key for everything up to the end of each piece. */
function keysOf(model: string, pieces: readonly Piece[]): string[] {
  const hash = new Bun.CryptoHasher('sha256').update(model)
  return pieces.map(piece => hash.update(`\n${piece.bytes}`).copy().digest('hex'))
}

function commonLength(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  let at = 0
  while (at < length && one[at] === other[at]) at++
  return Buffer.byteLength(one.slice(0, at))
}
