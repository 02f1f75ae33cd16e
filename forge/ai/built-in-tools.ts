/** The built-in tools, which need no approval: they work on files, through the Vfs alone. */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { findText, type GrepMatch, textSearch } from '../../core/git/grep.ts'
import { lastCommits } from '../../core/git/history.ts'
import type { Path } from '../../core/git/repository.ts'
import { many, short, sizeInWords, visible, visiblePath } from '../../core/text.ts'
import { listOf, parseArguments, whole } from './arguments.ts'
import { applyEdits, countLines, type EditRefusal, inFormOf, lineEnds, type Made, type TextEdit } from './edits.ts'
import { tokensOf } from './fence.ts'
import { lineStarts, numbered, readableLine } from './lines.ts'
import { MAX_MODEL_FILE_BYTES, type ModelFile, modelFileAt, pathFrom, verifyMayChange } from './model-files.ts'
import { isInstructions } from './session.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'

/** All built-in tools. The order is fixed, since cached requests begin with it. */
export const builtInTools = (): Tool[] => [...editingTools(), getLines, grepOpen, updateContext]

/** The tools that change files, for the chat as well as for the steps of a task. */
export const editingTools = (): Tool[] => [searchReplace, writeFile, appendToFile, deleteFile, renameFile]

/** The tools that only read and work without active files, e.g. for a planner. */
export const readingTools = (): Tool[] => [getLines, grepFiles, getHistory]

type Definition<Schema extends v.GenericSchema> = {
  name: string
  description: string
  /** JSON Schemas of the arguments. Those not in `required` are optional. */
  properties: Record<string, unknown>
  required: string[]
  schema: Schema
  /** Names the subject of a call with valid arguments, e.g. its path, for the call's title. */
  about: (wanted: v.InferOutput<Schema>) => string
  run: (wanted: v.InferOutput<Schema>, room: ToolContext) => Promise<ToolResult>
}

/** Defines a tool whose expected failures, such as wrong arguments, become results that tell the model what to do. */
function define<Schema extends v.GenericSchema>(definition: Definition<Schema>): Tool {
  const { name, description, properties, required, schema, about, run } = definition
  return {
    description: {
      name,
      description,
      parameters: { type: 'object', properties, required, additionalProperties: false },
    },
    title: sent => `${name} ${short(visible(aboutAny(schema, sent, about)), 200)}`.trimEnd(),
    run: async (sent, room) => {
      room.signal.throwIfAborted()
      try {
        return await run(parseArguments(schema, sent), room)
      } catch (error) {
        room.signal.throwIfAborted()
        if (error instanceof Failure) return refused(error.message)
        throw error
      }
    },
  }
}

/** The subject of a call, for its title, also where the arguments are wrong. */
function aboutAny<Schema extends v.GenericSchema>(
  schema: Schema,
  sent: unknown,
  about: (wanted: v.InferOutput<Schema>) => string,
): string {
  try {
    return about(parseArguments(schema, sent))
  } catch {
    const parsed = v.safeParse(v.object({ path: v.string() }), sent)
    return parsed.success ? parsed.output.path : ''
  }
}

const refused = (text: string, words = text.split(/(?<=\.) |\n/)[0] ?? ''): ToolResult => ({
  text,
  isError: true,
  words: short(visible(words), 200),
})

const STRING = { type: 'string' }
const PATH = { type: 'string', description: 'Path relative to the repository root, e.g. src/a.ts' }
const PathText = v.pipe(v.string(), v.nonEmpty())

/** Counts of added and deleted lines, as in `+3 −1`. */
const counted = ({ added, deleted }: { added: number; deleted: number }): string => `+${added} −${deleted}`

async function changeablePath(room: ToolContext, text: string): Promise<Path> {
  const path = await pathFrom(room.vfs, text)
  verifyMayChange(path)
  return path
}

// --- Writing

/** At most this many bytes can be written to a file; larger files are not edited by the model. */
const MAX_WRITTEN_BYTES = 2 << 20

