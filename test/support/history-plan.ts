/**
 * A stretch of a repository's history as a plan: every commit becomes a small task that may write just the files which
 * that commit wrote, and waits for those that wrote them before. With it come the edits by which a model would do each,
 * so that the end of such a run is known beforehand: it is the tree that people made.
 */
import type { Objects } from '../../core/git/objects.ts'
import { asBytes, asText, type Entry, type Oid, type Path } from '../../core/git/repository.ts'
import { entryAt, isSafeName, type TreeChange, writeTree } from '../../core/git/trees.ts'
import { isOfTheForge } from '../../forge/ai/model-files.ts'
import { boundaryOf } from '../../forge/tasks/checks/boundaries.ts'
import { checkTexts } from '../../forge/tasks/checks/texts.ts'
import type { TaskId } from '../../forge/tasks/contract.ts'
import type { Plan, Task } from '../../forge/tasks/plan/schema.ts'
import type { FileEdit } from '../../forge/tasks/steps/answers.ts'
import { applyAll } from '../../forge/tasks/steps/apply.ts'
import { git } from './git.ts'
import { bytesFrom } from './repository.ts'

export type HistoryPlan = {
  plan: Plan
  /** The tree that the run begins with, and the one that it must end with: that of the newest commit. */
  base: Oid
  tree: Oid
  /** What a model answers to each task. */
  edits: ReadonlyMap<TaskId, FileEdit[]>
  /** What no model can write (pictures, links, submodules): it is in the base as it is in the end. */
  given: Path[]
}

/** What one commit does to a path; a rename has the path that it comes from. */
type Touch = { path: Path; before: Entry; after: Entry; from?: Path }

/** What the forge itself obeys is left out, in the beginning and in the end. */
const FORGE_MD = 'FORGE.md'
/** Bytes of a file that a model may write in one go. */
const MOST_WRITTEN = 2 << 20
/** How many files a task may name; one with more does not say which, and works alone. */
const MOST_NAMED = 100

/** The newest commits of a branch, each against its first parent, so that a merge is one change like any other. */
export async function commitsOf(path: string, count: number): Promise<Oid[]> {
  const commits = (await git(path, 'rev-list', '--first-parent', `--max-count=${count + 1}`, 'HEAD')).split('\n')
  return commits.reverse()
}

/** Makes the plan; the first of the commits is what it begins with. */
export async function planOf(objects: Objects, commits: readonly Oid[]): Promise<HistoryPlan> {
  const last = commits.at(-1) ?? ''
  const steps = await Promise.all(
    commits
      .slice(1)
      .map(async (commit, at) => ({ commit, touches: await touchesOf(objects, commits[at] ?? '', commit) })),
  )
  const given = new Set<Path>()
  for (const { path, before, after } of steps.flatMap(({ touches }) => touches))
    if (!(await isWritable(objects, path, before)) || !(await isWritable(objects, path, after))) given.add(path)
  // A commit of more files is a task without boundaries, which may not touch files that must be named.
  for (const { touches } of steps.filter(({ touches }) => touches.length > MOST_NAMED / 2))
    for (const { path, before, after } of touches) if (needsName(path, before, after)) given.add(path)
  const asInTheEnd = new Map<Path, TreeChange>()
  for (const path of given) asInTheEnd.set(path, await entryAt(objects, last, path))
  // Its checks would be run: they are another test's matter.
  given.add(FORGE_MD)
  asInTheEnd.set(FORGE_MD, undefined)
  const treeAt = (commit: Oid) => writeTree(objects, commit, asInTheEnd)
  const base = await treeAt(commits[0] ?? '')
  const order = new Order()
  const edits = new Map<TaskId, FileEdit[]>()
  const tasks: Task[] = []
  let before = base
  for (const [at, { commit, touches }] of steps.entries()) {
    const own = touches.flatMap(touch => withoutGiven(touch, given))
    if (own.length === 0) continue
    const id = `c${String(at + 1).padStart(4, '0')}`
    const tree = await treeAt(commit)
    edits.set(id, await editsFor(objects, { before, tree, touches: own }))
    tasks.push(await taskOf(objects, { id, commit, base, touches: own, dependsOn: order.next(id, own) }))
    before = tree
  }
  return { plan: await withContract(objects, tasks, last), base, tree: before, edits, given: [...given] }
}

