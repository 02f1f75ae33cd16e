/** A conflict in a text: both sides, their base, and the buttons to choose. */
import { Text } from '@codemirror/state'
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { lineEndOf } from '../../contract/editable-text.ts'
import { type Colours, coloursOf, type Piece, piecesOf } from '../ui/coloured.ts'
import { Icon } from '../ui/icons.tsx'
import { visible } from '../ui/names.ts'
import type { ConflictRegion, SideChoice } from './conflict-regions.ts'
import { changedWords } from './conflict-words.ts'

const NO_COLOURS: Colours = new Map()
/** At most this many lines of a side are shown. */
const MAX_LINES = 400

export interface ConflictBoxProps {
  path: string
  region: ConflictRegion
  number: number
  of: number
  /** The names of the sides on the screen. */
  names: { ours: string; base: string; theirs: string }
  /** Where the editor's cursors are in our side, as offsets in its text. */
  cursors: readonly number[]
  choose: (choice: SideChoice) => void
  /** Asks the AI to resolve the conflict; undefined if it can't be asked. */
  askAi?: (() => void) | undefined
  /** Moves the focus to the text around the block. */
  leave: () => void
  handOn: HandOn
}

/** Moves the focus to the text and runs the editor's command of a key there. Returns whether it has one. */
type HandOn = (event: KeyboardEvent) => boolean

/** Whether a key is one of undo and redo. */
const isOfHistory = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  /^[zy]$/i.test(key) && (ctrlKey || metaKey) && !altKey

const CHOICES: { choice: SideChoice; words: string; key: string }[] = [
  { choice: 'ours', words: 'Ours', key: '1' },
  { choice: 'theirs', words: 'Theirs', key: '2' },
  { choice: 'both', words: 'Both', key: '3' },
]

