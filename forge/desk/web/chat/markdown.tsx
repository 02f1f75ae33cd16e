/**
 * Markdown that a model wrote, as elements of the page. It never is HTML on the way, so nothing in it can become more
 * than text: tags are shown as they were written, images are told and never loaded, links lead nowhere until they are
 * clicked.
 */
import type { Token, Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { type Block, inlineTokens, MarkdownBlocks } from '../ui/markdown-blocks.ts'
import { readableProse, withEntities } from '../ui/prose.ts'
import { plural } from '../ui/times.ts'
import { useShown } from '../ui/use-shown.ts'
import { CodeBlock } from './code-block.tsx'
import { Link } from './link.tsx'

/** Of an answer with more blocks or characters than these, what is between is shown when it is asked for. */
const FIRST_SHOWN = { blocks: 40, characters: 10_000 }
const LAST_SHOWN = { blocks: 200, characters: 40_000 }
/** Deeper than this, what is inside is shown as it was written. */
const MAX_DEPTH = 40
const MAX_TABLE_ROWS = 400

/** `isLive`: more of the text may come. */
export function Markdown({ text, isLive = false }: { text: string; isLive?: boolean }) {
  const reader = useRef<MarkdownBlocks | undefined>(undefined)
  const blocks = useMemo(() => {
    reader.current ??= new MarkdownBlocks()
    return reader.current.read(readableProse(text))
  }, [text])
  const head = countOf(blocks, FIRST_SHOWN)
  const from = blocks.length - countOf(blocks.toReversed(), LAST_SHOWN)
  const between = from - head
  const { isShown, show } = useShown()
  const isCut = between > 0 && !isShown
  const entry = (block: Block, index: number) => (
    <BlockOf key={index} block={block} isLive={isLive && index === blocks.length - 1} />
  )
  const look = `prose ${isLive ? 'live' : ''}`
  if (!isCut) return <div class={look}>{blocks.map(entry)}</div>
  return (
    <div class={look}>
      {blocks.slice(0, head).map(entry)}
      <button type="button" class="fold" onClick={show}>
        {plural(between, 'more block')} between: show them
      </button>
      {blocks.slice(from).map((block, index) => entry(block, from + index))}
    </div>
  )
}

/** How many blocks there is room for; at least one. */
function countOf(blocks: readonly Block[], room: { blocks: number; characters: number }): number {
  let characters = 0
  const end = blocks.findIndex(({ raw }, index) => {
    characters += raw.length
    return index >= room.blocks || (index > 0 && characters > room.characters)
  })
  return end < 0 ? blocks.length : end
}

/** A block is drawn once for its words; what is drawn is the same object, which is not compared again. */
function BlockOf({ block, isLive }: { block: Block; isLive: boolean }) {
  return useMemo(() => {
    const token = inlineTokens(block)
    return token ? <BlockToken token={token} depth={0} isLive={isLive} /> : null
  }, [block, isLive])
}

interface BlockProps {
  token: Token
  depth: number
  isLive?: boolean
}

function BlockToken({ token, depth, isLive = false }: BlockProps) {
  if (depth > MAX_DEPTH) return <p class="as-written">{token.raw}</p>
  switch (token.type) {
    case 'space':
    case 'def':
    case 'checkbox':
      return null
    case 'heading':
      return <Heading depth={token.depth}>{inline(token.tokens, depth)}</Heading>
    case 'paragraph':
      return <p dir="auto">{inline(token.tokens, depth)}</p>
    case 'text':
      return <>{token.tokens ? inline(token.tokens, depth) : withEntities(token.text)}</>
    case 'code':
      return <CodeBlock text={token.text} language={token.lang ?? ''} isLive={isLive} />
    case 'blockquote':
      return <blockquote>{blocksIn(token.tokens, depth)}</blockquote>
    case 'list':
      return <List list={token as Tokens.List} depth={depth} />
    case 'table':
      return <Table table={token as Tokens.Table} depth={depth} />
    case 'hr':
      return <hr />
    case 'html':
      return <p class="as-written">{token.text.replace(/\n+$/, '')}</p>
    default:
      return <p class="as-written">{token.raw}</p>
  }
}

function blocksIn(tokens: Token[] | undefined, depth: number): ComponentChildren {
  return (tokens ?? []).map((token, index) => <BlockToken key={index} token={token} depth={depth + 1} />)
}

/** The headings of an answer stand below those of the page. */
function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  if (depth <= 1) return <h3 dir="auto">{children}</h3>
  if (depth === 2) return <h4 dir="auto">{children}</h4>
  return <h5 dir="auto">{children}</h5>
}

function List({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, index) => (
    <li key={index} dir="auto" class={item.task ? 'task' : undefined}>
      {item.task ? (
        <span class="box" role="img" aria-label={item.checked ? 'done' : 'to do'}>
          {item.checked ? '☑' : '☐'}
        </span>
      ) : null}
      {blocksIn(item.tokens, depth)}
    </li>
  ))
  if (!list.ordered) return <ul>{items}</ul>
  return <ol start={typeof list.start === 'number' ? list.start : undefined}>{items}</ol>
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  const { isShown, show } = useShown()
  const rows = isShown ? table.rows : table.rows.slice(0, MAX_TABLE_ROWS)
  const hidden = table.rows.length - rows.length
  return (
    // It scrolls by itself, where it is too wide.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="table" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} class={cell.align ?? ''} dir="auto">
                {inline(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} class={cell.align ?? ''} dir="auto">
                  {inline(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {hidden > 0 ? (
        <button type="button" class="fold" onClick={show}>
          {plural(hidden, 'more row')}: show them
        </button>
      ) : null}
    </section>
  )
}

function inline(tokens: Token[] | undefined, depth: number): ComponentChildren {
  return (tokens ?? []).map((token, index) => <InlineToken key={index} token={token} depth={depth + 1} />)
}

function InlineToken({ token, depth }: { token: Token; depth: number }) {
  if (depth > MAX_DEPTH) return <>{token.raw}</>
  switch (token.type) {
    case 'text':
    case 'escape':
      return <>{withEntities(token.text)}</>
    case 'strong':
      return <strong>{inline(token.tokens, depth)}</strong>
    case 'em':
      return <em>{inline(token.tokens, depth)}</em>
    case 'del':
      return <del>{inline(token.tokens, depth)}</del>
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'link':
      return <Link href={token.href}>{inline(token.tokens, depth)}</Link>
    case 'image':
      return <Image alt={token.text} address={token.href} />
    default:
      return <>{token.raw}</>
  }
}

/** To load it would tell its address's owner that it was read, and what is in the address. */
function Image({ alt, address }: { alt: string; address: string }) {
  return (
    <span class="not-loaded" title="Images in answers are not loaded">
      image{alt ? `: ${alt}` : ''} <Link href={address}>{undefined}</Link>
    </span>
  )
}