const needsName = boundaryOf({ write: [], never: [] })

// --- What a commit does ----------------------------------------------------------------------------------------------

async function touchesOf(objects: Objects, from: Oid, to: Oid): Promise<Touch[]> {
  const output = await bytesFrom(
    objects.repository.gitDir,
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '-M',
    '--no-abbrev',
    from,
    to,
  )
  const words = output.split('\0')
  const touches: Touch[] = []
  for (let at = 0; at + 1 < words.length; ) {
    const [oldMode = '', mode = '', oldOid = '', oid = '', status = ''] = (words[at] ?? '').slice(1).split(' ')
    const [first = '', second = ''] = [words[at + 1], words[at + 2]]
    const [before, after] = [entry(oldMode, oldOid), entry(mode, oid)]
    const isRename = status.startsWith('R')
    touches.push(isRename ? { path: second, before, after, from: first } : { path: first, before, after })
    at += isRename ? 3 : 2
  }
  return touches
}

const entry = (mode: string, oid: Oid): Entry => (mode === '000000' ? undefined : { mode, oid })

/** Whether a model could have written it: a text with a name that everybody may write. */
async function isWritable(objects: Objects, path: Path, at: Entry): Promise<boolean> {
  if (!path.split('/').every(isSafeName) || isOfTheForge(path)) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (asText(path).includes('\ufffd') || /[\x00-\x1f\x7f]|\\x/.test(path)) return false
  if (!at) return true
  if (!at.mode.startsWith('100')) return false
  const bytes = (await objects.read(at.oid, { limit: MOST_WRITTEN }))?.bytes
  return bytes !== undefined && !bytes.includes(0) && Buffer.from(bytes.toString()).equals(bytes) && !isPointer(bytes)
}

const isPointer = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 42) === 'version https://git-lfs.github.com/spec/v1'

/** What is left of a change without what is in the base as it is in the end. */
function withoutGiven(touch: Touch, given: ReadonlySet<Path>): Touch[] {
  const { path, before, after, from } = touch
  if (from === undefined || (!given.has(from) && !given.has(path))) return given.has(path) ? [] : [touch]
  const gone: Touch = { path: from, before, after: undefined }
  const made: Touch = { path, before: undefined, after }
  return [gone, made].filter(it => !given.has(it.path))
}

// --- The edits -------------------------------------------------------------------------------------------------------

type Wanted = { before: Oid; tree: Oid; touches: readonly Touch[] }

/** The smallest edits that lead from one tree to the other: parts of files, else whole files, else new files. */
async function editsFor(objects: Objects, { before, tree, touches }: Wanted): Promise<FileEdit[]> {
  for (const way of ['parts', 'files', 'anew'] as const) {
    const edits = await editsBy(objects, touches, way)
    const { files } = await applyAll(objects, before, edits, new AbortController().signal)
    if (files && edits.length <= 500 && (await writeTree(objects, before, files.changes)) === tree) return edits
  }
  throw new Error(`No edits make ${tree} of ${before}: take other commits.`)
}

async function editsBy(
  objects: Objects,
  touches: readonly Touch[],
  way: 'parts' | 'files' | 'anew',
): Promise<FileEdit[]> {
  const first: FileEdit[] = []
  const then: FileEdit[] = []
  for (const { path, before, after, from } of touches) {
    const name = asText(path)
    const isSame = from === undefined || way === 'parts'
    if (before && (!after || !isSame || way === 'anew')) first.push({ kind: 'delete', path: asText(from ?? path) })
    if (!after) continue
    const content = await textOf(objects, after)
    const executable = after.mode === '100755'
    const isMade = !before || !isSame || way === 'anew'
    if (!isMade && from !== undefined) first.push({ kind: 'rename', path: asText(from), to: name })
    const isOther = before?.oid !== after.oid
    const parts = !isMade && isOther && way === 'parts' ? await partsOf(objects, before, after) : undefined
    if (parts) then.push(...parts.map(part => ({ kind: 'replace' as const, path: name, ...part })))
    const isOtherMode = before?.mode !== after.mode
    if (isMade || isOtherMode || (isOther && !parts)) then.push({ kind: 'write', path: name, content, executable })
  }
  // A folder may become a file, and a file a folder: what goes makes room for what comes.
  return [...first.filter(({ kind }) => kind === 'delete'), ...first.filter(({ kind }) => kind === 'rename'), ...then]
}

