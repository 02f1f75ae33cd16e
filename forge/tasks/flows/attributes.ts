/** Search attributes by which the server lists runs and tasks, where it supports them. */
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow'
import type { RunId, RunState, TaskId } from '../contract.ts'

const RUN = { name: 'forgeRun', type: 'KEYWORD' } as const
const TASK = { name: 'forgeTask', type: 'KEYWORD' } as const
const STATE = { name: 'forgeState', type: 'KEYWORD' } as const

const areKnown = (): boolean => workflowInfo().typedSearchAttributes.get(RUN) !== undefined

/** The options with search attributes for a task's workflow. */
export const attributesOfTask = (run: RunId, task: TaskId) =>
  areKnown()
    ? {
        typedSearchAttributes: [
          { key: RUN, value: run },
          { key: TASK, value: task },
        ],
      }
    : {}

/** Updates the state by which this run is listed. */
export class ListedState {
  #shown: RunState | undefined

  show(state: RunState): void {
    if (state === this.#shown || !areKnown()) return
    this.#shown = state
    upsertSearchAttributes([{ key: STATE, value: state }])
  }
}
