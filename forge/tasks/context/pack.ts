/**
 * Packs what one step needs into one request, and nothing else: by priority, to the model's window less what the answer
 * needs. What does not fit is left out whole and named; the next smaller goes in. The same step packs the same bytes,
 * whatever was asked before: an answer that was paid for is found by them.
 */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, asText, type Oid, type Path } from '../../../core/git/repository.ts'
import { many, sizeInWords, visiblePath } from '../../../core/text.ts'
import { bytesIn, fenced, fileInWords, quoted, tokensSent } from '../../ai/fence.ts'
import { readFolders } from '../../ai/folders.ts'
import { modelFileAt } from '../../ai/model-files.ts'
import { makeOutline } from '../../ai/outline.ts'
import type { RequestMessage, TextBlock, ToolDescription } from '../../ai/request.ts'
import { blackOutFor } from '../../ai/secrets.ts'
import type { Summaries } from '../../ai/summaries.ts'
import { CommitVfs } from '../../vfs.ts'
import type { StepKind } from '../contract.ts'
import { fits, folderOfGlob, isLiteral, plain, readGlob } from '../plan/globs.ts'
import type { Plan, Task } from '../plan/schema.ts'
import { type About, aboutWords, inOrder, isOrder, NOW, runWords, systemWords, taskPrompt } from '../steps/prompts.ts'
import type { CodeMap, Near } from './map.ts'

export type Packing = {
  objects: Objects
  /** Whose files are seen: a tree, or a commit for its tree. */
  tree: Oid
  kind: StepKind
  plan?: Plan
  task?: Task
  /** What it is about, beside plan and task; see ABOUT in steps/prompts.ts for what is known. */
  about: readonly About[]
  /** Files to be read besides those of the task: those of an outline's step, or that a sub-agent is asked about. */
  files?: readonly string[]
  /** In tokens: all of the model's window, and what is kept for its answer. */
  window: number
  output: number
  /** What is sent with it and takes room, too. */
  tools?: readonly ToolDescription[]
  /** Lines about files that are kept between requests. Without them, they are made each time. */
  summaries?: Summaries
  /** The code around the task's files. Without it, signatures are left away. */
  map?: CodeMap
  /** Values of keys, which are blacked out wherever they stand. */
  secrets?: readonly string[]
}

export type Packed = {
  system: TextBlock[]
  messages: RequestMessage[]
  /** What is not in it and why, a few words each: for the journal. */
  leftOut: string[]
}

/** Tokens are estimated, so that part of the window stays free. */
const USED = 0.9
/** Of what is free, what files may take that only a pattern names, and what the wider project may. */
const FOUND_FILES = 0.25
const WIDER = { planning: 0.8, doing: 0.3 }
/**
 * In tokens: what stands there for the case that it matters is paid for with each request, whatever window the model
 * has. A planner has to see all of the project; a small task gets hardly any of it.
 */
const MAX_WIDER_TOKENS = { planning: 32_000, doing: 8000, small: 3000 }
const MAX_NEAR_TOKENS = 12_000
const MAX_FOUND_TOKENS = 24_000
/** How many files are read that only a glob names. */
const MAX_FOUND_FILES = 200
/** Larger texts are not sent: what has to be known of them stands in the task, or in a smaller file. */
const MAX_FILE_BYTES = 128 << 10
/** Files that say how a project is built: for every step, and for planners only. */
const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md']
const FOR_PLANNERS = ['FORGE.md', 'README.md']
/** How much of each of them is sent, in bytes. */
const MAX_INSTRUCTIONS_BYTES = 24 << 10

/** Kinds that decide about the whole project. */
const isPlanning = (kind: StepKind): boolean => kind === 'plan' || kind === 'check plan'
/** Kinds that are about texts alone. */
const needsFiles = (kind: StepKind): boolean => kind !== 'summarise'

/** In the order in which they stand in the request: what is the same for most steps first. */
const PLACES = ['run', 'instructions', 'project', 'interfaces', 'files', 'about', 'now'] as const
type Part = { place: (typeof PLACES)[number]; text: string }

/**
 * Packs a request for one step. Its tools are the caller's.
 * @throws Failure where not even the task itself fits into the model's window.
 */
