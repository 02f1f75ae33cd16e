/**
 * Sub-agents of one step: steps of kind artifact, some at a time. It holds references alone, and goes on with a new
 * history before the one it has is long, so that a thousand are no more trouble than ten.
 */
import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow'
import type { SubAgent } from '../contract.ts'
import { Children, idOfRun } from './children.ts'
import { short } from './effects.ts'
import {
  added,
  type FanOutEnd,
  type FanOutInput,
  type Halt,
  type StepEnd,
  type StepFlow,
  type SubAgentEnd,
} from './ends.ts'
import { haltOf } from './troubles.ts'

/** Sub-agents at the same time; the server's own bound is 2,000 that have not ended. */
const AT_MOST = 50

/** Lets all sub-agents work and gathers what they found. Throws nothing but a cancellation. */
export async function fanOut(input: FanOutInput): Promise<FanOutEnd> {
  const children = new Children(input.isHeld)
  const { parent, agents } = input
  const root = idOfRun(`${parent.step}:fan-out`)
  const ended = new Map(input.ended)
  const waiting = [...agents.entries()].filter(([at]) => !ended.has(at))
  let spent = input.spent
  let running = 0
  let halt: Halt | undefined
  let confused: string | undefined

  async function work(at: number, agent: SubAgent): Promise<void> {
    const step = `${parent.step}/${agent.id}`
    try {
      const end = await children.run<StepFlow>('step', `${root}/${step}`, {
        ...parent,
        step,
        kind: 'artifact',
        tier: agent.tier,
        choice: 0,
        depth: parent.depth - 1,
        about: [agent.asks],
      })
      spent = added(spent, end.spent)
      if (end.halt) halt ??= end.halt
      else if (end.result.outcome === 'confused') confused ??= `Sub-agent ${agent.id}: ${end.result.words}`
      else ended.set(at, await endOf(step, end))
    } catch (error) {
      // Also where a halt is known already: what is a cancellation is thrown on by this.
      const next = haltOf(error)
      halt ??= next
    } finally {
      running--
    }
  }

  /** One that found nothing gives its words as its artifact: the parent is told, and never finds less than it asked for. */
  async function endOf(step: string, { result }: Extract<StepEnd, { halt?: undefined }>): Promise<SubAgentEnd> {
    const { outcome, artifact, words } = result
    if (outcome === 'success' && artifact) return { artifact, isGood: true, words: '' }
    const place = { run: parent.run, attempt: parent.attempt, ...(parent.task !== undefined && { task: parent.task }) }
    const kept = await short.keepWords({ ...place, step, kind: 'artifact', words: `This sub-agent failed: ${words}` })
    return { artifact: kept, isGood: false, words: words.slice(0, 300) }
  }

  // What is thrown where nobody waits would be thrown again for ever: a cancellation is kept and thrown here.
  let thrown: unknown
  let isThrown = false
  const isOver = () => isThrown || halt !== undefined || confused !== undefined
  for (;;) {
    const isLong = workflowInfo().continueAsNewSuggested
    while (running < AT_MOST && waiting.length > 0 && !isOver() && !isLong && !children.isHeld) {
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
      await continueAsNew<typeof fanOut>({ ...input, ended: [...ended], spent, isHeld: children.isHeld })
    }
    const before = running
    const mayStart = () => running < AT_MOST && waiting.length > 0 && !children.isHeld && !isLong && !isOver()
    await condition(() => running < before || mayStart())
  }
  const inOrder = [...ended].sort(([a], [b]) => a - b).map(([, end]) => end)
  return { ended: inOrder, spent, ...(halt && { halt }), ...(confused !== undefined && { confused }) }
}