const writeFile = define({
  name: 'write_file',
  description: 'Writes a whole file, new or in place of the old one. For parts of a file, search_replace is better.',
  properties: { path: PATH, content: STRING, executable: { type: 'boolean' } },
  required: ['path', 'content'],
  schema: v.strictObject({ path: PathText, content: v.string(), executable: v.optional(v.boolean()) }),
  about: ({ path }) => path,
  run: async ({ path: text, content, executable }, room) => {
    const path = await changeablePath(room, text)
    const name = visiblePath(path)
    verifyText(content)
    const found = await modelFileAt(room.vfs, path)
    if (found.kind === 'folder') throw new Failure(`${name} is a folder: give the name of a file in it.`)
    if (found.kind === 'other' && found.what === 'submodule') throw new Failure(found.words)
    if (found.kind === 'other') throw new Failure(`${found.words} It was not written: to replace it, delete it first.`)
    const old = found.kind === 'text' ? found.bytes : undefined
    if (found.kind === 'text' && !found.isUtf8) throw new Failure(notUtf8(name))
    const { bytes, kept } = old ? inFormOf(old, content) : { bytes: Buffer.from(content), kept: [] }
    const mode = executable === undefined ? undefined : executable ? '100755' : '100644'
    const isSameMode = mode === undefined || (await room.vfs.entryAt(path))?.mode === mode
    if (old?.equals(bytes) && isSameMode)
      return { text: `${name} is like this already: nothing changed.`, isError: false, words: 'no change' }
    const counts = countLines(old ?? Buffer.alloc(0), bytes)
    await room.vfs.writeFile(path, bytes, mode && { mode })
    const form = kept.length > 0 ? ` It kept ${kept.join(' and ')}.` : ''
    if (old) return done(`Wrote ${name}: ${counted(counts)} lines.${form}`, counted(counts), [path])
    return done(`Wrote ${name}, a new file of ${many(counts.added, 'line')}.`, `new  ${counted(counts)}`, [path])
  },
})

const appendToFile = define({
  name: 'append_to_file',
  description: 'Adds lines at the end of a file that exists.',
  properties: { path: PATH, content: STRING },
  required: ['path', 'content'],
  schema: v.strictObject({ path: PathText, content: v.pipe(v.string(), v.minLength(1)) }),
  about: ({ path }) => path,
  run: async ({ path: text, content }, room) => {
    const path = await changeablePath(room, text)
    const name = visiblePath(path)
    verifyText(content)
    const found = await modelFileAt(room.vfs, path)
    if (found.kind === 'none') throw new Failure(`${await missing(room, path)} To make it, write the whole file.`)
    if (found.kind === 'folder') throw new Failure(`${name} is a folder: give the name of a file in it.`)
    if (found.kind === 'other') throw new Failure(`${found.words} Nothing was added.`)
    const { bytes: old, isUtf8 } = found
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what is not ASCII would be in another encoding
    if (!isUtf8 && /[^\x00-\x7f]/.test(content)) throw new Failure(notUtf8(name))
    const bytes = Buffer.concat([old, addedTo(old, content)])
    if (bytes.length > Math.max(MAX_MODEL_FILE_BYTES, old.length))
      throw new Failure(`${name} would have ${sizeInWords(bytes.length)}: that is too much. Nothing was added.`)
    const counts = countLines(old, bytes)
    await room.vfs.writeFile(path, bytes)
    const { first, last } = { first: lineStarts(old).length, last: lineStarts(bytes).length }
    const { text: shown } = numbered(bytes, lineStarts(bytes), {
      first: Math.max(1, first - LINES_AROUND),
      last: Math.min(last, first + LINES_AROUND + 1),
      most: MAX_SHOWN_CHARACTERS,
    })
    const end = `It is now (line number and tab in front):\n${shown}${last > first + LINES_AROUND + 1 ? '\n…' : ''}`
    return done(`Added to ${name}: ${counted(counts)} lines. ${end}`, counted(counts), [path])
  },
})

/** The bytes to append: they start on a line of their own, end with a newline, and use the file's line ends. */
function addedTo(old: Buffer, content: string): Buffer {
  const isCrlf = lineEnds(old) === 'CRLF'
  const lines = `${content.replaceAll('\r\n', '\n').replace(/\n$/, '')}\n`
  const text = `${old.length > 0 && old.at(-1) !== 0x0a ? '\n' : ''}${lines}`
  return Buffer.from(isCrlf ? text.replaceAll('\n', '\r\n') : text)
}

const notUtf8 = (name: string): string =>
  [
    `${name} has bytes that are no UTF-8 (Latin-1, perhaps): written as a whole, they would be lost.`,
    'It was not written: replace lines of it, which keeps them, or delete it first.',
  ].join(' ')

const done = (text: string, words: string, touched: Path[]): ToolResult => ({ text, isError: false, words, touched })

