/** The tiers of models, from the least capable to the most. */
import type { Tier } from '../contract.ts'

const TIERS: Tier[] = ['classification', 'summarization', 'generation', 'reasoning']

/** The next more capable tier; undefined above the highest. */
export const tierAbove = (tier: Tier): Tier | undefined => TIERS[TIERS.indexOf(tier) + 1]
