/** Reading objects through one git that keeps running, and writing many of them by one that does not. */
import type { ChildProcess } from 'node:child_process'
import { type Format, isOid, type Oid, type Repository } from './repository.ts'
import { endChild, GitError, run, start } from './run.ts'

type ObjectType = 'blob' | 'tree' | 'commit' | 'tag'
type Info = { oid: Oid; type: ObjectType; size: number }
/** `bytes` is undefined where the object is longer than what was asked for. */
type GitObject = Info & { bytes: Buffer | undefined }
/**
 * What names an object: a full id, HEAD or a ref from `refs/` on, and, to get from a tag or commit to what it stands
 * for, `^{commit}`, `^{tree}`, `^{blob}` or `^{}` behind it; or a full id, a colon and a path without line ends, for
 * what stands there in that commit or tree. Nothing else reaches git, so no line end and no option does.
 */
export type ObjectName = string

/** Objects up to this many bytes are read where nothing else is said: more than a forge takes. */
const LIMIT = 128 << 20

type Answer = { head: string; bytes?: Buffer }
type Request = {
  command: 'info' | 'contents'
  name: string
  resolve: (answer: Answer) => void
  reject: (reason: unknown) => void
  /** How often git died while this was the next to be answered. */
  deaths: number
}

/**
 * The objects of a repository, read by one `git cat-file` that is started when it is first needed and again when it has
 * died. What is asked for in one go is written in one go, and answered in that order. It sees what others add and
 * repack. To be closed: `await using objects = openObjects(repository)`.
 */
export class Objects implements AsyncDisposable {
  #child: ChildProcess | undefined
  #unsent: Request[] = []
  #pending: Request[] = []
  #answer = new AnswerReader()
  /** Gits that died in a row without an answer. */
  #deaths = 0
  #ended: unknown
  #clock: ReturnType<typeof setTimeout> | undefined
  readonly #interrupt = () => this.#end(this.repository.signal?.reason)

