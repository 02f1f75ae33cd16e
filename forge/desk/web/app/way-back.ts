/**
 * Makes the browser's Back and Forward go through the tabs and panes shown in this window. Only from the first of them,
 * Back leaves the desk.
 */
import { effect } from '@preact/signals'
import * as v from 'valibot'
import { At } from '../../contract/values.ts'
import { type Page, REPOSITORY, TASKS } from '../page/state.ts'

const Pane = v.variant('kind', [
  v.object({ kind: v.picklist(['chat', 'review', 'find']) }),
  v.object({ kind: v.literal('file'), path: v.string() }),
  v.object({ kind: v.literal('history'), path: v.optional(v.string()) }),
])

/**
 * A place in the browser's history: without `at`, the repository or the tasks. It is parsed, since an older page may
 * have written it.
 */
const Place = v.object({ at: v.optional(At), pane: v.optional(Pane), isTasks: v.optional(v.boolean()) })
type Place = v.InferOutput<typeof Place>

export function keepWayBack(page: Page): void {
  let shown: string | undefined
  let isGoing = false
  effect(() => {
    if (!page.desk.value) return
    const place = placeIn(page)
    const key = JSON.stringify(place)
    if (key === shown) return
    if (!isGoing) keep(place, shown === undefined)
    shown = key
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

/**
 * Pushes a place (the shown tab and pane) onto the browser's history after the next paint, since the call takes the
 * browser long. If the browser refuses it, after many entries in a short time, this entry is missing.
 */
function keep(place: Place, isFirst: boolean): void {
  setTimeout(() => {
    try {
      if (isFirst) history.replaceState(place, '')
      else history.pushState(place, '')
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
    }
  })
}

/** Shows a place of the history. If its branch does not exist any more, the current view stays. */
function goTo(page: Page, { at, pane, isTasks }: Place): void {
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
}
