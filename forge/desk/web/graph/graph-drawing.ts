/** Draws the lanes of rows: lines as curves from row to row, and a dot for each commit. */
import type { GraphRow } from '../../contract/graph.ts'
import { LANE_INSET_PX } from '../page/graph-state.ts'

const LINE = 1.6
/** The commits of lanes that do not fit in the column are drawn at its edge, this far inside it, in pixels. */
const EDGE_INSET_PX = 8
const [DOT, MERGE_DOT] = [5, 4]

export interface GraphColours {
  lanes: string[]
  surface: string
  lost: string
}

/** The current colours of the style, as values, since a canvas can't use CSS variables. */
export function paletteOf(element: Element): GraphColours {
  const probe = document.createElement('span')
  probe.className = 'lane-probe'
  element.append(probe)
  const colour = (name: string) => {
    probe.dataset.lane = name
    return getComputedStyle(probe).color
  }
  const lanes = Array.from({ length: 6 }, (_, lane) => colour(`${lane}`))
  const palette = { lanes, surface: colour('surface'), lost: colour('lost') }
  probe.remove()
  return palette
}

export interface Drawing {
  /** The row above the first drawn one: its lines continue into the drawing from the top. */
  above: GraphRow | undefined
  rows: readonly (GraphRow | undefined)[]
  rowHeight: number
  width: number
  gap: number
  pan: number
}

/** Draws on a canvas of the size of the rows. */
export function drawLanes(canvas: HTMLCanvasElement, drawing: Drawing, palette: GraphColours): void {
  const { above, rows, rowHeight, width, gap, pan } = drawing
  const ratio = window.devicePixelRatio
  const size = [Math.ceil(width * ratio), Math.ceil(rows.length * rowHeight * ratio)] as const
  const context = canvas.getContext('2d')
  if (!context) return
  // Setting a canvas's size clears and reallocates it, which costs more than drawing.
  if (canvas.width !== size[0]) canvas.width = size[0]
  if (canvas.height !== size[1]) canvas.height = size[1]
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, rows.length * rowHeight)
  // Commits of lanes without room have their dots at the edge, but no lines along it: one line would connect those of
  // different branches. No other lane is so near to the edge that its line could be taken for theirs.
  const xOf = (lane: number) => {
    const x = LANE_INSET_PX + lane * gap - pan
    if (x < LANE_INSET_PX) return EDGE_INSET_PX
    return x > width - LANE_INSET_PX ? width - EDGE_INSET_PX : x
  }
  const isAtEdge = (x: number) => x === EDGE_INSET_PX || x === width - EDGE_INSET_PX
  const middle = rowHeight / 2
  context.lineWidth = LINE
  for (const [index, row] of [above, ...rows].entries()) {
    const y = (index - 1) * rowHeight + middle
    for (const { from, to, color, isAbandoned } of row?.lines ?? []) {
      const [x, next] = [xOf(from), xOf(to)]
      if (x === next && isAtEdge(x)) continue
      context.strokeStyle = isAbandoned ? palette.lost : (palette.lanes[color] ?? palette.lost)
      context.setLineDash(isAbandoned ? [3, 3] : [])
      context.beginPath()
      context.moveTo(x, y)
      if (x === next) context.lineTo(x, y + rowHeight)
      else context.bezierCurveTo(x, y + 0.7 * rowHeight, next, y + 0.3 * rowHeight, next, y + rowHeight)
      context.stroke()
    }
  }
  context.setLineDash([])
  const scale = Math.min(1, rowHeight / 22)
  for (const [index, row] of rows.entries()) {
    if (!row) continue
    const x = xOf(row.lane)
    const isLost = row.abandoned !== undefined
    const radius = scale * (row.parents.length > 1 || isLost ? MERGE_DOT : DOT)
    context.beginPath()
    context.arc(x, index * rowHeight + middle, radius, 0, 2 * Math.PI)
    context.fillStyle = isLost ? palette.surface : (palette.lanes[row.color] ?? palette.lost)
    context.strokeStyle = isLost ? palette.lost : palette.surface
    context.lineWidth = isLost ? LINE : 2
    context.fill()
    context.stroke()
  }
}
