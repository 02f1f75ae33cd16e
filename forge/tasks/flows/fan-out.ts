/**
 * The sub-agents of one step: steps of the kind artifact, some at a time, each a function in this flow. The flow holds
 * only references and starts a new history before its own gets long, so that a thousand sub-agents work like ten.
 */
import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow'
import type { List, StepInput, SubAgent } from '../contract.ts'
import type { Halt } from '../run/events.ts'
import { added } from '../run/state.ts'
import { batchedOf } from './batched.ts'
import { atOnce } from './effects.ts'
import type { FanOutEnd, FanOutInput, StepEnd, SubAgentEnd } from './ends.ts'
import { Held } from './held.ts'
import { readList } from './lists.ts'
import { AGAIN, journalPlaceOf, MENDED, type StepMeans, step, stepPlaceOf, tellOn } from './step.ts'
import { haltOf } from './troubles.ts'

/**
 * At most this many sub-agents at the same time: the server fails a workflow task during which more than 100 events
 * have come (history.maximumBufferedEventsBatch), and the end of each activity is two.
 */
const MAX_CONCURRENT_AGENTS = 40
/** In batches: at most this many sub-agents run without waiting for a batch, and at most MAX_OUT wait for one. */
const MAX_PREPARED = 40
const MAX_OUT = 1500
/** After this many events in its history, a fan-out in batches begins nothing new; the server ends it at 51,200. */
const MAX_EVENTS_IN_BATCHES = 25_000
/** The parent's summary quotes at most this many characters of a failed sub-agent's text; its artifact has all. */
const MAX_WORDS = 200

/** Runs all sub-agents and gathers their findings. Throws only a cancellation. */
export async function forgeFanOut(input: FanOutInput): Promise<FanOutEnd> {
  const batched = batchedOf(input.parent.task)
  const means: StepMeans = {
    held: new Held(input.isHeld, (isHeld, number) => tellOn(means.fanOuts, isHeld, number)),
    fanOuts: new Set(),
    batched,
  }
  const { held } = means
  const { parent } = input
  const { run } = parent
  const agents = withOwnNames(await readList<SubAgent>(run, input.agents))
  if (!input.ended) await say(parent, 'fan-out', `Asks ${counted(agents)}: ${listed(agents.map(({ id }) => id))}.`)
  const ended = new Map(await readList<[number, SubAgentEnd]>(run, input.ended))
  const waiting = [...agents.entries()].filter(([at]) => !ended.has(at))
  let spent = input.spent
  let running = 0
  let halt: Halt | undefined
  let confused: string | undefined

  async function work(at: number, agent: SubAgent): Promise<void> {
    const name = `${parent.step}/${agent.id}`
    const asked: StepInput = {
      ...parent,
      step: name,
      kind: 'artifact',
      tier: agent.tier,
      choice: 0,
      depth: parent.depth - 1,
      about: [agent.asks],
    }
    try {
      const end = await step(asked, means)
      spent = added(spent, end.spent)
      if (end.halt) halt ??= end.halt
      else if (end.result.outcome === 'confused') confused ??= `Sub-agent ${agent.id}: ${end.result.words}`
      else ended.set(at, await endOf(asked, end))
    } catch (error) {
      // Called even if a halt is known already, since it rethrows a cancellation.
      const next = haltOf(error)
      halt ??= next
    } finally {
      running--
    }
  }

  /**
   * The result of a sub-agent. Where it found nothing, the words of its answer become its artifact, so that the parent
   * gets one artifact for each question.
   */
  async function endOf(asked: StepInput, { result }: Extract<StepEnd, { halt?: undefined }>): Promise<SubAgentEnd> {
    const { outcome, artifact, words } = result
    if (outcome === 'success' && artifact) return { artifact, isGood: true, words: '' }
    const place = { ...stepPlaceOf(asked), kind: 'artifact' }
    const kept = await atOnce.keepWords({ ...place, words: `This sub-agent failed: ${words}` })
    return { artifact: kept, isGood: false, words: words.slice(0, MAX_WORDS) }
  }

  // An unhandled rejection would fail the workflow task again and again, so a cancellation is kept and thrown below.
  let thrown: unknown
  let isThrown = false
  const hasRoom = () =>
    parent.inBatch ? running - batched.out < MAX_PREPARED && batched.out < MAX_OUT : running < MAX_CONCURRENT_AGENTS
  const isOver = () => isThrown || halt !== undefined || confused !== undefined
  for (;;) {
    // In batches, all sub-agents should be sent together, and a new history would first have to wait for their answers:
    // so it is begun only where the history is nearly full.
    const isLong = parent.inBatch
      ? workflowInfo().historyLength > MAX_EVENTS_IN_BATCHES
      : workflowInfo().continueAsNewSuggested
    while (hasRoom() && waiting.length > 0 && !isOver() && !isLong && !held.isHeld) {
      const next = waiting.shift()
      if (!next) break
      running++
      work(...next).catch(error => {
        isThrown = true
        thrown = error
      })
    }
    if (running === 0 && isThrown) throw thrown
    if (running === 0 && (waiting.length === 0 || isOver())) break
    if (running === 0 && isLong) {
      await condition(allHandlersFinished)
      await batched.settled()
      const kept = await atOnce.keepItems({ run, kind: 'ended', items: [...ended] })
      await continueAsNew<typeof forgeFanOut>({ ...input, ended: kept, spent, isHeld: held.isHeld })
    }
    const before = running
    const mayStart = () => hasRoom() && waiting.length > 0 && !held.isHeld && !isLong && !isOver()
    await condition(() => running < before || mayStart())
  }
  await batched.settled()
  if (halt) return { halt, spent }
  if (confused !== undefined) return { confused, spent }
  const inOrder = [...ended].sort(([a], [b]) => a - b).map(([, end]) => end)
  const found: List = await atOnce.keepItems({ run, kind: 'found', items: inOrder.map(({ artifact }) => artifact) })
  const { whole, ...summary } = summaryOf(agents, inOrder)
  const kept = await atOnce.keepWords({ ...stepPlaceOf(parent), kind: 'sub-agents', words: whole })
  return { found, spent, summary: kept, ...summary }
}