function verifyText(text: string): void {
  if (!text.isWellFormed()) throw new Failure('There is half a character (a lone surrogate) in the text.')
  if (text.includes('\0')) throw new Failure('There is a NUL in the text: no text file has one.')
  if (Buffer.byteLength(text) > MAX_WRITTEN_BYTES)
    throw new Failure(`That is too much: a file may be written with at most ${sizeInWords(MAX_WRITTEN_BYTES)}.`)
}

const deleteFile = define({
  name: 'delete_file',
  description: 'Deletes a file, or with a slash at the end of its path a folder with all in it.',
  properties: { path: PATH },
  required: ['path'],
  schema: v.strictObject({ path: PathText }),
  about: ({ path }) => path,
  run: async ({ path: text }, room) => {
    const path = await changeablePath(room, text.replace(/\/$/, ''))
    const name = visiblePath(path)
    const entry = await room.vfs.entryAt(path)
    const inside = entry ? [] : await room.vfs.listFiles(path)
    if (!entry && inside.length === 0) throw new Failure(await missing(room, path))
    if (!entry && !text.endsWith('/')) {
      const words = `${name} is a folder of ${many(inside.length, 'file')}: to delete all of them, give ${name}/.`
      throw new Failure(`${words} It has ${listed(inside.map(it => it.path))}.`)
    }
    const submodule = [...(entry ? [{ path, ...entry }] : []), ...inside].find(({ mode }) => mode === '160000')
    if (submodule) throw new Failure(`${visiblePath(submodule.path)} is a submodule: it is not deleted here.`)
    const files = entry ? [path] : inside.map(it => it.path)
    await room.vfs.deleteFile(path)
    for (const file of files) if (room.active.has(file)) room.deactivate(file)
    const what = entry ? `Deleted ${name}.` : `Deleted ${name}/ with ${many(files.length, 'file')}.`
    return done(what, entry ? 'deleted' : many(files.length, 'file'), files)
  },
})

const renameFile = define({
  name: 'rename_file',
  description: 'Renames or moves a file. What refers to it stays as it is.',
  properties: { from: PATH, to: PATH },
  required: ['from', 'to'],
  schema: v.strictObject({ from: PathText, to: PathText }),
  about: ({ from, to }) => `${from} → ${to}`,
  run: async (wanted, room) => {
    const from = await changeablePath(room, wanted.from)
    const to = await changeablePath(room, wanted.to)
    const [name, newName] = [visiblePath(from), visiblePath(to)]
    const entry = await room.vfs.entryAt(from)
    if (!entry && (await room.vfs.listFiles(from)).length > 0)
      throw new Failure(`${name} is a folder: rename its files one by one.`)
    if (!entry) throw new Failure(await missing(room, from))
    if (entry.mode === '120000') throw new Failure(`${name} is a symbolic link: it is not renamed here.`)
    if (entry.mode === '160000') throw new Failure(`${name} is a submodule: it is not renamed here.`)
    if (from === to) throw new Failure('That is its name already: nothing changed.')
    if ((await room.vfs.entryAt(to)) || (await othersIn(room, to, from)))
      throw new Failure(`There is ${newName} already: nothing was renamed. Choose another name, or delete it first.`)
    await room.vfs.renameFile(from, to)
    if (room.active.has(from)) {
      room.deactivate(from)
      room.activate(to)
    }
    return done(`Renamed ${name} to ${newName}.`, 'renamed', [from, to])
  },
})

/** Whether a folder has other content than the one file that is about to be moved away. */
const othersIn = async (room: ToolContext, folder: Path, file: Path): Promise<boolean> =>
  (await room.vfs.listFiles(folder)).some(({ path }) => path !== file)

/** The message that a file does not exist, with the paths of files of the same name elsewhere. */
async function missing(room: ToolContext, path: Path): Promise<string> {
  const own = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const all = await room.vfs.listFiles('')
  const same = all.filter(it => it.path.slice(it.path.lastIndexOf('/') + 1).toLowerCase() === own)
  const hint = same.length > 0 ? ` There is ${listed(same.map(it => it.path))}.` : ''
  return `There is no file ${visiblePath(path)}.${hint}`
}

const MAX_NAMED_PATHS = 20

function listed(paths: readonly Path[]): string {
  const named = paths.slice(0, MAX_NAMED_PATHS).map(visiblePath).join(', ')
  return paths.length > MAX_NAMED_PATHS ? `${named} and ${paths.length - MAX_NAMED_PATHS} more` : named
}

