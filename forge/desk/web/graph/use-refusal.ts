/** The refusal of a step in a dialog with a preview. */
import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface Refusal {
  /** Why the last try was refused; to be cleared at the next change in the dialog. */
  problem: Signal<string | undefined>
  /** The part of the dialog with the preview. */
  body: RefObject<HTMLDivElement | null>
  /**
   * Says why a step was refused, and loads the preview again, since it may be stale by then. Moves the focus to the
   * preview, but not out of a message that is being typed: an Enter there does nothing.
   */
  refuse: (error: unknown) => void
  /** Moves the focus to the preview, since the same key again would do what was not read yet. */
  focusPreview: () => void
}

/** Handles the refusal of a step. `look`: loads its preview again. */
export function useRefusal(look: () => unknown): Refusal {
  const problem = useSignal<string | undefined>(undefined)
  const body = useRef<HTMLDivElement>(null)
  const focusings = useSignal(0)
  useLayoutEffect(() => {
    if (focusings.value > 0) body.current?.focus()
  }, [focusings.value])
  // The new preview may have no message: its field is gone then, with the focus.
  useLayoutEffect(() => {
    if (problem.value !== undefined && document.activeElement === document.body) body.current?.focus()
  })
  const focusPreview = () => {
    focusings.value++
  }
  const refuse = (error: unknown) => {
    problem.value = error instanceof Error ? error.message : String(error)
    look()
    if (!(document.activeElement instanceof HTMLTextAreaElement)) focusPreview()
  }
  return { problem, body, refuse, focusPreview }
}
