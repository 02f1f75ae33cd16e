/**
 * The universal step: construct, send, receive, serialize, transition. All kinds of work use it. It is a function in
 * the flow that needs it. Only a step that wants to find out more gets sub-agents in a separate flow, if its depth
 * permits, and is asked again with their findings.
 */

import { type ChildWorkflowHandle, startChild, workflowInfo } from '@temporalio/workflow'
import type { List, Received, Reference, Spent, StepInput, StepPlace } from '../contract.ts'
import { added, NOTHING_SPENT } from '../run/state.ts'
import type { Batched } from './batched.ts'
import { atOnce, sending, slow } from './effects.ts'
import type { FanOutEnd, FanOutFlow, StepEnd } from './ends.ts'
import { type Holding, hold } from './held.ts'
import { failureOf } from './troubles.ts'

/**
 * What a step needs of its flow. `fanOuts`: the flows of sub-agents under way. `batched`: sends requests in batches;
 * without it, every request is sent singly.
 */
export type StepMeans = { held: Holding; fanOuts: Set<ChildWorkflowHandle<FanOutFlow>>; batched?: Batched }

/**
 * The suffixes of the ids of further requests of a step: after its sub-agents' findings, after a faulty answer, and
 * about an answer whose signal is unknown.
 */
export const [AGAIN, MENDED, SIGNAL] = ['again', 'mended', 'signal']

/**
 * Runs a step: asks a model. If it wants sub-agents, runs these and asks again with their findings. Each of these two
 * requests is repeated once after a faulty answer. Throws only a cancellation.
 */
export async function step(input: StepInput, means: StepMeans): Promise<StepEnd> {
  const first = await askOrMend(input, means)
  if (first.halt || first.result.outcome !== 'success' || !first.result.fanOut?.count) return first
  try {
    await means.held.mayGoOn()
    return await withSubAgents(input, means, first.result.fanOut, first.spent)
  } catch (error) {
    return stepEndOf(error, first.spent)
  }
}

/**
 * Asks the model, and once more with the reason where the answer can't be read or its edits can't be applied, on the
 * original commit. This does not use up an attempt of the task: only a failure of checks does.
 */
async function askOrMend(input: StepInput, means: StepMeans): Promise<StepEnd> {
  const first = await ask(input, means)
  if (first.halt || first.result.outcome !== 'failure_retryable' || !first.result.evidence) return first
  const about = [...input.about, first.result.evidence]
  const again = await ask({ ...input, step: `${input.step}/${MENDED}`, about }, means)
  const spent = added(first.spent, again.spent)
  return again.halt ? { halt: again.halt, spent } : { result: { ...again.result, spent }, spent }
}

/** Runs the five activities of a step. */
async function ask(input: StepInput, means: StepMeans): Promise<StepEnd> {
  const { batched } = means
  const place = stepPlaceOf(input)
  let spent = NOTHING_SPENT
  try {
    const constructed = await slow.construct(input)
    const asked = { ...place, ...constructed }
    const sent = input.inBatch && batched ? await batched.send(asked) : await sending.send(asked)
    spent = sent.spent
    const read = await atOnce.receive({ ...place, kind: input.kind, answer: sent.answer })
    const { received, spent: more } = read.unclear
      ? await classified(input, means, read, sent.answer)
      : { received: read }
    if (more) spent = added(spent, more)
    const { parsed } = received
    const serialized =
      parsed && (await atOnce.serialize({ ...place, kind: input.kind, base: input.base, key: constructed.key, parsed }))
    const result = await atOnce.transition({ ...input, received, sent, serialized })
    return { result, spent }
  } catch (error) {
    return stepEndOf(error, spent)
  }
}

/**
 * Asks a model of the classification tier which signal an answer meant whose own one is unknown, and reads the answer
 * with that. Where it can't be told or asked, the answer stays unreadable, which stops the run.
 */
async function classified(
  input: StepInput,
  means: StepMeans,
  received: Received,
  answer: Reference,
): Promise<{ received: Received; spent: Spent }> {
  const { unclear, ...unread } = received
  if (!unclear) return { received, spent: NOTHING_SPENT }
  const place = { ...input, step: `${input.step}/${SIGNAL}`, choice: 0, depth: 0, inBatch: false, about: [unclear] }
  const end = await ask({ ...place, kind: 'classify', tier: 'classification' }, means)
  const meant = end.halt ? undefined : end.result.meant
  if (!meant) return { received: unread, spent: end.spent }
  const again = await atOnce.receive({ ...stepPlaceOf(input), kind: input.kind, answer, meant })
  return { received: again, spent: end.spent }
}

