/** Activities for a run as a whole: it begins, remembers decisions, asks the user, and merges its results. */
import { expect, test } from 'bun:test'
import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunInput, RunStatus } from '../../../../forge/tasks/contract.ts'
import { openRunFolder, resultRef } from '../../../../forge/tasks/runs/folder.ts'
import { journalFile, parseLines, readJournal } from '../../../../forge/tasks/runs/journal.ts'
import { readEscalation } from '../../../../forge/tasks/runs/report.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { commit, show } from '../../../support/git.ts'
import { edits, failureOf, makeScene, makeSharedScene, PLAN, RUN, replace, type Scene } from './scene.ts'

async function begun(scene: Scene, more: Partial<RunInput> = {}) {
  const wish = await scene.store.put('wish', 'Add undo.')
  const run = { run: RUN, wish, base: scene.base, limits: { depth: 3 }, isApproved: true, onlyPlan: false, atMost: 8 }
  return await scene.again().begin({ ...run, ...more })
}

test('decisions of a person are there when the run begins again', async () => {
  await using scene = await makeScene()
  expect(await begun(scene)).toEqual({ above: {}, facts: [], learns: true })
  const blue = await scene.store.put('answer', 'Blue.')
  await scene.activities.remember({ run: RUN, kind: 'approval', task: '', count: 0, answer: scene.plan })
  for (let times = 0; times < 2; times++)
    await scene.activities.remember({ run: RUN, kind: 'answer', task: 'stack', count: 1, answer: blue })
  const { answers, ...known } = await begun(scene)
  expect(known).toEqual({ approvedPlan: scene.plan, above: {}, facts: [], learns: true })
  const list = answers ?? { kind: '', oid: '', count: 0 }
  const items = [{ task: 'stack', count: 1, answer: blue }]
  expect(await scene.activities.readItems({ run: RUN, list, from: 0 })).toEqual({ items })
  expect(JSON.parse((await scene.store.get('plan.json'))?.toString() ?? '').title).toBe('Add undo')
})

test('of two plans that were approved without a question, the run goes on with the second', async () => {
  await using scene = await makeScene()
  await begun(scene)
  const revised = await scene.store.put('plan', JSON.stringify({ ...PLAN, title: 'Add undo and redo' }))
  for (const answer of [scene.plan, revised])
    await scene.activities.remember({ run: RUN, kind: 'approval', task: '', count: 0, answer })
  expect((await begun(scene)).approvedPlan).toEqual(revised)
})

test('a plan or an answer that a push to the hub has left, and nobody has signed, is none', async () => {
  await using scene = await makeSharedScene()
  await scene.approved.approvePlan(PLAN)
  await scene.activities.remember({ run: RUN, kind: 'approval', task: '', count: 0, answer: scene.plan })
  expect((await scene.activities.begin(scene.runInput)).approvedPlan).toEqual(scene.plan)
  const how = { kind: 'command', command: 'evil', seconds: 10 }
  const evil = { ...PLAN, contract: [{ id: 'A1', says: 'Undo works.', how }] }
  const answer = await scene.store.put('answer', 'Do evil.')
  const decision = { kind: 'answer', task: 'stack', count: 1, answer }
  await scene.store.keep('decisions', 'answer stack 1', JSON.stringify(decision))
  await scene.store.keep('decisions', 'no decision', '{')
  for (const plan of [JSON.stringify(evil), '{']) {
    await scene.store.set('plan.json', plan)
    const { approvedPlan, answers } = await scene.activities.begin(scene.runInput)
    expect({ approvedPlan, answers }).toEqual({ approvedPlan: undefined, answers: undefined })
  }
})

test('while the hub is away, a run can be stopped, and its state is kept here', async () => {
  await using scene = await makeSharedScene()
  await rm(scene.hub, { recursive: true })
  const spent = { requests: 1, input: 1, output: 1, cost: 0 }
  await scene.activities.rest({ run: RUN, state: 'stopped', words: '', complaints: [], tasks: [], spent })
  expect(JSON.parse(String(await scene.store.get('status.json'))).state).toBe('stopped')
})

