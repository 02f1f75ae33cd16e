/** Access only for the user: known attacks on local servers, against every route and the socket. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { cookieFor, proofFor, questionFor, secretFor } from '../../../../forge/desk/server/access.ts'
import { askForTicket, urlWith } from '../../../../forge/desk/server/address.ts'
import { protocolsWith, SECRET_HEADER } from '../../../../forge/desk/server/secret.ts'
import { makePlace, type Place } from '../../../support/repository.ts'
import {
  cookieOf,
  openTestDesk,
  ours,
  request,
  SCRIPT,
  SCRIPT_TEXT,
  send,
  type TestDesk,
  UPGRADE,
} from '../../../support/served.ts'
import { shortest } from '../../../support/times.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII='
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

let place: Place
let desk: TestDesk
let port = 0
let routes: string[] = []
let svg = ''

const blob = async (bytes: Uint8Array) => {
  const child = Bun.spawn(['git', 'hash-object', '-w', '--stdin'], { cwd: place.path, stdin: bytes, stdout: 'pipe' })
  return (await child.stdout.text()).trim()
}

beforeAll(async () => {
  place = await makePlace()
  const image = await blob(Buffer.from(PIXEL, 'base64'))
  svg = await blob(Buffer.from(SVG))
  desk = await openTestDesk(place.path)
  port = desk.key.port
  routes = ['/', '/socket', '/key', SCRIPT, `/image/${image}`]
})
afterAll(async () => {
  await desk[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

type Headers = Record<string, string | string[] | undefined>
/** A request to a route; to the socket's route, an upgrade. */
const ask = (path: string, headers: Headers = {}, method = 'GET') =>
  send(port, request(path, { ...desk.headers, ...(path === '/socket' && upgrade()), ...headers }, method))
/** The headers of a WebSocket request, which can send the secret only in its list of protocols. */
const upgrade = () => ({
  ...UPGRADE,
  [SECRET_HEADER]: undefined,
  'Sec-WebSocket-Protocol': protocolsWith(secretFor(desk.key)).join(', '),
})
/** The status of each route for the same headers. */
const statuses = (headers: Headers, method = 'GET') =>
  Promise.all(routes.map(async path => (await ask(path, headers, method)).status))
const all = (status: number) => routes.map(() => status)

test('the desk’s own page has full access', async () => {
  expect(await statuses({})).toEqual([200, 101, 204, 200, 200])
})

