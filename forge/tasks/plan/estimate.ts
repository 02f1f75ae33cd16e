/**
 * What a plan may take, before anything of it is paid: by the sizes of its tasks and the prices of its tiers. It is a
 * guess, from a low end where all goes well to a high one where each task needs its second attempt.
 */
import type { Price } from '../../ai/settings.ts'
import type { Tier } from '../contract.ts'
import { isTestFile } from './files.ts'
import { isLiteral, plain } from './globs.ts'
import type { Plan, Task } from './schema.ts'

export type EstimateRange = { low: number; high: number }
/** `cost` in US dollars; undefined where a tier has no price. `unpriced` are these tiers. */
export type PlanEstimate = { requests: EstimateRange; tokens: EstimateRange; cost?: EstimateRange; unpriced: Tier[] }

/** US dollars of a tier's first model; undefined where the person has set none. */
export type PriceOf = (tier: Tier) => Price | undefined

/** Of a task: requests (its outline is one of them), and tokens of each. */
const SIZES: Record<Task['size'], { requests: EstimateRange; input: EstimateRange; output: EstimateRange }> = {
  small: { requests: { low: 1, high: 1 }, input: { low: 6000, high: 16_000 }, output: { low: 800, high: 4000 } },
  medium: { requests: { low: 3, high: 7 }, input: { low: 10_000, high: 30_000 }, output: { low: 1000, high: 5000 } },
  large: { requests: { low: 6, high: 16 }, input: { low: 15_000, high: 50_000 }, output: { low: 1500, high: 6000 } },
}
/** How many models at most review a task's result. */
export const REVIEWERS = 2
/** What fails once is tried once more. */
const ATTEMPTS = 2
/** If two reviewers disagree, a third one decides. */
const UMPIRE = 1

/** Whether models are asked about its result: by its own wish, or since an assertion that it claims can't be run. */
export const isReviewed = (task: Task, plan: Plan): boolean =>
  task.validation.reviews.length > 0 ||
  plan.contract.some(({ id, how }) => how.kind === 'review' && task.claims.includes(id))

const MILLION = 1_000_000

/** A small task, or one whose outputs are a file and its test: an outline would have one step. */
export function isDoneInOneStep({ size, objective, boundaries }: Task): boolean {
  if (size === 'small') return true
  const { outputs } = objective
  const isKnown = outputs.length > 0 && boundaries.write.length > 0 && boundaries.write.every(isLiteral)
  if (size !== 'medium' || !isKnown) return false
  const files = [...new Set([...outputs, ...boundaries.write].map(plain))]
  const tests = files.filter(isTestFile)
  return tests.length <= 1 && files.length - tests.length <= 1
}

/** A task's size as it will be done. */
export const taskSizeOf = (task: Task): Task['size'] => (isDoneInOneStep(task) ? 'small' : task.size)

/** How many models of a tier are asked about a result. */
export type ReviewersOf = (tier: Tier) => number

/** What the tasks of a plan may take, without those that are done. */
export function planEstimateOf(
  plan: Plan,
  priceOf: PriceOf,
  { done = [], reviewersOf = () => REVIEWERS }: { done?: readonly string[]; reviewersOf?: ReviewersOf } = {},
): PlanEstimate {
  const requests: EstimateRange = { low: 0, high: 0 }
  const tokens: EstimateRange = { low: 0, high: 0 }
  const cost: EstimateRange = { low: 0, high: 0 }
  const unpriced = new Set<Tier>()
  for (const task of plan.tasks) {
    if (done.includes(task.id)) continue
    const size = SIZES[taskSizeOf(task)]
    const price = priceOf(task.tier)
    if (!price) unpriced.add(task.tier)
    const reviews = isReviewed(task, plan) ? reviewersOf(task.tier) : 0
    const add = (end: keyof EstimateRange, count: number) => {
      requests[end] += count
      tokens[end] += count * (size.input[end] + size.output[end])
      if (price) cost[end] += (count * (size.input[end] * price.input + size.output[end] * price.output)) / MILLION
    }
    add('low', size.requests.low + reviews)
    add('high', (size.requests.high + (reviews > 1 ? reviews + UMPIRE : reviews)) * ATTEMPTS)
  }
  return { requests, tokens, ...(unpriced.size === 0 && { cost }), unpriced: [...unpriced] }
}
