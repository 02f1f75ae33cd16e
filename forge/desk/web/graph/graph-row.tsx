/** A row of the graph: the labels that stand at its commit, its subject, who made it and when. Lanes are beside it. */
import type { GraphRow } from '../../contract/graph.ts'
import { usePage } from '../app/state.ts'
import { Icon } from '../ui/icons.tsx'
import { readable, shortId, withoutTricks } from '../ui/names.ts'
import { age, timeTitle } from '../ui/times.ts'
import { KINDS, type Label, labelWords } from './graph-labels.ts'
import { outlookLook, outlookWord } from './step-words.tsx'

/** More labels at one commit are counted. */
const MOST_LABELS = 3

interface Props {
  row: GraphRow
  index: number
  total: number
  labels: readonly Label[]
  isSelected: boolean
  isFound: boolean
}

export function Row({ row, index, total, labels, isSelected, isFound }: Props) {
  const { oid, parents, subject, author, committed, model, abandoned } = row
  const branch = labels.find(label => label.kind === 'branch')
  const look = [parents.length > 1 ? 'merge' : '', abandoned === undefined ? '' : 'lost', isFound ? 'found' : '']
  return (
    <div
      role="option"
      id={`row-${index}`}
      tabIndex={-1}
      aria-selected={isSelected}
      aria-setsize={total}
      aria-posinset={index + 1}
      class={`crow graph-row ${look.join(' ')}`}
      data-row={index}
      data-onto={branch?.name}
    >
      <span class="subject">
        {labels.slice(0, MOST_LABELS).map(label => (
          <LabelAt key={label.ref} label={label} />
        ))}
        {labels.length > MOST_LABELS ? (
          <span class="label remote" title={labels.slice(MOST_LABELS).map(labelWords).join('\n')}>
            +{labels.length - MOST_LABELS}
          </span>
        ) : null}
        {abandoned ? (
          <span class="label lost" title={readable(abandoned)}>
            <Icon name="ghost" size="xs" />
            <bdi class="cut">{withoutTricks(abandoned)}</bdi>
          </span>
        ) : null}
        <bdi class="cut">{withoutTricks(subject)}</bdi>
        <span class="vh">{hiddenWords(row)}</span>
      </span>
      <span class="who">
        <Icon name={model ? 'bot' : 'user'} size="xs" tone={model ? 'by-ai' : ''} />
        <bdi class="cut">{withoutTricks(model ?? author.name)}</bdi>
      </span>
      <span class="hash">{shortId(oid)}</span>
      <span class="age" {...timeTitle(committed)}>
        {age(committed)}
      </span>
    </div>
  )
}

/** What the lanes beside a row say, for those who do not see them. */
function hiddenWords({ parents, abandoned }: GraphRow): string {
  const kind = parents.length > 1 ? `merge of ${parents.length} commits` : parents.length === 0 ? 'first commit' : ''
  const lost = abandoned === undefined ? '' : 'abandoned'
  const from = parents.length === 0 ? '' : `after ${parents.map(shortId).join(' and ')}`
  return [kind, lost, from, 'by ']
    .filter(Boolean)
    .map(words => `, ${words}`)
    .join('')
}

/** A label in the graph. A branch is a target for what is dragged: then it says how a merge into it would come out. */
function LabelAt({ label }: { label: Label }) {
  const { drag } = usePage().graph
  if (label.kind !== 'branch') {
    return (
      <span
        class={`label ${label.kind === 'tag' ? 'tagged' : 'remote'}`}
        data-ref={label.ref}
        title={labelWords(label)}
      >
        <Icon name={label.kind === 'tag' ? 'tag' : 'cloud'} size="xs" />
        <span class="vh">{KINDS[label.kind]} </span>
        <bdi class="cut">{readable(label.name)}</bdi>
      </span>
    )
  }
  const { name, branch, ref } = label
  const { value: dragged } = drag.dragged
  const outlook = dragged ? drag.outlooks.value.get(name) : undefined
  const isSource = dragged?.source.branch === name
  const look = outlook ? outlookLook(outlook) : undefined
  const looks = [isSource ? 'from' : '', look?.label ?? '', drag.over.value === name ? 'over' : '']
  return (
    <span class={`label ${looks.join(' ')}`} data-ref={ref} data-branch={name} title={readable(name)}>
      {look ? (
        <Icon name={look.icon} size="xs" />
      ) : branch.merging ? (
        <Icon name="merge" size="xs" tone="is-warn" />
      ) : (
        <Icon
          name={label.isHead && !branch.session ? 'branch' : branch.session ? 'bot' : 'sprout'}
          size="xs"
          tone={branch.session ? 'by-ai' : ''}
        />
      )}
      <span class="vh">{KINDS.branch} </span>
      <bdi class="cut">{readable(name)}</bdi>
      {outlook ? <span class="why">{outlookWord(outlook)}</span> : null}
    </span>
  )
}

/** What a row is called when it is not there yet. */
export function RowToCome({ index }: { index: number }) {
  return (
    <div
      role="option"
      id={`row-${index}`}
      tabIndex={-1}
      aria-selected={false}
      aria-label={`Commit ${index + 1}, not read yet`}
      class="crow graph-row"
      data-row={index}
    />
  )
}