const say = (parent: StepInput, what: string, words: string): Promise<void> =>
  atOnce.note({ run: parent.run, lines: [{ ...journalPlaceOf(parent), id: `${parent.step}/${what}`, what, words }] })

/** Makes the ids of sub-agents unique, and different from the names under which the step itself is repeated. */
function withOwnNames(agents: SubAgent[]): SubAgent[] {
  const taken = new Set([AGAIN, MENDED])
  return agents.map(agent => {
    let id = agent.id
    for (let number = 2; taken.has(id); number++) id = `${agent.id}-${number}`
    taken.add(id)
    return { ...agent, id }
  })
}

/** The summary for the model (`whole`), for the journal (`brief`), and for the step's result (`failed`). */
function summaryOf(agents: SubAgent[], ended: SubAgentEnd[]): { whole: string; brief: string; failed: string } {
  const order = `What they found follows in this order: ${agents.map(agent => agent.id).join(', ')}.`
  const failures = agents.flatMap(({ id }, at) => (ended[at]?.isGood ? [] : [{ id, words: ended[at]?.words ?? '' }]))
  if (failures.length === 0) {
    const brief = `All ${agents.length} sub-agents have answered.`
    return { whole: `${brief} ${order}`, brief, failed: '' }
  }
  const count = `${failures.length} of ${agents.length} sub-agents failed`
  const each = failures.map(({ id, words }) => `- ${id}: ${words}`)
  return {
    whole: `${count}; in the place of what they should have found stands why:\n${each.join('\n')}\n${order}`,
    brief: `${count}: ${listed(failures.map(({ id }) => id))}.`,
    failed: ` (${count})`,
  }
}

const counted = (agents: SubAgent[]): string => `${agents.length} sub-agent${agents.length === 1 ? '' : 's'}`

/** Lists the first ids, and counts the rest. */
const listed = (ids: string[]): string =>
  ids.length > 8 ? `${ids.slice(0, 7).join(', ')} and ${ids.length - 7} more` : ids.join(', ')
