/**
 * What the page is told of the whole repository: its graph, what a step would do before it is done, a merge that waits
 * for a person, and Forklift. Part of the contract in messages.ts: names are byte strings, times are seconds since
 * 1970.
 */
import * as v from 'valibot'

const Oid = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))
const Branch = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1024))
const RefName = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1100))
const Count = v.pipe(v.number(), v.integer(), v.minValue(0))

// --- The graph
// --------------------------------------------------------------------------------------------------------

/** Which commits the graph is of. Without `refs`: all branches, remote branches and tags. */
export const GraphFilter = v.object({
  refs: v.optional(v.array(RefName)),
  /** Also what only reflogs and the desk's own operations still know. */
  withAbandoned: v.boolean(),
})
export type GraphFilter = v.InferOutput<typeof GraphFilter>

/**
 * A row: its commit, its lane, and the lines from its middle or through it to the next row, each from a lane to a lane.
 * Colours are numbers that stay with a line from its top to its bottom.
 */
export const GraphRow = v.object({
  oid: Oid,
  parents: v.array(Oid),
  subject: v.string(),
  author: v.object({ name: v.string(), email: v.string() }),
  /** The model that made it, where an AI did. */
  model: v.optional(v.string()),
  committed: v.number(),
  lane: Count,
  color: Count,
  lines: v.array(v.object({ from: Count, to: Count, color: Count, isAbandoned: v.boolean() })),
  /** What still knows it where no ref does, as `main@{3}`; empty for what such a commit leads to. */
  abandoned: v.optional(v.string()),
})
export type GraphRow = v.InferOutput<typeof GraphRow>

/** `total` is undefined for as long as not all commits are read; `lanes` is the widest row of this window. */
export const GraphWindow = v.object({ rows: v.array(GraphRow), total: v.optional(Count), lanes: Count })
export type GraphWindow = v.InferOutput<typeof GraphWindow>

/** What a label in the graph and a line in the side column stand for; local branches are in Desk, with more. */
export const Refs = v.object({
  remotes: v.array(
    v.object({
      name: v.string(),
      /** Without any secret that is in it. */
      url: v.optional(v.string()),
      branches: v.array(v.object({ ref: RefName, name: v.string(), tip: Oid })),
    }),
  ),
  tags: v.array(v.object({ ref: RefName, name: v.string(), tip: Oid })),
  /** When somebody fetched here last. */
  fetched: v.optional(v.number()),
})
export type Refs = v.InferOutput<typeof Refs>

// --- Steps: what can be done to refs
// ----------------------------------------------------------------------------------

/** A branch or any commit. `words`, a byte string, are how a person calls it, such as upstream/main or abc12345. */
export const Source = v.object({ commit: Oid, branch: v.optional(Branch), words: v.string() })
export type Source = v.InferOutput<typeof Source>

/** What can be done to a branch in this repository alone: it can be previewed, and be looked at before in few words. */
export const BranchStep = v.variant('step', [
  /** A fast-forward where that is possible, unless a commit is wanted. */
  v.object({
    step: v.literal('merge'),
    source: Source,
    onto: Branch,
    message: v.optional(v.string()),
    isCommitWanted: v.optional(v.boolean()),
  }),
  /** One commit with all that the source has, without .forge/; the source's tip is kept at refs/forge/kept/. */
  v.object({ step: v.literal('land'), source: Source, onto: Branch, message: v.optional(v.string()) }),
  /** The commits of a branch since it parted, anew on another commit. */
  v.object({ step: v.literal('rebase'), branch: Branch, onto: Source }),
  v.object({ step: v.literal('cherry-pick'), commits: v.array(Oid), onto: Branch }),
  /** A confirmed reset. */
  v.object({ step: v.literal('move'), branch: Branch, to: Source }),
])
export type BranchStep = v.InferOutput<typeof BranchStep>

export const Step = v.variant('step', [
  ...BranchStep.options,
  v.object({ step: v.literal('tag'), name: Branch, at: Oid, message: v.optional(v.string()) }),
  v.object({ step: v.literal('delete tag'), name: Branch }),
  /** From one remote, from the one that a branch follows, or from all. */
  v.object({ step: v.literal('fetch'), remote: v.optional(v.string()), branch: v.optional(Branch) }),
  v.object({ step: v.literal('pull'), branch: Branch, how: v.picklist(['fast-forward', 'merge', 'rebase']) }),
  /** `isForced`: with a lease on what the remote was when this was previewed. */
  v.object({
    step: v.literal('push'),
    branch: Branch,
    remote: v.string(),
    to: v.optional(Branch),
    isForced: v.boolean(),
  }),
])
export type Step = v.InferOutput<typeof Step>

const ENDS = ['clean', 'drops', 'conflicts', 'nothing', 'impossible'] as const

/**
 * How a step would come out, for the word on a target: green, red, yellow, grey. It is what the step's preview says, or
 * that it takes too long to be known of many targets. `drops`: commits that no other branch or tag has leave a branch.
 */
export const Outlook = v.object({
  is: v.picklist([...ENDS, 'unknown']),
  /** Files in conflict. */
  conflicts: Count,
  words: v.string(),
})
export type Outlook = v.InferOutput<typeof Outlook>

