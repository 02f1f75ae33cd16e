/** Reads objects through one long-running git process, and writes many of them by a single one. */
import type { ChildProcess } from 'node:child_process'
import { Mailmap } from './mailmap.ts'
import { type Format, isOid, type Oid, type Repository } from './repository.ts'
import { endChild, GitError, run, start } from './run.ts'

type ObjectType = 'blob' | 'tree' | 'commit' | 'tag'
type Info = { oid: Oid; type: ObjectType; size: number }
/** `bytes` is undefined where the object is larger than the limit. */
type GitObject = Info & { bytes: Buffer | undefined }
/**
 * The name of an object: a full id, HEAD, or a ref beginning with `refs/`, optionally followed by `^{commit}`,
 * `^{tree}`, `^{blob}` or `^{}`; or a full id, a colon and a path without line ends, for the entry at that path. Other
 * names are rejected before they reach git, so that none can be an option or contain a line end.
 */
export type ObjectName = string

/** The default limit for reading an object, in bytes. Git hosts accept no larger file. */
const LIMIT = 128 << 20

type Answer = { head: string; bytes?: Buffer }
type Request = {
  command: 'info' | 'contents'
  name: string
  resolve: (answer: Answer) => void
  reject: (reason: unknown) => void
  /** How many times git died while this request was the next to be answered. */
  deaths: number
}

/**
 * The objects of a repository, read by one `git cat-file` process that starts on first use and again after it died.
 * Requests made together are sent together, and answered in order. Objects that other processes add or repack are
 * found. Must be disposed: `await using objects = openObjects(repository)`.
 */
export class Objects implements AsyncDisposable {
  #child: ChildProcess | undefined
  #unsent: Request[] = []
  #pending: Request[] = []
  #answer = new AnswerReader()
  /** How many git processes in a row died without an answer. */
  #deaths = 0
  #ended: unknown
  #clock: ReturnType<typeof setTimeout> | undefined
  readonly #interrupt = () => this.#end(this.repository.signal?.reason)
  /** Its people by their present names. */
  readonly mailmap: Mailmap

