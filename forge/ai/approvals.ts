/**
 * What the user has approved to run: by content, never by name alone, so that changed content needs a new approval.
 * Approvals are stored in git, where anyone with push access can write. So each counts only with a signature by this
 * machine's key, or by one that the user trusts (`forge trust`), all kept outside any repository: entries that came
 * with a stranger's branch approve nothing.
 */
import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { oidOf } from '../../core/git/objects.ts'
import type { Format, Oid } from '../../core/git/repository.ts'
import type { WorkInProgressVfs } from '../vfs.ts'
import { type Purpose, SigningKeys } from './signing-keys.ts'

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
  /** The fingerprint of the key that signed this approval. Entries of other users' keys are kept. */
  key: v.pipe(v.string(), v.regex(/^SHA256:[\w+/]{43}$/)),
  signature: v.pipe(v.string(), v.base64(), v.maxLength(600)),
})
type Entry = v.InferOutput<typeof Entry>

/** An approval stored outside a tree. Its signature names its key, so it counts wherever it is found. */
export const SignedApproval = Entry
export type SignedApproval = Entry

type Signed = Omit<Entry, 'key' | 'signature'>

const File = v.object({ version: v.literal(1), approvals: v.pipe(v.array(Entry), v.maxLength(2000)) })

/** At most this many bytes of approvals; a larger file was not written by this program and is ignored. */
const MAX_APPROVALS_BYTES = 2 << 20

/** At most this many signatures about a subject that claim to be of one key are verified. */
const MAX_CLAIMS = 8

/** The keys that count: their fingerprints, this machine's first, and whether one of them has signed a subject. */
export type Counting = {
  names: string[]
  hasSigned: (subject: Subject, format: Format, approval: SignedApproval) => boolean
}

/** The purpose of the signature of a subject. */
const purposeOf = (kind: Subject['kind']): Purpose => (kind === 'verdict' ? 'result' : 'approval')

/** Looks up and writes approvals, with the keys in a folder outside any repository. */
export class Approvals {
  readonly #keys: SigningKeys

  /** @param folder The user's configuration folder of the forge. The key is created there when it is first needed. */
  constructor(folder: string) {
    this.#keys = new SigningKeys(folder)
  }

  /**
   * Tells whether a subject is approved. Without a key, nothing is. Throws a {@link Failure} where a key can't be
   * used.
   */
  async look(vfs: WorkInProgressVfs, subject: Subject): Promise<ApprovalState> {
    const entries = (await readEntries(vfs)).filter(it => isAbout(it, subject))
    if (entries.length === 0) return { state: 'new' }
    const counting = await this.#verified(entries, subject.kind)
    const { sha256 } = signedOf(vfs.objects.repository.format, subject)
    if (counting.some(entry => entry.sha256 === sha256)) return { state: 'approved' }
    const [last] = counting
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
    const signed = signedOf(format, subject)
    return { ...signed, ...(await this.#keys.sign(bytesOf(signed), purposeOf(subject.kind))) }
  }

  /** Tells whether one of `approvals` was signed for this very content, by a key that counts. */
  async isSigned(subject: Subject, format: Format, approvals: readonly SignedApproval[]): Promise<boolean> {
    const { sha256 } = signedOf(format, subject)
    const about = approvals.filter(it => isAbout(it, subject) && it.sha256 === sha256)
    return about.length > 0 && (await this.#verified(about, subject.kind)).length > 0
  }

  /** The keys that count for a kind of subject. */
  async counting(kind: Subject['kind']): Promise<Counting> {
    const keys = await this.#keys.counting(purposeOf(kind))
    const hasSigned = (subject: Subject, format: Format, approval: SignedApproval): boolean =>
      isAbout(approval, subject) &&
      approval.sha256 === signedOf(format, subject).sha256 &&
      keys.hasSigned(approval, bytesOf(approval))
    return { names: keys.names, hasSigned }
  }

  /** The fingerprint of this machine's key; undefined where there is no key yet. */
  async keyName(): Promise<string | undefined> {
    return await this.#keys.ownName()
  }

  async #verified(entries: readonly Entry[], kind: Subject['kind']): Promise<Entry[]> {
    const keys = await this.#keys.counting(purposeOf(kind))
    // A hostile file may have any number that claim to be signed by one key: at most one is needed.
    const claimed = [...Map.groupBy(entries, ({ key }) => key)].flatMap(([, of]) => of.slice(0, MAX_CLAIMS))
    return claimed.filter(entry => keys.hasSigned(entry, bytesOf(entry)))
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
