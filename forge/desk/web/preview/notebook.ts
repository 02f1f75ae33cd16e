/**
 * Reads a Jupyter notebook for display: its cells, and outputs as text or pixel images. HTML and scripts are left out.
 */
import * as v from 'valibot'
import { readableProse } from '../ui/prose.ts'

const Lines = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform(lines => (typeof lines === 'string' ? lines : lines.join(''))),
)
const Output = v.looseObject({
  output_type: v.string(),
  text: v.fallback(v.optional(Lines), undefined),
  data: v.fallback(v.optional(v.record(v.string(), v.fallback(Lines, ''))), undefined),
  traceback: v.fallback(v.optional(Lines), undefined),
})
const Cell = v.looseObject({
  cell_type: v.string(),
  source: Lines,
  outputs: v.fallback(v.optional(v.array(v.unknown())), undefined),
})
const Notebook = v.looseObject({
  cells: v.array(v.unknown()),
  metadata: v.fallback(
    v.optional(v.looseObject({ language_info: v.optional(v.looseObject({ name: v.optional(v.string()) })) })),
    undefined,
  ),
})

export type ShownOutput =
  | { kind: 'text'; text: string }
  | { kind: 'image'; type: string; base64: string }
  /** Content that is not shown, by its media types. */
  | { kind: 'other'; types: string[] }

export interface ShownCell {
  kind: 'markdown' | 'code' | 'raw'
  source: string
  outputs: ShownOutput[]
}

export interface ShownNotebook {
  language: string
  cells: ShownCell[]
  isCut: boolean
}

const MAX_CELLS = 500
const MAX_OUTPUTS = 50
const MAX_OUTPUT_CHARS = 20_000
/** Cells are shown until their sources and outputs have more. */
const MAX_TOTAL = { characters: 200_000, lines: 5_000 }
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
/** Anything else would not stay inside the address of the image. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Reads a notebook; or says why it can't be read. */
export function notebookOf(text: string): ShownNotebook | string {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return 'This is not a notebook yet: it is not JSON.'
  }
  const parsed = v.safeParse(Notebook, json)
  if (!parsed.success) return 'This is not a notebook that is shown here: it has no list of cells (nbformat 4).'
  const { cells, metadata } = parsed.output
  const read = cells.slice(0, MAX_CELLS).flatMap(cellFrom)
  const shown = read.slice(0, countInTotal(read))
  return {
    language: metadata?.language_info?.name ?? 'python',
    cells: shown,
    isCut: cells.length > MAX_CELLS || shown.length < read.length,
  }
}

function cellFrom(cell: unknown): ShownCell[] {
  const read = v.safeParse(Cell, cell)
  if (!read.success) return []
  const { cell_type: type, source, outputs = [] } = read.output
  const kind = type === 'markdown' || type === 'code' ? type : 'raw'
  return [{ kind, source, outputs: outputs.slice(0, MAX_OUTPUTS).flatMap(outputFrom) }]
}

/** How many of the cells are within the limits of a notebook; at least one. */
function countInTotal(cells: readonly ShownCell[]): number {
  let [characters, lines] = [0, 0]
  const end = cells.findIndex(({ source, outputs }, index) => {
    for (const text of [source, ...outputs.map(output => (output.kind === 'text' ? output.text : ''))]) {
      characters += text.length
      lines += text.split('\n').length
    }
    return index > 0 && (characters > MAX_TOTAL.characters || lines > MAX_TOTAL.lines)
  })
  return end < 0 ? cells.length : end
}

function outputFrom(output: unknown): ShownOutput[] {
  const read = v.safeParse(Output, output)
  if (!read.success) return []
  const { text, data = {}, traceback } = read.output
  const images = IMAGE_TYPES.map(type => ({ kind: 'image' as const, type, base64: withoutBlanks(data[type] ?? '') }))
  const image = images.find(({ base64 }) => base64.length > 0 && BASE64.test(base64))
  if (image) return [image]
  const plain = text ?? traceback ?? data['text/plain']
  const hidden = Object.keys(data).filter(type => type !== 'text/plain')
  const shown: ShownOutput[] = plain ? [{ kind: 'text', text: shortened(plain) }] : []
  return hidden.length > 0 ? [...shown, { kind: 'other', types: hidden.slice(0, 5) }] : shown
}

const withoutBlanks = (text: string): string => text.replace(/\s/g, '')

function shortened(text: string): string {
  return readableProse(text.slice(0, MAX_OUTPUT_CHARS).toWellFormed())
}
