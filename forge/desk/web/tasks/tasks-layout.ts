/** The layout of a run's tasks: columns by dependencies, with a line from each task to those that wait for it. */
import type { RunTask } from '../../contract/tasks.ts'

/** Sizes in pixels. A task has the widest width with which all columns are in view, and scrolls below the narrowest. */
const NODE = { narrowest: 139, widest: 200, height: 62 }
/** A task that is narrower has room for a second line of its state. */
const ONE_LINE_WIDTH = 178
const STATE_LINE_PX = 16
const GAP = { x: 26, y: 14 }
const EDGE_PX = 16
/** In larger plans all lines are drawn, since finding those that others imply takes too long. */
const MAX_TASKS_WITHOUT_IMPLIED_LINES = 300

export interface Placed {
  task: RunTask
  column: number
  row: number
  left: number
  top: number
}

export interface Line {
  from: string
  to: string
  path: string
  isDone: boolean
}

/** The width and the height of a task, in pixels. */
type Size = { width: number; height: number }

export interface TaskLayout {
  /** The tasks, sorted by column, and in each from the top. */
  nodes: Placed[]
  lines: Line[]
  /** The width of a task. */
  nodeWidth: number
  /** The height of a task. */
  nodeHeight: number
  width: number
  height: number
}

/**
 * Lays out a plan. Its content is untrusted: unknown dependencies and cycles are ignored. `room`: the width of the
 * view, in pixels.
 */
export function layOut(tasks: readonly RunTask[], room = 0): TaskLayout {
  const columns = columnsOf(tasks)
  const rows = rowsOf(tasks, columns)
  const nodeWidth = nodeWidthIn(room, Math.max(0, ...columns.values()) + 1)
  const nodeHeight = NODE.height + (nodeWidth < ONE_LINE_WIDTH ? STATE_LINE_PX : 0)
  const size = { width: nodeWidth, height: nodeHeight }
  const nodes = tasks
    .map(task => placed(task, columns.get(task.id) ?? 0, rows.get(task.id) ?? 0, size))
    .sort((a, b) => a.column - b.column || a.row - b.row)
  const last = (of: (node: Placed) => number) => Math.max(0, ...nodes.map(of))
  return {
    nodes,
    lines: linesOf(nodes, size),
    nodeWidth,
    nodeHeight,
    width: last(({ left }) => left) + nodeWidth + EDGE_PX,
    height: last(({ top }) => top) + nodeHeight + EDGE_PX,
  }
}

function nodeWidthIn(room: number, columns: number): number {
  const free = room - 2 * EDGE_PX - (columns - 1) * GAP.x
  return Math.max(NODE.narrowest, Math.min(NODE.widest, Math.floor(free / columns)))
}

const placed = (task: RunTask, column: number, row: number, { width, height }: Size): Placed => ({
  ...{ task, column, row },
  left: EDGE_PX + column * (width + GAP.x),
  top: EDGE_PX + row * (height + GAP.y),
})

/** Assigns columns: a task is to the right of all its dependencies. */
function columnsOf(tasks: readonly RunTask[]): Map<string, number> {
  const columns = new Map<string, number>()
  const known = new Set(tasks.map(({ id }) => id))
  let left = [...tasks]
  for (let column = 0; left.length > 0; column++) {
    const waits = (task: RunTask) => task.dependsOn.some(id => known.has(id) && !columns.has(id))
    const next = left.filter(task => !waits(task))
    // In a cycle no task comes first: the remaining ones share a column.
    const here = next.length > 0 ? next : left
    for (const { id } of here) columns.set(id, column)
    left = left.filter(({ id }) => !columns.has(id))
  }
  return columns
}

/** Assigns rows: in each column a task is near its dependencies, so that fewer lines cross. */
function rowsOf(tasks: readonly RunTask[], columns: ReadonlyMap<string, number>): Map<string, number> {
  const rows = new Map<string, number>()
  const byColumn = Map.groupBy(tasks, ({ id }) => columns.get(id) ?? 0)
  for (const [, here] of [...byColumn].sort(([a], [b]) => a - b)) {
    const wish = ({ dependsOn }: RunTask) => {
      const before = dependsOn.flatMap(id => rows.get(id) ?? [])
      return before.length > 0 ? before.reduce((sum, row) => sum + row, 0) / before.length : Number.POSITIVE_INFINITY
    }
    const wished = here.map((task, at) => ({ task, at, row: wish(task) }))
    // Equal rows keep the order of the plan.
    wished.sort((a, b) => (a.row === b.row ? a.at - b.at : a.row - b.row))
    for (const [row, { task }] of wished.entries()) rows.set(task.id, row)
  }
  return rows
}

/** A line for each dependency between tasks that does not already follow from other dependencies. */
function linesOf(nodes: readonly Placed[], size: Size): Line[] {
  const byId = new Map(nodes.map(node => [node.task.id, node]))
  const above =
    nodes.length > MAX_TASKS_WITHOUT_IMPLIED_LINES ? new Map<string, Set<string>>() : ancestorsOf(nodes, byId)
  return nodes.flatMap(node => {
    const before = node.task.dependsOn.flatMap(id => byId.get(id) ?? []).filter(({ column }) => column < node.column)
    const isImplied = ({ task }: Placed) => before.some(other => above.get(other.task.id)?.has(task.id))
    return before.filter(from => !isImplied(from)).map(from => lineBetween(from, node, size))
  })
}

/** For each task, all its direct and indirect dependencies. */
function ancestorsOf(nodes: readonly Placed[], byId: ReadonlyMap<string, Placed>): Map<string, Set<string>> {
  const above = new Map<string, Set<string>>()
  // Nodes are ordered by column, so dependencies come first.
  for (const { task, column } of nodes) {
    const all = new Set<string>()
    for (const id of task.dependsOn)
      if ((byId.get(id)?.column ?? column) < column) for (const one of [id, ...(above.get(id) ?? [])]) all.add(one)
    above.set(task.id, all)
  }
  return above
}

function lineBetween(from: Placed, to: Placed, { width, height }: Size): Line {
  const [x1, y1] = [from.left + width, from.top + height / 2]
  const [x2, y2] = [to.left, to.top + height / 2]
  const bend = GAP.x / 2
  // The line curves only in the gap before its last column, and is horizontal until there.
  const path = `M${x1} ${y1}H${x2 - GAP.x}C${x2 - bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`
  return { from: from.task.id, to: to.task.id, path, isDone: from.task.state === 'done' }
}

const STEPS: Record<string, readonly [dx: number, dy: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** The task that an arrow key leads to; undefined if there is none. */
export function neighbour({ nodes }: TaskLayout, id: string | undefined, key: string): string | undefined {
  const at = nodes.find(({ task }) => task.id === id) ?? nodes[0]
  if (!at) return undefined
  if (key === 'Home') return nodes[0]?.task.id
  if (key === 'End') return nodes.at(-1)?.task.id
  const [dx, dy] = STEPS[key] ?? [0, 0]
  if (dx === 0 && dy === 0) return undefined
  const isThere = ({ column, row }: Placed) =>
    dx === 0 ? column === at.column && row === at.row + dy : column === at.column + dx
  const there = nodes.filter(isThere)
  there.sort((a, b) => Math.abs(a.row - at.row) - Math.abs(b.row - at.row))
  return there[0]?.task.id
}
