/** How a run can end: the exit codes, and the one error that carries one. */
const ends = { done: 0, error: 1, timedOut: 2, refused: 3, stuck: 4, agentFailed: 5, usage: 64 } as const
/** As the orchestrator calls its own: its budget or time was not enough, or a person has to say something. */
const endsOfRuns = { outOfBudget: 2, asks: 4 } as const
export const EXIT = { ...ends, ...endsOfRuns, interrupted: 130, terminated: 143 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An end that a user can meet: its message is one sentence that says what happened and what to do next. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly code: ExitCode = EXIT.error,
  ) {
    super(message)
  }
}
