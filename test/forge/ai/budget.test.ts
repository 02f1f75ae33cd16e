/** The limits of a turn: time in which the turn waits for the user does not count. */
import { expect, test } from 'bun:test'
import { Budget } from '../../../forge/ai/budget.ts'

const LIMITS = { steps: 5, seconds: 0.2, cost: 1 }

test('the clock of a turn stands still while a person is waited for, and goes on behind it', async () => {
  using budget = new Budget(LIMITS)
  expect(await budget.standStill(() => Bun.sleep(400).then(() => 'seen'))).toBe('seen')
  expect(budget.signal.aborted).toBe(false)
  expect(budget.taken).toBeLessThan(0.2)
  await new Promise(resolve => budget.signal.addEventListener('abort', resolve))
  expect(String(budget.signal.reason.message)).toContain('the limit of a turn')
  expect(budget.taken).toBeGreaterThan(0.19)
})
