/** Every action of the desk: its words in the palette, its keys, and when it can be done. */
import type { Signal } from '@preact/signals'
import { chatCommands } from '../chat/chat-commands.ts'
import { openRun, publish, runForklift, stopForklift } from '../forklift/forklift-actions.ts'
import { branchStepCommands } from '../graph/branch-steps.ts'
import { repositoryCommands } from '../graph/graph-commands.ts'
import { abort, askAi, finish, goToConflict, isMerging } from '../merging/merging-actions.ts'
import type { Kind } from '../review/review-state.ts'
import { tasksCommands } from '../tasks/tasks-commands.ts'
import { focusOn } from '../ui/focus.ts'
import { baseName, named, readable, withoutTricks } from '../ui/names.ts'
import { ago } from '../ui/times.ts'
import {
  branchOf,
  copy,
  deleteBranch,
  deleteFile,
  discard,
  draftsOf,
  goToCommit,
  newBranch,
  newFile,
  newFolder,
  redoHere,
  renameBranch,
  renameFile,
  restoreBranch,
  save,
  undoableHere,
  undoHere,
} from './actions.ts'
import type { Command } from './command.ts'
import { type Page, paneKey, REPOSITORY, TASKS, type Tab } from './state.ts'

/** What can be done now. Keys of the browser itself (Ctrl+N, T, W, Tab) are left to it. */
export function commandsOf(page: Page): Command[] {
  const tab = page.tab.value
  return [
    ...findingCommands(page, tab),
    ...(tab
      ? tabCommands(page, tab)
      : page.active.value === TASKS
        ? tasksCommands(page, page.tasks)
        : page.active.value === REPOSITORY
          ? repositoryCommands(page)
          : []),
    ...(tab ? chatCommands(page, tab) : []),
    ...(tab && branchOf(tab) !== undefined ? branchCommands(page, tab, branchOf(tab) as string) : []),
    ...deskCommands(page, tab),
    ...forkliftCommands(page),
  ]
}

function findingCommands(page: Page, tab: Tab | undefined): Command[] {
  const open = (mode: 'all' | 'files' | 'branches') => () => {
    page.palette.value = mode
  }
  return [
    { words: 'Find or run', keys: 'Ctrl+K', icon: 'search', run: open('all') },
    ...(tab ? [{ words: 'Go to file…', keys: 'Ctrl+P', icon: 'file', run: open('files') } satisfies Command] : []),
    ...(tab
      ? [
          {
            words: 'Find in all files',
            keys: 'Ctrl+Shift+F',
            icon: 'search',
            run: () => tab.find(),
          } satisfies Command,
        ]
      : []),
    { words: 'Open a branch…', keys: 'Alt+B', icon: 'branch', run: open('branches') },
    { words: 'Go to a commit…', keys: 'Alt+C', icon: 'commit', run: () => goToCommit(page) },
  ]
}

function tabCommands(page: Page, tab: Tab): Command[] {
  const { path, pane } = tab
  return [
    {
      words: reviewWords(tab),
      keys: 'Alt+R',
      icon: 'diff',
      run: () => page.showHere(tab, { kind: 'review' }),
    },
    {
      words: 'History',
      keys: 'Alt+H',
      icon: 'clock',
      run: () => page.showHere(tab, { kind: 'history', path: undefined }),
    },
    ...(path === undefined ? [] : fileCommands(page, tab, path)),
    ...(pane.kind === 'review' ? reviewCommands(tab) : []),
    ...(pane.kind === 'find' ? textSearchCommands(tab) : []),
    { words: 'AI chat', keys: 'Alt+J', icon: 'chat', run: () => page.showChat(tab) },
    sideCommand(page, tab),
    { words: 'Go to the editor', keys: 'Alt+I', icon: 'pencil', run: () => focusOn('.cm-content') },
    { words: 'Next file tab', keys: 'Alt+PageDown', icon: 'chevron-right', run: () => step(page, tab, 1) },
    { words: 'Previous file tab', keys: 'Alt+PageUp', icon: 'chevron-right', run: () => step(page, tab, -1) },
    ...(pane.kind === 'chat'
      ? []
      : [
          {
            words: 'Close this file tab',
            keys: 'Alt+W',
            icon: 'x',
            run: () => page.closePane(tab, pane),
          } satisfies Command,
        ]),
    ...(tab.panes.value.length > (pane.kind === 'chat' ? 1 : 2)
      ? [
          {
            words: 'Close other file tabs',
            keys: 'Alt+Shift+O',
            icon: 'x',
            run: () => page.closeOtherPanes(tab, pane),
          } satisfies Command,
        ]
      : []),
    { words: copyWords(tab), keys: 'Alt+Shift+P', icon: 'copy', run: () => copy(page, nameOf(tab)) },
    ...(page.tabs.value.length > 1
      ? [
          {
            words: 'Close other branch tabs',
            keys: 'Alt+Shift+X',
            icon: 'x',
            run: () => page.closeOthers(tab),
          } satisfies Command,
        ]
      : []),
    { words: 'Close this branch tab', keys: 'Alt+Shift+W', icon: 'x', run: () => page.close(tab) },
  ]
}

