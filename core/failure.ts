/** The exit codes of the programs, and the error class that carries one. */
const ends = { done: 0, error: 1, timedOut: 2, refused: 3, stuck: 4, agentFailed: 5, usage: 64 } as const
/** Exit codes of the orchestrator: a budget or time limit was reached, or a question waits for a person. */
const endsOfRuns = { outOfBudget: 2, asks: 4 } as const
export const EXIT = { ...ends, ...endsOfRuns, interrupted: 130, terminated: 143 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An expected failure. Its message is one sentence for the user: what happened, and what to do next. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly code: ExitCode = EXIT.error,
  ) {
    super(message)
  }
}
