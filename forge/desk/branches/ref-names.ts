/** Why git does not accept the name of a branch or a tag. */
import { isRefName } from '../../../core/git/objects.ts'
import { visible } from '../../../core/text.ts'

/** What git does not accept in a name, and how it is said after “the name of a branch:”. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/^$/, 'it is empty'],
  [/^-/, 'it begins with a dash'],
  [/ /, 'it has a space'],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  [/[\x00-\x1f\x7f]/, 'it has a control character'],
  [/\.\./, 'it has two dots in a row'],
  [/@\{/, 'it has “@{”'],
  [/^\/|\/$|\/\//, 'it has a slash without a name before and after it'],
  [/(^|\/)\./, 'it begins with a dot, or has one after a slash'],
  [/\.lock(\/|$)/, 'it ends in .lock, or has .lock before a slash'],
  [/\.$/, 'it ends in a dot'],
]

/** Why git does not accept a name for a ref below `prefix` (`refs/heads/`); undefined if it does. */
export function whyNoName(prefix: string, name: string): string | undefined {
  if (isRefName(`${prefix}${name}`) && !name.startsWith('-')) return undefined
  const why = REFUSED.find(([pattern]) => pattern.test(name))?.[1]
  if (why !== undefined) return why
  const [character] = /[~^:?*[\\]/.exec(name) ?? []
  return character === undefined ? 'git does not accept it' : `it has a “${visible(character)}”`
}
