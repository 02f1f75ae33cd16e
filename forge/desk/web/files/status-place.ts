/** Where a menu of the status bar is opened. */

import type { Page } from '../page/state.ts'
import type { PlaceName } from '../ui/focus.ts'

/** The top of a button in the status bar; where a narrow window has no such button, the end of the status bar. */
export function placeInStatus(page: Page, name: PlaceName): { x: number; y: number } {
  const { left, top, width } = page.places.find(name)?.getBoundingClientRect() ?? new DOMRect()
  return width > 0 ? { x: left, y: top } : { x: window.innerWidth, y: window.innerHeight }
}
