/** `forge plan`: the plan of a run is changed while it runs, in the editor, from a file, or in words. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import type { Reference, RunId } from '../contract.ts'
import { parsePlanFile as readPlanFile } from '../plan/file.ts'
import { readLastStatus } from '../runs/plans.ts'
import { keepAnswer, lookAtPlan, signPlan, tellPlan } from './approval.ts'
import type { CommandContext } from './context.ts'
import { editPlan } from './edit-plan.ts'
import { askPerson } from './follow.ts'
import { parse, wrong } from './options.ts'
import { findRun, openPlace, openStore, type RunPlace } from './place.ts'
import { openRunServer } from './server.ts'

const USAGE = 'forge plan RUN ["what is to be different"] [--file PLAN] [--yes]'

export const HELP = `${USAGE}

Changes the plan of a run while it runs. Without words, your editor opens it; what you save is checked like any plan.
With words, the planner makes a change of them, which waits for your yes (forge attach RUN shows it and asks). Tasks that
are done or under way stay as they are; of a task that is done, its checks may change, and are run again. A task whose part
of the plan is another one begins anew, with two fresh attempts.

  --file PLAN   a file with the whole plan, in place of the editor
  --yes         take it without being asked once more`

const OPTIONS = { file: { type: 'string' }, yes: { type: 'boolean' } } as const

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: OPTIONS, usage: USAGE, words: [1, 2] })
  const [word = '', words] = positionals
  if (words !== undefined && values.file !== undefined) throw wrong('Either words or --file', USAGE)
  await using place = await openPlace(context)
  const run = await findRun(place, word, context)
  await using server = await openRunServer(place, context, { start: true })
  if (words !== undefined) {
    if (words.trim() === '') throw wrong('Say what is to be different', USAGE)
    await server.update(run, 'replan', await keepAnswer(place, { run, task: '', words: words.trim() }, context))
    context.out(`The planner looks at it: forge attach ${run} shows the changed plan and asks.`)
    return EXIT.done
  }
  const changed = await changedPlan(place, run, values.file, context)
  if (changed === undefined) {
    context.out('It is as it was.')
    return EXIT.done
  }
  const looked = await lookAtPlan(place, run, changed, context)
  if (!values.yes) {
    tellPlan(looked, context)
    if (!context.isTerminal)
      throw new Failure('Nothing was changed, as there is no terminal to ask: use --yes.', EXIT.usage)
    const said = (await askPerson(context, '\nTake this plan from now on? (y/n): '))?.trim().toLowerCase()
    if (said !== 'y' && said !== 'yes') {
      context.out('Nothing was changed: forge plan opens it again as you left it.')
      return EXIT.done
    }
  }
  await signPlan(place, run, looked, context)
  await server.update(run, 'mend', changed)
  context.out(`The plan is changed: forge attach ${run} shows how it goes on.`)
  return EXIT.done
}

/** The plan as the person has it now; undefined where it is the same. */
async function changedPlan(
  place: RunPlace,
  run: RunId,
  file: string | undefined,
  context: CommandContext,
): Promise<Reference | undefined> {
  const store = openStore(place, run)
  if (file !== undefined) {
    const text = await readFile(resolve(context.cwd, file), 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
      throw new Failure(`${visible(file)} can't be read (${code}): check its name and mode.`)
    })
    return await store.putJson('plan', readPlanFile(text, file))
  }
  if (!context.isTerminal)
    throw new Failure(
      'There is no terminal for an editor: give the plan by --file, or what is to change in words.',
      EXIT.usage,
    )
  const plan = (await readLastStatus(store))?.plan
  if (!plan) throw new Failure(`The run ${run} has no plan yet: forge show ${run} says how it is.`)
  return await editPlan(place, run, plan, context)
}
