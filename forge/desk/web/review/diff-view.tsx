/** The diff of a file, unified or side by side. Content is never rendered as HTML. */
import { signal, useSignal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { lineWords } from '../page/comment-draft.ts'
import type { Range } from '../ui/coloured.ts'
import { type Colours, coloursOf, piecesOf } from '../ui/coloured.ts'
import { Icon } from '../ui/icons.tsx'
import { visible } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { type Diff, type DiffLine, type DiffPart, diffOf, isWithoutNewline, partsOfFold } from './diff.ts'

interface Props {
  path: string
  before: string
  after: string
  isSideBySide: boolean
  ignoresBlanks: boolean
  /** From this line of the new text on, no line numbers are shown, since an open conflict is above. */
  unnumberedFrom?: number | undefined
  /** Called with the number of lines shown as added and deleted. */
  onCount?: (count: { added: number; deleted: number }) => void
  comments?: DiffComments
}

/** A version of the file: the one that is compared with, or the reviewed one. */
export type Side = 'before' | 'after'

/** Comments on the lines of a diff. */
export interface DiffComments {
  /** Whether a comment, or the field of a new one, stands below a line. `side`: one on that version of it alone. */
  has: (line: DiffLine, side?: Side) => boolean
  below: (line: DiffLine, text: string, side?: Side) => ComponentChildren
  /** The comments, and the field of a new one, on lines that are in none of the drawn parts. */
  hidden: (diff: Pick<Diff, 'before' | 'after' | 'parts'>) => ComponentChildren
  /** Begins a comment on a line. */
  begin: (line: DiffLine) => void
  /** Called when a version of the file is shown. `from`: the one that was shown before, if there was one. */
  follow: (side: Side, from: string | undefined, to: string) => void
}

/** A diff with more lines is shown on request only. */
const MAX_LINES = 3_000
/** A longer line is cut, since laying it out takes the browser long. */
const MAX_LINE_LENGTH = 2_000

interface Sides {
  before: Colours
  after: Colours
}

const NO_COLOURS: Sides = { before: new Map(), after: new Map() }

export function DiffView({
  path,
  before,
  after,
  isSideBySide,
  ignoresBlanks,
  unnumberedFrom,
  onCount,
  comments,
}: Props) {
  const diff = useMemo(() => {
    const whole = diffOf(before, after, ignoresBlanks)
    return { ...whole, unnumberedFrom: unnumberedFrom ?? Number.POSITIVE_INFINITY }
  }, [before, after, ignoresBlanks, unnumberedFrom])
  const opened = useMemo(() => signal<ReadonlySet<DiffLine>>(new Set()), [diff])
  const isWanted = useSignal(false)
  const colours = useColours(path, diff)
  useEffect(() => onCount?.(diff), [diff])
  useFollowing(before, (from, to) => comments?.follow('before', from, to))
  useFollowing(after, (from, to) => comments?.follow('after', from, to))
  const shown = diff.parts.reduce((sum, { kind, lines }) => sum + (kind === 'lines' ? lines.length : 0), 0)
  const isLarge = shown > MAX_LINES && !isWanted.value
  const isEmpty = diff.added + diff.deleted === 0
  const hidden = comments?.hidden(isLarge || isEmpty ? { ...diff, parts: [] } : diff)
  if (isLarge) {
    return (
      <>
        {hidden}
        <button
          type="button"
          class="fold"
          onClick={() => {
            isWanted.value = true
          }}
        >
          <Icon name="unfold" size="xs" />
          {plural(shown, 'line')}: show them
        </button>
      </>
    )
  }
  if (isEmpty)
    return (
      <>
        {hidden}
        <NoLines diff={diff} />
      </>
    )
  const isOpened = (line: DiffLine) => opened.value.has(line)
  const isCommented = (line: DiffLine) => comments?.has(line) === true
  const parts = diff.parts.flatMap(part =>
    part.kind === 'fold' ? partsOfFold(diff, part, isOpened, isCommented) : part,
  )
  return (
    <>
      {hidden}
      {/* It scrolls, so the keyboard must be able to focus it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <div class={`diff-code ${isSideBySide ? 'two' : ''}`} tabIndex={0}>
        {parts.map(part => {
          const [first] = part.lines
          const key = `${first?.before}:${first?.after}`
          if (part.kind === 'fold') {
            const open = () => {
              opened.value = new Set([...opened.value, ...part.lines])
            }
            return <Fold key={key} part={part} open={open} />
          }
          return <Lines key={key} {...{ diff, part, colours, isSideBySide, comments }} />
        })}
        {notesOf(diff).map(note => (
          <p key={note} class="diff-none meta">
            {note}
          </p>
        ))}
      </div>
    </>
  )
}

/** Calls `follow` with each version of a text that is shown, and the one before. */
function useFollowing(text: string, follow: (from: string | undefined, to: string) => void): void {
  const shown = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    follow(shown.current, text)
    shown.current = text
  }, [text])
}

const END_WORDS = {
  added: 'A newline was added at the end of the file.',
  removed: 'The newline at the end of the file was removed.',
}

/** The change of all line endings, in words. */
export const lineEndWords = ([before, after]: NonNullable<Diff['lineEnds']>): string =>
  `All line endings changed: ${before} → ${after}.`

/** Differences that are not lines, in words. */
function notesOf({ end, lineEnds }: Diff): string[] {
  return [...(lineEnds ? [lineEndWords(lineEnds)] : []), ...(end ? [END_WORDS[end]] : [])]
}

function NoLines({ diff }: { diff: Diff }) {
  const notes = notesOf(diff)
  return <p class="diff-none meta">{notes.length > 0 ? notes.join(' ') : 'No lines changed.'}</p>
}

function useColours(path: string, diff: Diff): Sides {
  const colours = useSignal<Sides>(NO_COLOURS)
  useEffect(() => {
    let isStale = false
    Promise.all([coloursOf(path, diff.before), coloursOf(path, diff.after)]).then(([before, after]) => {
      if (!isStale) colours.value = { before, after }
    })
    return () => {
      isStale = true
    }
  }, [path, diff, colours])
  return colours.value
}

function Fold({ part, open }: { part: DiffPart; open: () => void }) {
  return (
    <button type="button" class="fold" onClick={open}>
      <Icon name="unfold" size="xs" />
      <span>{plural(part.lines.length, 'unchanged line')}</span>
      <span class="where cut">{part.where}</span>
    </button>
  )
}

type ShownDiff = Diff & { unnumberedFrom: number }

/** The number of a line in the new text, if known. */
function numberAfter({ unnumberedFrom }: ShownDiff, { after }: DiffLine): number | undefined {
  return after !== undefined && after < unnumberedFrom ? after : undefined
}

interface LinesProps {
  diff: ShownDiff
  part: DiffPart
  colours: Sides
  isSideBySide: boolean
  comments: DiffComments | undefined
}

function Lines({ diff, part, colours, isSideBySide, comments }: LinesProps) {
  const below = (line: DiffLine | undefined, side?: Side) => {
    if (!line || !comments?.has(line, side)) return null
    return comments.below(line, textOfLine(diff, line), side)
  }

  if (isSideBySide) {
    return pairsOf(part.lines).map(({ left, right }) => (
      <Fragment key={`${left?.before}:${right?.after}`}>
        <div class="pair">
          <Half diff={diff} line={left} side="before" colours={colours} comments={comments} />
          <Half diff={diff} line={right} side="after" colours={colours} comments={comments} />
        </div>
        {[left, right].some(line => line && isWithoutNewline(diff, line)) ? (
          <div class="pair">
            <HalfNewline diff={diff} line={left} />
            <HalfNewline diff={diff} line={right} />
          </div>
        ) : null}
        <BesideEachOther before={below(left, 'before')} after={below(right, 'after')} />
      </Fragment>
    ))
  }
  return part.lines.map(line => {
    const look = LOOKS[line.kind]
    return (
      <Fragment key={`${line.before}:${line.after}`}>
        <div class={`dl ${look.class}`}>
          <LineNumber line={line} number={line.before} comments={line.kind === 'deleted' ? comments : undefined} />
          <LineNumber
            line={line}
            number={numberAfter(diff, line)}
            comments={line.kind === 'deleted' ? undefined : comments}
          />
          <b>{look.sign}</b>
          <Code diff={diff} line={line} side={line.kind === 'deleted' ? 'before' : 'after'} colours={colours} />
        </div>
        {isWithoutNewline(diff, line) ? (
          <div class="dl">
            <i />
            <i />
            <NoNewline />
          </div>
        ) : null}
        {below(line)}
      </Fragment>
    )
  })
}

/** What stands below a pair of lines, each below its half. */
function BesideEachOther({ before, after }: Record<Side, ComponentChildren>) {
  if (!before && !after) return null
  return (
    <div class="pair of-comments">
      <div>{before}</div>
      <div>{after}</div>
    </div>
  )
}

/** What git writes below a last line without a line end. */
export function NoNewline() {
  return (
    <>
      <b>\</b>
      <span class="meta">No newline at end of file</span>
    </>
  )
}

function HalfNewline({ diff, line }: { diff: Diff; line: DiffLine | undefined }) {
  if (!line || !isWithoutNewline(diff, line)) return <div class="dl half nothing" />
  return (
    <div class="dl half">
      <i />
      <NoNewline />
    </div>
  )
}

const textOfLine = (diff: Diff, { kind, before = 0, after = 0 }: DiffLine): string =>
  kind === 'deleted' ? diff.before.line(before).text : diff.after.line(after).text

interface NumberProps {
  line: DiffLine
  number: number | undefined
  comments: DiffComments | undefined
}

/** The number of a line; where comments are possible, a button that begins one. (The keyboard has an action for it.) */
function LineNumber({ line, number, comments }: NumberProps) {
  if (number === undefined || !comments) return <i>{number}</i>
  return (
    <button
      type="button"
      class="line-number"
      tabIndex={-1}
      title="Comment on this line"
      aria-label={`Comment on ${lineWords({ side: line.kind === 'deleted' ? 'before' : 'after', line: number })}`}
      onClick={() => comments.begin(line)}
    >
      {number}
    </button>
  )
}

const LOOKS = {
  same: { class: '', sign: '' },
  added: { class: 'a', sign: '+' },
  deleted: { class: 'm', sign: '−' },
}

interface HalfProps {
  diff: ShownDiff
  line: DiffLine | undefined
  side: Side
  colours: Sides
}

function Half({ diff, line, side, colours, comments }: HalfProps & { comments: DiffComments | undefined }) {
  if (!line) return <div class="dl half nothing" />
  const look = LOOKS[line.kind]
  return (
    <div class={`dl half ${look.class}`}>
      <LineNumber
        line={line}
        number={side === 'after' ? numberAfter(diff, line) : line.before}
        comments={side === 'before' && line.kind === 'same' ? undefined : comments}
      />
      <b>{look.sign}</b>
      <Code diff={diff} line={line} side={side} colours={colours} />
    </div>
  )
}

function Code({ diff, line, side, colours }: HalfProps & { line: DiffLine }) {
  const number = line[side] ?? 0
  const whole = diff[side].line(number).text
  const text = whole.slice(0, MAX_LINE_LENGTH)
  const words = line.words.filter((range): range is Range => range[0] < MAX_LINE_LENGTH)
  const rest = whole.length - text.length
  return (
    <span>
      {piecesOf(text, colours[side].get(number), words).map((piece, index) => {
        return piece.look ? (
          <span key={index} class={piece.look}>
            {visible(piece.text)}
          </span>
        ) : (
          visible(piece.text)
        )
      })}
      {rest > 0 ? <span class="meta"> … {plural(rest, 'more character')}</span> : null}
    </span>
  )
}

interface Pair {
  left: DiffLine | undefined
  right: DiffLine | undefined
}

/**
 * Pairs lines for the side-by-side view: unchanged lines with themselves, deleted ones with those that replaced them.
 */
function pairsOf(lines: DiffLine[]): Pair[] {
  const pairs: Pair[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] as DiffLine
    if (line.kind === 'same') {
      pairs.push({ left: line, right: line })
      at++
      continue
    }
    const deleted = takeWhile(lines, at, 'deleted')
    const added = takeWhile(lines, at + deleted.length, 'added')
    const count = Math.max(deleted.length, added.length)
    for (let index = 0; index < count; index++) pairs.push({ left: deleted[index], right: added[index] })
    at += deleted.length + added.length
  }
  return pairs
}

function takeWhile(lines: DiffLine[], from: number, kind: DiffLine['kind']): DiffLine[] {
  let to = from
  while (lines[to]?.kind === kind) to++
  return lines.slice(from, to)
}
