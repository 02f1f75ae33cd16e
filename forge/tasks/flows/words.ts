/** What a person may say to a run while it is under way, and what it answers. Each update is refused with a sentence. */
import { defineQuery, defineUpdate } from '@temporalio/workflow'
import type { Limits, Reference, RunStatus, TaskId } from '../contract.ts'

export const status = defineQuery<RunStatus>('status')
export const approve = defineUpdate<void, [Reference]>('approve')
export const answer = defineUpdate<void, [TaskId | '', Reference]>('answer')
export const pause = defineUpdate<void, [TaskId?]>('pause')
export const resume = defineUpdate<void, [TaskId?]>('resume')
export const stop = defineUpdate<void, [TaskId?]>('stop')
export const raise = defineUpdate<void, [Partial<Limits>]>('raise')
