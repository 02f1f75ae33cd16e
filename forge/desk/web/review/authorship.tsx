/** The author of a commit, its model, and its time; where it was made again later, the committer and both times. */
import type { CommitRow } from '../../contract/reading.ts'
import { modelName, withoutTricks } from '../ui/names.ts'
import { timeTitle, whenWords } from '../ui/times.ts'

export function Authorship({ of: { author, model, authored, committed } }: { of: CommitRow }) {
  return (
    <p class="meta">
      <bdi>{withoutTricks(author.name)}</bdi>
      {model ? (
        <span class="by-ai" title={withoutTricks(model)}>
          {' with '}
          {modelName(model)}
        </span>
      ) : null}
      , <span {...timeTitle(authored ?? committed)}>{whenWords(authored ?? committed)}</span>
      {authored === undefined ? null : (
        <>
          , committed <span {...timeTitle(committed)}>{whenWords(committed)}</span>
        </>
      )}
    </p>
  )
}
