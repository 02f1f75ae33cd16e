/** `forge plan`: changes the plan of a run while it runs: in the editor, from a file, or by instructions in words. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import type { CheckedPlan } from '../../formats/tasks-json.ts'
import type { Reference, RunId, RunStatus, Standing } from '../contract.ts'
import { readPlaybooks } from '../lessons/playbooks.ts'
import { parsePlanFile as readPlanFile } from '../plan/file.ts'
import { lintPlan } from '../plan/lint.ts'
import type { Plan } from '../plan/schema.ts'
import { readLastStatus, readPlan, readRunInput } from '../runs/plans.ts'
import { keepAnswer, lookAtPlan, signPlan, tellPlan } from './approval.ts'
import type { CommandContext } from './context.ts'
import { editPlan } from './edit-plan.ts'
import { askPerson } from './follow.ts'
import { parse, wrong } from './options.ts'
import { findRun, openPlace, openStore, type RunPlace } from './place.ts'
import { openRunServer } from './server.ts'

const USAGE = 'forge plan RUN ["what is to be different"] [--file PLAN] [--yes [--seen SIGN] | --json]'

export const HELP = `${USAGE}

Changes the plan of a run while it runs. Without words, your editor opens it; what you save is checked like any plan.
With words, the planner makes a change of them, which waits for your yes (forge attach RUN shows it and asks). Tasks that
are done or under way stay as they are; of a task that is done, its checks may change, and are run again. A task whose part
of the plan is another one begins anew, with two fresh attempts.

  --file PLAN   a file with the whole plan, in place of the editor
  --yes         take it without being asked once more
  --json        with --file: change nothing, and say as JSON what the linter says of it, or the plan whole with its sign
  --seen SIGN   with --yes: only if the plan, and all that belongs to it, has that sign still`

const OPTIONS = {
  file: { type: 'string' },
  yes: { type: 'boolean' },
  json: { type: 'boolean' },
  seen: { type: 'string' },
} as const

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: OPTIONS, usage: USAGE, words: [1, 2] })
  const [word = '', words] = positionals
  const { file } = values
  if (words !== undefined && file !== undefined) throw wrong('Either words or --file', USAGE)
  if (values.json && (values.yes || file === undefined)) throw wrong('--json is for --file, and changes nothing', USAGE)
  if (values.seen !== undefined && !values.yes) throw wrong('--seen is only for --yes', USAGE)
  await using place = await openPlace(context)
  const run = await findRun(place, word, context)
  if (values.json && file !== undefined) {
    context.out(JSON.stringify(await checkPlan(place, run, file, context)))
    return EXIT.done
  }
  await using server = await openRunServer(place, context, { start: true })
  if (words !== undefined) {
    if (words.trim() === '') throw wrong('Say what is to be different', USAGE)
    await server.update(run, 'replan', await keepAnswer(place, { run, task: '', words: words.trim() }, context))
    context.out(`The planner looks at it: forge attach ${run} shows the changed plan and asks.`)
    return EXIT.done
  }
  const changed = await changedPlan(place, run, file, context)
  if (changed === undefined) {
    context.out('It is as it was.')
    return EXIT.done
  }
  const looked = await lookAtPlan(place, run, changed, context)
  if (values.seen !== undefined && values.seen !== looked.inFull.seen)
    throw new Failure('Nothing was changed: the plan, or what belongs to it, is another one since you saw it.')
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
  // A run that waits for the approval of its plan gets the changed plan as the approved one.
  const { state } = await server.status(run)
  await (state === 'approving' ? server.update(run, 'approve', changed) : server.update(run, 'mend', changed))
  context.out(`The plan is changed: forge attach ${run} shows how it goes on.`)
  return EXIT.done
}

/** The changed plan; undefined where it is unchanged. */
async function changedPlan(
  place: RunPlace,
  run: RunId,
  file: string | undefined,
  context: CommandContext,
): Promise<Reference | undefined> {
  const store = openStore(place, run)
  if (file !== undefined) {
    return await store.putJson('plan', readPlanFile(await readText(file, context), file))
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

async function readText(file: string, { cwd }: CommandContext): Promise<string> {
  return await readFile(resolve(cwd, file), 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new Failure(`${visible(file)} can't be read (${code}): check its name and mode.`)
  })
}

type Complaint = CheckedPlan['complaints'][number]

/**
 * The linter's complaints about a plan in a file; without any, the plan as the user has to see it before approving it.
 */
async function checkPlan(place: RunPlace, run: RunId, file: string, context: CommandContext): Promise<CheckedPlan> {
  const text = await readText(file, context)
  const store = openStore(place, run)
  let plan: Plan
  try {
    plan = readPlanFile(text, file)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { complaints: error.message.split('\n').map(words => placedByReader(words)) }
  }
  const [status, { base, limits }] = await Promise.all([readLastStatus(store), readRunInput(store)])
  const before = status && hasBegun(status) ? await readPlan(store) : undefined
  const standing = (status?.tasks ?? []).flatMap(standingOf)
  const { objects } = place
  const { complaints } = await lintPlan(plan, {
    objects,
    tree: base,
    limits,
    standing,
    lessons: new Set((await readPlaybooks(objects)).lessons.map(({ id }) => id)),
    ...(before && { before }),
  })
  if (complaints.length > 0) return { complaints: complaints.map(words => placedByTask(words, text, plan)) }
  const { inFull } = await lookAtPlan(place, run, await store.putJson('plan', plan), context)
  return { complaints: [], plan: { ...inFull, waits: true } }
}

const hasBegun = ({ state }: RunStatus): boolean => state !== 'planning' && state !== 'approving'

function standingOf({ id, state }: RunStatus['tasks'][number]): Standing[] {
  if (state === 'done' || state === 'stopped') return [{ id, is: state }]
  return state === 'runs' ? [{ id, is: 'under way' }] : []
}

/** A complaint of the file's parser, which names the line: "plan.yaml, line 12: …". */
function placedByReader(words: string): Complaint {
  const [, line, rest] = /^.*?, line (\d+): (.*)$/s.exec(words) ?? []
  return rest === undefined ? { words } : { words: rest, line: Number(line) }
}

/** Places a complaint of the linter at the line of the plan's file where the task or assertion that it names begins. */
function placedByTask(words: string, text: string, { tasks, contract }: Plan): Complaint {
  const named = [...tasks, ...contract].find(({ id }) => words.split(/[^\w-]+/).includes(id))
  if (!named) return { words }
  const at = text.split('\n').findIndex(line => /^[\s-]*id: *["']?([\w-]+)["']? *$/.exec(line)?.[1] === named.id)
  return at < 0 ? { words } : { words, line: at + 1 }
}
