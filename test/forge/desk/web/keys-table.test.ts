/** docs/keys.md: what it says of the desk's keys is true, and nothing that people miss goes unsaid. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { TABLES } from '../../../../forge/desk/web/app/commands.ts'

const DOCS = join(import.meta.dir, '../../../../docs/keys.md')
const NONE = '—'

interface Row {
  action: string
  vsCode: string
  desk: string
  remark: string
}

const rows: Row[] = (await Bun.file(DOCS).text())
  .split('\n')
  .filter(line => line.startsWith('| '))
  .slice(1)
  .map(line => {
    const [, action = '', vsCode = '', , , desk = '', remark = ''] = line.split('|').map(cell => cell.trim())
    return { action, vsCode, desk, remark }
  })

/**
 * The keys of each action, as the column of the desk writes them. Actions of one name in several tables have several.
 */
const declared = Map.groupBy(
  TABLES.flatMap(({ tables }) => tables.flatMap(table => Object.values(table))),
  ({ label }) => label,
)

function keysOf(action: string): string[] {
  return (declared.get(action) ?? []).map(({ keys, otherKeys, listKeys }) =>
    [...new Set([keys, otherKeys, listKeys])].flatMap(one => (one === undefined ? [] : [`\`${one}\``])).join(' '),
  )
}

test('docs/keys.md names at least fifty actions, each once', () => {
  const actions = rows.map(({ action }) => action)
  expect(actions.length).toBeGreaterThanOrEqual(50)
  expect(actions.filter((action, index) => actions.indexOf(action) !== index)).toEqual([])
})

test('docs/keys.md has the keys of the desk as they are', () => {
  const wrong = rows
    .filter(({ desk }) => desk !== NONE)
    .filter(({ action, desk }) => !keysOf(action).includes(desk))
    .map(({ action, desk }) => `${action}: ${desk}, is ${keysOf(action).join(' or ')}`)
  expect(wrong).toEqual([])
})

test('docs/keys.md says that the desk lacks only what it lacks', () => {
  const present = rows.filter(({ action, desk }) => desk === NONE && declared.has(action))
  expect(present).toEqual([])
})

test('docs/keys.md says of each key of VS Code that the desk does not take why, or what else there is', () => {
  const unsaid = rows
    .filter(({ vsCode, desk }) => vsCode !== NONE && !desk.split(' ').includes(vsCode))
    .filter(({ remark }) => remark === '')
    .map(({ action }) => action)
  expect(unsaid).toEqual([])
})
