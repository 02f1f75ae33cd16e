/** What every command of the tasks gets from its caller. */
import type { ReadStream } from 'node:tty'
import type { ExitCode } from '../../../core/failure.ts'

export type CommandContext = {
  /** The current folder. */
  cwd: string
  env: Record<string, string | undefined>
  /** Aborted by Ctrl-C, or when the terminal or the system ends the command. Its reason is a Failure. */
  signal: AbortSignal
  /** Writes a line to standard output, with control characters escaped. */
  out: (line: string) => void
  /** Like `out`, but writes to standard error. */
  err: (line: string) => void
  /** Writes to standard output unescaped: for drawing on a terminal. */
  draw: (text: string) => void
  /** Standard input, from which answers to questions are read. */
  input: ReadStream
  /** Whether questions can be asked: standard input and output are a terminal. */
  isTerminal: boolean
}

/** The function that a command's file exports as `runCommand`. Expected failures are thrown as a Failure. */
export type CommandRunner = (argv: string[], context: CommandContext) => Promise<ExitCode>
