/**
 * Tracks what a session knows about files, and which entries have to be appended before the next request: files added
 * to the context, removed from it, or changed from outside. A session's opening is the context sent before its
 * conversation: summaries of all files, and active files whole. While the provider's cache is warm, opening and earlier
 * entries are not rewritten. Once it is cold, a new opening has all files as they are, and earlier statements about
 * them are no longer sent.
 */
import { lastCommits } from '../../core/git/history.ts'
import type { Objects } from '../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../core/git/repository.ts'
import { entriesAt } from '../../core/git/trees.ts'
import { short, visible } from '../../core/text.ts'
import { CHAT_PROMPT_VERSION } from './desk-words.ts'
import { folderOf, foldersAbove } from './folders.ts'
import { definitionsIn, filesNamed } from './named.ts'
import type { ToolDescription } from './request.ts'
import {
  type EntryOf,
  INSTRUCTIONS,
  lastHeard,
  MAX_ACTIVE_FILES,
  type Opening,
  type Session,
  type SessionEntry,
  withActive,
  withEntries,
  withInactive,
  withMissingResults,
} from './session.ts'
import { SUMMARY_VERSION, type Summaries } from './summaries.ts'

/** What requests are made of besides the session; the same for all requests of a turn. */
export type Sources = {
  objects: Objects
  summaries: Summaries
  /** Name and window (in tokens), as in {@link Model}. */
  model: { name: string; window: number }
  /** The tools, always in the same order: another order makes the cache cold. */
  tools: readonly ToolDescription[]
  /** The most tokens that an answer may have. */
  output?: number
}

/** The branch's state. `tree`: its work in progress, as a tree object in the repository. */
export type State = Sources & {
  tree: Oid
  branch: string
  /** The commit that the tree is based on; undefined on a branch without commits. */
  base?: Oid | undefined
  /**
   * The user's new message. A new opening (the context sent before the conversation) says where names in it are
   * defined.
   */
  text?: string
  signal?: AbortSignal
}

/** The version of the way in which a session is packed: increase it whenever the same session gives other bytes. */
const PACKING_VERSION = 3
const MINUTE = 60_000
/** At most this many paths are checked for instruction files, from the root down. */
const MAX_INSTRUCTION_PATHS = 500

/**
 * How the provider of a model caches. `isMarked`: whether it caches only what stands before the cache marks of a
 * request. `keeps`: milliseconds for which it keeps a request, by the requested lifetime; an assumption where it caches
 * without marks.
 */
export function cacheOf(model: string): { isMarked: boolean; keeps: Record<Opening['ttl'], number> } {
  const isMarked = /^(?:openrouter\/)?~?anthropic\//.test(model)
  if (isMarked) return { isMarked, keeps: { '5m': 5 * MINUTE, '1h': 60 * MINUTE } }
  const known = model.startsWith('openrouter/') ? 10 * MINUTE : 60 * MINUTE
  return { isMarked, keeps: { '5m': known, '1h': known } }
}

/**
 * Brings a session up to date with its branch. Call it before each turn, before the user's message is added. Tool calls
 * without a result get one; changed files are appended, or a new opening (the context sent before the conversation) is
 * made.
 */
export async function prepareSession(session: Session, state: State, now: number): Promise<Session> {
  const whole = withMissingResults(session)
  return (await isWarm(whole, state, now)) ? catchUp(whole, state, new Set()) : withOpening(whole, state, now)
}

/**
 * What the tools of one answer did to files and to the context. `touched`: files whose new state the results tell the
 * model. Files that a tool changed silently are not in it, and are sent again.
 */
type ToolsDone = { touched: Iterable<Path>; activated: Iterable<Path>; deactivated: Iterable<Path> }

/**
 * Adds the entries for the files that the next request has to bring. Call it when all calls of an answer have results.
 */
export async function withToolsDone(session: Session, state: State, done: ToolsDone): Promise<Session> {
  const left = [...done.deactivated].reduce(withInactive, session)
  const more = [...done.activated].slice(0, MAX_ACTIVE_FILES - left.active_files.length)
  return await catchUp(more.reduce(withActive, left), state, new Set(done.touched))
}