export function ConflictBox(props: ConflictBoxProps) {
  const { path, region, number, of, names, cursors, choose, askAi, leave, handOn } = props
  const sides = useMemo(() => withoutIndentation(region), [region.ours, region.base, region.theirs])
  const places = cursors.map(cursor => placeOf(cursor, region.ours, sides.ours))
  const ends = useMemo(() => differingLineEnds(region), [region.ours, region.base, region.theirs])
  return (
    // Focusable: its keys choose a side, and going to a conflict focuses it.
    <section
      class="conflict-box"
      aria-label={`Conflict ${number} of ${of}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      data-conflict={number}
      onKeyDown={event => {
        const hasModifier = event.altKey || event.ctrlKey || event.metaKey
        const chosen = hasModifier ? undefined : CHOICES.find(({ key }) => key === event.key)
        if (isOfHistory(event)) handOn(event)
        else if (hasModifier) return
        else if (chosen) choose(chosen.choice)
        else if (event.key === '4' && askAi) askAi()
        else if (event.key === 'Escape') leave()
        else return
        event.preventDefault()
        event.stopPropagation()
      }}
    >
      <header>
        <Icon name="clash" tone="is-warn" />
        <span class="strong grow cut">
          Conflict {number} of {of}
        </span>
        {CHOICES.map(({ choice, words, key }) => (
          <button key={key} type="button" class="button small" onClick={() => choose(choice)}>
            {words}
            <kbd>{key}</kbd>
          </button>
        ))}
        {askAi ? <AskButton ask={askAi} /> : null}
      </header>
      <div class="sides">
        <Side
          path={path}
          look="ours"
          title="Ours"
          name={names.ours}
          lineEnd={ends.ours}
          text={sides.ours}
          before={sides.base || sides.theirs}
          cursors={places}
        />
        {sides.base === undefined ? null : (
          <Side
            path={path}
            look="base"
            title="Base"
            name={names.base}
            lineEnd={ends.base}
            text={sides.base}
            before={undefined}
          />
        )}
        <Side
          path={path}
          look="theirs"
          title="Theirs"
          name={names.theirs}
          lineEnd={ends.theirs}
          text={sides.theirs}
          before={sides.base || sides.ours}
        />
      </div>
      {sides.base === undefined ? null : (
        <details class="base-row">
          <summary>
            <Icon name="chevron-right" size="xs" />
            Base{ends.base === undefined ? null : ` (${ends.base})`}{' '}
            <span class="mono cut">{firstLineOf(sides.base)}</span>
          </summary>
          <pre>{linesOf(sides.base).map(visible).join('\n') || '(nothing)'}</pre>
        </details>
      )}
    </section>
  )
}

export function AskButton({ ask }: { ask: () => void }) {
  return (
    <button type="button" class="button small ask" onClick={ask}>
      <Icon name="bot" size="xs" tone="by-ai" />
      <span class="word">Ask the AI</span>
      <kbd>4</kbd>
    </button>
  )
}

interface SideProps {
  path: string
  look: 'ours' | 'base' | 'theirs'
  title: string
  name: string
  /** The line endings of the side; undefined where those of all sides are the same. */
  lineEnd: string | undefined
  text: string
  /** The text that the side is compared with word by word: the base, or the other side if the base is empty here. */
  before: string | undefined
  cursors?: readonly Place[]
}

interface Place {
  line: number
  column: number
}

/** The place of a cursor in a side that is shown without its indentation. */
function placeOf(cursor: number, text: string, shown: string): Place {
  const line = text.slice(0, cursor).split('\n').length - 1
  const start = text.lastIndexOf('\n', cursor - 1) + 1
  const removed = (text.split('\n')[line]?.length ?? 0) - (shown.split('\n')[line]?.length ?? 0)
  return { line, column: Math.max(0, cursor - start - removed) }
}

/** The pieces of a line, with cursors between them. */
function withCursors(pieces: Piece[], columns: readonly number[]): (Piece | 'cursor')[] {
  const cut = (from: number, to: number) => {
    let start = 0
    return pieces.flatMap(piece => {
      const { text, look } = piece
      // A place where words are gone.
      if (text === '') return from <= start && start < to ? [piece] : []
      const part = text.slice(Math.max(0, from - start), Math.max(0, to - start))
      start += text.length
      return part === '' ? [] : [{ text: part, look }]
    })
  }
  const ends = [...columns, Number.POSITIVE_INFINITY]
  return ends.flatMap((end, at) => [...(at > 0 ? ['cursor' as const] : []), ...cut(ends[at - 1] ?? 0, end)])
}

/** A cursor of the editor. A long side scrolls by itself, so that it is seen. */
function Cursor() {
  const cursor = useRef<HTMLSpanElement>(null)
  // After the box is in the document, and after each key.
  useEffect(() => {
    const [at, side] = [cursor.current, cursor.current?.closest('pre')].map(it => it?.getBoundingClientRect())
    if (!at || !side || at.height === 0) return
    const by = Math.min(0, at.top - side.top) || Math.max(0, at.bottom - side.bottom)
    if (by !== 0) cursor.current?.closest('pre')?.scrollBy(0, by)
  })
  return <span ref={cursor} class="side-cursor" />
}

function Side({ path, look, title, name, lineEnd, text, before, cursors = [] }: SideProps) {
  const lines = linesOf(text)
  const colours = useColours(path, text)
  const words = useMemo(() => changedWords(before, text), [before, text])
  return (
    <section class={look} aria-label={`${title}, ${name}`}>
      <h3>
        {title}
        <span class="cut">{name}</span>
        {lineEnd === undefined ? null : <span>{lineEnd}</span>}
      </h3>
      <pre>
        {cursors.length > 0 && lines.length === 0 ? <Cursor /> : null}
        {lines.length === 0 ? <span class="meta">(nothing)</span> : null}
        {lines.slice(0, MAX_LINES).map((line, index) => (
          <span key={index}>
            {withCursors(
              piecesOf(line, colours.get(index + 1), words[index] ?? []),
              cursors.flatMap(cursor => (cursor.line === index ? [cursor.column] : [])),
            ).map((piece, at) =>
              piece === 'cursor' ? (
                <Cursor key={at} />
              ) : (
                <span key={at} class={piece.look}>
                  {visible(piece.text)}
                </span>
              ),
            )}
            {'\n'}
          </span>
        ))}
        {lines.length > MAX_LINES ? <span class="meta">… and {lines.length - MAX_LINES} more lines</span> : null}
      </pre>
    </section>
  )
}

function useColours(path: string, text: string): Colours {
  const colours = useSignal(NO_COLOURS)
  useEffect(() => {
    let isWanted = true
    coloursOf(path, Text.of(text.split('\n'))).then(
      found => {
        if (isWanted) colours.value = found
      },
      () => undefined,
    )
    return () => {
      isWanted = false
    }
  }, [path, text, colours])
  return colours.value
}

/** The line endings of each side, in words, if they are not the same in all. A side without text has none. */
function differingLineEnds({ ours, base = '', theirs }: ConflictRegion): Partial<Record<SideProps['look'], string>> {
  const texts = Object.entries({ ours, base, theirs }).filter(([, text]) => text !== '')
  const ends = texts.map(([side, text]) => [side, lineEndOf(text)] as const)
  if (new Set(ends.map(([, lineEnd]) => lineEnd)).size < 2) return {}
  return Object.fromEntries(ends.map(([side, lineEnd]) => [side, lineEnd === 'mixed' ? 'mixed line endings' : lineEnd]))
}

/** The lines of a side, without the \r of their line ends. */
function linesOf(text: string): string[] {
  if (text === '') return []
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map(line => line.replace(/\r$/, ''))
}

function firstLineOf(text: string): string {
  const lines = linesOf(text)
  const more = lines.length > 1 ? ' …' : ''
  return lines.length === 0 ? '(nothing)' : `${visible((lines[0] ?? '').trim())}${more}`
}

/** The sides without their common indentation, to show. */
function withoutIndentation({ ours, base, theirs }: ConflictRegion): Pick<ConflictRegion, 'ours' | 'base' | 'theirs'> {
  const lines = [ours, base ?? '', theirs].flatMap(text => text.split('\n')).filter(line => line.trim() !== '')
  const shared = Math.min(...lines.map(line => line.length - line.trimStart().length), 1_000)
  const cut = (text: string) =>
    text
      .split('\n')
      .map(line => line.slice(Math.min(shared, line.length - line.trimStart().length)))
      .join('\n')
  return { ours: cut(ours), base: base === undefined ? undefined : cut(base), theirs: cut(theirs) }
}

export interface SettledBoxProps {
  /** How the conflict was resolved, and by what. */
  words: string
  number: number
  of: number
  /** Whether an AI resolved the conflict. */
  isByAi: boolean
  change: () => void
  /** Moves the focus from this box to the text around it. */
  leave: () => void
  handOn: HandOn
}

/** Keys that do nothing by themselves. */
const MODIFIERS = new Set(['Shift', 'Control', 'Alt', 'AltGraph', 'Meta'])

/** The line above a resolved conflict. */
export function SettledBox({ words, number, of, isByAi, change, leave, handOn }: SettledBoxProps) {
  return (
    // Focused after a choice, so that the key of a choice (1 to 4), pressed once too often, is not typed into the text.
    // Other keys act as in the text. Those with a command of the editor do so by it, since the browser knows only the
    // drawn part of the text: its own Ctrl+End does not move the cursor to the end of a long file.
    <section
      class="done-box"
      aria-label={`Conflict ${number} of ${of}, resolved`}
      tabIndex={-1}
      data-settled={number}
      onKeyDown={event => {
        const hasModifier = event.altKey || event.ctrlKey || event.metaKey
        const isChoice = /^[1-4]$/.test(event.key) && !hasModifier
        if (isOfHistory(event)) handOn(event)
        else if (event.key === 'Escape') leave()
        else if (!isChoice) {
          const isForText = event.target === event.currentTarget && event.key !== 'Tab' && !MODIFIERS.has(event.key)
          if (!isForText || !handOn(event)) return
        }
        event.preventDefault()
        event.stopPropagation()
      }}
    >
      <Icon name={isByAi ? 'bot' : 'check'} size="xs" tone={isByAi ? 'by-ai' : 'is-ok'} />
      <span class="grow cut">{words}</span>
      <button type="button" class="button quiet small" onClick={change}>
        Change
      </button>
    </section>
  )
}
