/**
 * Changes a plan by an answer of the user: files that a task may write or read in addition. What the linter would
 * complain about then (e.g. the order of tasks) is put right as well, so that one action is enough.
 */
import { visible } from '../../../core/text.ts'
import type { TaskId } from '../contract.ts'
import { graphOf } from './graph.ts'
import { overlapping } from './overlaps.ts'
import type { Plan, Task } from './schema.ts'

type Amendment = {
  task: TaskId
  /** Globs that the task may write in addition. */
  mayWrite: readonly string[]
  /** Files whose content the task is shown in addition. */
  with: readonly string[]
}

/** The changed plan, and a sentence for each change that was necessary besides the requested one. */
type Amended = { plan: Plan; notes: string[] }

/** Changes a plan. `isFixed`: tasks that are done or under way, which get no new dependencies. */
export function amend(
  plan: Plan,
  { task, mayWrite, with: files }: Amendment,
  isFixed: (id: TaskId) => boolean,
): Amended {
  const notes: string[] = []
  const tasks = plan.tasks.map(it => (it.id === task ? amended(it, mayWrite, files, notes) : it))
  // Of two tasks that may write the same file, one has to wait for the other.
  for (const [one, other] of overlapping(tasks, graphOf(tasks), id => id === task)) {
    const graph = graphOf(tasks)
    if (graph.areOrdered(one, other)) continue
    const sibling = one === task ? other : one
    const [before, after] = isFixed(sibling) ? [sibling, task] : [task, sibling]
    const at = tasks.findIndex(({ id }) => id === after)
    const late = tasks[at]
    if (!late) continue
    tasks[at] = { ...late, depends_on: [...late.depends_on, before] }
    notes.push(visible(`${after} waits for ${before} from now on, as both may write the same files.`))
  }
  return { plan: { ...plan, tasks }, notes }
}

function amended(task: Task, mayWrite: readonly string[], files: readonly string[], notes: string[]): Task {
  const write = mayWrite.filter(glob => !task.boundaries.write.includes(glob))
  // A task without known boundaries may write anything already.
  const isAlone = task.boundaries.write.length === 0
  const context = files.filter(path => !task.context.files.includes(path))
  if (write.length > 0 && !isAlone) notes.push(visible(`${task.id} may write ${write.join(', ')}.`))
  if (context.length > 0) notes.push(visible(`${task.id} is given ${context.join(', ')}.`))
  const never = task.boundaries.never.filter(glob => !mayWrite.includes(glob))
  return {
    ...task,
    boundaries: { write: isAlone ? [] : [...task.boundaries.write, ...write], never },
    context: { ...task.context, files: [...task.context.files, ...context] },
  }
}
