/**
 * A merge, rebase or cherry-pick that waits in a branch for its conflicts to be resolved: a commit at
 * `refs/forge/merging/<branch>`, whose tree is git's merge with markers, and whose message describes it and what is
 * left to do.
 */
import * as v from 'valibot'
import { bytesOf, identityLine, parseCommit, textOf } from '../../../core/git/commits.ts'
import { type NewObject, type Objects, oidOf } from '../../../core/git/objects.ts'
import { isOid, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { treeBytes } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { FORGE_AUTHOR } from '../../operations.ts'
import { WaitingKind } from '../contract/merging.ts'

/** The kinds of conflicts, as shown. */
const MERGING_KINDS = [
  'text',
  'binary',
  'modify/delete',
  'rename/delete',
  'rename/rename',
  'file/folder',
  'file/link',
  'mode',
  'symlink',
  'submodule',
  'folder rename',
  'other',
] as const
export type MergingKind = (typeof MERGING_KINDS)[number]

const Stage = v.object({ mode: v.string(), oid: v.string(), stage: v.picklist([1, 2, 3]), path: v.string() })

/** A file in conflict, or several that are one conflict. */
export const ConflictRow = v.object({
  path: v.string(),
  kind: v.picklist(MERGING_KINDS),
  /** The paths of the files that are resolved together; `path` is one of them. */
  paths: v.array(v.string()),
  /** The file's own path, if git renamed the file because a side has something else at that path. */
  original: v.optional(v.string()),
  stages: v.array(Stage),
  /** The length of the file's conflict markers, in characters; undefined if it is not text. */
  mark: v.optional(v.number()),
  /** The number of conflicts in the file. */
  all: v.number(),
})
export type ConflictRow = v.InferOutput<typeof ConflictRow>

/**
 * Whether a path is resolved together with a conflict: one of its own, or the original path of a file that git renamed.
 */
export const isSettledWith = ({ paths, original }: ConflictRow, path: Path): boolean =>
  paths.includes(path) || (original !== undefined && (path === original || path.startsWith(`${original}/`)))

/** The names of a file that both sides renamed, and the one that it had before. */
export type Names = { ours: Path; theirs: Path; base: Path }

/**
 * The names to choose from of a file that both sides renamed, if git has merged its text: it has that text in both
 * stages, with markers if there are conflicts. The merge has it under our name, until another one is chosen.
 */
export function namesIn({ kind, stages }: Pick<ConflictRow, 'kind' | 'stages'>): Names | undefined {
  const [base, ours, theirs] = [1, 2, 3].map(number => stages.find(({ stage }) => stage === number))
  if (kind !== 'rename/rename' || !base || !ours || ours.oid !== theirs?.oid) return undefined
  return { ours: ours.path, theirs: theirs.path, base: base.path }
}

/** Whether drafts have such a file under other names than the merge, which has it under ours. */
export const isRenamed = (files: ReadonlyMap<Path, object | undefined>, { ours, theirs }: Names): boolean =>
  files.has(theirs) || (files.has(ours) && files.get(ours) === undefined)

const RewriteItem = v.object({
  commits: v.tupleWithRest([v.string()], v.string()),
  message: v.optional(v.string()),
  part: v.optional(v.object({ from: v.string(), to: v.string() })),
})

/** The rest of a rewriting of a branch's commits, beginning with the commit in conflict. */
const StoredRewrite = v.object({
  /** The operation in a few words. */
  does: v.string(),
  /**
   * The commits to make. Each item has the commits that it combines, and its message, unless that is the message of the
   * first of them.
   */
  items: v.tupleWithRest([RewriteItem], RewriteItem),
  /** How many of the commits that the first item combines are applied so far, the one in conflict included. */
  applied: v.number(),
  /** Whether `oursCommit` is a part of the first item: the whole item then replaces it. */
  amends: v.boolean(),
})
export type StoredRewrite = v.InferOutput<typeof StoredRewrite>

const Body = v.object({
  does: WaitingKind,
  /** The names of the two sides on the screen. */
  ours: v.string(),
  theirs: v.string(),
  /** Whether our side is the branch in which this waits: its present name is then shown instead of `ours`. */
  isOurs: v.optional(v.boolean()),
  oursCommit: v.string(),
  theirsCommit: v.string(),
  /** The branch's commit when the merge began. */
  from: v.string(),
  /** The base of a cherry-pick: the commit's parent; null before a first commit. Of a revert: the reverted commit. */
  base: v.optional(v.nullable(v.string())),
  /** The message of the resulting commit; undefined: that of the picked commit. */
  message: v.optional(v.string()),
  /** What the user has typed as the message so far; if that is empty, the commit gets `message`. */
  typedMessage: v.optional(v.string()),
  rows: v.array(ConflictRow),
  byGit: v.number(),
  /** The paths of conflicts resolved by keeping what git left. */
  kept: v.array(v.string()),
  /**
   * By path, the model whose turns changed a file in conflict, and the resulting blob; without `oid` the file was
   * deleted. `before`: the blob with what others have resolved, but not those turns. `settled`: how many of the file's
   * conflicts they resolved; all, if undefined. `isUnasked`: whether they changed more of it than they were asked to.
   */
  by: v.record(
    v.string(),
    v.object({
      model: v.string(),
      oid: v.optional(v.string()),
      before: v.optional(v.string()),
      settled: v.optional(v.number()),
      isUnasked: v.optional(v.boolean()),
    }),
  ),
  /** The commits to pick after this one. */
  todo: v.array(v.string()),
  /** For a rewriting of commits: the resulting commits that are left to make; `todo` then only lists the old ones. */
  rewrite: v.optional(StoredRewrite),
  /** For several picks: the number of this one, from 1, and how many there are. */
  number: v.optional(v.number()),
  of: v.optional(v.number()),
  subject: v.optional(v.string()),
  /** The subjects of the commits that were left out so far, since they would have changed nothing. */
  leftOut: v.optional(v.array(v.string())),
  /** The subjects of the commits whose conflicts were resolved so far, and which are made. */
  finished: v.optional(v.array(v.string())),
  /** For a rebase: the name of its new base. For a landing: the name under which the source's tip is kept. */
  onto: v.optional(v.string()),
  keep: v.optional(v.string()),
  forklift: v.optional(v.object({ run: v.string(), stuck: v.optional(v.string()) })),
})
export type StoredMerging = v.InferOutput<typeof Body>
/** What is known of a model whose turns changed a file in conflict. */
export type ByModel = StoredMerging['by'][string]

/** The first line of the commit's message. */
const subjectOf = ({ does, ours, theirs }: StoredMerging): string => {
  const [one, other] = [visiblePath(theirs), visiblePath(ours)]
  if (does === 'rebase') return `Rebasing: ${one}`
  if (does === 'revert') return `Reverting to ${one} in ${other}`
  if (does === 'land') return `Landing ${one} on ${other}`
  return `${does === 'cherry-pick' ? 'Cherry-picking' : 'Merging'} ${one} into ${other}`
}

/** The commit of a waiting merge, not written yet. The tree must exist. */
export function makeMerging(repository: Repository, state: StoredMerging, tree: Oid): { oid: Oid; made: NewObject[] } {
  const sides = keepingSides(repository, state)
  // As parents, the commits left to pick and the branch's original commit are kept from garbage collection.
  const rewritten = state.rewrite?.items.flatMap(({ commits }) => commits) ?? []
  const named = [state.oursCommit, state.theirsCommit, state.from, ...state.todo, ...rewritten, ...sides.commits]
  const parents = [...new Set(named)]
  const who = identityLine(FORGE_AUTHOR)
  const message = `${subjectOf(state)}\n\n${JSON.stringify(state)}\n`
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree, parents, message }, who, who) }
  return { oid: oidOf(repository.format, commit), made: [...sides.made, commit] }
}

