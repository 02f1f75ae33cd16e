/** History for a graph and for a path: which commits there are, in which order, and what only reflogs still know. */
import type { ChildProcess } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Commit, type CommitIdentity, parseCommit, textOf } from './commits.ts'
import { byDate, byDateOrder, byTopology, CommitGraph, type CommitNumber } from './graph.ts'
import type { Objects } from './objects.ts'
import { asText, fields, isOid, type Oid, type Path, type Repository } from './repository.ts'
import { endChild, GitError, run, start } from './run.ts'

/** A commit as a graph shows it. `committed` is in seconds since 1970. */
export type HistoryCommit = { oid: Oid; parents: Oid[]; author: CommitIdentity; committed: number; subject: string }

/** In which order commits come, none before its children: lines of development not mixed, or the newest first. */
type HistoryOrder = 'topology' | 'date'

/**
 * The number of commits that are read first, and the milliseconds after which the rest follows, unless a caller needs
 * it earlier: reading all of them at once would delay what the caller does with the first ones.
 */
const [FIRST, REST] = [512, 250]

/** Up to this many new commits are read one by one, which is quicker than a `git rev-list` for them. */
const MAX_COMMITS_READ_SINGLY = 100

/**
 * All commits that some tips reach, in git's topological order or by date, held in memory without their texts: some
 * hundred bytes each at most. The first rows are there long before all are loaded.
 *
 * What is given before `complete` is exact unless a commit claims to be older than its parents: then a window that is
 * asked for again may differ.
 */
