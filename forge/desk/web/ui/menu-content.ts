/** What a menu offers, and where it opens. */

import type { IconName } from './icons.tsx'
import { keysOf } from './keys.ts'

export interface MenuItem {
  words: string
  icon: IconName
  keys?: string | undefined
  run: () => void
}

/** A menu without a place. */
export interface Offer {
  /** What it is about. */
  title: string
  groups: MenuItem[][]
}

export interface MenuContent extends Offer {
  x: number
  y: number
  /** What gets the focus when it closes. */
  opener: HTMLElement | undefined
}

/** Where a menu opens: by the other mouse button at the pointer; by a button or the keyboard below what it is about. */
export function placeOfMenu(event: MouseEvent | KeyboardEvent, element: Element): { x: number; y: number } {
  // A menu that was asked for by the keyboard comes without a place, and that of a button must not cover its words.
  if (event.type === 'contextmenu' && event instanceof MouseEvent && (event.clientX !== 0 || event.clientY !== 0)) {
    return { x: event.clientX, y: event.clientY }
  }
  const { left, bottom } = element.getBoundingClientRect()
  return { x: left + 16, y: bottom }
}

/** Whether a key asks for the menu. */
export function asksForMenu(event: KeyboardEvent): boolean {
  return event.key === 'ContextMenu' || keysOf(event) === 'Shift+F10'
}
