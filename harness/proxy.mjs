// The model's server as the agent sees it: a proxy on loopback that adds the key to each request, and removes it from
// each answer (redact.mjs).
//
//   node proxy.mjs MODEL chat|all [SILENCE_MS] <<< "$base_url $key"
//
// Takes the model's address and the key on standard input, so that neither is in an argument or in the environment. The
// agent's folder (requests.mjs) says which requests MODEL may get, and by which APIs. Prints its port as the first line
// on standard output, and on standard error one JSON line for each request that was passed on, without content:
// {"forklift":"request","ms":1234,"status":200,"input":1200,"output":300}.
//
// It runs on the distribution's Node, with only Node's own modules, as a user of its own. Everything has a limit:
// requests, connections, headers, bodies, time, and output. A refused request is answered with status 403 (agents try
// again on 429) and a sentence in JSON, and counts too.
import http from 'node:http'
import https from 'node:https'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { urlToHttpOptions } from 'node:url'
import zlib from 'node:zlib'
import { BETAS, rulesFor } from './agents/chosen/requests.mjs'
import { redactorOf } from './redact.mjs'

const MAX_REQUESTS = 300 // requests passed to the model
const MAX_CONNECTIONS = 1000 // connections in total, one request each, including refused, broken and unfinished ones
const MAX_AT_ONCE = 16
const MAX_BODY = 16 * 1024 * 1024
const MAX_SAID = 100_000 // bytes on standard error: three times what 300 requests need
const [model, dialects, silence = '120000'] = process.argv.slice(2)
const SILENCE_MS = Number(silence)

const PASSED_ON = ['accept', 'user-agent', 'anthropic-version']
const PASSED_BACK = ['content-type', 'retry-after']
// The model is asked for uncompressed answers. If an answer is compressed all the same, it must be unpacked to find the
// key in it.
const UNPACK = new Map([
  ['gzip', zlib.createGunzip],
  ['x-gzip', zlib.createGunzip],
  ['deflate', zlib.createInflate],
  ['br', zlib.createBrotliDecompress],
])
const HARMLESS = /^[\w ()+,./:;=*"-]{1,300}$/
const INPUT_TOKENS = /"(?:prompt_tokens|input_tokens|promptTokenCount)"\s*:\s*(\d+)/g
const OUTPUT_TOKENS = /"(?:completion_tokens|output_tokens|candidatesTokenCount)"\s*:\s*(\d+)/g
const MAX_LINE_BYTES = 1024 * 1024

let said = 0
function say(line) {
  said += line.length + 1
  if (said <= MAX_SAID) process.stderr.write(`${line}\n`)
}

function fail(sentence) {
  say(`proxy: ${sentence}`)
  process.exit(1)
}

// The error's message may contain text from a client.
process.on('uncaughtException', error => fail(`ended by an error of its own (${error?.code ?? error?.name})`))
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

let input = ''
for await (const chunk of process.stdin) input += chunk
const [address, key] = input.trim().split(' ')
input = ''
if (!address || !key || !model) fail('no address, no key or no model')
const { protocol, hostname, port, pathname } = urlToHttpOptions(new URL(address))
const client = protocol === 'https:' ? https : http
const prefix = pathname.replace(/\/$/, '')
const withoutKey = redactorOf(key)
const judge = rulesFor(model, dialects === 'all')

let connections = 0
let requests = 0

function refuse(response, status, sentence) {
  const body = JSON.stringify({ error: { message: `Forklift: ${sentence}` } })
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

/**
 * Reads the whole body before an answer is sent, while the client is not yet reading; undefined where it is too large.
 */
async function bodyOf(request) {
  let chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size <= MAX_BODY) chunks.push(chunk)
    else chunks = []
  }
  return size <= MAX_BODY ? Buffer.concat(chunks) : undefined
}

