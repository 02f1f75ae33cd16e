/**
 * The layout of one window, kept by the browser for as long as the window exists, also while its page is loaded again.
 */
import * as v from 'valibot'
import { Layout } from '../../contract/desk.ts'
import { keptAs } from './kept.ts'

/**
 * `editor`: what was switched on or off in this window alone; a new window begins with the settings, or without. It is
 * undefined if an older page has kept the layout.
 */
const WindowLayout = v.object({
  ...Layout.entries,
  editor: v.optional(v.object({ isWrapped: v.boolean(), isBlamed: v.boolean(), isPreviewed: v.boolean() })),
})
type WindowLayout = v.InferOutput<typeof WindowLayout>

export const keptInWindow = (key: string): WindowLayout | undefined => keptAs(WindowLayout, key, () => sessionStorage)

export function keepInWindow(key: string, layout: WindowLayout): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(layout))
  } catch {
    // Without session storage, the layout that the server keeps is used.
  }
}
