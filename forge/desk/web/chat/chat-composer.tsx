/** The message to the AI: a field, and a button to send or stop. */
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { keep, kept } from '../page/kept.ts'
import { usePlace } from '../page/places.ts'
import { type Tab, usePage } from '../page/state.ts'
import { clock, money } from '../ui/figures.ts'
import { Icon } from '../ui/icons.tsx'
import { useKeptSelection } from '../ui/kept-selection.ts'
import { modelName, readable, withoutTricks } from '../ui/names.ts'
import { readableProse } from '../ui/prose.ts'
import { UnfoldButton, useUnfolding } from '../ui/unfolding.tsx'
import { useClock } from '../ui/use-clock.ts'
import { useShown } from '../ui/use-shown.ts'
import { Button, IconButton, SilentKeys } from '../ui/words.tsx'
import { chooseModel, offReason, send, stop } from './chat-actions.ts'

const TALLEST = 220

export function Composer({ tab, branch }: { tab: Tab; branch: string }) {
  const page = usePage()
  const { composer, conversation } = tab
  const isBusy = conversation.isBusy.value
  const reason = offReason(page, tab)
  const refusal = composer.refusal.value
  const why = useId()
  const hasNoText = composer.text.value === ''
  const isEmpty = composer.text.value.trim() === ''
  const canSend = reason === undefined && !isEmpty && !composer.isSending.value
  return (
    <form
      class="compose"
      aria-label="Message to the AI"
      onSubmit={event => {
        event.preventDefault()
        send(page, tab)
      }}
    >
      <PublicNote tab={tab} />
      {refusal === undefined ? null : (
        <p class="compose-problem" role="alert">
          <Icon name="alert" tone="is-bad" />
          <span class="grow">{withoutTricks(refusal)} What you wrote is still here.</span>
          <IconButton
            icon="x"
            words="Dismiss"
            onClick={() => {
              composer.refusal.value = undefined
              composer.focus()
            }}
          />
        </p>
      )}
      <Queued tab={tab} />
      <div class={`compose-box ${hasNoText ? 'no-text' : ''}`}>
        <Field tab={tab} branch={branch} describedBy={why} />
        <div class="compose-bar">
          <ModelChoice tab={tab} />
          <span class="meta cut" id={why}>
            {isBusy ? <Progress tab={tab} /> : reason}
          </span>
          <span class="grow" />
          {isBusy ? (
            <>
              <span class="meta nowrap" role="status">
                {composer.isStopNear.value ? 'Esc again stops' : ''}
              </span>
              <button type="button" class="button stop send" onClick={() => stop(page, tab)}>
                <Icon name="stop" size="xs" />
                Stop <SilentKeys of="Esc" />
              </button>
            </>
          ) : (
            <button type="submit" class="button main send" aria-disabled={!canSend} aria-describedby={why}>
              Send
            </button>
          )}
        </div>
      </div>
    </form>
  )
}

/** The queued message, which can be taken back into the field. */
function Queued({ tab }: { tab: Tab }) {
  const { composer } = tab
  const text = composer.queued.value
  const words = useRef<HTMLParagraphElement>(null)
  const { isOpen, isCut } = useUnfolding(words, [text])
  if (text === '') return null
  return (
    <section class={`compose-queued ${isOpen.value ? 'open' : ''}`} aria-label="Queued message">
      <Icon name="clock" />
      <div class="grow">
        <p class="meta">Sent when this turn has ended well</p>
        <p class="as-typed" dir="auto" ref={words} tabIndex={isOpen.value ? 0 : undefined}>
          {readableProse(text)}
        </p>
      </div>
      {isCut.value ? <UnfoldButton isOpen={isOpen} /> : null}
      <Button
        look="quiet small"
        words="Cancel and edit"
        isOff={composer.isSending.value}
        onClick={() => {
          composer.takeBack()
          composer.focus()
        }}
      />
    </section>
  )
}