describe('a credential is required:', () => {
  const value = () => cookieOf(desk.key).replace(/^[^=]*=/, '')
  const wrong = () => value().replace(/^./, char => (char === 'A' ? 'B' : 'A'))
  test.each<[string, () => string | undefined]>([
    ['none', () => undefined],
    ['an empty one', () => `desk_${port}=`],
    ['another one', () => `desk_${port}=${'A'.repeat(43)}`],
    ['one that is wrong in one letter', () => `desk_${port}=${wrong()}`],
    ['the beginning of it', () => cookieOf(desk.key).slice(0, -1)],
    ['it and more', () => `${cookieOf(desk.key)}x`],
    ['the cookie of another port', () => `desk_${port + 1}=${value()}`],
    ['one made for another port', () => cookieOf({ ...desk.key, port: port + 1 })],
    ['a cookie whose name ends in ours', () => `x${cookieOf(desk.key)}`],
    ['it as the value of another cookie', () => `other=${cookieOf(desk.key)}`],
    ['the token of the address', () => `desk_${port}=${desk.key.token}`],
    ['the secret of the page', () => `desk_${port}=${secretFor(desk.key)}`],
  ])('%s', async (_, cookie) => {
    expect(await statuses({ Cookie: cookie() })).toEqual(all(401))
  })

  test('the right one among several is accepted', async () => {
    const Cookie = `a=b; desk_${port}=planted; ${cookieOf(desk.key)}; desk_1=${value()}`
    expect(await statuses({ Cookie })).toEqual([200, 101, 204, 200, 200])
  })

  test('the cookie alone, which browsers send to any local server, gives only the empty page', async () => {
    const secret = secretFor(desk.key)
    for (const shown of [undefined, '', value(), desk.key.token, secret.slice(0, -1), `${secret}x`]) {
      const protocols = shown === undefined ? undefined : protocolsWith(shown).join(', ')
      const headers = { [SECRET_HEADER]: shown, 'Sec-WebSocket-Protocol': protocols }
      expect(await statuses(headers)).toEqual([200, 401, 401, 200, 401])
    }
    // The cookie's value is not taken for the token, and the empty page does not contain the secret.
    expect((await ask(`/?token=${value()}`)).status).toBe(401)
    expect((await ask('/')).body).not.toContain(secret)
  })

  test('each route reads the secret in its own way', async () => {
    const secret = secretFor(desk.key)
    expect((await ask('/socket', { 'Sec-WebSocket-Protocol': undefined, [SECRET_HEADER]: secret })).status).toBe(401)
    const Protocol = { 'Sec-WebSocket-Protocol': protocolsWith(secret).join(', '), [SECRET_HEADER]: undefined }
    for (const path of ['/key', routes[4] ?? '']) {
      expect((await ask(path, Protocol)).status).toBe(401)
      expect((await ask(`${path}?secret=${secret}`, { [SECRET_HEADER]: undefined })).status).toBe(401)
    }
    expect((await ask('/socket')).headers['sec-websocket-protocol']).toBe('forge')
  })

  test('the token works only in the page’s address, and gives cookie and secret', async () => {
    const visit = { Cookie: undefined, Origin: undefined, [SECRET_HEADER]: undefined }
    const answer = await ask(`/?token=${desk.key.token}`, visit)
    expect(answer.status).toBe(200)
    expect(answer.headers['set-cookie']).toBe(cookieFor(desk.key))
    expect(cookieFor(desk.key)).toMatch(new RegExp(`^desk_${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`))
    expect(answer.body).toContain(secretFor(desk.key))
    expect(answer.body).not.toContain(desk.key.token)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['content-security-policy']).toContain("script-src 'self';")
    for (const path of routes.slice(1))
      expect((await ask(`${path}?token=${desk.key.token}`, { Cookie: undefined })).status).toBe(401)
  })

  test('a ticket works like the token, but once', async () => {
    const visit = { Cookie: undefined, Origin: undefined, [SECRET_HEADER]: undefined }
    const ticket = (await askForTicket({ ...desk.key, host: 'here' })) ?? ''
    const path = new URL(urlWith(desk.key, ticket))
    expect((await ask(`/socket?ticket=${ticket}`, { Cookie: undefined })).status).toBe(401)
    const answer = await ask(`${path.pathname}${path.search}`, visit)
    expect([answer.status, answer.headers['set-cookie']]).toEqual([200, cookieFor(desk.key)])
    expect(answer.body).toContain(secretFor(desk.key))
    for (const used of [ticket, '', 'A'.repeat(43)]) {
      const again = await ask(`/?ticket=${used}`, visit)
      expect([again.status, again.headers['set-cookie']]).toEqual([401, undefined])
    }
  })

  test('a window without one is told where to get it', async () => {
    const { body } = await ask('/', { Cookie: undefined })
    expect(body).toBe(
      'This window has no key to the desk: run `forge` again in the folder of repo, and use the address that it prints.',
    )
  })

  test('another start of the command with the token gets an answer, and another program at the port learns nothing', async () => {
    const address = { ...desk.key, host: 'here', pid: 1 }
    const ticket = (await askForTicket(address)) ?? ''
    expect(ticket).toMatch(/^[\w-]{43}$/)
    expect(await askForTicket({ ...address, token: 'A'.repeat(43) })).toBeUndefined()
    const challenge = 'a word'
    const here = (secret: string | undefined, word: string | undefined = challenge) =>
      ask('/here', { 'X-Forge-Challenge': word, [SECRET_HEADER]: secret })
    expect((await here(questionFor(desk.key, challenge))).body).toContain(`{"proof":"${proofFor(desk.key, challenge)}"`)
    for (const secret of [undefined, '', secretFor(desk.key), proofFor(desk.key, challenge), desk.key.token])
      expect((await here(secret)).status).toBe(401)
    expect((await here(questionFor(desk.key, 'another word'))).status).toBe(401)
    const seen: string[] = []
    await using stranger = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: request => {
        seen.push(JSON.stringify([...request.headers]))
        return Response.json({ proof: 'x' })
      },
    })
    const left = { ...address, port: stranger.port ?? 0 }
    expect(await askForTicket(left)).toBeUndefined()
    expect(seen).toHaveLength(1)
    for (const known of [left.token, secretFor(left), cookieOf(left)]) expect(seen[0]).not.toContain(known)
  })

  test.each(['', 'x', 'A'.repeat(43), 'A'.repeat(5000), '%00', '[]'])(
    'a wrong token gets no cookie: %p',
    async token => {
      const answer = await ask(`/?token=${token}`, { Cookie: undefined })
      expect([answer.status, answer.headers['set-cookie']]).toEqual([401, undefined])
      expect(answer.body).not.toContain(secretFor(desk.key))
    },
  )
})

