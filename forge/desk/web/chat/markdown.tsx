/**
 * Renders Markdown of a model as elements. No HTML is produced, so tags are shown as text, images are named but never
 * loaded, and links do nothing until they are clicked.
 */
import type { Token, Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { useContext, useMemo, useRef } from 'preact/hooks'
import { slugOf } from '../ui/heading-slugs.ts'
import { Icon } from '../ui/icons.tsx'
import { targetOf } from '../ui/links.ts'
import { type Block, type Definitions, inlineTokens, isDefinition, MarkdownBlocks } from '../ui/markdown-blocks.ts'
import { toName } from '../ui/names.ts'
import { readableProse, withEntities } from '../ui/prose.ts'
import { plural } from '../ui/times.ts'
import { useShown } from '../ui/use-shown.ts'
import { CodeBlock } from './code-block.tsx'
import { InLinkContext, Link } from './link.tsx'
import { fromTop, MarkdownPlaceContext } from './markdown-place.ts'

/** Of a long answer, blocks up to these limits are shown at its beginning; the middle is shown on request. */
const FIRST_SHOWN = { blocks: 40, characters: 10_000 }
const LAST_SHOWN = { blocks: 200, characters: 40_000 }
/** Content nested deeper than this is shown as source. */
const MAX_DEPTH = 40
const MAX_TABLE_ROWS = 400

interface Props {
  text: string
  /** Whether more text may follow. */
  isLive?: boolean
  /** The number of the text's first line in its file, if each block is to have that of its own as `data-line`. */
  firstLine?: number
}

/** Shows Markdown. */
export function Markdown({ text, isLive = false, firstLine }: Props) {
  const reader = useRef<MarkdownBlocks | undefined>(undefined)
  const { blocks, definitions, lines } = useMemo(() => {
    reader.current ??= new MarkdownBlocks()
    const read = reader.current.read(readableProse(text))
    const lines = firstLine === undefined ? [] : reader.current.lines.map(line => firstLine + line)
    return { blocks: read, definitions: reader.current.definitions, lines }
  }, [text, firstLine])
  const place = useContext(MarkdownPlaceContext)
  const head = countOf(blocks, FIRST_SHOWN)
  const from = blocks.length - countOf(blocks.toReversed(), LAST_SHOWN)
  const between = from - head
  const { isShown, show } = useShown()
  const isCut = between > 0 && !isShown && !place?.isWhole
  const entry = (block: Block, index: number) => {
    const shown = (
      <BlockOf key={index} block={block} definitions={definitions} isLive={isLive && index === blocks.length - 1} />
    )
    if (firstLine === undefined) return shown
    return (
      <div key={index} class="block" data-line={lines[index]}>
        {shown}
      </div>
    )
  }
  const look = `prose ${isLive ? 'live' : ''}`
  if (!isCut) return <div class={look}>{blocks.map(entry)}</div>
  return (
    <div class={look}>
      {blocks.slice(0, head).map(entry)}
      <button type="button" class="fold" data-line={lines[head]} onClick={show}>
        {plural(between, 'more block')} between: show them
      </button>
      {blocks.slice(from).map((block, index) => entry(block, from + index))}
    </div>
  )
}

/** How many of the blocks fit; at least one. */
function countOf(blocks: readonly Block[], room: { blocks: number; characters: number }): number {
  let characters = 0
  const end = blocks.findIndex(({ raw }, index) => {
    characters += raw.length
    return index >= room.blocks || (index > 0 && characters > room.characters)
  })
  return end < 0 ? blocks.length : end
}

/** Renders a block once for its source: the same node is returned afterwards, so that it is not compared again. */
function BlockOf({ block, definitions, isLive }: { block: Block; definitions: Definitions; isLive: boolean }) {
  const canRefer = block.raw.includes('[')
  return useMemo(() => {
    const token = inlineTokens(block, definitions)
    return token ? <BlockToken token={token} depth={0} isLive={isLive} /> : null
  }, [block, canRefer && definitions, isLive])
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
    case 'checkbox':
      return null
    case 'heading':
      return (
        <Heading depth={token.depth} tokens={token.tokens ?? []}>
          {inline(token.tokens, depth)}
        </Heading>
      )
    case 'def':
      return isDefinition(token) ? null : <p dir="auto">{withEntities(token.raw)}</p>
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

/** The levels of headings are below those of the page's own. */
function Heading({ depth, tokens, children }: { depth: number; tokens: Token[]; children: ComponentChildren }) {
  const place = useContext(MarkdownPlaceContext)
  // A link to a heading focuses it, so that the next Tab continues from the heading.
  const target = place && { 'data-slug': slugOf(tokens), tabIndex: -1 }
  const Level = depth <= 1 ? 'h3' : depth === 2 ? 'h4' : 'h5'
  return (
    <Level dir="auto" {...target}>
      {children}
    </Level>
  )
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
    // A wide table scrolls.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to focus what scrolls
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
      // The parser has decoded numeric entities, so there can be invisible characters again.
      return <>{readableProse(withEntities(token.text))}</>
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
      return (
        <Link href={token.href} isOfImages={isOnlyImages(token.tokens)}>
          {inline(token.tokens, depth)}
        </Link>
      )
    case 'image':
      return <Image alt={token.text} address={token.href} />
    default:
      return <>{token.raw}</>
  }
}

/** Whether a link has nothing but images, as the badges of a README. */
function isOnlyImages(tokens: Token[] | undefined): boolean {
  const parts = (tokens ?? []).filter(({ type, raw }) => type !== 'text' || raw.trim() !== '')
  return parts.length > 0 && parts.every(({ type }) => type === 'image')
}

/**
 * Shows an image of the same repository if the text is a file; else a badge with the image's description, which leads
 * to what the image links to, or to the image. Loading an image from elsewhere would tell the address's owner that it
 * was read, and could carry data.
 */
function Image({ alt, address }: { alt: string; address: string }) {
  const place = useContext(MarkdownPlaceContext)
  const isInLink = useContext(InLinkContext)
  const target = place && targetOf(fromTop(address, place))
  if (place && target?.kind === 'file') return <place.Image path={toName(target.path)} alt={alt} />
  const badge = (
    <span class="image-badge">
      <Icon name="picture" size="xs" />
      <span class="vh">image: </span>
      {readableProse(withEntities(alt)) || 'image'}
    </span>
  )
  if (isInLink) return badge
  return (
    <Link href={address} isOfImages={true}>
      {badge}
    </Link>
  )
}
