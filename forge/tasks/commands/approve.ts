/** `forge approve`: approves a waiting plan that the user has seen here or on the desk. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { approvePlan, lookAtPlan, signPlan } from './approval.ts'
import type { CommandContext } from './context.ts'
import { sayLater, sayRefused, tellWord } from './follow.ts'
import { parse } from './options.ts'
import { findRun, openPlace } from './place.ts'
import { openRunServer } from './server.ts'

const USAGE = 'forge approve RUN [--seen SIGN]'

export const HELP = `${USAGE}

Shows the plan that waits for a yes, whole, and asks: yes, no, later; or change it in your editor, or say what is to be
different. With a yes, its commands are signed for, and the run goes on.

  --seen SIGN   you have seen it elsewhere, such as on the desk (forge show RUN --plan --json tells the sign): it is
                approved if it is still just that, with these commands, this network and these limits`

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const options = { seen: { type: 'string' } } as const
  const { values, positionals } = parse(argv, { options, usage: USAGE, words: [0, 1] })
  if (!context.isTerminal && values.seen === undefined)
    throw new Failure(
      'There is no terminal to ask on: look at it with forge show RUN --plan, then use --seen.',
      EXIT.usage,
    )
  await using place = await openPlace(context)
  const run = await findRun(place, positionals[0] ?? 'last', context)
  await using server = await openRunServer(place, context, { start: true })
  const { state, plan } = await server.status(run)
  if (state !== 'approving' || !plan)
    throw new Failure(`No plan of ${run} waits for a yes: forge show ${run} says how it is.`)
  if (values.seen === undefined) {
    for (let shown = plan; ; ) {
      const word = await approvePlan(place, { run, plan: shown }, context)
      if (word.says === 'later') return sayLater(run, context)
      if (word.says === 'yes') shown = word.plan
      const isTaken = await tellWord({ server, run }, word).then(
        () => true,
        error => {
          sayRefused(error, context)
          return false
        },
      )
      if (!isTaken) continue
      context.out(word.says === 'no' ? `The run ${run} is stopped.` : goesOn(run))
      return EXIT.done
    }
  }
  const looked = await lookAtPlan(place, run, plan, context)
  if (looked.inFull.seen !== values.seen)
    throw new Failure('Nothing was approved: the plan, or what belongs to it, has changed since. Look at it again.')
  await signPlan(place, run, looked, context)
  await server.update(run, 'approve', plan)
  context.out(goesOn(run))
  return EXIT.done
}

const goesOn = (run: string): string => `The run ${run} goes on: forge attach ${run} shows it.`