export class History implements AsyncDisposable {
  readonly #graph: CommitGraph
  /** As git lists them: by date. */
  #listed: CommitNumber[] = []
  #order: Int32Array = new Int32Array()
  #places: Int32Array | undefined
  #tips: readonly Oid[]
  #isComplete = false
  #waiting: (() => void)[] = []
  readonly #children = new Set<ChildProcess>()
  #complete: Promise<number>
  /** Ends the rest after the first commits. */
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
    // A caller that asks for a window gets the error.
    this.#complete.catch(() => undefined)
  }

  /** Gives the number of commits when all are loaded; throws {@link GitError} where git can't read them. */
  get complete(): Promise<number> {
    this.#hurry.resolve()
    return this.#complete
  }

  /** The same without reading the rest earlier than planned. */
  get completeSoon(): Promise<number> {
    return this.#complete
  }

  /** The rows from one place to another, without that; fewer where the history ends. */
  async window(from: number, to: number): Promise<HistoryCommit[]> {
    await this.#settle(to)
    const nodes = this.#order.slice(Math.max(from, 0), Math.max(to, 0))
    return await describe(
      this.objects,
      Array.from(nodes, node => this.#graph.oidOf(node)),
    )
  }

  /** The same without texts: which commits, and what their parents are. It takes no git. */
  async shape(from: number, to: number): Promise<{ oid: Oid; parents: Oid[] }[]> {
    await this.#settle(to)
    const nodes = this.#order.slice(Math.max(from, 0), Math.max(to, 0))
    return Array.from(nodes, node => ({
      oid: this.#graph.oidOf(node),
      parents: Array.from(this.#graph.parentsOf(node), parent => this.#graph.oidOf(parent)),
    }))
  }

  /**
   * The graph as it is now, with at least `count` rows if the history has that many: for computations over all of it.
   * Valid until the next await of the caller. `order` has the nodes of the graph, row by row.
   */
  async state(count: number): Promise<{ graph: CommitGraph; order: Int32Array; isWhole: boolean }> {
    await this.#settle(count)
    return { graph: this.#graph, order: this.#order, isWhole: this.#isComplete }
  }

  /** The place of a commit, when all are loaded; undefined where no tip reaches it. */
  async placeOf(oid: Oid): Promise<number | undefined> {
    await this.complete
    return this.placeNow(oid)
  }

  /** The same in what is loaded by now. */
  placeNow(oid: Oid): number | undefined {
    this.#places ??= this.#placesOf(this.#order)
    const node = this.#graph.find(oid)
    const place = node === undefined ? -1 : (this.#places[node] ?? -1)
    return place < 0 ? undefined : place
  }

  /** Follows the tips to where they are now: only commits that are new are asked for. Gives the number of commits. */
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

  /** The nodes of tips. They may be tags, whose commits only git knows. */
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

  /** Reads what is new up to what is known, where it is not much: the new nodes, and the known ones that it led to. */
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

  /** Whether some nodes are in the history as it is: a commit that no tip has reached any more is still known. */
  #areListed(nodes: Iterable<CommitNumber>): boolean {
    this.#places ??= this.#placesOf(this.#order)
    for (const node of nodes) if ((this.#places[node] ?? -1) < 0) return false
    return true
  }

  /** New commits above all others, where they are newer; false where they are not, or may not be. */
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

  /** Answers whether those are all. */
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
      // Each look takes as long as what is there: so only when that has doubled.
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

  /** Runs `git rev-list` and hands over the commits as they come. */
  async #load(revisions: readonly string[], flags: string[], take: (nodes: CommitNumber[]) => void): Promise<void> {
    const { repository } = this.objects
    for (const tip of revisions)
      if (!isOid(repository.format, tip.replace(/^\^/, '')))
        throw new Error(`${JSON.stringify(tip)} is no full object id`)
    repository.signal?.throwIfAborted()
    // Not a piece for every line: that would take longer than git itself.
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

/** Begins to load the history of some commits (or tags of commits); to be closed. */
export const openHistory = (objects: Objects, tips: readonly Oid[], by?: HistoryOrder): History =>
  new History(objects, tips, by)

/** What a graph shows of some commits, in their order; those that are not there are left out. */
export async function describe(objects: Objects, oids: readonly Oid[]): Promise<HistoryCommit[]> {
  const read = await Promise.all(oids.map(oid => objects.read(oid, { limit: 16 << 20 })))
  return read.flatMap(object => {
    if (!object?.bytes || object.type !== 'commit') return []
    const commit = parseCommit(object.bytes)
    const committed = commit.committer.date?.seconds ?? 0
    return [{ oid: object.oid, parents: commit.parents, author: commit.author, committed, subject: subjectOf(commit) }]
  })
}

/** The first paragraph of a commit's message, on one line. */
export function subjectOf({ message, encoding }: Pick<Commit, 'message' | 'encoding'>): string {
  const [paragraph = ''] = textOf(message, encoding)
    .replace(/^\s*\n/, '')
    .split(/\n[^\S\n]*\n/)
  return paragraph.trim().replace(/\s*\n\s*/g, ' ')
}

/** A commit that touched a path, and the path's name there, which another commit may have changed. */
export type Touch = { oid: Oid; path: Path }

type TouchingOptions = {
  /** The most commits to give, and how many to pass over before them. */
  count: number
  after?: number
  /** Go on where the file had another name. For a single file only. */
  follow?: boolean
}

/** The commits in a history that touched a file or a folder, newest first, and whether there are `more`. */
export async function touching(
  repository: Repository,
  tip: Oid,
  path: Path,
  { count, after = 0, follow = false }: TouchingOptions,
): Promise<{ touches: Touch[]; more: boolean }> {
  if (!isOid(repository.format, tip)) throw new Error(`${JSON.stringify(tip)} is no full object id`)
  // Git follows a file only through commits that it shows: so none of them can be skipped then.
  const range = follow ? ['-n', String(after + count + 1)] : ['-n', String(count + 1), `--skip=${after}`]
  const names = follow ? ['--follow', '--name-only'] : ['--no-patch']
  const text = asText(path)
  // An argument is text: other bytes go another way, where a line end would end them.
  const isText = Buffer.from(text).toString('latin1') === path
  if (!isText && path.includes('\n')) throw new Error('Git can not be asked for a path with a line end and odd bytes')
  const args = ['log', '-z', '--format=%H', ...names, ...range, ...(isText ? [tip, '--', text] : ['--stdin'])]
  const { stdout } = await run(repository, args, {
    env: { GIT_LITERAL_PATHSPECS: '1' },
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

/** A commit with what a reader wants to know of it. `date` is that of its commit, as 2026-11-23. */
export type ShortCommit = { date: string; subject: string; files: Path[] }

/**
 * The last commits before and with a tip, merges left out: those that changed a file or folder, and those whose message
 * has a text, whatever its case.
 */
export async function lastCommits(
  repository: Repository,
  tip: Oid,
  { most, path, text, signal }: { most: number; path?: Path; text?: string; signal?: AbortSignal },
): Promise<ShortCommit[]> {
  const found = text === undefined ? [] : ['--fixed-strings', '--regexp-ignore-case', `--grep=${text}`]
  const format = ['--format=%x01%cs%x02%s', '--name-only', '--full-diff', '--no-renames']
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

/** A commit that no ref reaches any more, and the newest line of a reflog that names it. */
type Forgotten = {
  oid: Oid
  ref: string
  /** Its number in the reflog, as in main@{3}. */
  entry: number
  seconds: number
  message: string
}

/**
 * The commits named in the reflogs of all worktrees, refs and the stash that no ref and no HEAD reaches, newest first.
 * Their ancestors are not listed. `isReached` spares git the search where a {@link History} of all refs is at hand.
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

/** The newest line for each id in any reflog. Read from the files: git takes longer for it than for all else. */
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
          // HEAD follows a branch: the branch's own reflog says more.
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
