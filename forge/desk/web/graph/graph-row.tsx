/** A row of the graph: the labels at its commit, its subject, its author and age. The lanes are drawn beside it. */
import type { BranchInfo } from '../../contract/branches.ts'
import type { GraphRow } from '../../contract/graph.ts'
import { branchTitle } from '../page/branch-facts.ts'
import { runOfBranch } from '../page/branches-of-runs.ts'
import {
  foldLabels,
  isShortLabel,
  KINDS,
  LABEL_LOOKS,
  type Label,
  labelWords,
  type ShownLabel,
  sameOn,
  shortName,
} from '../page/graph-labels.ts'
import { usePage } from '../page/state.ts'
import { OnRemotes } from '../review/commit-labels.tsx'
import { Icon, type IconName } from '../ui/icons.tsx'
import { modelName, readable, shortId, withoutTricks } from '../ui/names.ts'
import { age, timeTitle } from '../ui/times.ts'
import { RefName } from '../ui/words.tsx'
import { outlookLook, outlookWord } from './step-words.tsx'

interface Props {
  row: GraphRow
  index: number
  total: number
  labels: readonly Label[]
  isSelected: boolean
  /** Whether the row was selected last: of several selected ones, it has the focus ring. */
  isActive: boolean
  isFound: boolean
}

export function Row({ row, index, total, labels, isSelected, isActive, isFound }: Props) {
  const { oid, parents, subject, author, committed, model, abandoned } = row
  const { graph } = usePage()
  const isDetached = graph.refs.value?.detached === oid
  const branch = labels.find(label => label.kind === 'branch')
  const look = [
    parents.length > 1 ? 'merge' : '',
    abandoned === undefined ? '' : 'lost',
    isFound ? 'found' : '',
    isActive ? 'active' : '',
  ]
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
        {labels.length > 0 || abandoned || isDetached ? (
          <span class="labels">
            {isDetached ? (
              <span class="label short head" title="HEAD is detached: it is on no branch">
                <Icon name="commit" size="xs" />
                HEAD
              </span>
            ) : null}
            {foldLabels(labels, graph.labelRoom.value).map(shown => (
              <ShownLabelAt key={'label' in shown ? shown.label.ref : shown.words} shown={shown} />
            ))}
            {abandoned ? (
              <span class="label lost" title={readable(abandoned)}>
                <Icon name="ghost" size="xs" />
                <bdi class="cut">{withoutTricks(abandoned)}</bdi>
              </span>
            ) : null}
          </span>
        ) : null}
        <bdi class="cut" title={withoutTricks(subject)}>
          {withoutTricks(subject)}
        </bdi>
        <span class="vh">{hiddenWords(row)}</span>
      </span>
      <span class="who">
        <Icon name={model ? 'bot' : 'user'} size="xs" tone={model ? 'by-ai' : ''} />
        <bdi class="cut">{model === undefined ? withoutTricks(author.name) : modelName(model)}</bdi>
      </span>
      <span class="hash">{shortId(oid)}</span>
      <span class="age" {...timeTitle(committed)}>
        {age(committed)}
      </span>
    </div>
  )
}

/** The lanes beside a row in words, for assistive technology. */
function hiddenWords({ parents, abandoned }: GraphRow): string {
  const kind = parents.length > 1 ? `merge of ${parents.length} commits` : parents.length === 0 ? 'first commit' : ''
  const lost = abandoned === undefined ? '' : 'unreachable'
  const from = parents.length === 0 ? '' : `after ${parents.map(shortId).join(' and ')}`
  return [kind, lost, from, 'by ']
    .filter(Boolean)
    .map(words => `, ${words}`)
    .join('')
}

function ShownLabelAt({ shown }: { shown: ShownLabel }) {
  if ('label' in shown) return <LabelAt label={shown.label} remotes={shown.remotes} />
  return (
    <span class="label remote several" title={shown.folded.map(labelWords).join('\n')}>
      {shown.words}
    </span>
  )
}

/**
 * A label in the graph. A branch is a drop target: during a drag it shows the outcome of a merge into it. A remote one
 * shows the outcome of a rebase onto it, once the pointer is there.
 */
function LabelAt({ label, remotes }: { label: Label; remotes: readonly string[] }) {
  const { drag } = usePage().graph
  const isOver = drag.over.value?.ref === label.ref
  if (label.kind !== 'branch') {
    const previewed = isOver ? drag.previewed.value : undefined
    const over = isOver ? `over ${previewed ? outlookLook(previewed.preview).label : 'none'}` : ''
    return (
      <span
        class={`label ${LABEL_LOOKS[label.kind].look} ${isShortLabel(label) ? 'short' : ''} ${over}`}
        data-ref={label.ref}
        title={labelWords(label)}
      >
        <Icon name={LABEL_LOOKS[label.kind].icon} size="xs" />
        <span class="vh">{KINDS[label.kind]} </span>
        <RefName of={label.name} />
      </span>
    )
  }
  const { name, branch, ref } = label
  const title = titleOf(branch, remotes)
  const { value: dragged } = drag.dragged
  const outlook = dragged ? drag.outlooks.value.get(name) : undefined
  const isSource = dragged?.source.branch === name
  const look = outlook ? outlookLook(outlook) : undefined
  const looks = [isShortLabel(label) ? 'short' : '', isSource ? 'from' : '', look?.label ?? '', isOver ? 'over' : '']
  return (
    <span class={`label ${looks.join(' ')}`} data-ref={ref} data-branch={name} title={title}>
      {look ? (
        <Icon name={look.icon} size="xs" />
      ) : branch.merging ? (
        <Icon name="merge" size="xs" tone="is-warn" />
      ) : (
        <Icon name={iconOf(label, branch.session)} size="xs" tone={branch.session ? 'by-ai' : ''} />
      )}
      <span class="vh">{KINDS.branch} </span>
      <RefName of={name} shown={shortName(name)} title={title} />
      {outlook ? null : <OnRemotes remotes={remotes} />}
      {outlook ? <span class="why">{outlookWord(outlook)}</span> : null}
    </span>
  )
}

function iconOf({ name, isHead }: { name: string; isHead: boolean }, hasSession: boolean): IconName {
  if (hasSession) return 'bot'
  if (isHead) return 'branch'
  return runOfBranch(name) === undefined ? 'sprout' : 'workflow'
}

function titleOf({ name, checkout }: BranchInfo, remotes: readonly string[]): string {
  return `${branchTitle(name, checkout)}${sameOn(remotes)}`
}

/** The placeholder of a row that is loading. */
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
