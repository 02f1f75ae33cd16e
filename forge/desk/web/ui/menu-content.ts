/** The content of a menu, and where it opens. */

import type { IconName } from './icons.tsx'
import { keysOf } from './keys.ts'

export interface MenuItem {
  words: string
  icon: IconName
  keys?: string | undefined
  /** For one of several choices: whether it is the present one. A menu shows the icon only at the present one. */
  isChecked?: boolean
  run: () => void
}

/** The title and items of a menu, without its position on the screen. */
export interface Offer {
  /** The name of the object that the menu is for, such as a commit. */
  title: string
  groups: MenuItem[][]
}

export interface MenuContent extends Offer {
  x: number
  y: number
  /** The element that gets the focus when the menu closes. */
  opener: HTMLElement | undefined
}

/** The position of a menu: at the pointer for a right click; below the element for a button or the keyboard. */
export function placeOfMenu(event: MouseEvent | KeyboardEvent, element: Element): { x: number; y: number } {
  // If the menu is opened by the keyboard, the event has no position; if by a button, the menu must not cover the
  // button's label.
  if (event.type === 'contextmenu' && event instanceof MouseEvent && (event.clientX !== 0 || event.clientY !== 0)) {
    return { x: event.clientX, y: event.clientY }
  }
  const { left, bottom } = element.getBoundingClientRect()
  return { x: left + 16, y: bottom }
}

/** Whether a key opens the menu. */
export function asksForMenu(event: KeyboardEvent): boolean {
  return event.key === 'ContextMenu' || keysOf(event) === 'Shift+F10'
}