/** The way to what stands at the side. */
function sideCommand(page: Page, tab: Tab): Command {
  const isAtConflicts = isMerging(page, tab) && !tab.merging.showsExplorer.value
  return isAtConflicts
    ? { words: 'Go to the conflicted files', keys: 'Alt+X', icon: 'clash', run: () => focusOn('.side .filerow') }
    : { words: 'Go to the explorer', keys: 'Alt+X', icon: 'file', run: () => focusOn('[role="tree"]') }
}

function copyWords({ at }: Tab): string {
  return at.kind === 'branch' ? `Copy the name of ${named(at.branch)}` : 'Copy the id of this commit'
}

function nameOf({ at }: Tab): string {
  return at.kind === 'branch' ? readable(at.branch) : at.commit
}

function fileCommands(page: Page, tab: Tab, path: string): Command[] {
  const name = named(baseName(path))
  return [
    {
      words: `History of ${name}`,
      keys: 'Alt+Shift+H',
      icon: 'clock',
      run: () => page.showHere(tab, { kind: 'history', path }),
    },
    {
      words: `Copy path of ${name}`,
      keys: 'Alt+Shift+C',
      icon: 'copy',
      run: () => copy(page, readable(path)),
    },
    {
      words: 'Go to symbol…',
      keys: 'Alt+L',
      icon: 'list',
      run: () => {
        page.palette.value = 'symbols'
      },
    },
    {
      words: 'Next change',
      keys: 'Alt+F5',
      icon: 'arrow-down',
      run: () => page.files.find(tab.at, path)?.goToNextChange(),
    },
    {
      words: 'Word wrap',
      keys: 'Alt+Z',
      icon: 'wrap',
      run: () => {
        page.isWrapped.value = !page.isWrapped.peek()
      },
    },
  ]
}

function reviewWords({ at }: Tab): string {
  return at.kind === 'branch' ? 'Compare this branch with… (review)' : 'Changes of this commit'
}

const toggle = (setting: Signal<boolean>) => () => {
  setting.value = !setting.peek()
}

function textSearchCommands({ search }: Tab): Command[] {
  const setting = (what: 'matchCase' | 'isRegex') => () => {
    search[what].value = !search[what].peek()
    search.start()
  }
  return [
    { words: 'Match case', keys: 'Alt+Shift+I', icon: 'search', run: setting('matchCase') },
    { words: 'Find a regular expression', keys: 'Alt+Shift+E', icon: 'search', run: setting('isRegex') },
  ]
}

function reviewCommands({ at, review }: Tab): Command[] {
  const show = (kind: Kind) => () => {
    review.kind.value = kind
  }
  const kinds: Command[] = [
    { words: 'Review all changes', keys: 'Alt+Shift+1', icon: 'diff', run: show('all') },
    { words: 'Review by commit', keys: 'Alt+Shift+2', icon: 'commit', run: show('commit') },
    { words: 'Review unsaved changes', keys: 'Alt+Shift+3', icon: 'pencil', run: show('unsaved') },
  ]
  return [
    ...(at.kind === 'branch' ? kinds : []),
    { words: 'Side by side', keys: 'Alt+S', icon: 'columns', run: toggle(review.isSideBySide) },
    { words: 'Hide whitespace changes', keys: 'Alt+Shift+S', icon: 'pilcrow', run: toggle(review.ignoresBlanks) },
  ]
}