/** What a step would do, before anything moves. */
export const Preview = v.object({
  ...Outlook.entries,
  is: v.picklist(ENDS),
  /** The target's commit and tree now, and the tree after it where nothing is in conflict. */
  before: v.optional(Oid),
  tree: v.optional(Oid),
  /** A commit that no ref has, with those files: `changes` from `before` to it is what the step would change. */
  result: v.optional(Oid),
  /** The commits that it takes along, or makes. */
  commits: Count,
  /** The files in conflict, and what each conflict is about. */
  conflictsIn: v.array(v.object({ path: Path, words: v.string() })),
  /** The message of the commit that it makes, to be edited. */
  message: v.optional(v.string()),
  /**
   * Where the remote's branch was when it was fetched last: what a pull brings in, and what a forced push overwrites;
   * null where there was none.
   */
  there: v.optional(v.nullable(Oid)),
  /** What makes a step possible that is not now: a pull, where a remote would reject a push. */
  offers: v.optional(v.literal('pull')),
  /** What a person should know before: hooks that do not run, a checkout that can not follow, what is on a remote. */
  warnings: v.array(v.string()),
})
export type Preview = v.InferOutput<typeof Preview>

/** What came of a step. `merging`: it waits for a person in that branch's tab. */
export const Done = v.object({ words: v.string(), commit: v.optional(Oid), merging: v.optional(Branch) })
export type Done = v.InferOutput<typeof Done>

// --- A branch in `merging`
// --------------------------------------------------------------------------------------------

/**
 * A file of a merge, rebase or cherry-pick that waits. `open`: it has conflicts left. `odd`: what it became is not what
 * such a merge makes, in words. `by`: the model that settled it, where none of the persons did.
 */
export const MergingFile = v.object({
  path: Path,
  kind: v.string(),
  state: v.picklist(['open', 'odd', 'settled']),
  left: Count,
  all: Count,
  words: v.optional(v.string()),
  by: v.optional(v.string()),
})
export type MergingFile = v.InferOutput<typeof MergingFile>

export const Merging = v.object({
  kind: v.picklist(['merge', 'rebase', 'cherry-pick']),
  /** As a person calls the two sides; byte strings. */
  ours: v.string(),
  theirs: v.string(),
  oursCommit: Oid,
  theirsCommit: Oid,
  /** Of a rebase: the commit that it is at, and how many there are. */
  at: v.optional(v.object({ number: Count, of: Count, subject: v.string() })),
  files: v.array(MergingFile),
  /** Files that git merged by itself. */
  byGit: Count,
  message: v.string(),
  /** What is odd about the whole of it, a sentence each, once nothing is open. */
  odd: v.array(v.string()),
  /** Why `Finish` is not there yet. */
  notYet: v.optional(v.string()),
  /** A run of Forklift that this goes on with: it is published when it is finished. */
  forklift: v.optional(v.object({ run: v.string(), stuck: v.optional(v.string()) })),
})
export type Merging = v.InferOutput<typeof Merging>

/** A side of a conflict that is no text, or what is there instead of a file. */
const Side = v.variant('is', [
  v.object({ is: v.literal('text'), text: v.string(), mode: v.string() }),
  v.object({ is: v.literal('other'), words: v.string(), mode: v.string(), oid: Oid }),
  v.object({ is: v.literal('nothing') }),
])

/**
 * A file in conflict. Where all sides are text, the file itself is in the editor with the conflicts between marks of
 * `mark` characters, as git's diff3 style has them: what stands between them is the sides' own.
 */
export const ConflictFile = v.object({
  path: Path,
  kind: v.string(),
  /** What it is about. */
  words: v.string(),
  mark: v.optional(Count),
  base: Side,
  ours: Side,
  theirs: Side,
})
export type ConflictFile = v.InferOutput<typeof ConflictFile>

// --- Forklift
// ---------------------------------------------------------------------------------------------------------

export const ForkliftRun = v.object({
  run: v.string(),
  /** How it ended, or that it goes on: a word such as stuck, and a line. */
  end: v.picklist(['merged', 'nothing', 'stuck', 'timed out', 'refused', 'failed', 'running']),
  words: v.string(),
  started: v.number(),
  /** An address at the fork's own host. */
  pullRequest: v.optional(v.string()),
  /** Whether it can be opened as a branch in `merging`. */
  canOpen: v.boolean(),
  /** The branch that it is open as, where it is; of a run by hand, the one that it published. */
  branch: v.optional(Branch),
  /** No agent: it judged and published what a person merged. */
  isByHand: v.boolean(),
})
export type ForkliftRun = v.InferOutput<typeof ForkliftRun>

export const Forklift = v.object({
  /** Why there is nothing to show: no fork, for example. */
  missing: v.optional(v.string()),
  /** owner/name of upstream, its branch, and how many commits it is ahead as last fetched. */
  upstream: v.optional(v.object({ name: v.string(), branch: v.string(), ahead: Count })),
  /** The newest first. */
  runs: v.array(ForkliftRun),
  /** Whether this desk has one under way. */
  isRunning: v.boolean(),
  /** What the one that this desk started last has said, and its exit code, where it has ended. */
  said: v.optional(
    v.object({
      /** The branch that it publishes; else it is a run. */
      branch: v.optional(Branch),
      lines: v.array(v.string()),
      end: v.optional(Count),
    }),
  ),
})
export type Forklift = v.InferOutput<typeof Forklift>