// --- Editing

const MAX_EDITS_PER_CALL = 100
/** At most this many bytes are searched for all edits of one call, since the server is blocked meanwhile. */
const MAX_SEARCHED_BYTES = 100 << 20
/** After a failed edit, a file of up to this many bytes is shown to the model as a whole. */
const MAX_WHOLE_FILE_BYTES = 60_000

const searchReplace = define({
  name: 'search_replace',
  description: [
    'Edits a file. Each search must occur exactly once in the file as the edits before it in this call have left it;',
    'it may span lines. Give whole lines, with enough lines around what changes to be unique,',
    'without the numbers that get_lines and grep_open print. All edits of a call are made, or none.',
  ].join(' '),
  properties: {
    path: PATH,
    edits: {
      type: 'array',
      items: {
        type: 'object',
        properties: { search: STRING, replace: STRING },
        required: ['search', 'replace'],
        additionalProperties: false,
      },
    },
  },
  required: ['path', 'edits'],
  schema: v.strictObject({
    path: PathText,
    edits: v.pipe(
      listOf(v.strictObject({ search: v.string(), replace: v.string() })),
      v.minLength(1),
      v.maxLength(MAX_EDITS_PER_CALL),
    ),
  }),
  about: ({ path }) => path,
  run: async ({ path: text, edits }, room) => {
    const path = await changeablePath(room, text)
    const name = visiblePath(path)
    const found = await modelFileAt(room.vfs, path)
    if (found.kind === 'none') throw new Failure(`${await missing(room, path)} To make it, write the whole file.`)
    if (found.kind === 'folder') throw new Failure(`${name} is a folder: give the name of a file in it.`)
    if (found.kind === 'other') throw new Failure(`${found.words} It was not edited.`)
    for (const { replace } of edits) verifyText(replace)
    if (edits.length * found.bytes.length > MAX_SEARCHED_BYTES)
      throw new Failure(`${name} has ${sizeInWords(found.bytes.length)}: send fewer edits at a time.`)
    const edited = applyEdits(found.bytes, edits)
    if ('refusals' in edited) return await notEdited(path, found, edits, edited.refusals, room)
    if (edited.bytes.length > Math.max(MAX_MODEL_FILE_BYTES, found.bytes.length))
      throw new Failure(`${name} would have ${sizeInWords(edited.bytes.length)}: that is too much. It was not edited.`)
    await room.vfs.writeFile(path, edited.bytes)
    const sum = {
      added: edited.made.reduce((all, { added }) => all + added, 0),
      deleted: edited.made.reduce((all, { deleted }) => all + deleted, 0),
    }
    const words = `${many(edits.length, 'edit')}  ${counted(sum)}`
    const now = `It is now (line number and tab in front):\n${changesShown(edited.bytes, edited.made)}`
    return done(`Edited ${name}: ${counted(sum)} lines.${overlooked(edited.made)} ${now}`, words, [path])
  },
})

/** A result shows this many lines before and after each change, and MAX_SHOWN_CHARACTERS in all. */
const LINES_AROUND = 2
const MAX_SHOWN_CHARACTERS = 3000
/**
 * A change of more lines is shown by only its first and last PIECE_END_LINES lines, since the model has just written
 * it.
 */
const MAX_PIECE_LINES = 14
const PIECE_END_LINES = LINES_AROUND + 2

/** The changed lines of a file with the lines around them; only the first ones where they are too many. */
function changesShown(bytes: Buffer, made: readonly Made[]): string {
  const starts = lineStarts(bytes)
  if (starts.length === 0) return '(empty)'
  const ranges: { first: number; last: number }[] = []
  for (const { line, added } of made.toSorted((a, b) => a.line - b.line)) {
    const first = Math.max(1, Math.min(line, starts.length) - LINES_AROUND)
    const last = Math.min(starts.length, line + Math.max(added - 1, 0) + LINES_AROUND)
    const before = ranges.at(-1)
    if (before && first <= before.last + 1) before.last = Math.max(before.last, last)
    else ranges.push({ first, last })
  }
  const shown: string[] = []
  let left = MAX_SHOWN_CHARACTERS
  const pieces = ranges.flatMap(({ first, last }) =>
    last - first < MAX_PIECE_LINES
      ? [{ first, last }]
      : [
          { first, last: first + PIECE_END_LINES - 1 },
          { first: last - PIECE_END_LINES + 1, last },
        ],
  )
  for (const range of pieces) {
    if (left <= 0) break
    const { text, last } = numbered(bytes, starts, { ...range, most: left })
    shown.push(last < range.last ? `${text}\n…` : text)
    left -= text.length
  }
  const isShort = shown.length < pieces.length
  return `${shown.join('\n…\n')}${isShort ? '\n…' : ''}`
}

