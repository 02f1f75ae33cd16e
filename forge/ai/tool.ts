/** The interface of a tool, which a model can call and which works on files through the Vfs alone. */
import { Failure } from '../../core/failure.ts'
import type { Path } from '../../core/git/repository.ts'
import type { WorkInProgressVfs } from '../vfs.ts'
import type { ToolDescription } from './request.ts'

/** All that a tool may use. */
export type ToolContext = {
  /** The turn's files. */
  vfs: WorkInProgressVfs
  /** Adds a file's whole content to the context; `deactivate` removes it. */
  activate: (path: Path) => void
  deactivate: (path: Path) => void
  /** The files whose whole content is in the context. */
  active: ReadonlySet<Path>
  /** For each file, how many edits in this turn did not find their search text. */
  misses: ReadonlyMap<Path, number>
  /**
   * How others changed a file since the last turn, e.g. `in the commit abc12345 by Ann`; undefined where they did not.
   */
  changed: (path: Path) => Promise<string | undefined>
  /** Runs `wait`, which waits for the user, with the turn's clock stopped. */
  forPerson: <Value>(wait: () => Promise<Value>) => Promise<Value>
  signal: AbortSignal
}

/** A context for tools without a conversation: only files, no user and no active files. */
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
  /** The result for the model: short, with what changed. */
  text: string
  isError: boolean
  /** The result for the user, on one line, e.g. the path and the number of lines. */
  words: string
  /** The file in which an edit did not find its search text. */
  missed?: Path
  /** The files that the tool wrote, renamed or deleted. */
  touched?: readonly Path[]
}

export interface Tool {
  readonly description: ToolDescription
  /** The title shown while the tool runs, e.g. `write_file lease.ts`. `sent` may have any shape. */
  title(sent: unknown): string
  /** Parses the arguments and acts on them completely or not at all. Expected failures are results, not errors. */
  run(sent: unknown, room: ToolContext): Promise<ToolResult>
}
