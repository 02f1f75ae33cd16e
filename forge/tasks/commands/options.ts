/** Command lines of the tasks, parsed once and trusted afterwards. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { EXIT, Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'

/**
 * Parses options and the words between them. Throws a {@link Failure} of wrong usage where one is unknown, or where there
 * are fewer or more words than a command takes.
 */
export function parse<const Options extends ParseArgsOptionsConfig>(
  argv: string[],
  { options, usage, words: [least, most] }: { options: Options; usage: string; words: [least: number, most: number] },
) {
  const parsed = parseOrExplain(argv, options, usage)
  const count = parsed.positionals.length
  if (count < least || count > most) throw wrong(count < least ? 'Something is missing' : 'That is too much', usage)
  return parsed
}

function parseOrExplain<const Options extends ParseArgsOptionsConfig>(argv: string[], options: Options, usage: string) {
  try {
    return parseArgs({ args: argv, options, allowPositionals: true, strict: true })
  } catch (error) {
    const [sentence = ''] = (error instanceof Error ? error.message : '').split(/\n|\. |\.$/)
    throw wrong(visible(sentence), usage)
  }
}

export const wrong = (what: string, usage: string): Failure => new Failure(`${what}: ${usage}`, EXIT.usage)

/** An amount of US dollars. */
export function dollars(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,6}(\.\d{1,4})?$/.test(text) && Number(text) > 0) return Number(text)
  throw new Failure(`${option} wants an amount in US dollars, such as 2.50.`, EXIT.usage)
}

/** A whole number from 1 on. */
export function count(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text)
  throw new Failure(`${option} wants a whole number from 1 on.`, EXIT.usage)
}
