/**
 * Something that a person can do. An action stands once, in a table beside what it does; the palette, menus, buttons,
 * the list of keys and the table in docs/desk.md read it from there.
 */

import type { IconName } from './icons.tsx'
import { keysOf } from './keys.ts'
import type { MenuItem } from './menu-content.ts'

type Of<About, Value> = Value | ((about: About) => Value)

/** `About`: what it is done with, such as a file of a tab. */
export interface Action<About> {
  /** Its name on buttons and in docs/desk.md. One that ends with … asks something first. */
  label: string
  /** Its name in a menu, where that is another one. */
  inMenu?: Of<About, string>
  /** Its name in the palette, where that has to say what it is about. */
  inPalette?: Of<About, string>
  icon: Of<About, IconName>
  /** The keys that run it from everywhere in the page, as keys.ts writes them: Ctrl is the command key on a Mac. */
  keys?: string
  /** The keys that run it while the list with what it is about has the focus. */
  listKeys?: string
  /** Whether it can be done now. Left out: always. */
  isPossible?: (about: About) => boolean
  run: (about: About) => unknown
}

/** The actions with one kind of thing, each by its id. */
export type Actions<About> = Record<string, Action<About>>

/** An action with what it is done with. */
export interface Command {
  words: string
  icon: IconName
  keys?: string | undefined
  listKeys?: string | undefined
  run: () => void
}

function read<About, Value>(value: Of<About, Value>, about: About): Value {
  return value instanceof Function ? value(about) : value
}

export function isPossible<About>({ isPossible }: Action<About>, about: About): boolean {
  return isPossible === undefined || isPossible(about)
}

export function commandOf<About>(action: Action<About>, about: About): Command {
  const { label, inPalette = label, icon, keys, listKeys, run } = action
  return { words: read(inPalette, about), icon: read(icon, about), keys, listKeys, run: () => run(about) }
}

export function iconOf<About>({ icon }: Action<About>, about: About): IconName {
  return read(icon, about)
}

/** What of a table the palette offers now: what is possible and has keys. */
export function commandsWith<About>(actions: Actions<About>, about: About): Command[] {
  return Object.values(actions)
    .filter(action => (action.keys ?? action.listKeys) !== undefined && isPossible(action, about))
    .map(action => commandOf(action, about))
}

/**
 * What of some actions is possible now, as a group of a menu. `keys`: which of their keys stand beside them; those of
 * the list for a menu that was opened in it, none where neither would be about the same thing.
 */
export function itemsWith<About>(
  about: About,
  actions: readonly Action<About>[],
  keys: 'list' | 'page' | 'none' = 'page',
): MenuItem[] {
  return actions
    .filter(action => isPossible(action, about))
    .map(action => {
      const { label, inMenu = label, icon, run } = action
      const shown = { list: action.listKeys ?? action.keys, page: action.keys, none: undefined }[keys]
      return { words: read(inMenu, about), icon: read(icon, about), keys: shown, run: () => run(about) }
    })
}

/** The keys that a list with such actions hears, for aria-keyshortcuts. */
export function listKeysIn<About>(actions: Actions<About>): string {
  return Object.values(actions)
    .flatMap(({ listKeys = [] }) => listKeys)
    .join(' ')
}

/** The action that a key runs in a list that has the focus; a letter also with Shift, where that has none of its own. */
export function actionFor<About>(
  actions: Actions<About>,
  about: About,
  event: KeyboardEvent,
): (() => void) | undefined {
  const keys = listKeysOf(event)
  const possible = Object.values(actions).filter(action => isPossible(action, about))
  const action =
    possible.find(({ listKeys }) => listKeys === keys) ??
    possible.find(({ listKeys }) => listKeys !== undefined && `Shift+${listKeys}` === keys)
  return action && (() => action.run(about))
}

/** Signs are where the keyboard has them: with Shift or without. */
function listKeysOf(event: KeyboardEvent): string {
  const keys = keysOf(event).replace(/^Shift\+([^a-z0-9])$/i, '$1')
  return { ' ': 'Space', '=': '+' }[keys] ?? keys
}
