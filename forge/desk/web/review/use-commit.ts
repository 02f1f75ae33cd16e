/** Loads a commit with its message and changes. */
import type { Answer } from '../../contract/contract.ts'
import { usePage } from '../page/state.ts'
import { type ServerValue, type ServerValueSettings, useServerValue } from '../ui/server-value.ts'

/** A commit and its request. While another commit is loading, `commit` is undefined. */
export interface KnownCommit {
  commit: Answer<'commit'> | undefined
  asked: ServerValue<Answer<'commit'>>
}

export function useCommit(oid: string | undefined, settings: ServerValueSettings = {}): KnownCommit {
  const page = usePage()
  const ask = oid === undefined ? undefined : () => page.connection.ask('commit', { commit: oid })
  const asked = useServerValue(ask, [page, oid], settings)
  const known = asked.latest.value
  return { commit: known?.row.oid === oid ? known : undefined, asked }
}
