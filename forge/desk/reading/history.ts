/** The history of a branch or a commit, of one file in it, and single commits, for the page. */
import { Failure } from '../../../core/failure.ts'
import { type Commit, parseCommit, textOf } from '../../../core/git/commits.ts'
import { ignoringCase } from '../../../core/git/environment.ts'
import { type History, openHistory, subjectOf, type Touch, touching } from '../../../core/git/history.ts'
import type { Person } from '../../../core/git/mailmap.ts'
import { findByDigits, type Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { GitError, read, run } from '../../../core/git/run.ts'
import { treeWithUntracked } from '../../../core/git/stash.ts'
import { emptyTree, entryAt, isFolder } from '../../../core/git/trees.ts'
import { visible } from '../../../core/text.ts'
import type { CommitRow } from '../contract/reading.ts'
import type { Change } from '../contract/values.ts'
import { changesBetween } from './changes.ts'
import { modelOf } from './model-trailers.ts'

/** A larger commit is not read. */
const MAX_COMMIT_BYTES = 1 << 20
const MAX_MESSAGE_CHARS = 100_000

type Loaded = { history: History; tip: Oid; ready: Promise<unknown>; users: number; isOld: boolean }

/** The histories used last, each loaded once: a branch's follows its tip. */
export class Histories implements AsyncDisposable {
  readonly #loaded = new Map<string, Loaded>()
  static readonly kept = 4

  constructor(readonly objects: Objects) {}

  /**
   * `count` rows of the history of `tip`, from row `from`. `name` is the cache key (a branch): a history cached under
   * it is brought up to `tip`. `total` is undefined while git still lists the commits.
   */
  async rows(
    name: string,
    tip: Oid,
    from: number,
    count: number,
  ): Promise<{ rows: CommitRow[]; total: number | undefined }> {
    const entry = this.#follow(name, tip)
    entry.users++
    try {
      const { history } = entry
      await this.#settled(name, entry)
      const shape = await history.shape(from, from + count)
      const rows = await rowsOf(
        this.objects,
        shape.map(({ oid }) => oid),
      )
      const total = await Promise.race([history.completeSoon, Promise.resolve(undefined)])
      return { rows, total }
    } finally {
      entry.users--
      await endUnused(entry)
    }
  }

  async #settled(name: string, entry: Loaded): Promise<void> {
    try {
      await entry.ready
    } catch (error) {
      if (this.#loaded.get(name) === entry) this.#loaded.delete(name)
      entry.isOld = true
      throw error
    }
  }

  #follow(name: string, tip: Oid): Loaded {
    const known = this.#loaded.get(name)
    const entry = known ?? {
      ...{ history: openHistory(this.objects, [tip]), tip, ready: Promise.resolve() },
      ...{ users: 0, isOld: false },
    }
    // The history is moved to the end, so that the one used last is dropped last.
    this.#loaded.delete(name)
    this.#loaded.set(name, entry)
    if (entry.tip !== tip) {
      entry.tip = tip
      entry.ready = entry.history.move([tip])
      entry.ready.catch(() => undefined)
    }
    const [[oldest, old] = ['', entry]] = this.#loaded
    if (this.#loaded.size > Histories.kept) {
      this.#loaded.delete(oldest)
      old.isOld = true
      void endUnused(old)
    }
    return entry
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#loaded.values()]
    this.#loaded.clear()
    await Promise.all(all.map(({ history }) => history[Symbol.asyncDispose]()))
  }
}

/** Closes a history that is no longer cached, once no caller waits for it. */
async function endUnused({ history, users, isOld }: Loaded): Promise<void> {
  if (isOld && users === 0) await history[Symbol.asyncDispose]()
}

/**
 * The commits that changed a file, across its renames, or anything in a folder. A row has the path of the file in that
 * commit where it is another one.
 */
export async function rowsTouching(
  objects: Objects,
  tip: Oid,
  path: Path,
  { from, count }: { from: number; count: number },
): Promise<CommitRow[]> {
  const follow = await isFollowed(objects, tip, path)
  const { touches } = await touching(objects.repository, tip, path, { count, after: from, follow })
  const rows = await rowsOfTouches(objects, path, touches)
  return objects.repository.isShallow ? await withParents(objects, rows) : rows
}

