/** The graph of a plan's tasks: cycles, order, and which task outputs which file. */
import type { TaskId } from '../contract.ts'
import { plain } from './globs.ts'
import type { Task } from './schema.ts'

export type TaskGraph = {
  /** Cycles: each task waits for the next, and the last one for the first. */
  rings: TaskId[][]
  /** All dependencies of a task, direct and indirect. */
  before: (id: TaskId) => TaskId[]
  /** Whether one of two tasks waits for the other. */
  areOrdered: (one: TaskId, other: TaskId) => boolean
  /** All output files of tasks, without leading `./`. */
  outputs: ReadonlySet<string>
  outputsOf: (id: TaskId) => string[]
  makersOf: (path: string) => TaskId[]
  /** The tasks by level: a task is one level after the last level of its dependencies. */
  levels: TaskId[][]
}

const MAX_RINGS = 5

/** Builds the graph of any plan, even of an invalid one: unknown ids and closing edges of cycles are ignored. */
export function graphOf(tasks: readonly Task[]): TaskGraph {
  const places = new Map(tasks.map(({ id }, at) => [id, at]))
  const direct = tasks.map(({ depends_on }) => [...new Set(depends_on.flatMap(id => places.get(id) ?? []))])
  const { rings, sets, levels } = walk(direct)
  const idAt = (at: number): TaskId => tasks[at]?.id ?? ''
  const placeOf = (id: TaskId): number => places.get(id) ?? -1
  const makers = new Map<string, TaskId[]>()
  const outputsOf = (task: Task | undefined): string[] => task?.objective.outputs.map(path => plain(path)) ?? []
  for (const task of tasks) for (const path of outputsOf(task)) makers.set(path, [...(makers.get(path) ?? []), task.id])
  const byLevel: TaskId[][] = []
  for (const [at, level] of levels.entries()) {
    const ids = byLevel[level] ?? []
    byLevel[level] = ids
    ids.push(idAt(at))
  }
  return {
    rings: rings.slice(0, MAX_RINGS).map(ring => ring.map(idAt)),
    before: id => tasks.flatMap((task, at) => (has(sets[placeOf(id)], at) ? [task.id] : [])),
    areOrdered: (one, other) => has(sets[placeOf(one)], placeOf(other)) || has(sets[placeOf(other)], placeOf(one)),
    outputs: new Set(makers.keys()),
    outputsOf: id => outputsOf(tasks[placeOf(id)]),
    makersOf: path => makers.get(path) ?? [],
    levels: byLevel,
  }
}

/** A bit set of tasks. */
type Bits = Uint32Array
const has = (bits: Bits | undefined, at: number): boolean =>
  bits !== undefined && at >= 0 && ((bits[at >>> 5] ?? 0) & (1 << (at & 31))) !== 0

/**
 * Finds cycles, all dependencies, and levels, by a depth-first search without recursion, since chains of a thousand
 * tasks occur.
 */
function walk(direct: readonly (readonly number[])[]): { rings: number[][]; sets: Bits[]; levels: number[] } {
  const count = direct.length
  const sets = direct.map(() => new Uint32Array(Math.ceil(count / 32)))
  const levels = new Array<number>(count).fill(0)
  const state = new Uint8Array(count)
  const rings: number[][] = []
  const [NEW, OPEN, DONE] = [0, 1, 2]
  for (const start of direct.keys()) {
    if (state[start] !== NEW) continue
    const path: { at: number; next: number }[] = [{ at: start, next: 0 }]
    state[start] = OPEN
    while (path.length > 0) {
      const here = path[path.length - 1] as { at: number; next: number }
      const to = direct[here.at]?.[here.next++]
      if (to === undefined) {
        state[here.at] = DONE
        path.pop()
        continue
      }
      if (state[to] === NEW) {
        state[to] = OPEN
        path.push({ at: to, next: 0 })
        // Visit this edge again when the task at its end is done.
        here.next--
        continue
      }
      if (state[to] === OPEN) {
        rings.push(path.slice(path.findIndex(({ at }) => at === to)).map(({ at }) => at))
        continue
      }
      const [mine, its] = [sets[here.at], sets[to]]
      if (mine && its) {
        for (let word = 0; word < mine.length; word++) mine[word] = (mine[word] ?? 0) | (its[word] ?? 0)
        mine[to >>> 5] = (mine[to >>> 5] ?? 0) | (1 << (to & 31))
      }
      levels[here.at] = Math.max(levels[here.at] ?? 0, (levels[to] ?? 0) + 1)
    }
  }
  return { rings, sets, levels }
}