export async function packContext(packing: Packing): Promise<Packed> {
  const { kind, plan, task, about, window, output, tools = [], secrets = [] } = packing
  const clean = blackOutFor(secrets)
  const system = systemWords(kind)
  const room = new Room(bytesIn((window - output) * USED) - bytesOf(system) - bytesOf(JSON.stringify(tools)))

  // 1: what it is about, and when it is done.
  const orders = inOrder(about.filter(isOrder)).map(aboutWords)
  const now = [task && taskPrompt(task, plan), ...orders, NOW[kind]].filter(it => it !== undefined).join('\n\n')
  room.take('now', clean(now))
  if (plan) room.take('run', clean(runWords(plan)))
  if (room.left < 0) throw new Failure(tooSmall(packing, -room.left))
  const reports = inOrder(about.filter(it => !isOrder(it)))
  // What went wrong is short, and without it the same is done again.
  const urgent = reports.filter(({ kind: it }) => URGENT.has(it))
  for (const it of urgent) room.offer('about', clean(aboutWords(it)), nameOf(it))

  const files = needsFiles(kind) ? await filesOf(packing) : { wanted: [], found: [] }
  const vfs = new CommitVfs(packing.objects, packing.tree)
  for (const name of isPlanning(kind) ? [...INSTRUCTIONS, ...FOR_PLANNERS] : needsFiles(kind) ? INSTRUCTIONS : [])
    await offerFile(vfs, room, name, 'says how this project is written', clean, 'instructions', MAX_INSTRUCTIONS_BYTES)

  // 2: files to read and write.
  for (const path of files.wanted) await offerFile(vfs, room, path, saidOf(path, packing), clean)
  const foundRoom = room.within(Math.min(bytesIn(MAX_FOUND_TOKENS), Math.floor(room.left * FOUND_FILES)))
  for (const path of files.found) await offerFile(vfs, foundRoom, path, 'may be written', clean)

  // 3: what is near to them.
  const own = [...files.wanted, ...files.found]
  const near = needsFiles(kind) && own.length > 0 ? ((await packing.map?.near(packing.tree, own)) ?? []) : []
  const isSmall = task?.size === 'small'
  const nearRoom = room.within(bytesIn(MAX_NEAR_TOKENS))
  for (const it of near.filter(({ isNext }) => isNext)) nearRoom.offer('interfaces', clean(nearWords(it)), nearName(it))

  // 4: results and reports. 5: lessons of earlier runs will stand here.
  for (const it of reports.filter(report => !urgent.includes(report)))
    room.offer('about', clean(aboutWords(it)), nameOf(it))

  // 6: the wider project.
  if (needsFiles(kind)) {
    const role = isPlanning(kind) ? 'planning' : 'doing'
    const most = bytesIn(MAX_WIDER_TOKENS[isSmall ? 'small' : role])
    const wider = Math.min(most, Math.floor(room.left * WIDER[role]))
    const outline = await outlineOf(packing, own, wider)
    if (outline) room.offer('project', clean(outline), 'the outline of the project')
    if (!isSmall) {
      const further = room.within(Math.max(0, wider - bytesOf(outline)))
      for (const it of near.filter(({ isNext }) => !isNext)) further.offer('interfaces', clean(nearWords(it)))
    }
  }
  return { system: [{ type: 'text', text: system, mark: '5m' }], ...messagesOf(room) }
}

/** Without these, the same is done wrong again. */
const URGENT = new Set(['report', 'complaints', 'conflict', 'diff', 'question', 'plan', 'status', 'discovered'])

const bytesOf = (text: string): number => Buffer.byteLength(text)

function tooSmall({ window, output, kind }: Packing, over: number): string {
  const what = `What the step "${kind}" is about is larger than the window of its model`
  return `${what} (${window.toLocaleString('en')} tokens, of which ${output.toLocaleString('en')} are kept for the \
answer) by about ${sizeInWords(over)}: choose a model with a larger window for its tier, or make the task smaller.`
}

/** What is taken so far, and what is left. */
class Room {
  readonly parts: Part[]
  readonly leftOut: string[]

  constructor(
    public left: number,
    private readonly whole?: Room,
  ) {
    this.parts = whole?.parts ?? []
    this.leftOut = whole?.leftOut ?? []
  }

  /** A part of this room, for things that may not take all of it. */
  within(most: number): Room {
    return new Room(Math.min(most, this.left), this)
  }

  take(place: Part['place'], text: string): void {
    const bytes = bytesOf(text) + 2
    this.left -= bytes
    if (this.whole) this.whole.left -= bytes
    this.parts.push({ place, text })
  }

  /** Takes it where it fits; where it does not, it is left out, and so said where it has a name. */
  offer(place: Part['place'], text: string, name?: string): void {
    if (bytesOf(text) + 2 <= this.left) this.take(place, text)
    else if (name !== undefined) this.leftOut.push(`${name} (${sizeInWords(bytesOf(text))})`)
  }
}

const nameOf = ({ kind }: About): string => `the text of kind ${kind}`

/**
 * One message, with a mark behind what other steps of the run have, too, and one behind what those of the task have.
 */
function messagesOf({ parts, leftOut }: Room): { messages: RequestMessage[]; leftOut: string[] } {
  const textAt = (places: readonly string[]): string =>
    PLACES.filter(place => places.includes(place))
      .flatMap(place => parts.filter(part => part.place === place).map(({ text }) => text))
      .join('\n\n')
  const groups: [places: string[], isKept: boolean][] = [
    [['run', 'instructions'], true],
    [['project', 'interfaces', 'files'], true],
    [['about', 'now'], false],
  ]
  const blocks = groups.flatMap(([places, isKept]): TextBlock[] => {
    const text = textAt(places)
    if (text === '') return []
    return [{ type: 'text', text, ...(isKept && { mark: '5m' as const }) }]
  })
  return { messages: [{ role: 'user', blocks }], leftOut: inShort(leftOut) }
}

