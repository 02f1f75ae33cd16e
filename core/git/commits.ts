/** Commits: read, made, and how they descend from each other. */
import { isUtf8 } from 'node:buffer'
import { Failure } from '../failure.ts'
import { type NewObject, type Objects, writeObjects } from './objects.ts'
import { isOid, type Oid, type Path, type Repository } from './repository.ts'
import { GitError, holds, read, run, type Where } from './run.ts'
import { makeTree, type TreeChange } from './trees.ts'

/** The author or committer of a commit, and the time. */
export type CommitIdentity = {
  name: string
  email: string
  /** Seconds since 1970, and the zone that they are told in, like +0100; where they are not given, it is now. */
  date?: { seconds: number; zone: string }
  /** Name and email as bytes, where their text is not all that they are: these count when a commit is made. */
  bytes?: Buffer
}
export type Commit = {
  tree: Oid
  parents: Oid[]
  author: CommitIdentity
  committer: CommitIdentity
  /** The name of the message's character set; undefined is UTF-8. */
  encoding: string | undefined
  isSigned: boolean
  /** As it is in the commit: see {@link textOf}. */
  message: Buffer
}

/**
 * Reads the bytes of a commit object. What is no commit gives empty fields; text that is not in the character set that
 * it claims is read as latin1.
 */
export function parseCommit(bytes: Buffer): Commit {
  const blank = bytes.indexOf('\n\n')
  const head = bytes.toString('latin1', 0, blank < 0 ? bytes.length : blank)
  // A header may go on over lines that begin with a space: signatures and merged tags do.
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

/** A commit's bytes as text, by the character set that it names; latin1, where they are not in that. */
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
  /** Text becomes UTF-8, bytes stay as they are; a line end at the end is not added. */
  message: string | Uint8Array
  /** The character set of a message of bytes that is no UTF-8. */
  encoding?: string | undefined
  /** The user's own identity, by git's rules, where they are not given; without a date it is now. */
  author?: CommitIdentity
  committer?: CommitIdentity
  /**
   * Sign it, by git and the key that the user has configured. Then the message gets a line end, and has to be UTF-8.
   */
  sign?: boolean
}

/**
 * Makes a commit without moving any ref. Throws a {@link Failure} where an identity is wanted and git knows none, or
 * where signing fails, and an error where the tree or a parent is not there.
 */
export async function commit(objects: Objects, wanted: CommitFields): Promise<Oid> {
  await verifyIsThere(objects, 'tree', [wanted.tree])
  return await writeCommit(objects, wanted, [])
}

