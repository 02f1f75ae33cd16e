/**
 * What the user has approved to run: by content, never by name alone, so that changed content needs a new approval.
 * Approvals are stored in the branch's tree, where anyone with push access can write. So each counts only with a
 * signature by this user's key, which is kept outside any repository: entries that came with a stranger's branch
 * approve nothing.
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

/** The path of the approvals in a tree. */
export const APPROVALS = '.forge/approved_tools.json'

/** What can be approved. A verdict is the result of a check; only the program that ran the check signs it. */
export type Subject = {
  /** Part of the signature, so that an approved tool can't be run as a command. */
  kind: 'tool' | 'command' | 'verdict'
  /**
   * An approval counts only within the scope it was given for. A tool's is empty (''): an approval in one repository
   * counts in another that has the same file with the same content. The user has read that very code, and it can reach
   * nothing but its branch, where the built-in tools write without approval anyway. Binding the approval to the
   * repository would protect nothing: its first commit as an id is the same in every fork, where an attacker would copy
   * the approval to; and an id of the clone would only make the user approve again in each clone. A command's effect
   * depends on the files beside it, so its scope is the repository, by an id that is stored outside of it. A verdict
   * names commits, which are the same in every clone, so its scope is empty.
   */
  scope: string
  /**
   * The path of a tool's file, or the name of a command. The same content under another name needs another approval.
   */
  name: string
  content: Uint8Array
}

/** Whether a subject is approved. `changed`: the same name was approved with other content, the blob `before`. */
export type ApprovalState = { state: 'approved' } | { state: 'new' } | { state: 'changed'; before: Oid }

const Entry = v.object({
  kind: v.picklist(['tool', 'command', 'verdict']),
  scope: v.pipe(v.string(), v.maxLength(200)),
  name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096)),
  blob: v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  /** The hash of the public key that signed this approval. Entries of other users' keys are kept. */
  key: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  signature: v.pipe(v.string(), v.base64(), v.maxLength(100)),
})
type Entry = v.InferOutput<typeof Entry>

/** An approval stored outside a tree. Its signature names its key, so it counts wherever it is found. */
export const SignedApproval = Entry
export type SignedApproval = Entry

type Signed = Omit<Entry, 'key' | 'signature'>

const File = v.object({ version: v.literal(1), approvals: v.pipe(v.array(Entry), v.maxLength(2000)) })

/** At most this many bytes of approvals; a larger file was not written by this program and is ignored. */
const MAX_APPROVALS_BYTES = 2 << 20

/** Looks up and writes approvals, with a signing key in a folder outside any repository. */
export class Approvals {
  readonly #path: string
  readonly #folder: string

  /** @param folder The user's configuration folder of the forge. The key is created there when it is first needed. */
  constructor(folder: string) {
    this.#folder = folder
    this.#path = join(folder, 'approvals.key')
  }

  /**
   * Tells whether a subject is approved. Without a key, nothing is. Throws a {@link Failure} where the key can't be
   * used.
   */
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
   * Writes an approval of `subject`, whose content the user has seen, into the work in progress. It replaces an earlier
   * approval of the same name.
   */
  async approve(vfs: WorkInProgressVfs, subject: Subject): Promise<void> {
    const mine = await this.sign(subject, vfs.objects.repository.format)
    const others = (await readEntries(vfs)).filter(it => !isAbout(it, subject) || it.key !== mine.key)
    const approvals: Entry[] = [...others, mine]
    const text = `${JSON.stringify({ version: 1, approvals }, undefined, 2)}\n`
    await vfs.writeFile(APPROVALS, Buffer.from(text))
  }

  /** Signs an approval of what the user has seen. The caller stores it; {@link isSigned} checks it. */
  async sign(subject: Subject, format: Format): Promise<SignedApproval> {
    const key = (await this.#readKey()) ?? (await this.#makeKey())
    const signed = signedOf(format, subject)
    return { ...signed, key: idOf(key), signature: sign(null, bytesOf(signed), key).toString('base64') }
  }

  /** Tells whether one of `approvals` was signed by this user for this very content. Without a key, none was. */
  async isSigned(subject: Subject, format: Format, approvals: readonly SignedApproval[]): Promise<boolean> {
    const about = approvals.filter(it => isAbout(it, subject))
    if (about.length === 0) return false
    const key = await this.#readKey()
    const { sha256 } = signedOf(format, subject)
    return key !== undefined && signedBy(key, about).some(entry => entry.sha256 === sha256)
  }

  /** The hash of this user's public key, as approvals name it; undefined where there is no key yet. */
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
      // Fall through: the message below says what to do, and must quote nothing of the file.
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
      // Whoever can read the key can approve anything in this user's name.
      if (mode & 0o077 || (process.getuid && uid !== process.getuid()))
        throw new Failure(`${this.#words} can be read by others: move it away, and what you approved is asked again.`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  }

  /** Creates the key. Another process may do so at the same time: then the first one's is used. */
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
    // An unreadable file approves nothing. The next approval overwrites it; the old content stays in the history.
    return []
  }
}

const isAbout = (entry: Signed, { kind, scope, name }: Subject): boolean =>
  entry.kind === kind && entry.scope === scope && entry.name === name

function signedOf(format: Format, { kind, scope, name, content }: Subject): Signed {
  const blob = oidOf(format, { type: 'blob', bytes: content })
  return { kind, scope, name, blob, sha256: createHash('sha256').update(content).digest('hex') }
}

/** The bytes that are signed: the fields in this order, encoded so that none can run into the next. */
const bytesOf = ({ kind, scope, name, blob, sha256 }: Signed): Buffer =>
  Buffer.from(JSON.stringify(['forge approval 1', kind, scope, name, blob, sha256]))

const idOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(createPublicKey(key).export({ type: 'spki', format: 'der' }))
    .digest('hex')

/**
 * Entries that this key signed. A hostile file may have any number that claim to be signed by it: only a few are
 * verified, and at most one is needed.
 */
function signedBy(key: KeyObject, entries: Entry[]): Entry[] {
  const id = idOf(key)
  const open = createPublicKey(key)
  const claimed = entries.filter(entry => entry.key === id).slice(0, 8)
  return claimed.filter(entry => verify(null, bytesOf(entry), open, Buffer.from(entry.signature, 'base64')))
}
