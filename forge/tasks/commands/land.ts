/**
 * `forge land`: shows the user what a run or a task came to, and merges it after a yes, as one commit on the user's
 * branch, all or nothing. The original commits are kept.
 */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import type { MergeInParts } from '../../../core/formats/merge-in-parts.ts'
import {
  type Checkout,
  followBranch,
  listCheckouts,
  mainFolder,
  underWayIn,
  whyNotFollowing,
} from '../../../core/git/checkouts.ts'
import { commit, isAncestor, mergeBases, wantsSigning } from '../../../core/git/commits.ts'
import { mergeTrees } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { RefMoved, type RefName, readHead } from '../../../core/git/refs.ts'
import { asBytes, type Oid } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { many, short, visible, visibleLines, visiblePath } from '../../../core/text.ts'
import type { ShownLanding } from '../../formats/tasks-json.ts'
import { KEPT, Operations } from '../../operations.ts'
import type { RunId } from '../contract.ts'
import { findDone, findResult } from '../runs/done.ts'
import { judgeMerge, type MergedRun, mergedBy } from '../runs/merging.ts'
import { readPlan, readRunInput } from '../runs/plans.ts'
import { howMade, partsDone } from '../runs/resolved.ts'
import { openApproved } from './approved.ts'
import { checkHere, openBelieved } from './checked.ts'
import type { CommandContext } from './context.ts'
import { doubtsOf } from './doubts.ts'
import { askPerson } from './follow.ts'
import { type Belief, type Landed, landingLines, landingMessage, scriptLines } from './landing.ts'
import { parse, wrong } from './options.ts'
import { findRun, openPlace, openStore, type RunPlace } from './place.ts'

const USAGE = 'forge land RUN [TASK] [--onto BRANCH] [--checks] [--check] [--anyway] [--yes [--seen TREE] | --json]'

export const HELP = `${USAGE}

Shows what a run came to, or one of its tasks, and merges it when you say so: as one commit on BRANCH (default: the
branch that is checked out). A checkout of it follows, unless something that you have not committed is in the way: then
nothing is done at all.

What was not checked by a worker of yours, as its signature shows, is not merged. A run of forge resolve becomes a merge
commit, which is judged as Forklift's are.

  --onto BRANCH   where it goes
  --checks        only show the checks and questions of the contract, whole
  --check         where it was not: check all of it here and now, in the locked container
  --anyway        merge it although it was not checked; the commit says so
  --yes           you have reviewed it elsewhere, such as on the desk
  --json          merges nothing, and says as JSON what it would show, and the tree that would come of it
  --seen TREE     with --yes: only if what comes of it is that tree still`

/**
 * What is landed. `name`: of the result's branch. `isBranch`: whether that branch exists; a task's is gone once the run
 * has a combined result. `merged`: what a run of forge resolve merges: its commit has two parents.
 */
type Landing = Landed & { name: string; isBranch: boolean; merged: MergedRun | undefined }
/** `isNew`: the branch is made, at `tip`. */
type Target = { ref: RefName; name: string; tip: Oid; isNew?: boolean }

