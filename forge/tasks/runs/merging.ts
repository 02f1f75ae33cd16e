/**
 * A run that resolves a merge: its base is a commit of git's merge with its conflict markers, with both sides as
 * parents, and with a description of the merge in its message. What comes of it is landed as a merge commit.
 */
import { tmpdir } from 'node:os'
import * as v from 'valibot'
import { parseCommit } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { openScratch } from '../../../core/git/scratch.ts'
import { review } from '../../../core/review.ts'
import { many, short, visiblePath } from '../../../core/text.ts'
import { TaskId } from '../../formats/tasks-json.ts'
import type { Oid } from '../contract.ts'

const TRAILER = 'Forge-Conflicts: unresolved'
/** A base is a commit with at most this many bytes: its message names each file in conflict. */
const MAX_BASE_BYTES = 8 << 20

const Text = v.string()
const Id = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
/** A file as a choice leaves it; without mode and id, there is none at the path. */
const ChosenFile = v.object({
  path: Text,
  entry: v.optional(v.object({ mode: v.pipe(Text, v.regex(/^(100644|100755|120000|160000)$/)), oid: Id })),
})
/** What can be chosen for a conflict: a side, both names of a renamed file, or that the file is deleted. */
export const TAKES = ['ours', 'theirs', 'both', 'deleted'] as const
const Choice = v.object({ take: v.picklist(TAKES), files: v.array(ChosenFile) })
/** A conflict without markers. `kind`: in git's words. */
const OpenChoice = v.object({
  id: v.pipe(Text, v.regex(/^C[0-9]+$/)),
  kind: Text,
  paths: v.array(Text),
  choices: v.pipe(v.array(Choice), v.minLength(2)),
})
/**
 * A task's part of the merge. `texts`: files with conflict markers. `ours`, `theirs`: commits that touched its files.
 */
const Part = v.object({
  task: TaskId,
  texts: v.array(Text),
  choices: v.array(OpenChoice),
  ours: v.array(Id),
  theirs: v.array(Id),
})
/** A conflict that only a person can resolve. */
const Left = v.object({ paths: v.array(Text), why: Text })
const Description = v.object({
  /** The branch that is merged into, and the name of what is merged. */
  into: Text,
  name: Text,
  parts: v.array(Part),
  left: v.array(Left),
  /** Commands of FORK.md's checks, which run on the result beside those of FORGE.md. */
  checks: v.array(Text),
  /** The fork's own description of itself, FORK.md. */
  forkMd: v.optional(Text),
  /**
   * The run of Forklift that is continued, with the time stamp in its name. `stuck`: the questions of its agent. `by`:
   * its model. `settled`: the number of conflicts that it has resolved.
   */
  forklift: v.optional(v.object({ run: Text, stamp: Text, by: Text, settled: v.number(), stuck: v.optional(Text) })),
})

export type Choice = v.InferOutput<typeof Choice>
export type OpenChoice = v.InferOutput<typeof OpenChoice>
export type MergePart = v.InferOutput<typeof Part>
export type LeftConflict = v.InferOutput<typeof Left>
export type MergeDescription = v.InferOutput<typeof Description>
/** The two sides of a merge: the branch's commit at the run's begin, and the commit that is merged into it. */
export type Sides = { ours: Oid; theirs: Oid }
/** What a run merges. */
export type MergedRun = Sides & MergeDescription

/** The message of such a base. */
export const mergeMessage = (title: string, description: MergeDescription): string =>
  `${title}\n\n${JSON.stringify(description)}\n\n${TRAILER}\n`

const NOTHING: MergeDescription = { into: '', name: '', parts: [], left: [], checks: [] }

/** What a run merges, as its base says; undefined for a run that resolves no merge. */
export async function mergedBy(objects: Objects, base: Oid): Promise<MergedRun | undefined> {
  const found = await objects.read(base, { limit: MAX_BASE_BYTES })
  if (found?.type !== 'commit' || !found.bytes) return undefined
  const { parents, message } = parseCommit(found.bytes)
  const [ours, theirs, ...more] = parents
  if (ours === undefined || theirs === undefined || more.length > 0) return undefined
  const text = message.toString().trimEnd()
  if (!text.endsWith(`\n\n${TRAILER}`)) return undefined
  // Bases of an earlier version have no description.
  const json = text.slice(0, -TRAILER.length).trimEnd().split('\n\n').at(-1) ?? ''
  const described = v.safeParse(v.pipe(v.string(), v.parseJson(), Description), json)
  return { ours, theirs, ...(described.success ? described.output : NOTHING) }
}

/** What the judge of merges says, as sentences: what speaks against the merge, and what a person has to look at. */
type Judgement = { refusals: string[]; doubts: string[] }

/** At most this many characters of the names of files. */
const MAX_NAMES = 300

/** Judges a merge commit as Forklift's are. */
export async function judgeMerge(
  { repository }: Objects,
  { ours, theirs, result }: Sides & { result: Oid },
): Promise<Judgement> {
  await using scratch = await openScratch({
    parent: tmpdir(),
    borrowed: [repository.objects],
    format: repository.format,
  })
  const judged = await review(scratch, { origin: ours, start: ours, upstream: theirs, result })
  const whole = (side: string, taken: string) => {
    const files = judged.conflicts.filter(({ resolution }) => resolution === taken).map(({ path }) => visiblePath(path))
    return files.length === 0
      ? []
      : [`In ${many(files.length, 'file')}, all conflicts went to ${side}: ${short(files.join(', '), MAX_NAMES)}`]
  }
  const sides = [
    ...whole('ours', "the fork's version"),
    ...whole('theirs', "upstream's version"),
    ...whole('neither, as it is deleted', 'deleted'),
  ]
  return { refusals: judged.refusals.map(named), doubts: [...judged.partial.map(named), ...sides] }
}

/** The names of the sides as the judge has them, and as the markers of a merge have them. */
const NAMES: readonly [RegExp, string][] = [
  [/\bThe fork's\b/g, 'Our'],
  [/\bthe fork's\b/g, 'our'],
  [/\b[Tt]he fork\b/g, 'ours'],
  [/\bUpstream's\b/g, 'Their'],
  [/\bupstream's\b/g, 'their'],
  [/\b[Uu]pstream\b/g, 'theirs'],
]

const named = (sentence: string): string => NAMES.reduce((words, [name, side]) => words.replace(name, side), sentence)
