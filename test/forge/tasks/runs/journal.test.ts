/** The journal: each decision once, despite crashes; and formatted as a story. */
import { expect, test } from 'bun:test'
import { appendFile, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NewJournalLine } from '../../../../forge/tasks/contract.ts'
import { openRunFolder } from '../../../../forge/tasks/runs/folder.ts'
import { Journal, journalFile, parseLines, readJournal } from '../../../../forge/tasks/runs/journal.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { journalStory } from '../../../../forge/tasks/runs/story.ts'
import { PLAIN } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'
import { PROJECT } from '../../../support/world.ts'

const RUN = '20261122-test-abcd'
const NOTER = join(import.meta.dir, 'journal-writer.ts')

const line = (id: string, more: Partial<NewJournalLine> = {}): NewJournalLine => ({
  run: RUN,
  id,
  what: 'decided',
  words: `Decided ${id}.`,
  ...more,
})
const open = (place: Place, secrets: string[] = []) =>
  Journal.open({ store: new RunStore(place.objects, RUN), folder: place.folder, secrets })
const fileOf = async (place: Place) => await readFile(journalFile(place.folder), 'utf8')
const idsIn = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map(row => JSON.parse(row).id as string)

test('a line is in git and in the file, and the same one is written once', async () => {
  await using place = await makePlace()
  using journal = await open(place)
  await journal.note(line('one'))
  await journal.note(line('two'))
  await journal.note(line('one', { words: 'Said otherwise.' }))
  using another = await open(place)
  await another.note(line('two'))
  expect(idsIn(await fileOf(place))).toEqual(['one', 'two'])
  const lines = await readJournal(new RunStore(place.objects, RUN))
  expect(lines.map(it => it.words)).toEqual(['Decided one.', 'Decided two.'])
})

test('a line that was killed after git and before the file comes into the file when it is written again', async () => {
  await using place = await makePlace()
  const store = new RunStore(place.objects, RUN)
  await store.keep('journal', 'one', `${JSON.stringify({ ...line('one'), at: 5, count: 0 })}\n`)
  using journal = await open(place)
  await journal.note(line('one', { words: 'Another time.' }))
  expect(parseLines(await fileOf(place))).toMatchObject([{ id: 'one', at: 5, words: 'Decided one.' }])
})

test('a line that was torn in the middle is written again, and those around it stay', async () => {
  await using place = await makePlace()
  using journal = await open(place)
  await journal.note(line('one'))
  await journal.note(line('two'))
  const text = await fileOf(place)
  await truncate(journalFile(place.folder), text.length - 20)
  using after = await open(place)
  await after.note(line('two'))
  await after.note(line('three'))
  expect(parseLines(await fileOf(place)).map(it => it.id)).toEqual(['one', 'two', 'three'])
})

test('a line that lacks only its end is not written twice', async () => {
  await using place = await makePlace()
  using journal = await open(place)
  await journal.note(line('one'))
  const text = await fileOf(place)
  await writeFile(journalFile(place.folder), text.trimEnd())
  using after = await open(place)
  await after.note(line('one'))
  await after.note(line('two'))
  expect(idsIn(await fileOf(place))).toEqual(['one', 'two'])
})

test('a file that was lost with its folder is whole again with the next line, in its order', async () => {
  await using place = await makePlace()
  const store = new RunStore(place.objects, RUN)
  const folder = join(place.folder, 'runs', RUN)
  await mkdir(folder, { recursive: true })
  using journal = await Journal.open({ store, folder, secrets: [] })
  await journal.note(line('one'))
  await journal.note(line('two'))
  await rm(folder, { recursive: true })
  // The file is written anew by the process that had it open, then by a new one.
  await journal.note(line('three'))
  expect(idsIn(await readFile(journalFile(folder), 'utf8'))).toEqual(['one', 'two', 'three'])
  await rm(journalFile(folder))
  using after = await Journal.open({ store, folder, secrets: [] })
  await after.note(line('three'))
  expect(idsIn(await readFile(journalFile(folder), 'utf8'))).toEqual(['one', 'two', 'three'])
})