  constructor(readonly repository: Repository) {
    repository.signal?.addEventListener('abort', this.#interrupt, { once: true })
    if (repository.signal?.aborted) this.#interrupt()
  }

  /** Type and size of an object; undefined where there is none of that name (or, with `^{type}`, none of that type). */
  async info(name: ObjectName): Promise<Info | undefined> {
    return parseInfo((await this.#ask('info', verifyName(this.repository.format, name))).head)
  }

  /**
   * An object with its bytes, where it has at most `limit` of them; undefined where there is none. Its size is asked
   * for first, so that a huge one is never read.
   */
  async read(name: ObjectName, { limit = LIMIT }: { limit?: number } = {}): Promise<GitObject | undefined> {
    const info = await this.info(name)
    if (!info) return undefined
    if (info.size > limit) return { ...info, bytes: undefined }
    const { bytes } = await this.#ask('contents', info.oid)
    // It may have gone in between, with the pack that it was in.
    return bytes && { ...info, bytes }
  }

  /** Ends the git that runs. What has not been answered is rejected, as is all that is asked afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child
    const gone = child && new Promise(resolve => child.once('close', resolve))
    this.#end(new Error('The objects of this repository are closed'))
    await gone
  }

  #end(reason: unknown): void {
    this.#ended ??= reason
    this.repository.signal?.removeEventListener('abort', this.#interrupt)
    // It only reads: nothing is left half done.
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
      // What else is asked for in this moment goes with it.
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

  /** Where the place has bounds, the next answer must come within their time. */
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
      // Output that was still in the pipe of an ended process answers no question.
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

  /** What git has not answered is asked again, but an object at which it died twice is not. */
  #died(reason: Error): void {
    this.#child = undefined
    this.#answer = new AnswerReader()
    const next = this.#pending[0]
    const isTheSame = next !== undefined && ++next.deaths > 1
    if (isTheSame) this.#pending.shift()?.reject(reason)
    this.#deaths++
    // A process that can't even start is not restarted again and again.
    if (this.#ended || this.#deaths > 5) this.#rejectAll(this.#ended ?? reason)
    this.#unsent.unshift(...this.#pending.splice(0))
    this.#send()
  }
}

/** Cuts the output of `git cat-file --batch-command` into answers: a line, and for contents the bytes it announces. */
class AnswerReader {
  #pieces: Buffer[] = []
  #have = 0
  #head: string | undefined
  /** How many bytes make the next step: unknown while a line is read. */
  #wanted = 0

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#have += piece.length
  }

  /** A copy, so that a few bytes do not hold on to all that came with them. */
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

/** Whether a name, one character per byte, is that of a ref below `refs/`, by the rules of git-check-ref-format(1). */
export function isRefName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (!/^refs\/[^\x00-\x20\x7f~^:?*[\\\u0100-\uffff]+$/.test(name)) return false
  if (/\.\.|@\{|\/\/|\.$|\/$/.test(name)) return false
  return name.split('/').every(part => !part.startsWith('.') && !part.endsWith('.lock'))
}

/** The ids of all objects that begin with these digits, four at least: none, one, or several. */
export async function findByDigits(repository: Repository, digits: string): Promise<Oid[]> {
  if (!/^[0-9a-f]{4,64}$/.test(digits)) return []
  const { stdout } = await run(repository, ['rev-parse', `--disambiguate=${digits}`], { ok: [0, 128], limit: 65_536 })
  return stdout
    .toString()
    .split('\n')
    .filter(line => isOid(repository.format, line))
}

/** At most the first `limit` bytes of a blob that may be endless, by a git of its own. */
export async function readStart(repository: Repository, blob: Oid, limit: number): Promise<Buffer> {
  return (await run(repository, ['cat-file', 'blob', blob], { limit })).stdout
}

/** What is to be written: the bytes of the object itself, without git's header. */
export type NewObject = { type: ObjectType; bytes: Uint8Array }

/** The id that git gives to an object. */
export function oidOf(format: Format, { type, bytes }: NewObject): Oid {
  return new Bun.CryptoHasher(format).update(`${type} ${bytes.length}\0`).update(bytes).digest('hex')
}

/** From here on a pack is smaller and quicker than files, though a careless repack drops it while nothing uses it. */
const MIN_BLOBS_FOR_PACK = 1000
const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4 } as const

/**
 * Writes objects exactly as they are, all by one git, and gives their ids in the same order. It does not look whether
 * what they refer to is there.
 */
export async function writeObjects(repository: Repository, objects: readonly NewObject[]): Promise<Oid[]> {
  const { format } = repository
  const oids = objects.map(object => oidOf(format, object))
  const once = [...new Map(oids.map((oid, at) => [oid, objects[at] as NewObject])).values()]
  if (once.length === 0) return []
  const isMany = once.length > MIN_BLOBS_FOR_PACK
  // Programs that only read start without it.
  const { deflateSync } = await import('node:zlib')
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  head.writeUInt32BE(once.length, 8)
  // Files are compressed again by git: there the pack is only a pipe.
  const level = isMany ? 1 : 0
  const body = once.flatMap(({ type, bytes }) => [packHeader(type, bytes.length), deflateSync(bytes, { level })])
  const pack = Buffer.concat([head, ...body])
  const input = Buffer.concat([pack, new Bun.CryptoHasher(format).update(pack).digest()])
  await run(repository, isMany ? ['index-pack', '--stdin'] : ['unpack-objects', '-q'], { input })
  return oids
}

/** Type and size as gitformat-pack(5) has it: four bits of the size in the first byte, seven in each that follows. */
function packHeader(type: ObjectType, size: number): Buffer {
  const bytes = [(TYPES[type] << 4) | (size % 16)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest % 128)
  }
  return Buffer.from(bytes)
}

/** Writes a file's content exactly as it is: no filter, no change of line ends. */
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