const RUNGS: Record<Exclude<Made['rung'], 'exact'>, string> = {
  'line ends': 'other line ends',
  'trailing blanks': 'other blanks at the ends of lines',
  indentation: 'another indentation, to which the replacement was brought as well',
  punctuation: 'other quotes, dashes or blanks',
}

/**
 * A sentence for each edit whose search text was found only by ignoring a difference (e.g. of indentation): what the
 * file has there. Ignored line ends are not mentioned: the model need not know about them.
 */
function overlooked(made: readonly Made[]): string {
  const words = made.flatMap(({ rung }, at) => {
    if (rung === 'exact' || rung === 'line ends') return []
    return [` ${made.length === 1 ? 'The file has' : `At edit ${at + 1}, the file has`} ${RUNGS[rung]}.`]
  })
  return words.slice(0, 5).join('')
}

async function notEdited(
  path: Path,
  { bytes, isUtf8 }: Extract<ModelFile, { kind: 'text' }>,
  edits: readonly TextEdit[],
  refusals: readonly EditRefusal[],
  room: ToolContext,
): Promise<ToolResult> {
  const name = visiblePath(path)
  const [first] = refusals
  const isMissed = refusals.some(({ why }) => why === 'none')
  const isAgain = isMissed && (room.misses.get(path) ?? 0) > 0
  const changed = isMissed ? await room.changed(path) : undefined
  const head = edits.length === 1 ? `${name} was not edited.` : `${name} was not edited, by none of the edits.`
  const parts = [changed ? `${head} Somebody else has changed it since your last turn, ${visible(changed)}.` : head]
  const isWhole = isAgain && isUtf8 && bytes.length <= MAX_WHOLE_FILE_BYTES
  for (const { edit, why, text } of refusals) {
    // The nearest lines, which `text` quotes, are left out: the whole file follows.
    const told = isWhole && why === 'none' ? 'The search is nowhere in the file.' : text
    parts.push(edits.length === 1 ? told : `Edit ${edit + 1} of ${edits.length}: ${told}`)
  }
  if (isWhole) parts.push(`Write the whole file by write_file now. This is what it is:\n${readableLine(bytes)}`)
  else if (isAgain) parts.push('Read the lines that you mean with get_lines, and give few of them as they are.')
  return {
    text: parts.join('\n'),
    isError: true,
    words: SHORTLY[first?.why ?? 'none'],
    ...(isMissed && { missed: path }),
  }
}

/** Reasons of refused edits, in a few words for the user. */
const SHORTLY: Record<EditRefusal['why'], string> = {
  none: 'not found',
  several: 'found more than once',
  same: 'no change',
  there: 'there already',
  empty: 'empty search',
  overlap: 'edits overlap',
  encoding: 'another encoding',
  indentation: 'another indentation',
}

// --- Reading

const MAX_LINES_READ = 1000
const MAX_CHARS_READ = 40_000

