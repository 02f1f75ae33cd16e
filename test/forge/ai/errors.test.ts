/** The delay before a retry, in all forms in which providers give it. */
import { expect, test } from 'bun:test'
import { retryAfterOf, troubleOf } from '../../../forge/ai/errors.ts'

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

const ASKED = { name: 'anthropic/m', provider: 'anthropic', address: 'https://api.anthropic.com', secrets: [] } as const
const refusal = (statusCode: number, message: string) =>
  troubleOf({ statusCode, message }, ASKED, { hasBegun: false, text: '' })

/** In a chat the user sends the message again; a run retries or ends by itself. */
test.each<[number, string, string, string]>([
  [401, '', 'set a valid one in forge.env, then send the message again.', 'set a valid one in forge.env.'],
  [
    429,
    '',
    'takes no more requests for now: send the message again in a minute or two.',
    'takes no more requests for now.',
  ],
  [529, '', '(529): send the message again in a minute or two, or choose another model.', ' is overloaded (529).'],
  [
    503,
    'Try later',
    'is overloaded (503); it says: Try later: send the message again in a minute or two, or choose another model.',
    ' is overloaded (503).',
  ],
  [
    500,
    'Disk',
    'has a fault (500); it says: Disk: send the message again in a minute or two, or choose another model.',
    ' has a fault (500).',
  ],
  [400, 'prompt is too long', 'or begin a new one.', 'set a model with a larger window.'],
  [418, '', '(418): choose another model, or say it in other words.', 'refuses the request (418).'],
  [418, 'A teapot', '(418); it says: A teapot', '(418); it says: A teapot'],
])('%d %j is told in a chat and in a run by other ends', (status, words, inChat, inRun) => {
  const error = refusal(status, words)
  expect(error.message).toEndWith(inChat)
  expect(error.inRun).toEndWith(inRun)
  // The trouble is also recognised when the error is wrapped.
  expect(troubleOf(error, ASKED, { hasBegun: true, text: 'So' })).toMatchObject({ inRun: error.inRun, text: 'So' })
})