const MAX_NAMED = 40

const inShort = (names: readonly string[]): string[] =>
  names.length <= MAX_NAMED
    ? [...names]
    : [...names.slice(0, MAX_NAMED), `and ${(names.length - MAX_NAMED).toLocaleString('en')} more`]

// --- Files

/** `wanted` are named by the task or the step, those to be written first; `found` only fit its boundaries. */
async function filesOf({ objects, tree, task, files = [] }: Packing): Promise<{ wanted: Path[]; found: Path[] }> {
  const { context, objective, boundaries } = task ?? {}
  const write = boundaries?.write ?? []
  const named = [
    ...files,
    ...(objective?.outputs ?? []),
    ...write.filter(isLiteral),
    ...(context?.files ?? []),
    ...(context?.tests ?? []),
    ...(context?.documents ?? []),
  ]
  const wanted = [...new Set(named.map(pathOf))]
  const globs = write.filter(glob => !isLiteral(glob)).map(readGlob)
  const known = new Set(wanted)
  const found = new Set<Path>()
  const vfs = new CommitVfs(objects, tree)
  for (const glob of globs) {
    if (typeof glob === 'string') continue
    for (const { path } of await vfs.listFiles(asBytes(folderOfGlob(glob.text)))) {
      if (found.size >= MAX_FOUND_FILES) break
      if (!known.has(path) && fits(glob, asText(path))) found.add(path)
    }
  }
  return { wanted, found: [...found] }
}

/** A path as a plan has it: text, with a `./` in front that means nothing. */
const pathOf = (text: string): Path => asBytes(plain(text))

function saidOf(path: Path, { kind, task, files = [] }: Packing): string {
  if (kind === 'resolve' && files.map(pathOf).includes(path)) return 'is in conflict, and is to be brought together'
  if (!task) return 'is this'
  const globs = task.boundaries.write.map(readGlob)
  const mayWrite = globs.some(glob => typeof glob !== 'string' && fits(glob, asText(path)))
  return mayWrite ? 'may be written' : task.boundaries.write.length > 0 ? 'is to be read, not written' : 'is this'
}

async function offerFile(
  vfs: CommitVfs,
  room: Room,
  path: Path,
  said: string,
  clean: (text: string) => string,
  place: Part['place'] = 'files',
  most = MAX_FILE_BYTES,
): Promise<void> {
  const name = `The file ${quoted(path)}`
  const found = await modelFileAt(vfs, path)
  switch (found.kind) {
    case 'none':
      if (place === 'files') room.offer(place, `${name} does not exist yet.`)
      return
    case 'folder':
      if (place === 'files') room.offer(place, `${quoted(path)} is a folder of ${many(found.files.length, 'file')}.`)
      return
    case 'other':
      room.offer(place, `${clean(found.words)} It is not shown.`)
      room.leftOut.push(`${visiblePath(path)} (no text that can be sent)`)
      return
    case 'text':
      if (found.bytes.length > most) {
        const size = sizeInWords(found.bytes.length)
        room.offer(place, `${name} ${said}, but it has ${size}: too much to be shown.`)
        room.leftOut.push(`${visiblePath(path)} (${size}, more than is sent of one file)`)
        return
      }
      room.offer(place, clean(fileInWords(path, said, found.bytes)), visiblePath(path))
  }
}

// --- Around them

const nearName = ({ path }: Near): string => `signatures of ${visiblePath(path)}`

const nearWords = ({ path, lines }: Near): string =>
  `Of the file ${quoted(path)}, which is not shown, what others use:\n${fenced(lines.join('\n'))}`

/** The files of the project, a line each, those near the task's first. */
async function outlineOf(packing: Packing, own: readonly Path[], bytes: number): Promise<string> {
  const { objects, kind, summaries } = packing
  const tree = (await new CommitVfs(objects, packing.tree).writeTree()) satisfies Oid
  // Planners see all folders alike.
  const active = isPlanning(kind) ? [] : [...own]
  const heading = '# The files of the project, each with what it is about\n'
  const most = bytes - bytesOf(heading) - 10
  if (most <= 0) return ''
  const outline = summaries
    ? await summaries.of({ tree, active, window: tokensSent(most) / OUTLINE_SHARE })
    : await makeOutline(await readFolders(objects, tree), { active, bytes: most, summariesOf })
  if (outline.text === '') return ''
  const words = outline.words ? `${outline.words}\n` : ''
  return `${heading}${words}${fenced(outline.text)}`
}

/** Of a window that they are made for, summaries take this part. */
const OUTLINE_SHARE = 0.25
/** Names alone say something, too. */
const summariesOf = async (files: readonly unknown[]): Promise<string[]> => files.map(() => '')
