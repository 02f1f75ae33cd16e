import type { Oid } from './repository.ts'
import { holds, type Where } from './run.ts'

export const isAncestor = (where: Where, ancestor: Oid, of: Oid): Promise<boolean> =>
  holds(where, ['merge-base', '--is-ancestor', ancestor, of])
