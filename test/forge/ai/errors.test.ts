/** After how long a provider wants to be asked again, in all the ways in which it is said. */
import { expect, test } from 'bun:test'
import { retryAfterOf } from '../../../forge/ai/errors.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')

test.each<[Record<string, string>, number | undefined]>([
  [{}, undefined],
  [{ 'retry-after': '30' }, 30],
  [{ 'retry-after': '0.5' }, 0.5],
  [{ 'retry-after': 'Sun, 22 Nov 2026 12:01:00 GMT' }, 60],
  [{ 'retry-after': 'Sun, 22 Nov 2026 11:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{ 'retry-after-ms': '1500', 'retry-after': '2' }, 1.5],
  [{ 'x-ratelimit-reset': String(NOW + 20_000) }, 20],
  [{ 'x-ratelimit-reset': String(NOW - 20_000) }, undefined],
])('%j is %p seconds', (headers, seconds) => {
  expect(retryAfterOf(headers, NOW)).toBe(seconds as number)
})