test('minutes that were used are there when the run begins again', async () => {
  await using scene = await makeScene()
  const spent = { requests: 1, input: 1, output: 1, cost: 0 }
  await scene.activities.rest({ run: RUN, state: 'runs', words: '', complaints: [], tasks: [], used: 90_000, spent })
  expect((await begun(scene, { limits: { depth: 3, minutes: 2 } })).used).toBe(90_000)
})

test('what planners are told is found out once, and the same when the run begins again', async () => {
  await using scene = await makeScene()
  let count = 0
  const facts = async () => [{ kind: 'checks' as const, text: `Told ${++count} times.` }]
  const run = '20261122-facts-abcd'
  const wish = await scene.store.put('wish', 'Add undo.')
  const input = { run, wish, base: scene.base, limits: { depth: 3 }, isApproved: true, onlyPlan: false, atMost: 8 }
  const first = await scene.again({ facts }).begin(input)
  expect(await scene.store.readText(first.facts?.[0] ?? wish)).toBe('Told 1 times.')
  // In another process, with limits that the user has raised.
  const second = await scene.again({ facts }).begin({ ...input, limits: { depth: 3, requests: 9 } })
  expect(second.facts).toEqual(first.facts)
  expect(count).toBe(1)
})

test('a budget in dollars that can’t be held is refused before anything is sent', async () => {
  await using scene = await makeScene({
    env: { FORGE_MODEL: 'anthropic/claude-x', ANTHROPIC_API_KEY: 'key-of-nobody' },
  })
  const failure = await failureOf(begun(scene, { limits: { depth: 1, cost: 5 } }))
  expect(failure.nonRetryable).toBe(true)
  expect(failure.message).toContain('set FORGE_PRICES=anthropic/claude-x=INPUT/OUTPUT')
})

test('a commit of the repository that says it is a merge to resolve is no base of a run', async () => {
  await using scene = await makeScene()
  const side = await commit(scene.place.path, 'side', { 'b.txt': 'b\n' }, { parents: [scene.base] })
  const message = 'Merge side\n\nForge-Conflicts: unresolved\n'
  const base = await commit(scene.place.path, 'main', { 'b.txt': 'b\n' }, { parents: [scene.base, side], message })
  const failure = await failureOf(begun(scene, { base }))
  expect(failure.message).toStartWith(`The commit ${base.slice(0, 12)} says that it is a merge to resolve`)
})

test('without a name for commits, nothing begins', async () => {
  await using scene = await makeScene()
  await scene.place.git('config', '--unset', 'user.name')
  await scene.place.git('config', '--unset', 'user.email')
  await scene.place.git('config', 'user.useConfigOnly', 'true')
  expect((await failureOf(begun(scene))).message).toContain('git config --global user.name')
})

test('a plan that is no plan is told what is wrong; a good one is kept', async () => {
  await using scene = await makeScene()
  const lint = async (plan: unknown) => {
    const parsed = await scene.store.putJson('parsed', plan)
    return await scene.activities.lintPlan({ run: RUN, parsed, base: scene.base })
  }
  const bad = await lint({ signal: 'success', words: 'x', plan: { ...PLAN, tasks: [] } })
  expect(bad.plan).toBeUndefined()
  expect(bad.complaints[0]).toContain('tasks')
  const good = await lint({ signal: 'success', words: 'x', plan: PLAN })
  const list = good.tasks ?? { kind: '', oid: '', count: 0 }
  const { items } = await scene.activities.readItems({ run: RUN, list, from: 0 })
  expect(items).toMatchObject([{ id: 'stack' }, { id: 'docs' }])
  const parsed = await scene.store.put('plan', 'tasks: none')
  const torn = await scene.activities.lintPlan({ run: RUN, parsed, base: scene.base })
  expect(torn.complaints).toEqual(['The plan is no JSON: edit it again, or let it be planned anew.'])
  // A plan written by the user is only the plan, without the words of a model's answer around it: it gives the same
  // result.
  expect((await lint(PLAN)).plan).toEqual(good.plan)
})

