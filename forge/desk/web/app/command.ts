/** An action of the desk, for the palette, the keys and the list of keys. */
import type { IconName } from '../ui/icons.tsx'

export interface Command {
  words: string
  keys?: string
  /** Whether these are heard by the list alone that it is about, while that has the focus. */
  isOfList?: boolean
  icon: IconName
  run: () => void
}