function branchCommands(page: Page, tab: Tab, branch: string): Command[] {
  const { path } = tab
  const drafts = draftsOf(page, branch)
  if (page.isGone(tab.at)) {
    const words = `Restore the branch ${named(branch)}`
    return [{ words, keys: 'Alt+Shift+G', icon: 'branch', run: () => restoreBranch(page, branch) }]
  }
  return [
    ...(isMerging(page, tab) ? mergingCommands(page, tab) : []),
    ...(isOfForklift(page, branch) && !isMerging(page, tab) ? [publishCommand(page, tab)] : []),
    ...((page.clashes.value.get(branch)?.length ?? 0) > 0
      ? [
          {
            words: 'Resolve the conflicts',
            keys: 'Alt+Shift+K',
            icon: 'clash',
            run: () => page.showHere(tab, { kind: 'clashes' }),
          } satisfies Command,
        ]
      : []),
    { words: 'Save this file', keys: 'Ctrl+S', icon: 'check', run: () => save(page, tab, 'this') },
    { words: 'Save all drafts', keys: 'Ctrl+Shift+S', icon: 'check', run: () => save(page, tab, 'all') },
    ...(path !== undefined && drafts.includes(path)
      ? [
          {
            words: `Discard the draft of ${named(baseName(path))}`,
            keys: 'Alt+Shift+D',
            icon: 'trash',
            run: () => discard(page, branch, [path]),
          } satisfies Command,
        ]
      : []),
    ...(drafts.length > 1
      ? [
          {
            words: `Discard all ${drafts.length} drafts`,
            keys: 'Alt+Shift+A',
            icon: 'trash',
            run: () => discard(page, branch, drafts),
          } satisfies Command,
        ]
      : []),
    ...branchStepCommandsOf(page, branch),
    { words: 'New file…', keys: 'Alt+N', icon: 'new-file', run: () => newFile(page, tab) },
    { words: 'New folder…', keys: 'Alt+Shift+N', icon: 'new-folder', run: () => newFolder(page, tab) },
    ...(path === undefined ? [] : changingCommands(page, tab, path)),
    {
      words: `Rename branch ${named(branch)}…`,
      keys: 'Shift+F2',
      icon: 'pencil',
      run: () => renameBranch(page, branch),
    },
    {
      words: `Delete branch ${named(branch)}…`,
      keys: 'Alt+Shift+Delete',
      icon: 'trash',
      run: () => deleteBranch(page, branch),
    },
  ]
}

function branchStepCommandsOf(page: Page, name: string): Command[] {
  const branch = page.branch(name)
  return branch ? branchStepCommands(page, branch) : []
}

/** Whether a branch goes on with a run of Forklift. */
function isOfForklift(page: Page, branch: string): boolean {
  return page.forklift.info.value?.runs.some(run => run.branch === branch) ?? false
}

function publishCommand(page: Page, tab: Tab): Command {
  return { words: 'Publish by Forklift', keys: 'Alt+Shift+U', icon: 'merge', run: () => publish(page, tab) }
}

/** So many of the last runs that can be gone on with. */
const MOST_RUNS = 3

/** Nothing where this is no fork, or nobody has looked yet. */
function forkliftCommands(page: Page): Command[] {
  const info = page.forklift.info.value
  if (!info || info.missing !== undefined) return []
  return [
    info.isRunning
      ? { words: 'Stop Forklift', keys: 'Alt+Shift+L', icon: 'stop', run: () => stopForklift(page) }
      : { words: 'Run Forklift', keys: 'Alt+Shift+L', icon: 'play', run: () => runForklift(page) },
    // Where the window is narrow, the runs stand nowhere else.
    ...info.runs
      .filter(({ canOpen, isByHand }) => canOpen && !isByHand)
      .slice(0, MOST_RUNS)
      .map(
        ({ run, branch, words, started }): Command => ({
          words: `Continue Forklift’s run: ${withoutTricks(words)}, ${ago(started)}`,
          icon: 'warning',
          run: () => openRun(page, run, branch),
        }),
      ),
  ]
}

