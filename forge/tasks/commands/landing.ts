/** What the user sees before merging, and the commit message of the merge. */
import { type MergeInParts, mergeInPartsLine } from '../../../core/formats/merge-in-parts.ts'
import { read } from '../../../core/git/run.ts'
import { many, reflow, short, visible, visibleLines, wrap } from '../../../core/text.ts'
import { MAX_CHECK_NAME, nameOfCheck } from '../checks/check-name.ts'
import type { BelievedFacts } from '../checks/verdicts.ts'
import type { Oid, RunId, TaskId } from '../contract.ts'
import { contractOf, type Plan, type Task } from '../plan/schema.ts'
import { readJournal } from '../runs/journal.ts'
import type { MergedRun } from '../runs/merging.ts'
import { journalStory } from '../runs/story.ts'
import { openStore, type RunPlace } from './place.ts'

/** What is landed: the tip of a run's branch, and the run's base and plan. */
export type Landed = { run: RunId; task?: TaskId; tip: Oid; base: Oid; plan: Plan }

/**
 * What is known of a result's checks. `why`: why it counts as not checked. `isAffirmed`: reviewers have affirmed all
 * questions for exactly these files. `doubts`: what the checks do not show. `known`: all facts signed by the user's own
 * worker.
 */
export type Belief = { why: string | undefined; isAffirmed: boolean; doubts: string[]; known: BelievedFacts }

/** The kinds of lines in the journal that a reviewer wants to see first. */
const TOLD = ['failed', 'passed', 'answered', 'review', 'resolved', 'replanned', 'halted', 'degraded']
const COLUMNS = 100

/** The lines about a result to be merged onto a branch, the most important first. */
export async function landingLines(
  place: RunPlace,
  landed: Landed,
  { onto, tip, tree, belief }: { onto: string; tip: Oid; tree: Oid; belief: Belief },
): Promise<string[]> {
  const { run, task, plan, base } = landed
  const of = plan.tasks.find(({ id }) => id === task)
  const lines = (await readJournal(openStore(place, run))).filter(line => task === undefined || line.task === task)
  const told = journalStory(
    lines.filter(({ what }) => TOLD.includes(what)),
    { all: lines },
  )
  const count = await read(place.repository, ['rev-list', '--count', landed.tip, `^${base}`])
  const stat = await read(place.repository, ['diff', '--stat=100', '--no-ext-diff', '--no-textconv', tip, tree])
  const isOther = (await place.objects.info(`${landed.tip}^{tree}`))?.oid !== tree
  const about = of ? of.objective.behaviour : plan.summary
  return [
    `${visible(task ?? plan.title)}, onto ${onto}`,
    ...(belief.doubts.length > 0 ? ['Look at this first:', ...indented(belief.doubts)] : []),
    ...indented(reflow(about, COLUMNS - 2)),
    ...assertionLines(plan, of, belief),
    ...reviewLines(plan, of, belief.known),
    ...(isOther ? [`${onto} has moved on since: what comes of both together was not checked.`] : []),
    ...(lines.length > 0
      ? ['How it went, by the journal, which is not signed (all of it: forge show --journal):', ...indented(told)]
      : []),
    `${many(Number(count), 'commit')} become one:`,
    ...indented(visibleLines(stat).split('\n').slice(-60)),
  ]
}

const indented = (texts: readonly string[]): string[] => texts.map(text => `  ${text}`)
const claimedBy = (plan: Plan, of: Task | undefined) =>
  contractOf(plan).filter(({ id }) => !of || of.claims.includes(id))

/** Each assertion's sentence, and below it its state and the check that shows it. */
function assertionLines(plan: Plan, of: Task | undefined, { why, isAffirmed }: Belief): string[] {
  const isChecked = why === undefined
  const rows = claimedBy(plan, of).flatMap(({ id, says, how, isReview }) => {
    const state = isReview ? (isAffirmed ? 'reviewers say so' : 'for you to judge') : 'checked'
    const name = isReview ? short(visible(how.replace(/\s+/g, ' ')), MAX_CHECK_NAME) : nameOfCheck(how)
    const sentence = wrap(`${id} ${visible(says.replace(/\s+/g, ' '))}`, COLUMNS - 5)
    return [
      ...sentence.map((line, at) => (at === 0 ? `  ${line}` : `     ${line}`)),
      `     ${isChecked ? state : 'not checked by you'}: ${name}`,
    ]
  })
  const open = claimedBy(plan, of)
    .filter(({ isReview }) => isReview)
    .map(({ id }) => id)
  const isYours = isChecked && open.length > 0 && !isAffirmed
  return [
    isChecked ? 'What is to be true, and how that was checked:' : 'What is to be true, and was not checked by you:',
    ...rows,
    ...(isYours ? [`No reviewer has seen these very files: look yourself for ${open.join(', ')}.`] : []),
  ]
}

