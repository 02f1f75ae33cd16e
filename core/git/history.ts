/** Lists commits for a graph and for a path, and finds commits that only reflogs still name. */
import type { ChildProcess } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bounds } from './bounds.ts'
import { type Commit, type CommitIdentity, parseCommit, textOf } from './commits.ts'
import { byDate, byDateOrder, byTopology, CommitGraph, type CommitNumber } from './graph.ts'
import type { Objects } from './objects.ts'
import { asText, fields, isOid, type Oid, type Path, type Repository } from './repository.ts'
import { endChild, GitError, run, start } from './run.ts'

/** A commit as a graph shows it. `committed` is in seconds since 1970. */
export type HistoryCommit = { oid: Oid; parents: Oid[]; author: CommitIdentity; committed: number; subject: string }

/** The order of commits, parents after all of their children: lines of development not mixed, or newest first. */
type HistoryOrder = 'topology' | 'date'

/**
 * How many commits are read first, and after how many milliseconds the rest is read unless a caller needs it earlier:
 * reading all at once would delay what the caller does with the first ones.
 */
const [FIRST, REST] = [512, 250]

/** At most this many new commits are read one by one, which is faster than a `git rev-list` for them. */
const MAX_COMMITS_READ_SINGLY = 100

/**
 * All commits reachable from some tips, in topological order or by date, in memory without their messages (some hundred
 * bytes each at most). The first rows are available long before all are loaded.
 *
 * Rows given before `complete` are final unless a commit has an earlier date than its parents: then the same window may
 * differ later.
 */
export class History implements AsyncDisposable {
  readonly #graph: CommitGraph
  /** All commits in the order of `git rev-list`: by date. */
  #listed: CommitNumber[] = []
  #order: Int32Array = new Int32Array()
  #places: Int32Array | undefined
  #tips: readonly Oid[]
  #isComplete = false
  #waiting: (() => void)[] = []
  readonly #children = new Set<ChildProcess>()
  #complete: Promise<number>
  /** Resolving this makes the history read its remaining commits at once. */
  readonly #hurry = Promise.withResolvers<void>()
  #isClosed = false

  constructor(
    readonly objects: Objects,
    tips: readonly Oid[],
    readonly by: HistoryOrder = 'topology',
  ) {
    this.#graph = new CommitGraph(objects.repository.format)
    this.#tips = tips
    this.#complete = this.#loadAll(tips)
    // The error is reported to each caller that asks for rows.
    this.#complete.catch(() => undefined)
  }

  /** Resolves to the number of commits when all are loaded; rejects with {@link GitError} where git can't read them. */
  get complete(): Promise<number> {
    this.#hurry.resolve()
    return this.#complete
  }

  /** Like {@link complete}, but does not make the history read its remaining commits at once. */
  get completeSoon(): Promise<number> {
    return this.#complete
  }

