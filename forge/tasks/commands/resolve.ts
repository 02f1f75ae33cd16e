/**
 * `forge resolve`: a merge with many conflicts, done in parts. The merge that git makes, with its markers, is the base
 * of a run; its plan has a task for each group of files in conflict, and needs no planner. With `--forklift`, the merge
 * is that of a run of Forklift, with what its agent has resolved.
 */
import { basename, join, resolve } from 'node:path'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import {
  harnessStateOf,
  isByAgent,
  listRunDirectories,
  MAX_STUCK_CHARS,
  projectOf,
  type RecordedRun,
  readRun,
  runsFolderIn,
  STUCK_FILE,
  stampOf,
  stateFolder,
} from '../../../core/formats/forklift-run.ts'
import { commit } from '../../../core/git/commits.ts'
import { type MergedTree, mergeTrees } from '../../../core/git/merges.ts'
import { readStart } from '../../../core/git/objects.ts'
import { readHead } from '../../../core/git/refs.ts'
import { asBytes, asText, isOid, type Oid } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { openState } from '../../../core/state.ts'
import { many, short, visible, visibleLines } from '../../../core/text.ts'
import { readUntrusted } from '../../../core/untrusted.ts'
import { parseForgeMd } from '../../ai/forge-md.ts'
import { CodeReader } from '../../code/reader.ts'
import { bringStart, type TakenRow, takeOver } from '../../taken-over/takeover.ts'
import { type Conflicts, conflictsOf } from '../plan/conflicts.ts'
import { planOfMerge } from '../plan/merge.ts'
import { partsOf } from '../plan/parts.ts'
import { type MergeDescription, mergeMessage, type Sides } from '../runs/merging.ts'
import type { CommandContext } from './context.ts'
import { openMerging } from './open-merging.ts'
import { parse, wrong } from './options.ts'
import { openPlace, type RunPlace } from './place.ts'
import { beginRun, LIMIT_OPTIONS, runOptionsFrom, verifyCanWork } from './run.ts'

const USAGE =
  'forge resolve BRANCH|--forklift RUN [--yes|--detach] [--budget DOLLARS] [--requests N] [--minutes N] [--at-most N]'

export const HELP = `${USAGE}
forge resolve --open RUN [--json]

Merges BRANCH into the branch that is checked out, where too many files are in conflict for one sitting: they are
grouped by what they import and by the commits that changed them together, each group is a task, and forge land makes
one merge commit of all. The merge is judged as Forklift's are. Where a conflict has no markers, as where one side has
deleted a file, a model chooses between the sides; what no model can decide is named, and left for the desk.

  --forklift RUN  the merge of a run of Forklift that got stuck, was refused or ran out of time: its directory, its name,
                  the end of that, or last. What its agent has resolved is kept
  --open RUN      keep what a run of this command has resolved, for the desk, where the rest is finished by hand
  --yes           approve the plan and its commands as they come
  --detach        start it, print its name and end
  --json          with --detach and --open: print JSON
  --budget DOLLARS, --requests N, --minutes N, --at-most N   as for forge run

Ctrl-C leaves it alone: the run goes on, and forge attach shows it again.`

const OPTIONS = {
  forklift: { type: 'string' },
  open: { type: 'string' },
  yes: { type: 'boolean' },
  detach: { type: 'boolean' },
  json: { type: 'boolean' },
  ...LIMIT_OPTIONS,
} as const

/** At most this many conflicts that are left for a person are named. */
const MAX_NAMED = 5
/** At most this many bytes of FORK.md are read. */
const MAX_FORK_MD_BYTES = 64 << 10

/** A merge to resolve: its sides and their names, and the run of Forklift that it is from. */
type Subject = Sides & { into: string; name: string; forkMd?: string | undefined; forklift?: RecordedRun }

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: OPTIONS, usage: USAGE, words: [0, 1] })
  const [branch] = positionals
  if ([branch, values.forklift, values.open].filter(it => it !== undefined).length !== 1)
    throw wrong('One of BRANCH, --forklift RUN and --open RUN', USAGE)
  if (values.json && !values.detach && values.open === undefined) throw wrong('--json needs --detach or --open', USAGE)
  await using place = await openPlace(context)
  if (values.open !== undefined) return await openMerging(place, values.open, { isJson: values.json === true }, context)
  if (!context.isTerminal && !values.yes && !values.detach)
    throw new Failure('There is no terminal to ask on: use --yes or --detach.', EXIT.usage)
  const subject =
    values.forklift === undefined ? await ofBranch(place, branch ?? '') : await ofRun(place, values.forklift, context)
  const { title, description, tree } = await describe(place, subject, context)
  const settings = await verifyCanWork(context, false)
  const notes: string[] = []
  const warned = values.json ? { ...context, err: (words: string) => void notes.push(words) } : context
  sayWhatIsFound(description, warned)
  const base = await commit(place.objects, {
    tree,
    parents: [subject.ours, subject.theirs],
    message: mergeMessage(title, description),
  })
  const plan = planOfMerge(title, description)
  const options = runOptionsFrom(base, { values, settings }, warned)
  const detached = values.detach ? { detached: { json: values.json, notes } } : {}
  return await beginRun(place, { wish: { text: plan.summary, plan }, options, ...detached }, context)
}

