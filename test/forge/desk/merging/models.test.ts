/** The commit of a step that waited names the models that have resolved conflicts of it. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { closeFile } from '../../../../forge/desk/branches/places.ts'
import { rowsOf } from '../../../../forge/desk/reading/history.ts'
import { ask, edit } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { lines, makePair, type Pair, typeMessage } from '../../../support/merging.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, ScriptedModel, write } from '../../../support/scripted-model.ts'

setDefaultTimeout(120_000)

const MAIN = { kind: 'branch', branch: 'main' } as const
const SIDES = {
  base: { 'a.txt': lines(), 'b.txt': 'base\n' },
  ours: { 'a.txt': lines({ 2: 'ours 2' }), 'b.txt': 'ours\n' },
  theirs: { 'a.txt': lines({ 2: 'theirs 2' }), 'b.txt': 'theirs\n' },
}
const MODEL = 'Forge-Model: openai/scripted'

async function makeDesk(): Promise<Pair> {
  const model = new ScriptedModel([{ calls: [write('a.txt', lines({ 2: 'by the AI' }))] }, { text: 'Resolved.' }])
  return await makePair(SIDES, { bare: true, models: modelsOf(model) })
}

/** Lets the AI resolve a.txt. */
async function resolveByAi({ work }: Pair): Promise<void> {
  await ask(work, 'ask for conflicts', { branch: 'main', paths: ['a.txt'] })
  await until(async () => (await ask(work, 'conversation', { at: MAIN })).turn?.state !== 'running')
  await work.chat.turns.in('main')?.done
}

const messageOf = (desk: Pair, commitish = 'main') => desk.git('log', '-1', '--format=%B', commitish)

/** The model that histories and the graph show at the newest commit of main. */
async function modelShown({ work, git }: Pair): Promise<string | undefined> {
  const [row] = await rowsOf(work.branches.room.objects, [await git('rev-parse', 'main')])
  return row?.model
}

test('a merge in which the AI has resolved a file names its model below the typed message, once', async () => {
  await using desk = await makeDesk()
  const { work, source } = desk
  await work.steps.do({ step: 'merge', source, onto: 'main' })
  await resolveByAi(desk)
  await work.mergings.takeSide('main', 'b.txt', 'ours')
  await typeMessage(work, 'main', 'fix: merge topic')
  await work.mergings.finish('main')
  expect(await messageOf(desk)).toBe(`fix: merge topic\n\n${MODEL}`)
  expect(await modelShown(desk)).toBe('openai/scripted')
  await work.undo()
  expect((await work.mergings.in('main'))?.message).toBe('fix: merge topic')
  // Edited by the user, it is still in part the AI's.
  await (await edit(work, 'main', 'a.txt')).type('typed ', 0)
  await closeFile(work.branches, MAIN, 'a.txt')
  await typeMessage(work, 'main', `Merge topic\n\nBecause.\n\n#12\n\n${MODEL}\nReviewed-by: Ann <ann@example.org>`)
  await work.mergings.finish('main')
  expect(await messageOf(desk)).toBe(`Merge topic\n\nBecause.\n\n#12\n\n${MODEL}\nReviewed-by: Ann <ann@example.org>`)
})

test('a merge names no model in whose files the user has chosen another version', async () => {
  await using desk = await makeDesk()
  const { work, source } = desk
  await work.steps.do({ step: 'merge', source, onto: 'main' })
  await resolveByAi(desk)
  for (const path of ['a.txt', 'b.txt']) await work.mergings.takeSide('main', path, 'theirs')
  await work.mergings.finish('main')
  expect(await messageOf(desk)).toBe("Merge branch 'topic'")
  expect(await modelShown(desk)).toBeUndefined()
})

test('a picked commit names the models of its own message, and that which has resolved its conflicts', async () => {
  await using desk = await makeDesk()
  const { work, theirs } = desk
  const message = 'Pick me\n\nForge-Model: other/first\nForge-Turn: 1\n'
  const picked = await commit(desk.path, 'topic', { 'a.txt': lines({ 2: 'again' }) }, { message, parents: [theirs] })
  await work.look()
  await work.steps.do({ step: 'cherry-pick', commits: [picked], onto: 'main' })
  await resolveByAi(desk)
  await work.mergings.finish('main')
  expect(await messageOf(desk)).toBe(`${message}${MODEL}`)
  expect(await modelShown(desk)).toBe('other/first, openai/scripted')
})

test('of a rebase, the commit whose conflicts the AI has resolved names its model, also with another message', async () => {
  for (const typed of [undefined, 'In other words']) {
    await using desk = await makeDesk()
    const { work, ours, theirs } = desk
    await commit(desk.path, 'main', { 'c.txt': 'c\n' }, { message: 'Last\n', parents: [ours] })
    await work.look()
    await work.steps.do({ step: 'rebase', branch: 'main', onto: { commit: theirs, words: 'topic' } })
    await resolveByAi(desk)
    await work.mergings.takeSide('main', 'b.txt', 'ours')
    if (typed !== undefined) await typeMessage(work, 'main', typed)
    await work.mergings.finish('main')
    expect(await messageOf(desk, 'main~1')).toBe(`${typed ?? 'Change ours'}\n\n${MODEL}`)
    expect(await messageOf(desk)).toBe('Last')
  }
})

test('of a rewriting, the commit whose conflicts the AI has resolved names its model', async () => {
  await using desk = await makeDesk()
  const { work, ours } = desk
  await commit(desk.path, 'main', { 'a.txt': lines({ 2: 'again' }) }, { message: 'Again\n', parents: [ours] })
  await commit(desk.path, 'main', { 'c.txt': 'c\n' }, { message: 'Last\n' })
  await work.look()
  await work.steps.do({ step: 'rewrite', branch: 'main', rewriting: { do: 'drop', commits: [ours] } })
  await resolveByAi(desk)
  await work.mergings.finish('main')
  const log = await desk.git('log', '--format=%s%x20%(trailers:key=Forge-Model,valueonly,separator=%x2C)', 'main')
  expect(log.split('\n').map(line => line.trim())).toEqual(['Last', 'Again openai/scripted', 'Begin'])
})