const getLines = define({
  name: 'get_lines',
  description: `Reads lines of a file, at most ${MAX_LINES_READ}. A number and a tab stand before each; they are not part of it.`,
  properties: { path: PATH, from: { type: 'integer', minimum: 1 }, to: { type: 'integer', minimum: 1 } },
  required: ['path'],
  schema: v.strictObject({ path: PathText, from: v.optional(whole()), to: v.optional(whole()) }),
  about: ({ path, from, to }) => (from || to ? `${path} ${from ?? 1}–${to ?? ''}` : path),
  run: async ({ path: text, from = 1, to = Number.POSITIVE_INFINITY }, room) => {
    const path = await pathFrom(room.vfs, text)
    const name = visiblePath(path)
    const found = await modelFileAt(room.vfs, path)
    if (found.kind === 'none') throw new Failure(await missing(room, path))
    if (found.kind === 'folder') throw new Failure(`${name} is a folder, with ${listed(found.files)}.`)
    if (found.kind === 'other') throw new Failure(found.words)
    const starts = lineStarts(found.bytes)
    if (starts.length === 0) return { text: `${name} is empty.`, isError: false, words: 'empty' }
    if (to < from) throw new Failure(`Line ${to} is before line ${from}: give the first line as from.`)
    if (from > starts.length) throw new Failure(`${name} has ${many(starts.length, 'line')}: there is no line ${from}.`)
    const last = Math.min(to, starts.length, from + MAX_LINES_READ - 1)
    const shown = numbered(found.bytes, starts, { first: from, last, most: MAX_CHARS_READ })
    const notes = [
      shown.last < Math.min(to, starts.length) && `There is more: go on from line ${shown.last + 1}.`,
      shown.isCut && 'Long lines are cut.',
      !found.isUtf8 && 'Bytes that are no UTF-8 are written as \\xe9: leave them out of a search.',
    ].filter(Boolean)
    const head = `${name}, lines ${from} to ${shown.last} of ${starts.length}:`
    const words = many(shown.last - from + 1, 'line')
    return { text: [head, shown.text, ...notes].join('\n'), isError: false, words }
  },
})

const MAX_MATCHES = 200
/** A search ends after this many seconds with what it has found: some expressions take exponential time. */
const SEARCH_SECONDS = 10

/** At most this many lines are shown before and after each match. */
const MAX_CONTEXT_LINES = 10

/** The JSON Schemas of a search's arguments. */
const QUESTION = {
  text: v.string(),
  regex: v.optional(v.boolean(), false),
  ignore_case: v.optional(v.boolean(), false),
  context: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_CONTEXT_LINES)), 0),
}

const grepOpen = define({
  name: 'grep_open',
  description: [
    'Finds lines by a text, or by a regular expression (Perl syntax), in the active files; in all files of the branch',
    'with everywhere, or where no file but instructions is active.',
  ].join(' '),
  properties: {
    text: STRING,
    regex: { type: 'boolean' },
    ignore_case: { type: 'boolean' },
    everywhere: { type: 'boolean' },
    folder: { type: 'string', description: 'Only below this folder, or in this file, active or not' },
    context: { type: 'integer', minimum: 0, maximum: MAX_CONTEXT_LINES, description: 'Lines shown around each match' },
  },
  required: ['text'],
  schema: v.strictObject({
    ...QUESTION,
    everywhere: v.optional(v.boolean(), false),
    folder: v.optional(v.string(), ''),
  }),
  about: ({ text }) => text,
  run: async ({ folder, everywhere, ...question }, room) => {
    const below = folder.replace(/^(\.\/)+|\/+$/g, '')
    const only = await searched(room, below, everywhere)
    const isOpen = only.length > 0 && below === ''
    const where = isOpen ? `the ${many(only.length, 'active file')}` : placeOf(only)
    const hint = isOpen ? ' With everywhere, all other files are looked at, too.' : ''
    return await search(question, { only, where, hint }, room)
  },
})

const grepFiles = define({
  name: 'grep',
  description: 'Finds lines by a text, or by a regular expression (Perl syntax), in all files.',
  properties: {
    text: STRING,
    regex: { type: 'boolean' },
    ignore_case: { type: 'boolean' },
    folder: { type: 'string', description: 'Only below this folder, or in this file' },
    context: { type: 'integer', minimum: 0, maximum: MAX_CONTEXT_LINES, description: 'Lines shown around each match' },
  },
  required: ['text'],
  schema: v.strictObject({ ...QUESTION, folder: v.optional(v.string(), '') }),
  about: ({ text }) => text,
  run: async ({ folder, ...question }, room) => {
    const only = await searched(room, folder.replace(/^(\.\/)+|\/+$/g, ''), true)
    return await search(question, { only, where: placeOf(only) }, room)
  },
})

const placeOf = ([only]: readonly Path[]): string => (only === undefined ? 'the repository' : visiblePath(only))

