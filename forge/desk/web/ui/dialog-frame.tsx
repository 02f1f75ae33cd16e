/** The frame of all dialogs: a title, the focus kept inside, and Escape. */
import type { ComponentChildren, RefObject } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { isTypingKey } from './keys.ts'
import { useModal } from './modal.ts'
import { Button } from './words.tsx'

interface FrameProps {
  title: string
  close: () => void
  children: ComponentChildren
  look?: string
  /** Called with a letter, a space before Tab, or Backspace, which was meant for the field behind the dialog. */
  type?: ((key: string) => void) | undefined
}

/** A native dialog: the browser keeps the focus inside, closes it on Escape, and restores the focus. */
export function DialogFrame({ title, close, children, look = '', type }: FrameProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const wasTabbed = useRef(false)
  useModal(dialog)
  return (
    <dialog
      ref={dialog}
      class={`dialog ${look}`}
      aria-labelledby={heading}
      onKeyDown={event => {
        if (event.key === 'Tab') wasTabbed.current = true
        const isForButton = event.key === 'Enter' || (event.key === ' ' && wasTabbed.current)
        if (type && isTypingKey(event) && !isForButton) {
          event.preventDefault()
          type(event.key)
        }
        if (event.key !== 'Escape') return
        // Close at once: the next key is meant for the page behind, before the browser reports the close.
        event.preventDefault()
        close()
      }}
      onClose={event => {
        // The browser reports the close late: another dialog may be open, and this one is out of the page.
        if (event.currentTarget.isConnected) close()
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
      </header>
      {children}
    </dialog>
  )
}

interface CloseButtonProps {
  words?: string
  /** Whether the button has the focus when its dialog opens. */
  isFirst?: boolean
  buttonRef?: RefObject<HTMLButtonElement | null>
  close: () => void
}

/** The end of a dialog that is a form: Cancel, and the button that submits it. `isOff`: it can't be submitted now. */
export function SubmitFooter({
  close,
  isOff,
  children,
}: {
  close: () => void
  isOff: boolean
  children: ComponentChildren
}) {
  return (
    <footer>
      <span class="grow" />
      <CloseButton close={close} />
      <button type="submit" class="button main" aria-disabled={isOff}>
        {children}
      </button>
    </footer>
  )
}

/** Closes a dialog without an action, as Escape does. */
export function CloseButton({ words = 'Cancel', isFirst = false, buttonRef, close }: CloseButtonProps) {
  return <Button words={words} keys="Esc" isFirst={isFirst} {...(buttonRef && { buttonRef })} onClick={close} />
}
