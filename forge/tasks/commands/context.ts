/** What every command of the tasks gets from the program that it is a part of. */
import type { ReadStream } from 'node:tty'
import type { ExitCode } from '../../../core/failure.ts'

export type CommandContext = {
  /** The folder that the command was started in. */
  cwd: string
  env: Record<string, string | undefined>
  /** Aborted by Ctrl-C, or when the terminal or the system ends the command. Its reason is a Failure. */
  signal: AbortSignal
  /** Writes a line to standard output, in which nothing can control a terminal. */
  out: (line: string) => void
  /** The same, to standard error. */
  err: (line: string) => void
  /** Writes to standard output as it is: for what is drawn on a terminal. */
  draw: (text: string) => void
  /** Where a person answers. */
  input: ReadStream
  /** Whether a person can be asked: standard input and output are a terminal. */
  isTerminal: boolean
}

/** A file of a command exports this as `runCommand`. Expected ends but the good ones are thrown as a Failure. */
export type CommandRunner = (argv: string[], context: CommandContext) => Promise<ExitCode>
