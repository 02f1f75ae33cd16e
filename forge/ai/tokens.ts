/**
 * Estimates the tokens of a text without a tokenizer, since those take minutes on hostile input: by bytes, corrected by
 * the counts of providers.
 */

/** The average size of a token in text and code. */
const BYTES_PER_TOKEN = 3.6

/** A provider's count outside of this range is ignored, as it counts something else. */
const [MIN_BYTES_PER_TOKEN, MAX_BYTES_PER_TOKEN] = [1.5, 8]

/** The weight of the newest request in the moving average. */
const WEIGHT = 0.25

/** Estimates for each model, which improve with each {@link Tokens.learn}. */
export class Tokens {
  private readonly bytesPerToken = new Map<string, number>()

  /** Estimates the tokens of a text, or of a number of bytes. */
  estimate(model: string, content: string | number): number {
    const bytes = typeof content === 'number' ? content : Buffer.byteLength(content)
    return Math.ceil(bytes / (this.bytesPerToken.get(model) ?? BYTES_PER_TOKEN))
  }

  /** Takes a provider's count of tokens for a request of `bytes` bytes. */
  learn(model: string, bytes: number, tokens: number): void {
    const ratio = bytes / tokens
    if (!(ratio >= MIN_BYTES_PER_TOKEN && ratio <= MAX_BYTES_PER_TOKEN)) return
    const before = this.bytesPerToken.get(model)
    this.bytesPerToken.set(model, before === undefined ? ratio : before * (1 - WEIGHT) + ratio * WEIGHT)
  }
}
