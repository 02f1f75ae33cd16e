/** What the desk knows of models: which there are, and how far a turn may go. Without a key everything else works. */
import type { Limits } from '../ai/budget.ts'
import type { Model } from '../ai/request.ts'
import type { Clean } from '../ai/session.ts'

export type Models = {
  /** Those that can be chosen; the default one first, where there is one. */
  readonly names: readonly string[]
  /** The one that is asked where a branch has chosen none. */
  readonly usual: string | undefined
  readonly limits: Limits
  /** Why a model (the usual one, where none is named) can't be asked: what to set, in one line. */
  missing: (name?: string) => string | undefined
  /** How many tokens a request and its answer may have together; 0 where nobody knows. */
  windowOf: (name: string) => number
  /** Throws a Failure where it can't be asked. */
  open: (name: string) => Promise<Model>
  /** Blacks out what looks like a secret, and the keys of the models themselves. */
  clean: Clean
}

/** For a desk that was opened without any. */
export const NO_MODELS: Models = {
  names: [],
  usual: undefined,
  limits: { steps: 0, seconds: 0, cost: 0 },
  missing: () => 'This desk was opened without models.',
  windowOf: () => 0,
  open: async name => {
    throw new Error(`There is no model ${name}`)
  },
  clean: text => text,
}
