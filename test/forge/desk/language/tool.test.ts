/** The AI's tool `diagnostics`: a scripted turn asks it for what it has changed, before its commit. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { ask, makeDesk } from '../../../support/desk.ts'
import { doubleLauncher } from '../../../support/language.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, ScriptedModel, write } from '../../../support/scripted-model.ts'

setDefaultTimeout(60_000)

const onMain = { kind: 'branch', branch: 'main' } as const

test('a turn asks for the problems of its changes, gets them, and mends them before its commit', async () => {
  const model = new ScriptedModel([
    { calls: [write('a.py', 'def one():\n    wrong\n'), write('notes.md', 'wrong\n')] },
    { calls: [{ name: 'diagnostics', arguments: {} }] },
    { calls: [write('a.py', 'def one():\n    right\n')] },
    { calls: [{ name: 'diagnostics', arguments: { paths: ['a.py'] } }] },
    { text: 'Done.' },
    { text: 'Add one' },
  ])
  const languageServers = doubleLauncher()
  await using desk = await makeDesk({ files: { 'b.py': 'one\n' }, models: modelsOf(model), languageServers })
  await ask(desk.work, 'switch language servers', { isOn: true })
  await desk.work.chat.turns.send('main', 'Add one.')
  await until(async () => (await ask(desk.work, 'conversation', { at: onMain })).turn?.state !== 'running')
  const { turn, items } = await ask(desk.work, 'conversation', { at: onMain })
  expect(turn).toBeUndefined()
  const results = items.flatMap(item => (item.kind === 'call' && item.call.name === 'diagnostics' ? [item.call] : []))
  expect(results.map(call => ('result' in call ? call.result : undefined))).toEqual([
    'a.py:2:5 error: This is wrong. (double 1)\nNo language server for notes.md.',
    'No problems in a.py.',
  ])
  expect(JSON.stringify(model.requests[2])).toContain('a.py:2:5 error: This is wrong.')
  expect(await desk.git('show', 'main:a.py')).toBe('def one():\n    right')
  expect(languageServers.started).toHaveLength(1)
})

test('where language servers are off, the list of tools is as it was', async () => {
  const model = new ScriptedModel([{ text: 'Hello.' }, { text: 'Say hello' }])
  await using desk = await makeDesk({
    files: { 'b.py': 'one\n' },
    models: modelsOf(model),
    languageServers: doubleLauncher(),
  })
  await desk.work.chat.turns.send('main', 'Hello.')
  await until(async () => (await ask(desk.work, 'conversation', { at: onMain })).turn?.state !== 'running')
  expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain('diagnostics')
})
