import type { At } from '../../contract/values.ts'

/** The branch or commit of an open file, and its path. Both change while it is open, where they are renamed. */
export interface FilePath {
  readonly at: At
  readonly path: string
}
