/**
 * Joins the lines of paragraphs that were wrapped by their author, such as in a commit message, so that they can be
 * wrapped anew in a narrow pane. Lines that were not wrapped stay separate.
 */

export interface ProseBlock {
  lines: string[]
  /** Indented or fenced: the lines stay as written. */
  isCode: boolean
}

/** What begins a line that stays separate: a list marker, a quote, a heading, a table, or a trailer. */
const OWN_LINE = /^(?:[-*+•] |\d+[.)] |[>#|]|[\w-]+: |\s{2,}|\t)/
const LIST_ITEM = /^(?:[-*+•] |\d+[.)] )/
/** A paragraph whose longest line is shorter than this, in characters, was not wrapped. */
const SHORTEST_WIDTH = 45
/** A wrapped line may be this many characters shorter than possible. */
const SLACK_CHARS = 12

export function joinWrappedLines(text: string): ProseBlock[] {
  const blocks: ProseBlock[] = []
  let fenced: string[] | undefined
  for (const paragraph of text
    .replaceAll('\r\n', '\n')
    // Removes blank lines at the start, but not the indentation of the first line with text.
    .replace(/^(?:[^\S\n]*\n)+/, '')
    .trimEnd()
    .split(/\n\s*\n/)) {
    const fences = paragraph.match(/^```/gm)?.length ?? 0
    if (fenced) {
      fenced.push('', ...paragraph.split('\n'))
      if (fences % 2 === 1) fenced = undefined
      continue
    }
    const lines = paragraph.split('\n').filter((line, index) => line.trim() !== '' || index > 0)
    if (lines.length === 0) continue
    const isCode = fences > 0 || lines.every(line => /^(?: {4}|\t)/.test(line))
    blocks.push({ lines: isCode ? lines : joined(lines), isCode })
    if (fences % 2 === 1) fenced = blocks.at(-1)?.lines
  }
  return blocks
}

function joined(lines: readonly string[]): string[] {
  const width = Math.max(...lines.map(({ length }) => length))
  const all: string[] = []
  let before = ''
  for (const line of lines) {
    const last = all.at(-1)
    const isItem = last !== undefined && LIST_ITEM.test(last)
    // The continuation lines of a list item are indented by the width of its marker.
    const isRest = isItem && /^ {2,4}\S/.test(line) && !OWN_LINE.test(line.trimStart())
    const words = isRest ? line.trimStart() : line
    const canJoin = last !== undefined && width >= SHORTEST_WIDTH && (isRest || !OWN_LINE.test(line))
    const [next = ''] = words.split(' ', 1)
    if (canJoin && before.length + 1 + next.length > width - SLACK_CHARS) all[all.length - 1] = `${last} ${words}`
    else all.push(line)
    before = line
  }
  return all
}
