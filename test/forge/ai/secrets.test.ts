/** Texts that look like secrets are blacked out; similar harmless ones stay. */
import { expect, test } from 'bun:test'
import { blackOut, MARK } from '../../../forge/ai/secrets.ts'
import { workOf } from '../../support/times.ts'

/** Made-up secrets, in pieces, so that secret scanners do not report this file. */
const letters = (count: number): string => 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0'.repeat(40).slice(0, count)
const SECRETS = {
  Anthropic: `sk-ant-api03-${letters(90)}`,
  OpenRouter: `sk-or-v1-${'0a'.repeat(32)}`,
  'OpenAI of a project': `sk-proj-${letters(60)}-_${letters(60)}`,
  'OpenAI, old': `sk-${letters(48)}`,
  'GitHub, classic': `ghp_${letters(36)}`,
  'GitHub of an app': `ghs_${letters(36)}`,
  'GitHub, fine-grained': `github_pat_${letters(22)}_${letters(59)}`,
  GitLab: `glpat-${letters(20)}`,
  'AWS id': `AKIA${'ABCD2345'.repeat(2)}`,
  Google: `AIza${letters(35)}`,
  Slack: `xoxb-${'1'.repeat(12)}-${letters(24)}`,
  npm: `npm_${letters(36)}`,
  PyPI: `pypi-${letters(80)}`,
  Stripe: `sk_live_${letters(24)}`,
  'a JSON web token': `eyJ${letters(30)}.eyJ${letters(60)}.${letters(43)}`,
}

for (const [name, secret] of Object.entries(SECRETS)) {
  test(`a key of ${name} is blacked out wherever it stands`, () => {
    for (const [before, after] of [
      ['', ''],
      ['key=', '\n'],
      ['"', '"'],
      ['(', ').'],
      ['\\n', '\\n'],
      ['=', '&a=b'],
      ['\\u003d', ''],
      ['%3D', '%26'],
    ])
      expect(blackOut(`${before}${secret}${after}`, [])).toBe(`${before}${MARK}${after}`)
  })
}

test('of a named AWS key, of a header and of a URL with a password only the secret goes', () => {
  const key = letters(40)
  expect(blackOut(`AWS_SECRET_ACCESS_KEY=${key}\n`, [])).toBe(`AWS_SECRET_ACCESS_KEY=${MARK}\n`)
  expect(blackOut(`{"aws_secret_access_key": "${key}"}`, [])).toBe(`{"aws_secret_access_key": "${MARK}"}`)
  expect(blackOut(`Authorization: Bearer ${key}`, [])).toBe(`Authorization: Bearer ${MARK}`)
  expect(blackOut(`curl -H "authorization: basic ${key}"`, [])).toBe(`curl -H "authorization: basic ${MARK}"`)
  expect(blackOut('postgres://root:hunter22@db:5432/x', [])).toBe(`postgres://root:${MARK}@db:5432/x`)
  expect(blackOut('https://:hunter22@host/', [])).toBe(`https://:${MARK}@host/`)
  expect(blackOut(`https://hooks.slack.com/services/T00000000/B00000000/${letters(24)}`, [])).toBe(
    `https://hooks.slack.com/services/${MARK}`,
  )
})

test('a private key goes with its frame, as lines, as a JSON string, and where its end is missing', () => {
  const line = letters(64)
  const frame = (kind: string, end: string) =>
    `-----BEGIN ${kind}PRIVATE KEY-----${end}${`${line}${end}`.repeat(5)}-----END ${kind}PRIVATE KEY-----`
  for (const kind of ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])
    for (const end of ['\n', '\r\n', '\\n', '\\r\\n'])
      expect(blackOut(`a\n${frame(kind, end)}\nb`, [])).toBe(`a\n${MARK}\nb`)
  expect(blackOut(`-----BEGIN PRIVATE KEY-----\n${line}\n${line}\n"cut"`, [])).toBe(`${MARK}"cut"`)
  const talk = 'A file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----, you see.'
  expect(blackOut(talk, [])).toBe(talk)
})

