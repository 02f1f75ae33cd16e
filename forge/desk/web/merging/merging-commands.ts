/** The actions in a branch with a waiting merge, for keys and the palette. */

import { type MergingFile, nounOf } from '../../contract/merging.ts'
import {
  branchOf,
  canAskAi,
  isAtWork,
  isInConflict,
  isMerging,
  isTextOpen,
  mergingFile,
  mergingFiles,
} from '../page/branch-facts.ts'
import type { Page, Tab } from '../page/state.ts'
import { type Action, type Actions, itemsWith } from '../ui/action.ts'
import type { Offer } from '../ui/menu-content.ts'
import { baseName, named } from '../ui/names.ts'
import {
  abort,
  askAi,
  FINISH_KEYS,
  finish,
  goToConflict,
  type TakenIn,
  takeConflicts,
  update,
} from './merging-actions.ts'

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

/** Whether conflicts can be resolved in the branch now. */
const isResolvable = (about: InTab): boolean => isOfConflicts(about) && !isAtWork(about.page, branchOf(about.tab) ?? '')

/** The shown file, if it has open conflicts that can be resolved by one side. */
function shownText(about: InTab): string[] {
  const { page, tab } = about
  const file = tab.path === undefined || !isResolvable(about) ? undefined : mergingFile(page, tab, tab.path)
  return file && isTextOpen(file) ? [file.path] : []
}

/** An action that resolves all open conflicts of some texts by one side; it is not possible without any. */
const taking = <About extends InTab>(side: 'ours' | 'theirs', what: TakenIn, paths: (about: About) => string[]) =>
  ({
    label: `Take ${side} for all conflicts of ${what}`,
    icon: 'check',
    isPossible: about => paths(about).length > 0,
    run: about => takeConflicts(about.page, about.tab, paths(about), side, what),
  }) satisfies Action<About>

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
  oursInFile: { ...taking('ours', 'the file', shownText), keys: 'Ctrl+F8' },
  theirsInFile: { ...taking('theirs', 'the file', shownText), keys: 'Ctrl+Shift+F8' },
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

interface OfFile extends InTab {
  file: MergingFile
}

/** The file, if it has open conflicts that can be resolved by one side. */
const ownText = (about: OfFile): string[] => (isResolvable(about) && isTextOpen(about.file) ? [about.file.path] : [])

/** All such files, if there are several; while a merge waits, without those whose drafts are in conflict with it. */
function allTexts(about: InTab): string[] {
  const files = mergingFiles(about.page, about.tab).filter(file => isTextOpen(file) && file.isOfDraft === undefined)
  const paths = files.map(({ path }) => path)
  return isResolvable(about) && paths.length > 1 ? paths : []
}

const fileActions = {
  ours: taking('ours', 'the file', ownText),
  theirs: taking('theirs', 'the file', ownText),
  oursInAll: taking('ours', 'all files', allTexts),
  theirsInAll: taking('theirs', 'all files', allTexts),
} satisfies Actions<OfFile>

/** The menu of a file in the list of conflicts. */
export function conflictMenu(about: OfFile): Offer {
  const { ours, theirs, oursInAll, theirsInAll } = fileActions
  return {
    title: named(baseName(about.file.result ?? about.file.path)),
    groups: [itemsWith(about, [ours, theirs], 'none'), itemsWith(about, [oursInAll, theirsInAll], 'none')],
  }
}
