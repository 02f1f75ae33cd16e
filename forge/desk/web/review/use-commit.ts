/** A commit with its message and its changes, by its id. */
import type { Answer } from '../../contract/contract.ts'
import { usePage } from '../page/state.ts'
import { type ServerValue, type ServerValueSettings, useServerValue } from '../ui/server-value.ts'

/** What is known of one commit; of another one, which was shown before, nothing. */
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
