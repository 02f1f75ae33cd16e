/** The page's entry point: connects to the desk's server and renders the page. */
import { batch } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { watchFailed, watchQueued, watchRestored, watchWidth } from '../chat/chat-actions.ts'
import { RepositoryView } from '../graph/graph.tsx'
import { copy } from '../page/actions.ts'
import { sayLeftBehind } from '../page/saving.ts'
import { Page, PageProvider, TASKS } from '../page/state.ts'
import { dropUsedTexts } from '../page/used-texts.ts'
import { Boundary } from '../ui/boundary.tsx'
import { nameWhatIsCut } from '../ui/cut.ts'
import { isFocusLost } from '../ui/focus.ts'
import { heldKeys } from '../ui/held-keys.ts'
import { keysOf } from '../ui/keys.ts'
import { takeSecret } from '../ui/secret.ts'
import { typing } from '../ui/typing.ts'
import { commandsOf } from './commands.ts'
import { Dialogs, loadLateDialogs } from './dialogs.tsx'
import { Menu } from './menu.tsx'
import { Notices, Toast } from './notices.tsx'
import { Palette } from './palette.tsx'
import { StatusBar } from './status.tsx'
import { TabView } from './tab-view.tsx'
import { pageTitle, Tabs } from './tabs.tsx'
import { isTasksTabSettled, TasksTab } from './tasks-tab.tsx'
import { keepWayBack } from './way-back.ts'

/** After this time, what is shown first is loaded and rendered. */
const LATE_PARTS_MS = 500

