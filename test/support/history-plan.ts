/**
 * A part of a repository's history as a plan: every commit becomes a small task that may only write the files which
 * that commit changed, and depends on the tasks that wrote them before. It includes a model's edits for each task, so
 * that the run's expected result is known: the tree that people made.
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
  /** The tree at the beginning of the run, and the expected one at its end: that of the newest commit. */
  base: Oid
  tree: Oid
  /** The model's answer to each task. */
  edits: ReadonlyMap<TaskId, FileEdit[]>
  /** Paths that no model can write (images, links, submodules): the base already has their final content. */
  given: Path[]
}

/** The change of a path by one commit; a rename has the old path. */
type Touch = { path: Path; before: Entry; after: Entry; from?: Path }

/** The file with instructions to the forge; it is left out of the base and of the final tree. */
const FORGE_MD = 'FORGE.md'
/** At most this many bytes of a file may be written by a model at once. */
const MOST_WRITTEN = 2 << 20
/** At most this many files are named by a task; a task with more names none, and runs alone. */
const MOST_NAMED = 100

/** The newest commits of a branch along first parents, so that a merge is one change like any other. */
export async function commitsOf(path: string, count: number): Promise<Oid[]> {
  const commits = (await git(path, 'rev-list', '--first-parent', `--max-count=${count + 1}`, 'HEAD')).split('\n')
  return commits.reverse()
}

/** Makes the plan; the first commit is the base. */
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
  // A commit with many files becomes a task without boundaries. Such a task may not write files that have to be named
  // in its boundaries, so these are already in the base.
  for (const { touches } of steps.filter(({ touches }) => touches.length > MOST_NAMED / 2))
    for (const { path, before, after } of touches) if (needsName(path, before, after)) given.add(path)
  const asInTheEnd = new Map<Path, TreeChange>()
  for (const path of given) asInTheEnd.set(path, await entryAt(objects, last, path))
  // FORGE.md is removed from all commits: the run would run the checks in it, which other tests cover.
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

// --- The changes of a commit -----------------------------------------------------------------------------------------

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

/** Whether a model could have written it: text, with a valid name. */
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

/** A change without the `given` paths, whose final content is already in the base. */
function withoutGiven(touch: Touch, given: ReadonlySet<Path>): Touch[] {
  const { path, before, after, from } = touch
  if (from === undefined || (!given.has(from) && !given.has(path))) return given.has(path) ? [] : [touch]
  const gone: Touch = { path: from, before, after: undefined }
  const made: Touch = { path, before: undefined, after }
  return [gone, made].filter(it => !given.has(it.path))
}

// --- The edits -------------------------------------------------------------------------------------------------------

type Wanted = { before: Oid; tree: Oid; touches: readonly Touch[] }

/** The smallest edits from one tree to the next: parts of files, else whole files, else new files. */
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
  // A folder may become a file, and a file a folder: deletions come first to make room.
  return [...first.filter(({ kind }) => kind === 'delete'), ...first.filter(({ kind }) => kind === 'rename'), ...then]
}

async function textOf(objects: Objects, at: NonNullable<Entry>): Promise<string> {
  return (await objects.read(at.oid, { limit: MOST_WRITTEN }))?.bytes?.toString() ?? ''
}

type Part = { search: string; replace: string }
/** Lines from `from` up to `to` of a file, and their replacement. */
type Hunk = { from: number; to: number; lines: string[] }

/** The change of a file as search and replace parts, each unique in the file; undefined where that is not possible. */
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
    // For an empty side, git gives the line before.
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

/** A hunk as an edit, with enough lines of context to be unique in the file; no other hunk changes these lines. */
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

/**
 * The tasks that add to a folder, and those that delete from it: each waits for the last tasks that did the opposite.
 */
type Turn = { kind: 'adds' | 'takes' | 'both'; now: TaskId[]; before: TaskId[] }

/**
 * The dependencies of tasks: on the last task at each of their paths, on a file in place of a folder, and between tasks
 * that remove files from a folder and add others to it, since git would detect a renamed folder.
 */
class Order {
  readonly #last = new Map<Path, TaskId>()
  readonly #folders = new Map<Path, Turn>()
  /** For each task, all direct and indirect dependencies. */
  readonly #before = new Map<TaskId, Set<TaskId>>()

  /** The dependencies of a task, without those that follow from others. */
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

/** All parent folders of a path, except the top. */
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
  // Whether a path names only itself: a pattern, or a folder of the base, would stand for more files.
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

/**
 * A check for a task: a ready-made check of texts that the task's result passes, or else a command that compares a
 * file.
 */
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

/** Adds an assertion to the plan: one file has its final content. The last task that writes this file claims it. */
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
