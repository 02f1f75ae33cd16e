/**
 * Makes the browser's Back and Forward go through the tabs and panes shown in this window, and through the jumps within
 * a file. Only from the first of them, Back leaves the desk.
 */
import { effect, untracked } from '@preact/signals'
import * as v from 'valibot'
import { At } from '../../contract/values.ts'
import { type Page, REPOSITORY, TASKS, type Tab } from '../page/state.ts'

const Pane = v.variant('kind', [
  v.object({ kind: v.picklist(['chat', 'review', 'find']) }),
  v.object({ kind: v.literal('file'), path: v.string() }),
  v.object({ kind: v.literal('history'), path: v.optional(v.string()) }),
])

/**
 * A place in the browser's history: without `at`, the repository or the tasks. `cursor`: its place in the text of a
 * file, if it was noted. It is parsed, since an older page may have written it.
 */
const Place = v.object({
  at: v.optional(At),
  pane: v.optional(Pane),
  isTasks: v.optional(v.boolean()),
  cursor: v.optional(v.number()),
})
type Place = v.InferOutput<typeof Place>

export function keepWayBack(page: Page): void {
  let shown: Place | undefined
  let isGoing = false
  effect(() => {
    if (!page.desk.value) return
    const place = placeIn(page)
    if (JSON.stringify(place) === JSON.stringify(shown)) return
    if (!isGoing) {
      const cursor = shown && cursorIn(page, shown)
      if (shown && cursor !== undefined) keep({ ...shown, cursor }, 'replace')
      keep(place, shown ? 'push' : 'replace')
    }
    shown = place
  })
  effect(() => {
    const jump = page.jumped.value
    if (!jump) return
    const place = untracked(() => placeIn(page))
    keep({ ...place, cursor: jump.from }, 'replace')
    keep({ ...place, cursor: jump.to }, 'push')
  })
  window.addEventListener('popstate', ({ state }) => {
    const place = v.safeParse(Place, state)
    if (!place.success) return
    isGoing = true
    goTo(page, place.output)
    isGoing = false
  })
}

function placeIn(page: Page): Place {
  const tab = page.tab.value
  if (!tab) return page.active.value === TASKS ? { isTasks: true } : {}
  return { at: tab.at, pane: tab.pane }
}

/** Where the cursor is in the file of a place; undefined if the place is none of a file, or its file is closed. */
function cursorIn(page: Page, { at, pane }: Place): number | undefined {
  if (!at || pane?.kind !== 'file') return undefined
  return page.files.find(at, pane.path)?.position.cursor
}

/**
 * Puts a place (the shown tab and pane) into the browser's history after the next paint, since the call takes the
 * browser long. If the browser refuses it, after many entries in a short time, this entry is missing.
 */
function keep(place: Place, how: 'push' | 'replace'): void {
  setTimeout(() => {
    try {
      if (how === 'replace') history.replaceState(place, '')
      else history.pushState(place, '')
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
    }
  })
}

/** Shows a place of the history. If its branch does not exist any more, the current view stays. */
function goTo(page: Page, { at, pane, isTasks, cursor }: Place): void {
  page.dialog.value = undefined
  page.palette.value = undefined
  if (!at) {
    page.active.value = isTasks ? TASKS : REPOSITORY
    return
  }
  const isOpen = page.tabs.peek().some(tab => JSON.stringify(tab.at) === JSON.stringify(at))
  if (!isOpen && page.isGone(at)) return
  const tab = page.open(at)
  if (!pane) return
  if (pane.kind === 'history') page.showHere(tab, { kind: 'history', path: pane.path })
  else page.showHere(tab, pane)
  if (pane.kind === 'file' && cursor !== undefined) void putCursor(page, tab, pane.path, cursor)
}

/** Moves the cursor of a shown file to a place, and scrolls to it; does nothing if the cursor is there already. */
async function putCursor(page: Page, tab: Tab, path: string, cursor: number): Promise<void> {
  const file = page.files.open(tab.at, path)
  await file.opened()
  if (file.position.cursor !== cursor) file.goToPlace(cursor)
}
