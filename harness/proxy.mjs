// The model, as the agent sees it: a server on loopback that adds the credential to each request.
//
//   BUN_BE_BUN=1 opencode proxy.mjs FOLDER [SILENCE_MS] <<< "$base_url $key"      (OpenCode is built on Bun, which runs this too)
//
// Takes the model's address and the key on standard input, so that neither is in an argument or in the environment.
// Gives its port as the first line on standard output; on standard error one JSON line a request, without content:
// {"forklift":"request","ms":1234,"status":200,"input":1200,"output":300}.
//
// Only the model's own paths pass, a bounded number of times (403 then: OpenCode tries again on 429), and a model that
// falls silent is cut off. It also watches the disk that FOLDER is on, which has no other bound, and ends at the limit.
import { statfs } from 'node:fs/promises'

const MAX_REQUESTS = 300
const MAX_BODY = 32 * 1024 * 1024
const SILENCE_MS = Number(process.argv[3] ?? 120_000)
// Together: no disk takes a gibibyte in a tenth of a second.
const MIN_FREE_BYTES = 1024 ** 3
const DISK_CHECK_MS = 100

// chat completions, OpenAI's responses, Anthropic's messages, Google's models: what OpenCode's providers speak.
const PATHS = /^\/(chat\/completions|responses|messages|models\/[\w.-]+:(streamGenerateContent|generateContent))$/
const PASSED_ON = ['content-type', 'accept', 'user-agent', 'anthropic-version', 'anthropic-beta']
const PASSED_BACK = ['content-type', 'retry-after']
const INPUT_TOKENS = /"(?:prompt_tokens|input_tokens|promptTokenCount)"\s*:\s*(\d+)/g
const OUTPUT_TOKENS = /"(?:completion_tokens|output_tokens|candidatesTokenCount)"\s*:\s*(\d+)/g
const LONGEST_LINE = 1024 * 1024

const [base, key] = (await Bun.stdin.text()).trim().split(' ')
if (!base || !key) fail('no address or no key on standard input')
const folder = process.argv[2] ?? fail('no folder to watch')
let requests = 0

function fail(sentence) {
  console.error(`proxy: ${sentence}`)
  process.exit(1)
}

const refuse = (status, message) => Response.json({ error: { message: `Forklift: ${message}` } }, { status })

/** The headers of a request to the model: a few of the agent's, and the key where its dialect expects one. */
function headersFor(request) {
  const headers = new Headers({ 'accept-encoding': 'identity' })
  for (const name of PASSED_ON) {
    const value = request.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  const dialect = ['x-api-key', 'x-goog-api-key'].find(name => request.headers.has(name))
  if (dialect) headers.set(dialect, key)
  else headers.set('authorization', `Bearer ${key}`)
  return headers
}

/** Counts tokens in passing: the last number a dialect reports is the total. */
function tokenCounter() {
  const decoder = new TextDecoder()
  const counts = { input: null, output: null }
  let rest = ''
  const last = (text, pattern, known) => [...text.matchAll(pattern)].reduce((_, match) => Number(match[1]), known)
  return {
    counts,
    add(chunk) {
      rest += decoder.decode(chunk, { stream: true })
      const end = rest.lastIndexOf('\n') + 1
      this.read(rest.slice(0, end))
      rest = rest.slice(end).slice(-LONGEST_LINE)
    },
    finish() {
      this.read(rest)
    },
    read(text) {
      counts.input = last(text, INPUT_TOKENS, counts.input)
      counts.output = last(text, OUTPUT_TOKENS, counts.output)
    },
  }
}

async function forward(request, path) {
  const began = performance.now()
  const tokens = tokenCounter()
  const stop = new AbortController()
  let status = 0
  let timer
  const heard = () => {
    clearTimeout(timer)
    timer = setTimeout(() => stop.abort(), SILENCE_MS)
  }
  const report = () => {
    clearTimeout(timer)
    const ms = Math.round(performance.now() - began)
    console.error(JSON.stringify({ forklift: 'request', ms, status, ...tokens.counts }))
  }
  request.signal.addEventListener('abort', () => stop.abort())
  heard()
  try {
    const body = await request.arrayBuffer()
    const options = { method: 'POST', body, headers: headersFor(request), redirect: 'manual', signal: stop.signal }
    const answer = await fetch(base + path, options)
    status = answer.status
    const headers = new Headers()
    for (const name of PASSED_BACK) {
      const value = answer.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    if (answer.body) return new Response(passOn(answer.body, tokens, heard, report), { status, headers })
    report()
    return new Response(null, { status, headers })
  } catch {
    report()
    return refuse(502, stop.signal.aborted ? 'the model did not answer' : 'the model cannot be reached')
  }
}

/** The answer, chunk by chunk as it comes. Whatever ends it, it is reported once; what breaks off breaks off here too. */
function passOn(body, tokens, heard, report) {
  const reader = body.getReader()
  const finish = () => {
    tokens.finish()
    report()
  }
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          finish()
          return controller.close()
        }
        heard()
        tokens.add(value)
        controller.enqueue(value)
      } catch {
        finish()
        controller.error()
      }
    },
    cancel() {
      finish()
      return reader.cancel()
    },
  })
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: MAX_BODY,
  fetch(request) {
    const { pathname, search } = new URL(request.url)
    if (request.method !== 'POST' || !PATHS.test(pathname)) return refuse(403, 'this path is not the model')
    if (++requests > MAX_REQUESTS) return refuse(403, `the ${MAX_REQUESTS} requests of a run are spent`)
    return forward(request, pathname + search)
  },
})
console.log(server.port)

setInterval(async () => {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < MIN_FREE_BYTES) fail('less than 1 GiB is left on the disk of the workspace')
}, DISK_CHECK_MS)
