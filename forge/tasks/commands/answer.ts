/** `forge answer`: answers a task's question, and can give it files or permissions to write. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { visible } from '../../../core/text.ts'
import type { TaskId } from '../contract.ts'
import { amend } from '../plan/amend.ts'
import { readPlan, readRunInput } from '../runs/plans.ts'
import { filesOutside, readEscalation } from '../runs/report.ts'
import type { RunStore } from '../runs/store.ts'
import { keepAnswer, lookAtPlan, signPlan } from './approval.ts'
import type { CommandContext } from './context.ts'
import { askPerson } from './follow.ts'
import { parse } from './options.ts'
import { findRun, openPlace, openStore } from './place.ts'
import { openRunServer, type RunServer } from './server.ts'

const USAGE = 'forge answer RUN [TASK] "…" [--may-write GLOB] [--with FILE] [--only-words]'

export const HELP = `${USAGE}

Answers what a task asked, or, without TASK, what the run as a whole asked. The task begins a new attempt with your
words. They are kept in the run's refs, and go to the models: put no secrets into them.

  --may-write GLOB   files that the task may write besides, from now on; several times for several
  --with FILE        a file that it is given besides; several times for several
  --only-words       goes on with your words alone, also where they name a file that the task may not write

With these the plan is changed, and checked like any other: the task begins anew with two fresh attempts.`

/** At most this many characters in an answer; longer texts belong into a file of the repository. */
const MAX_ANSWER = 20_000

const OPTIONS = {
  'may-write': { type: 'string', multiple: true },
  with: { type: 'string', multiple: true },
  'only-words': { type: 'boolean' },
} as const

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { positionals, values } = parse(argv, { options: OPTIONS, usage: USAGE, words: [2, 3] })
  const [word = '', ...rest] = positionals
  const task = rest.length === 2 ? (rest[0] ?? '') : ''
  const text = rest.at(-1)?.trim() ?? ''
  const files = values.with ?? []
  let mayWrite = values['may-write'] ?? []
  let isMending = mayWrite.length + files.length > 0
  if (text === '') throw new Failure(`The answer is empty: ${USAGE}`, EXIT.usage)
  if (text.length > MAX_ANSWER)
    throw new Failure(
      `The answer is longer than ${MAX_ANSWER} characters: put it into a file, and name that.`,
      EXIT.usage,
    )
  const isOnlyWords = values['only-words'] ?? false
  if (isMending && isOnlyWords)
    throw new Failure(`--only-words is not for an answer with --may-write or --with: ${USAGE}`, EXIT.usage)
  if (isMending && task === '') throw new Failure(`--may-write and --with are for a task: ${USAGE}`, EXIT.usage)
  await using place = await openPlace(context)
  const run = await findRun(place, word, context)
  await using server = await openRunServer(place, context, { start: true })
  const named = isMending || isOnlyWords ? [] : await filesMeant(openStore(place, run), server, { task, text })
  if (named.length > 0 && (await mayWriteThem(named, task, context))) {
    mayWrite = named
    isMending = true
  }
  if (!isMending) {
    const answer = await keepAnswer(place, { run, task, words: text }, context)
    await server.update(run, 'answer', task, answer)
    context.out(`${task ? `${visible(task)} goes on` : 'The run goes on'} with that: forge attach ${run} shows it.`)
    return EXIT.done
  }
  const store = openStore(place, run)
  const { tasks } = await server.status(run)
  const fixed = new Set(tasks.filter(({ state }) => state === 'done' || state === 'runs').map(({ id }) => id))
  const before = await readPlan(store)
  if (!before.tasks.some(({ id }) => id === task))
    throw new Failure(`The run ${run} has no task ${visible(task)}: forge show ${run} lists them.`)
  // The task is also shown the existing files that it may write from now on.
  const { base } = await readRunInput(store)
  const there: string[] = []
  for (const path of mayWrite) if ((await entryAt(place.objects, base, path))?.mode.startsWith('100')) there.push(path)
  const { plan, notes } = amend(before, { task, mayWrite, with: [...files, ...there] }, id => fixed.has(id))
  const reference = await store.put('plan', `${JSON.stringify(plan, undefined, 2)}\n`)
  await signPlan(place, run, await lookAtPlan(place, run, reference, context), context)
  const answer = await keepAnswer(place, { run, task, words: text }, context)
  await server.update(run, 'mend', reference, { task, answer })
  for (const note of notes) context.out(note)
  context.out(`${visible(task)} begins anew with that: forge attach ${run} shows it.`)
  return EXIT.done
}

/** Files that the user's answer names, and that the task has written outside of its boundaries when it failed. */
async function filesMeant(
  store: RunStore,
  server: RunServer,
  { task, text }: { task: TaskId; text: string },
): Promise<string[]> {
  if (task === '') return []
  // Where the run's status can't be had, no file is found, and the answer, which is sent next, fails with the reason.
  const status = await server.status(store.run).catch(() => undefined)
  const question = status?.tasks.find(({ id }) => id === task)?.question
  const escalation = question && (await readEscalation(store, question))
  return escalation ? filesOutside(escalation).filter(path => text.includes(path)) : []
}

/**
 * Asks whether the task may write these files. An answer in words leaves its boundaries as they are, so the next
 * attempt would fail in the same way. @throws Failure without a terminal, where no
 * question can be asked: no attempt is paid for then.
 */
async function mayWriteThem(paths: string[], task: TaskId, context: CommandContext): Promise<boolean> {
  const all = paths.join(', ')
  if (!context.isTerminal) {
    const options = paths.map(path => `--may-write ${path}`).join(' ')
    throw new Failure(
      `Words alone do not change what ${visible(task)} may write, so it has not begun anew. To let it write ${all}, \
add ${options}; to let it try again within its boundaries, add --only-words.`,
      EXIT.usage,
    )
  }
  const said = await askPerson(context, `May ${visible(task)} write ${all} from now on? (y/n): `)
  return /^y(es)?$/i.test(said?.trim() ?? '')
}
