/** What the page can ask about the graph of all commits, and its refs. */
import * as v from 'valibot'
import { repeatable } from './question.ts'
import { CommitRow } from './reading.ts'
import { Branch, Count, Oid, Person, RefName } from './values.ts'

/** The commits in the graph. Without `refs`: all branches, remote branches, tags and stashes. */
export const GraphFilter = v.object({
  refs: v.optional(v.array(RefName)),
  /** Whether commits are included that only reflogs and the desk's operations still have. */
  withAbandoned: v.boolean(),
})
export type GraphFilter = v.InferOutput<typeof GraphFilter>

/**
 * A row: its commit, its lane, and the lines from or through it to the next row, each between two lanes. A line keeps
 * its colour number from top to bottom.
 */
export const GraphRow = v.object({
  oid: Oid,
  parents: v.array(Oid),
  subject: v.string(),
  author: Person,
  /** The model that made the commit or a part of it, if an AI did; several are separated by commas. */
  model: v.optional(v.string()),
  committed: v.number(),
  lane: Count,
  color: Count,
  lines: v.array(v.object({ from: Count, to: Count, color: Count, isAbandoned: v.boolean() })),
  /** What still refers to the commit if no ref contains it, such as `main@{3}`; '' for ancestors of such a commit. */
  abandoned: v.optional(v.string()),
})
export type GraphRow = v.InferOutput<typeof GraphRow>

/** Some rows. `total`: undefined until all commits are read. `lanes`: how many lanes the widest of these rows has. */
export const GraphWindow = v.object({ rows: v.array(GraphRow), total: v.optional(Count), lanes: Count })
export type GraphWindow = v.InferOutput<typeof GraphWindow>

/** The refs for the graph's labels and the side bar; local branches are in DeskInfo. */
export const Refs = v.object({
  remotes: v.array(
    v.object({
      name: v.string(),
      /** The remote's address, with secrets removed. */
      url: v.optional(v.string()),
      /**
       * `committed`: the time of its tip, in seconds since 1970; undefined if the commit is missing. `isDefault`: it is
       * the branch that the remote has checked out.
       */
      branches: v.array(
        v.object({
          ref: RefName,
          name: v.string(),
          tip: Oid,
          committed: v.optional(Count),
          isDefault: v.optional(v.boolean()),
        }),
      ),
    }),
  ),
  /**
   * `annotated`: the tag object of an annotated tag. `committed`: the time of its commit; undefined if the commit is
   * missing, or if there are very many tags.
   */
  tags: v.array(
    v.object({
      ref: RefName,
      name: v.string(),
      tip: Oid,
      annotated: v.optional(Oid),
      committed: v.optional(Count),
    }),
  ),
  /** The entries of `git stash list`, such as stash@{0}; undefined for none. */
  stashes: v.optional(v.array(v.object({ name: v.string(), tip: Oid }))),
  /** The commit of HEAD, if it is on no branch (a detached HEAD). */
  detached: v.optional(Oid),
  /** The time of the last fetch. */
  fetched: v.optional(v.number()),
})
export type Refs = v.InferOutput<typeof Refs>

/**
 * An annotated tag. `message`: without a signature. `tagger`: the name. `tagged`: the time, in seconds since 1970. Git
 * also reads tags without a tagger.
 */
export const TagMessage = v.object({
  ref: RefName,
  message: v.string(),
  tagger: v.optional(v.string()),
  tagged: v.optional(v.number()),
})
export type TagMessage = v.InferOutput<typeof TagMessage>

/** The number of rows per request; the first ones are embedded in the page. */
export const GRAPH_CHUNK = 100

export const graphQuestions = {
  graph: repeatable({ filter: GraphFilter, from: Count, count: v.pipe(Count, v.maxValue(500)) }, GraphWindow),
  /** The row of a commit or a ref. */
  'graph place': repeatable(
    { filter: GraphFilter, name: v.pipe(v.string(), v.maxLength(1100)) },
    v.object({ row: v.optional(Count) }),
  ),
  /** Finds commits by words in message or author, or by hash; the first `described` ones are returned in full. */
  'find commits': repeatable(
    {
      filter: GraphFilter,
      words: v.pipe(v.string(), v.nonEmpty(), v.maxLength(400)),
      described: v.optional(v.pipe(Count, v.maxValue(200))),
    },
    v.object({
      rows: v.array(v.object({ row: Count, oid: Oid })),
      isCut: v.boolean(),
      commits: v.array(CommitRow),
    }),
  ),
  refs: repeatable({}, Refs),
  /** The names of the local branches that contain a commit. */
  'branches with': repeatable({ commit: Oid }, v.array(Branch)),
  /** The messages of those of some tags that are annotated. */
  'tag messages': repeatable({ refs: v.pipe(v.array(RefName), v.nonEmpty(), v.maxLength(50)) }, v.array(TagMessage)),
}
