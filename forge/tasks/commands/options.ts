/** What the command lines of the tasks have in common. */
import { EXIT, Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'

/** Parses a command's arguments; whatever is wrong with them is wrong usage, as one sentence. */
export function parseOptions<Parsed>(verb: string, parse: () => Parsed): Parsed {
  try {
    return parse()
  } catch (error) {
    const reason = visible((error as Error).message.split(/\n|\. /)[0] ?? '')
    throw new Failure(`${reason}. See forge ${verb} --help.`, EXIT.usage)
  }
}
