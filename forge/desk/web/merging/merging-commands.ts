/** The actions in a branch with a waiting merge, for keys and the palette. */

import { type MergingFile, nounOf } from '../../contract/merging.ts'
import {
  branchOf,
  canAskAi,
  isAtWork,
  isInConflict,
  isMerging,
  mergingFile,
  mergingFiles,
} from '../page/branch-facts.ts'
import type { Page, Tab } from '../page/state.ts'
import { type Actions, itemsWith } from '../ui/action.ts'
import type { Offer } from '../ui/menu-content.ts'
import { baseName, named } from '../ui/names.ts'
import { abort, askAi, FINISH_KEYS, finish, goToConflict, takeConflicts, update } from './merging-actions.ts'

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

/** Whether a file is a text with open conflicts of the merge. */
const isOpenText = ({ kind, state, isOfDraft }: MergingFile): boolean =>
  kind === 'text' && state === 'open' && isOfDraft === undefined

/** Whether conflicts can be resolved in the branch now. */
const isResolvable = ({ page, tab }: InTab): boolean => isOn({ page, tab }) && !isAtWork(page, branchOf(tab) ?? '')

/** The shown file, if it has open conflicts that can be resolved by one side. */
function shownText(about: InTab): MergingFile | undefined {
  const { page, tab } = about
  const file = tab.path === undefined || !isResolvable(about) ? undefined : mergingFile(page, tab, tab.path)
  return file && isOpenText(file) ? file : undefined
}

const takeInShown = (about: InTab, side: 'ours' | 'theirs') => {
  const file = shownText(about)
  return file && takeConflicts(about.page, about.tab, [file.path], side)
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
  oursInFile: {
    label: 'Take ours for all conflicts of the file',
    keys: 'Ctrl+F8',
    icon: 'check',
    isPossible: about => shownText(about) !== undefined,
    run: about => takeInShown(about, 'ours'),
  },
  theirsInFile: {
    label: 'Take theirs for all conflicts of the file',
    keys: 'Ctrl+Shift+F8',
    icon: 'check',
    isPossible: about => shownText(about) !== undefined,
    run: about => takeInShown(about, 'theirs'),
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

interface OfFile extends InTab {
  file: MergingFile
}

/** The files of which all conflicts are resolved by an action on a file, or on all files. */
const openTexts = ({ page, tab }: InTab): string[] =>
  mergingFiles(page, tab).flatMap(file => (isOpenText(file) ? [file.path] : []))

const isTextOpen = (about: OfFile): boolean => isResolvable(about) && isOpenText(about.file)
const areMoreOpen = (about: OfFile): boolean => isResolvable(about) && openTexts(about).length > 1

const fileActions = {
  ours: {
    label: 'Take ours for all conflicts of the file',
    icon: 'check',
    isPossible: isTextOpen,
    run: ({ page, tab, file }) => takeConflicts(page, tab, [file.path], 'ours'),
  },
  theirs: {
    label: 'Take theirs for all conflicts of the file',
    icon: 'check',
    isPossible: isTextOpen,
    run: ({ page, tab, file }) => takeConflicts(page, tab, [file.path], 'theirs'),
  },
  oursInAll: {
    label: 'Take ours for all conflicts of all files',
    icon: 'check',
    isPossible: areMoreOpen,
    run: ({ page, tab }) => takeConflicts(page, tab, openTexts({ page, tab }), 'ours'),
  },
  theirsInAll: {
    label: 'Take theirs for all conflicts of all files',
    icon: 'check',
    isPossible: areMoreOpen,
    run: ({ page, tab }) => takeConflicts(page, tab, openTexts({ page, tab }), 'theirs'),
  },
} satisfies Actions<OfFile>

/** The menu of a file in the list of conflicts. */
export function conflictMenu(about: OfFile): Offer {
  const { ours, theirs, oursInAll, theirsInAll } = fileActions
  return {
    title: named(baseName(about.file.result ?? about.file.path)),
    groups: [itemsWith(about, [ours, theirs], 'none'), itemsWith(about, [oursInAll, theirsInAll], 'none')],
  }
}
