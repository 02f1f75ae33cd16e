/** `forge playbooks`: the lessons that runs of this repository have learned. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { short, visible } from '../../../core/text.ts'
import type { ListedLesson } from '../../formats/tasks-json.ts'
import { linesForForkMd } from '../lessons/fork-md.ts'
import { type Lesson, lessonAsMarkdown, parseLesson } from '../lessons/lesson.ts'
import { changePlaybooks, readPlaybooks } from '../lessons/playbooks.ts'
import { personAt, readUser } from '../steps/commits.ts'
import type { CommandContext } from './context.ts'
import { openEditor } from './editor.ts'
import { nearestTo } from './nearest.ts'
import { parse, wrong } from './options.ts'
import { openPlace, type RunPlace } from './place.ts'

const USAGE = 'forge playbooks [list|show ID|edit ID|remove ID …] [--file FILE] [--fork-md] [--json]'

export const HELP = `${USAGE}

Shows the lessons that runs of this repository have learned from failures and from your answers. A run is given those
that fit; each counts what came of it, and one that was given ten times and never before a success at the first attempt
is retired. They are kept at refs/forge/playbooks, a Markdown file each. FORGE_LESSONS=off in forge.env: runs neither
use nor make them.

  list         one line for each (the default)
  show ID      one of them whole
  edit ID      edit one, or write a new one, in git's editor; your words are not replaced by a model's, and a retired
               lesson is given again
  remove ID …  remove them
  --file FILE  with edit: take it from this file instead of the editor; - is standard input
  --fork-md    as lines for a FORK.md, for Forklift's agent
  --json       as JSON, one object for each`

/** A lesson's file with more bytes is refused. */
const MAX_FILE_BYTES = 64 << 10

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const options = { json: { type: 'boolean' }, 'fork-md': { type: 'boolean' }, file: { type: 'string' } } as const
  const { values, positionals } = parse(argv, { options, usage: USAGE, words: [0, 1000] })
  const [verb = 'list', ...ids] = positionals
  if (values.file !== undefined && verb !== 'edit') throw wrong('--file is for edit', USAGE)
  await using place = await openPlace(context)
  switch (verb) {
    case 'list':
      if (ids.length > 0) throw wrong('That is too much', USAGE)
      return await list(place, context, { json: values.json === true, forkMd: values['fork-md'] === true })
    case 'show':
      return await show(place, context, only(ids), values.json === true)
    case 'edit':
      return await edit(place, context, only(ids), values.file)
    case 'remove':
      return await remove(place, context, ids)
    default:
      throw wrong(`${visible(verb)} is nothing that playbooks can do`, USAGE)
  }
}

function only(ids: readonly string[]): string {
  const [id] = ids
  if (id === undefined || ids.length > 1) throw wrong('Name one lesson', USAGE)
  return id
}

async function list(
  place: RunPlace,
  { out }: CommandContext,
  { json, forkMd }: { json: boolean; forkMd: boolean },
): Promise<ExitCode> {
  const { lessons } = await readPlaybooks(place.objects)
  if (json) for (const lesson of lessons) out(JSON.stringify(listed(lesson)))
  else if (forkMd) for (const line of linesForForkMd(lessons)) out(line)
  else if (lessons.length === 0) out(NOTHING)
  else for (const line of table(lessons)) out(line)
  return EXIT.done
}

const NOTHING =
  'Nothing is learned in this repository yet: runs learn from failures that then passed, and from answers.'

const listed = (lesson: Lesson): ListedLesson => ({
  ...lesson,
  for: [...lesson.for],
  from: [...lesson.from],
  text: lessonAsMarkdown(lesson),
})

function table(lessons: readonly Lesson[]): string[] {
  const width = Math.max(...lessons.map(({ id }) => id.length))
  return lessons.map(lesson => {
    const { id, title, date, given, firstTry, retired, by } = lesson
    const came = given === 0 ? 'not given yet' : `given ${given}, first try ${firstTry}`
    const state = retired ? `, retired ${retired}` : by === 'person' ? ', yours' : ''
    return `${id.padEnd(width)}  ${date}  ${short(visible(title), 80)} (${came}${state})`
  })
}

