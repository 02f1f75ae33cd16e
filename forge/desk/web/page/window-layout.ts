/**
 * The layout of one window, kept by the browser for as long as the window exists, also while its page is loaded again.
 */
import { Layout } from '../../contract/desk.ts'
import { keptAs } from './kept.ts'

export const keptInWindow = (key: string): Layout | undefined => keptAs(Layout, key, () => sessionStorage)

export function keepInWindow(key: string, layout: Layout): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(layout))
  } catch {
    // Without session storage, the layout that the server keeps is used.
  }
}