/** The commands of the assertions, or the questions to their reviewers, in full. */
export const scriptLines = (plan: Plan, task: TaskId | undefined): string[] =>
  claimedBy(
    plan,
    plan.tasks.find(({ id }) => id === task),
  ).flatMap(({ id, says, how, isReview }) => [
    `${id} ${visible(says)}`,
    ...visibleLines(how)
      .split('\n')
      .map((line, at) => `  ${at > 0 ? '  ' : isReview ? '? ' : '$ '}${line}`),
  ])

/**
 * Lines that say which results models have reviewed, and how they judged them, by signed facts; and which results only
 * commands have checked.
 */
function reviewLines(plan: Plan, of: Task | undefined, { facts }: BelievedFacts): string[] {
  const tasks = of ? [of] : plan.tasks
  const reviewed = facts.filter(it => it.fact === 'reviewed')
  const rows = tasks.flatMap(({ id }) => {
    const own = reviewed.filter(({ task }) => task === id)
    return own.length > 0 ? [`${id}: ${verdictsInWords(own)}`] : []
  })
  const whole = of ? [] : reviewed.filter(({ task }) => task === '')
  if (whole.length > 0) rows.push(`all results together: ${verdictsInWords(whole)}`)
  const unseen = whole.length > 0 ? [] : tasks.map(({ id }) => id).filter(id => !reviewed.some(it => it.task === id))
  return [
    ...(rows.length > 0 ? ['What reviewing models said:', ...indented(rows.map(visible))] : []),
    ...(unseen.length > 0 ? hangingAt(`Only commands have looked at ${unseen.map(visible).join(', ')}.`) : []),
  ]
}

const hangingAt = (text: string): string[] => wrap(text, COLUMNS - 2).map((line, at) => (at === 0 ? line : `  ${line}`))

/** The verdicts on the last reviewed attempt, and whether there were earlier ones. */
function verdictsInWords(verdicts: readonly { step: string; isGood: boolean }[]): string {
  const rounds = [...Map.groupBy(verdicts, ({ step }) => step.replace(/\/[^/]*$/, '')).values()]
  const last = rounds.at(-1) ?? []
  const good = last.filter(({ isGood }) => isGood).length
  const said = last.length === 1 ? (good === 1 ? 'good' : 'bad') : `${good} of ${last.length} say good`
  const before = rounds.length - 1
  return before > 0 ? `${said}, after ${many(before, 'earlier review')}` : said
}

// --- The commit

const BODY_COLUMNS = 72
/** At most this many assertions are listed; with more, the message lists the tasks. */
const MAX_POINTS = 10

/** The message of a merge that was made in parts. */
export const mergedMessage = (run: RunId, { name, into }: MergedRun, how: MergeInParts): string =>
  `${short(visible(`Merge ${name} into ${into}`), BODY_COLUMNS)}

Resolved in ${many(how.parts, 'part')}: ${many(how.files, 'file')} in conflict.

Forge-Run: ${run}
${mergeInPartsLine(how)}
`

/** The commit message. `why`: the reason that the result counts as not checked, where it is landed anyway. */
export function landingMessage({ run, task, plan, tip }: Landed, why: string | undefined, how?: MergeInParts): string {
  const of = plan.tasks.find(({ id }) => id === task)
  const points = claimedBy(plan, of).map(({ says }) => says)
  const told = points.length > 0 && points.length <= MAX_POINTS ? points : plan.tasks.map(({ title }) => title)
  // A model's text: a line in it that looks like a trailer must not be one.
  const body = told
    .map(point => reflow(`- ${visible(point.replace(/\s+/g, ' ').trim())}`, BODY_COLUMNS).join('\n'))
    .join('\n')
    .replace(/^([A-Za-z-]+):/gm, ' $1:')
  const trailers = [
    `Forge-Run: ${run}`,
    ...(task === undefined ? [] : [`Forge-Task: ${task}`]),
    `Forge-Landed: ${tip}`,
    ...(why === undefined ? [] : [`Forge-Unchecked: ${why}`]),
    ...(how ? [mergeInPartsLine(how)] : []),
  ]
  const title = short(visible((of?.title ?? plan.title).replace(/\s+/g, ' ')), BODY_COLUMNS)
  return `${title}\n\n${body.trim()}\n\n${trailers.join('\n')}\n`
}
