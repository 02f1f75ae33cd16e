/**
 * Each request begins with the whole one before it, so that the provider's cache holds: on the wire, over a long
 * session.
 */
import { describe, expect, test } from 'bun:test'
import { beginsWith, type Heard, type Provider } from '../../doubles/model-server.ts'
import { FILES, playLongSession, REQUESTS, Talk } from './talk.ts'

const PROVIDERS: Provider[] = ['anthropic', 'openrouter', 'openai']

const heardBy = (talk: Talk): Heard[] => talk.server.requests.flatMap(({ heard }) => (heard ? [heard] : []))

describe.each(PROVIDERS)('%s', provider => {
  test('a long session is read from the cache, also after a restart', async () => {
    await using talk = await Talk.open(FILES, provider)
    await playLongSession(talk)
    const heard = heardBy(talk)
    expect(talk.server.requests.map(({ refused }) => refused).filter(Boolean)).toEqual([])
    expect(heard).toHaveLength(REQUESTS)
    const broken = heard.flatMap((it, at) => {
      const before = heard[at - 1]
      return before && !beginsWith(it, before) ? [at] : []
    })
    expect(broken).toEqual([])
    expect(talk.server.shareRead).toBeGreaterThan(0.9)
  }, 60_000)
})

describe.each(PROVIDERS.slice(0, 2))('%s', provider => {
  test('with pauses of half an hour, what was said before the pause is read from the cache, too', async () => {
    await using talk = await Talk.open(FILES, provider)
    const read = (at: number) => ({ calls: [{ name: 'get_lines', arguments: { path: `src/part${at}.ts` } }] })
    const firsts: number[] = []
    for (let turn = 0; turn < 5; turn++) {
      firsts.push(talk.server.requests.length)
      await talk.turn(`Read, the ${turn}. time.`, [read(turn), read(turn + 1), read(turn + 2), { text: 'Read.' }])
      talk.pass(1800)
    }
    const shares = firsts.map(at => {
      const { counted } = talk.server.requests[at] ?? {}
      return counted ? counted.read / counted.input : Number.NaN
    })
    // The first turn finds nothing in the cache. The second begins after the first one's 5 minutes in the cache are
    // over; from then on, requests ask for an hour.
    expect(shares.slice(0, 2)).toEqual([0, 0])
    for (const share of shares.slice(2)) expect(share).toBeGreaterThan(0.9)
  }, 60_000)
})