async function textOf(objects: Objects, at: NonNullable<Entry>): Promise<string> {
  return (await objects.read(at.oid, { limit: MOST_WRITTEN }))?.bytes?.toString() ?? ''
}

type Part = { search: string; replace: string }
/** Lines from `from` up to `to` of a file become these lines of another. */
type Hunk = { from: number; to: number; lines: string[] }

/** What becomes of a file as searches that each stand in it once; undefined where there are none such. */
async function partsOf(
  objects: Objects,
  before: NonNullable<Entry>,
  after: NonNullable<Entry>,
): Promise<Part[] | undefined> {
  const [old, young] = [linesOf(await textOf(objects, before)), linesOf(await textOf(objects, after))]
  const diff = await bytesFrom(
    objects.repository.gitDir,
    'diff',
    '-U0',
    '--no-ext-diff',
    '--no-textconv',
    before.oid,
    after.oid,
  )
  const hunks = Array.from(diff.matchAll(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm), ([, a, b, c, d]): Hunk => {
    const [gone, come] = [Number(b ?? 1), Number(d ?? 1)]
    // Where nothing goes, or nothing comes, git counts the line before.
    const [from, start] = [Number(a) - (gone > 0 ? 1 : 0), Number(c) - (come > 0 ? 1 : 0)]
    return { from, to: from + gone, lines: young.slice(start, start + come) }
  })
  const parts: Part[] = []
  let now = old.join('')
  for (const [at, hunk] of hunks.entries()) {
    const part = partOf(old, hunk, [hunks[at - 1]?.to ?? 0, hunks[at + 1]?.from ?? old.length], now)
    if (!part) return undefined
    parts.push(part)
    now = now.replace(part.search, () => part.replace)
  }
  return parts.length > 0 && now === young.join('') ? parts : undefined
}

