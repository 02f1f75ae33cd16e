/** Actions on a branch or a commit as the source of a step, a new branch, a tag or a comparison. */
import type { Source } from '../../contract/steps.ts'
import { newBranch, type Start } from '../page/actions.ts'
import { compareWith } from '../page/comparing.ts'
import { remoteBranches } from '../page/remote-branches.ts'
import type { Page } from '../page/state.ts'
import type { Action, Actions } from '../ui/action.ts'
import type { IconName } from '../ui/icons.tsx'
import { chooseTarget, tagAt, waysFor } from './source-steps.ts'
import { commitSource, sourceOf, titleInto, type Way, wordsInto } from './step-ways.ts'

/** A branch or a commit as the source of a new branch, a merge or a move. */
export interface OneSource {
  page: Page
  source: Source
}

function stepAction(way: Way, icon: IconName, listKeys: string): Action<OneSource> {
  return {
    label: wordsInto(way),
    inPalette: ({ source }) => titleInto(way, source),
    listKeys,
    icon,
    isPossible: ({ page, source }) => waysFor(page, source).includes(way),
    run: ({ page, source }) => chooseTarget(page, source, way),
  }
}

/** The start of a new branch; a source that is named like a remote branch is that branch. */
const startAt = (page: Page, { commit, words }: Source): Start => ({
  ...{ commit, words },
  remote: remoteBranches(page).find(it => it.words === words && it.tip === commit),
})

export const sourceActions = {
  branchFromHere: {
    label: 'New branch from here…',
    listKeys: 'B',
    icon: 'branch',
    run: ({ page, source }) => newBranch(page, startAt(page, source)),
  },
  compare: {
    label: 'Compare with…',
    listKeys: 'D',
    icon: 'compare',
    run: ({ page, source: { branch, commit } }) =>
      compareWith(page, page.open(branch === undefined ? { kind: 'commit', commit } : { kind: 'branch', branch })),
  },
  tag: { label: 'New tag here…', listKeys: 'T', icon: 'tag', run: ({ page, source }) => tagAt(page, source) },
} satisfies Actions<OneSource>

export const stepActions = {
  merge: stepAction('merge', 'merge', 'M'),
  land: stepAction('land', 'land', 'L'),
  rebase: stepAction('rebase', 'rebase', 'R'),
  cherryPick: stepAction('cherry-pick', 'pick', 'C'),
  move: stepAction('move', 'move', 'V'),
} satisfies Actions<OneSource>

const { rebase: _, ...ofCommits } = stepActions
/** The steps on a commit in a history. A rebase is of a whole branch, and its key rewords a commit there. */
export const commitStepActions = ofCommits satisfies Actions<OneSource>

/** A commit as a source. If a local branch is at the commit, the step names that branch. */
export function sourceAt({ graph }: Page, { oid }: { oid: string }): Source {
  const branch = graph.labels.value.get(oid)?.find(label => label.kind === 'branch')
  return branch ? sourceOf(branch) : commitSource(oid)
}
