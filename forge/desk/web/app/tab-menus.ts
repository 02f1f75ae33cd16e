/** The context menus of the tabs of branches, commits and files, and the actions for a branch that has a tab. */
import { fileActions } from '../files/file-actions.ts'
import { discard } from '../files/file-dialogs.ts'
import { branchActions, REMOTE, STEPS } from '../graph/branch-actions.ts'
import { STEP_TOPIC } from '../merging/after-step.ts'
import { resolveDrafts } from '../merging/merging-actions.ts'
import { attempt, restoreBranch } from '../page/actions.ts'
import { conflictsIn, draftsOf, showsTurn } from '../page/branch-facts.ts'
import { showInGraph } from '../page/desk-actions.ts'
import { draftsElsewhere, save } from '../page/saving.ts'
import type { Page, Pane, Tab } from '../page/state.ts'
import { type InTab, paneActions, tabActions } from '../page/tab-actions.ts'
import { amendLast } from '../review/history-actions.ts'
import { saveSome } from '../review/parts-actions.ts'
import { draftsOnto } from '../steps/draft-moves.ts'
import { revertIn } from '../steps/source-steps.ts'
import { type Actions, itemsWith } from '../ui/action.ts'
import type { Offer } from '../ui/menu-content.ts'
import { named, readable, shortId } from '../ui/names.ts'
import { plural } from '../ui/times.ts'

/** A tab that shows a branch, with the branch's name. */
export interface OnBranch extends InTab {
  branch: string
}

const isThere = ({ page, tab }: OnBranch): boolean => !page.isGone(tab.at)

/** Whether a branch has drafts that can go to another branch: those on a waiting merge belong to it. */
function canMoveDrafts({ page, branch }: OnBranch): boolean {
  const info = page.branch(branch)
  return info !== undefined && info.merging === undefined && draftsOf(page, branch).length > 0
}

export const branchTabActions = {
  restore: {
    label: 'Restore the branch',
    inPalette: ({ branch }) => `Restore the branch ${named(branch)}`,
    keys: 'Alt+Shift+G',
    icon: 'branch',
    isPossible: about => !isThere(about),
    run: ({ page, branch }) => restoreBranch(page, branch),
  },
  settleDrafts: {
    label: 'Resolve the conflicts',
    keys: 'Alt+Shift+K',
    icon: 'clash',
    isPossible: about =>
      isThere(about) && conflictsIn(about.page, about.branch).length > 0 && !showsTurn(about.page, about.branch),
    run: ({ page, tab }) => resolveDrafts(page, tab),
  },
  save: {
    label: 'Save this file',
    keys: 'Ctrl+S',
    icon: 'check',
    isPossible: isThere,
    run: ({ page, tab }) => save(page, tab, 'this'),
  },
  saveAll: {
    label: 'Save all drafts',
    keys: 'Ctrl+Shift+S',
    icon: 'check',
    isPossible: isThere,
    run: ({ page, tab }) => save(page, tab, 'all'),
  },
  saveSome: {
    label: 'Save some changes…',
    inPalette: ({ branch }) => `Save some changes of ${named(branch)}…`,
    keys: 'Ctrl+Alt+S',
    icon: 'check',
    isPossible: about =>
      isThere(about) &&
      about.page.branch(about.branch)?.merging === undefined &&
      draftsOf(about.page, about.branch).length > 0,
    run: ({ page, branch }) => saveSome(page, branch),
  },
  saveWithMessage: {
    label: 'Save all with a message…',
    keys: 'Alt+S',
    icon: 'check',
    isPossible: about => isThere(about) && about.page.branch(about.branch)?.merging === undefined,
    run: ({ page, branch }) => {
      if (draftsOf(page, branch).length > 0) page.dialog.value = { kind: 'save' }
      else page.tell({ title: 'Nothing to save', topic: 'save', branch }, 'info')
    },
  },
  amend: {
    label: 'Amend last commit…',
    inPalette: ({ branch }) => `Amend the last commit of ${named(branch)}…`,
    keys: 'Alt+Shift+T',
    icon: 'pencil',
    isPossible: about => isThere(about) && about.page.branch(about.branch)?.merging === undefined,
    run: ({ page, branch }) => amendLast(page, branch),
  },
  moveDrafts: {
    label: 'Move drafts to a new branch…',
    inPalette: ({ branch }) => `Move the drafts of ${named(branch)} to a new branch…`,
    keys: 'Ctrl+Alt+Shift+B',
    icon: 'branch',
    isPossible: canMoveDrafts,
    run: ({ page, branch }) => draftsElsewhere(page, branch),
  },
  moveDraftsOnto: {
    label: 'Move drafts to another branch…',
    inPalette: ({ branch }) => `Move the drafts of ${named(branch)} to another branch…`,
    keys: 'Ctrl+Alt+Shift+O',
    icon: 'branch',
    isPossible: canMoveDrafts,
    run: ({ page, branch }) => draftsOnto(page, branch),
  },
  discardAll: {
    label: 'Discard all changes',
    inPalette: ({ page, branch }) => `Discard all changes (${plural(draftsOf(page, branch).length, 'draft')})`,
    keys: 'Alt+Shift+A',
    icon: 'trash',
    isPossible: about => isThere(about) && draftsOf(about.page, about.branch).length > 0,
    run: ({ page, branch }) => discard(page, branch, draftsOf(page, branch)),
  },
} satisfies Actions<OnBranch>

