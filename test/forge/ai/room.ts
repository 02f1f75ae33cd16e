/** The context of a tool, as a turn makes it. */
import type { ToolContext } from '../../../forge/ai/tool.ts'
import type { WorkInProgressVfs } from '../../../forge/vfs.ts'

export const roomOf = (vfs: WorkInProgressVfs, signal: AbortSignal): ToolContext => ({
  vfs,
  activate: () => undefined,
  deactivate: () => undefined,
  active: new Set(),
  misses: new Map(),
  changed: async () => undefined,
  forPerson: wait => wait(),
  signal,
})