function Desk({ page }: { page: Page }) {
  useEffect(nameWhatIsCut, [])
  useEffect(() => {
    // Safari has no requestIdleCallback.
    setTimeout(() => void loadLateDialogs(), LATE_PARTS_MS)
  }, [])
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

/** Moves the focus to the content when that is requested, or when the focused element has left the page. */
function useFocus(page: Page): void {
  const { focusWish } = page
  const wanted = focusWish.made.value
  const isCovered = page.dialog.value !== undefined || page.palette.value !== undefined
  const tab = page.tab.value
  // The effect also runs when one of these values changes, since that may remove the focused element.
  const { value: desk } = page.desk
  const ofTab = [tab?.active.value, tab?.merging.latest.value, tab?.review.latest.value]
  const shown = [
    areTasksComing(page),
    tab,
    ...ofTab,
    desk,
    page.graph.refs.value,
    page.notices.value,
    page.toast.value,
    page.menu.value,
  ]
  // What is shown has the focus before the next key: a message that is typed right after Alt+J must lose no letter.
  useLayoutEffect(() => {
    if (isCovered || !page.desk.peek() || tab?.merging.isGoingTo(tab.path)) return
    // The components that changed with this one are rendered by then.
    queueMicrotask(() => {
      if (focusWish.isOpen || isFocusLost()) page.places.focusContent(focusWish.field)
    })
  }, [focusWish, wanted, isCovered, ...shown])
  // After a frame, something else may be shown that comes first, or nothing but the tab can have the focus.
  useEffect(() => {
    // Until the desk's state has arrived, nothing is shown that could have the focus.
    if (isCovered || !page.desk.peek()) return undefined
    const { activeElement: before } = document
    // Until the frame, and while the tasks are loading, the request for the focus stays open: news that come meanwhile
    // render the page again, and the tasks get the focus once they are shown.
    const frame = requestAnimationFrame(() => {
      const { isOpen: isWanted, field } = focusWish
      // The tasks may have been shown since this frame was asked for.
      if (!areTasksComing(page)) focusWish.end()
      // If the focus has moved meanwhile, it stays where it is.
      const isStill = document.activeElement === before
      // The place of a loading file may have left the page with the focus that a conflict in it gets next.
      if (tab?.merging.isGoingTo(tab.path)) return
      if ((isWanted && isStill) || isFocusLost()) page.places.focusContent(field) || page.places.focusTab()
    })
    return () => cancelAnimationFrame(frame)
  }, [focusWish, wanted, isCovered, ...shown])
}

/** Whether the tab of the tasks is shown, and what it shows is loading. */
function areTasksComing({ active, tasks }: Page): boolean {
  return active.value === TASKS && !(isTasksTabSettled() && tasks.isReady.value)
}

function Middle({ page }: { page: Page }) {
  if (!page.desk.value) return <Opening />
  const tab = page.tab.value
  if (tab) return <TabView tab={tab} />
  const notices = <Notices tab={undefined} />
  return page.active.value === TASKS ? (
    <TasksTab tasks={page.tasks} notices={notices} />
  ) : (
    <RepositoryView notices={notices} />
  )
}

/** The page before the desk's state has arrived: empty but for a notice of why it does not arrive. */
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
 * Runs commands by their keys, ahead of the editor and the lists. Installed before the page is rendered, so that no
 * early key press is lost.
 */
function listenForKeys(page: Page): void {
  const listen = (event: KeyboardEvent) => {
    const keys = keysOf(event)
    const isFree = !page.dialog.peek() && !page.menu.peek() && !event.isComposing
    if (!isFree || isForTheFocus(event, keys)) return
    const command = commandsOf(page).find(known => known.keys === keys || known.otherKeys === keys)
    if (!command) return
    event.preventDefault()
    event.stopPropagation()
    // The palette is closed first, since the command may open another dialog.
    batch(() => {
      page.palette.value = undefined
      command.run()
    })
  }
  window.addEventListener('keydown', listen, { capture: true })
}

/**
 * Whether the focused list or field handles the key itself (it names its keys in aria-keyshortcuts): F2 in the explorer
 * renames the row there, not the file that is shown. The attribute has "Control" for Ctrl. On a button, it names the
 * key of a command.
 */
function isForTheFocus({ target }: KeyboardEvent, keys: string): boolean {
  const heard =
    target instanceof Element
      ? target.closest('[aria-keyshortcuts]:not(button)')?.getAttribute('aria-keyshortcuts')
      : ''
  return heard?.replaceAll('Control+', 'Ctrl+').split(' ').includes(keys) === true
}

function nonceOfStyles(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? ''
}

/** Sends the layout when the window is closed, so that tabs opened a moment before are restored, too. */
function keepLayoutAtEnd(page: Page): void {
  window.addEventListener('pagehide', () => page.keepLayout(true))
}

/** Asks for confirmation before the window is closed while typed text is nowhere else. */
function guardTyping(page: Page): void {
  window.addEventListener('beforeunload', event => {
    page.unsent.keepAll()
    const isOnlyHere = page.unsent.isOnlyHere.peek() || page.files.all().some(file => file.hasRefusedText)
    if (isOnlyHere) event.preventDefault()
  })
}

/** Keeps what is typed on when its field is gone, and says so: the code must not get the rest of a message. */
function keepTypingOutOfCode(page: Page): void {
  typing.onInterrupted = text =>
    page.notify({
      topic: 'interrupted typing',
      tone: 'warn',
      title: 'The field that you typed in is gone',
      words: 'What you typed in it, and after it, is kept here alone. Press Escape, or click, to go on.',
      text,
      actions: [{ words: 'Copy', isMain: true, stays: true, run: () => void copy(page, text) }],
    })
  typing.onEnd = () => page.wantFocus()
  typing.listen()
}

function begin(): void {
  takeSecret()
  const page = new Page(nonceOfStyles())
  page.onLeftBehind = news => sayLeftBehind(page, news)
  page.start()
  guardTyping(page)
  watchQueued(page)
  watchFailed(page)
  watchRestored(page)
  watchWidth(page)
  keepLayoutAtEnd(page)
  keepWayBack(page)
  heldKeys.listen()
  page.fieldInUse.listen()
  dropUsedTexts(() => page.tabs.peek().flatMap(({ composer, saveMessage }) => [composer, saveMessage]))
  keepTypingOutOfCode(page)
  listenForKeys(page)
  render(<Desk page={page} />, document.body)
}

// The script is deferred: the document is complete, with the answers that are embedded in it.
begin()
