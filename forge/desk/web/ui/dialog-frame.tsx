/** What all dialogs have: a title, the focus kept inside, and Escape. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from './words.tsx'

interface FrameProps {
  title: string
  close: () => void
  children: ComponentChildren
  look?: string
}

/** A native dialog: the browser keeps the focus in it, closes it by Escape, and gives the focus back. */
export function DialogFrame({ title, close, children, look = '' }: FrameProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      class={`dialog ${look}`}
      aria-labelledby={heading}
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        // At once: the next key is meant for what is behind it, before the browser says that it is closed.
        event.preventDefault()
        close()
      }}
      onClose={event => {
        // The browser says so when another dialog may be open already, and this one is out of the page.
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
  /** Whether it has the focus when its dialog opens. */
  isFirst?: boolean
  close: () => void
}

/** Closes a dialog without doing anything, as Escape does. */
export function CloseButton({ words = 'Cancel', isFirst = false, close }: CloseButtonProps) {
  return <Button words={words} keys="Esc" isFirst={isFirst} onClick={close} />
}
