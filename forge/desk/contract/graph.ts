/** The graph of all commits, and the refs that it shows. */
import * as v from 'valibot'
import { repeatable } from './question.ts'
import { CommitRow } from './reading.ts'
import { Count, Oid, Person, RefName } from './values.ts'

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
  author: Person,
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
      /** `committed`: when its tip was, in seconds since 1970; undefined where that commit is not there. */
      branches: v.array(v.object({ ref: RefName, name: v.string(), tip: Oid, committed: v.optional(Count) })),
    }),
  ),
  tags: v.array(v.object({ ref: RefName, name: v.string(), tip: Oid })),
  /** The time of the last fetch. */
  fetched: v.optional(v.number()),
})
export type Refs = v.InferOutput<typeof Refs>

/** Rows of the graph that the page asks for at a time; the first of them come with it. */
export const GRAPH_CHUNK = 100

export const graphQuestions = {
  graph: repeatable({ filter: GraphFilter, from: Count, count: v.pipe(Count, v.maxValue(500)) }, GraphWindow),
  /** The row of a commit or a ref. */
  'graph place': repeatable(
    { filter: GraphFilter, name: v.pipe(v.string(), v.maxLength(1100)) },
    v.object({ row: v.optional(Count) }),
  ),
  /** Commits by words in message, author or hash; the first ones, as many as `described` says, in full. */
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
}
