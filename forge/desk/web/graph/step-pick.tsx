/** The dialog to choose a branch or a commit from a list, with the outcome of the step for each. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Outlook } from '../../contract/steps.ts'
import type { Choice, DialogContent } from '../page/dialog-content.ts'
import { usePage } from '../page/state.ts'
import { byRank, typedRank } from '../page/typed-refs.ts'
import { useFoundCommits } from '../review/found-commits.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { Icon } from '../ui/icons.tsx'
import { readable, withoutTricks } from '../ui/names.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Name, RefName, Waiting } from '../ui/words.tsx'
import { outlookLook } from './step-words.tsx'

interface Props {
  content: Extract<DialogContent, { kind: 'pick' }>
  close: () => void
}

const ROW_HEIGHT = 28
/** At most this many commits are found by typed words: the newest. */
const MAX_FOUND_COMMITS = 50
/** Outcomes are loaded for this many choices above and below the active one. */
const NEAR_CHOICES = 12
/** At most this many outcomes are requested at a time, since each takes long in a long history. */
const OUTLOOKS_AT_ONCE = 4

export function PickDialog({ content, close }: Props) {
  const words = useSignal('')
  const at = useSignal(0)
  const id = useId()
  const typed = words.value.trim()
  const wanted = typed.toLowerCase()
  const all = content.choices()
  const named = (all ?? []).filter(({ words, meta, isRare }) =>
    wanted === '' ? !isRare : `${readable(words)} ${meta ?? ''}`.toLowerCase().includes(wanted),
  )
  const ranked = byRank(named, ({ kind, words }) => typedRank(typed, kind, words))
  const { found } = content
  const { commits, isWaiting } = useFoundCommits(found ? typed : '', MAX_FOUND_COMMITS)
  const choices = found ? [...ranked, ...commits.map(found)] : ranked
  const active = Math.max(0, Math.min(at.value, choices.length - 1))
  const outlooks = useOutlooks(choices.slice(Math.max(0, active - NEAR_CHOICES), active + NEAR_CHOICES))
  // Enter was pressed before the choices for these words had arrived: the first one is chosen when they do.
  const isEager = useSignal(false)
  const isComing = choices.length === 0 && (!all || isWaiting)
  const choose = () => {
    const choice = choices[active]
    isEager.value = isComing
    if (!choice) return
    close()
    choice.run()
  }
  useEffect(() => {
    if (isEager.value && !isComing) choose()
  })
  return (
    <DialogFrame title={content.title} close={close} look="pick-dialog">
      <form
        onSubmit={event => {
          event.preventDefault()
          choose()
        }}
      >
        <div class="dialog-body">
          <label for={id}>{content.label}</label>
          <input
            id={id}
            class="field"
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={choices.length > 0 ? `${id}-${active}` : undefined}
            autocomplete="off"
            spellcheck={false}
            autofocus
            onInput={event => {
              words.value = event.currentTarget.value
              at.value = 0
              isEager.value = false
            }}
            onKeyDown={event => {
              const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key]
              if (by === undefined) return
              event.preventDefault()
              at.value = Math.max(0, Math.min(active + by, choices.length - 1))
            }}
          />
        </div>
        {choices.length > 0 ? (
          <VirtualList
            class="targets"
            role="listbox"
            id={`${id}-list`}
            aria-label={content.list}
            count={choices.length}
            rowHeight={ROW_HEIGHT}
            active={active}
            row={index => {
              const choice = choices[index]
              if (!choice) return null
              return (
                // The field has the focus and handles the keys.
                // biome-ignore lint/a11y/useKeyWithClickEvents: see above
                <div
                  key={choice.key}
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
                  <Icon name={choice.icon} tone={choice.tone ?? ''} />
                  {choice.icon === 'commit' ? <Name of={choice.words} /> : <RefName of={choice.words} />}
                  <span class="grow" />
                  {choice.meta === undefined ? null : <span class="meta nowrap">{choice.meta}</span>}
                  <OutlookWord outlook={outlooks.get(choice.key)} />
                </div>
              )
            }}
          />
        ) : (
          <div class="targets none">
            {isComing ? (
              <Waiting words="Loading…" />
            ) : (
              <p class="meta">{wanted === '' ? content.none : 'No results'}</p>
            )}
          </div>
        )}
        <footer>
          <span class="grow" />
          <CloseButton close={close} />
          <button type="submit" class="button main" aria-disabled={choices.length === 0}>
            Continue
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}

function OutlookWord({ outlook }: { outlook: Outlook | undefined }) {
  if (!outlook) return null
  const { tone, icon } = outlookLook(outlook)
  return (
    <span class={`outlook ${tone}`} title={withoutTricks(outlook.words)}>
      <Icon name={icon} size="xs" />
      <span class="cut">{withoutTricks(outlook.words)}</span>
    </span>
  )
}

/**
 * The outcome (such as clean or conflicts) of the step that each choice would run, by the choice's key; each is loaded
 * once.
 */
function useOutlooks(near: readonly Choice[]): ReadonlyMap<string, Outlook> {
  const page = usePage()
  const known = useSignal<ReadonlyMap<string, Outlook>>(new Map())
  const asked = useRef(new Set<string>())
  const steps = near.flatMap(({ key, step }) => (step === undefined ? [] : [{ key, step }]))
  useEffect(() => {
    const wanted = steps.filter(({ key }) => !asked.current.has(key))
    for (const { key } of wanted) asked.current.add(key)
    const ask = async () => {
      for (let from = 0; from < wanted.length; from += OUTLOOKS_AT_ONCE) {
        const some = wanted.slice(from, from + OUTLOOKS_AT_ONCE)
        const answers = await page.connection.ask('outlooks', { steps: some.map(({ step }) => step) })
        const pairs = some.flatMap(({ key }, index) => (answers[index] ? [[key, answers[index]] as const] : []))
        known.value = new Map([...known.peek(), ...pairs])
      }
    }
    // A choice can be made without its outcome: the preview then says what failed.
    ask().catch(() => {})
  }, [steps.map(({ key }) => key).join('\0')])
  return known.value
}
