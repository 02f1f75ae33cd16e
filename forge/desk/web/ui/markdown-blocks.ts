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
const MAX_BLOCK_LENGTH = 24_000
/** Where a block of lines grows longer than this, what there is of it is settled: what follows is a block of its own. */
const LONG_BLOCK = 6_000
/** Blocks that go on behind a cut as they began. */
const CUTTABLE: ReadonlySet<string> = new Set(['list', 'paragraph', 'blockquote'])
/** A long text is read in pieces of this length, as if it came so; in longer ones where a block goes on and on. */
const PIECE = 8_000
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
    let end = this.#length + PIECE
    while (end < text.length) {
      this.#readTo(text.slice(0, end))
      end += Math.max(PIECE, end - this.#length)
    }
    this.#readTo(text)
    return this.#blocks.filter(({ token }) => token.type !== 'space' && token.type !== 'def')
  }

  #readTo(text: string): void {
    this.#text = text
    const rest = blocksOf(text.slice(this.#length))
    const known = new Map(this.#blocks.slice(this.#settled.length).map(block => [block.raw, block]))
    const fresh = rest.map(block => known.get(block.raw) ?? block)
    this.#blocks = [...this.#settled, ...fresh]
    this.#settle(fresh)
  }

  #settle(fresh: Block[]): void {
    const places = fresh.flatMap(({ token }, index) => (token.type === 'space' ? [] : [index]))
    const count = places.at(-UNSETTLED) ?? 0
    for (const block of fresh.slice(0, count)) {
      if (!this.#keep(block)) return
    }
    const [first, ...others] = fresh.slice(count)
    const isLong = first !== undefined && places.length === 1 && first.raw.length > LONG_BLOCK
    if (!isLong || !CUTTABLE.has(first.token.type)) return
    const { token } = first
    const cut = cutIn(first.raw)
    if (cut === 0 || !this.#keep({ raw: first.raw.slice(0, cut), token })) return
    this.#blocks = [...this.#settled, { raw: first.raw.slice(cut), token }, ...others]
  }

  /** Where the lexer changed what it read (blanks at the end), nobody knows where it goes on: it is read again. */
  #keep(block: Block): boolean {
    const isAsRead = this.#text.startsWith(block.raw, this.#length)
    if (isAsRead) {
      this.#settled.push(block)
      this.#length += block.raw.length
    }
    return isAsRead
  }
}

/** Before the last line that begins at the left: one that is indented would be code. Without lines, anywhere. */
function cutIn(raw: string): number {
  let at = raw.lastIndexOf('\n', raw.length - 2)
  while (at > 0 && /[ \t\n]/.test(raw.charAt(at + 1))) at = raw.lastIndexOf('\n', at - 1)
  if (at > 0) return at + 1
  return raw.length > MAX_BLOCK_LENGTH ? MAX_BLOCK_LENGTH : 0
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
  if (block.raw.length >= MAX_BLOCK_LENGTH) return asWritten(block.raw).token
  try {
    const tokens: TokensList = Lexer.lex(block.raw, { gfm: true })
    return tokens.find(({ type }) => type !== 'space')
  } catch {
    return asWritten(block.raw).token
  }
}