// --- The merge

async function ofBranch(place: RunPlace, name: string): Promise<Subject> {
  const { repository, objects } = place
  const { oid: ours, ref } = await readHead(repository)
  if (!ours || !ref?.startsWith('refs/heads/'))
    throw new Failure('No branch is checked out here to merge into: check one out, and try again.')
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
  const theirs = await read(repository, args, { ok: [0, 1, 128] })
  if (!theirs) throw new Failure(`There is no branch or commit ${visible(name)}: git branch lists the branches.`)
  const into = asText(ref.slice('refs/heads/'.length))
  const own = await entryAt(objects, ours, 'FORK.md')
  const committed = own?.mode.startsWith('100') ? await readStart(repository, own.oid, MAX_FORK_MD_BYTES) : undefined
  const { workTree } = repository
  const file = workTree === undefined ? undefined : await readUntrusted(join(workTree, 'FORK.md'), MAX_FORK_MD_BYTES)
  const forkMd = (file?.kind === 'file' ? file.bytes : committed)?.toString()
  return { ours, theirs, into, name, forkMd }
}

/** Finds a run of Forklift of this fork, by its directory, its name, the end of that, or `last`. */
async function findForkliftRun(
  { repository }: RunPlace,
  word: string,
  { env, cwd }: CommandContext,
): Promise<RecordedRun> {
  if (word.includes('/')) {
    const found = await readRun(resolve(cwd, word))
    if (found) return found
    throw new Failure(`${visible(word)} is no directory of a run of Forklift.`)
  }
  const folder = runsFolderIn(stateFolder(env))
  const paths = await listRunDirectories(folder, repository.workTree && projectOf(repository.workTree))
  const path = word === 'last' ? paths[0] : paths.find(it => basename(it) === word || basename(it).endsWith(`_${word}`))
  const found = path === undefined ? undefined : await readRun(path)
  if (found) return found
  throw new Failure(`There is no run of Forklift ${visible(word)} for this fork: ${visible(folder)} has them all.`)
}

async function ofRun(place: RunPlace, word: string, context: CommandContext): Promise<Subject> {
  const run = await findForkliftRun(place, word, context)
  const { metadata, outcome, path } = run
  if (!isByAgent(run))
    throw new Failure(`In the run ${visible(basename(path))}, no agent has merged: merge its branch.`)
  if (outcome?.exitCode === EXIT.done) throw new Failure(`The run ${visible(basename(path))} is published already.`)
  if (!outcome && !run.agent)
    throw new Failure(
      `The run ${visible(basename(path))} has not ended, or was cut off: wait for it, or run forklift again.`,
    )
  const { format } = place.repository
  if (!isOid(format, metadata.startCommit) || !isOid(format, metadata.upstreamCommit))
    throw new Failure(`The run ${visible(basename(path))} names commits that can't be in this repository.`)
  const ours = await bringStart(place.objects, run)
  const forkMd = await forkMdOf(run)
  return {
    ...{ ours, theirs: metadata.upstreamCommit, forklift: run, forkMd },
    ...{ into: metadata.branch, name: `upstream/${metadata.upstreamBranch}` },
  }
}

/** FORK.md as the run had it. The agent could write where it lies, so it counts only where it is as it was. */
async function forkMdOf({ path, metadata }: RecordedRun): Promise<string | undefined> {
  const wanted = 'forkMd' in metadata ? metadata.forkMd : null
  const file = await readUntrusted(join(harnessStateOf({ path }), 'fork-context.md'), 1 << 20)
  if (wanted === null || file?.kind !== 'file') return undefined
  const hash = new Bun.CryptoHasher('sha256').update(file.bytes).digest('hex')
  return hash === wanted ? file.bytes.toString('utf8', 0, MAX_FORK_MD_BYTES) : undefined
}