async function serve(request, response) {
  response.setHeader('connection', 'close')
  const body = await bodyOf(request)
  if (connections > MAX_CONNECTIONS)
    return refuse(response, 403, `the ${MAX_CONNECTIONS} connections of a run are spent`)
  if (!body) return refuse(response, 413, `a request may have ${MAX_BODY} bytes`)
  const asked = judge(request.method, request.url, body)
  if (asked.refusal) return refuse(response, 403, asked.refusal)
  if (++requests > MAX_REQUESTS) return refuse(response, 403, `the ${MAX_REQUESTS} requests of a run are spent`)
  await forward({ ...asked, headers: headersFor(request, asked) }, response)
}

/** The headers of a request to the model: some of the agent's, and the key in the header that the API expects. */
function headersFor(request, asked) {
  const headers = { 'content-type': 'application/json', 'content-length': asked.body.length }
  headers['accept-encoding'] = 'identity'
  for (const name of PASSED_ON) {
    const value = request.headers[name]
    if (HARMLESS.test(value ?? '')) headers[name] = value
  }
  const betas = String(request.headers['anthropic-beta'] ?? '').split(',')
  const known = betas.map(name => name.trim()).filter(name => BETAS.includes(name))
  if (known.length > 0) headers['anthropic-beta'] = known.join(',')
  headers[asked.key] = asked.key === 'authorization' ? `Bearer ${key}` : key
  return headers
}

/** Counts tokens in the stream: the last number of an API is the total. */
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
      rest = rest.slice(end).slice(-MAX_LINE_BYTES)
    },
    finish() {
      this.read(rest)
      rest = ''
    },
    read(text) {
      counts.input = last(text, INPUT_TOKENS, counts.input)
      counts.output = last(text, OUTPUT_TOKENS, counts.output)
    },
  }
}

function send({ path, headers, body }, signal) {
  const where = { hostname, port, path: prefix + path, autoSelectFamily: true, agent: false }
  return new Promise((resolve, reject) => {
    const asking = client.request({ ...where, method: 'POST', headers, signal }, resolve)
    asking.on('error', reject)
    asking.end(body)
  })
}

/**
 * Passes the answer on chunk by chunk, without the key. Ends a model that stops sending, and a client that stops
 * reading.
 */
async function forward(asked, response) {
  const began = performance.now()
  const tokens = tokenCounter()
  const stop = new AbortController()
  let status = 0
  let timer
  const heard = () => {
    clearTimeout(timer)
    timer = setTimeout(() => stop.abort(), SILENCE_MS)
  }
  let isReported = false
  const report = () => {
    if (isReported) return
    isReported = true
    tokens.finish()
    const ms = Math.round(performance.now() - began)
    say(JSON.stringify({ forklift: 'request', ms, status, ...tokens.counts }))
  }
  // The request is reported before the client sees its end, because the run may be over then.
  const listening = new Transform({
    transform(chunk, _encoding, done) {
      heard()
      tokens.add(chunk)
      done(null, chunk)
    },
    flush(done) {
      report()
      done()
    },
    destroy(error, done) {
      report()
      done(error)
    },
  })
  response.once('close', () => stop.abort())
  heard()
  try {
    const answer = await send(asked, stop.signal)
    status = answer.statusCode
    const encoding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
    const unpacked = encoding === 'identity' ? [] : [UNPACK.get(encoding)?.()]
    if (unpacked.includes(undefined)) {
      answer.destroy()
      report()
      return refuse(response, 502, 'the model answered in an encoding that is not known here')
    }
    for (const name of PASSED_BACK) {
      const value = withoutKey.text(answer.headers[name] ?? '')
      if (HARMLESS.test(value)) response.setHeader(name, value)
    }
    response.writeHead(status) // with Node's own reason phrase
    await pipeline(answer, ...unpacked, listening, withoutKey.stream(), response)
  } catch {
    report()
    if (response.headersSent) response.destroy()
    else refuse(response, 502, stop.signal.aborted ? 'the model did not answer' : 'the model cannot be reached')
  } finally {
    clearTimeout(timer)
  }
}

const server = http.createServer(
  { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 1000 },
  (request, response) => serve(request, response).catch(() => response.destroy()),
)
server.maxConnections = MAX_AT_ONCE
server.maxRequestsPerSocket = 1
server.on('connection', () => connections++)
server.on('clientError', (_error, socket) => socket.destroy())
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
