/**
 * A merge, rebase or cherry-pick that waits in a branch for a person, as a commit at `refs/forge/merging/<branch>`: its
 * tree is git's own merge with the conflicts in it, and its message says what it is about and what is left to be done.
 */
import * as v from 'valibot'
import { bytesOf, identityLine, parseCommit, textOf } from '../../../core/git/commits.ts'
import { type NewObject, type Objects, oidOf } from '../../../core/git/objects.ts'
import { isOid, type Oid, type Repository } from '../../../core/git/repository.ts'
import { treeBytes } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { FORGE_AUTHOR } from '../../operations.ts'

/** What kinds of conflicts there are, as a person is told. */
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
  /** The paths that are settled with it, its own among them. */
  paths: v.array(v.string()),
  /** Where it was before git put it aside, because a side has something else there. */
  original: v.optional(v.string()),
  stages: v.array(Stage),
  /** The length of its marks, and how many conflicts they mark. */
  mark: v.optional(v.number()),
  all: v.number(),
})
export type ConflictRow = v.InferOutput<typeof ConflictRow>

const Body = v.object({
  does: v.picklist(['merge', 'land', 'rebase', 'cherry-pick', 'revert']),
  /** As a person calls the two sides. */
  ours: v.string(),
  theirs: v.string(),
  oursCommit: v.string(),
  theirsCommit: v.string(),
  /** Where the branch was when it began. */
  from: v.string(),
  /** What a pick is compared with: the commit's parent, or nothing before a first commit. Of a revert: the commit. */
  base: v.optional(v.nullable(v.string())),
  /** The message of the commit that it will make; that of a picked commit is the commit's own. */
  message: v.optional(v.string()),
  rows: v.array(ConflictRow),
  byGit: v.number(),
  /** Conflicts, by their paths, in which what git has left is what was chosen. */
  kept: v.array(v.string()),
  /** The models that settled files, and what they left there: undefined where the file is gone. */
  by: v.record(v.string(), v.object({ model: v.string(), oid: v.optional(v.string()) })),
  /** The commits to be picked after this one. */
  todo: v.array(v.string()),
  /** Of several picks: which one this is, and how many there are. */
  number: v.optional(v.number()),
  of: v.optional(v.number()),
  subject: v.optional(v.string()),
  /** Of a rebase: what it goes onto, in words. Of a landing: the name under which its tip is kept. */
  onto: v.optional(v.string()),
  keep: v.optional(v.string()),
  forklift: v.optional(v.object({ run: v.string(), stuck: v.optional(v.string()) })),
})
export type StoredMerging = v.InferOutput<typeof Body>

/** What it is called where a commit is shown by its first line. */
const subjectOf = ({ does, ours, theirs }: StoredMerging): string => {
  const [one, other] = [visiblePath(theirs), visiblePath(ours)]
  if (does === 'rebase') return `Rebasing: ${one}`
  if (does === 'revert') return `Reverting to ${one} in ${other}`
  return `${does === 'cherry-pick' ? 'Cherry-picking' : 'Merging'} ${one} into ${other}`
}

/** The commit of a merge that waits: not written yet. The tree has to be there. */
export function makeMerging(repository: Repository, state: StoredMerging, tree: Oid): { oid: Oid; made: NewObject[] } {
  const sides = keepingSides(repository, state)
  // What is still to be picked, and where the branch was, stays alive with it.
  const parents = [...new Set([state.oursCommit, state.theirsCommit, state.from, ...state.todo, ...sides.commits])]
  const who = identityLine(FORGE_AUTHOR)
  const message = `${subjectOf(state)}\n\n${JSON.stringify(state)}\n`
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree, parents, message }, who, who) }
  return { oid: oidOf(repository.format, commit), made: [...sides.made, commit] }
}

/**
 * A commit that has the files of all sides, so that no garbage collection takes them: where a merge has several bases,
 * git makes up the one that it shows, and no other commit has it.
 */
function keepingSides({ format }: Repository, { rows }: StoredMerging): { commits: Oid[]; made: NewObject[] } {
  const stages = rows.flatMap(row => row.stages).filter(({ mode }) => mode !== '160000')
  const oids = [...new Set(stages.map(({ oid }) => oid))].sort()
  if (oids.length === 0) return { commits: [], made: [] }
  const tree: NewObject = { type: 'tree', bytes: treeBytes(oids.map(oid => ({ name: oid, mode: '100644', oid }))) }
  // The same each time, so that nothing piles up as files are settled.
  const who = identityLine({ ...FORGE_AUTHOR, date: { seconds: 0, zone: '+0000' } })
  const message = 'The sides of what is in conflict\n'
  const bytes = bytesOf({ tree: oidOf(format, tree), parents: [], message }, who, who)
  const commit: NewObject = { type: 'commit', bytes }
  return { commits: [oidOf(format, commit)], made: [tree, commit] }
}

/** Reads what {@link makeMerging} made; undefined where a commit is none of these. */
export async function readMerging(objects: Objects, oid: Oid): Promise<(StoredMerging & { tree: Oid }) | undefined> {
  const object = await objects.read(oid)
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { tree, message } = parseCommit(object.bytes)
  const [, json = ''] = textOf(message, undefined).split(/\n\n(.*)/s)
  const body = v.safeParse(v.pipe(v.string(), v.parseJson(), Body), json)
  if (!body.success) return undefined
  const { oursCommit, theirsCommit, from, base, todo, rows } = body.output
  const oids = [
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
