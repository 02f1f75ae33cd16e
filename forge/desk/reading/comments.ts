/**
 * Comments on the lines of a review. They are notes on the commits at which they were made (`refs/notes/forge-review`),
 * one line of JSON each, so that no branch gets a commit by them and `git log --notes=forge-review` shows them.
 */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { readIdentity } from '../../../core/git/commits.ts'
import { readNotes, writeNote } from '../../../core/git/notes.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { RefName } from '../../../core/git/refs.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import type { Vfs } from '../../vfs.ts'
import { Comment, type commentQuestions, isLine, nearestLine } from '../contract/comments.ts'
import type { Fields } from '../contract/contract.ts'
import { differingLines, placeAfter } from '../contract/line-diff.ts'
import type { Handlers } from '../contract/question.ts'
import type { At } from '../contract/values.ts'
import type { Window } from '../server/window.ts'

export const COMMENTS_REF: RefName = 'refs/notes/forge-review'

/** At most this many comments are on one commit. */
const MAX_COMMENTS = 500
/** Lines are not looked for in a larger file. */
const MAX_TEXT_BYTES = 2 << 20

/** A comment as stored. `branch`: the branch on which it was made; undefined for one on a commit. */
const Stored = v.object({
  ...v.omit(Comment, ['line', 'madeAt', 'commit']).entries,
  branch: v.optional(v.string()),
  line: v.number(),
})
type Stored = v.InferOutput<typeof Stored>

/** A comment, and the commit whose note has it. `path`: that of its file now. */
interface OnCommit {
  commit: Oid
  stored: Stored
  path: Path
}

/** What comments need of the work on branches. */
export interface Commented {
  objects: Objects
  /** The files of a branch with its drafts, or those of a commit. */
  vfsAt: (at: At) => Promise<Vfs>
  headOf: (branch: string) => Promise<Oid | undefined>
  /** The current name of a branch that may have been renamed. */
  nameNow: (branch: string) => Promise<string>
  /** The current paths of files of a branch, in the same order, after renames since it was at a commit. */
  pathsNow: (branch: string, asked: { since: Oid; paths: Path[] }) => Promise<Path[]>
  /** Called when the comments on a branch have changed. */
  changed: (branch: string) => void
}

