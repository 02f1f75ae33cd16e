/** The differences between two plans as sentences: for the user who approves the second one, and for the journal. */
import { visible } from '../../../core/text.ts'
import type { Assertion, Plan, Task } from './schema.ts'

/** At most this many characters of a text are quoted. */
const MAX_QUOTED = 120

/** A sentence for each difference, in the order of the second plan; empty where there is none. */
export function planChanges(before: Plan, after: Plan): string[] {
  return [...assertions(before, after), ...tasks(before, after)].map(visible)
}

function* assertions(before: Plan, after: Plan): Generator<string> {
  const known = new Map(before.contract.map(it => [it.id, it]))
  for (const assertion of after.contract) {
    const { id, says } = assertion
    const old = known.get(id)
    known.delete(id)
    if (!old) yield `The contract has ${id} besides: ${quote(says)}.`
    else {
      if (old.says !== says) yield `${id} says: ${quote(says)}.`
      if (shownBy(old) !== shownBy(assertion)) yield `${id} is shown by ${shownBy(assertion)}.`
    }
  }
  if (known.size > 0) yield `The contract is without ${[...known.keys()].join(', ')}.`
}

const shownBy = ({ how }: Assertion): string =>
  how.kind === 'command' ? quote(how.command) : `a review: ${quote(how.question)}`

function* tasks(before: Plan, after: Plan): Generator<string> {
  const known = new Map(before.tasks.map(it => [it.id, it]))
  for (const task of after.tasks) {
    const old = known.get(task.id)
    known.delete(task.id)
    if (old) yield* changesOfTask(old, task)
    else yield `${task.id} is new: ${quote(task.title)}.`
  }
  for (const id of known.keys()) yield `${id} is taken out.`
}

function* changesOfTask(before: Task, after: Task): Generator<string> {
  const { id } = after
  yield* lists(before.boundaries.write, after.boundaries.write, {
    more: files => `${id} may write ${files}.`,
    less: files => `${id} may no longer write ${files}.`,
  })
  yield* lists(before.boundaries.never, after.boundaries.never, {
    more: files => `${id} must not touch ${files}.`,
    less: files => `${id} may touch ${files} again.`,
  })
  yield* lists(filesOf(before), filesOf(after), {
    more: files => `${id} is given ${files}.`,
    less: files => `${id} is no longer given ${files}.`,
  })
  yield* lists(before.depends_on, after.depends_on, {
    more: others => `${id} waits for ${others}.`,
    less: others => `${id} no longer waits for ${others}.`,
  })
  yield* lists(before.claims, after.claims, {
    more: claims => `${id} claims ${claims}.`,
    less: claims => `${id} no longer claims ${claims}.`,
  })
  yield* lists(checksOf(before), checksOf(after), {
    more: checks => `${id} is checked by ${checks}.`,
    less: checks => `${id} is no longer checked by ${checks}.`,
  })
  yield* lists(before.validation.reviews.map(quote), after.validation.reviews.map(quote), {
    more: questions => `${id} is reviewed: ${questions}.`,
    less: questions => `${id} is no longer reviewed: ${questions}.`,
  })
  if (before.tier !== after.tier) yield `${id} is for the tier ${after.tier}, instead of ${before.tier}.`
  if (before.size !== after.size) yield `${id} is ${after.size}, instead of ${before.size}.`
  if (before.recursion !== after.recursion)
    yield `${id} may ask ${after.recursion} levels of sub-agents, instead of ${before.recursion}.`
  if (before.title !== after.title) yield `${id} is called ${quote(after.title)}.`
  if (!Bun.deepEquals(before.objective, after.objective)) yield `${id} has another objective.`
}

const filesOf = ({ context }: Task): string[] => [...context.files, ...context.tests, ...context.documents]

const checksOf = ({ validation }: Task): string[] =>
  validation.checks.map(it => (typeof it === 'string' ? it : quote(it.command)))

/** What was added to a list, and what was removed. */
function* lists(
  before: readonly string[],
  after: readonly string[],
  { more, less }: Record<'more' | 'less', (items: string) => string>,
): Generator<string> {
  const added = after.filter(it => !before.includes(it))
  const gone = before.filter(it => !after.includes(it))
  if (added.length > 0) yield more(added.join(', '))
  if (gone.length > 0) yield less(gone.join(', '))
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MAX_QUOTED ? `"${line.slice(0, MAX_QUOTED).toWellFormed()} …"` : `"${line}"`
}