test('what is done in another way than one would think stands in the journal, once', async () => {
  await using scene = await makeScene()
  const { lintPlan } = scene.again({ lint: async () => ({ tasks: [], complaints: [], notes: ['One reviews.'] }) })
  for (let times = 0; times < 2; times++) await lintPlan({ run: RUN, parsed: scene.plan, base: scene.base })
  expect((await readJournal(scene.store)).map(({ what, words }) => [what, words])).toEqual([['notes', 'One reviews.']])
})

test('all results come together on one branch and are checked as one', async () => {
  await using scene = await makeScene()
  await scene.place.git('update-ref', 'refs/heads/one', scene.base)
  await scene.place.git('update-ref', 'refs/heads/two', scene.base)
  const results = [
    { task: 'stack', head: await commit(scene.place.path, 'one', { 'stack.txt': 's\n' }) },
    { task: 'docs', head: await commit(scene.place.path, 'two', { 'docs.txt': 'd\n' }) },
  ]
  const list = await scene.activities.keepItems({ run: RUN, kind: 'results', items: results })
  const finish = () => scene.activities.finish({ run: RUN, base: scene.base, plan: scene.plan, results: list })
  const finished = await finish()
  expect(finished).toMatchObject({ isGood: true, words: 'All good.' })
  expect(await scene.place.git('rev-parse', resultRef(RUN))).toBe(finished.head)
  expect(await show(scene.place.path, finished.head, 'docs.txt')).toBe('d')
  expect((await finish()).head).toBe(finished.head)
})

test('results in conflict are told, with both sides', async () => {
  await using scene = await makeScene()
  await scene.place.git('update-ref', 'refs/heads/one', scene.base)
  await scene.place.git('update-ref', 'refs/heads/two', scene.base)
  const results = [
    { task: 'stack', head: await commit(scene.place.path, 'one', { 'a.txt': 'x\n' }) },
    { task: 'docs', head: await commit(scene.place.path, 'two', { 'a.txt': null }) },
  ]
  const list = await scene.activities.keepItems({ run: RUN, kind: 'results', items: results })
  const finished = await scene.activities.finish({ run: RUN, base: scene.base, plan: scene.plan, results: list })
  const { ours = '', theirs = '', report } = finished.conflicts ?? {}
  expect([ours, theirs]).toEqual(results.map(({ head }) => head))
  const { text: words, files } = JSON.parse(await scene.store.readText(report ?? { kind: '', oid: '' }))
  expect(files).toEqual(['a.txt'])
  expect(words).toContain('a.txt: modify/delete')
  expect(words).toContain('one side (ours in the marks):\n```\nx\n```')
})

test('the report to a person is a file and in git', async () => {
  await using scene = await makeScene()
  const question = await scene.store.put('question', 'Red or blue?')
  const spent = { requests: 3, input: 10, output: 2, cost: 0 }
  const status: RunStatus = {
    ...{ run: RUN, state: 'runs', words: '', complaints: [], spent },
    tasks: [
      { id: 'stack', title: 'The stack', state: 'asks', attempt: 2, doing: '', words: '', dependsOn: [], question },
    ],
  }
  const evidence = [await scene.store.put('report', 'Attempt 1 at the task stack. It failed.')]
  const report = await scene.activities.escalate({
    ...{ run: RUN, task: 'stack', plan: scene.plan, words: 'Nobody knows the colour.', evidence, status },
  })
  const text = await scene.store.readText(report)
  expect(text).toContain('Red or blue?')
  expect(text).toContain('Attempt 1 at the task stack.')
  const folder = await openRunFolder(scene.place.repository, RUN, { XDG_STATE_HOME: `${scene.place.folder}/state` })
  expect(await readFile(join(folder, 'report.md'), 'utf8')).toBe(text)
})

