/**
 * The frontend of a Temporal server as clusters and the Cloud have it: TLS, an API key, and no operator service. It
 * passes all other calls on, unchanged, to a real server. Run by itself, so that a busy client does not slow it:
 * tls-frontend.ts CERTIFICATE KEY ADDRESS, with the API key in TEST_API_KEY; it prints its port.
 */
import { readFileSync } from 'node:fs'
import {
  connect,
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'

const [UNAUTHENTICATED, PERMISSION_DENIED] = ['16', '7']

const [cert = '', key = '', address = ''] = process.argv.slice(2)
const apiKey = process.env.TEST_API_KEY
const behind = connect(`http://${address}`)

const frontend = createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) })
frontend.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  stream.on('error', () => undefined)
  const path = String(headers[':path'])
  if (headers.authorization !== `Bearer ${apiKey}`) refuse(stream, UNAUTHENTICATED, 'Invalid API key')
  else if (path.includes('OperatorService')) refuse(stream, PERMISSION_DENIED, 'Request unauthorized.')
  else pass(stream, headers)
})
frontend.listen(0, '127.0.0.1', () => console.log((frontend.address() as AddressInfo).port))

function refuse(stream: ServerHttp2Stream, status: string, message: string): void {
  const headers = { 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': message }
  stream.respond({ ':status': 200, ...headers }, { endStream: true })
}

function pass(stream: ServerHttp2Stream, { ':authority': _, ...headers }: IncomingHttpHeaders): void {
  const call = behind.request(headers as OutgoingHttpHeaders)
  let trailers: OutgoingHttpHeaders = {}
  call.on('trailers', received => {
    trailers = received as OutgoingHttpHeaders
  })
  call.on('response', (received: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
    if (stream.destroyed) return
    // A call that fails at once has its status in the only headers.
    if ('grpc-status' in received) {
      stream.respond(received as OutgoingHttpHeaders, { endStream: true })
      return
    }
    stream.respond(received as OutgoingHttpHeaders, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    call.pipe(stream)
  })
  call.on('error', () => stream.destroy())
  stream.on('close', () => call.close(constants.NGHTTP2_CANCEL))
  stream.pipe(call)
}
