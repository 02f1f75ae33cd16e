/** The conversation is a part of the page of its own, which is loaded when it is first shown. */
import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { type Tab, usePage } from './state.ts'

interface PaneProps {
  tab: Tab
  isDocked: boolean
}

/** Shows a component that is in another part of the page, as soon as that is there. */
function useLoaded<Props>(load: () => Promise<{ default: ComponentType<Props> }>): ComponentType<Props> | undefined {
  const page = usePage()
  const loaded = useSignal<{ component: ComponentType<Props> } | undefined>(undefined)
  useEffect(() => {
    load().then(
      part => {
        loaded.value = { component: part.default }
      },
      () => page.complain('A part of the page could not be loaded. Load the page again when the desk answers.'),
    )
    // It is loaded once.
  }, [page, loaded])
  return loaded.value?.component
}

export function LazyChat(props: PaneProps) {
  const ChatPane = useLoaded<PaneProps>(() => import('./chat-pane.tsx'))
  return ChatPane ? <ChatPane {...props} /> : <ChatToCome {...props} />
}

/** Who writes at once, while the conversation is just coming, finds it in the field for the message. */
export function ChatToCome({ tab, isDocked }: PaneProps) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = box.current
    if (tab.composer.focusWanted.peek() > tab.composer.focusGiven) element?.focus()
    return () => {
      if (element === document.activeElement) tab.composer.focus()
    }
  }, [tab])
  if (isDocked || tab.at.kind !== 'branch') return <div class="chat" aria-busy="true" />
  return (
    <div
      ref={box}
      class="chat"
      aria-busy="true"
      tabIndex={-1}
      onKeyDown={({ key, ctrlKey, altKey, metaKey, isComposing }) => {
        const isText = key.length === 1 && !ctrlKey && !altKey && !metaKey && !isComposing
        const text = tab.composer.text.peek()
        if (isText) tab.composer.write(text + key)
        else if (key === 'Backspace') tab.composer.write(text.slice(0, -1))
      }}
    />
  )
}

export function LazyApproval({ path, close }: { path: string; close: () => void }) {
  const page = usePage()
  const tab = page.tab.value
  const Dialog = useLoaded<{ tab: Tab; path: string; close: () => void }>(() => import('./chat-approval.tsx'))
  return Dialog && tab ? <Dialog tab={tab} path={path} close={close} /> : null
}
