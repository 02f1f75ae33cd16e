/** The steps on a source (a branch or any commit): each opens a dialog with a preview. */
import { signal } from '@preact/signals'
import type { BranchInfo } from '../../contract/branches.ts'
import type { CommitRow } from '../../contract/reading.ts'
import type { BranchStep, Source } from '../../contract/steps.ts'
import { type DoneStep, STEP_TOPIC, showDone } from '../merging/after-step.ts'
import { runOfBranch, splitByRun } from '../page/branches-of-runs.ts'
import { tagWarnings } from '../page/case-twins.ts'
import { following, type PickContent, type StepContent, type StepWay } from '../page/dialog-content.ts'
import type { Page } from '../page/state.ts'
import { readable, shortId, toName, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { buttonOf, explain, nameAfter, sourceAfter, stepOf, titleInto, WAYS, type Way } from './step-ways.ts'

export type NamedCommit = Pick<CommitRow, 'oid' | 'subject'>

/** The ways that make sense for a source: a rebase for branches alone, and of a stash only what it has put away. */
export function waysFor({ graph }: Page, { commit, branch }: Source): readonly Way[] {
  if (branch !== undefined) return WAYS
  const isStash = graph.labels.value.get(commit)?.some(({ kind }) => kind === 'stash') === true
  return isStash ? ['cherry-pick'] : WAYS.filter(way => way !== 'rebase')
}

/** Opens the dialog of steps for a source that was dropped on the branch `onto`, or for which the branch was chosen. */
export function openSteps(page: Page, source: Source, onto: string, first: Way = 'merge'): void {
  page.dialog.value = contentOf(page, source, onto, first)
}

function contentOf(page: Page, source: Source, onto: string, first: Way): StepContent {
  const target = page.branch(onto)
  const ways = waysFor(page, source).flatMap((way): StepWay[] => {
    const step = stepOf(way, source, onto, target?.tip)
    if (!step) return []
    return [{ key: way, words: buttonOf(way), button: buttonOf(way), explains: explain(way, source, onto), step }]
  })
  const at = ways.findIndex(({ key }) => key === first)
  return {
    kind: 'step',
    title: `${readable(source.words)} → ${readable(onto)}`,
    ways,
    first: Math.max(0, at),
    renamed: (from, to) =>
      onto === from || source.branch === from
        ? contentOf(page, sourceAfter(source, from, to), nameAfter(onto, from, to), first)
        : undefined,
    isDone: done => finish(page, done),
  }
}

/** Shows what was done; in the graph, the list of commits gets the focus again. */
export function finish(page: Page, done: DoneStep): void {
  showDone(page, done)
  if (done.merging === undefined) page.graph.focusWish.make()
}

/** Asks for the target branch, and shows the step's outcome beside each branch. */
export function chooseTarget(page: Page, source: Source, way: Way): void {
  page.dialog.value = targetContent(page, source, way)
}

function targetContent(page: Page, source: Source, way: Way): PickContent {
  return {
    kind: 'pick',
    title: titleInto(way, source),
    label: 'Branch',
    list: 'Branches',
    none: 'No other branch',
    choices: () =>
      branchesToPick(page)
        .filter(({ name }) => name !== source.branch)
        .map(branch => {
          const step = stepOf(way, source, branch.name, branch.tip)
          return {
            ...choiceOf(branch),
            ...(step && { step }),
            run: () => openSteps(page, source, branch.name, way),
          }
        }),
    renamed: (from, to) =>
      source.branch === from ? targetContent(page, sourceAfter(source, from, to), way) : undefined,
  }
}

/**
 * Asks for the branch onto which several commits are cherry-picked, each as a new one. `commits`: oldest first; `from`:
 * the branch that has them.
 */
export function cherryPickAll(page: Page, commits: readonly string[], from: string | undefined): void {
  const words = plural(commits.length, 'commit')
  const contentFrom = (branch: string | undefined): PickContent => ({
    kind: 'pick',
    title: `Cherry-pick ${words} onto…`,
    label: 'Branch',
    list: 'Branches',
    none: 'No other branch',
    choices: () =>
      branchesToPick(page)
        .filter(({ name }) => name !== branch)
        .map(other => ({
          ...choiceOf(other),
          step: pickStep(commits, other.name),
          run: () => openPickAll(page, commits, other.name),
        })),
  })
  page.dialog.value = from === undefined ? contentFrom(from) : following(from, contentFrom)
}

/** Cherry-picks commits, oldest first, onto a branch. */
export const pickStep = (commits: readonly string[], onto: string): BranchStep => ({
  step: 'cherry-pick',
  commits: [...commits],
  onto,
})

/** Shows how several commits, oldest first, would be cherry-picked onto a branch, and does it. */
export function openPickAll(page: Page, commits: readonly string[], onto: string): void {
  page.dialog.value = pickAllContent(page, commits, onto)
}

function pickAllContent(page: Page, commits: readonly string[], onto: string): StepContent {
  const words = plural(commits.length, 'commit')
  const explains = `Applies the changes of ${words} to ${readable(onto)}, the oldest first, each as a new commit.`
  const step = pickStep(commits, onto)
  return {
    kind: 'step',
    title: `${words} → ${readable(onto)}`,
    ways: [{ key: 'cherry-pick', words: 'Cherry-pick', button: 'Cherry-pick', explains, step }],
    first: 0,
    renamed: (from, to) => (onto === from ? pickAllContent(page, commits, to) : undefined),
    isDone: done => showDone(page, done),
  }
}

/** The local branches: that of HEAD first, those of runs last. */
export function branchesToPick(page: Page): BranchInfo[] {
  const head = page.desk.value?.head
  const { own, ofRuns } = splitByRun(page.desk.value?.branches ?? [])
  return [...own.toSorted((one, other) => Number(other.name === head) - Number(one.name === head)), ...ofRuns]
}

/** A branch as a choice in a dialog that asks for one. */
export const choiceOf = ({ name, session }: BranchInfo) => ({
  key: `refs/heads/${name}`,
  kind: 'branch' as const,
  icon: session ? ('bot' as const) : ('sprout' as const),
  tone: session ? 'by-ai' : '',
  words: name,
  isRare: runOfBranch(name) !== undefined,
})

/** Some commits, at least one. */
export type NamedCommits = readonly [NamedCommit, ...NamedCommit[]]

/** One commit by its id, or the number of several. */
export const wordsOf = (commits: readonly { oid: string }[]): string =>
  commits.length === 1 ? shortId(commits[0]?.oid ?? '') : plural(commits.length, 'commit')

const revertStep = (commits: NamedCommits, onto: string) =>
  ({ step: 'revert', commits: commits.map(({ oid }) => oid), onto }) as const

/** Shows how commits of a branch, newest first, would be reverted in this order, and reverts them. */
export function openRevert(
  page: Page,
  commits: NamedCommits,
  branch: string,
  isDone: (done: DoneStep) => void = done => showDone(page, done),
): void {
  page.dialog.value = revertContent(commits, branch, isDone)
}

function revertContent(commits: NamedCommits, branch: string, isDone: (done: DoneStep) => void): StepContent {
  const [{ subject }, ...others] = commits
  const explains =
    others.length === 0
      ? `Undoes the changes of “${withoutTricks(subject)}” by a new commit in ${readable(branch)}.`
      : `Undoes the changes of ${wordsOf(commits)} in ${readable(branch)}, the newest first, each by a new commit.`
  return {
    kind: 'step',
    title: `Revert ${wordsOf(commits)} in ${readable(branch)}`,
    ways: [{ key: 'revert', words: 'Revert', button: 'Revert', explains, step: revertStep(commits, branch) }],
    first: 0,
    renamed: (from, to) => (branch === from ? revertContent(commits, to, isDone) : undefined),
    isDone,
  }
}

/** Picks the branch in which commits, newest first, are reverted: those that have the newest one come first. */
export function revertIn(page: Page, commits: NamedCommits): void {
  pickBranchWith(page, commits, {
    title: `Revert ${wordsOf(commits)} in…`,
    step: branch => revertStep(commits, branch),
    run: branch => openRevert(page, commits, branch, done => finish(page, done)),
  })
}

/** What is done with commits in a branch that is picked. `step`: its outcome is shown beside each branch. */
interface InPicked {
  title: string
  step?: (branch: string) => BranchStep
  run: (branch: string) => void
}

/** Picks a branch for commits that are in it: those that have the newest of the commits come first. */
export function pickBranchWith(page: Page, commits: NamedCommits, { title, step, run }: InPicked): void {
  const [newest, ...others] = commits
  const having = signal<ReadonlySet<string> | undefined>(undefined)
  page.connection.ask('branches with', { commit: newest.oid }).then(
    names => {
      having.value = new Set(names)
    },
    error => {
      page.dialog.value = undefined
      page.complain(error, { topic: STEP_TOPIC })
    },
  )
  page.dialog.value = {
    kind: 'pick',
    title,
    label: others.length === 0 ? 'Branch that has the commit' : 'Branch that has the commits',
    list: 'Branches',
    none: 'No branch',
    choices: () => {
      const names = having.value
      if (!names) return undefined
      const isWithout = ({ name }: BranchInfo) => !names.has(name)
      const branches = branchesToPick(page).toSorted((one, other) => Number(isWithout(one)) - Number(isWithout(other)))
      return branches.map(branch => ({
        ...choiceOf(branch),
        ...(isWithout(branch)
          ? { meta: others.length === 0 ? 'does not have the commit' : 'does not have the commits' }
          : step && { step: step(branch.name) }),
        run: () => run(branch.name),
      }))
    },
    renamed: (from, to) => {
      // The list has the new name by itself; this is about which branches have the commit.
      having.value = having.peek() && new Set([...(having.peek() ?? [])].map(name => nameAfter(name, from, to)))
      return undefined
    },
  }
}

export function tagAt(page: Page, { commit, words }: Source): void {
  const warning = tagWarnings(page)
  page.dialog.value = {
    kind: 'ask',
    title: `New tag at ${readable(words)}`,
    label: 'Tag name',
    value: '',
    button: 'Create tag',
    warn: typed => warning(toName(typed)),
    messageLabel: 'Message (optional)',
    hint: 'With a message, it is an annotated tag. It stays on this machine until it is pushed.',
    run: async (typed, message) => {
      const { words: said } = await page.connection.ask('do', {
        step: { step: 'tag', name: toName(typed), at: commit, message },
      })
      finish(page, { words: said, isUndoable: true })
    },
  }
}
