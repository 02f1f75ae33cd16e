/** A short name for a check. */
import { short, visible } from '../../../core/text.ts'

/** At most this many characters of a command are shown as its name. */
export const MAX_CHECK_NAME = 80

/** A command on one line: for a script, its most telling line and the number of lines. */
export function nameOfCheck(command: string): string {
  const lines = command.split('\n').filter(line => line.trim() !== '')
  const telling = lines.find(line => !/^\s*(?:#|set -|cd |export |\w+=)/.test(line)) ?? lines[0] ?? ''
  const first = short(visible(telling.trim()), MAX_CHECK_NAME)
  return lines.length > 1 ? `${first} (a script of ${lines.length} lines)` : first
}
