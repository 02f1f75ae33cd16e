/** A save's commit: its message, author and signature. */
import { Failure } from '../../../core/failure.ts'
import { isFull } from '../../../core/full-disk.ts'
import { bytesOf, commit, readIdentity, wantsSigning } from '../../../core/git/commits.ts'
import { type NewObject, oidOf, openObjects, writeObjects } from '../../../core/git/objects.ts'
import { fields, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import type { NewTree } from '../../../core/git/trees.ts'
import { DISK_IS_FULL, whyGitFailed } from '../../../core/git/troubles.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { isNotFetched, NOT_FETCHED } from '../not-fetched.ts'
import { isInTheWay } from './moving-refs.ts'

/** The change of one file in a save, or the rename of a file or folder with the number of its `files`. */
export type SaveStep =
  | { path: Path; does: 'edit' | 'add' | 'delete' }
  | { path: Path; does: 'rename'; from: Path; files: number }

const countFiles = (steps: readonly SaveStep[]): string =>
  many(
    steps.reduce((sum, step) => sum + (step.does === 'rename' ? step.files : 1), 0),
    'file',
  )

/** At most this many files of a kind are named. */
const MAX_NAMED_FILES = 3
/** The maximum length of a subject, in characters, that git's tools do not cut. */
const MAX_SUBJECT_CHARS = 72

/**
 * `edit: a.ts`, `rename: a.ts → b.ts`, `edit: a.ts, b.ts; add: c.ts`, `rename: a → b; edit: 3 files`, or
 * `edit: 7 files; delete: 2 files` if the names are too long.
 */
export function messageFor(steps: readonly SaveStep[]): string {
  const groups = [...Map.groupBy(steps, ({ does }) => does)]
  const words = (named: number) =>
    groups.map(([does, all], at) => (at < named ? namedWords(does, all) : countedWords(does, all))).join('; ')
  if (steps.length === 1) return words(1)
  // Renames come first and keep their names longest: other files were usually edited because of them.
  for (let named = groups.length; named > 0; named--) {
    const subject = words(named)
    if (subject.length <= MAX_SUBJECT_CHARS) return subject
  }
  return words(0)
}

function namedWords(does: SaveStep['does'], steps: readonly SaveStep[]): string {
  return steps.length <= MAX_NAMED_FILES ? `${does}: ${steps.map(nameOf).join(', ')}` : countedWords(does, steps)
}

const countedWords = (does: SaveStep['does'], steps: readonly SaveStep[]): string => `${does}: ${countFiles(steps)}`

const nameOf = (step: SaveStep): string =>
  step.does === 'rename' ? `${visiblePath(step.from)} → ${visiblePath(step.path)}` : visiblePath(step.path)

/** Author and committer with the current time, and whether commits are signed. */
export type CommitSignature = { author: Buffer; committer: Buffer; sign: boolean }

/**
 * Reads author, committer and whether to sign from git's configuration. Throws a {@link Failure} that says what to set
 * if there is no name or email.
 */
export async function readSignature(repository: Repository): Promise<CommitSignature> {
  const [author, settings] = await Promise.all([readIdentity(repository, 'AUTHOR'), readSettings(repository)])
  const committer = settings.hasTwoNames ? await readIdentity(repository, 'COMMITTER') : author
  return { author, committer, sign: settings.sign ?? (await wantsSigning(repository)) }
}

/**
 * Reads the settings for commits with one git process: whether author and committer may differ, and whether to sign;
 * `sign` is undefined if only git can parse its value.
 */
async function readSettings(repository: Repository): Promise<{ hasTwoNames: boolean; sign: boolean | undefined }> {
  const keys = '^((author|committer)\\..*|commit\\.gpgsign)$'
  const { stdout } = await run(repository, ['config', '-z', '--get-regexp', keys], { ok: [0, 1] })
  const settings = fields(stdout).map(field => field.split(/\n(.*)/s))
  const signing = settings.filter(([key]) => key === 'commit.gpgsign').at(-1)
  const hasTwoNames = settings.some(([key]) => key !== 'commit.gpgsign')
  return { hasTwoNames, sign: signing ? WORDS.get(signing[1] ?? 'true') : false }
}

/** The common spellings of booleans in git; there are others. */
const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/**
 * Makes a commit of a tree that may not be written yet: its id and the objects to write. A signed commit is written at
 * once, since git makes it.
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

/** Why the repository could not be written, as part of a sentence. */
export async function whyNotWritten(repository: Repository, error: unknown): Promise<string> {
  if (error instanceof Failure) return error.message.replace(/\.$/, '')
  if (isNotFetched(error)) return NOT_FETCHED.replace(/\.$/, '')
  if (isInTheWay(error)) return 'git can’t keep two refs of which one’s name is a folder of the other’s'
  if (await isFull(repository.objects).catch(() => false)) return DISK_IS_FULL
  const why = whyGitFailed(error)
  if (why !== undefined) return why
  return visible(error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
}
