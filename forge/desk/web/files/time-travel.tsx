/** The bar that says which commit a tab shows. */
import { useEffect } from 'preact/hooks'
import { showInGraph } from '../page/desk-actions.ts'
import { usePage } from '../page/state.ts'
import { CommitLabels } from '../review/commit-labels.tsx'
import { useCommit } from '../review/use-commit.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'
import { ago, fullTime } from '../ui/times.ts'
import { Button } from '../ui/words.tsx'

const SHOW = 'Show in the graph'

/** The width for the tags of the commit, in pixels. */
const TAGS_WIDTH = 240

export function TimeTravel({ commit }: { commit: string }) {
  const page = usePage()
  const row = useCommit(commit).commit?.row
  useEffect(() => page.graph.followRefs(), [page])
  return (
    <div class="then">
      <Icon name="clock" />
      <span class="nowrap">
        Files at <span class="mono">{shortId(commit)}</span>
      </span>
      <CommitLabels commit={commit} room={TAGS_WIDTH} kind="tag" />
      {row ? (
        <>
          <bdi class="cut">{withoutTricks(row.subject)}</bdi>
          <span class="meta cut" title={fullTime(row.committed)}>
            {withoutTricks(row.author.name)}, {ago(row.committed)}
          </span>
          <Button
            look="quiet small"
            icon="graph"
            title={SHOW}
            words={<span class="word">{SHOW}</span>}
            onClick={() => showInGraph(page, commit)}
          />
        </>
      ) : null}
    </div>
  )
}