/** Runs the sub-agents, or says that no level is left for them, and asks again. */
async function withSubAgents(input: StepInput, means: StepMeans, agents: List, spent: Spent): Promise<StepEnd> {
  if (input.depth <= 0) {
    const words = 'There are no more levels of sub-agents for this step: do it with what is here.'
    const told = await atOnce.keepWords({ ...stepPlaceOf(input), kind: 'no more levels', words })
    return askAgain(input, means, { spent, about: [told] })
  }
  const found = await fanOut(input, means, agents)
  const all = added(spent, found.spent)
  if ('halt' in found) return { halt: found.halt, spent: all }
  if ('confused' in found) return { result: { outcome: 'confused', words: found.confused, spent: all }, spent: all }
  await means.held.mayGoOn()
  const line = { ...journalPlaceOf(input), id: `${input.step}/gathered`, what: 'gathered', words: found.brief }
  await atOnce.note({ run: input.run, lines: [line] })
  return askAgain(input, means, { spent: all, about: [found.summary, found.found], failed: found.failed })
}

async function fanOut(input: StepInput, { held, fanOuts }: StepMeans, agents: List): Promise<FanOutEnd> {
  // The colon keeps this id apart from those of sub-agents, which have none.
  const workflowId = `${idOfRun(input)}/${input.step}:fan-out`
  const args: Parameters<FanOutFlow> = [
    { parent: { ...input, about: [] }, agents, spent: NOTHING_SPENT, isHeld: held.isHeld },
  ]
  const child = await startChild<FanOutFlow>('forgeFanOut', { workflowId, args })
  fanOuts.add(child)
  try {
    return await child.result()
  } finally {
    fanOuts.delete(child)
  }
}

/**
 * Tells the flows of sub-agents whether they are held (start nothing new). A flow that has ended can't be told: that
 * error is ignored.
 */
export function tellOn(fanOuts: StepMeans['fanOuts'], isHeld: boolean, number: number): void {
  for (const child of fanOuts) child.signal(hold, isHeld, number).catch(() => undefined)
}

/** Asks again with these texts, once: a step that still wants sub-agents has failed. */
async function askAgain(
  input: StepInput,
  means: StepMeans,
  { spent, about, failed = '' }: { spent: Spent; about: Reference[]; failed?: string },
): Promise<StepEnd> {
  const next = { ...input, step: `${input.step}/${AGAIN}`, depth: 0, about: [...input.about, ...about] }
  const again = await askOrMend(next, means)
  const all = added(spent, again.spent)
  if (again.halt) return { halt: again.halt, spent: all }
  const { fanOut: more, ...result } = again.result
  if (result.outcome === 'success' && more?.count) {
    const words = 'It asks for sub-agents where there are no more levels of them.'
    return { result: { outcome: 'failure_retryable', words, spent: all }, spent: all }
  }
  return { result: { ...result, words: `${result.words}${failed}`, spent: all }, spent: all }
}

function stepEndOf(error: unknown, spent: Spent): StepEnd {
  const trouble = failureOf(error)
  if ('halt' in trouble) return { halt: trouble.halt, spent }
  return { result: { outcome: 'failure_retryable', words: trouble.words, spent }, spent }
}

/** The id of the run's own workflow: the ids of the workflows that it starts begin with it. */
function idOfRun({ task, step: own }: StepInput): string {
  const { workflowId } = workflowInfo()
  const suffixes = [...(task === undefined ? [] : [`/${task}`]), `/${own.slice(0, own.lastIndexOf('/'))}:fan-out`]
  const suffix = suffixes.find(it => workflowId.endsWith(it))
  return suffix === undefined ? workflowId : workflowId.slice(0, -suffix.length)
}

export const stepPlaceOf = ({ run, task, attempt, step }: StepInput): StepPlace => ({
  run,
  attempt,
  step,
  task,
})

export const journalPlaceOf = ({ run, task, attempt }: StepInput) => ({
  run,
  attempt,
  task,
})
