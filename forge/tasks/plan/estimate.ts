/**
 * Estimates what a plan may cost before anything is paid: by the sizes of its tasks and the prices of its tiers, from a
 * low end where all goes well to a high end where each task needs a second attempt.
 */
import type { Price } from '../../ai/settings.ts'
import type { Tier } from '../contract.ts'
import { isTestFile } from './files.ts'
import { isLiteral, plain } from './globs.ts'
import type { Plan, Task } from './schema.ts'

export type EstimateRange = { low: number; high: number }
/**
 * What a plan may take. `cost`: in US dollars; undefined where a tier has no price. `unpriced`: the tiers without one.
 * `batched`: the cost if requests are sent in batches; undefined where a tier has no price, or a provider no batches.
 */
export type PlanEstimate = {
  batched?: EstimateRange
  requests: EstimateRange
  tokens: EstimateRange
  cost?: EstimateRange
  unpriced: Tier[]
}

/** The price of a tier's first model; undefined where it is not known. */
export type PriceOf = (tier: Tier) => Price | undefined

/** For a task: the number of requests (its outline included), and the tokens of each. */
const SIZES: Record<Task['size'], { requests: EstimateRange; input: EstimateRange; output: EstimateRange }> = {
  small: { requests: { low: 1, high: 1 }, input: { low: 6000, high: 16_000 }, output: { low: 800, high: 4000 } },
  medium: { requests: { low: 3, high: 7 }, input: { low: 10_000, high: 30_000 }, output: { low: 1000, high: 5000 } },
  large: { requests: { low: 6, high: 16 }, input: { low: 15_000, high: 50_000 }, output: { low: 1500, high: 6000 } },
}
/** Reviewers of a result at first; a third decides where two disagree. */
export const REVIEWERS = 2
/** Attempts at a task: a failed one is repeated once. */
const ATTEMPTS = 2
/** The number of additional reviewers where two disagree. */
const UMPIRE = 1

/**
 * Whether models review the task's result: since the plan says so, or since it has to make an assertion true that no
 * command shows.
 */
export const isReviewed = (task: Task, plan: Plan): boolean =>
  task.validation.reviews.length > 0 ||
  plan.contract.some(({ id, how }) => how.kind === 'review' && task.claims.includes(id))

const MILLION = 1_000_000

/** Whether a task needs no outline: it is small, or its outputs are a file and its test. */
export function isDoneInOneStep({ size, objective, boundaries }: Task): boolean {
  if (size === 'small') return true
  const { outputs } = objective
  const isKnown = outputs.length > 0 && boundaries.write.length > 0 && boundaries.write.every(isLiteral)
  if (size !== 'medium' || !isKnown) return false
  const files = [...new Set([...outputs, ...boundaries.write].map(plain))]
  const tests = files.filter(isTestFile)
  return tests.length <= 1 && files.length - tests.length <= 1
}

/** The size of a task for estimates: small where one step does it, whatever the plan says. */
export const taskSizeOf = (task: Task): Task['size'] => (isDoneInOneStep(task) ? 'small' : task.size)

/** How many models of a tier review a result. */
export type ReviewersOf = (tier: Tier) => number

/** Estimates the tasks of a plan, without those that are done. */
export function planEstimateOf(
  plan: Plan,
  priceOf: PriceOf,
  {
    done = [],
    reviewersOf = () => REVIEWERS,
    batchPriceOf = () => undefined,
  }: { done?: readonly string[]; reviewersOf?: ReviewersOf; batchPriceOf?: PriceOf } = {},
): PlanEstimate {
  const requests: EstimateRange = { low: 0, high: 0 }
  const tokens: EstimateRange = { low: 0, high: 0 }
  const cost: EstimateRange = { low: 0, high: 0 }
  const batched: EstimateRange = { low: 0, high: 0 }
  let hasBatches = true
  const unpriced = new Set<Tier>()
  for (const task of plan.tasks) {
    if (done.includes(task.id)) continue
    const size = SIZES[taskSizeOf(task)]
    const price = priceOf(task.tier)
    const half = batchPriceOf(task.tier)
    if (!price) unpriced.add(task.tier)
    if (!half) hasBatches = false
    const reviews = isReviewed(task, plan) ? reviewersOf(task.tier) : 0
    const add = (end: keyof EstimateRange, count: number) => {
      requests[end] += count
      tokens[end] += count * (size.input[end] + size.output[end])
      if (price) cost[end] += (count * (size.input[end] * price.input + size.output[end] * price.output)) / MILLION
      if (half) batched[end] += (count * (size.input[end] * half.input + size.output[end] * half.output)) / MILLION
    }
    add('low', size.requests.low + reviews)
    add('high', (size.requests.high + (reviews > 1 ? reviews + UMPIRE : reviews)) * ATTEMPTS)
  }
  const isPriced = unpriced.size === 0
  return {
    requests,
    tokens,
    ...(isPriced && { cost }),
    ...(isPriced && hasBatches && { batched }),
    unpriced: [...unpriced],
  }
}