  constructor(readonly repository: Repository) {
    this.mailmap = new Mailmap(repository)
    repository.signal?.addEventListener('abort', this.#interrupt, { once: true })
    if (repository.signal?.aborted) this.#interrupt()
  }

  /** The type and size of an object; undefined where it does not exist (or, with `^{type}`, has another type). */
  async info(name: ObjectName): Promise<Info | undefined> {
    return parseInfo((await this.#ask('info', verifyName(this.repository.format, name))).head)
  }

  /**
   * Reads an object; undefined where it does not exist. `bytes` is undefined above `limit`: the size is asked first, so
   * that a huge object is never read.
   */
  async read(name: ObjectName, { limit = LIMIT }: { limit?: number } = {}): Promise<GitObject | undefined> {
    const info = await this.info(name)
    if (!info) return undefined
    if (info.size > limit) return { ...info, bytes: undefined }
    const { bytes } = await this.#ask('contents', info.oid)
    // The object may have been deleted between the two requests.
    return bytes && { ...info, bytes }
  }

  /** Ends the git process. Requests that are open, and all later ones, are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child
    const gone = child && new Promise(resolve => child.once('close', resolve))
    this.#end(new Error('The objects of this repository are closed'))
    await gone
  }

  #end(reason: unknown): void {
    this.#ended ??= reason
    this.repository.signal?.removeEventListener('abort', this.#interrupt)
    // The process only reads, so killing it is safe.
    if (this.#child) endChild(this.#child, 'SIGKILL')
    this.#rejectAll(this.#ended)
  }

  #rejectAll(reason: unknown): void {
    clearTimeout(this.#clock)
    for (const request of [...this.#pending.splice(0), ...this.#unsent.splice(0)]) request.reject(reason)
  }

  #ask(command: Request['command'], name: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended)
      this.#unsent.push({ command, name, resolve, reject, deaths: 0 })
      // Requests of the same tick are sent together.
      if (this.#unsent.length === 1) queueMicrotask(() => this.#send())
    })
  }

  #send(): void {
    if (this.#ended || this.#unsent.length === 0) return
    this.#child ??= this.#start()
    const lines = this.#unsent.map(({ command, name }) => `${command} ${name}\n`)
    this.#pending.push(...this.#unsent.splice(0))
    this.#child.stdin?.write(Buffer.from(`${lines.join('')}flush\n`, 'latin1'))
    this.#wait()
  }

  /** Ends the process where the next answer takes longer than the repository's bounds allow. */
  #wait(): void {
    clearTimeout(this.#clock)
    const { bounds } = this.repository
    if (bounds && this.#pending.length > 0) this.#clock = setTimeout(() => this.#giveUp(), bounds.seconds * 1000)
  }

  #giveUp(): void {
    if (this.#child) endChild(this.#child, 'SIGKILL')
    this.#rejectAll(new GitError('cat-file', undefined, '', '', { bound: 'time' }))
  }

  #start(): ChildProcess {
    const child = start(this.repository, ['cat-file', '--batch-command', '--buffer'], 'pipe')
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-65_536)
    })
    child.stdout?.on('data', (piece: Buffer) => {
      // Ignore the remaining output of an ended process.
      if (child !== this.#child) return
      for (const answer of this.#answer.take(piece, () => this.#pending[0]?.command)) {
        this.#deaths = 0
        this.#pending.shift()?.resolve(answer)
      }
      this.#wait()
    })
    let failed: Error | undefined
    child.on('error', error => {
      failed = error
    })
    child.on('close', (code, name) =>
      this.#died(failed ?? new GitError('cat-file', code ?? undefined, stderr, '', name ? { signal: name } : {})),
    )
    return child
  }

  /** Asks again for what the dead process had not answered, except a request at which git died twice. */
  #died(reason: Error): void {
    this.#child = undefined
    this.#answer = new AnswerReader()
    const next = this.#pending[0]
    const isTheSame = next !== undefined && ++next.deaths > 1
    if (isTheSame) this.#pending.shift()?.reject(reason)
    this.#deaths++
    // Give up on a process that dies every time.
    if (this.#ended || this.#deaths > 5) this.#rejectAll(this.#ended ?? reason)
    this.#unsent.unshift(...this.#pending.splice(0))
    this.#send()
  }
}

/**
 * Splits the output of `git cat-file --batch-command` into answers: a line, and for contents the bytes it announces.
 */
class AnswerReader {
  #pieces: Buffer[] = []
  #have = 0
  #head: string | undefined
  /** The number of bytes needed for the next answer; 0 while its first line is read. */
  #wanted = 0

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#have += piece.length
  }

