/**
 * The blocks of a Markdown text that grows: finished blocks are parsed once. No HTML is produced: markup that looks
 * like HTML is shown as text, like all output of a model.
 */
import { Lexer, type Token, type Tokens, type TokensList } from 'marked'
import { isDeepMarkdown } from './nesting.ts'

export interface Block {
  /** The source: blocks with the same source are equal. */
  raw: string
  token: Token
  /** What the block defines for links and images elsewhere in the text, as `[label]: address`. */
  definitions: readonly Tokens.Def[]
}

/** What links and images refer to by labels, as in `[text][label]`: the addresses by label. */
export type Definitions = TokensList['links']

/** The last blocks may still change: a following line can join two lists or turn a line into a table. */
const UNSETTLED = 2
/**
 * At most this many characters of a block are parsed; a longer block is shown as source, since parsing it takes too
 * long.
 */
const MAX_BLOCK_LENGTH = 24_000
/**
 * A block of lines longer than this (in characters) is cut: its beginning is settled, and the rest becomes a block of
 * its own.
 */
const LONG_BLOCK = 6_000
/** Blocks whose rest after a cut is a block of the same type. */
const CUTTABLE: ReadonlySet<string> = new Set(['list', 'paragraph', 'blockquote'])
/**
 * A long text is parsed in pieces of this many characters, as if it arrived piece by piece. If a block is longer, so is
 * its piece.
 */
const PIECE = 8_000
/**
 * A definition with a longer address (in characters) is ignored: few characters of the text can refer to it many times.
 */
const MAX_DEFINED_ADDRESS = 1_000

export class MarkdownBlocks {
  #text = ''
  #settled: Block[] = []
  /** The length of the settled blocks (those that more text can't change), in characters. */
  #length = 0
  #blocks: Block[] = []
  #definitions: Definitions = Object.create(null)

  /** The definitions in the text; the same object as long as they are equal. */
  get definitions(): Definitions {
    return this.#definitions
  }

  /** The blocks of a text. If it continues the previous text, all blocks but the last ones stay the same objects. */
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
    const definitions = definitionsOf(this.#blocks)
    if (!isEqual(definitions, this.#definitions)) this.#definitions = definitions
    return this.#blocks.filter(isShown)
  }

  /** The line of the text at which each block that was read begins; 0 is the first one. */
  get lines(): readonly number[] {
    const lines = linesOf(this.#blocks, this.#text)
    return lines.filter((_, index) => isShown(this.#blocks[index] as Block))
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
    const cut = cutIn(first.raw)
    if (cut === 0 || !this.#keep({ ...first, raw: first.raw.slice(0, cut) })) return
    this.#blocks = [...this.#settled, { ...first, raw: first.raw.slice(cut) }, ...others]
  }

  /**
   * Adds a settled block. Returns false if the lexer changed its source (blanks at the end), so that its end in the
   * text is unknown; it is then parsed again.
   */
  #keep(block: Block): boolean {
    const isAsRead = this.#text.startsWith(block.raw, this.#length)
    if (isAsRead) {
      this.#settled.push(block)
      this.#length += block.raw.length
    }
    return isAsRead
  }
}

/**
 * Where a long block is cut: before the last unindented line (an indented one would become code); in a block without
 * lines, at its limit. 0: not at all.
 */
function cutIn(raw: string): number {
  let at = raw.lastIndexOf('\n', raw.length - 2)
  while (at > 0 && /[ \t\n]/.test(raw.charAt(at + 1))) at = raw.lastIndexOf('\n', at - 1)
  if (at > 0) return at + 1
  return raw.length > MAX_BLOCK_LENGTH ? MAX_BLOCK_LENGTH : 0
}

function blocksOf(text: string): Block[] {
  if (text === '') return []
  // Parsing it would take too long.
  if (isDeepMarkdown(text)) return [asWritten(text)]
  try {
    return new Lexer({ gfm: true }).blockTokens(text, []).map(blockOf)
  } catch {
    return [asWritten(text)]
  }
}

const blockOf = (token: Token): Block => ({ raw: token.raw, token, definitions: definitionsIn(token) })

function asWritten(text: string): Block {
  return blockOf({ type: 'html', raw: text, text, block: true } as Token)
}

/** Whether a token defines an address and shows nothing. GitHub's footnotes, `[^1]: word`, are no definitions. */
export const isDefinition = (token: Token): token is Tokens.Def => token.type === 'def' && !token.tag.startsWith('^')

const isShown = ({ token }: Block): boolean => token.type !== 'space' && !isDefinition(token)

/** The definitions in a block, also those in its quotes and lists. */
function definitionsIn(token: Token): Tokens.Def[] {
  if (isDefinition(token)) return token.href.length > MAX_DEFINED_ADDRESS ? [] : [token]
  if (token.type === 'blockquote') return (token.tokens ?? []).flatMap(definitionsIn)
  if (token.type === 'list') return token.items.flatMap((item: Tokens.ListItem) => item.tokens.flatMap(definitionsIn))
  return []
}

/** The definitions of a text; the first one of a label counts. */
function definitionsOf(blocks: readonly Block[]): Definitions {
  const found: Definitions = Object.create(null)
  for (const { definitions } of blocks) for (const { tag, href, title } of definitions) found[tag] ??= { href, title }
  return found
}

function isEqual(one: Definitions, other: Definitions): boolean {
  const labels = Object.keys(one)
  if (labels.length !== Object.keys(other).length) return false
  return labels.every(label => one[label]?.href === other[label]?.href)
}

/** The line of a text at which each of all its blocks begins; 0 is the first one. */
function linesOf(blocks: readonly Block[], text: string): number[] {
  const blanks = /\s*/y
  let at = 0
  let line = 0
  const goTo = (end: number) => {
    line += text.slice(at, end).split('\n').length - 1
    at = end
  }
  return blocks.map(({ raw }) => {
    // The lexer leaves the blank lines after some blocks out.
    blanks.lastIndex = at
    blanks.test(text)
    goTo(blanks.lastIndex)
    const begin = line
    goTo(at + raw.trim().length)
    return begin
  })
}

/** The inline tokens of one block. `definitions`: those of the whole text. */
export function inlineTokens(block: Block, definitions: Definitions): Token | undefined {
  if (block.token.type === 'code' || block.token.type === 'html') return block.token
  if (block.raw.length >= MAX_BLOCK_LENGTH) return asWritten(block.raw).token
  try {
    const lexer = new Lexer({ gfm: true })
    // The lexer would add the block's own definitions, which are among the text's already unless they are ignored.
    lexer.tokens.links = new Proxy(definitions, { set: () => true })
    const tokens = lexer.lex(block.raw)
    return tokens.find(({ type }) => type !== 'space')
  } catch {
    return asWritten(block.raw).token
  }
}
