/** The page's beginning: connects to the desk's server, and shows what it says. */
import { batch } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { watchFailed, watchQueued } from '../chat/chat-actions.ts'
import { RepositoryView } from '../graph/graph.tsx'
import { sayLeftBehind } from '../page/saving.ts'
import { Page, PageProvider, TASKS } from '../page/state.ts'
import { TasksView } from '../tasks/tasks.tsx'
import { Boundary } from '../ui/boundary.tsx'
import { nameWhatIsCut } from '../ui/cut.ts'
import { isFocusLost } from '../ui/focus.ts'
import { keysOf } from '../ui/keys.ts'
import { takeSecret } from '../ui/secret.ts'
import { commandsOf } from './commands.ts'
import { Dialogs } from './dialogs.tsx'
import { Menu } from './menu.tsx'
import { Notices, Toast } from './notices.tsx'
import { Palette } from './palette.tsx'
import { StatusBar } from './status.tsx'
import { TabView } from './tab-view.tsx'
import { pageTitle, Tabs } from './tabs.tsx'
import { keepWayBack } from './way-back.ts'

function Desk({ page }: { page: Page }) {
  useEffect(nameWhatIsCut, [])
  useFocus(page)
  const title = pageTitle(page)
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
  const { value: desk } = page.desk
  const isTasksComing = page.active.value === TASKS && !page.tasks.isReady.value
  const shown = [isTasksComing, tab, tab?.active.value, page.notices.value, page.toast.value, page.menu.value, desk]
  useEffect(() => {
    // Before the desk has said what is open, nothing is shown that could have the focus.
    if (isCovered || !page.desk.peek()) return undefined
    const isWanted = given.current < wanted
    // What is still to come gets it when it is there.
    if (!isTasksComing) given.current = wanted
    const { activeElement: before } = document
    const frame = requestAnimationFrame(() => {
      // Who went elsewhere in this moment stays there.
      const isStill = document.activeElement === before
      if ((isWanted && isStill) || isFocusLost()) page.places.focusContent()
    })
    return () => cancelAnimationFrame(frame)
  }, [wanted, isCovered, ...shown])
}

function Middle({ page }: { page: Page }) {
  if (!page.desk.value) return <Opening />
  const tab = page.tab.value
  if (tab) return <TabView tab={tab} />
  const notices = <Notices tab={undefined} />
  return page.active.value === TASKS ? (
    <TasksView tasks={page.tasks} notices={notices} />
  ) : (
    <RepositoryView notices={notices} />
  )
}

/** Before the server has said what there is. Why it does not may have to be said. */
function Opening() {
  return (
    <main class="repo">
      <section class="middle" aria-label="Work">
        <Notices tab={undefined} />
      </section>
    </main>
  )
}

/**
 * The keys of all commands, before the editor or a list gets them: from before anything is shown, so that none is lost
 * that is pressed at once.
 */
function listenForKeys(page: Page): void {
  const listen = (event: KeyboardEvent) => {
    const keys = keysOf(event)
    const isFree = !page.dialog.peek() && !page.menu.peek() && !event.isComposing
    if (!isFree || isForTheList(event, keys)) return
    const command = commandsOf(page).find(known => known.keys === keys)
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
}

/** F2 in the explorer is about the row there, not about the file that is shown: a list names the keys that it hears. */
function isForTheList({ target }: KeyboardEvent, keys: string): boolean {
  const heard =
    target instanceof Element ? target.closest('[aria-keyshortcuts]')?.getAttribute('aria-keyshortcuts') : ''
  return heard?.split(' ').includes(keys) === true
}

function nonceOfStyles(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? ''
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

function begin(): void {
  takeSecret()
  const page = new Page(nonceOfStyles())
  page.onLeftBehind = news => sayLeftBehind(page, news)
  page.start()
  guardTyping(page)
  watchQueued(page)
  watchFailed(page)
  keepLayoutAtEnd(page)
  keepWayBack(page)
  listenForKeys(page)
  render(<Desk page={page} />, document.body)
}

// The script is deferred: the whole page is there, with what it begins with.
begin()
