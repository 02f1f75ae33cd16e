/**
 * The key with which this machine signs for its user, and the keys of other machines that the user trusts: keys of ssh,
 * and signatures as `ssh-keygen -Y sign` makes them. All of it is kept in the user's configuration folder, outside of
 * any repository: `signing_key`, and `allowed_signers` as ssh has it.
 */
import { createHash, createPublicKey, type KeyObject, randomUUID, verify } from 'node:crypto'
import { type FileHandle, link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../../core/failure.ts'
import { visible } from '../../core/text.ts'

/**
 * What a signature is for: an approval is a user's (commands, plans, answers, tools), a result is a worker's (what its
 * checks have shown). A key can be trusted for results alone.
 */
export type Purpose = 'approval' | 'result'
export const PURPOSES: readonly Purpose[] = ['approval', 'result']
/** The namespaces of the signatures, in ssh's terms. */
const NAMESPACES: Record<Purpose, string> = { approval: 'forge-approval', result: 'forge-result' }

/** The only type of key that is made and trusted. */
const KEY_TYPE = 'ssh-ed25519'
const PUBLIC_KEY_BYTES = 32
/** An Ed25519 public key as SubjectPublicKeyInfo begins with these bytes. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
/** At most this many bytes of a key file and of the list of trusted keys are read. */
const MAX_KEY_BYTES = 10_000
const MAX_LIST_BYTES = 1_000_000
/** Milliseconds for ssh-keygen, and for another process that changes the list. */
const TIMEOUT_MS = 20_000

/** A public key. `name`: its fingerprint, as `ssh-keygen -l` shows it. */
type PublicKey = { name: string; blob: Buffer; key: KeyObject }

/** A trusted key of another machine. */
export type TrustedKey = {
  /** Its fingerprint. */
  name: string
  /** The words by which its owner has named it: user and machine. */
  words: string
  purposes: Purpose[]
  /** The key as one line, as in a file `.pub`. */
  line: string
}

/** A signature: the fingerprint of the key, and the signature as ssh-keygen makes it, in base64. */
export type Signature = { key: string; signature: string }

/** The keys that count for a purpose. */
export class CountingKeys {
  readonly #keys: ReadonlyMap<string, PublicKey>

  constructor(
    private readonly namespace: string,
    keys: readonly PublicKey[],
  ) {
    this.#keys = new Map(keys.map(key => [key.name, key]))
  }

  /** Their fingerprints, this machine's first. */
  get names(): string[] {
    return [...this.#keys.keys()]
  }

  /** Whether one of these keys has signed these bytes. */
  hasSigned({ key: name, signature }: Signature, bytes: Uint8Array): boolean {
    const key = this.#keys.get(name)
    return key !== undefined && isSignature(signature, bytes, this.namespace, key)
  }
}

export class SigningKeys {
  readonly #folder: string
  readonly #path: string
  readonly #list: string

  /** @param folder The user's configuration folder of the forge. The key is created there when it is first needed. */
  constructor(folder: string) {
    this.#folder = folder
    this.#path = join(folder, 'signing_key')
    this.#list = join(folder, 'allowed_signers')
  }

  /** The fingerprint of this machine's key; undefined where there is none yet. */
  async ownName(): Promise<string | undefined> {
    return (await this.#own())?.name
  }

  /**
   * A sentence where this machine's key was made for another user or machine, so that two machines may have one key;
   * undefined otherwise.
   */
  async copied(): Promise<string | undefined> {
    const words = (await this.#own())?.words
    if (words === undefined || words === ownWords()) return undefined
    return `It was made for ${visible(words).slice(0, 100)}: if this home is a copy of that one's, two machines have one key. Remove ${visible(this.#path)} then, and a new one is made here.`
  }

  /** This machine's public key as one line, for `forge trust` on other machines. The key is made if there is none. */
  async ownLine(): Promise<string> {
    const { blob } = (await this.#own()) ?? (await this.#make())
    return `${KEY_TYPE} ${blob.toString('base64')} ${ownWords()}`
  }

  /** Signs bytes with this machine's key, which is made if there is none. */
  async sign(bytes: Uint8Array, purpose: Purpose): Promise<Signature> {
    const { name } = (await this.#own()) ?? (await this.#make())
    const armored = await sshKeygen(['-q', '-Y', 'sign', '-n', NAMESPACES[purpose], '-f', this.#path], bytes)
    const lines = armored.split('\n').filter(line => line !== '' && !line.startsWith('-----'))
    return { key: name, signature: lines.join('') }
  }

  /** The keys that count for a purpose: this machine's, and those that the user trusts for it. */
  async counting(purpose: Purpose): Promise<CountingKeys> {
    const [own, trusted] = await Promise.all([this.#own(), this.trusted()])
    const keys = trusted.flatMap(({ purposes, line }) =>
      purposes.includes(purpose) ? (publicKeyOf(Buffer.from(line.split(' ')[1] ?? '', 'base64')) ?? []) : [],
    )
    return new CountingKeys(NAMESPACES[purpose], [...(own ? [own] : []), ...keys])
  }

  // --- Trust

  /** The trusted keys of other machines, in the order in which they were added. */
  async trusted(): Promise<TrustedKey[]> {
    return (await this.#lines()).flatMap(line => trustedIn(line) ?? [])
  }

  /** Trusts a key, given as in a file `.pub`, for these purposes. @throws Failure where it is none. */
  async trust(words: string, purposes: readonly Purpose[]): Promise<TrustedKey> {
    const [type, base64 = '', ...comment] = words.trim().split(/\s+/)
    const read = type === KEY_TYPE ? publicKeyOf(Buffer.from(base64, 'base64')) : undefined
    if (!read)
      throw new Failure(
        `${visible(words).slice(0, 80)} is no key of Forge: give the line that forge trust prints on the other machine (${KEY_TYPE} …), or its file.`,
      )
    if (read.name === (await this.ownName())) {
      const words = comment.join(' ')
      if (words === '' || words === ownWords())
        throw new Failure('This is the key of this machine, which always counts.')
      throw new Failure(
        `This machine and ${visible(words).slice(0, 100)} have the same key, as one's home was copied: remove ${visible(this.#path)} on one of them, and forge trust there prints a new key.`,
      )
    }
    // The principal has no blanks and no patterns, or ssh would read it otherwise.
    const principal = (comment.join('-').replace(/[^\w.@:+-]/g, '_') || read.name).slice(0, 100)
    const namespaces = purposes.map(purpose => NAMESPACES[purpose]).join(',')
    const line = `${principal} namespaces="${namespaces}" ${KEY_TYPE} ${read.blob.toString('base64')}`
    await this.#change(lines => [...lines.filter(it => trustedIn(it)?.name !== read.name), line])
    const trusted = trustedIn(line)
    if (!trusted) throw new Error(`${line} is not read as it was written`)
    return trusted
  }

  /**
   * Removes a trusted key by its fingerprint, its name or the key itself. @throws Failure where there is none or more.
   */
  async distrust(words: string): Promise<TrustedKey> {
    const [, base64 = ''] = words.trim().split(/\s+/)
    const isMeant = (it: TrustedKey) => [it.name, it.words].includes(words.trim()) || it.line.split(' ')[1] === base64
    const { promise, resolve } = Promise.withResolvers<TrustedKey>()
    await this.#change(lines => {
      const [found, ...more] = lines.flatMap(line => trustedIn(line) ?? []).filter(isMeant)
      if (!found) throw new Failure(`No trusted key is called ${visible(words)}: forge trust lists them.`)
      if (more.length > 0)
        throw new Failure(`More than one trusted key is called ${visible(words)}: give its SHA256:….`)
      resolve(found)
      return lines.filter(line => trustedIn(line)?.name !== found.name)
    })
    return await promise
  }

  async #lines(): Promise<string[]> {
    const text = await readOwn(this.#list, { limit: MAX_LIST_BYTES, mask: 0o022, what: 'can be changed by others' })
    return (text ?? '').split('\n').filter(line => line.trim() !== '')
  }

  /** Changes the list. Its lock is git's: the file that becomes the new list, which only one process can make. */
  async #change(change: (lines: readonly string[]) => readonly string[]): Promise<void> {
    const lock = await this.#lock()
    try {
      const lines = change(await this.#lines())
      await lock.writeFile(lines.map(line => `${line}\n`).join(''))
      await lock.sync()
      await rename(`${this.#list}.lock`, this.#list)
    } catch (error) {
      await rm(`${this.#list}.lock`, { force: true })
      throw error instanceof Failure ? error : this.#unwritable(error)
    } finally {
      await lock.close()
    }
  }

  async #lock(): Promise<FileHandle> {
    const path = `${this.#list}.lock`
    for (const last = performance.now() + TIMEOUT_MS; ; await Bun.sleep(20)) {
      try {
        await mkdir(this.#folder, { recursive: true, mode: 0o700 })
        return await open(path, 'wx', 0o600)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw this.#unwritable(error)
        if (performance.now() > last)
          throw new Failure(`${visible(path)} is there: remove it, unless another forge trust is at work.`)
      }
    }
  }

  #unwritable(error: unknown): Failure {
    return new Failure(`${visible(this.#list)} can't be written (${(error as NodeJS.ErrnoException).code}).`)
  }

  // --- This machine's key

  async #own(): Promise<(PublicKey & { words: string | undefined }) | undefined> {
    const text = await readOwn(this.#path, { limit: MAX_KEY_BYTES, mask: 0o077, what: 'can be read by others' })
    if (text === undefined) return undefined
    const key = publicKeyIn(text)
    if (key) return { ...key, words: commentIn(text) }
    throw new Failure(
      `${visible(this.#path)} is no signing key of Forge: move it away, and what you approved is asked again.`,
    )
  }

  /** Creates the key. Another process may do so at the same time: then the first one's is used. */
  async #make(): Promise<PublicKey> {
    const draft = `${this.#path}.${randomUUID()}`
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', ownWords(), '-f', draft])
      // Without its file .pub, as ssh-keygen would not sign with a key beside another one's.
      await link(draft, this.#path)
    } catch (error) {
      if (error instanceof Failure) throw error
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EEXIST') throw new Failure(`${visible(this.#path)} can't be written (${code}): check its folder.`)
    } finally {
      await Promise.all([draft, `${draft}.pub`].map(path => rm(path, { force: true })))
    }
    const own = await this.#own()
    if (!own) throw new Failure(`${visible(this.#path)} was removed while it was made: try again.`)
    return own
  }
}

/** The name of this machine's key: user and machine. */
const ownWords = (): string => `${userInfo().username}@${hostname()}`.replace(/[^\w.@:+-]/g, '_')

/** Reads a file of the user's alone; undefined where there is none. `mask`: the modes that it must not have. */
async function readOwn(
  path: string,
  { limit, mask, what }: { limit: number; mask: number; what: string },
): Promise<string | undefined> {
  const shown = visible(path)
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Failure(`${shown} can't be read (${error.code}): check its owner, or move it away.`)
  })
  if (!file) return undefined
  try {
    const { mode, uid, size } = await file.stat()
    // With the key, or a key of their own in the list, another user could approve anything in this user's name.
    if (mode & mask || (process.getuid && uid !== process.getuid()))
      throw new Failure(`${shown} ${what}: move it away, and what you approved is asked again.`)
    if (size > limit) throw new Failure(`${shown} has more than ${limit} bytes: move it away.`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

async function sshKeygen(args: readonly string[], input: Uint8Array = new Uint8Array()): Promise<string> {
  const path = Bun.which('ssh-keygen')
  if (!path) throw new Failure('ssh-keygen is not there, by which approvals and results are signed: install OpenSSH.')
  const child = Bun.spawn([path, ...args], {
    cwd: '/',
    env: { LC_ALL: 'C' },
    stdio: [input, 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  })
  const [out, words] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) === 0) return out
  throw new Failure(`ssh-keygen could not sign: ${visible(words.trim().split('\n').at(-1) ?? '').slice(0, 300)}`)
}

// --- The formats of OpenSSH (PROTOCOL.key, PROTOCOL.sshsig, ALLOWED SIGNERS of ssh-keygen)

/** Reads the fields of ssh's binary formats: each is its length in four bytes and its bytes. */
class Fields {
  #at: number

  constructor(
    private readonly bytes: Buffer,
    from = 0,
  ) {
    this.#at = from
  }

  number(): number {
    const value = this.bytes.readUInt32BE(this.#at)
    this.#at += 4
    return value
  }

  bytesOf(): Buffer {
    const length = this.number()
    if (this.#at + length > this.bytes.length) throw new RangeError('A field is longer than the data')
    this.#at += length
    return this.bytes.subarray(this.#at - length, this.#at)
  }

  text(): string {
    return this.bytesOf().toString('latin1')
  }

  get isAtEnd(): boolean {
    return this.#at === this.bytes.length
  }
}

/** Reads untrusted bytes; undefined where they do not have the format. */
function readFields<Result>(bytes: Buffer, read: (fields: Fields) => Result | undefined, from = 0): Result | undefined {
  try {
    return read(new Fields(bytes, from))
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function publicKeyOf(blob: Buffer): PublicKey | undefined {
  const raw = readFields(blob, fields => {
    if (fields.text() !== KEY_TYPE) return undefined
    const key = fields.bytesOf()
    return key.length === PUBLIC_KEY_BYTES && fields.isAtEnd ? key : undefined
  })
  if (!raw) return undefined
  const key = createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })
  return { name: `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`, blob, key }
}

const KEY_MAGIC = 'openssh-key-v1\0'

/** The public key in a file of a private key, where it stands unencrypted. */
function publicKeyIn(text: string): PublicKey | undefined {
  const blob = readKeyFile(text, fields => fields.bytesOf())
  return blob && publicKeyOf(blob)
}

/** The comment in a file of a private key: user and machine for which it was made. */
function commentIn(text: string): string | undefined {
  const secret = readKeyFile(text, fields => [fields.bytesOf(), fields.bytesOf()][1])
  return (
    secret &&
    readFields(secret, fields => {
      // Two numbers that are alike; type, public and private key.
      fields.number()
      fields.number()
      for (let at = 0; at < 3; at++) fields.bytesOf()
      return fields.text()
    })
  )
}

/** Reads what follows the head of an unencrypted private key's file. */
function readKeyFile<Result>(text: string, read: (fields: Fields) => Result | undefined): Result | undefined {
  const [, base64] =
    /^-----BEGIN OPENSSH PRIVATE KEY-----\n([\w+/=\n]+)-----END OPENSSH PRIVATE KEY-----/.exec(text) ?? []
  const bytes = Buffer.from(base64 ?? '', 'base64')
  if (bytes.subarray(0, KEY_MAGIC.length).toString('latin1') !== KEY_MAGIC) return undefined
  return readFields(
    bytes,
    fields => {
      const [cipher] = [fields.text(), fields.text(), fields.text()]
      const isOne = fields.number() === 1
      return cipher === 'none' && isOne ? read(fields) : undefined
    },
    KEY_MAGIC.length,
  )
}

const SIGNATURE_MAGIC = 'SSHSIG'
const HASHES: Record<string, string> = { sha256: 'sha256', sha512: 'sha512' }

/** Whether a signature of ssh-keygen is by this key, over these bytes and for this namespace. */
function isSignature(signature: string, bytes: Uint8Array, namespace: string, { blob, key }: PublicKey): boolean {
  const sent = Buffer.from(signature, 'base64')
  if (sent.subarray(0, SIGNATURE_MAGIC.length).toString('latin1') !== SIGNATURE_MAGIC) return false
  const read = readFields(
    sent,
    fields => ({
      version: fields.number(),
      blob: fields.bytesOf(),
      namespace: fields.text(),
      reserved: fields.bytesOf(),
      hash: fields.text(),
      signature: fields.bytesOf(),
    }),
    SIGNATURE_MAGIC.length,
  )
  const hash = read && HASHES[read.hash]
  if (!read || !hash || read.version !== 1 || read.namespace !== namespace || !read.blob.equals(blob)) return false
  const raw = readFields(read.signature, fields => (fields.text() === KEY_TYPE ? fields.bytesOf() : undefined))
  if (!raw) return false
  const parts = [namespace, read.reserved, read.hash, createHash(hash).update(bytes).digest()].map(part =>
    Buffer.from(part),
  )
  const lengths = parts.map(part => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(part.length)
    return length
  })
  const signed = [Buffer.from(SIGNATURE_MAGIC), ...parts.flatMap((part, at) => [lengths[at] ?? Buffer.of(), part])]
  return verify(null, Buffer.concat(signed), key, raw)
}

/** A line of a list of allowed signers: principals, options, key. Other options than namespaces are not known here. */
const SIGNER = /^(\S+)\s+(?:namespaces="([^"]*)"\s+)?ssh-ed25519\s+([\w+/=]+)(?:\s.*)?$/

/** Reads a line of the list; undefined for comments, other keys, and lines with options that limit a key otherwise. */
function trustedIn(text: string): TrustedKey | undefined {
  const [, words = '', namespaces, base64 = ''] = SIGNER.exec(text.trim()) ?? []
  if (words === '' || words.startsWith('#')) return undefined
  const key = publicKeyOf(Buffer.from(base64, 'base64'))
  const given = namespaces?.split(',')
  const purposes = PURPOSES.filter(purpose => given === undefined || given.includes(NAMESPACES[purpose]))
  return key && { name: key.name, words, purposes, line: `${KEY_TYPE} ${key.blob.toString('base64')} ${words}` }
}

/** The words of a key: a line as `forge trust` prints it, or a file with that. */
export async function keyFrom(words: string, path: string): Promise<string> {
  if (words.startsWith(`${KEY_TYPE} `)) return words
  return await readFile(path, 'utf8').catch(() => words)
}
