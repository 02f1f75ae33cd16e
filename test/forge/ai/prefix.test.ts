/** Each request begins with the one before it, so that the provider's cache holds: on the wire, over a long session. */
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
