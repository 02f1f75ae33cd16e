/** Actions that are possible everywhere in the desk. */
import type { Action, Actions } from '../ui/action.ts'
import { named, shortId } from '../ui/names.ts'
import { goToCommit, newBranch } from './actions.ts'
import type { PaletteMode } from './palette-mode.ts'
import { type Page, REPOSITORY, TASKS, type Tab } from './state.ts'
import { redoHere, undoableHere, undoHere } from './undo.ts'

const open = (mode: PaletteMode) => (page: Page) => {
  page.palette.value = mode
}

/** Runs an action in the shown tab or, where none is shown, in the last one; without tabs, a branch is chosen first. */
const inTab = (run: (page: Page, tab: Tab) => void) => (page: Page) => {
  const tab = page.tab.peek() ?? page.lastTab
  if (!tab) return open('branches')(page)
  page.open(tab.at)
  run(page, tab)
}

export const findActions = {
  find: { label: 'Command palette', keys: 'Ctrl+K', icon: 'search', run: open('all') },
  goToFile: {
    label: 'Go to file…',
    keys: 'Ctrl+P',
    icon: 'file',
    run: inTab(open('files')),
  },
  findInFiles: {
    label: 'Find in files',
    keys: 'Ctrl+Shift+F',
    icon: 'search',
    run: inTab((_, tab) => tab.find()),
  },
  openBranch: { label: 'Open a branch…', keys: 'Alt+B', icon: 'branch', run: open('branches') },
  goToCommit: { label: 'Go to a commit…', keys: 'Alt+C', icon: 'commit', run: goToCommit },
} satisfies Actions<Page>

/** The number of tabs that have a key: Alt+1 to Alt+9. */
const NUMBERED_TABS = 9

function goToTab(index: number): Action<Page> {
  return {
    label: 'Go to tab 1 to 9',
    inPalette: page => {
      const at = page.tabs.value[index]?.at
      return `Go to the tab ${at?.kind === 'branch' ? named(at.branch) : at?.commit.slice(0, 8)}`
    },
    keys: `Alt+${index + 1}`,
    icon: 'branch',
    isPossible: page => page.tabs.value[index] !== undefined,
    run: page => goTo(page, index),
  }
}

// The name of Undo or Redo, with the operation that it would revert, if that is known.
const withOperation = (action: string, operation?: string) =>
  operation === undefined ? action : `${action}: ${operation}`

function goTo(page: Page, index: number): void {
  page.active.value = index
  page.wantFocusBack()
}

export const deskActions = {
  newBranch: {
    label: 'New branch…',
    inPalette: page => (page.tab.value?.at.kind === 'commit' ? 'New branch from here…' : 'New branch…'),
    keys: 'Alt+Shift+B',
    icon: 'branch',
    isPossible: page => page.desk.value !== undefined,
    run: page => newBranch(page),
  },
  undo: {
    label: 'Undo',
    inPalette: page => withOperation('Undo', undoableHere(page).canUndo),
    keys: 'Ctrl+Alt+Z',
    icon: 'undo',
    run: undoHere,
  },
  redo: {
    label: 'Redo',
    inPalette: page => withOperation('Redo', undoableHere(page).canRedo),
    keys: 'Ctrl+Alt+Shift+Z',
    icon: 'redo',
    run: redoHere,
  },
  operations: {
    label: 'Operations',
    keys: 'Alt+O',
    icon: 'clock',
    run: page => {
      page.dialog.value = { kind: 'operations' }
    },
  },
  repository: { label: 'Repository', keys: 'Alt+0', icon: 'graph', run: page => goTo(page, REPOSITORY) },
  tasks: { label: 'Tasks', keys: 'Alt+T', icon: 'workflow', run: page => goTo(page, TASKS) },
  newRun: {
    label: 'New run…',
    keys: 'Ctrl+Alt+N',
    icon: 'plus',
    isPossible: page => page.desk.value !== undefined,
    run: page => {
      page.dialog.value = { kind: 'new run' }
    },
  },
  ...Object.fromEntries(Array.from({ length: NUMBERED_TABS }, (_, index) => [`tab${index + 1}`, goToTab(index)])),
  settings: {
    label: 'Settings',
    keys: 'Ctrl+,',
    icon: 'settings',
    run: page => {
      page.dialog.value = { kind: 'settings' }
    },
  },
  keys: {
    label: 'Keyboard shortcuts',
    keys: 'Alt+K',
    icon: 'key',
    run: page => {
      page.dialog.value = { kind: 'keys' }
    },
  },
} satisfies Actions<Page>

/** Shows a commit in the graph: with all refs where the filter hides it, and then with unreachable commits. */
export async function showInGraph(page: Page, commit: string): Promise<void> {
  const { graph } = page
  goTo(page, REPOSITORY)
  await graph.begin()
  graph.focusWish.make()
  if (await graph.goTo(commit)) return
  for (const withAbandoned of [graph.filter.peek().withAbandoned, true]) {
    graph.setFilter({ withAbandoned })
    if (await graph.goTo(commit)) return
  }
  page.tell({ topic: 'graph', title: `${shortId(commit)} is not in the graph` }, 'info')
}
