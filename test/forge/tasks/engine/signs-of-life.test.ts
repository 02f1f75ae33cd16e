/** How often activities send heartbeats: often enough to notice a cancellation soon, and no more. */
import { expect, test } from 'bun:test'
import { SignsOfLife } from '../../../../forge/tasks/engine/signs-of-life.ts'

/** Heartbeats with a clock that a test moves. */
function makeSigns() {
  let now = 0
  const signs = new SignsOfLife(() => now)
  const counts = new Map<string, number>()
  const add = (group: string, name: string) => signs.add(group, () => counts.set(name, (counts.get(name) ?? 0) + 1))
  const wait = (seconds: number) => {
    for (let gone = 0; gone < seconds; gone += 4) {
      now += 4000
      signs.look()
    }
  }
  return { signs, counts, add, wait, [Symbol.dispose]: () => signs[Symbol.dispose]() }
}

test('of fifty sub-agents one says every four seconds that it lives, and each other one every twenty', () => {
  using it = makeSigns()
  for (let at = 0; at < 50; at++) it.add('run task', `${at}`)
  it.wait(60)
  expect(it.counts.get('0')).toBe(15)
  expect([...it.counts.values()].slice(1)).toEqual(Array(49).fill(3))
})

test('another task has a first one of its own, and when the first one ends, the next one takes its place', () => {
  using it = makeSigns()
  const first = it.add('run one', 'a')
  it.add('run one', 'b')
  it.add('run two', 'c')
  it.wait(8)
  expect(Object.fromEntries(it.counts)).toEqual({ a: 2, c: 2 })
  first[Symbol.dispose]()
  it.wait(8)
  expect(it.counts.get('b')).toBe(2)
})

test('when one has heard that it is cancelled, all of its group ask at once', () => {
  using it = makeSigns()
  for (const name of ['a', 'b', 'c']) it.add('run one', name)
  it.add('run two', 'd')
  it.signs.askAll('run one')
  expect(Object.fromEntries(it.counts)).toEqual({ a: 1, b: 1, c: 1 })
})
