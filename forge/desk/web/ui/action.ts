/**
 * Actions. Each stands once, in a table beside its function; the palette, menus, buttons, the list of keys and the
 * table in docs/desk.md are made from these tables.
 */

import type { IconName } from './icons.tsx'
import { keysOf } from './keys.ts'
import type { MenuItem } from './menu-content.ts'

type Of<About, Value> = Value | ((about: About) => Value)

/** `About`: the argument of the action, such as a file of a tab. */
export interface Action<About> {
  /** The name on buttons and in docs/desk.md. It ends with … if the action asks for something first. */
  label: string
  /** The name in a menu, if different. */
  inMenu?: Of<About, string>
  /** The name in the palette, if it has to include the object there. */
  inPalette?: Of<About, string>
  icon: Of<About, IconName>
  /**
   * The keys that run the action everywhere in the page, in the notation of keys.ts: Ctrl is the command key on a Mac.
   */
  keys?: string
  /** Other keys that run it everywhere, since users of other editors try them. Buttons and menus show only `keys`. */
  otherKeys?: string
  /** The keys that run the action while the list with its object has the focus. */
  listKeys?: string
  /** Whether the action is possible now. Undefined: always. */
  isPossible?: (about: About) => boolean
  run: (about: About) => unknown
}

/** The actions on one kind of object, each by its id. */
export type Actions<About> = Record<string, Action<About>>

/** An action with its argument. */
export interface Command {
  words: string
  icon: IconName
  keys?: string | undefined
  otherKeys?: string | undefined
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
  const { label, inPalette = label, icon, keys, otherKeys, listKeys, run } = action
  return { words: read(inPalette, about), icon: read(icon, about), keys, otherKeys, listKeys, run: () => run(about) }
}

export function iconOf<About>({ icon }: Action<About>, about: About): IconName {
  return read(icon, about)
}

/** The actions of a table that the palette offers now: those that are possible and have keys. */
export function commandsWith<About>(actions: Actions<About>, about: About): Command[] {
  return Object.values(actions)
    .filter(action => (action.keys ?? action.listKeys) !== undefined && isPossible(action, about))
    .map(action => commandOf(action, about))
}

/**
 * Those of `actions` that are possible now, as a group of a menu. `keys`: which keys are shown beside them: those that
 * work in the focused list, those of the page, or none where the keys would apply to another object.
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

/** The keys that a list with these actions handles, for aria-keyshortcuts. */
export function listKeysIn<About>(actions: Actions<About>): string {
  return Object.values(actions)
    .flatMap(({ listKeys = [] }) => listKeys)
    .join(' ')
}

/**
 * The action that a key runs in a focused list. A letter works with Shift, too, unless that has an action of its own,
 * which may not be possible now.
 */
export function actionFor<About>(
  actions: Actions<About>,
  about: About,
  event: KeyboardEvent,
): (() => void) | undefined {
  const action = withKey(Object.values(actions), event).find(it => isPossible(it, about))
  return action && (() => action.run(about))
}

/** The actions that have the key of an event in a focused list, whether or not they are possible now. */
export function withKey<Keyed extends { listKeys?: string }>(
  actions: readonly Keyed[],
  event: KeyboardEvent,
): readonly Keyed[] {
  const keys = listKeysOf(event)
  const own = actions.filter(({ listKeys }) => listKeys === keys)
  if (own.length > 0) return own
  return actions.filter(({ listKeys }) => listKeys !== undefined && `Shift+${listKeys}` === keys)
}

/**
 * The keys of an event as `listKeys` names them. A character such as ? stands without Shift, since layouts differ in
 * whether it needs Shift.
 */
function listKeysOf(event: KeyboardEvent): string {
  const keys = keysOf(event).replace(/^Shift\+([^a-z0-9])$/i, '$1')
  return { ' ': 'Space', '=': '+' }[keys] ?? keys
}
