/**
 * The dialog in which some changes are chosen, by files or lines: of the drafts, to save only these, or of a commit, to
 * revert them.
 */
import { useSignal } from '@preact/signals'
import { useId, useMemo } from 'preact/hooks'
import type { DialogContent } from '../page/dialog-content.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { FailedLine } from '../ui/failed.tsx'
import { shownKeys } from '../ui/keys.ts'
import { useServerValue } from '../ui/server-value.ts'
import { Waiting } from '../ui/words.tsx'
import { PartChoice, PartPicker } from './part-picker.tsx'

interface Props {
  content: Extract<DialogContent, { kind: 'parts' }>
  close: () => void
}

export function PartsDialog({ content, close }: Props) {
  const asked = useServerValue(content.load, [])
  const choice = useMemo(() => new PartChoice(), [])
  const message = useSignal('')
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const id = useId()
  const changes = asked.latest.value
  const { parts } = choice
  const isOff = isBusy.value || parts.length === 0
  const run = async () => {
    if (isOff) return
    isBusy.value = true
    problem.value = undefined
    try {
      await content.run(parts, message.value.trim())
      close()
    } catch (error) {
      problem.value = (error as Error).message
    }
    isBusy.value = false
  }
  return (
    <DialogFrame title={content.title} close={close} look="step-dialog">
      <form
        onSubmit={event => {
          event.preventDefault()
          void run()
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          void run()
        }}
      >
        <div class="step-body">
          <p class="step-explains">{content.explains}</p>
          <FailedLine problem={asked.problem.value} again={() => asked.refresh()} />
          {changes ? (
            <PartPicker changes={changes} choice={choice} label="Changes" />
          ) : asked.problem.value === undefined ? (
            <Waiting words="Loading the changes" />
          ) : null}
          {changes?.length === 0 ? <p class="meta">No changes</p> : null}
          {content.hasMessage ? (
            <div class="step-message">
              <label for={id}>Commit message</label>
              <textarea
                id={id}
                class="field"
                rows={3}
                placeholder="By default, the names of the files"
                value={message.value}
                onInput={event => {
                  message.value = event.currentTarget.value
                }}
              />
            </div>
          ) : null}
        </div>
        <footer>
          <p class="dialog-problem is-bad" role="alert">
            {problem.value}
          </p>
          <span class="grow" />
          <CloseButton close={close} />
          <button
            type="submit"
            class="button main"
            aria-disabled={isOff}
            aria-keyshortcuts="Control+Enter"
            title={shownKeys('Ctrl+Enter')}
          >
            {content.button}
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}
