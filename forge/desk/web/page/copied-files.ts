import type { At } from '../../contract/values.ts'

/**
 * The files and folders that Copy or Cut in the explorer has taken, for Paste, which pastes them as they are then.
 * `isCut`: Paste moves them instead. `folders`: those of the paths that are folders.
 */
export interface CopiedFiles {
  at: At
  paths: readonly string[]
  isCut: boolean
  folders: ReadonlySet<string>
}
