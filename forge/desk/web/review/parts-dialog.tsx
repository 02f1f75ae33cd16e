/**
 * The dialog in which some changes are chosen, by files or lines: of the drafts, to save only these, or of a commit, to
 * revert them.
 */
import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useMemo } from 'preact/hooks'
import { conflictsIn } from '../page/branch-facts.ts'
import type { DialogContent } from '../page/dialog-content.ts'
import { usePage } from '../page/state.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { useDialogRun } from '../ui/dialog-run.ts'
import { FailedLine } from '../ui/failed.tsx'
import { shownKeys } from '../ui/keys.ts'
import { readable } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { Waiting } from '../ui/words.tsx'
import { PartChoice, PartPicker } from './part-picker.tsx'

interface Props {
  content: Extract<DialogContent, { kind: 'parts' }>
  close: () => void
}

export function PartsDialog({ content, close }: Props) {
  const page = usePage()
  const changed = content.branch === undefined ? undefined : page.changed.value.get(content.branch)
  const asked = useServerValue(content.load, [content.branch, changed])
  const title = content.firstTitle ?? content.title
  const choice = useMemo(() => page.dialogTexts.choiceOf(title, PartChoice), [])
  const field = { title, field: 'message' }
  const message = useSignal(page.dialogTexts.of(field) ?? '')
  const id = useId()
  const changes = asked.latest.value
  const conflicts = content.branch === undefined ? [] : conflictsIn(page, content.branch)
  const isInConflict = (path: string) => conflicts.includes(path)
  useLayoutEffect(() => {
    if (changes) choice.follow(changes.filter(({ path }) => !isInConflict(path)))
  }, [choice, changes, conflicts.join('\0')])
  const { parts } = choice
  const { problem, isBusy, start } = useDialogRun(
    () => {
      page.dialogTexts.drop(title)
      close()
    },
    () => asked.refresh(),
  )
  const isOff = isBusy.value || parts.length === 0
  const submit = () => {
    if (!isOff) void start(() => content.run(parts, message.value.trim()))
  }
  return (
    <DialogFrame title={content.title} close={close} look="step-dialog">
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          submit()
        }}
      >
        <div class="step-body">
          <p class="step-explains">{content.explains}</p>
          <FailedLine problem={asked.problem.value} again={() => asked.refresh()} />
          {changes ? (
            <PartPicker changes={changes} choice={choice} label="Changes" conflicts={conflicts} />
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
                  page.dialogTexts.keep(field, event.currentTarget.value)
                }}
              />
            </div>
          ) : null}
        </div>
        <footer>
          <p class="dialog-problem is-bad" role="alert">
            {problem.value ??
              choice.dropped.value
                .filter(path => !isInConflict(path))
                .map(path => `${readable(path)} has changed: choose its lines again.`)}
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