/** Replaces the session's opening (the context sent before the conversation) by one with the files as they are now. */
export async function withOpening(session: Session, state: State, now: number): Promise<Session> {
  const { files, active_files } = await filesIn(session, state)
  const opening: Opening = {
    tree: state.tree,
    files: [...files].map(([path, oid]) => ({ path, oid })),
    at: now,
    from: session.messages.length,
    ttl: hasPauses(session, now) ? '1h' : '5m',
    branch: state.branch,
    ...(await aboutMessage(state)),
    key: keyOf(state),
  }
  return { ...session, active_files, opening }
}

/**
 * The parts of an opening (the context sent before the conversation) that depend on the user's message, and the
 * subjects of the last commits.
 */
async function aboutMessage({
  objects,
  summaries,
  tree,
  base,
  text,
  signal,
}: State): Promise<Pick<Opening, 'names' | 'near' | 'subjects'>> {
  const [names, near, subjects] = await Promise.all([
    text === undefined || !signal ? [] : definitionsIn(summaries.code, { tree, text, signal }),
    text === undefined ? [] : filesNamed(objects, { tree, text }),
    base === undefined ? [] : lastSubjects(objects, base),
  ])
  return {
    ...(names.length > 0 && { names }),
    ...(near.length > 0 && { near }),
    ...(subjects.length > 0 && { subjects }),
  }
}

/** The files that the user's message is about, as found when the session's opening was made for it. */
export const nearFiles = ({ names = [], near = [] }: Opening): Path[] => [
  ...new Set([...near, ...names.map(({ path }) => path)]),
]

const MAX_SUBJECTS = 5

/** The subjects of the last commits, without those that the desk generated itself. */
async function lastSubjects(objects: Objects, base: Oid): Promise<string[]> {
  const commits = await lastCommits(objects.repository, base, { most: 4 * MAX_SUBJECTS })
  return commits
    .map(({ subject }) => subject)
    .filter(subject => !/^(?:edit|add|delete|rename): /.test(subject))
    .slice(0, MAX_SUBJECTS)
    .map(subject => short(visible(subject), 100))
}

/** Whether the provider may still have the last request in its cache, so that the next one should begin with it. */
async function isWarm(session: Session, state: State, now: number): Promise<boolean> {
  const { opening, messages } = session
  if (!opening || opening.branch !== state.branch || opening.key !== keyOf(state)) return false
  if (opening.from > messages.length || messages.some(({ kind }, at) => kind === 'summary' && at >= opening.from))
    return false
  const idle = now - (lastHeard(session) ?? 0)
  if (idle < 0 || idle > cacheOf(state.model.name).keeps[opening.ttl]) return false
  return (await isThere(state.objects, opening.tree, 'tree')) && (await areThere(state.objects, session))
}

/**
 * Whether all content of a session still exists: garbage collection removes what was never committed, or was on a
 * deleted branch.
 */
async function areThere(objects: Objects, session: Session): Promise<boolean> {
  const found = await Promise.all(contentOf(session).map(oid => isThere(objects, oid, 'blob')))
  return found.every(Boolean)
}

/** The blob ids of all content in a session's requests. */
export function contentOf(session: Session): Oid[] {
  return [...new Set([...(session.opening?.files.map(({ oid }) => oid) ?? []), ...contentSince(session, 0)])]
}

/** The blob ids of the content that the entries from an index on add to the requests. */
export function contentSince(session: Session, from: number): Oid[] {
  // A file that has changed is sent only while it is active; of any other one, only its name is.
  const sent = toldFiles(session).filter(({ why, at, isActive }) => at >= from && isActive && why !== 'edited')
  return [...new Set(sent.flatMap(({ oid }) => oid ?? []))]
}

const isThere = async (objects: Objects, oid: Oid, type: 'blob' | 'tree'): Promise<boolean> => {
  // An id of the other object format is not in this repository.
  if (oid.length !== (objects.repository.format === 'sha1' ? 40 : 64)) return false
  return (await objects.info(oid))?.type === type
}

/** Whether the user pauses for longer than the shorter cache lifetime: then the longer one is cheaper. */
function hasPauses(session: Session, now: number): boolean {
  const times = session.messages.flatMap(entry => ('at' in entry ? [entry] : []))
  return times.some(({ kind, at }, index) => {
    const next = times[index + 1]
    return kind === 'end' && (next?.at ?? now) - at > 5 * MINUTE
  })
}

const keyOf = ({ model, tools }: State): string =>
  new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([PACKING_VERSION, SUMMARY_VERSION, CHAT_PROMPT_VERSION, model.name, model.window, tools]))
    .digest('hex')
    .slice(0, 16)

