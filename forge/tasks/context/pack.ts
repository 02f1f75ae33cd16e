/**
 * Packs the request of one step: by priority, up to the model's window minus the space for the answer. What does not
 * fit is left out whole and named; smaller parts may still fit. The same step always gives the same bytes, by which an
 * answer already paid for is found.
 */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, asText, type Oid, type Path } from '../../../core/git/repository.ts'
import { many, sizeInWords, visiblePath } from '../../../core/text.ts'
import { bytesIn, fenced, fileInWords, quoted, tokensSent } from '../../ai/fence.ts'
import { readFolders } from '../../ai/folders.ts'
import { FORGE_MD, type ForgeMd, proseOf } from '../../ai/forge-md.ts'
import { modelFileAt } from '../../ai/model-files.ts'
import { filesNamed } from '../../ai/named.ts'
import { makeOutline } from '../../ai/outline.ts'
import type { RequestMessage, TextBlock, ToolDescription } from '../../ai/request.ts'
import { blackOutFor } from '../../ai/secrets.ts'
import type { Summaries } from '../../ai/summaries.ts'
import { CommitVfs } from '../../vfs.ts'
import type { StepKind } from '../contract.ts'
import { lessonsInWords } from '../lessons/choose.ts'
import type { Lesson } from '../lessons/lesson.ts'
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
import { readInterfaceBy } from './offers.ts'
import { companionsOf, relatedTo } from './related.ts'

export type Packing = {
  objects: Objects
  /** The commit or tree whose files are packed. With a commit, its history is used too. */
  tree: Oid
  kind: StepKind
  plan?: Plan
  task?: Task
  /** Texts besides plan and task; ABOUT in steps/prompts.ts lists the known kinds. */
  about: readonly About[]
  /** Lessons of earlier runs that fit the step. */
  lessons?: readonly Lesson[]
  /** Lessons that a planner can name for its tasks. */
  lessonsToName?: readonly Lesson[]
  /**
   * Files to read besides those that the task names: for a step of the task's outline, those that the step names; for a
   * sub-agent, those that its question names.
   */
  files?: readonly string[]
  /** Files that were asked for by name; they are packed whole, whatever their length. */
  whole?: readonly string[]
  /** For a review: the changed files, whose changes are shown by the diff. */
  changed?: readonly Path[]
  /** Whether the step may ask sub-agents. */
  subAgents?: boolean
  /** The content of FORGE.md: its commands run for every task. */
  forgeMd?: ForgeMd
  /** In tokens: the model's window. `output`: the part of it for the answer. */
  window: number
  output: number
  /** The tools of the request, which take space, too. */
  tools?: readonly ToolDescription[]
  /** The cached summaries of files; without them, they are made each time. */
  summaries?: Summaries
  /** The code map; without it, related files are left out. */
  map?: CodeMap
  /** Values of keys, which are blacked out everywhere. */
  secrets?: readonly string[]
}

export type Packed = {
  system: TextBlock[]
  messages: RequestMessage[]
  /** What was left out and why, in a few words each, for the journal. */
  leftOut: string[]
  /** Whether there was room for the lessons. */
  hasLessons: boolean
}

/** The used share of the window: tokens are estimated, so some space stays free. */
const USED = 0.9
/** The share of the window's free space for files that the task names by a pattern only; for the list of all files. */
const FOUND_FILES = 0.25
const WIDER = { planning: 0.8, doing: 0.3 }
/**
 * Tokens for the list of files: a planner has to see the whole project; a step that changes files gets those near its
 * own; a review or a small task gets none.
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
  extract: 0,
  classify: 0,
}
const MAX_RELATED = 3000
const MAX_FOUND = 24_000
/** At most this many files that only a pattern matches are considered. */
const MAX_FOUND_FILES = 200
/** Larger files, in bytes, are never packed whole. */
const MAX_FILE_BYTES = 128 << 10
/** `whole`: up to this many bytes a file is shown whole. `parts`: the most bytes that are shown of a longer one. */
const SHOWN = {
  write: { whole: 12 << 10, parts: 16 << 10 },
  text: { whole: 8 << 10, parts: 8 << 10 },
  changelog: { whole: 3 << 10, parts: 6 << 10 },
  /** Files with conflicts: all of these have to be seen, with lines around them. */
  conflicts: { whole: 24 << 10, parts: 160 << 10 },
  read: { whole: 8 << 10, parts: 8 << 10 },
  named: { whole: MAX_FILE_BYTES, parts: MAX_FILE_BYTES },
}
/** Files with the project's conventions; MAX_INSTRUCTIONS: at most this many bytes of each. */
const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md']
const MAX_INSTRUCTIONS = 12 << 10
/** A README's beginning without badges, which says what the project is; MAX_README: at most this many bytes. */
const README = 'README.md'
const MAX_README = 1500

/** Whether a kind of step needs files; others work only with texts. */
const needsFiles = (kind: StepKind): boolean => !['summarise', 'extract', 'classify'].includes(kind)

