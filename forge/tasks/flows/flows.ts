/**
 * The workflows, by the names under which the server knows them: the entry of the worker's bundle. Earlier versions had
 * the names `run`, `task`, `step` and `fanOut`; see engine/older.ts for runs that they began.
 */
export { forgeAttempt } from './attempt.ts'
export { forgeBudget } from './budget.ts'
export { forgeBatch } from './collector.ts'
export { forgeFanOut } from './fan-out.ts'
export { forgeLearn, forgeLessons } from './learn.ts'
export { forgeRun } from './run.ts'