/** Whether a path is followed through renames: that of a file, or one that is not there any more. */
async function isFollowed(objects: Objects, tip: Oid, path: Path): Promise<boolean> {
  const entry = await entryAt(objects, tip, path)
  return !entry || !isFolder(entry)
}

async function rowsOfTouches(objects: Objects, path: Path, touches: readonly Touch[]): Promise<CommitRow[]> {
  const found = await rowsOf(
    objects,
    touches.map(({ oid }) => oid),
  )
  const paths = new Map(touches.map(touch => [touch.oid, touch.path]))
  return found.map(row => {
    const old = paths.get(row.oid)
    return old === undefined || old === path ? row : { ...row, path: old }
  })
}

/** Leaves out commits at the boundary of a shallow clone, where git reports all files as added. */
async function withParents(objects: Objects, rows: readonly CommitRow[]): Promise<CommitRow[]> {
  const parents = await Promise.all(rows.map(({ parents: [first] }) => first && objects.info(first)))
  return rows.filter((row, at) => row.parents.length === 0 || parents[at])
}

/** The commits that a tip has and another one lacks, newest first. */
export async function rowsBeyond(
  objects: Objects,
  tip: Oid,
  other: Oid,
  { from, count }: { from: number; count: number },
): Promise<CommitRow[]> {
  const range = ['rev-list', '--topo-order', `--skip=${from}`, `--max-count=${count}`, tip, `^${other}`, '--']
  const listed = await read(objects.repository, range)
  return await rowsOf(objects, listed === '' ? [] : listed.split('\n'))
}

const MERGE_SEARCH_SECONDS = 5

/**
 * The merge that brought `tip` into the first-parent history of `commit`, which must contain the tip. Undefined if the
 * tip is on that history itself, as after a fast-forward, or if the search takes too long.
 */
export async function mergeThatBrought(objects: Objects, tip: Oid, commit: Oid): Promise<CommitRow | undefined> {
  const bounds = { seconds: MERGE_SEARCH_SECONDS, memory: Number.POSITIVE_INFINITY, output: 64 << 20 }
  const list = async (way: string) => {
    const { stdout } = await run(objects.repository, ['rev-list', way, commit, `^${tip}`, '--'], { bounds })
    return stdout.toString().split('\n').filter(Boolean)
  }
  try {
    const [mainLine, above] = await Promise.all([list('--first-parent'), list('--ancestry-path')])
    const isAbove = new Set(above)
    const oldest = mainLine.findLast(oid => isAbove.has(oid))
    const [row] = oldest === undefined ? [] : await rowsOf(objects, [oldest])
    const isMerge = row !== undefined && row.parents.length > 1 && row.parents[0] !== tip
    return isMerge ? row : undefined
  } catch (error) {
    if (error instanceof GitError && error.ending.bound) return undefined
    throw error
  }
}

/** At most this many commits are found by a search. */
export const MAX_FOUND_COMMITS = 1000
const SEARCH_SECONDS = 20
const SEARCH_BOUNDS = { seconds: SEARCH_SECONDS, memory: Number.POSITIVE_INFINITY, output: 64 << 20 }
/** A search in the history of a file looks at its newest 100,000 commits at most, and reads 1,000 at a time. */
const [MAX_SEARCHED_TOUCHES, TOUCHES_AT_ONCE] = [100_000, 1000]

/**
 * The commits of a history, or of a file or folder in it, with some words in their message or author, or at the start
 * of their hash: newest first, at most {@link MAX_FOUND_COMMITS}. Those of a file are found across its renames.
 */