/**
 * A commit that contains the files of all sides, to keep them from garbage collection: with several merge bases, git
 * creates a virtual base that no other commit contains.
 */
function keepingSides({ format }: Repository, { rows }: StoredMerging): { commits: Oid[]; made: NewObject[] } {
  const stages = rows.flatMap(row => row.stages).filter(({ mode }) => mode !== '160000')
  const oids = [...new Set(stages.map(({ oid }) => oid))].sort()
  if (oids.length === 0) return { commits: [], made: [] }
  const tree: NewObject = { type: 'tree', bytes: treeBytes(oids.map(oid => ({ name: oid, mode: '100644', oid }))) }
  // With a fixed date the commit is the same each time, so that none pile up.
  const who = identityLine({ ...FORGE_AUTHOR, date: { seconds: 0, zone: '+0000' } })
  const message = 'The sides of what is in conflict\n'
  const bytes = bytesOf({ tree: oidOf(format, tree), parents: [], message }, who, who)
  const commit: NewObject = { type: 'commit', bytes }
  return { commits: [oidOf(format, commit)], made: [tree, commit] }
}

/** Reads a commit of {@link makeMerging}; undefined if it is none. */
export async function readMerging(objects: Objects, oid: Oid): Promise<(StoredMerging & { tree: Oid }) | undefined> {
  const object = await objects.read(oid)
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { tree, message } = parseCommit(object.bytes)
  const [, json = ''] = textOf(message, undefined).split(/\n\n(.*)/s)
  const body = v.safeParse(v.pipe(v.string(), v.parseJson(), Body), json)
  if (!body.success) return undefined
  const { oursCommit, theirsCommit, from, base, todo, rows, rewrite } = body.output
  const oids = [
    ...(rewrite?.items.flatMap(({ commits, part }) => [...commits, part?.from, part?.to]) ?? []),
    oursCommit,
    theirsCommit,
    from,
    base ?? undefined,
    ...todo,
    ...rows.flatMap(row => row.stages.map(it => it.oid)),
  ]
  const isSound = oids.every(it => it === undefined || isOid(objects.repository.format, it))
  return isSound ? { ...body.output, tree } : undefined
}
