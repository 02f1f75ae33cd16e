// Misbehaving model servers, and how a run ends with each. The tests run at the same time, since they mostly wait.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conflict } from '../harness/scene.ts'
import { type Boxed, box, expectCode, KEY, removeBoxes, reports } from './box.ts'
import { bash, type Misbehaviour } from './model.ts'

afterAll(removeBoxes)

const MAX_REQUESTS = 300 // as in proxy.mjs

describe('a model server that', () => {
  const results = new Map<Misbehaviour, Boxed>()
  const kinds: Misbehaviour[] = [401, 403, 429, 500, 'html', 'never', 'stall', 'cut', 'loop']
  /** The usual time limit of a run, in seconds: below the 95 after which OpenCode itself gives up on 429 and 500. */
  const usual = 90
  const seconds: Partial<Record<Misbehaviour, number>> = { html: 220, loop: 220 }

  beforeAll(async () => {
    const run = async (how: Misbehaviour) => {
      const scene = { ...conflict, seconds: seconds[how] ?? usual }
      results.set(how, await box({ scene, script: how }))
    }
    // First the two quick tests at the same time. Then all others: most of them only wait, so they can run together.
    for (const group of [
      [401, 403],
      ['html', 'loop', 429, 500, 'never', 'stall', 'cut'],
    ] as Misbehaviour[][])
      await Promise.all(group.map(run))
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

  test('falls silent is ended in time', () => {
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

  test('survives what an agent sends it, in part, in pieces and in bad faith, and the log stays short', async () => {
    const script = `python3 - <<'PY'
import json, os, socket, urllib.parse
host = urllib.parse.urlparse(os.environ['FORKLIFT_PROXY'])
def ask(data, much):
    try:
        s = socket.create_connection((host.hostname, host.port)); s.settimeout(2); s.sendall(data)
        answer = b''
        while len(answer) < much:
            chunk = s.recv(much)
            if not chunk: break
            answer += chunk
        s.close()
        return answer
    except OSError: return b''
body = json.dumps({'model': os.environ['OPENCODE_MODEL'], 'max_tokens': 9, 'stream': True, 'messages': []})
good = f'POST /chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n{body}'.encode()
for size in range(150): ask(good, 1 + size)
odd = [ask(b'POST /chat/completions HTTP/1.1\\r\\nHost: [\\r\\nContent-Length: 2\\r\\n\\r\\n{}', 1 << 20) for _ in range(400)]
print('pages:', sum(b'.mjs' in page or b'<html' in page for page in odd), 'answers:', sum(b' 403 ' in page for page in odd))
PY`
    const calls = [bash(script)]
    const result = await box({ scene: { ...conflict, seconds: 90 }, script: [{ calls }, { say: 'Done.' }] })
    expectCode(result, 0)
    expect(result.toolResults[0]?.trim()).toBe('pages: 0 answers: 400')
    expect(result.log.length).toBeLessThan(30_000)
    expect(reports(result).length).toBeLessThan(160)
  })

  test('passes only the model that was chosen, asked in the usual way, and says so', async () => {
    const say = `curl --silent --data @- "$FORKLIFT_PROXY/chat/completions" | jq -c .error.message`
    const asks = [{ model: 'other' }, { n: 128 }, { store: true }, { web_search_options: {} }, { max_tokens: 1e6 }]
    const bodies = asks.map(it => JSON.stringify({ model: 'test-model', max_tokens: 9, messages: [], ...it }))
    const result = await box({
      scene: { ...conflict, seconds: 60 },
      script: [{ calls: [bash(bodies.map(it => `echo '${it}' | ${say}`).join('\n'))] }, { say: 'Done.' }],
    })
    expectCode(result, 0)
    const fields = ['model', 'n', 'store', 'web_search_options', 'max_tokens']
    expect(result.toolResults[0]?.trim().split('\n')).toEqual(
      fields.map(it => `"Forklift: the model may not be asked with this: body.${it} (test-model only)"`),
    )
    expect(reports(result)).toHaveLength(2)
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

// Mounting a small file system needs root; the limit itself does not.
describe.skipIf(process.getuid?.() !== 0)('a disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'forklift-small-'))
  const small = join(folder, 'mounted')
  const run = (...command: string[]) => {
    const { status, stderr } = spawnSync(command[0] ?? '', command.slice(1), { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  }
  beforeAll(() => {
    mkdirSync(small)
    run('truncate', '--size', '3200M', `${folder}/disk`)
    run('mkfs.ext4', '-q', '-m', '0', '-N', '20000', `${folder}/disk`)
    run('mount', '-o', 'loop', `${folder}/disk`, small)
  })
  afterAll(() => {
    run('umount', small)
    rmSync(folder, { recursive: true })
  })

  /** Lets the agent run a command that fills the disk. Gives the bytes and files that were free at the end. */
  async function fill(command: string) {
    const result = await box({ scene: { ...conflict, seconds: 90 }, script: [{ calls: [bash(command)] }], root: small })
    const { bavail, bsize, ffree } = statfsSync(small)
    rmSync(result.folder, { recursive: true })
    return { result, bytes: bavail * bsize, files: ffree }
  }

  test('that the agent fills, by one call or by many writers, ends the run before it is full', async () => {
    const greedy = `for way in '' '-n' '-z'; do fallocate $way -l 3000M one; done
      for at in $(seq 40); do head -c 2000M /dev/zero >many$at & done; sleep 60`
    const { result, bytes } = await fill(greedy)
    expectCode(result, 5)
    expect(result.log).toContain('disk: less than 1 GiB is left on the disk')
    expect(result.log.trim().split('\n').at(-1)).toStartWith('disk: ')
    expect(bytes).toBeGreaterThan(512 * 1024 ** 2)
  })

  test('whose table of files the agent fills ends the run before it is full', async () => {
    const { result, files } = await fill('for at in 1 2 3 4; do (seq -f f$at.%g 9000 | xargs touch) & done; sleep 60')
    expectCode(result, 5)
    expect(result.log).toContain('disk: fewer than 10,000 more files fit')
    expect(files).toBeGreaterThan(5000)
  })
})