export async function rowsMatching(
  objects: Objects,
  tip: Oid,
  words: string,
  path: Path | undefined,
): Promise<CommitRow[]> {
  const { repository } = objects
  const wanted = words.replace(/\s+/g, ' ').trim()
  const isOfFile = path !== undefined && (await isFollowed(objects, tip, path))
  const named = await findByDigits(repository, wanted.toLowerCase())
  const said = isOfFile
    ? await rowsOfFileMatching(objects, tip, { wanted, named }, path)
    : await rowsSaying(objects, tip, wanted, path)
  // Leave out commits found by their hash that are not in this history.
  const own = await Promise.all(
    named.map(async oid => {
      const isReached = await run(repository, ['merge-base', '--is-ancestor', oid, tip], { ok: 'any' })
      return isReached.code === 0 ? [oid] : []
    }),
  )
  const isSaid = new Set(said.map(({ oid }) => oid))
  const others = await rowsOf(
    objects,
    own.flat().filter(oid => !isSaid.has(oid)),
  )
  return [...said, ...others].sort((one, other) => other.committed - one.committed).slice(0, MAX_FOUND_COMMITS)
}

/** Prints ids alone. Unlike `git rev-list`, `git log` searches authors as .mailmap has them. */
const LISTED = ['--use-mailmap', '--no-show-signature', '--format=%H']

/** The commits of a history, or of a folder in it, with some words in their message or author. */
async function rowsSaying(objects: Objects, tip: Oid, wanted: string, path: Path | undefined): Promise<CommitRow[]> {
  // Through standard input, since arguments are text, and a path may not be UTF-8.
  const input = Buffer.from(path === undefined ? `${tip}\n` : `${tip}\n--\n${path}\n`, 'latin1')
  const search = async (by: string) => {
    const args = ['log', ...LISTED, `--max-count=${MAX_FOUND_COMMITS}`, '-i', '-F', by, '--stdin']
    const env = { ...ignoringCase(wanted), GIT_LITERAL_PATHSPECS: '1' }
    const { stdout } = await run(objects.repository, args, { bounds: SEARCH_BOUNDS, input, env })
    return stdout.toString().split('\n').filter(Boolean)
  }
  const [said, made] = await Promise.all([search(`--grep=${wanted}`), search(`--author=${wanted}`)])
  return await rowsOf(objects, [...new Set([...said, ...made])])
}

/**
 * The commits of a file, across its renames, with some words in their message or author, or which are `named`. Git does
 * not follow a file any more where it searches (`git log --follow --grep`), so it lists the commits, and they are
 * searched here.
 */
async function rowsOfFileMatching(
  objects: Objects,
  tip: Oid,
  { wanted, named }: { wanted: string; named: readonly Oid[] },
  path: Path,
): Promise<CommitRow[]> {
  const options = { count: MAX_SEARCHED_TOUCHES, follow: true, bounds: SEARCH_BOUNDS }
  const { touches } = await touching(objects.repository, tip, path, options)
  const words = wanted.toLowerCase()
  const found: Touch[] = []
  for (let from = 0; from < touches.length && found.length < MAX_FOUND_COMMITS; from += TOUCHES_AT_ONCE) {
    const some = touches.slice(from, from + TOUCHES_AT_ONCE)
    const read = await Promise.all(some.map(({ oid }) => objects.read(oid, { limit: MAX_COMMIT_BYTES })))
    const commits = read.map(object =>
      object?.type === 'commit' && object.bytes ? parseCommit(object.bytes) : undefined,
    )
    const people = await objects.mailmap.of(commits.map(commit => commit?.author ?? { name: '', email: '' }))
    const isFound = ({ oid }: Touch, at: number): boolean => {
      const [commit, author] = [commits[at], people[at]]
      return named.includes(oid) || (commit !== undefined && author !== undefined && hasWords(commit, author, words))
    }
    found.push(...some.filter(isFound))
  }
  const rows = await rowsOfTouches(objects, path, found.slice(0, MAX_FOUND_COMMITS))
  return objects.repository.isShallow ? await withParents(objects, rows) : rows
}

/** Whether the message or the author of a commit has some words, which are given in lower case. */
const hasWords = ({ message, encoding }: Commit, author: Person, words: string): boolean =>
  [textOf(message, encoding), `${author.name} <${author.email}>`].some(text => text.toLowerCase().includes(words))

