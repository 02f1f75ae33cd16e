/** What a tool is: something that a model can call, which works on files through the Vfs alone. */
import { Failure } from '../../core/failure.ts'
import type { Path } from '../../core/git/repository.ts'
import type { WorkInProgressVfs } from '../vfs.ts'
import type { ToolDescription } from './request.ts'

/** What a tool may use. It has nothing else. */
export type ToolContext = {
  /** The turn's files. */
  vfs: WorkInProgressVfs
  /** Makes a file's whole content part of the context, or takes it out again. */
  activate: (path: Path) => void
  deactivate: (path: Path) => void
  /** The files whose whole content the model has. */
  active: ReadonlySet<Path>
  /** How often an edit of a file has found no place in this turn, as the turn counts it. */
  misses: ReadonlyMap<Path, number>
  /** How a file was changed since the last turn, by others: `in the commit abc12345 by Ann`. Undefined: it was not. */
  changed: (path: Path) => Promise<string | undefined>
  /** Waits for a person, which takes nothing of the turn's time. */
  forPerson: <Value>(wait: () => Promise<Value>) => Promise<Value>
  signal: AbortSignal
}

/** What tools may use where there is no conversation: the files alone, without a person and without a context. */
export const contextWithoutPerson = (vfs: WorkInProgressVfs, signal: AbortSignal): ToolContext => ({
  vfs,
  activate: () => undefined,
  deactivate: () => undefined,
  active: new Set<Path>(),
  misses: new Map(),
  changed: async () => undefined,
  forPerson: () => {
    throw new Failure('There is no person to ask.')
  },
  signal,
})

export type ToolResult = {
  /** What the model reads: short, and it says what changed. */
  text: string
  isError: boolean
  /** What a person reads of it on one line, e.g. the path and how many lines. */
  words: string
  /** The file that an edit found no place in. */
  missed?: Path
  /** Files that it wrote, renamed or deleted. */
  touched?: readonly Path[]
}

export interface Tool {
  readonly description: ToolDescription
  /** What a person reads while it runs, from what the model sent (any shape): write_file lease.ts. */
  title(sent: unknown): string
  /** Checks what the model sent and acts on it: all of it or nothing. Expected failures are results, not errors. */
  run(sent: unknown, room: ToolContext): Promise<ToolResult>
}
