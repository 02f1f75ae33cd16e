/** A value of the server on the page: what is shown while it is loading, and after a failure. */
import { expect, test } from 'bun:test'
import { ServerValue } from '../../../../forge/desk/web/ui/server-value.ts'

/** A value loaded from the server; the test answers its requests, in any order. */
function valueByHand(settings = {}) {
  const questions: PromiseWithResolvers<string>[] = []
  const value = new ServerValue(() => {
    const question = Promise.withResolvers<string>()
    questions.push(question)
    return question.promise
  }, settings)
  return { value, questions }
}

test('the last answer stays until the next one is there', async () => {
  const { value, questions } = valueByHand()
  const first = value.refresh()
  questions[0]?.resolve('one')
  await first
  const second = value.refresh()
  expect(value.latest.value).toBe('one')
  questions[1]?.resolve('two')
  await second
  expect(value.latest.value).toBe('two')
})

test('an answer that comes after a later one is dropped, also a failure', async () => {
  const { value, questions } = valueByHand()
  const asked = [value.refresh(), value.refresh(), value.refresh()]
  questions[2]?.resolve('newest')
  questions[0]?.resolve('oldest')
  questions[1]?.reject(new Error('too late'))
  await Promise.all(asked)
  expect(value.latest.value).toBe('newest')
  expect(value.problem.value).toBeUndefined()
})

test('a request whose place a later one took ends with the answer of that', async () => {
  const { value, questions } = valueByHand()
  const first = value.refresh()
  const second = value.refresh()
  questions[0]?.resolve('old')
  const seen = first.then(() => value.latest.value)
  await Promise.resolve()
  questions[1]?.resolve('new')
  await second
  expect(await seen).toBe('new')
})

test('a failure says why, leaves what was there, and can be tried again', async () => {
  const { value, questions } = valueByHand()
  const first = value.refresh()
  questions[0]?.resolve('one')
  await first
  const second = value.refresh()
  questions[1]?.reject(new Error('The disk is full.'))
  await second
  expect(value.problem.value).toBe('The disk is full.')
  expect(value.latest.value).toBe('one')
  const third = value.refresh()
  questions[2]?.resolve('three')
  await third
  expect(value.problem.value).toBeUndefined()
  expect(value.latest.value).toBe('three')
})

test('after a failure nothing is left of a value that would be about something else', async () => {
  const { value, questions } = valueByHand({ forgetsOnFailure: true })
  const first = value.refresh()
  questions[0]?.resolve('one')
  await first
  const second = value.refresh()
  questions[1]?.reject(new Error('no'))
  await second
  expect(value.latest.value).toBeUndefined()
})

test('news are of no interest before it was asked for', () => {
  const { value, questions } = valueByHand()
  value.touch()
  expect(questions).toEqual([])
  value.load()
  value.load()
  expect(questions.length).toBe(1)
})

test('what is forgotten is asked for again as if for the first time, without the old failure', async () => {
  const { value, questions } = valueByHand()
  const first = value.refresh()
  questions[0]?.resolve('one')
  await first
  value.forget()
  expect([value.latest.value, value.problem.value]).toEqual([undefined, undefined])
  const second = value.refresh()
  questions[1]?.reject(new Error('not there'))
  await second
  expect(value.problem.value).toBe('not there')
  value.forget()
  expect(value.problem.value).toBeUndefined()
})