// --- What is in conflict

async function describe(
  place: RunPlace,
  subject: Subject,
  { env, err }: CommandContext,
): Promise<{ title: string; description: MergeDescription; tree: Oid }> {
  const { repository, objects } = place
  const { ours, theirs, into, name, forkMd, forklift } = subject
  const merge = await mergeTrees(repository, ours, theirs, { objects, withBase: true })
  if (merge.stages.length === 0 && merge.conflicts.length === 0)
    throw new Failure(
      `Nothing is in conflict: ${forklift ? 'forklift' : `git merge ${visible(name)}`} does it by itself.`,
    )
  const whole = await conflictsOf(objects, merge)
  const taken = forklift && (await takeOver(objects, forklift, asTaken(merge, whole)))
  if (taken?.left !== undefined) err(taken.left)
  const conflicts = taken ? await conflictsOf(objects, merge, taken.result) : whole
  if (conflicts.texts.length + conflicts.choices.length === 0) throw new Failure(nothingToDo(conflicts, forklift))
  using code = new CodeReader(objects, await openState(repository, env))
  const parts = await partsOf(objects, subject, conflicts, code)
  const title = short(visible(`Merge ${name}`), 60)
  const checks = forkMd === undefined ? [] : parseForgeMd(forkMd).checks
  const description = { into, name, parts, left: conflicts.left, checks, ...(forkMd !== undefined && { forkMd }) }
  if (!forklift || !isByAgent(forklift)) return { title, description, tree: conflicts.tree }
  const letter = await readUntrusted(join(forklift.path, STUCK_FILE), MAX_STUCK_CHARS)
  const stuck = letter?.kind === 'file' ? { stuck: visibleLines(letter.bytes.toString()) } : {}
  const { path, metadata } = forklift
  const known = { run: basename(path), stamp: stampOf(path), by: metadata.model, settled: conflicts.settled, ...stuck }
  return { title, description: { ...description, forklift: known }, tree: conflicts.tree }
}

function nothingToDo({ left, settled }: Conflicts, forklift: RecordedRun | undefined): string {
  const desk = 'Merge on the desk: start forge.'
  if (left.length > 0) return `${whatIsLeft(left)} No other conflict is left. ${desk}`
  return forklift
    ? `The agent has resolved all ${many(settled, 'conflict')}: forklift --retry asks it again, or open the run on the desk (forge).`
    : `Nothing can be done in parts. ${desk}`
}

/** The merge as what is taken over is compared with it. */
function asTaken(merge: MergedTree, { texts, choices, left }: Conflicts): Parameters<typeof takeOver>[2] {
  const rows: TakenRow[] = [
    ...texts.map(({ path, count }) => ({ path: asBytes(path), paths: [asBytes(path)], kind: 'text', all: count })),
    ...choices.map(({ paths }) => ({
      path: asBytes(paths[0] ?? ''),
      paths: paths.map(asBytes),
      kind: 'choice',
      all: 1,
    })),
    // What only a person can resolve is not taken over from an agent.
    ...left.flatMap(({ paths }) =>
      paths.map(path => ({
        path: asBytes(path),
        paths: [asBytes(path)],
        original: asBytes(path),
        kind: 'other',
        all: 1,
      })),
    ),
  ]
  return { rows, tree: merge.tree, words: { ours: 'ours', theirs: 'theirs' } }
}

function whatIsLeft(left: MergeDescription['left']): string {
  const named = left.slice(0, MAX_NAMED).map(({ paths, why }) => `${short(visible(paths.join(', ')), 80)}: ${why}`)
  const more = left.length > MAX_NAMED ? '; and others' : ''
  return `${many(left.length, 'conflict')} can only be resolved by you (${named.join('; ')}${more}).`
}

function sayWhatIsFound({ parts, left, forklift }: MergeDescription, { err }: CommandContext): void {
  const files = parts.flatMap(({ texts, choices }) => [...texts, ...choices.flatMap(({ paths }) => paths)])
  if (forklift)
    err(
      `${many(forklift.settled, 'conflict')} resolved by Forklift's agent ${forklift.settled === 1 ? 'is' : 'are'} kept.`,
    )
  err(`${many(files.length, 'file')} in conflict, in ${many(parts.length, 'part')}.`)
  if (left.length > 0) err(whatIsLeft(left))
}