/**
 * The files that the model was told about since the session's opening (the context sent before the conversation), and
 * those of them whose content it has.
 */
function knownFiles(session: Session): { known: Map<Path, Oid | null>; active: Set<Path> } {
  const known = new Map<Path, Oid | null>(session.opening?.files.map(({ path, oid }) => [path, oid]))
  const active = new Set(known.keys())
  for (const { path, oid, isActive } of toldFiles(session)) {
    known.set(path, oid)
    if (isActive) active.add(path)
    else active.delete(path)
  }
  return { known, active }
}

type ToldFile = EntryOf<'file'> & { at: number; isActive: boolean }

/** The entries about files since the opening, each with its index, and whether the file is active from there on. */
function toldFiles({ opening, messages }: Session): ToldFile[] {
  const active = new Set(opening?.files.map(({ path }) => path))
  return messages.flatMap((entry, at) => {
    if (entry.kind !== 'file' || at < (opening?.from ?? 0)) return []
    if (entry.why === 'active') active.add(entry.path)
    if (entry.why === 'inactive' || entry.oid === null) active.delete(entry.path)
    return [{ ...entry, at, isActive: active.has(entry.path) }]
  })
}

/**
 * Appends entries for the differences between what the model knows and the files now. `own`: files changed by its own
 * tools.
 */
export async function catchUp(session: Session, state: State, own: ReadonlySet<Path>): Promise<Session> {
  const { files, active_files } = await filesIn(session, state)
  const { known, active } = knownFiles(session)
  const others = [...new Set([...known.keys(), ...own])].filter(path => !files.has(path))
  const now = new Map<Path, Oid | undefined>([...files, ...(await oidsOf(state, others))])
  const entries: SessionEntry[] = []
  const add = (path: Path, why: Extract<SessionEntry, { kind: 'file' }>['why']) =>
    entries.push({ kind: 'file', path, oid: now.get(path) ?? null, why })
  for (const path of own) if ((known.get(path) ?? null) !== (now.get(path) ?? null)) add(path, 'edited')
  for (const [path, before] of known) {
    const isChanged = before !== (now.get(path) ?? null)
    const goes = active.has(path) && !files.has(path) && now.get(path) !== undefined
    if (goes) add(path, 'inactive')
    else if (isChanged && !own.has(path)) add(path, 'changed')
  }
  for (const path of files.keys()) if (!active.has(path)) add(path, 'active')
  return withEntries({ ...session, active_files }, ...entries)
}

/**
 * The files whose content is to be in the context: instruction files, from the root down, then the active files.
 * Deleted files become inactive.
 */
export async function filesIn(
  session: Session,
  state: State,
): Promise<{ files: Map<Path, Oid>; active_files: Path[] }> {
  const found = await oidsOf(state, session.active_files)
  const active_files = session.active_files.filter(path => found.get(path) !== undefined)
  const instructions = await oidsOf(state, instructionsFor(session, active_files))
  const both = [...instructions, ...active_files.map(path => [path, found.get(path)] as const)]
  const files = both.flatMap(([path, oid]) => (oid === undefined ? [] : [[path, oid] as const]))
  return { files: new Map(files), active_files }
}

/** Paths where instruction files for these files may be, except for those that the user has taken out. */
function instructionsFor({ left_out = [] }: Session, active: readonly Path[]): Path[] {
  const folders = new Set(['', ...active.flatMap(path => foldersAbove(folderOf(path)))])
  const paths = [...folders].sort().flatMap(folder => INSTRUCTIONS.map(name => (folder ? `${folder}/${name}` : name)))
  const known = new Set([...left_out, ...active])
  return paths.filter(path => !known.has(path)).slice(0, MAX_INSTRUCTION_PATHS)
}

/**
 * The blob at each path; undefined where there is no regular file (links and submodules have no content of their own).
 */
async function oidsOf({ objects, tree }: State, paths: readonly Path[]): Promise<Map<Path, Oid | undefined>> {
  const entries = await entriesAt(objects, tree, paths)
  const isRegular = (entry: Entry) => entry?.mode === '100644' || entry?.mode === '100755'
  return new Map(paths.map((path, at) => [path, isRegular(entries[at]) ? entries[at]?.oid : undefined]))
}
