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
import { FORGE_MD, type ForgeMd, proseOf } from '../../ai/forge-md.ts'
import { modelFileAt } from '../../ai/model-files.ts'
import { makeOutline } from '../../ai/outline.ts'
import type { RequestMessage, TextBlock, ToolDescription } from '../../ai/request.ts'
import { blackOutFor } from '../../ai/secrets.ts'
import type { Summaries } from '../../ai/summaries.ts'
import { CommitVfs } from '../../vfs.ts'
import type { StepKind } from '../contract.ts'
import { fits, folderOfGlob, isLiteral, plain, readGlob } from '../plan/globs.ts'
import type { Plan, Task } from '../plan/schema.ts'
import {
  type About,
  aboutWords,
  inOrder,
  isOrder,
  nowWords,
  runWords,
  systemWords,
  taskPrompt,
} from '../steps/prompts.ts'
import { isPlanning } from '../steps/tools.ts'
import { excerptInWords, namesIn } from './excerpt.ts'
import type { CodeMap } from './map.ts'
import { companionsOf, relatedTo } from './related.ts'

export type Packing = {
  objects: Objects
  /** Whose files are seen: a commit, whose history counts too; or a tree. */
  tree: Oid
  kind: StepKind
  plan?: Plan
  task?: Task
  /** What it is about, beside plan and task; see ABOUT in steps/prompts.ts for what is known. */
  about: readonly About[]
  /** Files to be read besides those of the task: those of an outline's step, or that a sub-agent is asked about. */
  files?: readonly string[]
  /** Files that somebody asked for by name: they are whole, however long. */
  whole?: readonly string[]
  /** For a review: the files that the change is about. The change itself shows them. */
  changed?: readonly Path[]
  /** Whether it may ask sub-agents. */
  subAgents?: boolean
  /** What FORGE.md says: its commands run for every task. */
  forgeMd?: ForgeMd
  /** In tokens: all of the model's window, and what is kept for its answer. */
  window: number
  output: number
  /** What is sent with it and takes room, too. */
  tools?: readonly ToolDescription[]
  /** Lines about files that are kept between requests. Without them, they are made each time. */
  summaries?: Summaries
  /** The code around the task's files. Without it, related files are left away. */
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
 * Tokens of the list of files: a planner has to see all of the project; a step that changes files gets those around its
 * own, a review or a small task none.
 */
const MAX_WIDER: Record<StepKind, number> = {
  plan: 24_000,
  'check plan': 24_000,
  outline: 2000,
  artifact: 3000,
  implement: 1000,
  review: 0,
  resolve: 0,
  summarise: 0,
}
const MAX_RELATED = 3000
const MAX_FOUND = 24_000
/** Files that only a pattern names, and that are looked at. */
const MAX_FOUND_FILES = 200
/** Larger texts are not sent whole, whoever asks for them. */
const MAX_FILE_BYTES = 128 << 10
/** Bytes up to which a file is shown whole, and of the parts of a longer one. */
const SHOWN = {
  write: { whole: 12 << 10, parts: 16 << 10 },
  text: { whole: 8 << 10, parts: 8 << 10 },
  changelog: { whole: 3 << 10, parts: 6 << 10 },
  read: { whole: 8 << 10, parts: 8 << 10 },
  named: { whole: MAX_FILE_BYTES, parts: MAX_FILE_BYTES },
}
/** Files that say how a project is written, and bytes of each. */
const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md']
const MAX_INSTRUCTIONS = 12 << 10
/** Bytes of a README's beginning, without its badges: what the project is, and not all that it can do. */
const README = 'README.md'
const MAX_README = 1500

/** Kinds that are about texts alone. */
const needsFiles = (kind: StepKind): boolean => kind !== 'summarise'

/** In the order in which they stand in the request: what is the same for most steps first. */
const PLACES = ['run', 'instructions', 'project', 'interfaces', 'files', 'facts', 'about', 'now'] as const
type Part = { place: (typeof PLACES)[number]; text: string }

/**
 * Packs a request for one step. Its tools are the caller's.
 * @throws Failure where not even the task itself fits into the model's window.
 */
export async function packContext(packing: Packing): Promise<Packed> {
  const { kind, plan, task, about, window, output, tools = [], secrets = [], subAgents = false, forgeMd } = packing
  const clean = blackOutFor(secrets)
  const system = systemWords(kind, { subAgents })
  const room = new WindowSpace(bytesIn((window - output) * USED) - bytesOf(system) - bytesOf(JSON.stringify(tools)))

  // 1: what it is about, and when it is done.
  const telling = { kind, plan, ...(forgeMd && { always: forgeMd.checks }) }
  const orders = inOrder(about.filter(isOrder)).map(aboutWords)
  const own = [...(task ? [taskPrompt(task, telling)] : []), ...orders]
  room.take('now', clean([...own, nowWords(kind, about)].join('\n\n')))
  if (plan) room.take('run', clean(runWords(plan)))
  if (room.left < 0) throw new Failure(tooSmall(packing, -room.left))
  const reports = inOrder(about.filter(it => !isOrder(it)))
  // What went wrong is short, and without it the same is done again.
  const urgent = reports.filter(({ kind: it }) => URGENT.has(it))
  for (const it of urgent) room.offer('about', clean(aboutWords(it)), nameOf(it))

  const vfs = new CommitVfs(packing.objects, packing.tree)
  if (needsFiles(kind)) await offerInstructions(packing, { vfs, room, clean })

  // 2: files to read and write.
  const names = namesIn(...own, ...urgent.map(({ text }) => text))
  const files = needsFiles(kind) ? await filesOf(packing) : { wanted: [], found: [] }
  const offering: Offering = { vfs, clean, names }
  for (const path of files.wanted) await offerFile(packing, path, { ...offering, room })
  const foundRoom = room.within(Math.min(bytesIn(MAX_FOUND), Math.floor(room.left * FOUND_FILES)))
  for (const path of files.found) await offerFile(packing, path, { ...offering, room: foundRoom })

  // 3: files that these refer to.
  const all = [...files.wanted, ...files.found, ...(packing.changed ?? [])]
  if (needsFiles(kind) && !isPlanning(kind) && all.length > 0)
    await offerRelated(packing, all, { ...offering, room: room.within(bytesIn(MAX_RELATED)) })

  // 4: results and reports. 5: lessons of earlier runs will stand here.
  for (const it of reports.filter(report => !urgent.includes(report)))
    room.offer(FACTS.has(it.kind) ? 'facts' : 'about', clean(aboutWords(it)), nameOf(it))

  // 6: the wider project.
  // Who writes files that are named needs no names of others.
  const isNamed = task !== undefined && task.boundaries.write.length > 0 && task.boundaries.write.every(isLiteral)
  const most = isNamed ? 0 : bytesIn(MAX_WIDER[kind])
  const share = WIDER[isPlanning(kind) ? 'planning' : 'doing']
  const outline = most > 0 ? await outlineOf(packing, all, Math.min(most, Math.floor(room.left * share))) : ''
  if (outline) room.offer('project', clean(outline), 'the outline of the project')
  return { system: [{ type: 'text', text: system, mark: '5m' }], ...messagesOf(room) }
}

/** Without these, the same is done wrong again. */
const URGENT = new Set([
  'report',
  'complaints',
  'conflict',
  'diff',
  'question',
  'plan',
  'status',
  'discovered',
  'looked',
])

/** What is the same for each request of a planner, whatever it has looked at. */
const FACTS = new Set(['stats', 'checks', 'wished'])

const bytesOf = (text: string): number => Buffer.byteLength(text)

function tooSmall({ window, output, kind }: Packing, over: number): string {
  const what = `What the step "${kind}" is about is larger than the window of its model`
  return `${what} (${window.toLocaleString('en')} tokens, of which ${output.toLocaleString('en')} are kept for the \
answer) by about ${sizeInWords(over)}: choose a model with a larger window for its tier, or make the task smaller.`
}

/** What is taken so far, and what is left. */
class WindowSpace {
  readonly parts: Part[]
  readonly leftOut: string[]

  constructor(
    public left: number,
    private readonly whole?: WindowSpace,
  ) {
    this.parts = whole?.parts ?? []
    this.leftOut = whole?.leftOut ?? []
  }

  /** A part of this room, for things that may not take all of it. */
  within(most: number): WindowSpace {
    return new WindowSpace(Math.min(most, this.left), this)
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
function messagesOf({ parts, leftOut }: WindowSpace): { messages: RequestMessage[]; leftOut: string[] } {
  const textAt = (places: readonly string[]): string =>
    PLACES.filter(place => places.includes(place))
      .flatMap(place => parts.filter(part => part.place === place).map(({ text }) => text))
      .join('\n\n')
  const groups: [places: string[], isKept: boolean][] = [
    [['run', 'instructions'], true],
    [['project', 'interfaces', 'files', 'facts'], true],
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
async function filesOf(packing: Packing): Promise<{ wanted: Path[]; found: Path[] }> {
  const { objects, tree, kind, task, files = [], whole = [], changed = [] } = packing
  const { context, objective, boundaries } = task ?? {}
  const write = boundaries?.write ?? []
  const toWrite = [...(objective?.outputs ?? []), ...write.filter(isLiteral)]
  const isReview = kind === 'review'
  const named = [
    ...whole,
    ...files,
    ...(isReview ? [] : toWrite),
    ...(context?.files ?? []),
    ...(context?.tests ?? []),
    ...(context?.documents ?? []),
  ]
  // What a review is about, its change shows.
  const asked = new Set(whole.map(pathOf))
  const shown = new Set(isReview ? changed.filter(path => !asked.has(path)) : [])
  const wanted = [...new Set(named.map(pathOf))].filter(path => !shown.has(path))
  if (isReview) return { wanted, found: [] }
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
  if (mayWrite(path, task)) return kind === 'review' ? 'may be written by the task' : 'may be written'
  return task.boundaries.write.length > 0 ? 'is to be read, not written' : 'is this'
}

function mayWrite(path: Path, { boundaries }: Task): boolean {
  const globs = boundaries.write.map(readGlob)
  return globs.some(glob => typeof glob !== 'string' && fits(glob, asText(path)))
}

/** How much of a file a step needs. */
function shownOf(path: Path, { kind, task, files = [], whole = [] }: Packing): { whole: number; parts: number } {
  if (whole.map(pathOf).includes(path)) return SHOWN.named
  const isSubject = !task || kind === 'resolve'
  if (isSubject && files.map(pathOf).includes(path)) return SHOWN.named
  if (!task || kind === 'review' || !mayWrite(path, task)) return SHOWN.read
  // An entry in a long text needs its top, its end and what is named in it; one in a changelog little more than its top.
  if (!/\.(?:md|markdown|rst|adoc|txt)$/i.test(path)) return SHOWN.write
  return /(?:^|\/)(?:changes|changelog|history|news|releases?)\.[^/]*$/i.test(path) ? SHOWN.changelog : SHOWN.text
}

type Offering = { vfs: CommitVfs; clean: (text: string) => string; names: ReadonlySet<string> }
type WithRoom = { room: WindowSpace }

async function offerFile(
  packing: Packing,
  path: Path,
  { vfs, clean, names, room }: Offering & WithRoom,
): Promise<void> {
  const name = `The file ${quoted(path)}`
  const said = saidOf(path, packing)
  const found = await modelFileAt(vfs, path)
  switch (found.kind) {
    case 'none':
      room.offer('files', `${name} does not exist yet.`)
      return
    case 'folder':
      room.offer('files', `${quoted(path)} is a folder of ${many(found.files.length, 'file')}.`)
      return
    case 'other':
      room.offer('files', `${clean(found.words)} It is not shown.`)
      room.leftOut.push(`${visiblePath(path)} (no text that can be sent)`)
      return
    case 'text': {
      const shown = shownOf(path, packing)
      if (found.bytes.length > shown.whole && shown === SHOWN.named) {
        const size = sizeInWords(found.bytes.length)
        room.leftOut.push(`${visiblePath(path)} (${size}, of which parts are sent)`)
      }
      const { text } = excerptInWords(path, said, found.bytes, { names, ...shown })
      room.offer('files', clean(text), visiblePath(path))
    }
  }
}

/** What says how the project is written; for a planner also what it is. */
async function offerInstructions(
  { kind, forgeMd }: Packing,
  { vfs, room, clean }: Omit<Offering, 'names'> & WithRoom,
): Promise<void> {
  for (const name of INSTRUCTIONS) {
    const found = await modelFileAt(vfs, asBytes(name))
    if (found.kind !== 'text') continue
    const text = fileInWords(asBytes(name), 'says how this project is written', found.bytes, MAX_INSTRUCTIONS)
    room.offer('instructions', clean(text), name)
  }
  const rules = forgeMd ? proseOf(forgeMd.text) : ''
  if (rules) {
    const bytes = Buffer.from(rules)
    const said = 'says how this project is written (without its checks)'
    room.offer('instructions', clean(fileInWords(asBytes(FORGE_MD), said, bytes, MAX_INSTRUCTIONS)), FORGE_MD)
  }
  if (!isPlanning(kind)) return
  const readme = await modelFileAt(vfs, asBytes(README))
  const intro = readme.kind === 'text' ? introOf(readme.bytes.toString()) : ''
  if (intro) room.offer('instructions', clean(`The file "${README}" begins, without badges:\n${fenced(intro)}`), README)
}

/** What a README says up to its first heading below the title, without badges and pictures. */
function introOf(text: string): string {
  const [, before = text] = /^([\s\S]{40,}?)\n(?:##\s|[^\n]+\n-{3,}\s*\n)/.exec(text) ?? []
  const lines = before
    .split(/\r?\n/)
    .filter(line => !/^\s*(?:\[?!\[|<|\.\. |\[[^\]]+\]:|:\w+:|[-*]\s*\[[^\]]*\]\([^)]*\)\s*$)/.test(line))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  if (lines.length <= MAX_README) return lines
  const end = lines.lastIndexOf('\n', MAX_README)
  return `${lines.slice(0, end > 0 ? end : MAX_README)}\n…`
}

// --- Around them

/** What the step's files use of others, where these are used, and what else changes with them. */
async function offerRelated(
  packing: Packing,
  own: readonly Path[],
  { clean, names, room }: Offering & WithRoom,
): Promise<void> {
  const { objects, tree, map } = packing
  const relating = { objects, commit: tree, own, names }
  const near = (await map?.near(tree, own)) ?? []
  for (const { path, how, lines } of await relatedTo(near, relating)) {
    const said =
      how === 'imported' ? 'is imported here; of it, this is used' : 'uses these files, for example in the lines'
    room.offer(
      'interfaces',
      clean(`The file ${quoted(path)} ${said}:\n${fenced(lines.join('\n'))}`),
      nameOfRelated(path),
    )
  }
  const companions = packing.kind === 'review' ? [] : await companionsOf(relating)
  const lines = companions.map(({ path, together, of }) => `${quoted(path)} (${together} of ${of})`)
  if (lines.length > 0)
    room.offer('interfaces', clean(`Commits that changed these files often changed also: ${lines.join(', ')}.`))
}

const nameOfRelated = (path: Path): string => `what is used of ${visiblePath(path)}`

/** The files of the project, a line each, those near the task's first. */
async function outlineOf(packing: Packing, own: readonly Path[], bytes: number): Promise<string> {
  const { objects, kind, summaries } = packing
  const tree = (await new CommitVfs(objects, packing.tree).writeTree()) satisfies Oid
  // Planners see all folders alike.
  const active = isPlanning(kind) ? [] : [...own]
  const heading = '# The files of the project, each with what it is about, or its name behind its folder\n'
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