const OPTIONS = {
  onto: { type: 'string' },
  checks: { type: 'boolean' },
  check: { type: 'boolean' },
  anyway: { type: 'boolean' },
  yes: { type: 'boolean' },
  json: { type: 'boolean' },
  seen: { type: 'string' },
} as const

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: OPTIONS, usage: USAGE, words: [0, 2] })
  if (values.seen !== undefined && !values.yes) throw wrong('--seen is only for --yes', USAGE)
  if (values.json && (values.yes || values.check)) throw wrong('--json merges and checks nothing', USAGE)
  if (values.check && values.anyway) throw wrong('Either --check or --anyway', USAGE)
  if (!context.isTerminal && !values.yes && !values.json && !values.checks)
    throw new Failure('There is no terminal to ask on: look at the branch, then use --yes.', EXIT.usage)
  await using place = await openPlace(context)
  const run = await findRun(place, positionals[0] ?? 'last', context)
  const landing = await findLanding(place, run, positionals[1])
  if (values.checks) {
    for (const line of scriptLines(landing.plan, landing.task)) context.out(line)
    return EXIT.done
  }
  const target = await findTarget(place, values.onto, landing)
  const tree = await mergedTree(place, landing, target)
  if (values.json) {
    context.out(JSON.stringify(await inFull(place, landing, { target, tree, context })))
    return EXIT.done
  }
  if (tree === undefined) {
    context.out(`${target.name} has all of it already.`)
    return EXIT.done
  }
  if (values.seen !== undefined && values.seen !== tree)
    throw new Failure(`Nothing was merged: ${target.name} or the result has moved since you saw it. Look at it again.`)
  let belief = await beliefIn(place, landing, context)
  if (values.check && belief.why !== undefined) {
    await checkHere(place, landing, { isSure: values.yes === true }, context)
    belief = await beliefIn(place, landing, context)
  }
  const { why } = belief
  for (const line of await landingLines(place, landing, { onto: target.name, tip: target.tip, tree, belief }))
    context.out(line)
  if (why !== undefined && !values.anyway) throw new Failure(`Nothing was merged. ${uncheckedWords(landing, why)}`)
  if (!values.yes && !(await isWanted(place, landing, target, { tree, context }))) {
    context.out('Nothing was merged.')
    return EXIT.stuck
  }
  const { to, followed } = await land(place, landing, { target, tree, why }, context)
  context.out(`Merged into ${visible(target.name)} as ${to.slice(0, 12)}.`)
  if (landing.merged?.forklift) context.out(`To open the pull request: forklift --publish ${target.name}`)
  context.out(`To undo: ${undoOf(place, target, to, followed)}`)
  return EXIT.done
}

/** The output of `--json`; without a tree there is nothing to merge. */
async function inFull(
  place: RunPlace,
  landing: Landing,
  { target, tree, context }: { target: Target; tree: Oid | undefined; context: CommandContext },
): Promise<ShownLanding> {
  if (tree === undefined) return { onto: target.name, words: [`${target.name} has all of it already.`], doubts: [] }
  const belief = await beliefIn(place, landing, context)
  const { why } = belief
  // The doubts are left out of `words`, since the result has them in a field of their own.
  const told = { ...belief, doubts: [] }
  const words = await landingLines(place, landing, { onto: target.name, tip: target.tip, tree, belief: told })
  return { onto: target.name, tree, words, doubts: belief.doubts, unchecked: why && uncheckedWords(landing, why) }
}

// --- Whether it was checked

async function beliefIn(place: RunPlace, landing: Landing, context: CommandContext): Promise<Belief> {
  const { task, tip } = landing
  const believed = await openBelieved(place, landing, context)
  const { merged } = landing
  const ofMerge = merged ? (await judgeMerge(place.objects, { ...merged, result: tip })).doubts : []
  const doubts = [...(await doubtsOf(place, landing, believed.known)), ...ofMerge.map(visible)]
  return {
    why: await believed.whyNot(task, tip),
    isAffirmed: await believed.isAffirmed(task, tip),
    doubts,
    known: believed.known,
  }
}

/** A warning for a user who is about to merge an unchecked result. */
function uncheckedWords({ run, task }: Landing, why: string): string {
  const again = `forge land ${run}${task === undefined ? '' : ` ${task}`}`
  return `This was not checked by you, as ${why}. ${again} --check runs all checks here first; --anyway merges it as it is.`
}

// --- What is landed, and where

async function findLanding(place: RunPlace, run: RunId, task: string | undefined): Promise<Landing> {
  const store = openStore(place, run)
  const plan = await readPlan(store)
  if (task !== undefined && !plan.tasks.some(({ id }) => id === task))
    throw new Failure(`The run ${run} has no task ${visible(task)}: forge show ${run} lists them.`)
  const found = await (task === undefined ? findResult(place.objects, run) : findDone(place.objects, run, task))
  if (!found)
    throw new Failure(
      `${task === undefined ? `The run ${run}` : `The task ${task}`} has nothing yet that passed its checks: forge show ${run} says how it is.`,
    )
  const { base } = await readRunInput(store)
  const merged = await mergedBy(place.objects, base)
  if (merged && merged.left.length > 0)
    throw new Failure(
      `${many(merged.left.length, 'conflict')} of this merge can only be resolved by you: forge resolve --open ${run} keeps what is done, and the desk (forge) goes on from there.`,
    )
  if (merged !== undefined && task !== undefined)
    throw new Failure(`A part of a merge is not landed by itself: forge land ${run} lands all of it.`)
  return { run, task, ...found, base, plan, merged }
}

