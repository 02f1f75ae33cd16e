/**
 * The universal step: construct, send, receive, serialize, transition. All kinds of work are this. One that wants to
 * know more before it is done gets sub-agents, if its depth permits, and is asked again with what they found.
 */
import type { Reference, Spent, StepInput, StepPlace, SubAgent } from '../contract.ts'
import { Children, idOfRun } from './children.ts'
import { afterAnswer, sending, short } from './effects.ts'
import { added, type FanOutEnd, type FanOutFlow, NOTHING, type StepEnd } from './ends.ts'
import { troubleOf } from './troubles.ts'

/** Words of one failed sub-agent in its parent's summary; all of them stand in its artifact. */
const MOST_WORDS = 200

/** Asks a model once, or once more where it wanted sub-agents. Throws nothing but a cancellation. */
export async function step(input: StepInput): Promise<StepEnd> {
  const children = new Children()
  const first = await ask(input)
  if (first.halt || first.result.outcome !== 'success' || !first.result.fanOut?.length) return first
  try {
    await children.mayGoOn()
    return await withSubAgents(input, children, first.result.fanOut, first.spent)
  } catch (error) {
    return endOf(error, first.spent)
  }
}

/** The five activities. */
async function ask(input: StepInput): Promise<StepEnd> {
  const place = placeOf(input)
  let spent = NOTHING
  try {
    const constructed = await short.construct(input)
    const sent = await sending.send({ ...place, ...constructed })
    spent = sent.spent
    const after = afterAnswer(input.endsAtOnce)
    const received = await after.receive({ ...place, kind: input.kind, answer: sent.answer })
    const { parsed } = received
    const serialized =
      parsed && (await after.serialize({ ...place, kind: input.kind, base: input.base, key: constructed.key, parsed }))
    const result = await after.transition({ ...input, received, sent, ...(serialized && { serialized }) })
    return { result, spent }
  } catch (error) {
    return endOf(error, spent)
  }
}

/** Lets the sub-agents work, or says that there is no level for them, and asks again. */
async function withSubAgents(input: StepInput, children: Children, agents: SubAgent[], spent: Spent): Promise<StepEnd> {
  if (input.depth <= 0) {
    const words = 'There are no more levels of sub-agents for this step: do it with what is here.'
    return askAgain(input, spent, [await keep(input, 'no more levels', words)])
  }
  const named = withOwnNames(agents)
  await short.note({
    ...lineOf(input),
    id: `${input.step}/fan-out`,
    what: 'fan-out',
    words: `Asks ${counted(named.length, 'sub-agent')}: ${listed(named.map(agent => agent.id))}.`,
  })
  // No sub-agent's id has a colon in it.
  const workflowId = `${idOfRun(input.step)}/${input.step}:fan-out`
  const found: FanOutEnd = await children.run<FanOutFlow>('fanOut', workflowId, {
    parent: { ...input, about: [] },
    agents: named,
    ended: [],
    spent: NOTHING,
    isHeld: children.isHeld,
  })
  const all = added(spent, found.spent)
  if (found.halt) return { halt: found.halt, spent: all }
  if (found.confused !== undefined) {
    return { result: { outcome: 'confused', words: found.confused, spent: all }, spent: all }
  }
  await children.mayGoOn()
  const words = summaryOf(named, found)
  await short.note({ ...lineOf(input), id: `${input.step}/gathered`, what: 'gathered', words: words.brief })
  const summary = await keep(input, 'sub-agents', words.whole)
  return askAgain(input, all, [summary, ...found.ended.map(end => end.artifact)], words.failed)
}

/** Asks again with that. A step is asked again once: who still wants sub-agents has failed. */
async function askAgain(input: StepInput, spent: Spent, about: Reference[], failed = ''): Promise<StepEnd> {
  const again = await ask({ ...input, step: `${input.step}/again`, depth: 0, about: [...input.about, ...about] })
  const all = added(spent, again.spent)
  if (again.halt) return { halt: again.halt, spent: all }
  const { fanOut, ...result } = again.result
  if (result.outcome === 'success' && fanOut?.length) {
    const words = 'It asks for sub-agents where there are no more levels of them.'
    return { result: { outcome: 'failure_retryable', words, spent: all }, spent: all }
  }
  return { result: { ...result, words: `${result.words}${failed}`, spent: all }, spent: all }
}

/** Ids that differ from each other, and from 'again', by which the step itself goes on. */
function withOwnNames(agents: SubAgent[]): SubAgent[] {
  const taken = new Set(['again'])
  return agents.map(agent => {
    let id = agent.id
    for (let number = 2; taken.has(id); number++) id = `${agent.id}-${number}`
    taken.add(id)
    return { ...agent, id }
  })
}

/** For the model, for the journal, and for what the step says in the end. */
function summaryOf(agents: SubAgent[], { ended }: FanOutEnd): { whole: string; brief: string; failed: string } {
  const order = `What they found follows in this order: ${agents.map(agent => agent.id).join(', ')}.`
  const failures = agents.flatMap(({ id }, at) => (ended[at]?.isGood ? [] : [{ id, words: ended[at]?.words ?? '' }]))
  if (failures.length === 0) {
    const brief = `All ${agents.length} sub-agents have answered.`
    return { whole: `${brief} ${order}`, brief, failed: '' }
  }
  const count = `${failures.length} of ${agents.length} sub-agents failed`
  const each = failures.map(({ id, words }) => `- ${id}: ${words.slice(0, MOST_WORDS)}`)
  return {
    whole: `${count}; in the place of what they should have found stands why:\n${each.join('\n')}\n${order}`,
    brief: `${count}: ${listed(failures.map(({ id }) => id))}.`,
    failed: ` (${count})`,
  }
}

function endOf(error: unknown, spent: Spent): StepEnd {
  const trouble = troubleOf(error)
  if ('halt' in trouble) return { halt: trouble.halt, spent }
  return { result: { outcome: 'failure_retryable', words: trouble.words, spent }, spent }
}

const keep = (input: StepInput, kind: string, words: string): Promise<Reference> =>
  short.keepWords({ ...placeOf(input), kind, words })

const placeOf = ({ run, task, attempt, step }: StepInput): StepPlace => ({
  run,
  attempt,
  step,
  ...(task !== undefined && { task }),
})

const lineOf = ({ run, task, attempt }: StepInput) => ({ run, attempt, ...(task !== undefined && { task }) })

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

/** The first few of them by name. */
const listed = (ids: string[]): string =>
  ids.length > 8 ? `${ids.slice(0, 7).join(', ')} and ${ids.length - 7} more` : ids.join(', ')
