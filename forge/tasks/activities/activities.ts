/** What the flows may do. */
import type { Repository } from '../../../core/git/repository.ts'

type Environment = Record<string, string | undefined>

/** All activities, for a worker of a repository. */
export function makeActivities(_: {
  repository: Repository
  env: Environment
  signal: AbortSignal
  log: (line: string) => void
}): object {
  return { hello: async (name: string): Promise<string> => `Hello ${name}` }
}
