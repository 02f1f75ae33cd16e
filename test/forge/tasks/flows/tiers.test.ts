/** Tiers of models, one above the other. */
import { expect, test } from 'bun:test'
import { tierAbove } from '../../../../forge/tasks/flows/tiers.ts'

test('above the highest tier there is none', () => {
  expect(tierAbove('classification')).toBe('summarization')
  expect(tierAbove('generation')).toBe('reasoning')
  expect(tierAbove('reasoning')).toBeUndefined()
})
