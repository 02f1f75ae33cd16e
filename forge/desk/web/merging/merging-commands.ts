/** The actions in a branch with a waiting merge, for keys and the palette. */

import { nounOf } from '../../contract/merging.ts'
import { branchOf, canAskAi, isInConflict, isMerging, mergingFiles } from '../page/branch-facts.ts'
import type { Page, Tab } from '../page/state.ts'
import type { Actions } from '../ui/action.ts'
import { abort, askAi, FINISH_KEYS, finish, goToConflict, update } from './merging-actions.ts'

interface InTab {
  page: Page
  tab: Tab
}

const isOn = ({ page, tab }: InTab): boolean => isMerging(page, tab)

/** What waits in the branch, as a noun: a merge, a landing, a rebase. */
const whatWaits = ({ page, tab }: InTab): string => nounOf(page.branch(branchOf(tab) ?? '')?.merging ?? 'merge')

/** Whether there are conflicts, or there were. */
const isOfConflicts = ({ page, tab }: InTab): boolean => isInConflict(page, tab)

/** Whether conflicts may be unresolved; also true while the list of files is loading. */
function mayBeLeft({ page, tab }: InTab): boolean {
  const isLoading = tab.merging.latest.value === undefined
  return isInConflict(page, tab) && (isLoading || mergingFiles(page, tab).some(({ state }) => state === 'open'))
}

export const mergingActions = {
  next: {
    label: 'Next conflict',
    keys: 'F8',
    icon: 'arrow-down',
    isPossible: isOfConflicts,
    run: ({ page, tab }) => goToConflict(page, tab, 1),
  },
  previous: {
    label: 'Previous conflict',
    keys: 'Shift+F8',
    icon: 'arrow-up',
    isPossible: isOfConflicts,
    run: ({ page, tab }) => goToConflict(page, tab, -1),
  },
  askForAll: {
    label: 'Ask the AI for all conflicts',
    keys: 'Alt+Shift+V',
    icon: 'bot',
    isPossible: about => canAskAi(about.page, about.tab) && mayBeLeft(about),
    run: ({ page, tab }) => askAi(page, tab, 'all'),
  },
  finish: {
    label: 'Finish the merge',
    inPalette: about => `Finish the ${whatWaits(about)}`,
    keys: FINISH_KEYS,
    icon: 'check',
    isPossible: isOn,
    run: ({ page, tab }) => finish(page, tab),
  },
  update: {
    label: 'Update the merge',
    inPalette: about => `Update the ${whatWaits(about)}`,
    keys: 'Alt+F8',
    icon: 'refresh',
    isPossible: about => isOn(about) && about.tab.merging.latest.value?.canUpdate === true,
    run: ({ page, tab }) => update(page, tab),
  },
  abort: {
    label: 'Abort the merge…',
    inPalette: about => `Abort the ${whatWaits(about)}…`,
    keys: 'Alt+Shift+Z',
    icon: 'x',
    isPossible: isOn,
    run: ({ page, tab }) => abort(page, tab),
  },
} satisfies Actions<InTab>
