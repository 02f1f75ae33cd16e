/** The checks in FORGE.md. */
import { expect, test } from 'bun:test'
import { parseForgeMd } from '../../../forge/ai/forge-md.ts'

const TEXT = `# For the forge

Nothing here is a check: \`rm -rf /\`.

- \`not this either\`

## Checks

- prepare: \`bun install\`
- \`bun test\`: all tests
* mend: \`biome check --write .\`
1. \`make lint\`

\`\`\`
- \`in a fence\`
\`\`\`

## Conventions

- \`no check\`
`

test('the commands below its heading Checks are read, by what they are for', () => {
  const { checks, prepare, mend, text } = parseForgeMd(TEXT)
  expect({ checks, prepare, mend }).toEqual({
    checks: ['bun test', 'make lint'],
    prepare: ['bun install'],
    mend: ['biome check --write .'],
  })
  expect(text).toBe(TEXT)
})

test('without that heading, or with nothing in it, there are none', () => {
  expect(parseForgeMd('').checks).toEqual([])
  expect(parseForgeMd('# Checks\n\nNone yet.\n').checks).toEqual([])
  expect(parseForgeMd(`# checks #\r\n- \`a\`\r\n- \`${'x'.repeat(2001)}\`\r\n`).checks).toEqual(['a'])
})