test('a value that is known goes in every plain encoding', () => {
  const known = 'My+Own/Key-"with"\\all_é~1234'
  const json = JSON.stringify(known).slice(1, -1)
  const forms = [
    known,
    json,
    JSON.stringify(json).slice(1, -1),
    json.replace('M', '\\u004d').replace('K', '\\u004B').replace('/', '\\/'),
    JSON.stringify(json.replace('M', '\\u004d')).slice(1, -1),
    encodeURIComponent(known),
    encodeURIComponent(encodeURIComponent(known)),
    encodeURIComponent(known).toLowerCase().replace('my%2bown%2fkey', 'My%2bOwn%2fKey'),
    Buffer.from(known).toString('hex'),
    Buffer.from(known).toString('hex').toUpperCase(),
  ]
  for (const form of forms) expect(blackOut(`<${form}>`, [known])).toBe(`<${MARK}>`)
})

test('a value that is known goes in base64, also inside of something longer', () => {
  const known = 'correct horse battery staple'
  for (const before of ['', 'u', 'us', 'user:', 'name:x:'])
    for (const after of ['', '\n', ':tail'])
      for (const encoding of ['base64', 'base64url'] as const) {
        const black = blackOut(Buffer.from(before + known + after).toString(encoding), [known])
        expect(black).toContain(MARK)
        expect(Buffer.from(black.replace(MARK, ''), encoding).toString()).not.toContain('horse')
      }
})

test('of two values that are known, the one that begins with the other goes whole', () => {
  expect(blackOut('longer-value-1234-and-more', ['longer-value-1234', 'longer-value-1234-and-more'])).toBe(MARK)
})

test('an empty or a very short value blacks out nothing', () => {
  expect(blackOut('the cat sat', ['', ' ', 'cat'])).toBe('the cat sat')
})

test('what is no secret stays: hashes, ids, long names, addresses, examples', () => {
  const friends = [
    'da39a3ee5e6b4b0d3255bfef95601890afd80709',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
    '550e8400-e29b-41d4-a716-446655440000',
    'AbstractSingletonProxyFactoryBeanGeneratorImplementation',
    'task-force-of-very-many-hyphens-and-more',
    'task-da39a3ee5e6b4b0d3255bfef95601890afd80709 task-or-something-else-that-is-long',
    'risk-0123456789abcdef0123456789abcdef',
    'sk-button-primary sk-or sk-ant- sk_buff',
    'ghp_ github_pat_ npm_config_registry npm_lifecycle_event',
    'AKIA, ASIA and AIza',
    'https://example.com:8080/path@v2 git@github.com:a/b.git ssh://git@host:22/x',
    'https://user:$PASSWORD@host https://user:password@host https://user:{{token}}@host',
    'http://localhost:3000/@scope/name',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'Authorization: Bearer <token>',
    'eyJ is how it begins. eyJhbGciOiJIUzI1NiJ9 alone is a header',
  ]
  for (const friend of friends) expect(blackOut(friend, ['known-value-1'])).toBe(friend)
})

test('it takes time in proportion to the text, whatever is in it', () => {
  const bad = [
    'eyJ-',
    '://a:',
    '://:b',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN A A A A PRIVATE KEY',
    '-----END PRIVATE KEY-----\n',
    'aws_secret_key = ',
    'authorization: bearer ',
    'sk-ant-',
    'ya29.',
    '\\',
    '%25',
    'known-valu',
    'a',
    '=',
    ' ',
    'xoxb-1-',
  ]
  for (const piece of bad) {
    const text = piece.repeat((1 << 20) / piece.length)
    const gone = workOf(() => blackOut(text, ['known-value-1', '%2F%2F%2F%2F%2F%2F', '\\\\\\\\\\\\\\\\']))
    if (process.env.TELL) console.log(JSON.stringify(piece), gone.toFixed(0))
    expect(gone).toBeLessThan(4000)
  }
})
