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
  const ChatPane = useLoaded<PaneProps>(() => import('../chat/chat-pane.tsx'))
  return ChatPane ? <ChatPane {...props} /> : <ChatToCome {...props} />
}

/** Who writes at once, while the conversation is just coming, finds it in the field for the message. */
export function ChatToCome({ tab, isDocked }: PaneProps) {
  const page = usePage()
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = box.current
    if (tab.composer.focusWanted.peek() > tab.composer.focusGiven) element?.focus()
    return () => {
      if (element !== document.activeElement) return
      tab.composer.focus()
      // Without a model there is no such field.
      page.wantFocus()
    }
  }, [page, tab])
  const canWrite = !isDocked && tab.at.kind === 'branch'
  useEarlyWords(tab, box, canWrite)
  return <div ref={box} class="chat" aria-busy="true" {...(canWrite && { tabIndex: -1 })} />
}

/** What is typed where the conversation is to come goes into the message. */
export function useEarlyWords(tab: Tab, box: { current: HTMLElement | null }, canWrite: boolean): void {
  useEffect(() => {
    const element = box.current
    if (!element || !canWrite) return undefined
    const listen = ({ key, ctrlKey, altKey, metaKey, isComposing }: KeyboardEvent) => {
      const text = tab.composer.text.peek()
      const isText = key.length === 1 && !ctrlKey && !altKey && !metaKey && !isComposing
      if (isText) tab.composer.write(text + key)
      else if (key === 'Backspace') tab.composer.write(text.slice(0, -1))
    }
    element.addEventListener('keydown', listen)
    return () => element.removeEventListener('keydown', listen)
  }, [tab, box, canWrite])
}

export function LazyApproval({ path, close }: { path: string; close: () => void }) {
  const page = usePage()
  const tab = page.tab.value
  const Dialog = useLoaded<{ tab: Tab; path: string; close: () => void }>(() => import('../chat/chat-approval.tsx'))
  return Dialog && tab ? <Dialog tab={tab} path={path} close={close} /> : null
}
