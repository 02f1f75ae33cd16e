/** The order of tasks: which goes first, and whether waiting would be circular. */
import type { TaskId } from '../contract.ts'

/** A task and the tasks that it waits for: its dependencies in the plan, and those that attempts have found out. */
export type TaskNode = { id: TaskId; waitsFor: TaskId[] }

/** The length of the longest chain of dependents from each task on, itself included. */
export function rowLengths(nodes: TaskNode[]): Map<TaskId, number> {
  const followers = new Map<TaskId, TaskId[]>(nodes.map(node => [node.id, []]))
  for (const node of nodes) for (const id of node.waitsFor) followers.get(id)?.push(node.id)
  const open = new Map(nodes.map(node => [node.id, followers.get(node.id)?.length ?? 0]))
  const rows = new Map<TaskId, number>(nodes.map(node => [node.id, 1]))
  const waitsFor = new Map(nodes.map(node => [node.id, node.waitsFor]))
  const ready = nodes.map(node => node.id).filter(id => open.get(id) === 0)
  // Goes from the last tasks backwards. A task in a cycle, or one that a task in a cycle waits for, is never reached:
  // the length of its longest chain may be too small.
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const before of waitsFor.get(id) ?? []) {
      if (!rows.has(before)) continue
      rows.set(before, Math.max(rows.get(before) ?? 1, (rows.get(id) ?? 1) + 1))
      const left = (open.get(before) ?? 0) - 1
      open.set(before, left)
      if (left === 0) ready.push(before)
    }
  }
  return rows
}

/** The path from one task to another along dependencies, both included; undefined where there is none. */
export function wayBetween(nodes: TaskNode[], from: TaskId, to: TaskId): TaskId[] | undefined {
  const waitsFor = new Map(nodes.map(node => [node.id, node.waitsFor]))
  const cameFrom = new Map<TaskId, TaskId | undefined>([[from, undefined]])
  const open = [from]
  for (let id = open.shift(); id !== undefined; id = open.shift()) {
    if (id === to) break
    for (const next of waitsFor.get(id) ?? []) {
      if (cameFrom.has(next)) continue
      cameFrom.set(next, id)
      open.push(next)
    }
  }
  if (!cameFrom.has(to)) return undefined
  const way: TaskId[] = []
  for (let id: TaskId | undefined = to; id !== undefined; id = cameFrom.get(id)) way.unshift(id)
  return way
}
