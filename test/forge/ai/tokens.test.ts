/** Tokens are guessed by bytes, and better once a provider has counted. */
import { expect, test } from 'bun:test'
import { Tokens } from '../../../forge/ai/tokens.ts'

test('a text has a token for every 3.6 bytes until something is known', () => {
  const tokens = new Tokens()
  expect(tokens.estimate('m', 'a'.repeat(36))).toBe(10)
  expect(tokens.estimate('m', 'ä'.repeat(18))).toBe(10)
  expect(tokens.estimate('m', 3600)).toBe(1000)
  expect(tokens.estimate('m', '')).toBe(0)
})

test('what a provider counted makes the next estimates of its model exact', () => {
  const tokens = new Tokens()
  tokens.learn('m', 3000, 1000)
  expect(tokens.estimate('m', 3000)).toBe(1000)
  expect(tokens.estimate('other', 3600)).toBe(1000)
})

test('one odd request changes little', () => {
  const tokens = new Tokens()
  tokens.learn('m', 4000, 1000)
  tokens.learn('m', 2000, 1000)
  expect(tokens.estimate('m', 3500)).toBe(1000)
})

test.each([0, -5, Number.NaN, 1, 1e9])('a count of %d for 3,600 bytes is not believed', counted => {
  const tokens = new Tokens()
  tokens.learn('m', 3600, counted)
  expect(tokens.estimate('m', 3600)).toBe(1000)
})

test('a megabyte of what an attacker wrote takes no time', () => {
  const tokens = new Tokens()
  const at = performance.now()
  tokens.estimate('m', 'a'.repeat(1e6))
  expect(performance.now() - at).toBeLessThan(2000)
})
