/** What a dialog with a preview does when its step is run, and when that is refused. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { type DialogRun, useDialogRun } from '../ui/dialog-run.ts'

interface StepRun<Done> extends DialogRun<Done> {
  /** The part of the dialog with the preview. */
  body: RefObject<HTMLDivElement | null>
  /** Moves the focus to the preview, since the same key again would do what was not read yet. */
  focusPreview: () => void
}

/**
 * Runs a step as other dialogs run their action. `close`: closes the dialog, and shows what was done. `look`: loads the
 * preview again, which may be stale after a refusal. It then has the focus, unless a message is being typed: an Enter
 * there does nothing.
 */
export function useStepRun<Done>(close: (done: Done) => void, look: () => unknown): StepRun<Done> {
  const body = useRef<HTMLDivElement>(null)
  const focusings = useSignal(0)
  const focusPreview = () => {
    focusings.value++
  }
  const step = useDialogRun(close, () => {
    look()
    if (!(document.activeElement instanceof HTMLTextAreaElement)) focusPreview()
  })
  useLayoutEffect(() => {
    if (focusings.value > 0) body.current?.focus()
  }, [focusings.value])
  // The new preview may have no message: its field is gone then, with the focus.
  useLayoutEffect(() => {
    if (step.problem.value !== undefined && document.activeElement === document.body) body.current?.focus()
  })
  return { ...step, body, focusPreview }
}
