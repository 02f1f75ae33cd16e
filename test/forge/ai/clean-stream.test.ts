/** A model's text, as it streams in, shows no part of a secret, and in the end lacks nothing but secrets. */
import { expect, test } from 'bun:test'
import { CleanStream } from '../../../forge/ai/clean-stream.ts'
import { blackOut } from '../../../forge/ai/secrets.ts'
import { randomFrom } from '../../support/random.ts'

const KNOWN = 'made-up-value-of-a-key'
const GITHUB = `ghp_${'a1B2'.repeat(9)}`
const BODY = Array.from({ length: 12 }, (_, at) => `${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'}${at}AbCdEfGhIjKlMnOp`).join(
  '\n',
)
const PRIVATE = `-----BEGIN RSA PRIVATE KEY-----\n${BODY}\n-----END RSA PRIVATE KEY-----`
const clean = (text: string) => blackOut(text, [KNOWN])

const TEXTS = {
  'a known value': `The key is ${KNOWN}, as I said.`,
  'a known value in base64': `It is ${Buffer.from(KNOWN).toString('base64')} there.`,
  'a token by its form': `export TOKEN=${GITHUB}\nand on it goes`,
  'a header': `curl -H 'Authorization: Bearer abcdefghijklmnop.qrstuv' x`,
  'a password in an address': 'See https://me:hunter22hunter@host.example/x for it.',
  'a private key': `Look:\n${PRIVATE}\nThat was it.`,
  'no secret': 'A certificate: -----BEGIN CERTIFICATE-----\nabc\n\nÄnderung für 漢字 and so on.\n',
  'a long text': `${'All is well, says the model, and goes on. \n'.repeat(300)}${GITHUB} ${'more of it\n'.repeat(300)}`,
}
const SECRETS = [KNOWN, Buffer.from(KNOWN).toString('base64'), GITHUB, 'qrstuv', 'hunter22hunter', BODY.slice(0, 30)]

for (const [name, text] of Object.entries(TEXTS))
  test(`${name} comes in any pieces as it is in the end`, () => {
    for (let seed = 1; seed <= (text.length > 2_000 ? 3 : 30); seed++) {
      const random = randomFrom(seed)
      const stream = new CleanStream(clean)
      const most = seed % 3 === 0 ? 3 : 40
      let given = ''
      for (let at = 0; at < text.length; ) {
        const length = 1 + random.below(most)
        given += stream.take(text.slice(at, at + length))
        at += length
        if (SECRETS.some(secret => given.includes(secret.slice(0, 12)))) throw new Error(`A secret is shown: ${given}`)
      }
      expect(given + stream.end()).toBe(clean(text))
    }
  })

test('a text comes word by word, and no word is held back for long', () => {
  const stream = new CleanStream(clean)
  expect(stream.take('Hel')).toBe('')
  expect(stream.take('lo, wor')).toBe('Hello, ')
  expect(stream.take('ld')).toBe('')
  expect(stream.end()).toBe('world')
  expect(stream.take('x'.repeat(20_000)).length).toBe(20_000)
})
