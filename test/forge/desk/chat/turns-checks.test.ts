/** The checks of FORGE.md after a turn, with a stand-in for docker that runs commands directly. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, type Desk, edit, makeDesk, textOf } from '../../../support/desk.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, type Script, ScriptedModel, write } from '../../../support/scripted-model.ts'

const { PATH, FORKLIFT_TEST_DOCKER } = process.env
const FILES = { 'FORGE.md': '# Checks\n\n- `grep -q two a.txt`\n- `test -e a.txt`\n', 'a.txt': 'one\n' }
let engine = ''
beforeAll(async () => {
  engine = await mkdtemp(join(tmpdir(), 'forge-turn-checks-'))
  process.env.PATH = `${join(import.meta.dir, '../../../stand-ins')}:${PATH}`
  process.env.FORKLIFT_TEST_DOCKER = engine
})
afterAll(async () => {
  process.env.PATH = PATH
  if (FORKLIFT_TEST_DOCKER === undefined) delete process.env.FORKLIFT_TEST_DOCKER
  else process.env.FORKLIFT_TEST_DOCKER = FORKLIFT_TEST_DOCKER
  await rm(engine, { recursive: true, force: true })
})

const at = { kind: 'branch', branch: 'main' } as const

async function conversationAfterTurn({ work }: Desk) {
  await work.chat.turns.send('main', 'Say two in a.txt.')
  await until(async () => (await ask(work, 'conversation', { at })).turn?.state !== 'running')
  return await ask(work, 'conversation', { at })
}

const WRONG: Script = [{ calls: [write('a.txt', 'tow\n')] }, { text: 'Done.' }]

test('a check that fails after a turn is shown to the model once, and the correction is in the same commit', async () => {
  const mended: Script = [...WRONG, { calls: [write('a.txt', 'two\n')] }, { text: 'It was misspelt.' }]
  const model = new ScriptedModel(mended)
  await using desk = await makeDesk({ files: FILES, models: modelsOf(model) })
  await ask(desk.work, 'allow commands', { isAllowed: true })
  await conversationAfterTurn(desk)
  const shown = JSON.stringify(model.requests[2]?.messages.at(-1))
  expect(shown).toContain('$ grep -q two a.txt\\n(it ended with 1)')
  expect(shown).not.toContain('test -e a.txt')
  expect(await desk.git('show', 'HEAD:a.txt')).toBe('two')
  expect(await desk.git('rev-list', '--count', 'HEAD')).toBe('2')
  const told = model.requests[0]?.tools.find(({ name }) => name === 'run_command')?.description
  expect(told).toContain('the checks that FORGE.md lists run in the same way')
}, 60_000)

test('no check runs if commands are not allowed, or the setting turns checks off', async () => {
  for (const [isAllowed, checksAfterTurn] of [
    [false, true],
    [true, false],
  ] as const) {
    const model = new ScriptedModel(WRONG)
    await using desk = await makeDesk({ files: FILES, models: modelsOf(model, { checksAfterTurn }) })
    await ask(desk.work, 'allow commands', { isAllowed })
    await conversationAfterTurn(desk)
    // Three requests: for the edit, for the end of the turn, and for the message of the commit. None for a failed
    // check.
    expect(model.requests).toHaveLength(3)
    expect(await desk.git('show', 'HEAD:a.txt')).toBe('tow')
    const tools = JSON.stringify(model.requests[0]?.tools)
    expect([tools.includes('run_command'), tools.includes('FORGE.md')]).toEqual([isAllowed, false])
  }
}, 60_000)

const MENDED = {
  'FORGE.md': '# Checks\n\n- mend: `sed -i s/tow/two/ a.txt b.txt`\n',
  'a.txt': 'one\r\n',
  'b.txt': 'tow\n',
}

test('a file is formatted by the command of FORGE.md, with its draft, and nothing is changed by that', async () => {
  await using desk = await makeDesk({ files: MENDED })
  const file = { branch: 'main', path: 'a.txt' }
  await (await edit(desk.work, 'main', 'a.txt')).type('tow\n')
  expect(await refusedBy(ask(desk.work, 'format file', file))).toThrow('Commands are switched off')
  await ask(desk.work, 'allow commands', { isAllowed: true })
  expect(await ask(desk.work, 'format file', file)).toEqual({ text: 'one\ntwo\n' })
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('one\ntow\n')
  expect(await textOf(desk.work, 'main', 'b.txt')).toBe('tow\n')
}, 60_000)

test('a formatter that is missing, fails, or leaves a link in the place of a folder is said', async () => {
  const commands: [command: string, why: string][] = [
    ['', 'No formatter is known: add one to FORGE.md'],
    ['echo no such rule >&2; exit 3', 'ended with 3: no such rule'],
    ['rm a/a.txt', 'The formatter left no file a/a.txt'],
    ['rm -r a; mkdir b; echo secret > b/a.txt; ln -s b a', 'The formatter left no file a/a.txt'],
    [String.raw`printf "\\0" > a/a.txt`, "what can't be edited"],
  ]
  for (const [command, why] of commands) {
    const listed = command === '' ? '' : `- mend: \`${command}\`\n`
    await using desk = await makeDesk({ files: { 'FORGE.md': `# Checks\n\n${listed}`, 'a/a.txt': 'one\n' } })
    await ask(desk.work, 'allow commands', { isAllowed: true })
    expect(await refusedBy(ask(desk.work, 'format file', { branch: 'main', path: 'a/a.txt' }))).toThrow(why)
  }
}, 60_000)