async function findTarget(
  { repository, objects }: RunPlace,
  onto: string | undefined,
  { merged }: Landing,
): Promise<Target> {
  // The merge of a run of Forklift gets a branch of its own, like one that the desk opens.
  if (onto === undefined && merged?.forklift) {
    const name = `forklift-${merged.forklift.stamp}`
    const ref: RefName = `refs/heads/${name}`
    const tip = (await objects.info(ref))?.oid
    return { ref, name, tip: tip ?? merged.ours, ...(tip === undefined && { isNew: true }) }
  }
  const ref = onto === undefined ? (await readHead(repository)).ref : `refs/heads/${asBytes(onto)}`
  if (!ref?.startsWith('refs/heads/'))
    throw new Failure('No branch is checked out here: say with --onto which one it goes to.')
  const name = visiblePath(ref.slice('refs/heads/'.length))
  const tip = (await objects.info(ref))?.oid
  if (tip === undefined) throw new Failure(`There is no branch ${name}: git branch lists them.`)
  return { ref, name, tip }
}

/** The tree after the merge; undefined where there is nothing to merge. */
async function mergedTree(
  { objects }: RunPlace,
  { name, isBranch, tip, merged }: Landing,
  target: Target,
): Promise<Oid | undefined> {
  const { repository } = objects
  const bases = await mergeBases(repository, target.tip, tip)
  if (bases.length === 0)
    throw new Failure(`${target.name} and the result share no history: choose another with --onto.`)
  if (bases.includes(tip)) return undefined
  if (merged && (await isAncestor(repository, merged.theirs, target.tip))) return undefined
  if (merged && !(await isAncestor(repository, merged.ours, target.tip)))
    throw new Failure(`This merge was begun on another branch than ${target.name}: name that one with --onto.`)
  const merge = await mergeTrees(repository, target.tip, tip, { objects })
  if (merge.conflicts.length > 0) {
    const files = [...new Set(merge.stages.map(({ path }) => visiblePath(path)))]
    const where = isBranch
      ? `Open the desk with forge, and merge ${name} there.`
      : `Make a branch of it, git branch NAME ${tip.slice(0, 12)}, open the desk with forge, and merge that there.`
    throw new Failure(
      `${target.name} has changed meanwhile, and ${many(files.length, 'file')} can't be merged by itself (${short(files.join(', '), 200)}). ${where}`,
    )
  }
  const before = (await objects.info(`${target.tip}^{tree}`))?.oid
  // A merge that keeps the branch's own files everywhere is still one.
  return merge.tree === before && !merged ? undefined : merge.tree
}

// --- The review

async function isWanted(
  place: RunPlace,
  landing: Landing,
  target: Target,
  { tree, context }: { tree: Oid; context: CommandContext },
): Promise<boolean> {
  for (;;) {
    const question = `Merge it into ${target.name}? yes, no, show the diff, or the checks in full (y/n/d/c): `
    const said = (await askPerson(context, question))?.trim().toLowerCase()
    if (said === undefined || said === 'n' || said === 'no') return false
    if (said === 'y' || said === 'yes') return true
    if (said === 'c' || said === 'checks') for (const line of scriptLines(landing.plan, landing.task)) context.out(line)
    if (said !== 'd' && said !== 'diff') continue
    const args = ['diff', '--no-ext-diff', '--no-textconv', '--no-color', target.tip, tree]
    for (const line of visibleLines(await read(place.repository, args)).split('\n')) context.out(line)
    context.out(`(${landing.name})`)
  }
}

// --- The merge

