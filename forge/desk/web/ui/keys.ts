/** The notation of keys: Ctrl+Shift+F. On a Mac, Ctrl is the command key. */

const IS_MAC = navigator.platform.startsWith('Mac')

/** Whether Ctrl is held, or the command key on a Mac. */
export function isCommandKey(event: KeyboardEvent | MouseEvent): boolean {
  return IS_MAC ? event.metaKey : event.ctrlKey
}

/** The keys of an event. Letters, digits and \ are read by position, since Alt and Shift produce other characters. */
export function keysOf(event: KeyboardEvent): string {
  const isCommand = isCommandKey(event)
  const parts = [isCommand ? 'Ctrl' : '', event.altKey ? 'Alt' : '', event.shiftKey ? 'Shift' : '', nameOf(event)]
  return parts.filter(part => part !== '').join('+')
}

function nameOf(event: KeyboardEvent): string {
  const { code, key } = event
  if (/^Key[A-Z]$/.test(code) && (event.altKey || /^[^a-z]$/i.test(key))) return code.slice(3)
  if (/^Digit\d$/.test(code)) return code.slice(5)
  // With Shift, this key gives another character on most keyboards; on others, the character has another key.
  if (code === 'Backslash' && event.shiftKey) return '\\'
  return key.length === 1 ? key.toUpperCase() : key
}

const MAC_SIGNS: Record<string, string> = { Ctrl: '⌘', Alt: '⌥', Shift: '⇧' }
const SHORT: Record<string, string> = {
  PageDown: 'PgDn',
  PageUp: 'PgUp',
  Delete: 'Del',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
}

/** Keys as shown on the screen. */
export function shownKeys(keys: string): string {
  const parts = keys.split(/\+(?=.)/).map(part => SHORT[part] ?? part)
  return IS_MAC ? parts.map(part => MAC_SIGNS[part] ?? part).join('') : parts.join(' ')
}

/** Whether a key types into a text, or deletes from it. */
export function isTypingKey({ key, ctrlKey, altKey, metaKey, isComposing }: KeyboardEvent): boolean {
  const isText = key.length === 1 || key === 'Enter' || key === 'Backspace'
  return isText && !ctrlKey && !altKey && !metaKey && !isComposing
}

const EDITING = /^(?:Arrow(?:Left|Right|Up|Down)|Home|End|Page(?:Up|Down)|Backspace|Delete)$/

/** Whether a key moves the cursor in a text, or deletes from it. */
export const isEditingKey = ({ key, altKey, metaKey, isComposing }: KeyboardEvent): boolean =>
  EDITING.test(key) && !altKey && !metaKey && !isComposing
