/** `forge attach`: follows a run that is under way, as `forge run` does. */
import type { ExitCode } from '../../../core/failure.ts'
import type { Reference } from '../contract.ts'
import { approvePlan } from './approval.ts'
import type { CommandContext } from './context.ts'
import { follow } from './follow.ts'
import { parse } from './options.ts'
import { findRun, openPlace, openStore } from './place.ts'
import { openRunServer } from './server.ts'

const USAGE = 'forge attach RUN'

export const HELP = `${USAGE}

Shows a run that is under way, and asks what it asks. RUN is its name, the beginning or the end of that, or last.
Ctrl-C leaves it alone. Exit codes are those of forge run.`

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { positionals } = parse(argv, { options: {}, usage: USAGE, words: [0, 1] })
  await using place = await openPlace(context)
  const run = await findRun(place, positionals[0] ?? 'last', context)
  await using server = await openRunServer(place, context, { start: true })
  const store = openStore(place, run)
  const approve = (plan: Reference) => approvePlan(place, { run, plan }, context)
  return await follow({ server, store, run, context, approve })
}