/** Describes commits for a list; missing ones, as at the boundary of a shallow clone, are left out. */
export async function rowsOf(objects: Objects, oids: readonly Oid[]): Promise<CommitRow[]> {
  const found = await Promise.all(oids.map(oid => objects.read(oid, { limit: MAX_COMMIT_BYTES })))
  const commits = found.flatMap(object => {
    if (object?.type !== 'commit') return []
    return [{ oid: object.oid, commit: parseCommit(object.bytes ?? Buffer.alloc(0)) }]
  })
  const people = await objects.mailmap.of(commits.map(({ commit }) => commit.author))
  return commits.map(({ oid, commit }, at) => rowOf(oid, commit, people[at]))
}

/** `author`: as .mailmap has them. */
function rowOf(oid: Oid, commit: Commit, author: Person = commit.author): CommitRow {
  const { date } = commit.author
  const { name, email } = author
  const model = modelOf(commit)
  const committed = commit.committer.date?.seconds ?? date?.seconds ?? 0
  return {
    oid,
    parents: commit.parents,
    subject: subjectOf(commit).slice(0, 1000),
    author: { name, email },
    committed,
    ...(date && date.seconds !== committed && { authored: date.seconds }),
    ...(model && { model }),
  }
}

/** The models that made some commits, by commit; only those that name one. */
export async function modelsOf(objects: Objects, oids: readonly Oid[]): Promise<Map<Oid, string>> {
  const found = await Promise.all(oids.map(oid => objects.read(oid, { limit: MAX_COMMIT_BYTES })))
  const models = found.map(object => {
    const model = object?.type === 'commit' && object.bytes ? modelOf(parseCommit(object.bytes)) : undefined
    return object && model !== undefined ? ([object.oid, model] as const) : undefined
  })
  return new Map(models.filter(entry => entry !== undefined))
}

/** The commit with an id, or with the start of one. */
export async function commitByDigits(objects: Objects, digits: string): Promise<Oid> {
  const wanted = digits.trim().toLowerCase()
  if (!/^[0-9a-f]{4,64}$/.test(wanted))
    throw new Failure(`${visible(digits)} is no commit: its id has digits from 0 to f, four at least.`)
  const found = await findByDigits(objects.repository, wanted)
  const infos = await Promise.all(found.map(oid => objects.info(`${oid}^{commit}`)))
  const commits = [...new Set(infos.flatMap(info => (info ? [info.oid] : [])))]
  const [only, other] = commits
  if (only === undefined) throw new Failure(`There is no commit ${wanted} in this repository.`)
  if (other !== undefined) throw new Failure(`${commits.length} commits begin with ${wanted}: give more of the id.`)
  return only
}

/** One commit, with its changes from its first parent. */
export async function commitInFull(
  objects: Objects,
  oid: Oid,
): Promise<{ row: CommitRow; message: string; changes: Change[] }> {
  const object = await objects.read(oid, { limit: MAX_COMMIT_BYTES })
  if (object?.type !== 'commit') throw new Failure(`There is no commit ${oid} in this repository.`)
  if (!object.bytes) throw new Failure(`The commit ${oid} is too large to be shown.`)
  const commit = parseCommit(object.bytes)
  return {
    row: rowOf(oid, commit, (await objects.mailmap.of([commit.author]))[0]),
    message: textOf(commit.message, commit.encoding).slice(0, MAX_MESSAGE_CHARS),
    changes: await changesBetween(
      objects,
      await treeBefore(objects, oid, commit),
      await treeWithUntracked(objects, oid),
    ),
  }
}

/** The tree before a commit: its first parent's, or the empty one. */
export async function treeBefore(objects: Objects, oid: Oid, commit?: Pick<Commit, 'parents'>): Promise<Oid> {
  const found = commit ? undefined : await objects.read(oid, { limit: MAX_COMMIT_BYTES })
  const { parents } = commit ?? parseCommit(found?.bytes ?? Buffer.alloc(0))
  const [parent] = parents
  if (parent === undefined) return emptyTree(objects.repository.format)
  const tree = await objects.info(`${parent}^{tree}`)
  // Without the parent, all files of the commit would seem to be added.
  if (!tree)
    throw new Failure('What this commit changed is not known here: its parent was not fetched (git fetch --unshallow).')
  return tree.oid
}
