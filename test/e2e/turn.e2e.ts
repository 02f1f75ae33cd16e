/**
 * A whole turn of the desk's AI that runs a command in a real container: the files it kept are in the turn's commit.
 */
import { expect, test } from 'bun:test'
import { ask, makeDesk } from '../support/desk.ts'
import { until } from '../support/repository.ts'
import { modelsOf, ScriptedModel, write } from '../support/scripted-model.ts'
import { docker } from './box.ts'

const onMain = { kind: 'branch', branch: 'main' } as const

test('a turn runs a command on what it has written, and commits what it keeps of it and nothing else', async () => {
  const command = 'sort words.txt > sorted.txt; echo left > other.txt; cat sorted.txt; env'
  const model = new ScriptedModel([
    {
      calls: [
        write('words.txt', 'b\na\n'),
        { name: 'run_command', arguments: { command, keep_changes: ['sorted.txt'] } },
      ],
    },
    { text: 'Sorted.' },
    { text: 'Sort the words' },
  ])
  await using desk = await makeDesk({ files: { 'a.txt': 'one\n' }, models: modelsOf(model) })
  const { chat } = desk.work
  await chat.allowCommands(true)
  expect((await ask(desk.work, 'conversation', { at: onMain })).commands).toEqual({ isAllowed: true })
  await chat.turns.send('main', 'Sort the words.')
  await until(async () => (await ask(desk.work, 'conversation', { at: onMain })).turn?.state !== 'running')
  const { turn, items } = await ask(desk.work, 'conversation', { at: onMain })
  expect(turn).toBeUndefined()
  const ran = items.find(item => item.kind === 'call' && item.call.name === 'run_command')
  expect(ran).toMatchObject({ call: { state: 'done', result: expect.stringContaining('Its output:\na\nb') } })
  expect(JSON.stringify(ran)).not.toMatch(/API_KEY|DOCKER_HOST/)
  expect(model.requests[0]?.tools.map(({ name }) => name)).toContain('run_command')
  expect(await desk.git('show', 'main:sorted.txt')).toBe('a\nb')
  expect(await desk.git('diff', '--name-only', 'main~1', 'main')).toBe(
    '.forge/.gitattributes\n.forge/session.json\nsorted.txt\nwords.txt',
  )
  expect(await desk.git('status', '--porcelain')).toBe('')
})

test('a turn that is stopped while its command runs ends at once, and leaves no container', async () => {
  const model = new ScriptedModel([
    { calls: [{ name: 'run_command', arguments: { command: 'echo begun; sleep 1000', seconds: 500 } }] },
  ])
  await using desk = await makeDesk({ files: { 'a.txt': 'one\n' }, models: modelsOf(model) })
  const { chat } = desk.work
  await chat.allowCommands(true)
  await chat.turns.send('main', 'Wait.')
  const names = async () => (await docker('ps', '--quiet', '--filter', 'name=forge-command-')).stdout
  await until(async () => (await names()) !== '')
  chat.turns.stop('main')
  await until(async () => (await ask(desk.work, 'conversation', { at: onMain })).turn?.state === 'unfinished')
  expect((await docker('ps', '--all', '--quiet', '--filter', 'name=forge-command-')).stdout).toBe('')
  await chat.turns.end('main', false)
  expect(await desk.git('rev-list', '--count', 'main')).toBe('1')
})