export const commitTabActions = {
  showInGraph: {
    label: 'Show in the graph',
    icon: 'graph',
    isPossible: ({ tab: { at } }) => at.kind === 'commit',
    run: ({ page, tab: { at } }) => at.kind === 'commit' && showInGraph(page, at.commit),
  },
  revert: {
    label: 'Revert…',
    inPalette: ({ tab: { at } }) => `Revert ${at.kind === 'commit' ? shortId(at.commit) : ''} in a branch…`,
    keys: 'Alt+Shift+7',
    icon: 'undo',
    isPossible: ({ tab: { at } }) => at.kind === 'commit',
    run: ({ page, tab: { at } }) =>
      at.kind === 'commit' &&
      attempt(page, async () => revertIn(page, [(await page.connection.ask('commit', { commit: at.commit })).row]), {
        topic: STEP_TOPIC,
      }),
  },
} satisfies Actions<InTab>

/** The menu of the tab of a branch or a commit. */
export function tabMenu(page: Page, tab: Tab): Offer {
  const about = { page, tab }
  const { at } = tab
  const { review, compareWith, history, copyName, branchFromHere, close, closeOthers } = tabActions
  const closing = page.tabs.peek().length > 1 ? itemsWith(about, [close, closeOthers]) : []
  if (at.kind === 'commit') {
    const changing = [...itemsWith(about, [branchFromHere]), ...itemsWith(about, [commitTabActions.revert])]
    const looking = [
      ...itemsWith(about, [commitTabActions.showInGraph]),
      ...itemsWith(about, [compareWith, history, copyName]),
    ]
    return { title: shortId(at.commit), groups: [changing, looking, closing] }
  }
  const title = readable(at.branch)
  if (page.isGone(at)) return { title, groups: [itemsWith(about, [copyName]), closing] }
  const branch = { page, branch: at.branch }
  const { rename, delete: remove } = branchActions
  const { amend, moveDrafts, moveDraftsOnto, saveSome: saveParts, saveWithMessage } = branchTabActions
  const committing = itemsWith({ ...about, branch: at.branch }, [
    saveWithMessage,
    saveParts,
    amend,
    moveDrafts,
    moveDraftsOnto,
  ])
  const changing = [...committing, ...itemsWith(about, [branchFromHere]), ...itemsWith(branch, [rename, remove])]
  const groups = [itemsWith(branch, REMOTE), itemsWith(branch, STEPS), changing]
  return { title, groups: [...groups, itemsWith(about, [review, compareWith, history, copyName]), closing] }
}

/** The menu of a file's tab or another pane of a branch or a commit. */
export function paneMenu(page: Page, tab: Tab, pane: Pane, title: string): Offer {
  const { close, closeOthers, reopen, keepOpen, pin } = paneActions
  const closing = itemsWith({ page, tab, pane }, [close, closeOthers, reopen, keepOpen, pin])
  if (pane.kind !== 'file') return { title, groups: [closing] }
  const about = { page, tab, path: pane.path }
  const { duplicate, rename, move, delete: remove, discard, history, copyPath, copyAbsolutePath, reveal } = fileActions
  return {
    title,
    groups: [
      closing,
      itemsWith(about, [duplicate, rename, move, remove, discard]),
      itemsWith(about, [history, reveal, copyPath, copyAbsolutePath]),
    ],
  }
}
