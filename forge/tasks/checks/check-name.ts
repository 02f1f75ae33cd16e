/** What a check is called where there is no room for all of it. */
import { short, visible } from '../../../core/text.ts'

/** Characters of a command by which it is known. */
export const MAX_CHECK_NAME = 80

/** A command on one line: of a script, the line by which it is known, and how many there are. */
export function nameOfCheck(command: string): string {
  const lines = command.split('\n').filter(line => line.trim() !== '')
  const telling = lines.find(line => !/^\s*(?:#|set -|cd |export |\w+=)/.test(line)) ?? lines[0] ?? ''
  const first = short(visible(telling.trim()), MAX_CHECK_NAME)
  return lines.length > 1 ? `${first} (a script of ${lines.length} lines)` : first
}
