/**
 * `forge resolve`: a merge with many conflicts, done in parts. The merge that git makes, with its markers, is the base
 * of a run; its plan has a task for each group of files in conflict, and needs no planner.
 */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { commit } from '../../../core/git/commits.ts'
import { type MergedTree, mergeTrees } from '../../../core/git/merges.ts'
import { readHead } from '../../../core/git/refs.ts'
import { asText, type Oid } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { many, short, visible, visiblePath } from '../../../core/text.ts'
import { isLiteral } from '../plan/globs.ts'
import { planOfMerge } from '../plan/merge.ts'
import { mergeMessage } from '../runs/merging.ts'
import type { CommandContext } from './context.ts'
import { parse } from './options.ts'
import { openPlace, type RunPlace } from './place.ts'
import { beginRun, LIMIT_OPTIONS, runOptionsFrom, verifyCanWork } from './run.ts'

const USAGE = 'forge resolve BRANCH [--yes] [--budget DOLLARS] [--requests N] [--minutes N] [--at-most N]'

export const HELP = `${USAGE}

Merges BRANCH into the branch that is checked out, where too many files are in conflict for one sitting: they are
grouped by folder, each group is a task, and forge land makes one merge commit of all. The merge is judged as Forklift's
are. It needs files with conflict markers: a conflict of another kind, such as a file that one side has deleted, is
named, and is to be settled on the desk or with git merge.

  --yes           approve the plan and its commands as they come
  --budget DOLLARS, --requests N, --minutes N, --at-most N   as for forge run

Ctrl-C leaves it alone: the run goes on, and forge attach shows it again.`

const OPTIONS = { yes: { type: 'boolean' }, ...LIMIT_OPTIONS } as const

/** At most this many files that can't be done in parts are named. */
const MAX_NAMED = 5

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: OPTIONS, usage: USAGE, words: [1, 1] })
  if (!context.isTerminal && !values.yes) throw new Failure('There is no terminal to ask on: use --yes.', EXIT.usage)
  await using place = await openPlace(context)
  const name = positionals[0] ?? ''
  const [ours, theirs] = await findSides(place, name)
  const merge = await mergeTrees(place.repository, ours, theirs, { objects: place.objects })
  const files = await filesWithMarkers(place, merge, name)
  const settings = await verifyCanWork(context, false)
  const title = short(visible(`Merge ${name}`), 60)
  const base = await commit(place.objects, {
    tree: merge.tree,
    parents: [ours, theirs],
    message: mergeMessage(title),
  })
  const plan = planOfMerge(title, files)
  context.err(`${many(files.length, 'file')} in conflict, in ${many(plan.tasks.length, 'part')}.`)
  const options = runOptionsFrom(base, { values, settings }, context)
  return await beginRun(place, { wish: { text: plan.summary, plan }, options }, context)
}

async function findSides({ repository }: RunPlace, name: string): Promise<[ours: Oid, theirs: Oid]> {
  const { oid: ours, ref } = await readHead(repository)
  if (!ours || !ref?.startsWith('refs/heads/'))
    throw new Failure('No branch is checked out here to merge into: check one out, and try again.')
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
  const theirs = await read(repository, args, { ok: [0, 1, 128] })
  if (!theirs) throw new Failure(`There is no branch or commit ${visible(name)}: git branch lists the branches.`)
  return [ours, theirs]
}

/** Whether a path can stand in a plan: as a glob that is only this file, and on a line. */
const isNameable = (path: string): boolean => isLiteral(path) && !/[\p{Cc}\ufffd\\]/u.test(path)

/** Gives the files with conflict markers. Throws a {@link Failure} where none are, or where other conflicts are. */
async function filesWithMarkers(place: RunPlace, merge: MergedTree, name: string): Promise<string[]> {
  if (merge.conflicts.length === 0)
    throw new Failure(`Nothing is in conflict: git merge ${visible(name)} does it by itself.`)
  const paths = [...new Set(merge.stages.map(({ path }) => path))]
  const marked = await Promise.all(
    paths.map(async path => {
      const stages = merge.stages.filter(stage => stage.path === path)
      const isText =
        stages.filter(({ stage }) => stage > 1).length === 2 && stages.every(({ mode }) => /^100/.test(mode))
      const file = isText ? await place.objects.read(`${merge.tree}:${path}`, { limit: 16 << 20 }) : undefined
      return file?.bytes && /^<{7} [\s\S]*^>{7} /m.test(file.bytes.toString('latin1'))
    }),
  )
  const others = paths.filter((path, at) => !marked[at] || !isNameable(asText(path)))
  if (others.length > 0) {
    const named = others.slice(0, MAX_NAMED).map(path => short(visiblePath(path), 80))
    const more = others.length > MAX_NAMED ? ' and others' : ''
    throw new Failure(
      `${many(others.length, 'file')} can't be settled in parts, as these have no conflict markers or unusual names (${named.join(', ')}${more}). Merge on the desk: start forge.`,
    )
  }
  return paths.map(asText)
}
