/**
 * The workflows, by the names under which the server knows them: the worker's bundle begins here. Those of versions
 * before had the names `run`, `task`, `step` and `fanOut`: engine/older.ts says what becomes of runs that they began.
 */
export { forgeAttempt } from './attempt.ts'
export { forgeFanOut } from './fan-out.ts'
export { forgeRun } from './run.ts'
