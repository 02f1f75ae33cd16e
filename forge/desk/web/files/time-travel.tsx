/** Says which moment of history a tab shows. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CommitRow } from '../../contract/reading.ts'
import { usePage } from '../app/state.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'
import { ago, fullTime } from '../ui/times.ts'

export function TimeTravel({ commit }: { commit: string }) {
  const page = usePage()
  const row = useSignal<CommitRow | undefined>(undefined)
  useEffect(() => {
    page.connection.ask('commit', { commit }).then(
      answer => {
        row.value = answer.row
      },
      () => {},
    )
  }, [page, commit, row])
  const { value } = row
  return (
    <div class="then">
      <Icon name="clock" />
      <span class="nowrap">
        Files at <span class="mono">{shortId(commit)}</span>
      </span>
      {value ? (
        <>
          <bdi class="cut">{withoutTricks(value.subject)}</bdi>
          <span class="grow" />
          <span class="meta nowrap" title={fullTime(value.committed)}>
            {value.author.name}, {ago(value.committed)}
          </span>
        </>
      ) : null}
    </div>
  )
}
