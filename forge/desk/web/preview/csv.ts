/** Reads tables in CSV and TSV, as far as they are shown. A formula is text like any other. */

export interface Table {
  rows: string[][]
  /** Whether there are more rows, more columns or longer cells than are read. */
  isCut: boolean
}

export const MAX_ROWS = 1_000
export const MAX_COLUMNS = 100
/** A wide table has fewer rows: drawing more cells takes too long. */
const MAX_CELLS = 20_000
const MAX_CELL_CHARS = 1_000
/** The separator is guessed from this many characters. */
const GUESSED_CHARS = 2_000

/**
 * Reads the rows of a table. `separator`: by default the most frequent one of comma, semicolon and tab at the start of
 * the text.
 */
export function tableOf(text: string, separator = guessSeparator(text)): Table {
  const rows: string[][] = []
  let row: string[] = []
  let columns = 0
  let cells = 0
  let isCut = false
  let at = 0
  const end = (cell: string) => {
    columns++
    if (columns > MAX_COLUMNS || cell.length > MAX_CELL_CHARS) isCut = true
    if (columns <= MAX_COLUMNS) row.push(cell.slice(0, MAX_CELL_CHARS).toWellFormed())
  }
  while (at < text.length) {
    if (rows.length === MAX_ROWS || cells >= MAX_CELLS) return { rows, isCut: true }
    const cell = cellAt(text, at, separator)
    end(cell.text)
    at = cell.end
    if (text[at] === separator) {
      at++
      if (at < text.length && text[at] !== '\n' && text[at] !== '\r') continue
      end('')
    }
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
    rows.push(row)
    cells += row.length
    row = []
    columns = 0
  }
  return { rows, isCut }
}

/**
 * Reads the cell that begins at `from`. `end`: the offset after it, at a separator, a line end, or the end of the text.
 */
function cellAt(text: string, from: number, separator: string): { text: string; end: number } {
  if (text[from] !== '"') {
    let end = from
    while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++
    return { text: text.slice(from, end), end }
  }
  let at = from + 1
  let value = ''
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return { text: value + text.slice(at), end: text.length }
    value += text.slice(at, quote)
    at = quote + 1
    if (text[at] !== '"') break
    value += '"'
    at++
  }
  // Text between the closing quote and the next separator also belongs to the cell.
  const rest = cellAfter(text, at, separator)
  return { text: value + text.slice(at, rest), end: rest }
}

function cellAfter(text: string, from: number, separator: string): number {
  let end = from
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++
  return end
}

function guessSeparator(text: string): string {
  const begin = text.slice(0, GUESSED_CHARS)
  const counted = [',', ';', '\t'].map(sign => ({ sign, count: begin.split(sign).length }))
  return counted.toSorted((one, other) => other.count - one.count)[0]?.sign ?? ','
}