/** The order of parts in the request: those that most steps share come first. */
const PLACES = ['run', 'instructions', 'project', 'interfaces', 'files', 'facts', 'lessons', 'about', 'now'] as const
type Part = { place: (typeof PLACES)[number]; text: string }

/**
 * Packs a request for one step; the caller adds its tools. @throws Failure where the task itself does not fit into the
 * model's window.
 */
export async function packContext(packing: Packing): Promise<Packed> {
  const { kind, plan, task, about, window, output, tools = [], secrets = [], subAgents = false, forgeMd } = packing
  const clean = blackOutFor(secrets)
  const system = systemWords(kind, { subAgents })
  const room = new WindowSpace(bytesIn((window - output) * USED) - bytesOf(system) - bytesOf(JSON.stringify(tools)))

  // Priority 1: the task, and what makes it count as done.
  const telling = { kind, plan, ...(forgeMd && { always: forgeMd.checks }) }
  const orders = inOrder(about.filter(isOrder)).map(aboutWords)
  const own = [...(task ? [taskPrompt(task, telling)] : []), ...orders]
  room.take('now', clean([...own, nowWords(kind, about)].join('\n\n')))
  if (plan) room.take('run', clean(runWords(plan)))
  if (room.left < 0) throw new Failure(tooSmall(packing, -room.left))
  const reports = inOrder(about.filter(it => !isOrder(it)))
  // Reports of failures are short, and without them the same mistake is made again.
  const urgent = reports.filter(({ kind: it }) => URGENT.has(it))
  for (const it of urgent) room.offer('about', clean(aboutWords(it)), nameOf(it))

  const vfs = new CommitVfs(packing.objects, packing.tree)
  if (needsFiles(kind)) await offerInstructions(packing, { vfs, room, clean })

  // Priority 2: the files that the step reads and writes.
  const names = namesIn(...own, ...urgent.map(({ text }) => text))
  const files = needsFiles(kind) ? await filesOf(packing) : { wanted: [], found: [] }
  const offering: Offering = { vfs, clean, names }
  for (const path of files.wanted) await offerFile(packing, path, { ...offering, room })
  const foundRoom = room.within(Math.min(bytesIn(MAX_FOUND), Math.floor(room.left * FOUND_FILES)))
  for (const path of files.found) await offerFile(packing, path, { ...offering, room: foundRoom })

  // Priority 3: files that those of priority 2 refer to, or are referred to by.
  const all = [...files.wanted, ...files.found, ...(packing.changed ?? [])]
  if (needsFiles(kind) && !isPlanning(kind) && all.length > 0)
    await offerRelated(packing, all, { ...offering, room: room.within(bytesIn(MAX_RELATED)) })

  // Priority 4: results and reports of other steps.
  for (const it of reports.filter(report => !urgent.includes(report)))
    room.offer(FACTS.has(it.kind) ? 'facts' : 'about', clean(aboutWords(it)), nameOf(it))

  // Priority 5: lessons of earlier runs.
  const lessons = clean(lessonsInWords(packing.lessons ?? [], packing.lessonsToName))
  const leftOut = room.leftOut.length
  if (lessons) room.offer('lessons', lessons, 'the lessons of earlier runs')
  const hasLessons = lessons !== '' && room.leftOut.length === leftOut

  // Priority 6: the outline of the wider project, for a step that may need files which its task does not name.
  const isNamed = task !== undefined && task.boundaries.write.length > 0 && task.boundaries.write.every(isLiteral)
  const most = isNamed ? 0 : bytesIn(MAX_WIDER[kind])
  const share = WIDER[isPlanning(kind) ? 'planning' : 'doing']
  const outline = most > 0 ? await outlineOf(packing, all, Math.min(most, Math.floor(room.left * share))) : ''
  if (outline) room.offer('project', clean(outline), 'the outline of the project')
  return { system: [{ type: 'text', text: system, mark: '5m' }], ...messagesOf(room), hasLessons }
}

/** Kinds of texts without which the same mistake is made again. */
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
  'failures',
  'asked and answered',
  'lessons kept',
  'unclear',
])

/** Kinds of texts that are the same for each request of a planner. */
const FACTS = new Set(['stats', 'evaluated', 'checks', 'wished'])

const bytesOf = (text: string): number => Buffer.byteLength(text)

function tooSmall({ window, output, kind }: Packing, over: number): string {
  const what = `What the step "${kind}" is about is larger than the window of its model`
  return `${what} (${window.toLocaleString('en')} tokens, of which ${output.toLocaleString('en')} are kept for the \
answer) by about ${sizeInWords(over)}: choose a model with a larger window for its tier, or make the task smaller.`
}

/** The space in the window: the parts taken so far, and what is left. */
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

  /** A part of this space with its own limit, for what must not fill the whole window. */
  within(most: number): WindowSpace {
    return new WindowSpace(Math.min(most, this.left), this)
  }

  take(place: Part['place'], text: string): void {
    const bytes = bytesOf(text) + 2
    this.left -= bytes
    if (this.whole) this.whole.left -= bytes
    this.parts.push({ place, text })
  }

  /** Adds a text where it fits; otherwise leaves it out, and records `name`, if given. */
  offer(place: Part['place'], text: string, name?: string): void {
    if (bytesOf(text) + 2 <= this.left) this.take(place, text)
    else if (name !== undefined) this.leftOut.push(`${name} (${sizeInWords(bytesOf(text))})`)
  }
}