describe('a local host name is required:', () => {
  test.each<[string, string | string[] | undefined]>([
    ['another host', 'evil.example'],
    ['a name that was pointed here', 'rebound.evil.example:PORT'],
    ['one that begins like ours', '127.0.0.1.evil.example:PORT'],
    ['one that ends like ours', 'evil-localhost:PORT'],
    ['one below localhost', 'a.localhost:PORT'],
    ['ours as somebody’s user', '127.0.0.1@evil.example'],
    ['all addresses', '0.0.0.0:PORT'],
    ['none that is said', ''],
    ['ours and another one', ['127.0.0.1:PORT', 'evil.example']],
    ['another one and ours', ['evil.example', '127.0.0.1:PORT']],
  ])('%s', async (_, host) => {
    const Host = Array.isArray(host) ? host.map(it => it.replace('PORT', `${port}`)) : host?.replace('PORT', `${port}`)
    for (const Origin of [undefined, `http://${Array.isArray(Host) ? Host[0] : Host}`])
      for (const status of await statuses({ Host, Origin })) expect([400, 421, 403]).toContain(status)
  })

  test('a request without any is refused', async () => {
    for (const status of await statuses({ Host: undefined })) expect([400, 421]).toContain(status)
  })

  test.each(['localhost', '127.0.0.1', '[::1]'])('%s is accepted', async name => {
    const host = `${name}:${port}`
    expect(await statuses({ Host: host, Origin: `http://${host}` })).toEqual([200, 101, 204, 200, 200])
  })

  test('an absolute address in the request line does not replace the Host', async () => {
    for (const path of [`http://127.0.0.1:${port}/key`, `http://localhost:${port}/`])
      expect((await ask(path, { Host: 'evil.example', Origin: undefined })).status).toBe(421)
    expect((await ask('//evil.example/key')).status).toBe(404)
  })
})

describe('only the desk’s own page may ask:', () => {
  test.each([
    'http://evil.example',
    'https://127.0.0.1:PORT',
    'http://127.0.0.1',
    'http://127.0.0.1:1',
    'http://localhost:PORT',
    'http://127.0.0.1:PORT.evil.example',
    'http://127.0.0.1:PORT/',
    'null',
    '',
    'file://',
    'chrome-extension://abcdefghijklmnop',
  ])('Origin %p', async origin => {
    expect(await statuses({ Origin: origin.replace('PORT', `${port}`) })).toEqual(all(403))
  })

  test('the socket is not opened without an Origin', async () => {
    expect(await statuses({ Origin: undefined })).toEqual([200, 403, 204, 200, 200])
  })

  test.each(['cross-site', 'same-site'])('a page of another site reads nothing: %s', async site => {
    for (const mode of ['no-cors', 'cors', 'same-origin', 'websocket', 'nested-navigate'])
      expect(await statuses({ 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode, Origin: undefined })).toEqual(all(403))
    const frame = { 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' }
    expect(await statuses({ ...frame, Origin: undefined })).toEqual(all(403))
  })

  test('a link leads to the page, and to nothing else', async () => {
    const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
    expect(await statuses({ ...link, Origin: undefined })).toEqual([200, 403, 403, 403, 403])
    const answer = await ask(`/?token=${desk.key.token}`, { ...link, Origin: undefined, Cookie: undefined })
    expect(answer.status).toBe(200)
  })

  test('no other origin is ever allowed to read', async () => {
    for (const path of routes) {
      const { headers } = await ask(path, { Origin: undefined })
      expect(Object.keys(headers).filter(name => name.startsWith('access-control'))).toEqual([])
    }
    expect((await ask('/key', { 'Access-Control-Request-Method': 'GET' }, 'OPTIONS')).status).toBe(405)
  })
})

describe('unknown requests are refused:', () => {
  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'])('%s', async method => {
    expect(await statuses({ 'Content-Length': '0' }, method)).toEqual(all(405))
  })

  test('CONNECT and TRACE', async () => {
    for (const method of ['CONNECT', 'TRACE'])
      for (const status of await statuses({}, method)) expect([0, 400, 403, 405, 501]).toContain(status)
  })

  test.each([
    '/..%2f..%2f..%2fetc/passwd',
    '/../../../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/image/../../etc/passwd',
    '/image/..%2f..%2fetc%2fpasswd',
    '/image/HEAD',
    '/image/--help',
    `/image/${'a'.repeat(40)}`,
    `/image/${'a'.repeat(41)}`,
    `/image/${'a'.repeat(40)}%0aHEAD`,
    `/image/${'a'.repeat(40)}^{tree}`,
    '/index.html',
    '/.git/config',
    '/main-abcd1234.js/',
    '/MAIN-abcd1234.js',
    '/main-abcd1234.js%00.png',
    '/%6dain-abcd1234.js',
    '/C:/Windows/win.ini',
    '/file:///etc/passwd',
    '/constructor',
    '/__proto__',
    '/desk.json',
    '/%',
    '/%ff%fe',
    `/${'a/'.repeat(3000)}`,
  ])('%s', async path => {
    const answer = await ask(path)
    expect([404, 400, 414, 431]).toContain(answer.status)
    expect(answer.body).not.toContain('root:')
    expect(answer.body).not.toMatch(/at .*\.ts|node_modules|bun/i)
  })

  test('a request that is no HTTP', async () => {
    for (const bytes of [
      '\0\0\0\0\r\n\r\n',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\0\x01\0\x01\xfc\r\n\r\n',
    ]) {
      const answer = await send(port, bytes)
      expect(answer.status).not.toBe(200)
      expect(answer.body).not.toMatch(/\.ts:|node_modules/)
    }
    expect((await ask('/key')).status).toBe(204)
  })

  test('a request with a body', async () => {
    const answer = await send(
      port,
      `${request('/key', { ...desk.headers, 'Content-Length': '5000000' })}${'x'.repeat(70_000)}`,
    )
    expect(answer.status).not.toBe(500)
    expect((await ask('/key')).status).toBe(204)
  })
})

