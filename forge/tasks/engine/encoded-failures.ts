/** Converts failures with their messages and stack traces as payloads, so that they are encrypted like all others. */
import { DefaultFailureConverter } from '@temporalio/common'

/** The name by which Temporal's SDK finds it. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true })