/**
 * Makes a commit of another tree and some changes (see {@link makeTree}; `base` is mostly the parent), all written by
 * one git.
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
  // What it stands on is written before it.
  return (await writeObjects(repository, [...made, { type: 'commit', bytes }])).at(-1) ?? ''
}

async function verifyIsThere(objects: Objects, type: 'tree' | 'commit', oids: readonly Oid[]): Promise<void> {
  const odd = oids.find(oid => !isOid(objects.repository.format, oid))
  if (odd !== undefined) throw new Error(`${JSON.stringify(odd)} is no full object id`)
  const infos = await Promise.all(oids.map(oid => objects.info(oid)))
  const missing = oids.find((_, at) => infos[at]?.type !== type)
  if (missing !== undefined) throw new Error(`There is no ${type} ${missing}`)
}

/** The bytes of a commit object, from the lines that name its author and committer. */
export function bytesOf(
  { tree, parents, message, encoding }: Pick<CommitFields, 'tree' | 'parents' | 'message' | 'encoding'>,
  author: Buffer,
  committer: Buffer,
): Buffer {
  const words = Buffer.from(message)
  if (words.includes(0)) throw new Error('A commit message has no NUL in it')
  if (encoding !== undefined && !/^[\w.:-]+$/.test(encoding)) throw new Error(`${encoding} is no character set`)
  // Without a name for them, git would take odd bytes for broken UTF-8.
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

/** Characters that end a name or an email in a commit. Spaces around them are trimmed. */
const ENDS = /[<>\n\0]/g
const whoIs = ({ name, email }: CommitIdentity): Buffer =>
  Buffer.from(`${name.replace(ENDS, '').trim()} <${email.replace(ENDS, '').trim()}>`)

/** A person as a commit has it: `Name <email> seconds zone`. */
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

const NO_IDENTITY = 'Git does not know whose name a commit bears: git config --global user.name and user.email.'

/**
 * The user's own line in a commit, as of now and by git's rules. Throws a {@link Failure} that says what to set where
 * git knows no name or email.
 */
export async function readIdentity(where: Where, who: 'AUTHOR' | 'COMMITTER'): Promise<Buffer> {
  const answer = await run(where, ['var', `GIT_${who}_IDENT`], { ok: [0, 128] })
  if (answer.code !== 0) throw new Failure(NO_IDENTITY)
  return answer.stdout.subarray(0, -1)
}

/** Whether the user wants commits signed: no plumbing looks at that by itself. */
export const wantsSigning = async (where: Where): Promise<boolean> =>
  (await read(where, ['config', '--type=bool', '--get', 'commit.gpgSign'], { ok: [0, 1] })) === 'true'

/** By `git commit-tree`, which knows how the user signs. */
async function signedCommit(repository: Repository, wanted: CommitFields): Promise<Oid> {
  const { tree, parents, message, author, committer } = wanted
  const input = Buffer.from(message)
  if (!isUtf8(input)) throw new Error('Git signs no message but UTF-8')
  const env = { ...variablesOf('AUTHOR', author), ...variablesOf('COMMITTER', committer) }
  const words = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', '-S', tree, '-F', '-']
  try {
    return await read(repository, [...words, ...parents.flatMap(parent => ['-p', parent])], { input, env })
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    if (/tell me who you are|empty ident|auto-detect/i.test(error.stderr)) throw new Failure(NO_IDENTITY)
    if (/sign|gpg|ssh|key/i.test(error.stderr))
      throw new Failure(`The commit could not be signed (${error.message}): check user.signingKey and gpg.`)
    throw error
  }
}

function variablesOf(who: string, person: CommitIdentity | undefined): Record<string, string> {
  if (!person) return {}
  if (person.bytes) throw new Error('Git signs for no name but one in UTF-8')
  const { name, email, date } = person
  const names = { [`GIT_${who}_NAME`]: name, [`GIT_${who}_EMAIL`]: email }
  return date ? { ...names, [`GIT_${who}_DATE`]: `@${date.seconds} ${date.zone}` } : names
}

/** Whether one commit is in the history of another; each is in its own. */
export const isAncestor = (where: Where, ancestor: Oid, of: Oid): Promise<boolean> =>
  holds(where, ['merge-base', '--is-ancestor', ancestor, of])

/** The best common ancestors of two commits: none where they share no history, several where histories crossed. */
export async function mergeBases(where: Where, one: Oid, other: Oid): Promise<Oid[]> {
  const { stdout } = await run(where, ['merge-base', '--all', one, other], { ok: [0, 1] })
  return stdout.toString().split('\n').filter(Boolean)
}

/** Those of some commits that no other one of them has in its history. */
export async function independentOf(where: Where, commits: readonly Oid[]): Promise<Oid[]> {
  if (commits.length < 2) return [...commits]
  return (await read(where, ['merge-base', '--independent', ...commits])).split('\n').filter(Boolean)
}

/**
 * How many of the commits that a tip has, and an older one has not (where there is one), are in a branch of a remote, as
 * it was fetched or pushed last.
 */
export async function countOnRemotes(where: Where, old: Oid | undefined, tip: Oid): Promise<number> {
  const count = async (...more: string[]) =>
    Number(await read(where, ['rev-list', '--count', tip, '--not', ...(old === undefined ? [] : [old]), ...more, '--']))
  const [all, ours] = await Promise.all([count(), count('--remotes')])
  return all - ours
}

/** The commits that one has and another lacks: all counted, and the newest named. */
export type CommitList = { count: number; newest: { oid: Oid; date: string; subject: string }[] }

/** The commits that `tip` has and `old` lacks; at most `named` of them with date (YYYY-MM-DD) and subject. */
export async function commitsBetween(where: Where, old: Oid, tip: Oid, named: number): Promise<CommitList> {
  const range = [tip, `^${old}`, '--']
  // Those of a day or a month are counted as they are named; years of them are not read.
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
