/** Modal dialogs: shown while they are mounted. */
import { useLayoutEffect } from 'preact/hooks'

/** Shows a dialog while its component is mounted. The browser keeps the focus inside, and returns it afterwards. */
export function useModal(dialog: { readonly current: HTMLDialogElement | null }): void {
  // A layout effect: letters typed right after the key that opens a dialog are meant for its field.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => {
      element?.close()
      focusAnew(document.activeElement)
    }
  }, [dialog])
}

/**
 * Gives a text field the focus anew. In Chromium, one that gets the focus back from a dialog takes no letters if that
 * dialog leaves the page in the same task.
 */
function focusAnew(field: Element | null): void {
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return
  field.blur()
  field.focus({ preventScroll: true })
}
