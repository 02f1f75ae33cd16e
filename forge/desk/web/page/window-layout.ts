/**
 * The layout of one window, kept by the browser for as long as the window exists, also while its page is loaded again.
 */
import * as v from 'valibot'
import { Layout } from '../../contract/desk.ts'

export function keptInWindow(key: string): Layout | undefined {
  try {
    const parsed = v.safeParse(Layout, JSON.parse(sessionStorage.getItem(key) ?? 'null'))
    return parsed.success ? parsed.output : undefined
  } catch {
    return undefined
  }
}

export function keepInWindow(key: string, layout: Layout): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(layout))
  } catch {
    // Without session storage, the layout that the server keeps is used.
  }
}
