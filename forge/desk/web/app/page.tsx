/** The page's beginning: connects to the desk's server, and shows what it says. */
import { batch, effect } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { watchFailed, watchQueued } from '../chat/chat-actions.ts'
import { Repository } from '../graph/graph.tsx'
import { Boundary } from '../ui/boundary.tsx'
import { nameWhatIsCut } from '../ui/cut.ts'
import { focusContent, focusOn, isFocusLost } from '../ui/focus.ts'
import { Menu } from '../ui/menu.tsx'
import { beginOnce } from './beginning.ts'
import { commandsOf } from './commands.ts'
import { Dialogs } from './dialogs.tsx'
import { keysOf } from './keys.ts'
import { useEarlyWords } from './lazy-chat.tsx'
import { Toast } from './notices.tsx'
import { Palette } from './palette.tsx'
import { Page, PageProvider, TASKS, type Tab } from './state.ts'
import { StatusBar } from './status.tsx'
import { Tabs, titleOf } from './tabs.tsx'
import { keepWayBack } from './way-back.ts'

function Desk({ page }: { page: Page }) {
  useEffect(() => listenForKeys(page), [page])
  useEffect(nameWhatIsCut, [])
  useFocus(page)
  const title = titleOf(page)
  useEffect(() => {
    document.title = title
  }, [title])
  return (
    <PageProvider value={page}>
      <div class="desk">
        <Boundary part="The row of tabs">
          <Tabs />
        </Boundary>
        <Boundary part="What stands here" about={page.tab.value ?? page.active.value}>
          <Middle page={page} />
        </Boundary>
        <Boundary part="The status bar">
          <StatusBar />
        </Boundary>
        <Toast />
      </div>
      <Boundary part="What was to open" about={page.dialog.value ?? page.palette.value ?? page.menu.value}>
        <Palette />
        <Dialogs />
        <Menu />
      </Boundary>
    </PageProvider>
  )
}

/** Gives the focus where it is wanted, and takes it back from nowhere where what had it is gone. */
function useFocus(page: Page): void {
  const wanted = page.focusWanted.value
  const given = useRef(0)
  const isCovered = page.dialog.value !== undefined || page.palette.value !== undefined
  const tab = page.tab.value
  // What else may take away what has the focus.
  const { value: parts } = page.parts
  const { value: desk } = page.desk
  const isTasksComing = page.active.value === TASKS && !page.tasks.value?.isReady()
  const shown = [
    isTasksComing,
    tab,
    tab?.active.value,
    page.notices.value,
    page.toast.value,
    page.clashes.value,
    page.menu.value,
    desk,
    parts,
  ]
  useEffect(() => {
    // Before the desk has said what is open, nothing is shown that could have the focus.
    if (isCovered || !page.desk.peek()) return undefined
    const isWanted = given.current < wanted
    if (tab && !parts) {
      if (isWanted || isFocusLost()) focusOn('.room[aria-busy="true"]')
      return undefined
    }
    // What is still to come gets it when it is there.
    if (!isTasksComing) given.current = wanted
    const { activeElement: before } = document
    const frame = requestAnimationFrame(() => {
      // Who went elsewhere in this moment stays there.
      const isStill = document.activeElement === before
      if ((isWanted && isStill) || isFocusLost()) focusContent()
    })
    return () => cancelAnimationFrame(frame)
  }, [wanted, isCovered, ...shown])
}

function Middle({ page }: { page: Page }) {
  const tab = page.tab.value
  const { value: parts } = page.parts
  useEffect(() => {
    if (tab) page.load()
  }, [page, tab])
  if (tab && !parts) return <RoomToCome tab={tab} />
  if (tab && parts) return <parts.Room tab={tab} />
  return page.active.value === TASKS ? <Tasks page={page} /> : <Repository />
}

function Tasks({ page }: { page: Page }) {
  useEffect(() => {
    page.loadTasks()
  }, [page])
  const Tab = page.tasks.value?.Tab
  return Tab ? <Tab /> : <main class="tasks none" aria-busy="true" />
}

/** The parts in which one works are on their way: who writes to the AI or into a file at once is heard already. */
function RoomToCome({ tab }: { tab: Tab }) {
  const box = useRef<HTMLElement>(null)
  const isBranch = tab.at.kind === 'branch'
  useEarlyWords(tab, box, isBranch && tab.pane.kind === 'chat')
  useEarlyKeys(tab, box, isBranch && tab.pane.kind === 'file')
  return <main ref={box} class="room" aria-busy="true" tabIndex={-1} />
}

/** What is typed where a file is to come waits for its editor. */
function useEarlyKeys(tab: Tab, box: { current: HTMLElement | null }, canType: boolean): void {
  useEffect(() => {
    if (!canType) return undefined
    const listen = ({ key, target, ctrlKey, altKey, metaKey, isComposing }: KeyboardEvent) => {
      const isHere = target === document.body || target === box.current
      const isText = key.length === 1 || key === 'Enter' || key === 'Backspace'
      if (isHere && isText && !ctrlKey && !altKey && !metaKey && !isComposing) tab.keepEarlyKey(key)
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [tab, box, canType])
}

/** The keys of all commands, before the editor or a list gets them. */
function listenForKeys(page: Page): () => void {
  const listen = (event: KeyboardEvent) => {
    const keys = keysOf(event)
    const isFree = !page.dialog.peek() && !page.menu.peek() && !event.isComposing
    if (!isFree || isForTheList(event, keys)) return
    const command = commandsOf(page).find(known => known.keys === keys && !known.isOfList)
    if (!command) return
    event.preventDefault()
    event.stopPropagation()
    // What it opens takes the place of the palette.
    batch(() => {
      page.palette.value = undefined
      command.run()
    })
  }
  window.addEventListener('keydown', listen, { capture: true })
  return () => window.removeEventListener('keydown', listen, { capture: true })
}

/** F2 in the explorer is about the row there, not about the file that is shown. */
function isForTheList(event: KeyboardEvent, keys: string): boolean {
  return keys === 'F2' && event.target instanceof Element && event.target.closest('[role="tree"]') !== null
}

function nonceOfStyles(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? ''
}

/** The parts in which one works are loaded as soon as the repository is shown: who opens a branch does not wait. */
function loadWhenShown(page: Page): void {
  const stop = effect(() => {
    const isShown = page.graph.version.value > 0 || page.desk.value?.isEmpty === true
    if (isShown) requestIdleCallback(() => page.load(), { timeout: 1000 })
    if (isShown) queueMicrotask(() => stop())
  })
}

/** What is open is there again, also where the window goes at once after the last tab was opened. */
function keepLayoutAtEnd(page: Page): void {
  window.addEventListener('pagehide', () => page.keepLayout(true))
}

/** Asks before the window goes while something typed is nowhere else. */
function guardTyping(page: Page): void {
  window.addEventListener('beforeunload', event => {
    if (page.files.all().some(file => file.isUnsettled || file.hasRefusedText)) event.preventDefault()
  })
}

async function begin(): Promise<void> {
  beginOnce()
  const page = new Page(
    nonceOfStyles(),
    () => import('./working-parts.ts'),
    () => import('../tasks/tasks-parts.tsx'),
  )
  const started = page.start()
  guardTyping(page)
  watchQueued(page)
  watchFailed(page)
  keepLayoutAtEnd(page)
  keepWayBack(page)
  loadWhenShown(page)
  // What came with the page is there in this very moment; nobody waits for what did not.
  await Promise.race([started, new Promise(resolve => setTimeout(resolve))])
  render(<Desk page={page} />, document.body)
}

// What it begins with is the last thing in the page.
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', begin, { once: true })
else begin()