  /** Copies the bytes, so that a small answer does not keep a large buffer in memory. */
  #join(): Buffer {
    const bytes = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#have = 0
    return bytes
  }

  *take(piece: Buffer, command: () => Request['command'] | undefined): Generator<Answer> {
    let rest = piece
    while (rest.length > 0) {
      if (this.#head === undefined) {
        const at = rest.indexOf(10)
        if (at < 0) return this.#keep(rest)
        this.#keep(rest.subarray(0, at))
        rest = rest.subarray(at + 1)
        const head = this.#join().toString('latin1')
        const info = command() === 'contents' ? parseInfo(head) : undefined
        if (!info) {
          yield { head }
          continue
        }
        this.#head = head
        this.#wanted = info.size + 1
      }
      const part = rest.subarray(0, this.#wanted - this.#have)
      this.#keep(part)
      rest = rest.subarray(part.length)
      if (this.#have < this.#wanted) return
      const head = this.#head
      this.#head = undefined
      yield { head, bytes: this.#join().subarray(0, -1) }
    }
  }
}

export const openObjects = (repository: Repository): Objects => new Objects(repository)

function parseInfo(line: string): Info | undefined {
  const [, oid, type, size] = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) (\d+)$/.exec(line) ?? []
  return oid ? { oid, type: type as ObjectType, size: Number(size) } : undefined
}

function verifyName(format: Format, name: ObjectName): string {
  const [, bare = '', peel = ''] = /^(.*?)(\^\{(?:commit|tree|blob|tag|)\})?$/s.exec(name) ?? []
  if (isOid(format, bare) || bare === 'HEAD' || isRefName(bare)) return bare + peel
  const [, oid = '', path] = /^([0-9a-f]+):([^\n\0]+)$/.exec(name) ?? []
  if (path !== undefined && isOid(format, oid)) return name
  throw new Error(`${JSON.stringify(name)} does not name an object: a full id, HEAD or a ref does`)
}

/** Whether a name (one character per byte) is valid for a ref below `refs/`, by git-check-ref-format(1). */
export function isRefName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (!/^refs\/[^\x00-\x20\x7f~^:?*[\\\u0100-\uffff]+$/.test(name)) return false
  if (/\.\.|@\{|\/\/|\.$|\/$/.test(name)) return false
  return name.split('/').every(part => !part.startsWith('.') && !part.endsWith('.lock'))
}

/** The ids of all objects that begin with these hex digits, at least four. */
export async function findByDigits(repository: Repository, digits: string): Promise<Oid[]> {
  if (!/^[0-9a-f]{4,64}$/.test(digits)) return []
  const { stdout } = await run(repository, ['rev-parse', `--disambiguate=${digits}`], { ok: [0, 128], limit: 65_536 })
  return stdout
    .toString()
    .split('\n')
    .filter(line => isOid(repository.format, line))
}

/** The first `limit` bytes of a blob of any size, read by a git process of its own. */
export async function readStart(repository: Repository, blob: Oid, limit: number): Promise<Buffer> {
  return (await run(repository, ['cat-file', 'blob', blob], { limit })).stdout
}

/** An object to write: its content, without git's header. */
export type NewObject = { type: ObjectType; bytes: Uint8Array }

/** Computes the id of an object as git does. */
export function oidOf(format: Format, { type, bytes }: NewObject): Oid {
  return new Bun.CryptoHasher(format).update(`${type} ${bytes.length}\0`).update(bytes).digest('hex')
}

/**
 * From this many objects on, a pack is smaller and faster to write than loose files, though an early `git repack -d`
 * may drop unreferenced ones.
 */
const MIN_BLOBS_FOR_PACK = 1000
const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4 } as const

/**
 * Writes objects exactly as given, by one git process, and gives their ids in the same order. Does not check that
 * objects they refer to exist.
 */
export async function writeObjects(repository: Repository, objects: readonly NewObject[]): Promise<Oid[]> {
  const { format } = repository
  const oids = objects.map(object => oidOf(format, object))
  const once = [...new Map(oids.map((oid, at) => [oid, objects[at] as NewObject])).values()]
  if (once.length === 0) return []
  const isMany = once.length > MIN_BLOBS_FOR_PACK
  // Programs that only read start faster without zlib.
  const { deflateSync } = await import('node:zlib')
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  head.writeUInt32BE(once.length, 8)
  // Where git unpacks the pack into loose files, it compresses them again: compressing the pack would be wasted.
  const level = isMany ? 1 : 0
  const body = once.flatMap(({ type, bytes }) => [packHeader(type, bytes.length), deflateSync(bytes, { level })])
  const pack = Buffer.concat([head, ...body])
  const input = Buffer.concat([pack, new Bun.CryptoHasher(format).update(pack).digest()])
  await run(repository, isMany ? ['index-pack', '--stdin'] : ['unpack-objects', '-q'], { input })
  return oids
}

/**
 * The header of an object in a pack, by gitformat-pack(5): four bits of the size in the first byte, seven in each of
 * the next.
 */
function packHeader(type: ObjectType, size: number): Buffer {
  const bytes = [(TYPES[type] << 4) | (size % 16)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest % 128)
  }
  return Buffer.from(bytes)
}

/** Writes the content of a file exactly as given: no filters, no conversion of line ends. */
export async function writeBlob(repository: Repository, bytes: Uint8Array): Promise<Oid> {
  const [oid = ''] = await writeObjects(repository, [{ type: 'blob', bytes }])
  return oid
}

/** Writes many blobs by one git process. */
export const writeBlobs = (repository: Repository, contents: readonly Uint8Array[]): Promise<Oid[]> =>
  writeObjects(
    repository,
    contents.map(bytes => ({ type: 'blob', bytes })),
  )
