/** Parsers of code whose processes serve all desks of a test file: starting one takes 0.2 s of processor time. */
import { type NoReply, type Parsed, type ParseOrder, Parsers, type TextParser } from '../../forge/code/parsers.ts'
import type { ReadOptions } from '../../forge/code/reader.ts'

// They end with the test process.
const asked = new Parsers()
const background = new Parsers({ isBackground: true })

/** Lends the shared processes to a desk. */
export const lendParser = ({ isBackground = false }: ReadOptions): TextParser =>
  new LentParser(isBackground ? background : asked)

class LentParser implements TextParser {
  readonly #returned = Promise.withResolvers<'given up'>()
  #isReturned = false

  constructor(readonly shared: Parsers) {}

  async parse(order: ParseOrder): Promise<Parsed | NoReply> {
    if (this.#isReturned) return 'given up'
    return await Promise.race([this.shared.parse(order), this.#returned.promise])
  }

  [Symbol.dispose](): void {
    this.#isReturned = true
    this.#returned.resolve('given up')
  }
}
