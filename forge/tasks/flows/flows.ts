/** The workflows, by the names under which the server knows them: the worker's bundle begins here. */
export { fanOut } from './fan-out.ts'
export { run } from './run.ts'
export { step } from './step.ts'
export { task } from './task.ts'