export class Comments {
  /** The last write: each begins after the one before it, since a note is read, changed and written. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(readonly room: Commented) {}

  readonly handlers: Handlers<typeof commentQuestions, Window> = {
    comments: ({ at }) => this.#list(at),
    comment: fields => this.#add(fields),
    'resolve comments': async ({ comments, isResolved }) => {
      for (const [commit, some] of Map.groupBy(comments, ({ commit }) => commit)) {
        const ids = some.map(({ comment }) => comment)
        await this.#change(commit, all => all.map(it => (ids.includes(it.id) ? { ...it, isResolved } : it)), ids)
      }
    },
    'delete comment': async ({ commit, comment: id }) =>
      await this.#change(commit, all => all.filter(it => it.id !== id), [id]),
  }

  /** Lists the comments on a branch. They are found by its name, so that they stay when its commits are rewritten. */
  async #list(at: At): Promise<Comment[]> {
    const notes = await readNotes(this.room.objects, COMMENTS_REF)
    const all = [...notes].flatMap(([commit, text]) =>
      storedIn(text).map((stored): OnCommit => ({ commit, stored, path: stored.path })),
    )
    const branches = new Set(all.flatMap(({ stored }) => stored.branch ?? []))
    const names = await Promise.all([...branches].map(async name => [name, await this.room.nameNow(name)] as const))
    const nameNow = new Map(names)
    const here = all.filter(({ commit, stored: { branch } }) => {
      if (branch === undefined) return at.kind === 'commit' && commit === at.commit
      return at.kind === 'branch' && nameNow.get(branch) === at.branch
    })
    const followed = at.kind === 'branch' ? await this.#followFiles(at.branch, here) : here
    const texts = await this.#linesOf(
      at,
      followed.map(({ path }) => path),
    )
    const movesIn = this.#movesTo(texts)
    const comments = followed.map(async (it): Promise<Comment> => {
      const { branch: _, line, ...rest } = it.stored
      const lineNow = async () => nearestLine(texts.get(it.path) ?? [], (await movesIn(it))(line, rest.text), rest.text)
      const now = rest.side === 'before' ? line : await lineNow()
      return { ...rest, path: it.path, commit: it.commit, madeAt: line, ...(now !== undefined && { line: now }) }
    })
    return (await Promise.all(comments)).sort((one, other) => one.time - other.time)
  }

  /**
   * Makes a function that gives, for the file of a comment, where its lines have moved since: a brace or an empty line
   * is not found by its text. A line whose text is not that of the commit, as of a draft, has not moved.
   */
  #movesTo(now: ReadonlyMap<Path, readonly string[]>) {
    const known = new Map<string, Promise<(line: number, text: string) => number>>()
    const read = async ({ commit, stored, path }: OnCommit) => {
      // A commit that was rewritten may be gone.
      const texts = await this.#linesOf({ kind: 'commit', commit }, [stored.path]).catch(() => undefined)
      const before = texts?.get(stored.path) ?? []
      const hunks = differingLines(before, now.get(path) ?? [])
      return (line: number, text: string) =>
        isLine(before, line, text) ? placeAfter({ from: line - 1, to: line }, hunks).from + 1 : line
    }
    return (comment: OnCommit) => {
      const key = `${comment.commit} ${comment.stored.path}\0${comment.path}`
      const moves = known.get(key) ?? read(comment)
      known.set(key, moves)
      return moves
    }
  }

  /** Comments on a branch with the paths that their files have now. */
  async #followFiles(branch: string, comments: readonly OnCommit[]): Promise<OnCommit[]> {
    const followed: OnCommit[] = []
    for (const [since, made] of Map.groupBy(comments, ({ commit }) => commit)) {
      const paths = [...new Set(made.map(({ stored }) => stored.path))]
      const now = await this.room.pathsNow(branch, { since, paths })
      const pathNow = (path: Path) => now[paths.indexOf(path)] ?? path
      followed.push(...made.map(it => ({ ...it, path: pathNow(it.stored.path) })))
    }
    return followed
  }

  /** The lines of some files as they are now. */
  async #linesOf(at: At, paths: readonly Path[]): Promise<Map<Path, string[]>> {
    const vfs = await this.room.vfsAt(at)
    const read = [...new Set(paths)].map(async path => {
      const bytes = await vfs.readFile(path).catch(() => undefined)
      const isText = bytes !== undefined && bytes.length <= MAX_TEXT_BYTES
      return [path, isText ? Buffer.from(bytes).toString().split(/\r?\n/) : []] as const
    })
    return new Map(await Promise.all(read))
  }

  async #add({ at, path, side, line, text, words, answers }: Fields<'comment'>): Promise<{ id: string }> {
    const commit = at.kind === 'commit' ? at.commit : await this.room.headOf(at.branch)
    if (commit === undefined || !(await this.room.objects.info(`${commit}^{commit}`)))
      throw new Failure('There is no commit yet that could be commented on: save first.')
    const identity = await readIdentity(this.room.objects.repository, 'AUTHOR')
    const [, author = ''] = /^(.*) <[^>]*> \d+ [+-]\d+$/s.exec(identity.toString()) ?? []
    const id = crypto.randomUUID().replaceAll('-', '')
    const made: Stored = {
      ...{ id, path, side, line, text, words, author, time: Math.floor(Date.now() / 1000), isResolved: false },
      ...(at.kind === 'branch' && { branch: at.branch }),
      ...(answers !== undefined && { answers }),
    }
    await this.#change(commit, all => [...all, made])
    return { id }
  }

  /** Changes the comments on a commit. Throws a {@link Failure} if one of `ids` is not among them. */
  async #change(commit: Oid, change: (all: Stored[]) => Stored[], ids: readonly string[] = []): Promise<void> {
    const turn = this.#last.then(async () => {
      const { objects } = this.room
      const notes = await readNotes(objects, COMMENTS_REF)
      const before = storedIn(notes.get(commit) ?? '')
      const known = new Set(before.map(({ id }) => id))
      if (!ids.every(id => known.has(id))) throw new Failure('This comment was deleted meanwhile.')
      const after = change(before)
      if (after.length > MAX_COMMENTS) throw new Failure(`A commit has at most ${MAX_COMMENTS} comments: resolve some.`)
      const lines = after.map(it => `${JSON.stringify(it)}\n`).join('')
      await writeNote(objects.repository, COMMENTS_REF, commit, lines === '' ? undefined : lines)
      const branches = new Set([...before, ...after].flatMap(it => it.branch ?? []))
      for (const branch of branches) this.room.changed(await this.room.nameNow(branch))
    })
    this.#last = turn.catch(() => undefined)
    await turn
  }
}

/** The comments in a note. Lines that are no comment, such as one that a person added, are left out. */
function storedIn(text: string): Stored[] {
  return text.split('\n').flatMap(line => {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), Stored), line)
    return parsed.success ? [parsed.output] : []
  })
}
