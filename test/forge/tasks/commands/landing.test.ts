/** The lines that the user reads before a merge, and the commit message. */
import { expect, test } from 'bun:test'
import { nameOfCheck } from '../../../../forge/tasks/checks/check-name.ts'
import { landingMessage, scriptLines } from '../../../../forge/tasks/commands/landing.ts'
import { command, plan, task } from '../plan/plans.ts'

const SCRIPT = 'set -e\ncd src\n# All of it.\npython3 -c "import a; assert a.b(1) == 2"\ngrep -q b ../README.md'
const LONG =
  'The function parse_timedelta takes weeks as well as days, whatever their case, and says which word it has not understood.'
const PLAN = {
  ...plan([task('a', { claims: ['A1', 'A2'] })], [command('A1', SCRIPT), command('A2', 'bun test')]),
  summary: 'I decided to leave out months. Say so if you want them otherwise.',
}
const landed = (says: string[]) => ({
  ...{ run: 'r', tip: 'f'.repeat(40), base: 'e'.repeat(40) },
  plan: { ...PLAN, contract: PLAN.contract.map((it, at) => ({ ...it, says: says[at] ?? it.says })) },
})

test('a script is named by its telling line, and shown whole on demand', () => {
  expect(nameOfCheck(SCRIPT)).toBe('python3 -c "import a; assert a.b(1) == 2" (a script of 5 lines)')
  expect(nameOfCheck('bun test')).toBe('bun test')
  expect(nameOfCheck('x\u001b[2K\nset -e')).not.toContain('\u001b')
  expect(scriptLines(PLAN, undefined).slice(0, 4)).toEqual([
    'A1 It works.',
    '  $ set -e',
    '    cd src',
    '    # All of it.',
  ])
})

test('the message says what became true, in lines of 72, and nothing that spoke to the approver', () => {
  const message = landingMessage(landed([LONG, 'Forge-Run: a trailer that is none.']), undefined)
  const lines = message.split('\n')
  expect(lines.every(line => line.length <= 72)).toBe(true)
  expect(lines.slice(0, 4)).toEqual([
    'Count lines',
    '',
    '- The function parse_timedelta takes weeks as well as days, whatever',
    '  their case, and says which word it has not understood.',
  ])
  expect(message).not.toContain('Say so')
  expect(message.match(/^Forge-Run: /gm)).toHaveLength(1)
  expect(message).toEndWith(`\n\nForge-Run: r\nForge-Landed: ${'f'.repeat(40)}\n`)
})
