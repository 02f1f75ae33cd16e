// The proxy that holds the key, on Node as in the container, with a model server of the test's own. (CI has Node; where
// it is missing, only the end-to-end tests cover the proxy.)
import { afterEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { refusedBy } from '../support/refusals.ts'

const node = Bun.which('node')
const KEY = 'sk-the-real-key'
const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

type Report = { forklift: string; ms: number; status: number; input: number | null; output: number | null }
type Json = Record<string, unknown>

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

/** The smallest request of OpenCode in each API. */
const ask = {
  chat: { model: 'm-1', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
  messages: { model: 'm-1', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
  responses: { model: 'm-1', max_output_tokens: 100, store: false, input: [{ role: 'user', content: 'hello' }] },
  google: { generationConfig: { maxOutputTokens: 100 }, contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
}
const paths = {
  chat: '/chat/completions',
  messages: '/messages',
  responses: '/responses',
  google: '/models/m-1:streamGenerateContent?alt=sse',
}
type Dialect = keyof typeof paths

async function startProxy(base: string, { dialects = 'all', silence = '120000', key = KEY } = {}) {
  const proxy = join(import.meta.dir, '../../harness/proxy.mjs')
  const child = Bun.spawn([node ?? '', proxy, 'm-1', dialects, silence], {
    env: {},
    stdin: new Blob([`${base} ${key}\n`]),
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
  const post = (path: string, body: object | string = ask.chat, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer dummy', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  /** Sends raw bytes on a new connection. Gives the answer until the connection ends, or after a time. */
  const raw = (bytes: string | Buffer, patience = 2000) =>
    new Promise<string>(resolve => {
      let answer = ''
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes))
      const end = () => {
        clearTimeout(timer)
        socket.destroy()
        resolve(answer)
      }
      const timer = setTimeout(end, patience)
      socket.on('data', chunk => {
        answer += chunk
      })
      socket.on('error', end)
      socket.on('close', end)
    })
  /** Ends the proxy, and gives what it wrote. */
  const log = async () => {
    child.kill()
    return await child.stderr.text()
  }
  const reports = async () =>
    (await log())
      .trim()
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line) as Report)
  return { child, port, post, raw, log, reports }
}

describe.skipIf(node === null)('the proxy', () => {
  test('gives each dialect the key where it expects one, and takes nothing else of the agent along', async () => {
    const model = serve(() => Response.json({}))
    const { post } = await startProxy(model.url)
    await post(paths.chat, ask.chat, { cookie: 'a=b', 'x-other': 'c', 'x-api-key': 'dummy' })
    await post(paths.responses, ask.responses)
    await post(paths.messages, ask.messages, {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'files-api-2025-04-14, pdfs-2024-09-25,code-execution-2025-08-25',
    })
    await post(paths.google, ask.google)
    const seen = model.requests.map(({ url, headers }) => [
      url.slice(model.url.length),
      ...['authorization', 'x-api-key', 'x-goog-api-key'].map(name => headers.get(name)),
    ])
    expect(seen).toEqual([
      [paths.chat, `Bearer ${KEY}`, null, null],
      [paths.responses, `Bearer ${KEY}`, null, null],
      [paths.messages, null, KEY, null],
      [paths.google, null, null, KEY],
    ])
    expect(model.requests[0]?.headers.has('cookie')).toBe(false)
    expect(model.requests[0]?.headers.has('x-other')).toBe(false)
    expect(model.requests[2]?.headers.get('anthropic-version')).toBe('2023-06-01')
    expect(model.requests[2]?.headers.get('anthropic-beta')).toBe('pdfs-2024-09-25')
  })

  test('lets only the paths of the model pass', async () => {
    const model = serve(() => Response.json({}))
    const { post, port } = await startProxy(model.url)
    const others = ['/', '/v1/chat/completions', '/chat/completions/', '/chat/completions?x=1', '/models', '/keys']
    const models = ['/models/m-2:streamGenerateContent?alt=sse', '/models/m-1:generateContent', '/messages/batches']
    for (const path of [...others, ...models]) expect((await post(path)).status).toBe(403)
    expect((await fetch(`http://127.0.0.1:${port}/chat/completions`)).status).toBe(403)
    expect(model.requests).toEqual([])
  })

  test("speaks only chat completions to an endpoint of the user's own", async () => {
    const model = serve(() => Response.json({}))
    const { post } = await startProxy(model.url, { dialects: 'chat' })
    const statuses = Object.keys(paths).map(async it => (await post(paths[it as Dialect], ask[it as Dialect])).status)
    expect(await Promise.all(statuses)).toEqual([200, 403, 403, 403])
  })

  test('has the key neither in its arguments nor in its environment', async () => {
    const { child } = await startProxy('http://127.0.0.1:1')
    for (const file of ['cmdline', 'environ'])
      expect(readFileSync(`/proc/${child.pid}/${file}`, 'utf8')).not.toContain(KEY)
  })

  test('streams an answer through as it comes', async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
    const body = async function* () {
      yield 'data: first\n\n'
      await mayEnd
      yield 'data: second\n\n'
    }
    const model = serve(() => new Response(body(), { headers: { 'content-type': 'text/event-stream' } }))
    const { post } = await startProxy(model.url)
    const answer = await post(paths.chat)
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('data: first\n\n')
    end()
    expect((await reader?.read())?.value).toBe('data: second\n\n')
  })

  test('reports every request with its tokens, in any dialect, and without its content', async () => {
    const said = String.raw`{"text":"\"prompt_tokens\": 999, \"output_tokens\": 999, secret words"}`
    const answers: Record<Dialect, string> = {
      chat: `data: ${said}\n\ndata: {"usage":{"prompt_tokens":12,"completion_tokens":3}}\n\ndata: [DONE]\n`,
      messages: `data: {"usage":{"input_tokens":40,"output_tokens":1}}\n\ndata: ${said}\n\ndata: {"usage":{"output_tokens":9}}\n\n`,
      responses: `data: {"response":{"usage":{"input_tokens": 5,"output_tokens": 6}}}`,
      google: said,
    }
    const dialects = Object.keys(answers) as Dialect[]
    const model = serve(({ url }) => new Response(answers[dialects.find(it => url.endsWith(paths[it])) ?? 'chat']))
    const { post, reports } = await startProxy(model.url)
    for (const dialect of dialects) await (await post(paths[dialect], ask[dialect])).text()
    const lines = await reports()
    expect(lines.map(({ status, input, output }) => [status, input, output])).toEqual([
      [200, 12, 3],
      [200, 40, 9],
      [200, 5, 6],
      [200, null, null],
    ])
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  test('passes statuses, follows no redirects, and says that a model cannot be reached', async () => {
    const elsewhere = serve(() => new Response('hello'))
    const model = serve(request =>
      request.url.endsWith('messages')
        ? Response.redirect(`${elsewhere.url}/messages`, 307)
        : new Response('slow down', { status: 429, headers: { 'retry-after': '7' } }),
    )
    const proxy = await startProxy(model.url)
    const limited = await proxy.post(paths.chat)
    expect([limited.status, limited.headers.get('retry-after'), await limited.text()]).toEqual([429, '7', 'slow down'])
    expect((await proxy.post(paths.messages, ask.messages)).status).toBe(307)
    expect(elsewhere.requests).toEqual([])
    expect((await proxy.reports()).map(({ status }) => status)).toEqual([429, 307])

    const nowhere = await startProxy('http://127.0.0.1:1/v1')
    const answer = await nowhere.post(paths.chat)
    expect([answer.status, await answer.text()]).toEqual([
      502,
      '{"error":{"message":"Forklift: the model cannot be reached"}}',
    ])
    expect(await nowhere.reports()).toMatchObject([{ status: 0, input: null, output: null }])
  })

  test('cuts off a model that falls silent, before its answer or in the middle of it', async () => {
    const silence = Promise.withResolvers<Response>()
    const halfway = async function* () {
      yield 'data: first\n\n'
      await silence.promise
    }
    const model = serve(request => (request.url.endsWith('messages') ? silence.promise : new Response(halfway())))
    const { post, reports } = await startProxy(model.url, { silence: '300' })
    const before = await post(paths.messages, ask.messages)
    expect([before.status, await before.text()]).toEqual([
      502,
      '{"error":{"message":"Forklift: the model did not answer"}}',
    ])
    const cut = await post(paths.chat)
    expect(await refusedBy(cut.text())).toThrow()
    expect((await reports()).map(({ status }) => status)).toEqual([0, 200])
  })

  test('bounds the number of requests, with an answer that is not tried again', async () => {
    const model = serve(() => Response.json({}))
    const { post } = await startProxy(model.url)
    const statuses: number[] = []
    for (let request = 0; request < 302; request++) statuses.push((await post(paths.chat)).status)
    expect(statuses.indexOf(403)).toBe(300)
    expect(statuses.slice(300)).toEqual([403, 403])
    expect(model.requests.length).toBe(300)
  })
})

describe.skipIf(node === null)('a model that repeats the key', () => {
  const escaped = (sign: (code: string) => string) =>
    [...KEY].map(letter => sign(letter.charCodeAt(0).toString(16).padStart(2, '0'))).join('')
  const spellings: Record<string, string> = {
    'as it is': KEY,
    'in upper-case hexadecimal': Buffer.from(KEY).toString('hex').toUpperCase(),
    'in hexadecimal': Buffer.from(KEY).toString('hex'),
    'in base64': Buffer.from(`Bearer ${KEY} and more`).toString('base64'),
    'in base64 with another alignment': Buffer.from(`{"k":"${KEY}"}`).toString('base64'),
    'in base64 for URLs': Buffer.from(`user:${KEY}`).toString('base64url'),
    'in base64 of several lines': Buffer.from(`a${KEY}`).toString('base64').replace(/.{9}/g, '$&\r\n'),
    'escaped as in JSON': escaped(code => `\\u00${code}`),
    'escaped as in JSON within JSON': escaped(code => `\\\\u00${code.toUpperCase()}`),
    'escaped by percent': escaped(code => `%${code}`),
    'escaped by percent, twice and in part': 'sk%252dthe%2Dreal-key',
    'escaped as in HTML': escaped(code => `&#x${code};`),
    'cut off in its second half': KEY.slice(0, -3),
    'with marks that are not seen': [...KEY].join('\u200b'),
    'with spaces of another script': [...KEY].join('\u00a0'),
    'in two lines': `${KEY.slice(0, 7)}\n  ${KEY.slice(7)}`,
  }
  /** Whether a text contains a large part of the key, in any spelling. */
  const isTold = (text: string) =>
    [KEY.slice(3), KEY.slice(0, -3), ...Object.values(spellings)].some(it => text.includes(it))

  test('arrives without the key, in any encoding, wherever the network splits it', async () => {
    const texts = Object.values(spellings)
    const cut = async function* (text: string, length: number) {
      for (let at = 0; at < text.length; at += length) {
        yield text.slice(at, at + length)
        await Bun.sleep(1)
      }
    }
    const asked: string[] = []
    const model = serve(async request => {
      const { messages } = (await request.json()) as { messages: [{ content: string }] }
      const [at, length] = messages[0].content.split(' ').map(Number)
      asked.push(`${at}`)
      return new Response(cut(`before "${texts[at ?? 0]}" after`, length ?? 1), { status: 401 })
    })
    const { post } = await startProxy(model.url)
    for (const [at, name] of Object.keys(spellings).entries())
      for (const length of [3, 7, 1000]) {
        const answer = await post(paths.chat, { ...ask.chat, messages: [{ role: 'user', content: `${at} ${length}` }] })
        const text = await answer.text()
        expect([name, length, isTold(text)]).toEqual([name, length, false])
        expect(text).toMatch(/^before ".*\[key removed\].*" after$/s)
      }
    expect(asked).toHaveLength(3 * texts.length)
  })

  test('arrives without the key where it is compressed, and not at all in an unknown encoding', async () => {
    const body = `{"error":{"message":"Incorrect API key provided: ${KEY}. Try again."}}`
    const packed: Record<string, Uint8Array> = {
      gzip: gzipSync(body),
      'X-Gzip': gzipSync(body),
      deflate: deflateSync(body),
      br: brotliCompressSync(body),
      identity: Buffer.from(body),
      zstd: Buffer.from(body),
      'gzip, br': brotliCompressSync(gzipSync(body)),
    }
    for (const [encoding, bytes] of Object.entries(packed)) {
      const model = serve(() => new Response(bytes, { status: 401, headers: { 'content-encoding': encoding } }))
      const { post } = await startProxy(model.url)
      const answer = await post(paths.chat)
      const said = [answer.status, answer.headers.get('content-encoding'), await answer.text()]
      const isKnown = encoding !== 'zstd' && !encoding.includes(',')
      expect([encoding, ...said]).toEqual([
        encoding,
        ...(isKnown
          ? [401, null, body.replace(KEY, '[key removed]')]
          : [502, null, '{"error":{"message":"Forklift: the model answered in an encoding that is not known here"}}']),
      ])
    }
    // Compressed without a header that says so: binary data, of which nothing readable passes.
    const silent = serve(() => new Response(gzipSync(body)))
    const { post } = await startProxy(silent.url)
    const garbled = Buffer.from(await (await post(paths.chat)).arrayBuffer())
    expect(garbled.equals(gzipSync(body))).toBe(false)
    expect(garbled.toString()).toContain('\ufffd')
    const wide = serve(() => new Response(Buffer.from(body, 'utf16le')))
    expect(await (await (await startProxy(wide.url)).post(paths.chat)).text()).toContain('provided: [key removed]. Try')
  })

  test('in its headers, its status or behind its answer tells nothing', async () => {
    const answer = [
      `HTTP/1.1 401 No, ${KEY}`,
      `Content-Type: text/plain; name=${KEY}`,
      `Retry-After: ${KEY.slice(0, 8)}%2${KEY.slice(8)}`,
      `X-Key: ${KEY}`,
      `Set-Cookie: key=${KEY}`,
      'Transfer-Encoding: chunked',
      `Trailer: X-Late`,
      '',
      `2;${KEY}=1`,
      'no',
      '0',
      `X-Late: ${KEY}`,
      '',
      '',
    ]
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(`HTTP/1.1 103 ${KEY}\r\nLink: ${KEY}\r\n\r\n${answer.join('\r\n')}`))
    })
    undo.push(() => server.close())
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { raw, log } = await startProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
    const body = JSON.stringify(ask.chat)
    const heard = await raw(
      `POST ${paths.chat} HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(heard).toStartWith('HTTP/1.1 401 Unauthorized\r\n')
    expect(heard).toContain('\r\nno\r\n')
    expect(isTold(heard)).toBe(false)
    expect(isTold(await log())).toBe(false)
  })

  test('a word or a letter at a time, over the events of a stream, arrives without the key, and without delay', async () => {
    const event = (delta: object) => `data: ${JSON.stringify({ id: 'c-1', choices: [{ index: 0, delta }] })}\n\n`
    const call = (index: number, text: string) => event({ tool_calls: [{ index, function: { arguments: text } }] })
    const letters = (text: string, each: (letter: string) => string) => [...text].map(each)
    const streams: Record<string, string[]> = {
      words: ['The key is ', KEY.slice(0, 4), KEY.slice(4, 9), `${KEY.slice(9)}, and `, 'that is it.'].map(content =>
        event({ content }),
      ),
      letters: letters(`It is ${KEY}, you know.`, content => event({ content })),
      thoughts: letters(`It is ${KEY}, you know.`, reasoning => event({ reasoning })),
      'lines that end as on an old Mac': letters(KEY, content => event({ content }).replaceAll('\n', '\r')),
      'lines that end as on Windows': letters(KEY, content => event({ content }).replaceAll('\n', '\r\n')),
      'several lines an event': letters(KEY, content => event({ content }).replaceAll(',', ',\ndata: ')),
      'two calls at once': letters(`"${KEY}"`, letter => call(0, letter) + call(1, letter)),
      'base64, in turns': letters(Buffer.from(KEY).toString('base64'), letter =>
        [event({ content: letter }), event({ content: '' }), ': waiting\n\n'].join(''),
      ),
    }
    const spoken = (text: string, index: number) =>
      text
        .split('\n\n')
        .map(lines => lines.replaceAll(/^data: |^:.*/gm, ''))
        .filter(data => data.startsWith('{'))
        .map(data => JSON.parse(data).choices[0].delta)
        .map(({ content, reasoning, tool_calls: [made] = [] }) =>
          made?.index === index ? made.function.arguments : (content ?? reasoning ?? ''),
        )
        .join('')
    let [next, gate] = ['', Promise.resolve()]
    const model = serve(() => {
      const body = async function* () {
        for (const part of streams[next] ?? []) yield part
        await gate
        yield 'data: [DONE]\n\n'
      }
      return new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
    })
    const { post } = await startProxy(model.url)
    for (next of Object.keys(streams)) {
      const text = await (await post(paths.chat)).text()
      expect(text).toEndWith('data: [DONE]\n\n')
      for (const index of [0, 1]) {
        const said = spoken(text, index)
        expect([next, said, isTold(said)]).toEqual([next, expect.any(String), false])
        if (said !== '') expect(said).toContain('[key removed]')
      }
    }
    next = 'words'
    const words = await (await post(paths.chat)).text()
    expect(spoken(words, 0)).toBe('The key is [key removed], and that is it.')
    // An event is passed on as soon as it ends, even if it ends with characters of the key and no further text comes.
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    next = 'letters'
    const reader = (await post(paths.chat)).body?.pipeThrough(new TextDecoderStream()).getReader()
    let heard = ''
    while (!heard.includes('"content":"."')) heard += (await reader?.read())?.value ?? ''
    resolve()
    await reader?.cancel()
  })

  test('that is a placeholder changes nothing of an answer which has its letters, too', async () => {
    const model = serve(() => new Response('{"text":"ollama"}'))
    const { post } = await startProxy(model.url, { key: 'ollama' })
    expect(await (await post(paths.chat)).text()).toBe('{"text":"ollama"}')
  })
})

describe.skipIf(node === null)('an agent that abuses the proxy', () => {
  const http = (line: string, headers: string[] = [], body = '') =>
    `${[line, ...headers, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`

  test('ends nothing by requests that are read in part, sent in part, or never sent', async () => {
    const forever = async function* () {
      for (;;) {
        yield `data: ${'x'.repeat(4000)}\n\n`
        await Bun.sleep(1)
      }
    }
    const model = serve(({ url }) => (url.includes('messages') ? Response.json({}) : new Response(forever())))
    const { child, post, raw } = await startProxy(model.url)
    const good = http(`POST ${paths.chat} HTTP/1.1`, ['Host: x'], JSON.stringify(ask.chat))
    for (let round = 0; round < 25; round++)
      await Promise.all([raw(good, 20), raw(good.slice(0, -20), 5), raw(good.slice(0, 30), 5), raw('', 1)])
    expect(child.exitCode).toBe(null)
    expect((await post(paths.messages, ask.messages)).status).toBe(200)
  })

  test('gets no error page, and no line in the log, for any input', async () => {
    const model = serve(() => Response.json({}))
    const { post, raw, log } = await startProxy(model.url)
    const body = JSON.stringify(ask.chat)
    const odd = [
      http(`POST ${paths.chat} HTTP/1.1`, ['Host: ['], '{'),
      http('POST http://[/chat/completions HTTP/1.1', ['Host: x'], body),
      http('POST //[/chat/completions HTTP/1.1', ['Host: x'], body),
      http('POST /%00%ff%zz HTTP/1.1', ['Host: \x00'], body),
      http('GET / HTTP/1.1', ['Host: x', 'Upgrade: websocket', 'Connection: Upgrade']),
      http('CONNECT 10.0.0.1:22 HTTP/1.1', ['Host: x']),
      http('TRACE / HTTP/1.1', ['Host: x', 'Expect: nothing']),
      http(`POST ${paths.chat} HTTP/1.1`, ['Host: x', `X-Long: ${'x'.repeat(100_000)}`], body),
      `POST ${paths.chat} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n`,
      `POST ${paths.chat} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n`,
      `POST ${paths.chat} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`,
      '\x16\x03\x01 not http at all\r\n\r\n',
    ]
    for (const bytes of odd) {
      const answer = await raw(bytes)
      expect(answer).toMatch(/^(|HTTP\/1\.1 4\d\d [\s\S]*)$/)
      expect(answer).not.toContain('.mjs')
    }
    // Only the first line and the body matter: a broken header is ignored.
    expect(await raw(http(`POST ${paths.chat} HTTP/1.1`, ['Host: ['], body))).toStartWith('HTTP/1.1 200 ')
    expect((await post(paths.chat)).status).toBe(200)
    expect((await log()).trim().split('\n')).toHaveLength(2)
  })

  test('is answered a thousand times; then everything is refused, and the log stays short', async () => {
    const model = serve(() => Response.json({}))
    const { post, raw, log } = await startProxy(model.url)
    for (let round = 0; round < 100; round++)
      await Promise.all(Array.from({ length: 10 }, () => raw('GET / HTTP/1.1\r\nHost: [\r\n\r\n')))
    const refused = await post(paths.chat)
    expect([refused.status, await refused.text()]).toEqual([
      403,
      '{"error":{"message":"Forklift: the 1000 connections of a run are spent"}}',
    ])
    expect(model.requests).toEqual([])
    expect(await log()).toBe('')
  }, 30_000)

  test('cannot fill its memory: bodies have a bound, in bytes, in depth and in values', async () => {
    const model = serve(async request => Response.json({ length: (await request.text()).length }))
    const { post } = await startProxy(model.url)
    const refusal = async (body: string) => {
      const answer = await post(paths.chat, body)
      return [answer.status, ((await answer.json()) as { error: { message: string } }).error.message]
    }
    const tangled = [403, 'Forklift: the body is no JSON of a usual shape']
    expect(await refusal(' '.repeat(17 << 20))).toEqual([413, 'Forklift: a request may have 16777216 bytes'])
    expect(await refusal('['.repeat(15 << 20))).toEqual(tangled)
    expect(await refusal(`[${'{},'.repeat(5 << 20)}{}]`)).toEqual(tangled)
    expect(await refusal('{"model":"m-1"')).toEqual(tangled)
    const long = { ...ask.chat, messages: [{ role: 'user', content: '['.repeat(10 << 20) }] }
    expect((await post(paths.chat, long)).status).toBe(200)
  }, 30_000)
})

describe.skipIf(node === null)('a request to the model', () => {
  const refused: Record<Dialect, Record<string, Json>> = {
    chat: {
      'for another model': { model: 'm-2' },
      'without a model': { model: undefined },
      'for many answers': { n: 128 },
      'without a bound on tokens': { max_tokens: undefined },
      'for too many tokens': { max_tokens: 1_000_000 },
      'for no tokens, which may mean any number': { max_tokens: 0 },
      'for no tokens by another name': { max_tokens: undefined, max_completion_tokens: 0 },
      'for thought without a bound': { thinking: { type: 'enabled', budget_tokens: 0 } },
      'that is kept by the provider': { store: true },
      'that searches': { web_search_options: {} },
      'that says how it is billed': { service_tier: 'priority' },
      'with a tool of the provider': { tools: [{ type: 'web_search' }] },
      'with an image to fetch': {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }] }],
      },
      'with a file of the account': {
        messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
      },
      'with sound kept by the provider': { messages: [{ role: 'assistant', audio: { id: 'audio-1' } }] },
    },
    messages: {
      'for another model': { model: 'm-2' },
      'without a bound on tokens': { max_tokens: undefined },
      'for no tokens, which may mean any number': { max_tokens: 0 },
      'for too much thought': { thinking: { type: 'enabled', budget_tokens: 1_000_000 } },
      'with servers to ask': { mcp_servers: [{ type: 'url', url: 'https://x.example', name: 'x' }] },
      'with a machine of the provider': { container: 'container-1' },
      'with a tool of the provider': { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] },
      'with an image to fetch': {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } }] },
        ],
      },
      'with a file of the account, in what a tool gave': {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 't',
                content: [{ type: 'document', source: { type: 'file', file_id: 'file-1' } }],
              },
            ],
          },
        ],
      },
    },
    responses: {
      'for another model': { model: 'm-2' },
      'without a bound on tokens': { max_output_tokens: undefined },
      'for no tokens, which may mean any number': { max_output_tokens: 0 },
      'that is kept by the provider': { store: true },
      'that does not say that it is not kept': { store: undefined },
      'that goes on with an earlier answer': { previous_response_id: 'resp-1' },
      'that goes on with a conversation': { conversation: 'conv-1' },
      'that runs in the background': { background: true },
      'by a stored prompt': { prompt: { id: 'pmpt-1' } },
      'with a tool of the provider': { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
      'with a remote tool': { tools: [{ type: 'mcp', server_label: 'x', server_url: 'https://x.example' }] },
      'with a stored item': { input: [{ type: 'item_reference', id: 'msg-1' }] },
      'with an image to fetch': {
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://x.example/a.png' }] }],
      },
      'with a file to fetch, in what a tool gave': {
        input: [
          {
            type: 'function_call_output',
            call_id: 'c',
            output: [{ type: 'input_file', file_url: 'https://x.example/a.pdf' }],
          },
        ],
      },
    },
    google: {
      'without a bound on tokens': { generationConfig: {} },
      'for no tokens, which may mean any number': { generationConfig: { maxOutputTokens: 0 } },
      'for many answers': { generationConfig: { maxOutputTokens: 100, candidateCount: 8 } },
      'with a stored context': { cachedContent: 'cachedContents/1' },
      'that searches': { tools: [{ googleSearch: {} }] },
      'that reads pages': { tools: [{ urlContext: {} }] },
      'with a file to fetch': { contents: [{ role: 'user', parts: [{ fileData: { fileUri: 'https://x.example' } }] }] },
    },
  }

  test('of which the provider would store, fetch, run or bill something else is refused, with a sentence', async () => {
    const model = serve(() => Response.json({}))
    const { post, log } = await startProxy(model.url)
    for (const [dialect, cases] of Object.entries(refused)) {
      for (const [name, change] of Object.entries(cases)) {
        const answer = await post(paths[dialect as Dialect], { ...ask[dialect as Dialect], ...change })
        const { error } = (await answer.json()) as { error: { message: string } }
        expect([dialect, name, answer.status]).toEqual([dialect, name, 403])
        expect(error.message).toMatch(/^Forklift: the model may not be asked with this: body\.\S+ \(m-1 only\)$/)
      }
    }
    expect(model.requests).toEqual([])
    expect(await log()).toBe('')
  })

  test('that hides a field behind another of its name is sent as it was read', async () => {
    const bodies: string[] = []
    const model = serve(async request => {
      bodies.push(await request.text())
      return Response.json({})
    })
    const { post } = await startProxy(model.url)
    const twice = JSON.stringify(ask.chat).replace('"model"', '"model":"m-2","n":1,"model"')
    expect((await post(paths.chat, twice)).status).toBe(200)
    expect(bodies).toEqual([JSON.stringify(ask.chat).replace('"m-1"', '"m-1","n":1')])
    expect((await post(paths.chat, twice.replace('"n":1', '"__proto__":{"n":2}'))).status).toBe(403)
  })

  test('with tool arguments and results passes, whatever their fields are called', async () => {
    const model = serve(() => Response.json({}))
    const { post } = await startProxy(model.url)
    const schema = { type: 'object', properties: { file_id: { type: 'string' }, store: { type: 'boolean' } } }
    const png = 'data:image/png;base64,AAAA'
    const good: Record<Dialect, Json> = {
      chat: {
        tools: [{ type: 'function', function: { name: 'a', description: 'b', parameters: schema } }],
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'a', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'c', content: 'https://x.example/a.png' },
          { role: 'user', content: [{ type: 'image_url', image_url: { url: png } }] },
        ],
      },
      messages: {
        tools: [{ name: 'a', description: 'b', input_schema: schema }],
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'redacted_thinking', data: 'x' },
              { type: 'tool_use', id: 'c', name: 'a', input: { file_id: 'x' } },
            ],
          },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'c',
                is_error: true,
                content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
              },
            ],
          },
        ],
      },
      responses: {
        tools: [{ type: 'function', name: 'a', description: 'b', parameters: schema, strict: false }],
        input: [
          { type: 'reasoning', encrypted_content: 'x', summary: [] },
          { type: 'function_call', call_id: 'c', name: 'a', arguments: '{"file_id":"x"}' },
          { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: png }] },
        ],
      },
      google: {
        tools: [{ functionDeclarations: [{ name: 'a', description: 'b', parameters: schema }] }],
        contents: [
          { role: 'model', parts: [{ functionCall: { name: 'a', args: { file_id: 'x' } }, thoughtSignature: 'x' }] },
          { role: 'user', parts: [{ functionResponse: { name: 'a', response: { fileData: 'x' } } }] },
        ],
      },
    }
    for (const [dialect, change] of Object.entries(good)) {
      const answer = await post(paths[dialect as Dialect], { ...ask[dialect as Dialect], ...change })
      expect([dialect, answer.status, await answer.text()]).toEqual([dialect, 200, '{}'])
    }
  })
})
