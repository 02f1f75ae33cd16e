/** What a dialog does when it is submitted. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Hold, heldKeys } from './held-keys.ts'

export interface DialogRun {
  /** Why the last run failed. */
  problem: Signal<string | undefined>
  isBusy: Signal<boolean>
  /** Begins a run, unless one is under way. */
  start: () => Promise<void>
}

/**
 * Runs the action of a dialog, and closes it. If the action fails, the dialog stays open and shows the error. Keys that
 * are pressed meanwhile are meant for what is shown after the dialog: they are held until then, and dropped on failure.
 */
export function useDialogRun(run: () => Promise<void>, close: () => void): DialogRun {
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const hold = useRef<Hold | undefined>(undefined)
  useEffect(() => () => hold.current?.forget(), [])
  const start = async () => {
    if (isBusy.peek()) return
    isBusy.value = true
    problem.value = undefined
    const keys = heldKeys.hold(undefined, 'Enter')
    hold.current = keys
    try {
      await run()
      close()
      keys.release()
    } catch (error) {
      problem.value = (error as Error).message
      keys.forget()
    }
    isBusy.value = false
  }
  return { problem, isBusy, start }
}
