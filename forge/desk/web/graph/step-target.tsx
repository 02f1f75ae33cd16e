/** Chooses the branch that something is done with, by keyboard: each with the words of what would come of it. */
import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import type { DialogContent } from '../app/dialog-content.ts'
import { usePage } from '../app/state.ts'
import { DialogFrame } from '../ui/dialog-frame.tsx'
import { BranchIcon, Icon } from '../ui/icons.tsx'
import { readable } from '../ui/names.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Button, Name } from '../ui/words.tsx'
import { splitByRun } from './branches-of-runs.ts'
import { outlookLook } from './step-words.tsx'

interface Props {
  content: Extract<DialogContent, { kind: 'target' }>
  close: () => void
}

const ROW_HEIGHT = 28
/** So many above and below the chosen one are asked for. */
const NEAR = 12

export function TargetDialog({ content, close }: Props) {
  const page = usePage()
  const { drag } = page.graph
  const { source, way } = content
  const words = useSignal('')
  const at = useSignal(0)
  const id = useId()
  const wanted = words.value.toLowerCase()
  const matching = page.graph.branches.value
    .filter(({ name }) => name !== source.branch && readable(name).toLowerCase().includes(wanted))
    .toSorted((one, other) => Number(other.name === page.desk.value?.head) - Number(one.name === page.desk.value?.head))
  // Those of runs are found by their names, and stand behind one's own.
  const { own, ofRuns } = splitByRun(matching)
  const branches = wanted === '' ? own : [...own, ...ofRuns]
  const active = Math.max(0, Math.min(at.value, branches.length - 1))
  const near = branches.slice(Math.max(0, active - NEAR), active + NEAR).map(({ name }) => name)
  const key = near.join('\0')
  useEffect(() => {
    drag.begin(source, way)
    return () => drag.end()
  }, [drag, source, way])
  useEffect(() => {
    drag.lookAt(near)
  }, [key])
  const choose = () => {
    const branch = branches[active]
    if (!branch) return
    close()
    content.run(branch.name)
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
          <label for={id}>Branch</label>
          <input
            id={id}
            class="field"
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={branches.length > 0 ? `${id}-${active}` : undefined}
            autocomplete="off"
            spellcheck={false}
            autofocus
            onInput={event => {
              words.value = event.currentTarget.value
              at.value = 0
            }}
            onKeyDown={event => {
              const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key]
              if (by === undefined) return
              event.preventDefault()
              at.value = Math.max(0, Math.min(active + by, branches.length - 1))
            }}
          />
        </div>
        <VirtualList
          class="targets"
          role="listbox"
          id={`${id}-list`}
          aria-label="Branches"
          count={branches.length}
          rowHeight={ROW_HEIGHT}
          active={active}
          row={index => {
            const branch = branches[index]
            if (!branch) return null
            const outlook = drag.outlooks.value.get(branch.name)
            return (
              // The keys are those of the field, which has the focus.
              // biome-ignore lint/a11y/useKeyWithClickEvents: see above
              <div
                key={branch.name}
                role="option"
                id={`${id}-${index}`}
                tabIndex={-1}
                aria-selected={index === active}
                class="target"
                onClick={() => {
                  at.value = index
                }}
                onDblClick={choose}
              >
                <BranchIcon hasSession={branch.session} />
                <Name of={branch.name} />
                <span class="grow" />
                {outlook ? (
                  <span class={`outlook ${outlookLook(outlook).tone}`} title={readable(outlook.words)}>
                    <Icon name={outlookLook(outlook).icon} size="xs" />
                    <span class="cut">{readable(outlook.words)}</span>
                  </span>
                ) : (
                  <span class="meta" />
                )}
              </div>
            )
          }}
        />
        <footer>
          <span class="grow" />
          <Button words="Cancel" keys="Esc" onClick={close} />
          <button type="submit" class="button main" aria-disabled={branches.length === 0}>
            Go on
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}