const nameOf = ({ kind }: About): string => `the text of kind ${kind}`

/**
 * One message, with a cache mark after the parts that steps of the run share, and one after those that steps of the
 * task share.
 */
function messagesOf({ parts, leftOut }: WindowSpace): { messages: RequestMessage[]; leftOut: string[] } {
  const textAt = (places: readonly string[]): string =>
    PLACES.filter(place => places.includes(place))
      .flatMap(place => parts.filter(part => part.place === place).map(({ text }) => text))
      .join('\n\n')
  const groups: [places: string[], isKept: boolean][] = [
    [['run', 'instructions'], true],
    [['project', 'interfaces', 'files', 'facts'], true],
    [['lessons', 'about', 'now'], false],
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

/**
 * `wanted`: files that the step or the task names. `found`: files that only match a pattern of the task's boundaries.
 */
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
  // The diff in a review's request shows these files already.
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

/** The path of a file that a plan names: a leading `./` is dropped. */
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

/** The most bytes that a step is shown of a file, whole or in parts. */
function shownOf(path: Path, { kind, task, files = [], whole = [] }: Packing): { whole: number; parts: number } {
  if (whole.map(pathOf).includes(path)) return SHOWN.named
  const isSubject = !task || kind === 'resolve'
  if (isSubject && files.map(pathOf).includes(path)) return SHOWN.named
  if (!task || kind === 'review' || !mayWrite(path, task)) return SHOWN.read
  if (kind === 'resolve') return SHOWN.conflicts
  // For a new entry in a long text, its top, its end and the named lines are enough; in a changelog, little more than
  // its top.
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
      const readInterface = readInterfaceBy(packing.map?.code)
      const { text } = await excerptInWords(path, said, found.bytes, {
        names,
        readInterface,
        conflicts: packing.kind === 'resolve',
        ...shown,
      })
      room.offer('files', clean(text), visiblePath(path))
    }
  }
}

/** Adds the project's conventions, and for a planner also a description of the project. */
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

/** A README up to its first heading below the title, without badges and pictures. */
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

/**
 * Adds the files related to the step's own: definitions that the own files use, places where others use the own files,
 * and files that mostly change together with them.
 */
async function offerRelated(
  packing: Packing,
  own: readonly Path[],
  { clean, names, room }: Offering & WithRoom,
): Promise<void> {
  const { objects, tree, map } = packing
  const relating = { objects, commit: tree, own, names, readInterface: readInterfaceBy(map?.code) }
  const relate = async () => await relatedTo((await map?.near(tree, own)) ?? [], relating)
  // The history is read meanwhile: git reads it in a process of its own.
  const accompany = async () => (packing.kind === 'review' ? [] : await companionsOf(relating))
  const [related, companions] = await Promise.all([relate(), accompany()])
  for (const { path, how, lines } of related) {
    const said =
      how === 'imported' ? 'is imported here; of it, this is used' : 'uses these files, for example in the lines'
    room.offer(
      'interfaces',
      clean(`The file ${quoted(path)} ${said}:\n${fenced(lines.join('\n'))}`),
      nameOfRelated(path),
    )
  }
  const lines = companions.map(({ path, together, of }) => `${quoted(path)} (${together} of ${of})`)
  if (lines.length > 0)
    room.offer('interfaces', clean(`Commits that changed these files often changed also: ${lines.join(', ')}.`))
}

const nameOfRelated = (path: Path): string => `what is used of ${visiblePath(path)}`

/** The list of the project's files, one on each line, those near the task's first. */
async function outlineOf(packing: Packing, own: readonly Path[], bytes: number): Promise<string> {
  const { objects, kind, summaries, about } = packing
  const tree = (await new CommitVfs(objects, packing.tree).writeTree()) satisfies Oid
  const wish = about.find(it => it.kind === 'wish')?.text ?? ''
  const near = isPlanning(kind) ? await filesNamed(objects, { tree, text: wish }) : []
  // A planner sees all folders alike, except for files that the wish names.
  const active = isPlanning(kind) ? [] : [...own]
  const heading = '# The files of the project, each with what it is about, or its name behind its folder\n'
  const most = bytes - bytesOf(heading) - 10
  if (most <= 0) return ''
  const outline = summaries
    ? await summaries.of({ tree, active, near, window: tokensSent(most) / OUTLINE_SHARE })
    : await makeOutline(await readFolders(objects, tree), { active, near, bytes: most, summariesOf })
  if (outline.text === '') return ''
  const words = outline.words ? `${outline.words}\n` : ''
  return `${heading}${words}${fenced(outline.text)}`
}

/** The share of a model's window that the list of files with their summaries may fill. */
const OUTLINE_SHARE = 0.25
/** Gives no summaries: the names alone still say something. */
const summariesOf = async (files: readonly unknown[]): Promise<string[]> => files.map(() => '')
