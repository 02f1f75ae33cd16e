/** The order of tasks: the longest chain first, and paths along dependencies. */
import { expect, test } from 'bun:test'
import { rowLengths, type TaskNode, wayBetween } from '../../../../forge/tasks/run/graph.ts'

const node = (id: string, ...waitsFor: string[]): TaskNode => ({ id, waitsFor })

test('a row is as long as what follows one after the other', () => {
  const rows = rowLengths([node('a'), node('b', 'a'), node('c', 'a', 'b'), node('d'), node('e', 'd')])
  expect(Object.fromEntries(rows)).toEqual({ a: 3, b: 2, c: 1, d: 2, e: 1 })
})

test('what waits in a circle, or for what is not there, does not hang', () => {
  const rows = rowLengths([node('a', 'b'), node('b', 'a'), node('c', 'nothing')])
  expect(Object.fromEntries(rows)).toEqual({ a: 1, b: 1, c: 1 })
})

test('rows of a thousand tasks are counted at once', () => {
  const nodes = Array.from({ length: 1000 }, (_, at) => node(`${at}`, ...(at > 0 ? [`${at - 1}`] : [])))
  expect(rowLengths(nodes).get('0')).toBe(1000)
})

test('the shortest way from one task to another is found, and none where there is none', () => {
  const nodes = [node('a', 'b', 'c'), node('b', 'd'), node('c', 'b'), node('d'), node('x', 'x')]
  expect(wayBetween(nodes, 'a', 'd')).toEqual(['a', 'b', 'd'])
  expect(wayBetween(nodes, 'd', 'a')).toBeUndefined()
  expect(wayBetween(nodes, 'a', 'a')).toEqual(['a'])
})
