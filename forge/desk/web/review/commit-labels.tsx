/** The branches and tags at a commit, beside its subject. */
import {
  foldLabels,
  isShortLabel,
  KINDS,
  LABEL_LOOKS,
  type Label,
  labelWords,
  sameOn,
  shortName,
} from '../page/graph-labels.ts'
import { usePage } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import { readable } from '../ui/names.ts'
import { RefName } from '../ui/words.tsx'

interface Props {
  commit: string
  /** The width for the labels, in pixels. */
  room: number
  /** Shows labels of this kind only. */
  kind?: Label['kind']
  /** The branch whose history it is: its label is the first one. */
  first?: string | undefined
}

/** The labels at a commit, as many as fit into a width; the others are counted. */
export function CommitLabels({ commit, room, kind, first }: Props) {
  const all = usePage().graph.labels.value.get(commit) ?? []
  const ofKind = kind === undefined ? all : all.filter(label => label.kind === kind)
  const isOther = (label: Label) => Number(label.kind !== 'branch' || label.name !== first)
  const labels = ofKind.toSorted((one, other) => isOther(one) - isOther(other))
  if (labels.length === 0) return null
  return (
    <span class="labels">
      {foldLabels(labels, room).map(shown =>
        'label' in shown ? (
          <span
            key={shown.label.ref}
            class={`label ${LABEL_LOOKS[shown.label.kind].look} ${isShortLabel(shown.label) ? 'short' : ''}`}
            title={`${labelWords(shown.label)}${sameOn(shown.remotes)}`}
          >
            <Icon name={LABEL_LOOKS[shown.label.kind].icon} size="xs" />
            <span class="vh">{KINDS[shown.label.kind]} </span>
            <RefName of={shown.label.name} shown={shortName(shown.label.name)} />
            <OnRemotes remotes={shown.remotes} />
          </span>
        ) : (
          <span key={shown.words} class="label remote several" title={shown.folded.map(labelWords).join('\n')}>
            {shown.words}
          </span>
        ),
      )}
    </span>
  )
}

/** The sign in the label of a branch that remotes have at the same commit, too. */
export function OnRemotes({ remotes }: { remotes: readonly string[] }) {
  if (remotes.length === 0) return null
  return (
    <>
      <Icon name="cloud" size="xs" />
      <span class="vh"> and on {remotes.map(readable).join(', ')}</span>
    </>
  )
}
