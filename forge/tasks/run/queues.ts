/**
 * The task queues of a repository: its own, for the workflows and what needs nothing special, and one for each thing
 * that not every machine has. So a machine that lacks it is given no such work.
 */

/** Requests to models need a key and the settings of the models; checks need docker and the image. */
export type Part = 'models' | 'checks'
export const PARTS: readonly Part[] = ['models', 'checks']

/** The activities that need the part. */
export const ACTIVITIES_OF = {
  models: ['send', 'submitBatch', 'lookAtBatch', 'cancelBatch', 'collectBatch', 'failBatch'],
  checks: ['validate', 'finish'],
} as const satisfies Record<Part, readonly string[]>

/** The queue for a part of the work of the repository's own queue. */
export const queueOfPart = (queue: string, part: Part): string => `${queue}/${part}`

/** The repository's own queue, of that or of the queue of a part. */
export const ownQueueOf = (queue: string): string =>
  PARTS.reduce((own, part) => (own.endsWith(`/${part}`) ? own.slice(0, -part.length - 1) : own), queue)
