/**
 * What the page asks of the tasks: a part of messages.ts. The answers are in tasks-view.ts, which the page loads only
 * where they are shown.
 */
import * as v from 'valibot'

/** Both become words of a command line: they can't be options. */
export const RunId = v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,79}$/))
export const TaskId = v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,39}$/))

const Onto = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1024))

/**
 * What of the runs somebody wants to see; the answers are in `views` of tasks-view.ts. Nothing is begun or started by
 * looking.
 */
export const TasksLook = v.variant('see', [
  v.object({ see: v.literal('mark') }),
  v.object({ see: v.literal('runs') }),
  v.object({ see: v.literal('run'), run: RunId }),
  v.object({ see: v.literal('plan'), run: RunId }),
  v.object({ see: v.literal('task'), run: RunId, task: TaskId }),
  v.object({ see: v.literal('journal'), run: RunId, task: v.optional(TaskId) }),
  v.object({ see: v.literal('landing'), run: RunId, task: v.optional(TaskId), onto: Onto }),
])
export type TasksLook = v.InferOutput<typeof TasksLook>

/** What a person tells a run; the answer is what `forge` said, line by line. */
export const TasksWord = v.variant('tell', [
  v.object({
    tell: v.literal('answer'),
    run: RunId,
    task: v.optional(TaskId),
    text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(20_000)),
  }),
  /** `seen`: the sign of the plan that was shown. Where it is another by now, nothing is done. */
  v.object({ tell: v.literal('approve'), run: RunId, seen: v.pipe(v.string(), v.regex(/^[0-9a-f]{40}$/)) }),
  v.object({ tell: v.literal('pause'), run: RunId, task: v.optional(TaskId) }),
  v.object({
    tell: v.literal('resume'),
    run: RunId,
    task: v.optional(TaskId),
    /** What all of it may take from now on: in US dollars, requests or minutes. */
    limits: v.optional(
      v.partial(
        v.object({
          cost: v.pipe(v.number(), v.minValue(0.01), v.maxValue(999_999)),
          requests: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(999_999_999)),
          minutes: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(999_999_999)),
        }),
      ),
    ),
  }),
  v.object({ tell: v.literal('stop'), run: RunId, task: v.optional(TaskId) }),
  /**
   * `tree`: what was shown to come of it. Where it is another by now, nothing is done. `anyway`: the person was told
   * that nobody has checked it.
   */
  v.object({
    tell: v.literal('land'),
    run: RunId,
    task: v.optional(TaskId),
    onto: Onto,
    tree: v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)),
    anyway: v.optional(v.literal(true)),
  }),
])
export type TasksWord = v.InferOutput<typeof TasksWord>