  /** The rows from `from` up to, but without, `to`; fewer where the history ends. */
  async window(from: number, to: number): Promise<HistoryCommit[]> {
    await this.#settle(to)
    const nodes = this.#order.slice(Math.max(from, 0), Math.max(to, 0))
    return await describe(
      this.objects,
      Array.from(nodes, node => this.#graph.oidOf(node)),
    )
  }

  /** The rows of {@link window} without messages, from memory alone. */
  async shape(from: number, to: number): Promise<{ oid: Oid; parents: Oid[] }[]> {
    await this.#settle(to)
    const nodes = this.#order.slice(Math.max(from, 0), Math.max(to, 0))
    return Array.from(nodes, node => ({
      oid: this.#graph.oidOf(node),
      parents: Array.from(this.#graph.parentsOf(node), parent => this.#graph.oidOf(parent)),
    }))
  }

  /**
   * The graph as loaded so far, with at least `count` rows if the history has that many. Valid until the caller's next
   * await. `order` has the nodes of the graph, row by row.
   */
  async state(count: number): Promise<{ graph: CommitGraph; order: Int32Array; isWhole: boolean }> {
    await this.#settle(count)
    return { graph: this.#graph, order: this.#order, isWhole: this.#isComplete }
  }

  /** The row of a commit, after all are loaded; undefined where no tip reaches it. */
  async placeOf(oid: Oid): Promise<number | undefined> {
    await this.complete
    return this.placeNow(oid)
  }

  /** The row of a commit among those loaded so far. */
  placeNow(oid: Oid): number | undefined {
    this.#places ??= this.#placesOf(this.#order)
    const node = this.#graph.find(oid)
    const place = node === undefined ? -1 : (this.#places[node] ?? -1)
    return place < 0 ? undefined : place
  }

  /** Moves the history to new tips; only new commits are read. Gives the number of commits. */
  async move(tips: readonly Oid[]): Promise<number> {
    const before = this.complete
    this.#complete = (async () => {
      await before
      const known = new Set(this.#tips)
      const added = tips.filter(tip => !known.has(tip))
      const read = await this.#readFew(added)
      if (!read) await this.#load([...added, ...this.#tips.map(tip => `^${tip}`)], ['--ignore-missing'], () => {})
      const nodes = await this.#nodesOf(tips)
      const now = new Set(tips)
      const left = await this.#nodesOf(this.#tips.filter(tip => !now.has(tip)))
      this.#tips = tips
      const isOnTop = read && left.every(node => read.met.has(node)) && this.#areListed(read.met)
      this.#places = undefined
      if (isOnTop && this.#putOnTop(read.nodes)) return this.#order.length
      this.#listed = byDate(this.#graph, nodes)
      this.#order = this.#arrange(true)
      return this.#order.length
    })()
    this.#complete.catch(() => undefined)
    return await this.#complete
  }

  /** The graph's nodes of some tips. Tips may be tag objects, which only git can resolve to commits. */
  async #nodesOf(tips: readonly Oid[]): Promise<CommitNumber[]> {
    const nodes = await Promise.all(
      tips.map(async tip => {
        const node = this.#graph.find(tip)
        if (node !== undefined && this.#graph.has(node)) return node
        const commit = await this.objects.info(`${tip}^{commit}`)
        return commit && this.#graph.find(commit.oid)
      }),
    )
    return nodes.filter(node => node !== undefined)
  }

  /**
   * Reads new commits one by one until known ones are reached: gives the new nodes and the known ones. Undefined where
   * there are too many.
   */
  async #readFew(tips: readonly Oid[]): Promise<{ nodes: CommitNumber[]; met: Set<CommitNumber> } | undefined> {
    if (tips.length > MAX_COMMITS_READ_SINGLY) return undefined
    const waiting: string[] = tips.map(tip => `${tip}^{commit}`)
    const nodes: CommitNumber[] = []
    const met = new Set<CommitNumber>()
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      const known = this.#graph.find(name.replace(/\^.*/, ''))
      if (known !== undefined && this.#graph.has(known)) {
        met.add(known)
        continue
      }
      if (nodes.length >= MAX_COMMITS_READ_SINGLY) return undefined
      const object = await this.objects.read(name, { limit: 1 << 20 })
      if (!object) continue
      if (object.type !== 'commit' || !object.bytes) return undefined
      const peeled = this.#graph.find(object.oid)
      if (peeled !== undefined && this.#graph.has(peeled)) {
        met.add(peeled)
        continue
      }
      const { parents, committer } = parseCommit(object.bytes)
      const words = [Math.max(committer.date?.seconds ?? 0, 0), object.oid, ...parents]
      nodes.push(...this.#graph.take(Buffer.from(`${words.join(' ')}\n`)))
      waiting.push(...parents)
    }
    return { nodes, met }
  }

  /** Whether all of these nodes are in the current history. The graph also has commits that no tip reaches any more. */
  #areListed(nodes: Iterable<CommitNumber>): boolean {
    this.#places ??= this.#placesOf(this.#order)
    for (const node of nodes) if ((this.#places[node] ?? -1) < 0) return false
    return true
  }

  /** Puts new commits above all others, if they are newer. False where they are not, or that is not certain. */
  #putOnTop(nodes: readonly CommitNumber[]): boolean {
    if (this.by !== 'date') return false
    if (nodes.length === 0) return true
    const [newest] = this.#listed
    const time = newest === undefined ? -1 : this.#graph.timeOf(newest)
    if (!nodes.every(node => this.#graph.timeOf(node) > time)) return false
    const sorted = byDateOrder(
      this.#graph,
      nodes.toSorted((a, b) => this.#graph.timeOf(b) - this.#graph.timeOf(a)),
    )
    this.#listed = [...sorted, ...this.#listed]
    const order = new Int32Array(sorted.length + this.#order.length)
    order.set(sorted)
    order.set(this.#order, sorted.length)
    this.#order = order
    return true
  }

  #arrange(isWhole: boolean): Int32Array {
    if (this.by === 'date') return byDateOrder(this.#graph, this.#listed)
    return byTopology(this.#graph, this.#listed, isWhole)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#hurry.resolve()
    const gone = [...this.#children].map(child => new Promise(resolve => child.once('close', resolve)))
    for (const child of this.#children) endChild(child, 'SIGKILL')
    await Promise.all(gone)
  }

  #placesOf(order: Int32Array): Int32Array {
    const places = new Int32Array(this.#graph.size).fill(-1)
    for (const [place, node] of order.entries()) places[node] = place
    return places
  }

  async #loadAll(tips: readonly Oid[]): Promise<number> {
    try {
      if (tips.length > 0 && !(await this.#loadFirst(tips))) {
        await this.#rest()
        await this.#loadEach(tips)
      }
      this.#order = this.#arrange(true)
      this.#places = undefined
      return this.#order.length
    } finally {
      this.#isComplete = true
      this.#wake()
    }
  }

  /** Reads the first commits. Gives whether these are all. */
  async #loadFirst(tips: readonly Oid[]): Promise<boolean> {
    await this.#load(tips, [`--max-count=${FIRST}`], nodes => this.#listed.push(...nodes))
    const isWhole = this.#listed.length < FIRST
    this.#order = this.#arrange(isWhole)
    if (!isWhole) this.#wake()
    return isWhole
  }

  async #rest(): Promise<void> {
    if (this.#waiting.length > 0) this.#hurry.resolve()
    const clock = setTimeout(() => this.#hurry.resolve(), REST)
    await this.#hurry.promise
    clearTimeout(clock)
    if (this.#isClosed) throw new Error('This history is closed')
  }

  async #loadEach(tips: readonly Oid[]): Promise<void> {
    let looked = this.#listed.length
    this.#listed = []
    await this.#load(tips, [], nodes => {
      for (const node of nodes) this.#listed.push(node)
      // Arranging takes time in proportion to the commits read, so they are arranged again only when twice as many are
      // read.
      if (this.#waiting.length === 0 || this.#listed.length < 2 * looked) return
      looked = this.#listed.length
      this.#order = this.#arrange(false)
      this.#places = undefined
      this.#wake()
    })
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #settle(to: number): Promise<void> {
    while (!this.#isComplete && this.#order.length < to) {
      if (this.#order.length > 0) this.#hurry.resolve()
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
    if (this.#order.length < to) await this.complete
  }

  /** Runs `git rev-list` and passes the commits on as they are read. */
  async #load(revisions: readonly string[], flags: string[], take: (nodes: CommitNumber[]) => void): Promise<void> {
    const { repository } = this.objects
    for (const tip of revisions)
      if (!isOid(repository.format, tip.replace(/^\^/, '')))
        throw new Error(`${JSON.stringify(tip)} is no full object id`)
    repository.signal?.throwIfAborted()
    // By default git flushes every line to a pipe, which takes longer than its own work.
    const buffered = { GIT_FLUSH: '0' }
    const child = start(repository, ['rev-list', '--timestamp', '--parents', ...flags, '--stdin'], 'pipe', buffered)
    const interrupt = () => endChild(child, 'SIGKILL')
    repository.signal?.addEventListener('abort', interrupt, { once: true })
    this.#children.add(child)
    try {
      let stderr = ''
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        stderr = (stderr + text).slice(-65_536)
      })
      child.stdout?.on('data', (piece: Buffer) => take(this.#graph.take(piece)))
      child.stdin?.end(`${revisions.join('\n')}\n`)
      const code = await new Promise<number | undefined>((resolve, reject) => {
        child.on('error', reject)
        child.on('close', status => resolve(status ?? undefined))
      })
      repository.signal?.throwIfAborted()
      if (code !== 0) throw new GitError('rev-list', code, stderr, '')
    } finally {
      this.#children.delete(child)
      repository.signal?.removeEventListener('abort', interrupt)
    }
  }
}

/** Starts loading the history of some commits or tags. Must be disposed. */
export const openHistory = (objects: Objects, tips: readonly Oid[], by?: HistoryOrder): History =>
  new History(objects, tips, by)

/** Reads what a graph shows of some commits, in their order. Missing ones are left out. */
export async function describe(objects: Objects, oids: readonly Oid[]): Promise<HistoryCommit[]> {
  const read = await Promise.all(oids.map(oid => objects.read(oid, { limit: 16 << 20 })))
  const commits = read.flatMap(object => {
    if (!object?.bytes || object.type !== 'commit') return []
    return [{ oid: object.oid, commit: parseCommit(object.bytes) }]
  })
  const people = await objects.mailmap.of(commits.map(({ commit }) => commit.author))
  return commits.map(({ oid, commit }, at) => ({
    oid,
    parents: commit.parents,
    author: { ...commit.author, ...people[at] },
    committed: commit.committer.date?.seconds ?? 0,
    subject: subjectOf(commit),
  }))
}

/** The first paragraph of a commit message, on one line. */
export function subjectOf({ message, encoding }: Pick<Commit, 'message' | 'encoding'>): string {
  const [paragraph = ''] = textOf(message, encoding)
    .replace(/^\s*\n/, '')
    .split(/\n[^\S\n]*\n/)
  return paragraph.trim().replace(/\s*\n\s*/g, ' ')
}

/** A commit that changed a path, and the path's name in that commit. */
export type Touch = { oid: Oid; path: Path }

type TouchingOptions = {
  /** At most this many commits, after skipping the first `after`. */
  count: number
  after?: number
  /** Follows the file through renames. Only for a single file. */
  follow?: boolean
  bounds?: Bounds
}

/** The commits in a history that changed a file or folder, newest first, and whether there are `more`. */
export async function touching(
  repository: Repository,
  tip: Oid,
  path: Path,
  { count, after = 0, follow = false, bounds }: TouchingOptions,
): Promise<{ touches: Touch[]; more: boolean }> {
  if (!isOid(repository.format, tip)) throw new Error(`${JSON.stringify(tip)} is no full object id`)
  // With --follow, git needs the newer commits to find renames, so they can't be skipped by git.
  const range = follow ? ['-n', String(after + count + 1)] : ['-n', String(count + 1), `--skip=${after}`]
  const names = follow ? ['--follow', '--name-only'] : ['--no-patch']
  const text = asText(path)
  // Arguments must be UTF-8. Other paths go by standard input, where a line end would end the path.
  const isText = Buffer.from(text).toString('latin1') === path
  if (!isText && path.includes('\n')) throw new Error('Git can not be asked for a path with a line end and odd bytes')
  const args = ['log', '-z', '--format=%H', ...names, ...range, ...(isText ? [tip, '--', text] : ['--stdin'])]
  const { stdout } = await run(repository, args, {
    env: { GIT_LITERAL_PATHSPECS: '1' },
    ...(bounds && { bounds }),
    ...(!isText && { input: Buffer.from(`${tip}\n--\n${path}\n`, 'latin1') }),
  })
  const words = fields(stdout)
  const touches: Touch[] = []
  for (const word of words) {
    const last = touches.at(-1)
    if (isOid(repository.format, word)) touches.push({ oid: word, path })
    else if (last) last.path = word.replace(/^\n/, '')
  }
  const wanted = follow ? touches.slice(after) : touches
  return { touches: wanted.slice(0, count), more: wanted.length > count }
}

/** A commit with its date (as 2026-11-23), subject and changed files. */
export type ShortCommit = { date: string; subject: string; files: Path[] }

/**
 * The newest commits reachable from a tip, without merges: those that changed a file or folder, and those whose message
 * contains a text, ignoring case.
 */
export async function lastCommits(
  repository: Repository,
  tip: Oid,
  {
    most,
    path,
    text,
    signal,
    hasFiles = true,
  }: { most: number; path?: Path; text?: string; signal?: AbortSignal; hasFiles?: boolean },
): Promise<ShortCommit[]> {
  const found = text === undefined ? [] : ['--fixed-strings', '--regexp-ignore-case', `--grep=${text}`]
  const format = ['--format=%x01%cs%x02%s', ...(hasFiles ? ['--name-only', '--full-diff', '--no-renames'] : [])]
  const where = path === undefined ? [] : [asText(path)]
  const { stdout } = await run(
    { ...repository, ...(signal && { signal }) },
    ['log', '-z', '--no-merges', ...format, ...found, '--max-count', `${most}`, tip, '--', ...where],
    { env: { GIT_LITERAL_PATHSPECS: '1' } },
  )
  const commits = stdout.toString('latin1').split('\x01').slice(1)
  return commits.map(commit => {
    const [head = '', ...files] = commit.split('\0')
    const [date = '', subject = ''] = head.split('\x02')
    return { date, subject: asText(subject), files: files.map(file => file.replace(/^\n/, '')).filter(Boolean) }
  })
}

/** A commit that no ref reaches any more, and the newest reflog entry that names it. */
type Forgotten = {
  oid: Oid
  ref: string
  /** The number of the reflog entry, as in main@{3}. */
  entry: number
  seconds: number
  message: string
}

/**
 * Finds commits that the reflogs of all worktrees, refs and the stash name but no ref or HEAD reaches, newest first,
 * without their ancestors. `isReached` replaces git's search where a {@link History} of all refs is available.
 */
export async function onlyInReflogs(objects: Objects, isReached?: (oid: Oid) => boolean): Promise<Forgotten[]> {
  const { repository } = objects
  const named = await readReflogs(repository)
  const candidates = isReached ? [...named.keys()].filter(oid => !isReached(oid)) : [...named.keys()]
  if (candidates.length === 0) return []
  const lost = isReached ? await commitsAmong(objects, candidates) : await unreached(repository, candidates)
  return lost.flatMap(oid => named.get(oid) ?? []).sort((a, b) => b.seconds - a.seconds)
}

async function commitsAmong(objects: Objects, oids: readonly Oid[]): Promise<Oid[]> {
  const infos = await Promise.all(oids.map(oid => objects.info(oid)))
  return oids.filter((_, at) => infos[at]?.type === 'commit')
}

async function unreached(repository: Repository, oids: readonly Oid[]): Promise<Oid[]> {
  const input = oids.map(oid => `${oid}\n`).join('')
  const { stdout } = await run(repository, ['rev-list', '--ignore-missing', '--stdin', '--not', '--all'], { input })
  const found = new Set(stdout.toString().split('\n'))
  return oids.filter(oid => found.has(oid))
}

/** The newest entry for each id in any reflog, read from the files: a git command for each reflog would be slower. */
async function readReflogs({ commonDir, format }: Repository): Promise<Map<Oid, Forgotten>> {
  const found = new Map<Oid, Forgotten>()
  const worktrees = await namesIn(join(commonDir, 'worktrees'))
  for (const place of ['', ...worktrees.map(name => `worktrees/${name}/`)]) {
    for (const ref of await filesBelow(join(commonDir, place, 'logs'), '')) {
      const text = (await readFile(join(commonDir, place, 'logs', ref))).toString('latin1')
      const lines = text.split('\n').filter(Boolean)
      for (const [at, line] of lines.entries()) {
        const [, old = '', now = '', seconds = '', message = ''] =
          /^([0-9a-f]+) ([0-9a-f]+) [^\t]*> (\d+) [+-]\d+(?:\t(.*))?$/.exec(line) ?? []
        const newest = lines.length - 1 - at
        for (const [oid, entry] of [
          [old, newest + 1],
          [now, newest],
        ] as const) {
          const known = found.get(oid)
          // HEAD's reflog repeats that of the checked-out branch, which is preferred.
          const isNewest =
            !known || Number(seconds) > known.seconds || (Number(seconds) === known.seconds && ref !== 'HEAD')
          if (!isNewest || !isOid(format, oid) || /^0+$/.test(oid)) continue
          found.set(oid, { oid, ref: place + ref, entry, seconds: Number(seconds), message: asText(message) })
        }
      }
    }
  }
  return found
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

async function filesBelow(folder: string, prefix: string): Promise<string[]> {
  const entries = await readdir(join(folder, prefix), { withFileTypes: true }).catch(() => [])
  const found = await Promise.all(
    entries.map(async entry => {
      const name = prefix + entry.name
      if (entry.isDirectory()) return await filesBelow(folder, `${name}/`)
      return entry.isFile() ? [name] : []
    }),
  )
  return found.flat()
}
