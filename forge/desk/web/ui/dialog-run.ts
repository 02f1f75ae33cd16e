/** What a dialog does when it is submitted. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Hold, heldKeys } from './held-keys.ts'

export interface DialogRun<Done = void> {
  /** Why the last run failed; to be cleared at the next change in the dialog. */
  problem: Signal<string | undefined>
  isBusy: Signal<boolean>
  /** Runs an action, unless one is under way. */
  start: (run: () => Promise<Done>) => Promise<void>
}

/**
 * Runs the action of a dialog, and closes it. If the action fails, the dialog stays open and shows the error; `failed`
 * is called then. Keys that are pressed meanwhile are meant for what is shown after the dialog: they are held until
 * then, and dropped on failure.
 */
export function useDialogRun<Done = void>(
  close: (done: Done) => void,
  failed: () => unknown = () => {},
): DialogRun<Done> {
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const hold = useRef<Hold | undefined>(undefined)
  useEffect(() => () => hold.current?.forget(), [])
  const start = async (run: () => Promise<Done>) => {
    if (isBusy.peek()) return
    isBusy.value = true
    problem.value = undefined
    const keys = heldKeys.holdInDialog()
    hold.current = keys
    try {
      close(await run())
      keys.release()
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error)
      failed()
      keys.forget()
    }
    isBusy.value = false
  }
  return { problem, isBusy, start }
}
