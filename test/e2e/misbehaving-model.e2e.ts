// What the model server may do, and how a run ends then. At the same time, since most of it is waiting.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conflict } from '../harness/scene.ts'
import { type Boxed, box, expectCode, KEY, removeBoxes } from './box.ts'
import { bash, type Misbehaviour } from './model.ts'

afterAll(removeBoxes)

const MAX_REQUESTS = 300 // of proxy.mjs

const reports = (result: Boxed) =>
  result.log
    .split('\n')
    .filter(line => line.startsWith('{"forklift":"request"'))
    .map(line => JSON.parse(line) as { ms: number; status: number; input: number | null; output: number | null })

describe('a model server that', () => {
  const results = new Map<Misbehaviour, Boxed>()
  const kinds: Misbehaviour[] = [401, 403, 429, 500, 'html', 'never', 'stall', 'cut', 'loop']
  /** OpenCode gives up on 429 and 500 by itself after some 95 seconds: the time of the run must be over before. */
  const usual = 90
  const seconds: Partial<Record<Misbehaviour, number>> = { html: 220, loop: 220 }

  beforeAll(async () => {
    const run = async (how: Misbehaviour) => {
      const scene = { ...conflict, seconds: seconds[how] ?? usual }
      results.set(how, await box({ scene, script: how }))
    }
    // The quick ones first, two at a time, as the machine has cores; then those that wait, together.
    for (const pair of [
      [401, 403],
      [429, 500, 'never', 'stall', 'cut'],
      ['html', 'loop'],
    ] as Misbehaviour[][])
      await Promise.all(pair.map(run))
  }, 600_000)

  const of = (how: Misbehaviour): Boxed => {
    const result = results.get(how)
    if (!result) throw new Error(`no result of ${how}`)
    return result
  }

  test('was there in every case, and never got anything but the key', () => {
    for (const how of kinds) {
      expect(of(how).requests.length).toBeGreaterThan(0)
      for (const request of of(how).requests) {
        expect(request.path).toBe('/v1/chat/completions')
        expect(request.authorization).toBe(`Bearer ${KEY}`)
      }
      expect(of(how).merged).toBe(false)
    }
  })

  test('refuses the key, or the user, ends the run as failed at once', () => {
    for (const how of [401, 403] as const) {
      expectCode(of(how), 5)
      expect(of(how).seconds).toBeLessThan(30)
      expect(reports(of(how)).map(report => report.status)).toContain(how)
    }
  })

  test('is overloaded or broken is tried again until time runs out', () => {
    for (const how of [429, 500] as const) {
      expectCode(of(how), 2)
      expect(of(how).requests.length).toBeGreaterThan(1)
    }
  })

  test('falls silent keeps nobody longer than the time', () => {
    for (const how of ['never', 'stall'] as const) {
      expectCode(of(how), 2)
      expect(of(how).seconds).toBeLessThan(usual)
      expect(of(how).stuck).toContain('- greeting.txt')
    }
  })

  test('cuts its answer off does not end as finished', () => {
    expectCode(of('cut'), 5)
    expect(of('cut').harnessLog).toContain('was not finished')
  })

  test('loops, or answers with a page, is ended by the bound on requests', () => {
    for (const how of ['html', 'loop'] as const) {
      expectCode(of(how), 5)
      expect(of(how).requests.length).toBe(MAX_REQUESTS)
    }
  })
})

describe('the proxy', () => {
  test('passes only the paths of the model, and hands out no key', async () => {
    const ask = (path: string, options = '') =>
      `curl --silent --output /dev/null --write-out '%{http_code}\\n' ${options} "$FORKLIFT_PROXY${path}"`
    const post = '--request POST --data {}'
    const result = await box({
      scene: { ...conflict, seconds: 60 },
      script: [
        {
          calls: [
            bash(
              [
                ask('/models'),
                ask('/files', post),
                ask('/../v1/files', `--path-as-is ${post}`),
                ask('/chat/completions'),
                ask('//example.invalid/chat/completions', post),
                `curl --silent --include ${post} "$FORKLIFT_PROXY/files"`,
              ].join('; '),
            ),
          ],
        },
        { say: 'Done.' },
      ],
    })
    expectCode(result, 0)
    expect(result.toolResults[0]?.split('\n').slice(0, 5)).toEqual(['403', '403', '403', '403', '403'])
    expect(result.toolResults[0]).not.toContain(KEY)
    expect(result.requests.every(request => request.path === '/v1/chat/completions')).toBe(true)
  })

  test('reports time, status and tokens of each request, and nothing of its content', async () => {
    const result = await box({
      scene: { ...conflict, seconds: 60 },
      script: [{ say: 'a word nobody else says: xylem' }],
    })
    expectCode(result, 0)
    expect(reports(result)).toMatchObject([{ status: 200, input: 100, output: 7 }])
    expect(reports(result)[0]?.ms).toBeGreaterThan(0)
    expect(result.log).not.toContain('xylem')
  })
})

// A small file system needs root; the bound itself does not.
describe.skipIf(process.getuid?.() !== 0)('a disk', () => {
  const small = mkdtempSync(join(tmpdir(), 'forklift-small-'))
  beforeAll(() => {
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1600m', 'none', small]).status).toBe(0)
  })
  afterAll(() => {
    spawnSync('umount', [small])
    rmSync(small, { recursive: true })
  })

  test('that the agent fills ends the run before it is full', async () => {
    const fill = 'head -c 3G /dev/zero >big; sleep 60'
    const result = await box({ scene: { ...conflict, seconds: 90 }, script: [{ calls: [bash(fill)] }], root: small })
    expectCode(result, 5)
    expect(statSync(join(result.workspace, 'big')).size).toBeLessThan(1_600 * 1024 ** 2)
    expect(result.log).toContain('less than 1 GiB is left on the disk')
  })
})
