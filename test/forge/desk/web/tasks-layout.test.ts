/** The layout of a run's tasks, and the arrow keys in it. */
import { describe, expect, test } from 'bun:test'
import type { RunTask } from '../../../../forge/desk/contract/tasks.ts'
import { layOut, neighbour } from '../../../../forge/desk/web/tasks/tasks-layout.ts'
import { workOf } from '../../../support/times.ts'

const plan = (graph: Record<string, string[]>): RunTask[] =>
  Object.entries(graph).map(([id, dependsOn]) => ({
    ...{ id, dependsOn, title: id, state: 'waits' as const, attempt: 0, doing: '', words: '' },
  }))
const places = (graph: Record<string, string[]>) =>
  Object.fromEntries(layOut(plan(graph)).nodes.map(({ task, column, row }) => [task.id, `${column},${row}`]))
const lines = (graph: Record<string, string[]>) => layOut(plan(graph)).lines.map(({ from, to }) => `${from}>${to}`)

describe('a plan', () => {
  test('stands in columns, each task right of all that it waits for', () => {
    expect(places({ d: ['b', 'c'], a: [], b: ['a'], c: ['a', 'b'] })).toEqual({
      a: '0,0',
      b: '1,0',
      c: '2,0',
      d: '3,0',
    })
  })

  test('has each task near what it waits for', () => {
    expect(places({ a: [], b: [], x: ['b'], y: ['a'] })).toMatchObject({ y: '1,0', x: '1,1' })
  })

  test('has a line for each dependency that no other one implies', () => {
    expect(lines({ a: [], b: ['a'], c: ['a', 'b'] })).toEqual(['a>b', 'b>c'])
  })

  test('with a circle, or with names that are not there, is drawn all the same', () => {
    expect(places({ a: ['c'], b: ['a'], c: ['b'], d: ['nobody'] })).toEqual({ d: '0,0', a: '1,0', b: '1,1', c: '1,2' })
    expect(lines({ a: ['c'], b: ['a'], c: ['b'], d: ['nobody'] })).toEqual([])
    expect(layOut([])).toMatchObject({ nodes: [], lines: [] })
  })

  test('has tasks as wide as the view has room for, within bounds', () => {
    const graph = plan({ a: [], b: ['a'], c: ['b'] })
    const widthIn = (room: number) => layOut(graph, room).nodeWidth
    expect([widthIn(0), widthIn(560), widthIn(2_000)]).toEqual([139, 158, 200])
    const { width, nodes, lines } = layOut(graph, 560)
    expect(width).toBeLessThanOrEqual(560)
    expect(nodes.map(({ left }) => left)).toEqual([16, 200, 384])
    expect(lines[0]?.path).toStartWith('M174 ')
  })

  test('of a thousand tasks is laid out at once', () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `t${at}`)
    const graph = Object.fromEntries(ids.map((id, at) => [id, at < 10 ? [] : [`t${at - 10}`, `t${at - 7}`]]))
    const work = workOf(() => expect(layOut(plan(graph)).nodes).toHaveLength(1_000))
    expect(work).toBeLessThan(2_000)
  })
})

test('the arrow keys lead to the nearest task in their direction, and end where there is none', () => {
  const layout = layOut(plan({ a: [], b: [], x: ['a'], y: ['a'], z: ['b'] }))
  expect(neighbour(layout, 'a', 'ArrowDown')).toBe('b')
  expect(neighbour(layout, 'b', 'ArrowRight')).toBe('y')
  expect(neighbour(layout, 'y', 'ArrowLeft')).toBe('b')
  expect(neighbour(layout, 'x', 'ArrowUp')).toBeUndefined()
  expect(neighbour(layout, 'x', 'Home')).toBe('a')
  expect(neighbour(layout, 'a', 'End')).toBe('z')
  expect(neighbour(layout, 'a', 'Enter')).toBeUndefined()
})