/** With as many lines around it as make it the only one, but none that other hunks change. */
function partOf(
  old: readonly string[],
  { from, to, lines }: Hunk,
  [first, last]: [number, number],
  now: string,
): Part | undefined {
  for (let around = 1; ; around++) {
    const [start, end] = [Math.max(first, from - around), Math.min(last, to + around)]
    const [head, tail] = [old.slice(start, from), old.slice(to, end)]
    const search = [...head, ...old.slice(from, to), ...tail].join('')
    if (search.trim() !== '' && now.split(search).length === 2)
      return { search, replace: [...head, ...lines, ...tail].join('') }
    if (start === first && end === last) return undefined
  }
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

// --- The order -------------------------------------------------------------------------------------------------------

/** The tasks that add to a folder, and those that delete from it: each waits for the last ones that did the other. */
type Turn = { kind: 'adds' | 'takes' | 'both'; now: TaskId[]; before: TaskId[] }

/**
 * Which tasks have to wait for which: for the last one at each of their paths, at a file in the place of a folder, and
 * where files go from a folder to which others come, since git takes the first for a rename of the folder.
 */
class Order {
  readonly #last = new Map<Path, TaskId>()
  readonly #folders = new Map<Path, Turn>()
  /** Of each task all that it waits for, directly or not. */
  readonly #before = new Map<TaskId, Set<TaskId>>()

  /** What a task waits for, without what the others of these wait for anyway. */
  next(id: TaskId, touches: readonly Touch[]): TaskId[] {
    const paths = new Set(touches.flatMap(({ path, from }) => (from === undefined ? [path] : [from, path])))
    const waitsFor = new Set<TaskId>()
    for (const path of paths) {
      for (const [other, task] of this.#last)
        if (other === path || other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) waitsFor.add(task)
    }
    for (const path of paths) this.#last.set(path, id)
    const adds = new Set(
      touches.filter(({ before, from }) => !before || from !== undefined).flatMap(({ path }) => foldersOf(path)),
    )
    const takes = new Set(
      touches.flatMap(({ path, after, from }) => (from !== undefined || !after ? foldersOf(from ?? path) : [])),
    )
    for (const folder of new Set([...adds, ...takes])) {
      const kind = adds.has(folder) ? (takes.has(folder) ? 'both' : 'adds') : 'takes'
      for (const task of this.#turn(folder, kind, id)) waitsFor.add(task)
    }
    return this.#reduced(id, waitsFor)
  }

  #turn(folder: Path, kind: Turn['kind'], id: TaskId): TaskId[] {
    const turn = this.#folders.get(folder)
    const isSame = turn?.kind === kind && kind !== 'both'
    const next: Turn = isSame ? { ...turn, now: [...turn.now, id] } : { kind, now: [id], before: turn?.now ?? [] }
    this.#folders.set(folder, next)
    return next.before
  }

  #reduced(id: TaskId, waitsFor: ReadonlySet<TaskId>): TaskId[] {
    const behind = new Set([...waitsFor].flatMap(other => [...(this.#before.get(other) ?? [])]))
    this.#before.set(id, new Set([...waitsFor, ...behind]))
    return [...waitsFor].filter(other => !behind.has(other)).sort()
  }
}

/** All folders that a path is in, but the top. */
function foldersOf(path: Path): Path[] {
  const names = path.split('/')
  return names.slice(1).map((_, at) => names.slice(0, at + 1).join('/'))
}

// --- The plan --------------------------------------------------------------------------------------------------------

type Known = { id: TaskId; commit: Oid; base: Oid; touches: readonly Touch[]; dependsOn: TaskId[] }

async function taskOf(objects: Objects, { id, commit, base, touches, dependsOn }: Known): Promise<Task> {
  const subject = (await git(objects.repository.gitDir, 'log', '-1', '--format=%s', commit)).trim().slice(0, 110)
  const paths = [...new Set(touches.flatMap(({ path, from }) => (from === undefined ? [path] : [from, path])))].map(
    asText,
  )
  // A pattern, or what is a folder in the beginning, would say something else.
  const isPlain = async (path: string) =>
    !/[*?[\]{}!\\]/.test(path) && (await entryAt(objects, base, asBytes(path)))?.mode !== '040000'
  const isNamed = paths.length <= MOST_NAMED && (await Promise.all(paths.map(isPlain))).every(Boolean)
  const made = touches.filter(({ after }) => after).map(({ path }) => asText(path))
  return {
    id,
    title: subject || 'A commit without words',
    objective: {
      behaviour: `Do what was done then: ${subject || 'nobody said why'}`,
      outputs: isNamed ? made : [],
      acceptance: ['The files are as they were after it.'],
    },
    claims: [],
    boundaries: { write: isNamed ? paths : [], never: [] },
    context: { files: [], tests: [], documents: [] },
    validation: { checks: [await checkFor(objects, touches)], reviews: [] },
    depends_on: dependsOn,
    tier: 'summarization',
    recursion: 0,
    size: 'small',
  }
}

/** A check of texts that holds; where none does, a command that shows that a file is the one of then. */
async function checkFor(objects: Objects, touches: readonly Touch[]): Promise<Task['validation']['checks'][number]> {
  const written = touches.flatMap(({ path, after }) => (after ? [{ path, after }] : []))
  const texts = await Promise.all(
    written.map(async ({ path, after }) => ({ path, text: await textOf(objects, after) })),
  )
  for (const check of ['complete', 'format'] as const)
    if ((await checkTexts(check, texts, async () => true)).length === 0) return check
  const [first] = texts
  return { command: first ? sumOf(first) : 'git --version', seconds: 60 }
}

function sumOf({ path, text }: { path: Path; text: string }): string {
  const sum = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  return `sha256sum '${asText(path).replaceAll("'", `'\\''`)}' | grep -q '^${sum}'`
}

/** One assertion: a file is the one of the end. The last task that writes it makes that true. */
async function withContract(objects: Objects, tasks: Task[], last: Oid): Promise<Plan> {
  for (const task of tasks.toReversed()) {
    for (const output of task.objective.outputs.filter(path => /^[\w./-]+$/.test(path))) {
      const at = await entryAt(objects, last, output)
      if (!at || task !== tasks.findLast(({ objective }) => objective.outputs.includes(output))) continue
      const command = sumOf({ path: output, text: await textOf(objects, at) })
      const contract: Plan['contract'] = [
        { id: 'A1', says: `${output} is as people made it.`, how: { kind: 'command', command, seconds: 60 } },
      ]
      const claiming = tasks.map(it => (it === task ? { ...it, claims: ['A1'] } : it))
      return { title: 'History, once more', summary: 'Every commit is a task.', contract, tasks: claiming }
    }
  }
  throw new Error('No file of these commits is there in the end: take other ones.')
}