function mergingCommands(page: Page, tab: Tab): Command[] {
  const merging = tab.merging.merging.value
  // Before the list of files is there, there may be some.
  const mayBeLeft = merging?.files.some(({ state }) => state === 'open') ?? merging === undefined
  return [
    ...(mayBeLeft
      ? ([
          { words: 'Next conflict', keys: 'F8', icon: 'arrow-down', run: () => goToConflict(page, tab, 1) },
          { words: 'Previous conflict', keys: 'Shift+F8', icon: 'arrow-up', run: () => goToConflict(page, tab, -1) },
          {
            words: 'Ask the AI for all conflicts',
            keys: 'Alt+Shift+V',
            icon: 'bot',
            run: () => askAi(page, tab, 'all'),
          },
        ] satisfies Command[])
      : []),
    { words: 'Finish what is merging', keys: 'Alt+Shift+F', icon: 'check', run: () => finish(page, tab) },
    { words: 'Abort what is merging…', keys: 'Alt+Shift+Z', icon: 'x', run: () => abort(page, tab) },
  ]
}

function changingCommands(page: Page, tab: Tab, path: string): Command[] {
  const name = named(baseName(path))
  return [
    { words: `Rename file ${name}…`, keys: 'F2', icon: 'pencil', run: () => renameFile(page, tab, path) },
    { words: `Delete file ${name}…`, keys: 'Alt+Delete', icon: 'trash', run: () => deleteFile(page, tab, path) },
  ]
}

function deskCommands(page: Page, tab: Tab | undefined): Command[] {
  const { canUndo, canRedo } = undoableHere(page)
  const commit = tab?.at.kind === 'commit' ? tab.at.commit : undefined
  const tabs = page.tabs.value.slice(0, 9).map(({ at }, index): Command => {
    const name = at.kind === 'branch' ? named(at.branch) : at.commit.slice(0, 8)
    return { words: `Go to the tab ${name}`, keys: `Alt+${index + 1}`, icon: 'branch', run: () => goTo(page, index) }
  })
  return [
    ...(page.desk.value
      ? [
          {
            words: commit ? 'Branch from here…' : 'New branch…',
            keys: 'Alt+Shift+B',
            icon: 'branch',
            run: () => newBranch(page),
          } satisfies Command,
        ]
      : []),
    ...(canUndo
      ? [{ words: `Undo: ${canUndo}`, keys: 'Ctrl+Alt+Z', icon: 'undo', run: () => undoHere(page) } satisfies Command]
      : []),
    ...(canRedo
      ? [
          {
            words: `Redo: ${canRedo}`,
            keys: 'Ctrl+Alt+Shift+Z',
            icon: 'redo',
            run: () => redoHere(page),
          } satisfies Command,
        ]
      : []),
    {
      words: 'Operations',
      keys: 'Alt+O',
      icon: 'clock',
      run: () => {
        page.dialog.value = { kind: 'operations' }
      },
    },
    { words: 'Repository', keys: 'Alt+0', icon: 'graph', run: () => goTo(page, REPOSITORY) },
    { words: 'Tasks', keys: 'Alt+T', icon: 'workflow', run: () => goTo(page, TASKS) },
    ...tabs,
    {
      words: 'Keys',
      keys: 'Alt+K',
      icon: 'key',
      run: () => {
        page.dialog.value = { kind: 'keys' }
      },
    },
  ]
}

function goTo(page: Page, index: number): void {
  page.active.value = index
  page.wantFocus()
}

function step(page: Page, tab: Tab, by: number): void {
  const panes = tab.panes.peek()
  const index = panes.findIndex(pane => paneKey(pane) === tab.active.peek())
  const next = panes.at((index + by + panes.length) % panes.length)
  if (next) page.showHere(tab, next)
}
