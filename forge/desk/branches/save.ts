/** A save: what its commit is called, and how it is made, with the user's name and signature. */
import { Failure } from '../../../core/failure.ts'
import { isFull } from '../../../core/full-disk.ts'
import { bytesOf, commit, readIdentity, wantsSigning } from '../../../core/git/commits.ts'
import { type NewObject, oidOf, openObjects, writeObjects } from '../../../core/git/objects.ts'
import { fields, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import type { NewTree } from '../../../core/git/trees.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { isNotFetched, NOT_FETCHED } from '../not-fetched.ts'

/** What a save does to one file. */
export type SaveStep = { path: Path; does: 'edit' | 'add' | 'delete' }

/** A subject that git's own tools don't cut. */
const SUBJECT = 72

/** `edit: a.ts`, `edit: a.ts, b.ts`, or `edit: 7 files` where their names are too long to be read. */
export function messageFor(steps: readonly SaveStep[]): string {
  const words = new Set(steps.map(({ does }) => does))
  const [word = 'edit'] = words.size === 1 ? words : ['edit']
  const named = `${word}: ${steps.map(({ path }) => visiblePath(path)).join(', ')}`
  if (steps.length === 1 || (steps.length <= 3 && named.length <= SUBJECT)) return named
  return `${word}: ${steps.length} files`
}

/** Whose name the commits of this moment bear, and whether they are signed. */
export type CommitSignature = { author: Buffer; committer: Buffer; sign: boolean }

/** Throws a {@link Failure} that says what to set where git knows no name or email. */
export async function readSignature(repository: Repository): Promise<CommitSignature> {
  const [author, settings] = await Promise.all([readIdentity(repository, 'AUTHOR'), readSettings(repository)])
  const committer = settings.hasTwoNames ? await readIdentity(repository, 'COMMITTER') : author
  return { author, committer, sign: settings.sign ?? (await wantsSigning(repository)) }
}

/**
 * What the configuration says of commits, by one git: whether author and committer may be two, and whether they are to
 * be signed; `sign` is undefined where the value is one that only git parses.
 */
async function readSettings(repository: Repository): Promise<{ hasTwoNames: boolean; sign: boolean | undefined }> {
  const keys = '^((author|committer)\\..*|commit\\.gpgsign)$'
  const { stdout } = await run(repository, ['config', '-z', '--get-regexp', keys], { ok: [0, 1] })
  const settings = fields(stdout).map(field => field.split(/\n(.*)/s))
  const signing = settings.filter(([key]) => key === 'commit.gpgsign').at(-1)
  const hasTwoNames = settings.some(([key]) => key !== 'commit.gpgsign')
  return { hasTwoNames, sign: signing ? WORDS.get(signing[1] ?? 'true') : false }
}

/** The usual words of git's for yes and no; there are others. */
const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/**
 * A commit of a tree that may not be written yet: its id, and what has to be written with it. A signed one is written
 * at once, since git itself makes it.
 */
export async function makeCommit(
  repository: Repository,
  { author, committer, sign }: CommitSignature,
  { tree, parents, message }: { tree: NewTree; parents: readonly Oid[]; message: string },
): Promise<{ oid: Oid; made: NewObject[] }> {
  if (message.includes('\0')) throw new Failure('A commit message can have no NUL character in it: take it out.')
  const words = `${message.trimEnd()}\n`
  if (sign) {
    await writeObjects(repository, tree.made)
    await using objects = openObjects(repository)
    return { oid: await commit(objects, { tree: tree.oid, parents, message: words, sign }), made: [] }
  }
  const bytes = bytesOf({ tree: tree.oid, parents, message: words }, author, committer)
  const object: NewObject = { type: 'commit', bytes }
  return { oid: oidOf(repository.format, object), made: [...tree.made, object] }
}

/** Why the repository could not be written, as a sentence's part; other errors are none of the disk's. */
export async function whyNotWritten(repository: Repository, error: unknown): Promise<string> {
  if (error instanceof Failure) return error.message.replace(/\.$/, '')
  if (isNotFetched(error)) return NOT_FETCHED.replace(/\.$/, '')
  if (await isFull(repository.objects).catch(() => false)) return 'the disk is full'
  return visible(error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
}
