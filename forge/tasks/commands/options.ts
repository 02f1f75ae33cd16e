/** Parses the command lines of the tasks. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { EXIT, Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'

/**
 * Parses options and positional arguments. Throws a {@link Failure} of wrong usage for an unknown option or a wrong
 * number of arguments.
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

/** Parses an amount of US dollars. */
export function dollars(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,6}(\.\d{1,4})?$/.test(text) && Number(text) > 0) return Number(text)
  throw new Failure(`${option} wants an amount in US dollars, such as 2.50.`, EXIT.usage)
}

/** Parses a whole number from 1. */
export function count(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text)
  throw new Failure(`${option} wants a whole number from 1 on.`, EXIT.usage)
}
