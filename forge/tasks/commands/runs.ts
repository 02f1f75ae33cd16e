/** `forge runs`: lists the runs of this repository, and prunes them. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { listRefs } from '../../../core/git/refs.ts'
import { many, short, visible } from '../../../core/text.ts'
import type { ListedRun } from '../../formats/tasks-json.ts'
import type { RunId, RunStatus } from '../contract.ts'
import { HubTrouble } from '../hub/remote.ts'
import { BRANCHES, isRunId, listRuns, resultRef } from '../runs/folder.ts'
import { readWish } from '../runs/plans.ts'
import { type Pruned, pruneRun } from '../runs/pruning.ts'
import type { CommandContext } from './context.ts'
import { hasEnded, type Looked, lookSomehow } from './look.ts'
import { parse, wrong } from './options.ts'
import { fetchRuns, findRun, openPlace, openStore, type RunPlace } from './place.ts'
import { findRunServer } from './server.ts'
import { spentInFull, taskCounts } from './tree.ts'

const USAGE = 'forge runs [--json] [--prune [RUN …]] [--all]'

export const HELP = `${USAGE}

Lists the runs of this repository, the newest first.

  --json        as JSON, one object for each
  --prune       lets go of what ended runs keep in git and in their folders, and of their branches that are landed or
                merged, whose commits stay; with RUN, of these runs alone. A run with finished work that is not landed
                stays, so that it can be landed
  --all         with --prune RUN: also of runs and branches that are not landed`

type Listed = Looked & ListedRun

/** At most this many runs are asked for their states at the same time. */
const ASKED_AT_ONCE = 16

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const options = { json: { type: 'boolean' }, prune: { type: 'boolean' }, all: { type: 'boolean' } } as const
  const { values, positionals } = parse(argv, { options, usage: USAGE, words: [0, 1000] })
  if (!values.prune && positionals.length > 0) throw wrong('Only --prune takes runs', USAGE)
  if (values.all && positionals.length === 0) throw wrong('--all is only for runs that are named', USAGE)
  await using place = await openPlace(context)
  if (values.prune) return await prune(place, positionals, { all: values.all === true }, context)
  const runs = await look(place, context)
  if (values.json) for (const listed of runs) context.out(JSON.stringify(listed))
  else for (const line of linesOf(runs)) context.out(line)
  return EXIT.done
}

/** The runs with their states, from the server if one is running, else as last stored. */
async function look(place: RunPlace, context: CommandContext): Promise<Listed[]> {
  await fetchRuns(place, context)
  const found = await listRuns(place.repository, context.env)
  const server = await findRunServer(place, context)
  try {
    const listed: Listed[] = []
    const waiting = [...found.entries()]
    const lookOn = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [at, { run }] = next
        const store = openStore(place, run)
        const wish = await readWish(store).catch(() => '')
        listed[at] = { run, wish, ...(await lookSomehow(server, store, context.env)) }
      }
    }
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, lookOn))
    return listed
  } finally {
    if (!(server instanceof Failure)) await server[Symbol.asyncDispose]()
  }
}

/** States that need an explanation, such as a provider in trouble. */
const TOLD: readonly RunStatus['state'][] = ['planning', 'runs', 'unreachable', 'failed']

function linesOf(runs: Listed[]): string[] {
  if (runs.length === 0) return ['There are no runs in this repository yet: forge run "…" begins one.']
  const width = Math.max(...runs.map(({ run }) => run.length))
  return runs.flatMap(({ run, wish, status }) => {
    const state = status ? stateWords(status) : 'not under way'
    const spent = status ? ` · ${spentInFull(status.spent)}` : ''
    const line = `${run.padEnd(width)}  ${state}${spent} · ${visible(short(wish.split('\n', 1)[0] ?? '', 60))}`
    return status && TOLD.includes(status.state) && status.words !== '' ? [line, `  ${visible(status.words)}`] : [line]
  })
}

/** The states of a run and its tasks in short. */
function stateWords(status: RunStatus): string {
  const { state, result, tasks } = status
  if (state === 'done' && result === undefined) return `only planned, ${many(tasks.length, 'task')}`
  return `${state}${tasks.length > 0 ? `, ${taskCounts(status)}` : ''}`
}

/** Finds a run, also one of which only branches are left. */
async function findPrunable(place: RunPlace, word: string, context: CommandContext): Promise<RunId> {
  const branches = isRunId(word) ? await listRefs(place.repository, [`${BRANCHES}${word}/`]) : []
  return branches.length > 0 ? word : await findRun(place, word, context)
}

async function prune(
  place: RunPlace,
  words: string[],
  { all }: { all: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const listed = await look(place, context)
  const named = await Promise.all(words.map(word => findPrunable(place, word, context)))
  const ended = listed.filter(({ status }) => status && hasEnded(status)).map(({ run }) => run)
  // A run that waits for the user counts too: pruning would remove what it has found.
  const busy = named.find(run => listed.some(it => it.run === run && it.isUnderWay))
  if (busy) throw new Failure(`The run ${busy} is under way: forge stop ${busy} ends it, then it can be pruned.`)
  const chosen = words.length > 0 ? named : ended
  for (const run of chosen) {
    const pruned = await pruneRun(place.objects, run, { env: context.env, all })
    if (!pruned.isKept) await removeFromHub(place, run, { result: pruned.refs.includes(resultRef(run)) })
    for (const line of linesOfPruned(run, pruned)) context.out(line)
  }
  if (chosen.length === 0) context.out('No run has ended: there is nothing to prune.')
  return EXIT.done
}

/** Removes a pruned run from the hub, from which it would come back otherwise. */
async function removeFromHub(place: RunPlace, run: RunId, what: { result: boolean }): Promise<void> {
  try {
    if ((await (await place.hub())?.of(run).remove(what)) !== false) return
  } catch (error) {
    if (!(error instanceof HubTrouble)) throw error
    throw new Failure(`${error.message} So ${run} is still there: forge runs --prune ${run} once it answers.`)
  }
  throw new Failure(`Another machine has written to ${run} meanwhile, so it stays on the hub: see forge runs.`)
}

/** The lines about what was removed, how to restore it, and what stays. */
function linesOfPruned(run: RunId, { isKept, refs, saved, kept, lost }: Pruned): string[] {
  const count = refs.length === 1 ? 'one landed branch' : `${refs.length} landed branches`
  const went = refs.length > 0 ? ` (${count} of it went)` : ''
  if (isKept)
    return [
      `${run}: stays, as finished work of it is not landed${went}. Land it with forge land ${run}, or remove it with ` +
        `forge runs --prune ${run} --all.`,
    ]
  const branches =
    kept.length === 1
      ? 'one branch that is not landed, or is checked out, stays'
      : `${kept.length} branches that are not landed, or are checked out, stay`
  const stay = kept.length > 0 ? `; ${branches} (forge runs --prune ${run} --all removes those not landed)` : ''
  const gone = `${run}: ${many(refs.length, 'ref')} and its folder are gone${stay}.`
  const back = ([first, ...others]: { branch: string; at: string }[], until: string) =>
    first
      ? [
          `  To bring back a branch${until}: git branch ${first.branch} ${first.at}${others.length > 0 ? ', and so on' : ''}`,
        ]
      : []
  // Names that a shell would interpret are not written as a command.
  const isPlain = ({ branch }: { branch: string }) => /^[\w./-]+$/.test(branch)
  return [
    gone,
    ...back(saved.filter(isPlain), ''),
    ...back(lost.filter(isPlain), ', for as long as git keeps what nothing names'),
  ]
}
