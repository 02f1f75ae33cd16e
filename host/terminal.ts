/** What a person sees: text from strangers made harmless, and one line a step on a terminal or in a cron mail. */
import type { Path } from './git.ts'

/** Controls, invisible separators and the marks that turn the direction of text: nothing a name or message needs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** Text on one line with every control character spelled out, so that none reaches a terminal. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, char => {
    const code = char.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })

/** The same over several lines: line ends and tabs stay. */
export const visibleLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map(line => line.split('\t').map(visible).join('\t'))
    .join('\n')

/** A file's name for a person: UTF-8 where it is UTF-8, its bytes spelled out where it is not. */
export function visiblePath(path: Path): string {
  const bytes = Buffer.from(path, 'latin1')
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return visible(text)
  return path.replace(/[^\x20-\x7e]/g, byte => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
