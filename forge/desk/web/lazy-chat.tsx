/** The conversation is a part of the page of its own, which is loaded when it is first shown. */
import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
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
  return ChatPane ? <ChatPane {...props} /> : <div class="chat" aria-busy="true" />
}

export function LazyApproval({ path, close }: { path: string; close: () => void }) {
  const page = usePage()
  const tab = page.tab.value
  const Dialog = useLoaded<{ tab: Tab; path: string; close: () => void }>(() => import('./chat-approval.tsx'))
  return Dialog && tab ? <Dialog tab={tab} path={path} close={close} /> : null
}
