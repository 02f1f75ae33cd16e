// The proxy that holds the key, as it is started in the container, before a model server of the test's own.
import { afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const KEY = 'sk-the-real-key'
const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

type Report = { forklift: string; ms: number; status: number; input: number | null; output: number | null }

function serve(answer: (request: Request) => Response | Promise<Response>) {
  const requests: Request[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      requests.push(request.clone() as Request)
      return answer(request)
    },
  })
  undo.push(() => server.stop(true))
  return { url: `http://127.0.0.1:${server.port}/v1`, requests }
}

async function startProxy(base: string, ...more: string[]) {
  const proxy = join(import.meta.dir, '../../harness/proxy.mjs')
  const child = Bun.spawn([process.execPath, proxy, import.meta.dir, ...more], {
    env: {},
    stdin: new Blob([`${base} ${KEY}\n`]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  undo.push(async () => {
    child.kill()
    await child.exited
  })
  const first = await child.stdout.getReader().read()
  const port = new TextDecoder().decode(first.value).trim()
  expect(port).toMatch(/^\d+$/)
  const post = (path: string, headers: Record<string, string> = { authorization: 'Bearer dummy' }) =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: '{}' })
  /** Ends the proxy, and gives what it reported. */
  const reports = async () => {
    child.kill()
    const text = await child.stderr.text()
    return text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Report)
  }
  return { pid: child.pid, port, post, reports }
}

test('each dialect gets the key where it expects one, and nothing else of the agent goes along', async () => {
  const model = serve(() => Response.json({}))
  const { post } = await startProxy(model.url)
  await post('/chat/completions', { authorization: 'Bearer dummy', cookie: 'a=b', 'x-other': 'c' })
  await post('/responses')
  await post('/messages', { 'x-api-key': 'dummy', 'anthropic-version': '2023-06-01' })
  await post('/models/gemini-3:streamGenerateContent?alt=sse', { 'x-goog-api-key': 'dummy' })
  const seen = model.requests.map(({ url, headers }) => {
    const { pathname, search } = new URL(url)
    return [
      pathname + search,
      headers.get('authorization') ?? headers.get('x-api-key') ?? headers.get('x-goog-api-key'),
    ]
  })
  expect(seen).toEqual([
    ['/v1/chat/completions', `Bearer ${KEY}`],
    ['/v1/responses', `Bearer ${KEY}`],
    ['/v1/messages', KEY],
    ['/v1/models/gemini-3:streamGenerateContent?alt=sse', KEY],
  ])
  expect(model.requests[0]?.headers.has('cookie')).toBe(false)
  expect(model.requests[0]?.headers.has('x-other')).toBe(false)
  expect(model.requests[2]?.headers.get('anthropic-version')).toBe('2023-06-01')
})

test('only the paths of the model pass', async () => {
  const model = serve(() => Response.json({}))
  const { post, port } = await startProxy(model.url)
  for (const path of [
    '/',
    '/v1/chat/completions',
    '/chat/completions/',
    '/models',
    '/models/a/b:generateContent',
    '/keys',
  ])
    expect((await post(path)).status).toBe(403)
  expect((await fetch(`http://127.0.0.1:${port}/chat/completions`)).status).toBe(403)
  expect(model.requests).toEqual([])
})

test('the key is neither in the arguments nor in the environment of the proxy', async () => {
  const { pid } = await startProxy('http://127.0.0.1:1')
  for (const file of ['cmdline', 'environ']) expect(readFileSync(`/proc/${pid}/${file}`, 'utf8')).not.toContain(KEY)
})

test('an answer streams through as it comes', async () => {
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const body = async function* () {
    yield 'data: first\n\n'
    await mayEnd
    yield 'data: second\n\n'
  }
  const model = serve(() => new Response(body(), { headers: { 'content-type': 'text/event-stream' } }))
  const { post } = await startProxy(model.url)
  const answer = await post('/chat/completions')
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader?.read())?.value).toBe('data: first\n\n')
  end()
  expect((await reader?.read())?.value).toBe('data: second\n\n')
})

test('every request is reported with its tokens, in any dialect, and without its content', async () => {
  const said = String.raw`{"text":"\"prompt_tokens\": 999, \"output_tokens\": 999, secret words"}`
  const answers: Record<string, string> = {
    '/v1/chat/completions': `data: ${said}\n\ndata: {"usage":{"prompt_tokens":12,"completion_tokens":3}}\n\ndata: [DONE]\n`,
    '/v1/messages': `data: {"usage":{"input_tokens":40,"output_tokens":1}}\n\ndata: ${said}\n\ndata: {"usage":{"output_tokens":9}}\n\n`,
    '/v1/responses': `data: {"response":{"usage":{"input_tokens": 5,"output_tokens": 6}}}`,
    '/v1/models/g:generateContent': said,
  }
  const model = serve(request => new Response(answers[new URL(request.url).pathname]))
  const { post, reports } = await startProxy(model.url)
  for (const path of Object.keys(answers)) await (await post(path.slice('/v1'.length))).text()
  const lines = await reports()
  expect(lines.map(({ status, input, output }) => [status, input, output])).toEqual([
    [200, 12, 3],
    [200, 40, 9],
    [200, 5, 6],
    [200, null, null],
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

test('statuses pass, redirects are not followed, and a model that cannot be reached is 502', async () => {
  const elsewhere = serve(() => new Response('hello'))
  const model = serve(request =>
    request.url.endsWith('messages')
      ? Response.redirect(`${elsewhere.url}/messages`, 307)
      : new Response('slow down', { status: 429, headers: { 'retry-after': '7' } }),
  )
  const proxy = await startProxy(model.url)
  const limited = await proxy.post('/chat/completions')
  expect([limited.status, limited.headers.get('retry-after'), await limited.text()]).toEqual([429, '7', 'slow down'])
  expect((await proxy.post('/messages')).status).toBe(307)
  expect(elsewhere.requests).toEqual([])
  expect((await proxy.reports()).map(({ status }) => status)).toEqual([429, 307])

  const nowhere = await startProxy('http://127.0.0.1:1/v1')
  const answer = await nowhere.post('/chat/completions')
  expect([answer.status, await answer.text()]).toEqual([
    502,
    '{"error":{"message":"Forklift: the model cannot be reached"}}',
  ])
  expect(await nowhere.reports()).toMatchObject([{ status: 0, input: null, output: null }])
})

test('a model that falls silent is cut off, before its answer or in the middle of it', async () => {
  const silence = Promise.withResolvers<Response>()
  const halfway = async function* () {
    yield 'data: first\n\n'
    await silence.promise
  }
  const model = serve(request => (request.url.endsWith('messages') ? silence.promise : new Response(halfway())))
  const { post, reports } = await startProxy(model.url, '300')
  const before = await post('/messages')
  expect([before.status, await before.text()]).toEqual([
    502,
    '{"error":{"message":"Forklift: the model did not answer"}}',
  ])
  const cut = await post('/chat/completions')
  await expect(cut.text()).rejects.toThrow()
  expect((await reports()).map(({ status }) => status)).toEqual([0, 200])
})

test('the number of requests is bounded, with an answer that is not tried again', async () => {
  const model = serve(() => Response.json({}))
  const { post } = await startProxy(model.url)
  const statuses: number[] = []
  for (let request = 0; request < 302; request++) statuses.push((await post('/chat/completions')).status)
  expect(statuses.indexOf(403)).toBe(300)
  expect(statuses.slice(300)).toEqual([403, 403])
  expect(model.requests.length).toBe(300)
})
