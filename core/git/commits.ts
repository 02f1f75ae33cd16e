/** Reads and makes commits, and answers which commit descends from which. */
import { isUtf8 } from 'node:buffer'
import { Failure } from '../failure.ts'
import { type NewObject, type Objects, writeObjects } from './objects.ts'
import type { RefName } from './refs.ts'
import { asText, isOid, type Oid, type Path, type Repository } from './repository.ts'
import { GitError, holds, read, run, type Where } from './run.ts'
import { makeTree, type TreeChange } from './trees.ts'

/** The author or committer of a commit, and the time. */
export type CommitIdentity = {
  name: string
  email: string
  /** Seconds since 1970 and a time zone like +0100; undefined: now. */
  date?: { seconds: number; zone: string }
  /** `Name <email>` as bytes, where it is not UTF-8. When a commit is made, the bytes are used. */
  bytes?: Buffer
}
export type Commit = {
  tree: Oid
  parents: Oid[]
  author: CommitIdentity
  committer: CommitIdentity
  /** The character set of the message; undefined: UTF-8. */
  encoding: string | undefined
  isSigned: boolean
  /** The bytes of the message: see {@link textOf}. */
  message: Buffer
}

/**
 * Parses the bytes of a commit object. Other bytes give empty fields; text that is invalid in its declared character
 * set is read as latin1.
 */
export function parseCommit(bytes: Buffer): Commit {
  const blank = bytes.indexOf('\n\n')
  const head = bytes.toString('latin1', 0, blank < 0 ? bytes.length : blank)
  // A header continues in lines that begin with a space, as signatures and merged tags do.
  const headers = head.split(/\n(?! )/).map(line => line.split(/ (.*)/s) as [string, string?])
  const all = (name: string) => headers.flatMap(([key, value = '']) => (key === name ? [value] : []))
  const [encoding] = all('encoding')
  const person = (name: string) => parsePerson(all(name)[0] ?? '', encoding)
  return {
    tree: all('tree')[0] ?? '',
    parents: all('parent'),
    author: person('author'),
    committer: person('committer'),
    encoding,
    isSigned: headers.some(([key]) => key === 'gpgsig' || key === 'gpgsig-sha256'),
    message: blank < 0 ? Buffer.alloc(0) : bytes.subarray(blank + 2),
  }
}

function parsePerson(line: string, encoding: string | undefined): CommitIdentity {
  const [, who = line, seconds = '0', zone = '+0000'] = /^(.*>) ?(-?\d+) ?([+-]\d+)?$/s.exec(line) ?? []
  const [, name = who, email = ''] = /^(.*?) ?<(.*)>$/s.exec(who) ?? []
  const bytes = Buffer.from(who, 'latin1')
  const [nameText, emailText] = [name, email].map(it => textOf(Buffer.from(it, 'latin1'), encoding))
  const person = { name: nameText ?? '', email: emailText ?? '', date: { seconds: Number(seconds), zone } }
  return bytes.equals(whoIs(person)) ? person : { ...person, bytes }
}