async function show(place: RunPlace, { out }: CommandContext, id: string, json: boolean): Promise<ExitCode> {
  const lesson = await find(place, id)
  if (json) out(JSON.stringify(listed(lesson)))
  else for (const line of lessonAsMarkdown(lesson).trimEnd().split('\n')) out(line)
  return EXIT.done
}

async function find({ objects }: RunPlace, id: string): Promise<Lesson> {
  const { lessons } = await readPlaybooks(objects)
  const found = lessons.find(lesson => lesson.id === id)
  if (found) return found
  const meant = nearestTo(
    id,
    lessons.map(lesson => lesson.id),
  )
  const hint = meant === undefined ? 'forge playbooks lists them' : `did you mean ${meant}?`
  throw new Failure(`There is no lesson ${visible(id)}: ${hint}.`)
}

async function edit(place: RunPlace, context: CommandContext, id: string, file: string | undefined): Promise<ExitCode> {
  const { objects, repository } = place
  const { lessons } = await readPlaybooks(objects)
  const before = lessons.find(lesson => lesson.id === id)
  const today = new Date().toISOString().slice(0, 10)
  const text =
    file === undefined ? await edited(place, context, before ?? blank(id, today)) : await given(file, context)
  const lesson = parseLesson(text)
  if ('complaints' in lesson) throw new Failure(`This is no lesson: ${visible(lesson.complaints.join(' '))}`)
  if (lesson.id !== id) throw new Failure(`The lesson's id is ${lesson.id}, not ${visible(id)}: nothing was changed.`)
  const isSame = before && lessonAsMarkdown(before) === lessonAsMarkdown(lesson)
  if (isSame) {
    context.out(`${id} is as it was.`)
    return EXIT.done
  }
  const { retired: _, ...rest } = lesson
  const isOther = before?.says !== lesson.says
  // The counts belong to the old text: a lesson with a new text begins with none.
  const own: Lesson = { ...rest, by: 'person', date: today, ...(isOther && { given: 0, firstTry: 0 }) }
  if (before?.retired && !isOther) Object.assign(own, { given: 0 })
  const who = personAt(await readUser(repository), Math.floor(Date.now() / 1000))
  await changePlaybooks(objects, now => ({ ...now, lessons: [...now.lessons.filter(it => it.id !== id), own] }), {
    words: `${before ? 'Edit' : 'Add'} the lesson ${id}`,
    who,
  })
  context.out(`${before ? 'Changed' : 'Added'} ${id}: it is given to runs that begin from now on.`)
  return EXIT.done
}

const blank = (id: string, date: string): Lesson => ({
  id,
  title: 'When it helps, in a few words',
  says: 'What helps, in one to three sentences.',
  for: ['plan', 'change'],
  from: [],
  date,
  by: 'person',
  given: 0,
  firstTry: 0,
})

async function edited(place: RunPlace, context: CommandContext, lesson: Lesson): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'forge-lesson-'))
  try {
    const path = join(folder, `${/^[a-z0-9-]{1,60}$/.test(lesson.id) ? lesson.id : 'lesson'}.md`)
    await writeFile(path, lessonAsMarkdown(lesson), { mode: 0o600 })
    await openEditor(place, path, 'the lesson', context)
    return await readFile(path, 'utf8')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function given(file: string, { cwd, input }: CommandContext): Promise<string> {
  if (file !== '-') {
    const path = join(file.startsWith('/') ? '/' : cwd, file)
    return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`${visible(file)} can't be read (${error.code}): name a file with a lesson.`)
    })
  }
  let text = ''
  for await (const piece of input) {
    text += piece
    if (text.length > MAX_FILE_BYTES) throw new Failure('That is too long for a lesson.')
  }
  return text
}

async function remove(place: RunPlace, { out }: CommandContext, ids: readonly string[]): Promise<ExitCode> {
  if (ids.length === 0) throw wrong('Name the lessons to remove', USAGE)
  for (const id of ids) await find(place, id)
  const who = personAt(await readUser(place.repository), Math.floor(Date.now() / 1000))
  await changePlaybooks(
    place.objects,
    now => ({ ...now, lessons: now.lessons.filter(({ id }) => !ids.includes(id)) }),
    { words: `Remove ${ids.join(', ')}`, who },
  )
  out(`Removed ${ids.join(', ')}: runs that have begun keep what they began with.`)
  return EXIT.done
}
