/** All actions of the desk: the commands of the palette and the keys, and the tables that docs/desk.md shows. */
import { chatActions } from '../chat/chat-commands.ts'
import { EDITOR_KEYS } from '../editor/editor-keys.ts'
import { codeActions, symbolActions } from '../files/code-actions.ts'
import { fileActions, folderActions } from '../files/file-actions.ts'
import { languageActions } from '../files/language-actions.ts'
import { lineActions } from '../files/line-actions.ts'
import { searchActions } from '../files/search-actions.ts'
import {
  forkliftActions,
  goOnWithRun,
  publishActions,
  resolveRunInParts,
  runsToGoOnWith,
} from '../forklift/forklift-actions.ts'
import { branchActions } from '../graph/branch-actions.ts'
import { graphActions, graphListActions } from '../graph/graph-actions.ts'
import { commitActions, severalIn } from '../graph/graph-menus.ts'
import { mergingActions } from '../merging/merging-commands.ts'
import { branchOf } from '../page/branch-facts.ts'
import { deskActions, findActions } from '../page/desk-actions.ts'
import { type Page, REPOSITORY, TASKS, type Tab } from '../page/state.ts'
import { paneActions, tabActions } from '../page/tab-actions.ts'
import { historyActions, historyViewActions } from '../review/history-actions.ts'
import { commentActions, reviewActions } from '../review/review-actions.ts'
import { commitStepActions, sourceActions, sourceAt, stepActions } from '../steps/source-actions.ts'
import { runActions } from '../tasks/tasks-actions.ts'
import { runsActions, shownRunActions, tasksCommands } from '../tasks/tasks-commands.ts'
import { type Action, type Command, commandOf, commandsWith } from '../ui/action.ts'
import { branchTabActions, commitTabActions } from './tab-menus.ts'

/** The commands that are possible now. Keys reserved by the browser (Ctrl+N, T, W, Tab) are not used. */
export function commandsOf(page: Page): Command[] {
  const tab = page.tab.value
  return [
    ...commandsWith(findActions, page),
    ...(tab ? tabCommands(page, tab) : viewCommands(page)),
    ...commandsWith(deskActions, page),
    ...commandsWith(forkliftActions, page),
    ...runsToGoOnWith(page).flatMap(about => [commandOf(goOnWithRun, about), commandOf(resolveRunInParts, about)]),
  ]
}

/** The commands of the current view: none until the desk's state has arrived, which decides what is shown. */
function viewCommands(page: Page): Command[] {
  if (page.active.value === TASKS) return tasksCommands(page)
  return page.active.value === REPOSITORY ? graphCommands(page) : []
}

function graphCommands(page: Page): Command[] {
  const { row } = page.graph
  const several = severalIn(page)
  if (several.chosen.length > 0) return [...commandsWith(graphActions, page), ...commandsWith(historyActions, several)]
  const steps = row ? commandsWith(stepActions, { page, source: sourceAt(page, row) }) : []
  return [...commandsWith(graphActions, page), ...steps]
}

function tabCommands(page: Page, tab: Tab): Command[] {
  const { path, pane } = tab
  const branch = branchOf(tab)
  const about = { page, tab }
  return [
    // Before those of a file: F2 renames the symbol at the cursor where a language server can.
    ...(path === undefined ? [] : commandsWith(languageActions, { page, tab, path })),
    ...(path === undefined ? [] : commandsWith(fileActions, { page, tab, path })),
    ...(path === undefined ? [] : commandsWith(codeActions, { page, tab, path })),
    ...(path === undefined ? [] : commandsWith(lineActions, { page, tab, path })),
    ...commandsWith(symbolActions, about),
    ...commandsWith(reviewActions, tab),
    ...commandsWith(commentActions, about),
    ...commandsWith(historyViewActions, about),
    ...commandsWith(searchActions, about),
    ...commandsWith(tabActions, about),
    ...commandsWith(paneActions, { page, tab, pane }),
    ...(branch === undefined ? commandsWith(commitTabActions, about) : branchCommands(page, tab, branch)),
  ]
}

function branchCommands(page: Page, tab: Tab, branch: string): Command[] {
  const about = { page, tab }
  return [
    ...commandsWith(chatActions, about),
    ...commandsWith(mergingActions, about),
    ...commandsWith(publishActions, about),
    ...commandsWith(branchTabActions, { page, tab, branch }),
    ...commandsWith(folderActions, about),
    ...commandsWith(branchActions, { page, branch }),
  ]
}

/** The fields of an action that are shown in the list of keyboard shortcuts. */
export type Listed = Pick<Action<never>, 'label' | 'keys' | 'otherKeys' | 'listKeys'>

/** All actions, grouped by the part of the page in which they apply. */
export const TABLES: readonly { title: string; tables: readonly Record<string, Listed>[] }[] = [
  { title: 'Everywhere', tables: [findActions, deskActions, forkliftActions] },
  { title: 'The tab of a branch or commit', tables: [tabActions, commitTabActions, paneActions, symbolActions] },
  { title: 'A branch', tables: [branchTabActions, folderActions, branchActions, publishActions] },
  { title: 'A file', tables: [fileActions, codeActions, lineActions] },
  { title: 'A file with a language server', tables: [languageActions] },
  { title: 'The editor', tables: [EDITOR_KEYS] },
  { title: 'A review', tables: [reviewActions, commentActions] },
  { title: 'The history of a branch', tables: [historyViewActions, historyActions, sourceActions, commitStepActions] },
  { title: 'A search in files', tables: [searchActions] },
  { title: 'The AI chat', tables: [chatActions] },
  { title: 'A merge in progress', tables: [mergingActions] },
  { title: 'The repository', tables: [graphActions] },
  { title: 'A commit in the graph', tables: [commitActions, sourceActions, stepActions, graphListActions] },
  { title: 'The tasks', tables: [runsActions, shownRunActions, runActions] },
]

/** Keys of the current view that are not palette commands: those of the editor, or those of the lists of the graph. */
export function keysOfView(page: Page): [keys: string, label: string][] {
  const lists: Record<string, Listed>[] = [graphActions, commitActions, sourceActions, stepActions, graphListActions]
  if (page.tab.value?.pane.kind === 'history') {
    return listKeysOf([historyViewActions, historyActions, sourceActions, commitStepActions])
  }
  if (page.tab.value) return Object.values(EDITOR_KEYS).map(({ keys, label }) => [keys, label])
  if (page.active.value !== REPOSITORY) return []
  return listKeysOf(lists)
}

function listKeysOf(lists: readonly Record<string, Listed>[]): [keys: string, label: string][] {
  return lists
    .flatMap(list => Object.values(list))
    .flatMap(({ listKeys, label }): [string, string][] => (listKeys ? [[listKeys, label]] : []))
}
