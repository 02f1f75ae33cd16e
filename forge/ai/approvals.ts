/**
 * What of a repository the person has approved to be run: by its content, never by its name, so that what changes is
 * asked about again. Approvals are in the branch's tree, where anyone with push access can write; so each counts only
 * with a signature by a key of this user's, which is outside of any repository. A branch of a stranger's brings
 * whatever it likes into that file, and approves nothing by it.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from 'node:crypto'
import { chmod, link, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { oidOf } from '../../core/git/objects.ts'
import type { Format, Oid } from '../../core/git/repository.ts'
import { visible } from '../../core/text.ts'
import type { WorkInProgressVfs } from '../vfs.ts'

/** Where they stand in a tree. */
export const APPROVALS = '.forge/approved_tools.json'

/** What can be approved. A verdict is what a program of this user's has found out; only such a program signs it. */
export type Subject = {
  /** So that what was approved as one thing is not run as another. */
  kind: 'tool' | 'command' | 'verdict'
  /**
   * Within what it was approved: an approval with another scope does not count.
   *
   * A tool has none (''): it may be approved in one repository, and count in another that has the same file with the
   * same content. The person has read that very code, and all that it can reach is the branch that it runs on, where
   * the built-in tools write without being asked. To bind it to the repository would protect nothing: its first commit
   * is in every fork of it, so in the very place that a copied approval would be tried in, and an id of the clone would
   * only ask again in the next clone.
   *
   * What a command does depends on the files beside it. Its scope is the repository, by an id outside of it. A verdict
   * names commits, which are the same in every clone, and has none.
   */
  scope: string
  /** The path of a tool's file, the name of a command: the same content elsewhere is asked about again. */
  name: string
  content: Uint8Array
}

/** Whether it may run: `changed` where the same name was approved with another content, whose blob `before` is. */
export type ApprovalState = { state: 'approved' } | { state: 'new' } | { state: 'changed'; before: Oid }

const Entry = v.object({
  kind: v.picklist(['tool', 'command', 'verdict']),
  scope: v.pipe(v.string(), v.maxLength(200)),
  name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096)),
  blob: v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  /** Whose it is: the hash of the public key. Others' stay where they are. */
  key: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  signature: v.pipe(v.string(), v.base64(), v.maxLength(100)),
})
type Entry = v.InferOutput<typeof Entry>

/** An approval that is kept elsewhere than in a tree. It says by its signature whose it is, wherever it was found. */
export const SignedApproval = Entry
export type SignedApproval = Entry

type Signed = Omit<Entry, 'key' | 'signature'>

const File = v.object({ version: v.literal(1), approvals: v.pipe(v.array(Entry), v.maxLength(2000)) })

/** A larger file was not written here. */
const MAX_APPROVALS_BYTES = 2 << 20

/** Looks for approvals, and gives them, with the key in a folder outside of any repository. */
export class Approvals {
  readonly #path: string
  readonly #folder: string

  /** @param folder The user's folder of settings for the forge; the key is made in it when it is first needed. */
  constructor(folder: string) {
    this.#folder = folder
    this.#path = join(folder, 'approvals.key')
  }

  /** Throws a {@link Failure} where there is a key that can't be used. Without one, nothing is approved. */
  async look(vfs: WorkInProgressVfs, subject: Subject): Promise<ApprovalState> {
    const entries = (await readEntries(vfs)).filter(it => isAbout(it, subject))
    if (entries.length === 0) return { state: 'new' }
    const key = await this.#readKey()
    if (!key) return { state: 'new' }
    const mine = signedBy(key, entries)
    const { sha256 } = signedOf(vfs.objects.repository.format, subject)
    if (mine.some(entry => entry.sha256 === sha256)) return { state: 'approved' }
    const [last] = mine
    return last ? { state: 'changed', before: last.blob } : { state: 'new' }
  }

  /**
   * Writes an approval into the work in progress: for what the person has seen, which is the content of `subject`. It
   * takes the place of an earlier one of the same name.
   */
  async approve(vfs: WorkInProgressVfs, subject: Subject): Promise<void> {
    const mine = await this.sign(subject, vfs.objects.repository.format)
    const others = (await readEntries(vfs)).filter(it => !isAbout(it, subject) || it.key !== mine.key)
    const approvals: Entry[] = [...others, mine]
    const text = `${JSON.stringify({ version: 1, approvals }, undefined, 2)}\n`
    await vfs.writeFile(APPROVALS, Buffer.from(text))
  }