/** Merges. Gives the commit, and the checkout that was updated with the branch, if any. */
async function land(
  place: RunPlace,
  landing: Landing,
  { target, tree, why }: { target: Target; tree: Oid; why?: string },
  context: CommandContext,
): Promise<{ to: Oid; followed: Checkout | undefined }> {
  const { repository, objects } = place
  const checkouts = await listCheckouts(repository, await mainFolder(repository))
  const on = checkouts.filter(({ head }) => head === target.ref)
  for (const checkout of on) {
    const why = await whyNotFollowing(repository, checkout, target.tip, tree)
    if (why !== '')
      throw new Failure(
        `Nothing was merged, as ${visible(checkout.folder)} could not follow: ${why} ${await toClear(checkout)}`,
      )
  }
  const to = await commit(objects, {
    tree,
    parents: landing.merged === undefined ? [target.tip] : [target.tip, landing.merged.theirs],
    message: landingMessage(landing, why, await howResolved(place, landing, context)),
    sign: await wantsSigning(repository),
  })
  if (landing.merged !== undefined) await verifyMerge(objects, { target, theirs: landing.merged.theirs, to })
  const { name } = landing
  const kept: RefName = `${KEPT}${name}-${landing.tip.slice(0, 8)}`
  const there = (await objects.info(kept))?.oid
  const moves = [
    { ref: target.ref, from: target.isNew ? undefined : target.tip, to },
    { ref: kept, from: there, to: landing.tip },
  ]
  // Recorded like the desk's operations, so that the desk's Undo takes it back.
  const words = `land ${name} on ${target.name}`
  await new Operations(objects).record({ kind: 'land', words, moves }).catch(error => {
    if (!(error instanceof RefMoved)) throw error
    throw new Failure(
      `Nothing was merged: ${target.name} has just moved, by another land or commit. Run forge land ${landing.run} again to see what comes of both.`,
    )
  })
  for (const checkout of on) {
    const why = await followBranch(repository, checkout, target.tip, to)
    if (why !== '')
      throw new Failure(
        `It is merged, but ${visible(checkout.folder)} did not follow: ${why} Once nothing is in the way there, this brings it along: git -C ${quoted(checkout.folder)} read-tree -m -u ${target.tip} ${to}`,
      )
  }
  return { to, followed: on[0] }
}

/** How a merge was made in parts; undefined for another run. */
async function howResolved(
  place: RunPlace,
  { run, merged }: Landing,
  context: CommandContext,
): Promise<MergeInParts | undefined> {
  if (!merged || merged.parts.length === 0) return undefined
  const store = openStore(place, run)
  const approved = openApproved(place, run, context)
  const done = await partsDone(place.objects, store, merged)
  return await howMade(store, merged, done, (task, answer) => approved.hasAnswer(task, answer))
}

/** Judges a merge commit as Forklift's are. Throws a {@link Failure} with what speaks against it. */
async function verifyMerge(
  objects: Objects,
  { target, theirs, to }: { target: Target; theirs: Oid; to: Oid },
): Promise<void> {
  const { refusals } = await judgeMerge(objects, { ours: target.tip, theirs, result: to })
  if (refusals.length === 0) return
  throw new Failure(`Nothing was merged, as the judge of merges refuses it: ${visible(refusals.join(' '))}`)
}

/** A sentence that says what to do first in a checkout with conflicting changes. */
async function toClear(checkout: Checkout): Promise<string> {
  const git = `git -C ${quoted(checkout.folder)}`
  const doing = await underWayIn(checkout)
  if (doing === undefined) return `Commit it or put it away first (${git} stash -u).`
  return `A ${doing} is under way there: finish it (${git} ${doing} --continue) or give it up (${git} ${doing} --abort) first.`
}

/** A folder quoted for a shell. */
const quoted = (folder: string): string =>
  /^[\w./+-]+$/.test(folder) ? folder : `'${visible(folder).replaceAll("'", `'\\''`)}'`

/** The command that undoes the merge: with the files, where the branch is checked out. */
function undoOf({ repository }: RunPlace, target: Target, to: Oid, followed: Checkout | undefined): string {
  if (target.isNew) return `git update-ref -d ${target.ref} ${to}`
  if (!followed) return `git update-ref ${target.ref} ${target.tip} ${to}`
  const isHere = followed.folder === repository.workTree
  return `git ${isHere ? '' : `-C ${quoted(followed.folder)} `}reset --keep ${target.tip.slice(0, 12)}`
}