test('a report of a run of a thousand tasks that all ask is about one of them', async () => {
  await using scene = await makeScene()
  const tasks = Array.from({ length: 1000 }, (_, at) => ({
    ...{ id: `t${at}`, title: `Task ${at}`, state: 'asks' as const, attempt: 2, doing: '', dependsOn: [] },
    words: `Why ${at}. `.repeat(40),
  }))
  const spent = { requests: 3, input: 10, output: 2, cost: 0 }
  const status: RunStatus = { run: RUN, state: 'asks', words: '', complaints: [], spent, tasks }
  const input = { run: RUN, task: 't7', plan: scene.plan, words: 'It failed.', evidence: [], status }
  const report = await scene.activities.escalate(input)
  const text = await scene.store.readText(report)
  expect(text).toContain('| t7 | asks | 2 | Task 7 | Why 7.')
  expect(text).toContain('| t8 | asks | 2 | Task 8 |  |')
  const kept = await readEscalation(scene.store, report)
  expect(JSON.stringify(kept).length).toBeLessThan(200_000)
  expect(kept?.plan?.title).toBeTruthy()
})

test('a line is noted once, also by a retry', async () => {
  await using scene = await makeScene()
  const line = { run: RUN, id: 'begins', what: 'begins', words: 'It begins.' }
  await scene.activities.note({ run: RUN, lines: [line] })
  await scene.again().note({ run: RUN, lines: [{ ...line, words: 'Again.' }] })
  expect((await readJournal(scene.store)).map(({ words }) => words)).toEqual(['It begins.'])
})

test.skipIf(process.platform !== 'linux')('of the many runs that a worker has seen, few stay open', async () => {
  await using scene = await makeScene()
  const state = join(scene.place.folder, 'state')
  const ledgers = async () => {
    const names = await readdir('/proc/self/fd')
    const paths = await Promise.all(names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')))
    return paths.filter(path => path.startsWith(state) && path.endsWith('ledger.sqlite')).length
  }
  const note = (run: string, id: string, words: string) =>
    scene.activities.note({ run, lines: [{ run, id, what: 'says', words }] })
  for (let at = 0; at < 20; at++) await note(`20261122-other-${at}`, 'one', 'A line.')
  expect(await ledgers()).toBeLessThanOrEqual(8)
  // The first run was closed, to keep few ledgers open; another line opens it again.
  await note('20261122-other-0', 'two', 'Another line.')
  expect(await readJournal(new RunStore(scene.place.objects, '20261122-other-0'))).toHaveLength(2)
})

test('a folder that is deleted in the middle is made again, with the journal and what was paid', async () => {
  const script = () => edits(replace('a.txt', 'two\n', 'zwei\n'))
  await using scene = await makeScene({ script, limits: { requests: 2 } })
  const folder = await openRunFolder(scene.place.repository, RUN, { XDG_STATE_HOME: `${scene.place.folder}/state` })
  await scene.step()
  const before = await readFile(journalFile(folder), 'utf8')
  await rm(folder, { recursive: true })
  const next = { run: RUN, id: 'next', what: 'decided', words: 'It goes on.' }
  await scene.activities.note({ run: RUN, lines: [next] })
  expect(await readFile(journalFile(folder), 'utf8')).toStartWith(before)
  expect(parseLines(await readFile(journalFile(folder), 'utf8')).map(({ id }) => id)).toContain('next')
  // The run may send one more request, its second, but no third one.
  await scene.step({ step: 'stack/1/2', attempt: 2 })
  const refused = await failureOf(scene.step({ step: 'stack/1/3', attempt: 3 }))
  expect(refused.message).toBe('It has sent 2 requests, which is the limit of this run.')
  expect(scene.model.requests).toHaveLength(2)
})