  /** An approval of what the person has seen, to be kept wherever its reader finds it ({@link isSigned}). */
  async sign(subject: Subject, format: Format): Promise<SignedApproval> {
    const key = (await this.#readKey()) ?? (await this.#makeKey())
    const signed = signedOf(format, subject)
    return { ...signed, key: idOf(key), signature: sign(null, bytesOf(signed), key).toString('base64') }
  }

  /** Whether one of these is this user's, and of this very content. Without a key, nothing is approved. */
  async isSigned(subject: Subject, format: Format, approvals: readonly SignedApproval[]): Promise<boolean> {
    const about = approvals.filter(it => isAbout(it, subject))
    if (about.length === 0) return false
    const key = await this.#readKey()
    const { sha256 } = signedOf(format, subject)
    return key !== undefined && signedBy(key, about).some(entry => entry.sha256 === sha256)
  }

  /** The name of this user's key, as its approvals bear it; undefined where there is none. */
  async keyName(): Promise<string | undefined> {
    const key = await this.#readKey()
    return key && idOf(key)
  }

  async #readKey(): Promise<KeyObject | undefined> {
    const pem = await this.#readKeyFile()
    if (pem === undefined) return undefined
    try {
      const key = createPrivateKey(pem)
      if (key.asymmetricKeyType === 'ed25519') return key
    } catch {
      // The sentence is the same, and says nothing of what is in the file.
    }
    throw new Failure(`${this.#words} is no key for approvals: move it away, and what you approved is asked again.`)
  }

  async #readKeyFile(): Promise<string | undefined> {
    const file = await open(this.#path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw new Failure(`${this.#words} can't be read (${error.code}): check its owner, or move it away.`)
    })
    if (!file) return undefined
    try {
      const { mode, uid } = await file.stat()
      // Every user who can read the key can approve anything.
      if (mode & 0o077 || (process.getuid && uid !== process.getuid()))
        throw new Failure(`${this.#words} can be read by others: move it away, and what you approved is asked again.`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  }

  /** Another process may make it at the same time: the first one's is everybody's. */
  async #makeKey(): Promise<KeyObject> {
    const { privateKey } = generateKeyPairSync('ed25519')
    const draft = `${this.#path}.${randomUUID()}`
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await writeFile(draft, privateKey.export({ type: 'pkcs8', format: 'pem' }), {
        mode: 0o600,
        flag: 'wx',
        flush: true,
      })
      await chmod(draft, 0o600)
      await link(draft, this.#path)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EEXIST') throw new Failure(`${this.#words} can't be written (${code}): check its folder.`)
    } finally {
      await rm(draft, { force: true })
    }
    return (await this.#readKey()) ?? privateKey
  }

  get #words(): string {
    return visible(this.#path)
  }
}

async function readEntries(vfs: WorkInProgressVfs): Promise<Entry[]> {
  if (!(await vfs.fileExists(APPROVALS))) return []
  const bytes = await vfs.readFile(APPROVALS)
  if (bytes.length > MAX_APPROVALS_BYTES) return []
  try {
    const parsed = v.safeParse(File, JSON.parse(bytes.toString()))
    return parsed.success ? parsed.output.approvals : []
  } catch {
    // An unreadable file approves nothing. It stays in the history when the next approval is written.
    return []
  }
}

const isAbout = (entry: Signed, { kind, scope, name }: Subject): boolean =>
  entry.kind === kind && entry.scope === scope && entry.name === name

function signedOf(format: Format, { kind, scope, name, content }: Subject): Signed {
  const blob = oidOf(format, { type: 'blob', bytes: content })
  return { kind, scope, name, blob, sha256: createHash('sha256').update(content).digest('hex') }
}

/** What is signed: fields in this order, none of which can run into the next. */
const bytesOf = ({ kind, scope, name, blob, sha256 }: Signed): Buffer =>
  Buffer.from(JSON.stringify(['forge approval 1', kind, scope, name, blob, sha256]))

const idOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(createPublicKey(key).export({ type: 'spki', format: 'der' }))
    .digest('hex')

/** A stranger may have put in any number that claim to be this user's: few are looked at, and there is one at most. */
function signedBy(key: KeyObject, entries: Entry[]): Entry[] {
  const id = idOf(key)
  const open = createPublicKey(key)
  const claimed = entries.filter(entry => entry.key === id).slice(0, 8)
  return claimed.filter(entry => verify(null, bytesOf(entry), open, Buffer.from(entry.signature, 'base64')))
}
