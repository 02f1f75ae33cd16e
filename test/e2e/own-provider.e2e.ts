// OpenCode's own provider, which uses another API for each family of models: the proxy refuses no request of the real
// OpenCode. The models run at the same time, since they mostly wait.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clean } from '../harness/scene.ts'
import { type Boxed, box, docker, expectCode, gateway, IMAGE, KEY, removeBoxes, reports } from './box.ts'
import { dialects, turnsGiven } from './dialects.ts'
import { answer, bash, read, type Turn } from './model.ts'

const HOST = 'opencode.ai'
/** A model, its variant, the path of its API, and the header with the key. */
const models: [model: string, variant: string, path: string, header: string][] = [
  ['kimi-k3', 'max', '/zen/v1/chat/completions', 'authorization'],
  ['opencode/claude-haiku-4-5', 'max', '/zen/v1/messages', 'x-api-key'],
  ['claude-opus-4-6', 'high', '/zen/v1/messages', 'x-api-key'],
  ['gpt-5.1', 'high', '/zen/v1/responses', 'authorization'],
  ['gemini-3-flash', 'high', '/zen/v1/models/gemini-3-flash:streamGenerateContent?alt=sse', 'x-goog-api-key'],
]
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const script: Turn[] = [
  { say: 'First a command.', calls: [bash(`echo ran $((6 * 7)); echo ${png} | base64 --decode >/tmp/dot.png`)] },
  { say: 'Now a picture.', calls: [read('/tmp/dot.png')] },
  { say: 'Let another one look.', calls: [{ tool: 'task', input: task() }] },
  { say: 'Done.' },
]
function task() {
  return { description: 'a look around', prompt: 'please look around', subagent_type: 'general' }
}

type Asked = { path: string; model: string; key: string; text: string }
const asked: Asked[] = []
const results = new Map<string, Boxed>()
const folder = mkdtempSync(join(tmpdir(), 'forklift-provider-'))
let provider: { stop: (force: boolean) => unknown }

/** Makes a certificate for the provider's name. Gives a file with all certificates that the container should trust. */
async function certify() {
  const subject = ['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`, '-days', '1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const made = ['req', '-x509', ...kind, ...subject, '-keyout', '/dev/stdout', '-out', '/dev/stdout']
  const { stdout } = await docker('run', '--rm', '--entrypoint', 'openssl', IMAGE, ...made)
  const [key = '', cert = ''] = stdout.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n?/g) ?? []
  const file = join(folder, 'certificates.crt')
  writeFileSync(file, cert)
  return { key, cert, file }
}

beforeAll(async () => {
  const { key, cert, file } = await certify()
  const address = await gateway()
  provider = Bun.serve({
    hostname: address,
    port: 443,
    tls: { key, cert },
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const text = await request.text()
      const body = JSON.parse(text)
      const header = models.find(([, , path]) => path === pathname + search)?.[3] ?? 'none'
      const model = body.model ?? pathname.split(/[/:]/).at(-2)
      asked.push({ path: pathname + search, model, key: request.headers.get(header) ?? '', text })
      const encode = Object.entries(dialects).find(([end]) => pathname.endsWith(end))?.[1] ?? answer
      const isHelper = text.includes('please look around') && !text.includes('First a command.')
      const turn = isHelper ? { say: 'I saw it.' } : (script[turnsGiven(body)] ?? { say: 'Done.' })
      return new Response([...encode(turn)].join(''), { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const trusted = `type=bind,source=${file},target=/etc/ssl/certs/ca-certificates.crt,readonly`
  const flags = ['--add-host', `${HOST}:${address}`, '--mount', trusted]
  const run = async ([model, variant]: (typeof models)[0]) => {
    const env = { OPENCODE_BASE_URL: '', OPENCODE_MODEL: model, OPENCODE_VARIANT: variant }
    results.set(model, await box({ scene: { ...clean, seconds: 120 }, script: [], flags, env }))
  }
  await Promise.all(models.map(run))
}, 240_000)

afterAll(() => {
  provider.stop(true)
  rmSync(folder, { recursive: true })
  removeBoxes()
})

for (const [model, , path, header] of models) {
  test(`${model} is asked by ${path.slice('/zen/v1'.length)}, and nothing of it is refused`, () => {
    const result = results.get(model)
    if (!result) throw new Error('no result')
    expectCode(result, 0)
    const name = model.replace('opencode/', '')
    const mine = asked.filter(it => it.model === name)
    expect(mine.map(it => [it.path, it.key])).toEqual(
      Array(5).fill([path, header === 'authorization' ? `Bearer ${KEY}` : KEY]),
    )
    expect(mine.at(-1)?.text).toContain('ran 42')
    expect(mine.at(-1)?.text).toContain('I saw it.')
    // The request has the image itself, as the model accepts images.
    expect(mine.at(-1)?.text).toContain(png.slice(0, 40))
    expect(reports(result).map(it => [it.status, it.input, it.output])).toEqual(Array(5).fill([200, 100, 7]))
    expect(result.events).not.toContain('Forklift:')
  })
}
