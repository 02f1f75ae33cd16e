/** Finds tasks that may run at the same time and write the same file. */
import type { TaskId } from '../contract.ts'
import { commonPath, fits, type Glob, isCovered, isLiteral, plain, readGlob } from './globs.ts'
import type { TaskGraph } from './graph.ts'
import type { Task } from './schema.ts'

/** At most this many pairs are reported. */
const MAX_PAIRS = 20

const quote = (text: string): string => `"${text}"`

type Owned = { glob: Glob; text: string; prefix: string; isLiteral: boolean; owners: Task[] }
type Overlap = { one: Task; other: Task; globs: [string, string]; path: string }

/**
 * Complaints about tasks that may run at the same time and write the same file, even one that does not exist yet.
 * `isOver`: a task that writes nothing any more.
 */
export function* overlaps(
  tasks: readonly Task[],
  graph: TaskGraph,
  isOver: (id: TaskId) => boolean,
): Generator<string> {
  const places = new Map(tasks.map((task, at) => [task, at]))
  const placeOf = (task: Task): number => places.get(task) ?? 0
  const found = new Map<string, Overlap>()
  for (const [one, other] of rivals(tasks)) {
    for (const it of between(one, other, graph, (a, b) => !isOver(a) && !isOver(b))) {
      const isTurned = placeOf(it.other) < placeOf(it.one)
      const inOrder: Overlap = isTurned
        ? { ...it, one: it.other, other: it.one, globs: [it.globs[1], it.globs[0]] }
        : it
      const key = `${placeOf(inOrder.one)} ${placeOf(inOrder.other)}`
      if (!found.has(key)) found.set(key, inOrder)
      if (found.size > MAX_PAIRS) break
    }
    if (found.size > MAX_PAIRS) break
  }
  const sorted = [...found.values()].sort(
    (a, b) => placeOf(a.one) - placeOf(b.one) || placeOf(a.other) - placeOf(b.other),
  )
  for (const { one, other, globs, path } of sorted.slice(0, MAX_PAIRS)) {
    const sides = [...new Set(globs)].map(quote).join(' and ')
    yield `The tasks ${quote(one.id)} and ${quote(other.id)} may both write ${quote(path)} (${sides}), and neither waits for the other: add one of them to the other's depends_on, or make boundaries.write smaller.`
  }
  if (found.size > MAX_PAIRS) yield 'Further tasks without a path between them may write the same files.'
}

/**
 * For each open task, the done tasks that may have written the same files and are not among its dependencies: the open
 * task has to begin with their results, too.
 */
export function heritage(
  tasks: readonly Task[],
  graph: TaskGraph,
  { isDone, isOpen }: { isDone: (id: TaskId) => boolean; isOpen: (id: TaskId) => boolean },
): Map<TaskId, TaskId[]> {
  const found = new Map<TaskId, TaskId[]>()
  const isHeir = (a: TaskId, b: TaskId) => (isDone(a) && isOpen(b)) || (isDone(b) && isOpen(a))
  for (const [one, other] of rivals(tasks)) {
    for (const pair of between(one, other, graph, isHeir)) {
      const [before, heir] = isDone(pair.one.id) ? [pair.one.id, pair.other.id] : [pair.other.id, pair.one.id]
      const known = found.get(heir) ?? []
      if (!known.includes(before)) found.set(heir, [...known, before])
    }
  }
  return found
}

/**
 * Pairs of tasks, one of which satisfies `isMeant`, that may write the same file and are not ordered; each pair once.
 */
export function overlapping(
  tasks: readonly Task[],
  graph: TaskGraph,
  isMeant: (id: TaskId) => boolean,
): [TaskId, TaskId][] {
  const found = new Map<string, [TaskId, TaskId]>()
  for (const [one, other] of rivals(tasks)) {
    for (const pair of between(one, other, graph, (a, b) => isMeant(a) || isMeant(b))) {
      const ids: [TaskId, TaskId] = [pair.one.id, pair.other.id]
      found.set(ids.toSorted().join(' '), ids)
    }
  }
  return [...found.values()]
}

/** Pairs of globs that may match the same file, by their prefixes; a glob of several tasks is paired with itself. */
function* rivals(tasks: readonly Task[]): Generator<[Owned, Owned]> {
  const byText = new Map<string, Owned>()
  for (const task of tasks) {
    for (const text of new Set(task.boundaries.write.map(plain))) {
      const known = byText.get(text)
      const glob = known?.glob ?? readGlob(text)
      if (typeof glob === 'string') continue
      if (known) known.owners.push(task)
      else byText.set(text, { glob, text, prefix: prefixOf(text), isLiteral: isLiteral(text), owners: [task] })
    }
  }
  // Sorted by prefix, so that globs stand behind those with a shorter prefix; with equal ones, plain paths come after
  // patterns.
  const all = [...byText.values()].sort((a, b) =>
    a.prefix < b.prefix ? -1 : a.prefix > b.prefix ? 1 : Number(a.isLiteral) - Number(b.isLiteral),
  )
  for (const [at, one] of all.entries()) {
    if (one.owners.length > 1) yield [one, one]
    if (one.isLiteral) continue
    for (let next = at + 1; all[next]?.prefix.startsWith(one.prefix); next++) yield [one, all[next] as Owned]
  }
}

function* between(
  one: Owned,
  other: Owned,
  graph: TaskGraph,
  areMeant: (one: TaskId, other: TaskId) => boolean,
): Generator<Overlap> {
  let path: string | undefined
  for (const a of one.owners) {
    for (const b of other.owners) {
      if (a.id === b.id || !areMeant(a.id, b.id) || graph.areOrdered(a.id, b.id)) continue
      if (isForbidden(b, one.glob) || isForbidden(a, other.glob)) continue
      path ??= one.isLiteral ? one.text : commonPath(one.glob, other.glob)
      if (path === undefined) return
      if (!isForbidden(a, path) && !isForbidden(b, path))
        yield { one: a, other: b, globs: [one.text, other.text], path }
    }
  }
}

/** The prefix of everything that a glob matches. */
const prefixOf = (text: string): string => text.slice(0, /[*?[{]|\/$|$/.exec(text)?.index ?? 0)

/** Whether the task's `never` forbids it to write a path, or any path that a glob matches. */
const isForbidden = ({ boundaries }: Task, what: Glob | string): boolean => {
  if (boundaries.never.length === 0) return false
  const never = boundaries.never.map(readGlob).filter(glob => typeof glob !== 'string')
  return typeof what === 'string' ? never.some(glob => fits(glob, what)) : isCovered(what, never)
}