describe('the headers of a response:', () => {
  test('prevent framing, type guessing, reading by other pages, and referrers', async () => {
    const answers = [
      ...(await Promise.all(routes.filter(path => path !== '/socket').map(path => ask(path)))),
      ...(await Promise.all([ask('/nothing'), ask('/', { Cookie: undefined }), ask('/', { Host: 'evil.example' })])),
      await ask('/', {}, 'POST'),
      await ask(`/?token=${desk.key.token}`),
    ]
    for (const { headers } of answers) {
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['referrer-policy']).toBe('no-referrer')
      expect(headers['cross-origin-opener-policy']).toBe('same-origin')
      expect(headers['cross-origin-resource-policy']).toBe('same-origin')
      expect(headers['content-security-policy']).toMatch(/frame-ancestors 'none'|sandbox/)
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(headers['x-frame-options']).toBe('DENY')
    }
  })

  test('allow only the page’s own scripts, and styles with a new nonce each time', async () => {
    const [one, other] = [await ask('/'), await ask('/')]
    const policy = one.headers['content-security-policy'] ?? ''
    const [, nonce = ''] = /style-src 'self' 'nonce-([\w+/=]{22,})'/.exec(policy) ?? []
    expect(one.body).toContain(`content="${nonce}"`)
    expect(other.headers['content-security-policy']).not.toContain(nonce)
    expect(policy).toContain("script-src 'self';")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(policy).toMatch(/; img-src data: blob:; .*; require-trusted-types-for 'script'; trusted-types 'none'$/)
    expect(one.headers['cache-control']).toBe('no-store')
  })

  test('let an image be only an image; an SVG is none', async () => {
    const { headers } = await ask(routes[4] ?? '')
    expect(headers['content-type']).toBe('image/png')
    expect(headers['content-security-policy']).toBe("sandbox; default-src 'none'")
    for (const dest of ['image', 'document', undefined])
      expect((await ask(`/image/${svg}`, { 'Sec-Fetch-Dest': dest })).status).toBe(404)
  })

  test('let a script be compressed as the browser accepts, and cached by its hash', async () => {
    const get = (encoding: string) =>
      fetch(`http://127.0.0.1:${port}${SCRIPT}`, { headers: { ...ours(desk.key), 'accept-encoding': encoding } })
    for (const [accepted, used] of [
      ['br, gzip', 'br'],
      ['gzip, deflate', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['identity', null],
    ] as const) {
      const answer = await get(accepted)
      expect(answer.headers.get('content-encoding')).toBe(used)
      expect(await answer.text()).toBe(SCRIPT_TEXT)
      expect(answer.headers.get('cache-control')).toContain('immutable')
      expect(answer.headers.get('vary')).toBe('accept-encoding')
    }
    const [{ headers }] = [await ask(SCRIPT)]
    expect((await ask(SCRIPT, { 'If-None-Match': headers.etag })).status).toBe(304)
  })
})

test('silent or slow connections do not block others, and are closed', async () => {
  const slow = Array.from({ length: 300 }, () => connect(port, '127.0.0.1'))
  const closed = slow.map(socket => new Promise(resolve => socket.on('close', resolve).on('error', resolve)))
  const begun = slow.map(socket => new Promise<void>(resolve => socket.on('connect', () => resolve())))
  await Promise.all(begun)
  for (const [at, socket] of slow.entries()) if (at % 2) socket.write('GET / HTTP/1.1\r\nHost: 127')
  const answered = await shortest(1_000, async () => expect((await ask('/key')).status).toBe(204))
  expect(answered).toBeLessThan(1_000)
  // All connections are closed before the test's time is over.
  await Promise.all(closed)
}, 120_000)
