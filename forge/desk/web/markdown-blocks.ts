/**
 * The blocks of a text in markdown, for a text that grows: what is finished is read once. Nothing here makes HTML; what
 * looks like HTML is text, as everything that a model wrote.
 */
import { Lexer, type Token, type TokensList } from 'marked'

export interface Block {
  /** As it was written: a block with the same words is the same block. */
  raw: string
  token: Token
}

/** The text may still change the last blocks: what follows makes one list of two, or a table of a line. */
const UNSETTLED = 2
/** Longer ones are shown as they were written: to look for markup in them takes time, and no person wrote them. */
const LONGEST_BLOCK = 60_000
/** Markup that is nested deeper than anybody would is shown as it was written. */
const TOO_DEEP = /^[ \t>]{160,}[^ \t>\n]|^(?:[ \t]*(?:[-*+>]|\d+[.)])[ \t]+){24,}/m

export class MarkdownBlocks {
  #text = ''
  #settled: Block[] = []
  /** How much of the text the settled blocks are. */
  #length = 0
  #blocks: Block[] = []

  /** The blocks of a text. Those of a text that goes on from the last one are the same objects, but for the last. */
  read(text: string): readonly Block[] {
    const goesOn = text.startsWith(this.#text) && this.#text !== ''
    if (!goesOn) {
      this.#settled = []
      this.#length = 0
    }
    this.#text = text
    const rest = blocksOf(text.slice(this.#length))
    const isWhole = rest.reduce((sum, { raw }) => sum + raw.length, this.#length) === text.length
    const known = new Map(this.#blocks.slice(this.#settled.length).map(block => [block.raw, block]))
    const fresh = rest.map(block => known.get(block.raw) ?? block)
    this.#blocks = [...this.#settled, ...fresh]
    // Where the lexer changed what it read, the places of the blocks are not known.
    if (isWhole) this.#settle(fresh)
    return this.#blocks.filter(({ token }) => token.type !== 'space' && token.type !== 'def')
  }

  #settle(fresh: Block[]): void {
    const places = fresh.flatMap(({ token }, index) => (token.type === 'space' ? [] : [index]))
    const count = places.at(-UNSETTLED) ?? 0
    for (const block of fresh.slice(0, count)) {
      this.#settled.push(block)
      this.#length += block.raw.length
    }
  }
}

function blocksOf(text: string): Block[] {
  if (text === '') return []
  if (TOO_DEEP.test(text)) return [asWritten(text)]
  try {
    return new Lexer({ gfm: true }).blockTokens(text, []).map(token => ({ raw: token.raw, token }))
  } catch {
    return [asWritten(text)]
  }
}

function asWritten(text: string): Block {
  return { raw: text, token: { type: 'html', raw: text, text, block: true } as Token }
}

/** The same with the words inside of it, for one block. */
export function inlineTokens(block: Block): Token | undefined {
  if (block.token.type === 'code' || block.token.type === 'html') return block.token
  if (block.raw.length > LONGEST_BLOCK) return asWritten(block.raw).token
  try {
    const tokens: TokensList = Lexer.lex(block.raw, { gfm: true })
    return tokens.find(({ type }) => type !== 'space')
  } catch {
    return asWritten(block.raw).token
  }
}