/** Searches in the given files and folders, or everywhere where none is given. */
async function search(
  { text, regex, ignore_case, context }: v.InferOutput<v.StrictObjectSchema<typeof QUESTION, undefined>>,
  { only, where, hint = '' }: { only: Path[]; where: string; hint?: string },
  room: ToolContext,
): Promise<ToolResult> {
  const { repository } = room.vfs.objects
  // The conversations in .forge are not searched.
  const besides = ['.forge']
  const tree = await room.vfs.writeTree()
  const question = { tree, words: text, isRegex: regex, matchCase: !ignore_case }
  const matches: GrepMatch[] = []
  const { isCut } = await findText(repository, await textSearch(repository, question), {
    signal: room.signal,
    onFound: found => matches.push(...found),
    seconds: SEARCH_SECONDS,
    most: MAX_MATCHES,
    only,
    besides,
  })
  if (matches.length === 0 && isCut)
    throw new Failure('That takes too long: look for something simpler, or in a folder.')
  if (matches.length === 0) return { text: `Nothing in ${where}.${hint}`, isError: false, words: 'nothing found' }
  const { rows, isShort } = context > 0 ? await rowsInContext(room, matches, context) : rowsOf(matches)
  const more = isCut || isShort ? '\nThere may be more: look for something rarer, or in a folder.' : ''
  const head = `${many(matches.length, 'line')} in ${where}:`
  return { text: `${head}\n${rows.join('\n')}${more}`, isError: false, words: many(matches.length, 'line') }
}

/** The files and folders to search in; an empty list means everywhere. */
async function searched(room: ToolContext, folder: string, everywhere: boolean): Promise<Path[]> {
  if (folder !== '' && folder !== '.') {
    const path = await pathFrom(room.vfs, folder)
    const isThere = (await room.vfs.entryAt(path)) || (await room.vfs.listFiles(path)).length > 0
    if (!isThere) throw new Failure(`There is no folder or file ${visiblePath(path)}.`)
    return [path]
  }
  // Instruction files are always active, so a model that searches its active files does not mean them: only the other
  // ones are searched.
  return everywhere ? [] : [...room.active].filter(path => !isInstructions(path)).sort()
}

/** A found line is cut to this many characters around its match. `MAX_MATCHES_CHARS` bounds all lines together. */
const MAX_MATCH_CHARS = 300
const MAX_MATCHES_CHARS = 20_000

/** The found lines, grouped by file. `isShort`: some were cut or left out. */
function rowsOf(matches: readonly GrepMatch[]): { rows: string[]; isShort: boolean } {
  const rows: string[] = []
  let [size, path] = [0, '']
  for (const match of matches) {
    const added = [`${match.line}\t${around(match)}`]
    if (match.path !== path) added.unshift(visiblePath(match.path))
    path = match.path
    size += added.reduce((sum, row) => sum + row.length + 1, 0)
    if (size > MAX_MATCHES_CHARS) return { rows, isShort: true }
    rows.push(...added)
  }
  return { rows, isShort: false }
}

/**
 * The found lines with lines around each: a colon after the number of a match, a dash after the number of other lines.
 */
async function rowsInContext(
  room: ToolContext,
  matches: readonly GrepMatch[],
  context: number,
): Promise<{ rows: string[]; isShort: boolean }> {
  const rows: string[] = []
  let size = 0
  for (const [path, found] of Map.groupBy(matches, match => match.path)) {
    const hits = new Map(found.map(match => [match.line, match]))
    const lines = (await room.vfs.readFile(path)).toString().split('\n')
    const added = [visiblePath(path)]
    let shown = 0
    for (const line of hits.keys()) {
      const first = Math.max(shown + 1, line - context)
      if (shown > 0 && first > shown + 1) added.push('…')
      for (let at = first; at <= Math.min(line + context, lines.length); at++) {
        const hit = hits.get(at)
        added.push(hit ? `${at}:\t${around(hit)}` : `${at}-\t${short(lines[at - 1] ?? '', MAX_MATCH_CHARS)}`)
        shown = at
      }
    }
    size += added.reduce((sum, row) => sum + row.length + 1, 0)
    if (size > MAX_MATCHES_CHARS) return rows.length > 0 ? { rows, isShort: true } : rowsOf(matches)
    rows.push(...added)
  }
  return { rows, isShort: false }
}

function around({ text, ranges }: GrepMatch): string {
  if (text.length <= MAX_MATCH_CHARS) return text
  const from = Math.max(0, Math.min((ranges[0]?.[0] ?? 0) - 60, text.length - MAX_MATCH_CHARS))
  return `${from > 0 ? '…' : ''}${text.slice(from, from + MAX_MATCH_CHARS)}…`.toWellFormed()
}

// --- History

/** At most this many commits are listed, each with at most `MAX_COMMIT_FILES` file names. */
const MAX_COMMITS = 15
const MAX_COMMIT_FILES = 8