interface FieldProps {
  tab: Tab
  branch: string
  describedBy: string
}

function Field({ tab, branch, describedBy }: FieldProps) {
  const page = usePage()
  const { composer, conversation } = tab
  // In the docked chat, the message field does not get the focus when the tab is shown: the editor beside it does.
  const field = usePlace<HTMLTextAreaElement>(tab.pane.kind === 'chat' ? 'message' : 'docked message')
  const text = composer.text.value
  // The message of a turn that failed comes back before what is being written.
  useKeptSelection(field)
  const { focusWish } = composer
  const wanted = focusWish.made.value
  useLayoutEffect(() => {
    if (!focusWish.isOpen) return
    focusWish.end()
    field.current?.focus()
  }, [focusWish, wanted])
  // Sets the height to that of the text, up to a limit. Measured, since not all browsers have field-sizing.
  useLayoutEffect(() => {
    const element = field.current
    if (!element) return
    element.style.height = 'auto'
    element.style.height = `${Math.min(TALLEST, Math.max(44, element.scrollHeight))}px`
  }, [text])
  return (
    <textarea
      ref={field}
      aria-label="Message"
      aria-describedby={describedBy}
      placeholder={placeholderOf(conversation.isBusy.value, branch)}
      value={text}
      maxLength={200_000}
      onInput={event => {
        composer.write(event.currentTarget.value)
      }}
      onKeyDown={event => {
        const isEnter = event.key === 'Enter' && !event.isComposing && !event.altKey
        if (!isEnter || event.shiftKey) return
        event.preventDefault()
        send(page, tab)
      }}
    />
  )
}

function placeholderOf(isBusy: boolean, branch: string): string {
  if (isBusy) return 'Write the next message; Enter queues it until this turn has ended'
  return `What should change on ${readable(branch)}?`
}

/** The progress of a turn: its current action, the elapsed time, and the cost. */
function Progress({ tab }: { tab: Tab }) {
  const turn = tab.conversation.head.value?.turn
  const now = useClock(turn !== undefined)
  if (!turn) return null
  const parts = [clock(now / 1_000 - turn.since), money(turn.usage.cost)]
  return <>{parts.filter(part => part !== undefined).join(' · ')}</>
}

function ModelChoice({ tab }: { tab: Tab }) {
  const page = usePage()
  const { head, isBusy } = tab.conversation
  const { model, models = [], missing } = head.value ?? {}
  const select = usePlace<HTMLSelectElement>('model')
  if (missing !== undefined || (model === undefined && models.length === 0)) return null
  const all = model === undefined || models.includes(model) ? models : [model, ...models]
  return (
    <label class="pick model" title={model === undefined ? undefined : withoutTricks(model)}>
      <Icon name="cpu" />
      <span class="vh">Model</span>
      <select
        ref={select}
        value={model ?? ''}
        disabled={isBusy.value}
        onChange={event => {
          chooseModel(page, tab, event.currentTarget.value)
        }}
      >
        {model === undefined ? <option value="">select a model</option> : null}
        {all.map(name => (
          <option key={name} value={name}>
            {modelName(name)}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A note that conversations become public with the repository; shown until dismissed in this browser. */
function PublicNote({ tab }: { tab: Tab }) {
  const page = usePage()
  const { isShown: isRead, show } = useShown()
  const key = `public ${page.desk.value?.folder ?? ''}`
  const isNew = tab.conversation.head.value?.isPublicNew === true && !isRead && kept(key) === ''
  if (!isNew) return null
  return (
    <p class="compose-problem plain">
      <Icon name="commit" />
      <span class="grow">
        The conversation is committed with its code, and goes wherever the branch goes: in a public repository,
        everybody can read it.
      </span>
      <Button
        look="quiet small"
        words="Got it"
        onClick={() => {
          keep(key, 'read')
          show()
        }}
      />
    </p>
  )
}