test('is read from git where the folder is lost, and from the folder where the refs are', async () => {
  await using place = await makePlace()
  const env = { XDG_STATE_HOME: place.folder }
  const folder = await openRunFolder(place.repository, RUN, env)
  using journal = await Journal.open({ store: new RunStore(place.objects, RUN), folder, secrets: [] })
  await journal.note(line('one'))
  const show = async () => {
    const command = [join(PROJECT, 'forge.ts'), 'show', RUN, '--journal']
    const child = Bun.spawn(command, {
      cwd: place.path,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return (await child.stdout.text()) + (await child.stderr.text())
  }
  const text = await readFile(journalFile(folder), 'utf8')
  await rm(folder, { recursive: true })
  expect(await show()).toContain('decided: Decided one.')
  await mkdir(folder)
  await writeFile(journalFile(folder), text)
  await place.git('update-ref', '-d', `refs/forge/runs/${RUN}/store`)
  expect(await show()).toContain('decided: Decided one.')
})

test('two processes that are killed and started again write every line once', async () => {
  await using place = await makePlace()
  const start = () =>
    Bun.spawn(['bun', NOTER, place.path, place.folder, RUN, '24'], {
      env: { ...process.env, ...PLAIN },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  for (let round = 0; round < 6; round++) {
    const writers = [start(), start()]
    // The writers are killed in the middle of a line, each time at another place.
    const readers = writers.map(writer => writer.stdout.getReader())
    await Promise.all(readers.map(reader => reader.read()))
    await Bun.sleep(round * 7)
    for (const writer of writers) writer.kill('SIGKILL')
    await Promise.all(writers.map(writer => writer.exited))
  }
  const last = [start(), start()]
  await Promise.all(last.map(writer => new Response(writer.stdout).text()))
  const wanted = Array.from({ length: 24 }, (_, at) => `line ${at}`).sort()
  expect(idsIn(await fileOf(place)).sort()).toEqual(wanted)
  const kept = await readJournal(new RunStore(place.objects, RUN))
  expect(kept.map(it => it.id).sort()).toEqual(wanted)
}, 120_000)

test('no secret comes into the journal', async () => {
  await using place = await makePlace()
  using journal = await open(place, ['hunter2-hunter2'])
  await journal.note(
    line('one', { words: 'It used hunter2-hunter2.', why: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789' }),
  )
  const text = await fileOf(place)
  expect(text).not.toContain('hunter2')
  expect(text).not.toContain('ghp_')
  expect(text).toContain('[secret]')
})

test('the journal reads as a story: the plan, then each task, then the end', async () => {
  await using place = await makePlace()
  let now = Date.UTC(2026, 10, 22, 9)
  const store = new RunStore(place.objects, RUN)
  using journal = await Journal.open({ store, folder: place.folder, secrets: [], now: () => (now += 61_000) })
  await journal.note(line('p', { what: 'planned', words: 'Three tasks in two rows.', why: 'The parser comes first.' }))
  await journal.note(line('a1', { task: 'parser', attempt: 1, what: 'failure_retryable', words: 'A test failed.' }))
  await journal.note(line('b1', { task: 'docs', attempt: 1, what: 'success', words: 'Wrote docs/undo.md.' }))
  await journal.note(line('a2', { task: 'parser', attempt: 2, what: 'success', words: 'Now\u001b[31m it holds.' }))
  await journal.note(line('e', { what: 'done', words: 'All results are together.' }))
  await appendFile(journalFile(place.folder), 'garbage\n')
  const story = journalStory(await readJournal(store), { run: RUN, secrets: [] })
  expect(story.join('\n')).toBe(
    [
      'Run 20261122-test-abcd: 5 decisions in 4 minutes, begun on 2026-11-22.',
      '',
      'The plan',
      '  09:01:01  planned: Three tasks in two rows.',
      '              The parser comes first.',
      '',
      'The task parser',
      '  Attempt 1',
      '  09:02:02  failure retryable: A test failed.',
      '  Attempt 2',
      '  09:04:04  success: Now\\x1b[31m it holds.',
      '',
      'The task docs',
      '  Attempt 1',
      '  09:03:03  success: Wrote docs/undo.md.',
      '',
      'The end',
      '  09:05:05  done: All results are together.',
    ].join('\n'),
  )
})

test('lines are in the order in which they were written, also where the clock is set back between them', async () => {
  await using place = await makePlace()
  const store = new RunStore(place.objects, RUN)
  const times = [1_000_000, 1_000_000, 500_000, 600_000, 400_000, 2_000_000]
  const now = () => times.shift() ?? 0
  const options = { store, folder: place.folder, secrets: [], now }
  {
    using journal = await Journal.open(options)
    for (const id of ['one', 'two', 'three']) await journal.note(line(id))
  }
  // Another process continues the journal, with the same time.
  using journal = await Journal.open(options)
  for (const id of ['four', 'five', 'six']) await journal.note(line(id))
  const lines = await readJournal(store)
  expect(lines.map(({ id }) => id)).toEqual(['one', 'two', 'three', 'four', 'five', 'six'])
  expect(lines.at(-1)?.at).toBe(2_000_000)
})

test('a file that was lost is made from what git has, in its order', async () => {
  await using place = await makePlace()
  {
    using journal = await open(place)
    for (const id of ['one', 'two', 'three']) await journal.note(line(id))
  }
  const before = await fileOf(place)
  await rm(journalFile(place.folder))
  using journal = await open(place)
  expect(await fileOf(place)).toBe(before)
  await journal.note(line('two'))
  await journal.note(line('four'))
  expect(idsIn(await fileOf(place))).toEqual(['one', 'two', 'three', 'four'])
})