const getHistory = define({
  name: 'get_history',
  description: [
    `Lists the last commits, at most ${MAX_COMMITS}, each with its date, its subject and its files:`,
    'those that changed a file or folder, those whose message has a text, or all.',
  ].join(' '),
  properties: { path: PATH, text: STRING },
  required: [],
  schema: v.strictObject({ path: v.optional(PathText), text: v.optional(v.string()) }),
  about: ({ path, text }) => [path, text && `"${text}"`].filter(Boolean).join(' '),
  run: async ({ path: wanted, text }, room) => {
    const { base, objects } = room.vfs
    if (base === undefined) throw new Failure('There is no commit yet.')
    const path = wanted === undefined ? undefined : await pathFrom(room.vfs, wanted.replace(/\/$/, ''))
    const commits = await lastCommits(objects.repository, base, {
      most: MAX_COMMITS,
      signal: room.signal,
      path,
      text,
    })
    if (commits.length === 0) return { text: 'No commit is like that.', isError: false, words: 'nothing found' }
    const rows = commits.map(({ date, subject, files }) => `${date} ${short(visible(subject), 100)}${filesIn(files)}`)
    return { text: rows.join('\n'), isError: false, words: many(commits.length, 'commit') }
  },
})

function filesIn(files: readonly Path[]): string {
  if (files.length === 0) return ''
  const named = files.slice(0, MAX_COMMIT_FILES).map(visiblePath).join(', ')
  return `\n  ${named}${files.length > MAX_COMMIT_FILES ? ` and ${files.length - MAX_COMMIT_FILES} more` : ''}`
}

// --- Context

/** Larger files, in bytes, can't be put into the context: they are read in parts. */
const MAX_CONTEXT_FILE_BYTES = 400_000

const updateContext = define({
  name: 'update_context',
  description: 'Makes files active (you have them whole, and see their changes), or inactive again.',
  properties: { add: { type: 'array', items: PATH }, remove: { type: 'array', items: PATH } },
  required: [],
  schema: v.strictObject({ add: v.optional(listOf(PathText), []), remove: v.optional(listOf(PathText), []) }),
  about: ({ add, remove }) => [...add.map(path => `+${path}`), ...remove.map(path => `−${path}`)].join(' '),
  run: async ({ add, remove }, room) => {
    if (add.length + remove.length === 0) throw new Failure('There is nothing to add and nothing to remove.')
    const added = await Promise.all([...new Set(add)].map(text => pathFrom(room.vfs, text)))
    const removed = await Promise.all([...new Set(remove)].map(text => pathFrom(room.vfs, text)))
    const both = added.find(path => removed.includes(path))
    if (both !== undefined) throw new Failure(`${visiblePath(both)} is to be added and removed: choose one.`)
    const rows: string[] = []
    for (const path of added) rows.push(await verifyMayBeActive(room, path))
    for (const path of removed) {
      if (!room.active.has(path)) throw new Failure(`${visiblePath(path)} is not in the context: nothing changed.`)
      rows.push(`Removed ${visiblePath(path)}.`)
    }
    for (const path of added) if (!room.active.has(path)) room.activate(path)
    for (const path of removed) room.deactivate(path)
    const words = [added.length > 0 && `+${added.length}`, removed.length > 0 && `−${removed.length}`]
    return { text: rows.join('\n'), isError: false, words: `${words.filter(Boolean).join(' ')} in the context` }
  },
})

/** Gives the sentence for a file that is put into the context. Throws a {@link Failure} where it can't be. */
async function verifyMayBeActive(room: ToolContext, path: Path): Promise<string> {
  const name = visiblePath(path)
  verifyMayChange(path)
  const found = await modelFileAt(room.vfs, path)
  if (found.kind === 'none') throw new Failure(`${await missing(room, path)} Nothing changed.`)
  if (found.kind === 'folder') throw new Failure(`${name} is a folder: add its files, ${listed(found.files)}.`)
  if (found.kind === 'other') throw new Failure(`${found.words} Nothing changed.`)
  const { length } = found.bytes
  if (length > MAX_CONTEXT_FILE_BYTES)
    throw new Failure(`${name} has ${sizeInWords(length)}, too much for the context: read it by get_lines.`)
  if (room.active.has(path)) return `${name} is in the context already.`
  return `Added ${name}, ${sizeInWords(length)}, about ${tokensOf(length).toLocaleString('en')} tokens.`
}
