/** A stream with calls in it, cut at any byte: the result is a whole answer or an error, never part of a call. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { ModelServer, type Turn } from '../../doubles/model-server.ts'
import { ask, calls, openScripted, PROVIDERS, textOf, troubleOf } from './models.ts'

setDefaultTimeout(120_000)

/** Bytes from one cut to the next; `CUT_EVERY=1` cuts after every byte. */
const EVERY = Number(process.env.CUT_EVERY ?? 3)

const TURN: Turn = {
  reasoning: 'Two ways.',
  text: 'I do ✓ both.',
  calls: [
    { name: 'write_file', arguments: { path: 'ä.txt', content: '{"a": 1}' } },
    { name: 'delete_file', arguments: {} },
  ],
}

for (const provider of PROVIDERS)
  test.each(['reset', 'close'] as const)(`${provider}: cut anywhere by a %s`, async how => {
    await using server = await ModelServer.start([TURN])
    const model = await openScripted(server, provider, { again: {} })
    await ask(model)
    const length = server.requests[0]?.bytes ?? 0
    expect(length).toBeGreaterThan(1000)
    const whole: number[] = []
    for (let at = length % EVERY; at <= length; at += EVERY) {
      server.play([{ ...TURN, cut: { at, how } }])
      const asked = await ask(model)
      if (!asked.answer) {
        expect(['cut', 'unreachable']).toContain(troubleOf(asked).trouble)
        continue
      }
      whole.push(at)
      expect(calls(asked.answer).map(call => [call.name, call.arguments])).toEqual(
        (TURN.calls ?? []).map(call => [call.name, call.arguments]),
      )
      expect(textOf(asked.answer)).toBe(TURN.text ?? '')
    }
    // A connection that is closed (not reset) after the last byte has lost nothing.
    if (how === 'close') expect(whole).toContain(length)
    expect(whole.length).toBeLessThan(length / EVERY / 2)
    expect(server.requests).toHaveLength(1)
  })
