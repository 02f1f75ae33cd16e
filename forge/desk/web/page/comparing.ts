/** Asks for a branch or a commit, and compares the shown one with it. */
import type { At } from '../../contract/values.ts'
import { readable, shortId } from '../ui/names.ts'
import { branchOf } from './branch-facts.ts'
import type { Page, Tab } from './state.ts'

const nameOf = (at: At): string => (at.kind === 'branch' ? readable(at.branch) : shortId(at.commit))

/** Shows the review of a tab, and asks what it is compared with. */
export function compareWith(page: Page, tab: Tab): void {
  page.open(tab.at)
  page.showHere(tab, { kind: 'review' })
  page.dialog.value = {
    kind: 'base',
    title: `Compare ${nameOf(tab.at)} with`,
    branch: branchOf(tab),
    commit: tab.at.kind === 'commit' ? tab.at.commit : undefined,
    run: chosen => {
      tab.review.chosenBase.value = chosen
      // With a base, a branch shows all changes or one commit at a time: the latter stays, anything else becomes all
      // changes.
      const { kind } = tab.review
      if (tab.at.kind === 'commit' || kind.peek() !== 'commit') kind.value = 'all'
      // The dialog gives the focus back to where it was: to the tab of another pane, where that had it.
      page.wantFocus()
    },
  }
}
