/** The tiers of models, from the least capable to the most. */
import type { Tier } from '../contract.ts'

const TIERS: Tier[] = ['classification', 'summarization', 'generation', 'reasoning']

/** For each tier the next more capable one that has another model; undefined where there is none. */
export type TiersAbove = Partial<Record<Tier, Tier>>

/** For each tier the next more capable one, even if both have the same models. */
export const ALL_TIERS: TiersAbove = Object.fromEntries(TIERS.slice(1).map((tier, at) => [TIERS[at], tier]))

/** The next more capable tier with another model; undefined where there is none. */
export const nextTier = ({ above }: { above: TiersAbove }, tier: Tier): Tier | undefined => above[tier]
