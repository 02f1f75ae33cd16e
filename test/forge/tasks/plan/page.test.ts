/** docs/plan.md says what the schema says. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { toJsonSchema } from '@valibot/to-json-schema'
import { PAGE, planPage } from '../../../../docs/plan.ts'
import { parsePlanFile } from '../../../../forge/tasks/plan/file.ts'
import { Plan } from '../../../../forge/tasks/plan/schema.ts'

test('docs/plan.md is as docs/plan.ts makes it: run `bun docs/plan.ts`', async () => {
  expect(await readFile(PAGE, 'utf8')).toBe(planPage())
})

test('its example is a plan', () => {
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(planPage()) ?? []
  expect(parsePlanFile(example, 'docs/plan.md').tasks).toHaveLength(2)
})

test('each field of the schema has a row with words', () => {
  const rows = planPage().match(/^\| `.*$/gm) ?? []
  expect(rows.length).toBeGreaterThan(25)
  for (const row of rows) expect(row).toMatch(/^\| `[\w.[\]]+` \| \S.*\. \| .*\|$/)
  for (const name of ['tasks[].context.documents', 'contract[].how.question', 'tasks[].depends_on'])
    expect(rows.some(row => row.startsWith(`| \`${name}\``))).toBe(true)
})

test('the same words are in the schema that a model gets', () => {
  const json = JSON.stringify(toJsonSchema(Plan, { errorMode: 'ignore' }))
  expect(json).toContain('Files that it must not touch')
})
