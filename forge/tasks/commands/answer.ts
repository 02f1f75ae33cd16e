/** `forge answer`: a person's words to a task that asked. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import { keepAnswer } from './approval.ts'
import type { CommandContext } from './context.ts'
import { parse } from './options.ts'
import { findRun, openPlace } from './place.ts'
import { openRunServer } from './server.ts'

const USAGE = 'forge answer RUN [TASK] "…"'

export const HELP = `${USAGE}

Answers what a task asked, or, without TASK, what the run as a whole asked. The task begins a new attempt with your
words. They are kept in the run's refs, and go to the models: put no secrets into them.`

/** More belongs into a file of the repository. */
const LONGEST = 20_000

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { positionals } = parse(argv, { options: {}, usage: USAGE, words: [2, 3] })
  const [word = '', ...rest] = positionals
  const task = rest.length === 2 ? (rest[0] ?? '') : ''
  const text = rest.at(-1)?.trim() ?? ''
  if (text === '') throw new Failure(`The answer is empty: ${USAGE}`, EXIT.usage)
  if (text.length > LONGEST)
    throw new Failure(`The answer is longer than ${LONGEST} signs: put it into a file, and name that.`, EXIT.usage)
  await using place = await openPlace(context)
  const run = await findRun(place, word, context)
  await using server = await openRunServer(place, context, { start: true })
  const answer = await keepAnswer(place, { run, task, words: text }, context)
  await server.update(run, 'answer', task, answer)
  context.out(`${task ? `${visible(task)} goes on` : 'The run goes on'} with that: forge attach ${run} shows it.`)
  return EXIT.done
}
