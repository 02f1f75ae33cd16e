/**
 * How many tokens a text has, without a tokenizer: those take minutes on what an attacker writes. By bytes, made more
 * exact by what providers count of what was sent.
 */

/** What texts of code and prose have on average. */
const BYTES_PER_TOKEN = 3.6

/** A provider that counts less than this or more is not believed: it counts something else. */
const [MIN_BYTES_PER_TOKEN, MAX_BYTES_PER_TOKEN] = [1.5, 8]

/** How much the newest request weighs against all before it. */
const WEIGHT = 0.25

/** Estimates per model; better with each {@link Tokens.learn}. */
export class Tokens {
  private readonly bytesPerToken = new Map<string, number>()

  /** An estimate of the tokens in a number of bytes, or in a text. */
  estimate(model: string, content: string | number): number {
    const bytes = typeof content === 'number' ? content : Buffer.byteLength(content)
    return Math.ceil(bytes / (this.bytesPerToken.get(model) ?? BYTES_PER_TOKEN))
  }

  /** Takes what a provider counted: tokens, and the bytes of the request. */
  learn(model: string, bytes: number, tokens: number): void {
    const ratio = bytes / tokens
    if (!(ratio >= MIN_BYTES_PER_TOKEN && ratio <= MAX_BYTES_PER_TOKEN)) return
    const before = this.bytesPerToken.get(model)
    this.bytesPerToken.set(model, before === undefined ? ratio : before * (1 - WEIGHT) + ratio * WEIGHT)
  }
}
