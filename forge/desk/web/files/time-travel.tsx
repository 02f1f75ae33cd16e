/** The bar that says which commit a tab shows. */
import { useCommit } from '../review/use-commit.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'
import { ago, fullTime } from '../ui/times.ts'

export function TimeTravel({ commit }: { commit: string }) {
  const row = useCommit(commit).commit?.row
  return (
    <div class="then">
      <Icon name="clock" />
      <span class="nowrap">
        Files at <span class="mono">{shortId(commit)}</span>
      </span>
      {row ? (
        <>
          <bdi class="cut">{withoutTricks(row.subject)}</bdi>
          <span class="grow" />
          <span class="meta nowrap" title={fullTime(row.committed)}>
            {row.author.name}, {ago(row.committed)}
          </span>
        </>
      ) : null}
    </div>
  )
}
