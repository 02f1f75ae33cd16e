/** The dialog to choose the base of a review by a few letters: any branch, remote branch, tag or commit. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useMemo } from 'preact/hooks'
import type { DialogContent } from '../page/dialog-content.ts'
import { type Base, basesFor, commitBase, mergeBases } from '../page/review-base.ts'
import { usePage } from '../page/state.ts'
import { byRank, typedRank } from '../page/typed-refs.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { Icon } from '../ui/icons.tsx'
import { readable, withoutTricks } from '../ui/names.ts'
import { age } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { RefName } from '../ui/words.tsx'
import { useFoundCommits } from './found-commits.ts'
import { useCommit } from './use-commit.ts'

const ROW_HEIGHT = 28
const MAX_COMMITS = 50

const ICONS = {
  branch: 'branch',
  'remote branch': 'cloud',
  tag: 'tag',
  commit: 'commit',
  'own merge': 'merge',
} as const

interface Props {
  content: Extract<DialogContent, { kind: 'base' }>
  close: () => void
}

export function BaseDialog({ content, close }: Props) {
  const page = usePage()
  const words = useSignal('')
  const at = useSignal(0)
  const id = useId()
  const commits = useFoundCommits(words.value.trim(), MAX_COMMITS).commits
  useEffect(() => {
    page.graph.needRefs()
  }, [page])
  const { value: refs } = page.graph.refs
  const branches = page.desk.value?.branches ?? []
  const bases = useMemo(() => basesFor(content.branch, branches, refs), [content.branch, branches, refs])
  const { commit } = useCommit(content.commit)
  const parents = commit ? mergeBases(commit.row.oid, commit.row.parents) : []
  const typed = words.value.trim()
  const wanted = typed.toLowerCase()
  const named = [...parents, ...bases].filter(({ name }) => readable(name).toLowerCase().includes(wanted))
  const ranked = byRank(named, ({ kind, name }) => typedRank(typed, kind, name))
  const options = [...ranked, ...commits.map(commitBase)]
  const active = Math.max(0, Math.min(at.value, options.length - 1))
  const choose = (base = options[active]) => {
    if (!base) return
    close()
    content.run(base)
  }
  return (
    <DialogFrame title={content.title} close={close} look="narrow">
      <form
        onSubmit={event => {
          event.preventDefault()
          choose()
        }}
      >
        <div class="dialog-body">
          <label for={id}>Branch, tag or commit</label>
          <input
            id={id}
            class="field"
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={options.length > 0 ? `${id}-${active}` : undefined}
            autocomplete="off"
            spellcheck={false}
            autofocus
            placeholder="Name, message or hash"
            onInput={event => {
              words.value = event.currentTarget.value
              at.value = 0
            }}
            onKeyDown={event => {
              const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key]
              if (by === undefined) return
              event.preventDefault()
              at.value = Math.max(0, Math.min(active + by, options.length - 1))
            }}
          />
        </div>
        <VirtualList
          class="targets"
          role="listbox"
          id={`${id}-list`}
          aria-label="What to compare with"
          count={options.length}
          rowHeight={ROW_HEIGHT}
          active={active}
          listOf={wanted}
          row={index => {
            const base = options[index]
            if (!base) return null
            return (
              // The field has the focus and handles the keys.
              // biome-ignore lint/a11y/useKeyWithClickEvents: see above
              <div
                key={`${base.kind} ${base.name}`}
                role="option"
                id={`${id}-${index}`}
                tabIndex={-1}
                aria-selected={index === active}
                class="target"
                onClick={() => choose(base)}
              >
                <Icon name={ICONS[base.kind]} />
                <BaseName of={base} />
                <span class="grow" />
                <span class="meta">
                  {base.kind === 'own merge' ? 'what was changed by hand' : <span class="vh">{base.kind} </span>}
                  {base.committed === undefined ? '' : age(base.committed)}
                </span>
              </div>
            )
          }}
        />
        {options.length === 0 ? <p class="none meta">No results</p> : null}
        <footer>
          <span class="grow" />
          <CloseButton close={close} />
          <button type="submit" class="button main" aria-disabled={options.length === 0}>
            Compare
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}

export function BaseName({ of: { kind, name } }: { of: Base }) {
  // The name of a commit includes its subject, which is text rather than a byte string.
  return kind === 'commit' || kind === 'own merge' ? (
    <bdi class="cut">{withoutTricks(name)}</bdi>
  ) : (
    <RefName of={name} />
  )
}