/** Decodes a commit's bytes by the character set that the commit declares; as latin1 where they are invalid in it. */
export function textOf(bytes: Uint8Array, encoding: string | undefined): string {
  try {
    return new TextDecoder((encoding ?? 'utf-8') as 'utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return Buffer.from(bytes).toString('latin1')
  }
}

export type CommitFields = {
  tree: Oid
  parents: readonly Oid[]
  /** Text is written as UTF-8, bytes as they are. No line end is appended. */
  message: string | Uint8Array
  /** The character set of a message given as bytes that are not UTF-8. */
  encoding?: string | undefined
  /** Undefined: the user's own identity, by git's rules. Without a date: now. */
  author?: CommitIdentity
  committer?: CommitIdentity
  /**
   * Signs the commit with the key that the user has configured for git. A line end is appended to the message, which
   * must be UTF-8.
   */
  sign?: boolean
}

/**
 * Makes a commit without moving any ref. Throws a {@link Failure} where the user has no identity in git, or where
 * signing fails, and an error where the tree or a parent does not exist.
 */
export async function commit(objects: Objects, wanted: CommitFields): Promise<Oid> {
  await verifyIsThere(objects, 'tree', [wanted.tree])
  return await writeCommit(objects, wanted, [])
}

/**
 * Makes a commit whose tree is `base` (mostly the parent) with some changes (see {@link makeTree}). One git process
 * writes all objects.
 */
export async function commitChanges(
  objects: Objects,
  {
    base,
    changes,
    ...wanted
  }: Omit<CommitFields, 'tree'> & { base: Oid | undefined; changes: ReadonlyMap<Path, TreeChange> },
): Promise<Oid> {
  const { oid: tree, made } = await makeTree(objects, base, changes)
  return await writeCommit(objects, { ...wanted, tree }, made)
}

async function writeCommit(objects: Objects, wanted: CommitFields, made: readonly NewObject[]): Promise<Oid> {
  const { repository } = objects
  const [author, committer] = await Promise.all([
    wanted.author ? identityLine(wanted.author) : readIdentity(repository, 'AUTHOR'),
    wanted.committer ? identityLine(wanted.committer) : readIdentity(repository, 'COMMITTER'),
    verifyIsThere(objects, 'commit', wanted.parents),
  ])
  if (wanted.sign) {
    await writeObjects(repository, made)
    return await signedCommit(repository, wanted)
  }
  const bytes = bytesOf(wanted, author, committer)
  // Objects are written before the commit that refers to them.
  return (await writeObjects(repository, [...made, { type: 'commit', bytes }])).at(-1) ?? ''
}

async function verifyIsThere(objects: Objects, type: 'tree' | 'commit', oids: readonly Oid[]): Promise<void> {
  const odd = oids.find(oid => !isOid(objects.repository.format, oid))
  if (odd !== undefined) throw new Error(`${JSON.stringify(odd)} is no full object id`)
  const infos = await Promise.all(oids.map(oid => objects.info(oid)))
  const missing = oids.find((_, at) => infos[at]?.type !== type)
  if (missing !== undefined) throw new Error(`There is no ${type} ${missing}`)
}

/** The bytes of a commit object with these fields; `author` and `committer` are whole lines. */
export function bytesOf(
  { tree, parents, message, encoding }: Pick<CommitFields, 'tree' | 'parents' | 'message' | 'encoding'>,
  author: Buffer,
  committer: Buffer,
): Buffer {
  const words = Buffer.from(message)
  if (words.includes(0)) throw new Error('A commit message has no NUL in it')
  if (encoding !== undefined && !/^[\w.:-]+$/.test(encoding)) throw new Error(`${encoding} is no character set`)
  // Without a declared character set, git would take bytes that are not UTF-8 for broken UTF-8.
  const charset = isUtf8(words) ? encoding : (encoding ?? 'ISO-8859-1')
  const parts = [
    `tree ${tree}\n`,
    ...parents.map(parent => `parent ${parent}\n`),
    ...['author ', author, '\ncommitter ', committer, '\n'],
    charset === undefined ? '' : `encoding ${charset}\n`,
    '\n',
    words,
  ]
  return Buffer.concat(parts.map(part => Buffer.from(part as string)))
}

/** Characters that end a name or an email in a commit. Surrounding spaces are trimmed. */
const ENDS = /[<>\n\0]/g
const whoIs = ({ name, email }: CommitIdentity): Buffer =>
  Buffer.from(`${name.replace(ENDS, '').trim()} <${email.replace(ENDS, '').trim()}>`)

/** An author or committer line as it stands in a commit: `Name <email> seconds zone`. */
export function identityLine(person: CommitIdentity): Buffer {
  const { bytes, date = now() } = person
  if (!/^[+-]\d{4}$/.test(date.zone) || !Number.isSafeInteger(date.seconds))
    throw new Error(`${date.seconds} ${date.zone} is no date of git's`)
  const who = bytes ?? whoIs(person)
  if (!/^[^\n\0<>]*<[^\n\0<>]*>$/.test(who.toString('latin1'))) throw new Error('A name or email has odd bytes')
  return Buffer.concat([who, Buffer.from(` ${date.seconds} ${date.zone}`)])
}

function now(): { seconds: number; zone: string } {
  const date = new Date()
  const minutes = -date.getTimezoneOffset()
  const size = Math.abs(minutes)
  const digits = String(Math.floor(size / 60) * 100 + (size % 60)).padStart(4, '0')
  return { seconds: Math.floor(date.getTime() / 1000), zone: `${minutes < 0 ? '-' : '+'}${digits}` }
}

const NO_IDENTITY = 'Git does not know whose name a commit or tag bears: git config --global user.name and user.email.'

/**
 * The user's own author or committer line, for now, by git's rules. Throws a {@link Failure} that says what to set
 * where git knows no name or email.
 */
export async function readIdentity(where: Where, who: 'AUTHOR' | 'COMMITTER'): Promise<Buffer> {
  const answer = await run(where, ['var', `GIT_${who}_IDENT`], { ok: [0, 128] })
  if (answer.code !== 0) throw new Failure(NO_IDENTITY)
  return answer.stdout.subarray(0, -1)
}

/** Whether the user has set commit.gpgSign, which git's plumbing ignores. */
export const wantsSigning = async (where: Where): Promise<boolean> =>
  (await read(where, ['config', '--type=bool', '--get', 'commit.gpgSign'], { ok: [0, 1] })) === 'true'

/** Makes a signed commit by `git commit-tree`, which uses the user's signing configuration. */
async function signedCommit(repository: Repository, wanted: CommitFields): Promise<Oid> {
  const { tree, parents, message, author, committer } = wanted
  const input = Buffer.from(message)
  if (!isUtf8(input)) throw new Error('Git signs no message but UTF-8')
  const env = { ...variablesOf('AUTHOR', author), ...variablesOf('COMMITTER', committer) }
  const words = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', '-S', tree, '-F', '-']
  try {
    return await read(repository, [...words, ...parents.flatMap(parent => ['-p', parent])], { input, env })
  } catch (error) {
    throw whyNotSigned(error, 'commit')
  }
}

/** Why git could not sign, or has no identity, as a {@link Failure}. Other errors are returned as they are. */
export function whyNotSigned(error: unknown, what: 'commit' | 'tag'): unknown {
  if (!(error instanceof GitError)) return error
  if (/tell me who you are|empty ident|auto-detect/i.test(error.stderr)) return new Failure(NO_IDENTITY)
  if (!/sign|gpg|ssh|key/i.test(error.stderr)) return error
  return new Failure(`The ${what} could not be signed (${error.message}): check user.signingKey and gpg.`)
}

function variablesOf(who: string, person: CommitIdentity | undefined): Record<string, string> {
  if (!person) return {}
  if (person.bytes) throw new Error('Git signs for no name but one in UTF-8')
  const { name, email, date } = person
  const names = { [`GIT_${who}_NAME`]: name, [`GIT_${who}_EMAIL`]: email }
  return date ? { ...names, [`GIT_${who}_DATE`]: `@${date.seconds} ${date.zone}` } : names
}

/** Whether a commit is in the history of another one. A commit is in its own history. */
export const isAncestor = (where: Where, ancestor: Oid, of: Oid): Promise<boolean> =>
  holds(where, ['merge-base', '--is-ancestor', ancestor, of])

/**
 * Those of some commits that are in the history of none of some refs, which are commits or options of rev-list
 * (`--branches`, `--glob=…`). One process for all of them.
 */
export async function outsideOf(where: Where, commits: readonly Oid[], refs: readonly string[]): Promise<Set<Oid>> {
  if (commits.length === 0) return new Set()
  const input = commits.map(oid => `${oid}\n`).join('')
  const outside = new Set((await read(where, ['rev-list', '--stdin', '--not', ...refs], { input })).split('\n'))
  return new Set(commits.filter(oid => outside.has(oid)))
}

/** The best common ancestors of two commits: none for unrelated histories, several for criss-cross merges. */
export async function mergeBases(where: Where, one: Oid, other: Oid): Promise<Oid[]> {
  const { stdout } = await run(where, ['merge-base', '--all', one, other], { ok: [0, 1] })
  return stdout.toString().split('\n').filter(Boolean)
}

/** Those of some commits that are not in the history of another of them. */
export async function independentOf(where: Where, commits: readonly Oid[]): Promise<Oid[]> {
  if (commits.length < 2) return [...commits]
  return (await read(where, ['merge-base', '--independent', ...commits])).split('\n').filter(Boolean)
}

/**
 * How many of some commits are on remotes. `anywhere`: those in any remote-tracking branch. `pushed`: those in a remote
 * branch that a push of their branch would update.
 */
export type RemoteCounts = { anywhere: number; pushed: number }

/**
 * Counts the commits that `tip` has and none of `olds` has, and that are on a remote. `head`: the ref of their branch.
 */
export async function countOnRemotes(
  where: Where,
  head: RefName,
  olds: readonly Oid[],
  tip: Oid,
): Promise<RemoteCounts> {
  const count = async (...more: string[]) =>
    Number(await read(where, ['rev-list', '--count', tip, '--not', ...olds, ...more, '--']))
  const [all, missing] = await Promise.all([count(), count('--remotes')])
  if (all === missing) return { anywhere: 0, pushed: 0 }
  const own = (await trackingRefs(where, head)).map(({ oid }) => oid)
  return { anywhere: all - missing, pushed: own.length === 0 ? 0 : all - (await count(...own)) }
}

/**
 * Whether a push brought a commit to a remote branch that a push of its branch updates, and it is still there. A commit
 * that came from there by a fetch was not pushed. Without a reflog, each commit that is there counts as pushed.
 */
export async function isPushed(where: Where, head: RefName, commit: Oid): Promise<boolean> {
  for (const { ref, oid } of await trackingRefs(where, head))
    if ((await isAncestor(where, commit, oid)) && (await isByPush(where, ref, commit))) return true
  return false
}

/** At most this many entries of a reflog are looked at. */
const MAX_REFLOG_ENTRIES = 100

/** Whether the entry of the reflog since which a tracking ref has a commit is a push. */
async function isByPush(where: Where, ref: RefName, commit: Oid): Promise<boolean> {
  const args = ['log', '--walk-reflogs', `--max-count=${MAX_REFLOG_ENTRIES}`, '--format=%H %gs', asText(ref), '--']
  let isPush = true
  for (const entry of (await read(where, args)).split('\n').filter(Boolean)) {
    const [oid = '', words] = entry.split(/ (.*)/s)
    if (!(await isAncestor(where, commit, oid))) break
    isPush = words === 'update by push'
  }
  return isPush
}

/** A branch's upstream and the branches of that name on all remotes, as fetched last. */
async function trackingRefs(where: Where, head: RefName): Promise<{ ref: RefName; oid: Oid }[]> {
  const format = '--format=%(refname)%00%(objectname)%00%(upstream)'
  const { stdout } = await run(where, ['for-each-ref', format, 'refs/heads', 'refs/remotes'])
  const lines = stdout.toString('latin1').trimEnd().split('\n')
  const refs = lines.map(line => line.split('\0'))
  const upstream = refs.find(([ref]) => ref === head)?.[2]
  const name = head.slice('refs/heads/'.length)
  const isOwn = (ref: string) => ref === upstream || /^refs\/remotes\/[^/]+\/(.*)$/s.exec(ref)?.[1] === name
  return refs.flatMap(([ref = '', oid = '']) => (oid !== '' && isOwn(ref) ? [{ ref, oid }] : []))
}

/** How many commits one commit has and another lacks, and the newest of them. */
export type CommitList = { count: number; newest: { oid: Oid; date: string; subject: string }[] }

/**
 * The commits that `tip` has and `old` lacks: their number, and the newest `named` ones with date (YYYY-MM-DD) and
 * subject.
 */
export async function commitsBetween(where: Where, old: Oid, tip: Oid, named: number): Promise<CommitList> {
  const range = [tip, `^${old}`, '--']
  // The listing is read up to this size; only longer histories need a second git to count them.
  const limit = 1024 * Math.max(named, 256)
  const log = await run(where, ['log', '--format=%H %as %<(200,trunc)%s', ...range], { limit })
  const lines = log.stdout.toString().split('\n').slice(0, -1)
  const count = log.cut ? Number(await read(where, ['rev-list', '--count', ...range])) : lines.length
  const newest = lines.slice(0, named).map(line => {
    const [oid = '', date = '', ...subject] = line.trimEnd().split(' ')
    return { oid, date, subject: subject.join(' ') }
  })
  return { count, newest }
}
