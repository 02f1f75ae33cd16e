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

/** Where a run's lines go. Steps and good ends to standard output, failures to standard error, so that a pipe can tell. */
export type Reporter = {
  /** A step begins, or something is worth a line. Without a terminal it is held back until {@link Reporter.begin}. */
  step: (text: string) => void
  /** What is going on right now; on a terminal only. */
  live: (text: string) => void
  /** From here on there is something to do: what was held back is printed. */
  begin: () => void
  /** The last line. */
  end: (text: string, failed: boolean) => void
}

/** `name` tells the lines of many forks apart in one log. Colours and live lines are for terminals alone. */
export function reporterFor(name: string, out = process.stdout, err = process.stderr): Reporter {
  const terminal = Boolean(out.isTTY)
  const colour = terminal && !process.env.NO_COLOR
  const paint = (code: number, text: string) => (colour ? `\x1b[${code}m${text}\x1b[0m` : text)
  const clear = () => terminal && out.write('\r\x1b[K')
  const line = (text: string) => (terminal ? text : `${new Date().toTimeString().slice(0, 8)} ${name}: ${text}`)
  let held: string[] | undefined = terminal ? undefined : []
  const print = (text: string) => (held ? held.push(text) : out.write(`${text}\n`))
  const begin = () => {
    const lines = held ?? []
    held = undefined
    for (const text of lines) print(text)
  }
  return {
    begin,
    step: text => {
      clear()
      print(line(`${paint(2, terminal ? '· ' : '')}${visible(text)}`))
    },
    live: text => {
      if (!terminal) return
      clear()
      out.write(paint(2, `  ${visible(text)}`.slice(0, (out.columns || 80) - 1)))
    },
    end: (text, failed) => {
      clear()
      if (failed) begin()
      const words = visibleLines(text)
      if (failed) err.write(`${line(paint(31, terminal ? `✗ ${words}` : words))}\n`)
      else if (!held) out.write(`${line(paint(32, terminal ? `✓ ${words}` : words))}\n`)
    },
  }
}
