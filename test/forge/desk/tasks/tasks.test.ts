/** The tasks on the desk's server: the output of forge is untrusted, and typed text never becomes an option. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { asBytes, openRepository } from '../../../../core/git/repository.ts'
import { questions } from '../../../../forge/desk/contract/contract.ts'
import { TasksWord } from '../../../../forge/desk/contract/tasks.ts'
import { Tasks } from '../../../../forge/desk/tasks/tasks-on-desk.ts'

import { commit } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'
import { type Person, typedBy, WRONG_PLANS } from '../../tasks/wrong-plans.ts'

const RUN = '20261122-add-tags-to-notes-j2u7'
const STAND_IN = [process.execPath, join(import.meta.dir, 'forge-stand-in.ts')]

let place: Place
let calls = ''
beforeEach(async () => {
  place = await makePlace()
  await commit(place.path, 'main', { 'a.txt': 'one\n' })
  calls = `${place.path}.calls`
  await writeFile(calls, '')
})
afterEach(async () => {
  await rm(calls, { force: true })
  await place[Symbol.asyncDispose]()
})

const open = async (env: Record<string, string> = {}, command = STAND_IN) =>
  new Tasks(await openRepository(place.path), { command, env: { ...process.env, CALLS: calls, ...env } })
const called = async (): Promise<string[][]> =>
  (await readFile(calls, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line).args)
const why = (promise: Promise<unknown>) =>
  promise.then(
    value => `it was answered: ${JSON.stringify(value)}`,
    (error: Error) => error.message,
  )

const SEEN = 'd'.repeat(40)

/** What the page sends for a user's action. */
function wordOf(person: Person): TasksWord {
  const run = RUN
  if ('edits' in person) return { tell: 'plan', run, text: 'title: Other\n', seen: SEEN }
  if ('asksFor' in person) return { tell: 'replan', run, text: person.asksFor }
  if ('stops' in person) return { tell: 'stop', run, task: person.stops }
  const { answers: task, says: text, mayWrite, with: file } = person
  return {
    ...{ tell: 'answer', run, text },
    ...(task !== '' && { task }),
    ...(mayWrite !== undefined && { mayWrite: [mayWrite] }),
    ...(file !== undefined && { with: [file] }),
  }
}

/** Options and words of a command, as `forge` reads them. */
function meaningOf(args: string[]): Record<string, unknown> {
  const [text, many, flag] = [{ type: 'string' }, { type: 'string', multiple: true }, { type: 'boolean' }] as const
  const options = { 'may-write': many, with: many, file: text, seen: text, yes: flag } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  return { ...values, words: positionals.map(word => word.trim()) }
}

