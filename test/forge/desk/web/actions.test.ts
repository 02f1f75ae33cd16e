/** The tables of actions and settings: docs/desk.md matches them, and no key has two meanings in one place. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { isSettingKey, SETTINGS } from '../../../../forge/desk/contract/settings.ts'
import { type Listed, TABLES } from '../../../../forge/desk/web/app/commands.ts'

const DOCS = join(import.meta.dir, '../../../../docs/desk.md')

/** Actions with the same name are one row, such as those that go to a tab by its number. */
function rowsOf(tables: readonly Record<string, Listed>[]): string[] {
  const keys = new Map<string, string[]>()
  for (const { label, ...action } of tables.flatMap(table => Object.values(table))) {
    const all = [action.keys, action.listKeys].filter(it => it !== undefined)
    if (all.length > 0) keys.set(label, [...(keys.get(label) ?? []), ...all])
  }
  return [...keys].map(([label, all]) => `| ${label} | ${[...new Set(all)].map(it => `\`${it}\``).join(' ')} |`)
}

test('docs/desk.md lists the keys of all actions', async () => {
  const docs = await Bun.file(DOCS).text()
  const [, listed = ''] = /<!-- keys -->\n\n(.*?)\n\n<!-- end of keys -->/s.exec(docs) ?? []
  const tables = TABLES.map(({ title, tables }) =>
    [`### ${title}`, '', '| action | keys |', '|---|---|', ...rowsOf(tables)].join('\n'),
  )
  expect(listed.split('\n')).toEqual(tables.join('\n\n').split('\n'))
})

test('docs/desk.md lists all settings, and what each may be', async () => {
  const docs = await Bun.file(DOCS).text()
  const [, listed = ''] = /## Settings\n.*?\n\| key \| value \|\n\|---\|---\|\n(.*?)\n\n/s.exec(docs) ?? []
  const rows = listed.split('\n').map(row => /^\| `(.*)` \| (.*) \|$/.exec(row) ?? [])
  expect(rows.map(([, key]) => key)).toEqual(Object.keys(SETTINGS))
  const unsaid = rows.filter(
    ([, key = '', words = '']) => !isSettingKey(key) || !words.includes(wordsOf(SETTINGS[key])),
  )
  expect(unsaid).toEqual([])
})

/** What the documentation says of a schema: its options, or its bounds. */
function wordsOf(schema: object): string {
  if ('options' in schema)
    return (schema.options as string[])
      .map(option => `\`${option}\``)
      .join(', ')
      .replace(/, (\S+)$/, ' or $1')
  if (!('pipe' in schema)) return 'whether'
  const bound = (type: string) =>
    (schema.pipe as { type: string; requirement?: unknown }[]).find(it => it.type === type)
  const [least, most] = [bound('min_value'), bound('max_value')]
  return least && most ? `${least.requirement} to ${most.requirement}` : ''
}

test('docs/desk.md has lines of at most 120 characters', async () => {
  const lines = (await Bun.file(DOCS).text()).split('\n')
  expect(lines.filter(line => line.length > 120)).toEqual([])
})

test('the same keys in one table are of actions that are not possible at the same time', () => {
  const shared = TABLES.flatMap(({ tables }) => {
    const actions = tables.flatMap(table => Object.values(table))
    const byKeys = Map.groupBy(
      actions.filter(({ keys }) => keys !== undefined),
      ({ keys }) => keys,
    )
    return [...byKeys.values()]
      .filter(({ length }) => length > 1)
      .map(some => some.map(({ label }) => label).join(', '))
  })
  expect(shared).toEqual([
    'Stop Forklift, Run Forklift',
    'Go to the explorer, Go to the conflicted files',
    'Push…, Publish branch…',
    'Pause, Resume',
  ])
})