test('a run is started with the wish in a file, so that none of it is an option', async () => {
  const tasks = await open({ FORGE_SAYS: JSON.stringify({ run: RUN, notes: ['Said.'] }) })
  const typed = { wish: '--yes', base: 'main', atMost: 2 }
  expect(await tasks.start({ ...typed, cost: 2.5, isBatched: true })).toEqual({ run: RUN, notes: ['Said.'] })
  await tasks.start({ ...typed, isBatched: false, models: { generation: 'openai/one,openai/two' } })
  const [first = [], second = []] = await called()
  const MODEL = '--model=generation=openai/one,openai/two'
  const start = ['run', '--detach', '--json', '--base=refs/heads/main']
  expect(first).toEqual([...start, '--budget=2.50', '--at-most=2', '--batch', expect.stringMatching(/^\//)])
  expect(second).toEqual([...start, '--at-most=2', '--no-batch', MODEL, expect.stringMatching(/^\//)])
})

describe('the output of forge', () => {
  test('about runs, a run, a task, its journal and a landing matches the page’s schema', async () => {
    const tasks = await open()
    const { runs } = v.parse(questions['tasks runs'].reply, await tasks.runs())
    expect(runs).toMatchObject([{ run: RUN, state: 'asks', tasks: { all: 4, done: 3, running: 0, asking: 1 } }])
    const run = v.parse(questions['tasks run'].reply, await tasks.run(RUN))
    expect(run).toMatchObject({ title: 'Tags for notes', hasResult: false, limits: { cost: 5 } })
    expect(run.contract.map(({ id, task }) => `${id} ${task}`)).toEqual(['A1 tags', 'A2 search', 'A3 count', 'A4 docs'])
    expect(run.tasks.map(({ id, tip }) => `${id} ${tip !== undefined}`)).toEqual([
      ...['tags true', 'search true', 'count true', 'docs false'],
    ])
    const task = v.parse(questions['tasks task'].reply, await tasks.task(RUN, 'docs'))
    expect(task).toMatchObject({ write: ['docs/tags.md'], checks: ['citations', 'complete', 'format'] })
    expect(task.asks).toStartWith('Who is the page for')
    const journal = v.parse(questions['tasks journal'].reply, await tasks.journal(RUN, 'docs'))
    expect(journal.map(({ what }) => what)).toEqual(['begins', 'asks', 'blocked_on_human', 'asks'])
    expect(new Date((journal[0]?.at ?? 0) * 1000).getUTCFullYear()).toBe(2026)
    const landing = v.parse(questions['tasks landing'].reply, await tasks.landing({ run: RUN, onto: 'main' }))
    expect(landing.tree).toHaveLength(40)
    expect(landing.words).toContain('7 commits become one:')
  })

  test('is skipped for one unreadable run of many, and an error if it is the only one', async () => {
    const FORGE_SAYS = [
      '{"run":"../../etc","wish":"x"}',
      'no json',
      `{"run":"${RUN}","wish":"one\\ntwo","status":{"state":"flies"}}`,
      '',
    ].join('\n')
    const tasks = await open({ FORGE_SAYS })
    const { runs } = v.parse(questions['tasks runs'].reply, await tasks.runs())
    expect(runs).toEqual([
      { run: RUN, wish: 'one', tasks: { all: 0, done: 0, running: 0, asking: 0 }, mark: expect.any(String) },
    ])
    expect(await why(tasks.run(RUN))).toStartWith('The desk does not understand what forge says')
  })

  test('of a plan is read as a whole or not at all: a cut plan is never signed', async () => {
    const task = {
      id: 'a',
      title: 'Make a',
      size: 'small',
      tier: 'generation',
      recursion: 0,
      after: [],
      claims: ['A1'],
    }
    const more = { write: ['a.txt'], never: [], checks: [], reviews: [] }
    const plan = (command: string) => ({
      ...{ run: RUN, waits: true, seen: 'c'.repeat(40), title: 'Notes', summary: 'All of it.', contract: [] },
      ...{ levels: [[{ ...task, ...more }]], commands: [{ command, seconds: 300, users: ['a'] }], others: [] },
      ...{ hasNetwork: false, cost: ['It stops at $5.00.'] },
    })
    const long = `true ${'x'.repeat(15_000)}`
    const tasks = await open({ FORGE_SAYS: JSON.stringify(plan(long)) })
    const read = v.parse(questions['tasks plan'].reply, await tasks.plan(RUN))
    expect(read.commands[0]?.command).toBe(long)
    expect(await called()).toEqual([['show', RUN, '--plan', '--json']])
    const endless = await open({ FORGE_SAYS: JSON.stringify(plan('x'.repeat(30_000))) })
    expect(await why(endless.plan(RUN))).toContain('does not understand')
  })

  test('is cut if it is endless', async () => {
    const status = { run: RUN, state: 'asks', words: 'x'.repeat(1e6), complaints: [], tasks: [] }
    const spent = { requests: 0, input: 0, output: 0, cost: 0 }
    const FORGE_SAYS = JSON.stringify({ ...status, spent, wish: 'y'.repeat(1e5), limits: { depth: 0 } }).slice(
      0,
      120_000,
    )
    const short = JSON.stringify({ ...status, words: 'z'.repeat(50_000), spent, wish: 'w', limits: { depth: 0 } })
    expect(await why((await open({ FORGE_SAYS })).run(RUN))).toContain('does not understand')
    const run = v.parse(questions['tasks run'].reply, await (await open({ FORGE_SAYS: short })).run(RUN))
    expect(run.words).toHaveLength(2_002)
  })

  test('is quoted with its last line if it fails; in the list, in place of the list', async () => {
    const FORGE_COMPLAINS = 'There is no run \u001b[31mx in this repository: see forge runs.'
    const tasks = await open({ FORGE_COMPLAINS })
    expect(await why(tasks.run(RUN))).toBe('There is no run \\x1b[31mx in this repository: see forge runs.')
    expect(await tasks.runs()).toMatchObject({
      missing: expect.stringContaining('There is no run'),
      runs: [],
    })
    expect(await why((await open({}, ['/nowhere/forge'])).run(RUN))).toStartWith('forge could not be started')
  })
})

describe('the arguments of forge', () => {
  test('keep typed text in its place, whatever it is', async () => {
    const tasks = await open()
    const words: TasksWord[] = [
      { tell: 'answer', run: RUN, task: 'docs', text: '--help' },
      { tell: 'answer', run: RUN, task: 'docs', text: 'Try again.', onlyWords: true },
      { tell: 'replan', run: RUN, text: '--yes' },
      { tell: 'approve', run: RUN, seen: 'c'.repeat(40) },
      { tell: 'pause', run: RUN },
      { tell: 'resume', run: RUN, limits: { cost: 7.5 } },
      { tell: 'resume', run: RUN, limits: { requests: 300, minutes: 90 } },
      { tell: 'stop', run: RUN, task: 'docs' },
      { tell: 'land', run: RUN, onto: asBytes('ünder/-x'), tree: 'a'.repeat(40) },
      { tell: 'land', run: RUN, onto: asBytes('main'), tree: 'a'.repeat(40), anyway: true },
    ]
    for (const word of words) await tasks.tell(v.parse(TasksWord, word))
    expect(await called()).toEqual([
      ['answer', '--', RUN, 'docs', '--help\n'],
      ['answer', '--only-words', '--', RUN, 'docs', 'Try again.\n'],
      ['plan', '--', RUN, '--yes\n'],
      ['approve', RUN, `--seen=${'c'.repeat(40)}`],
      ['pause', RUN],
      ['resume', RUN, '--budget=7.50'],
      ['resume', RUN, '--requests=300', '--minutes=90'],
      ['stop', RUN, 'docs'],
      ['land', RUN, '--onto=ünder/-x', '--yes', `--seen=${'a'.repeat(40)}`],
      ['land', RUN, '--onto=main', '--yes', `--seen=${'a'.repeat(40)}`, '--anyway'],
    ])
  })

  const mended = WRONG_PLANS.flatMap(({ what, person }) => (person ? [[what, person] as const] : []))
  test.each(mended)('for a plan with %s are those that mend it on a terminal', async (_, person) => {
    const tasks = await open()
    await tasks.tell(v.parse(TasksWord, wordOf(person)))
    const [args = []] = await called()
    const file = args.find(word => word.startsWith('--file='))?.slice('--file='.length) ?? ''
    const { seen, ...options } = meaningOf(args)
    expect(options).toEqual(meaningOf(typedBy(person, { run: RUN, file })))
    // The page shows the plan before it is signed.
    expect(seen).toBe('edits' in person ? SEEN : undefined)
  })

  test.each(['--yes', '-x', '../x', 'A', '', 'x y', `x\n${RUN}`])('contain no run named %p', run => {
    expect(v.safeParse(TasksWord, { tell: 'stop', run }).success).toBe(false)
    expect(v.safeParse(questions['tasks run'].fields, { run }).success).toBe(false)
    expect(v.safeParse(TasksWord, { tell: 'stop', run: RUN, task: run }).success).toBe(false)
  })
})

describe('reading', () => {
  test('by several windows starts one process, and asking for the mark starts none', async () => {
    const tasks = await open({ FORGE_WAITS: '200' })
    await Promise.all([1, 2, 3].map(() => tasks.runs()))
    expect(await called()).toEqual([['runs', '--json']])
    const before = await tasks.mark()
    expect(await tasks.mark()).toEqual(before)
    await place.git('update-ref', `refs/forge/runs/${RUN}/store`, 'main')
    expect(await tasks.mark()).not.toEqual(before)
    expect(await called()).toHaveLength(1)
  })
})
