/** Every action of the desk: its words in the palette, its keys, and when it can be done. */
import type { Signal } from '@preact/signals'
import {
  branchOf,
  deleteBranch,
  deleteFile,
  discard,
  draftsOf,
  goToCommit,
  newBranch,
  newFile,
  newFolder,
  redo,
  renameBranch,
  renameFile,
  save,
  undo,
} from './actions.ts'
import { chatCommands } from './chat-commands.ts'
import type { IconName } from './icons.tsx'
import { baseName, readable } from './names.ts'
import { type Page, paneKey, type Tab } from './state.ts'

export interface Command {
  words: string
  keys?: string
  icon: IconName
  run: () => void
}

/** What can be done now. Keys of the browser itself (Ctrl+N, T, W, Tab) are left to it. */
export function commandsOf(page: Page): Command[] {
  const tab = page.tab.value
  return [
    ...findingCommands(page, tab),
    ...(tab ? tabCommands(page, tab) : []),
    ...(tab ? chatCommands(page, tab) : []),
    ...(tab && branchOf(tab) !== undefined ? branchCommands(page, tab, branchOf(tab) as string) : []),
    ...deskCommands(page, tab),
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
    { words: 'Review this branch against…', keys: 'Alt+R', icon: 'diff', run: () => tab.show({ kind: 'review' }) },
    { words: 'History', keys: 'Alt+H', icon: 'clock', run: () => tab.show({ kind: 'history', path: undefined }) },
    ...(path === undefined ? [] : fileCommands(page, tab, path)),
    ...(pane.kind === 'review' ? reviewCommands(tab) : []),
    { words: 'AI chat', keys: 'Alt+J', icon: 'chat', run: () => tab.show({ kind: 'chat' }) },
    { words: 'Go to the explorer', keys: 'Alt+X', icon: 'file', run: () => focusOn('[role="tree"]') },
    { words: 'Go to the editor', keys: 'Alt+I', icon: 'pencil', run: () => focusOn('.cm-content') },
    { words: 'Next file tab', keys: 'Alt+PageDown', icon: 'chevron-right', run: () => step(tab, 1) },
    { words: 'Previous file tab', keys: 'Alt+PageUp', icon: 'chevron-right', run: () => step(tab, -1) },
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
    { words: 'Close this branch tab', keys: 'Alt+Shift+W', icon: 'x', run: () => page.close(tab) },
  ]
}

function fileCommands(page: Page, tab: Tab, path: string): Command[] {
  const name = readable(baseName(path))
  return [
    {
      words: `History of ${name}`,
      keys: 'Alt+Shift+H',
      icon: 'clock',
      run: () => tab.show({ kind: 'history', path }),
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

function reviewCommands({ review }: Tab): Command[] {
  const toggle = (setting: Signal<boolean>) => () => {
    setting.value = !setting.peek()
  }
  return [
    { words: 'Side by side', keys: 'Alt+S', icon: 'columns', run: toggle(review.isSideBySide) },
    { words: 'Hide changes of blanks', keys: 'Alt+Shift+S', icon: 'pilcrow', run: toggle(review.ignoresBlanks) },
  ]
}

function branchCommands(page: Page, tab: Tab, branch: string): Command[] {
  const { path } = tab
  const drafts = draftsOf(page, branch)
  return [
    { words: 'Save this file', keys: 'Ctrl+S', icon: 'check', run: () => save(page, tab, 'this') },
    { words: 'Save all drafts', keys: 'Ctrl+Shift+S', icon: 'check', run: () => save(page, tab, 'all') },
    ...(path !== undefined && drafts.includes(path)
      ? [
          {
            words: `Discard the draft of ${readable(baseName(path))}`,
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
    { words: 'New file…', keys: 'Alt+N', icon: 'new-file', run: () => newFile(page, tab) },
    { words: 'New folder…', keys: 'Alt+Shift+N', icon: 'new-folder', run: () => newFolder(page, tab) },
    ...(path === undefined ? [] : changingCommands(page, tab, path)),
    {
      words: `Rename branch ${readable(branch)}…`,
      keys: 'Shift+F2',
      icon: 'pencil',
      run: () => renameBranch(page, branch),
    },
    {
      words: `Delete branch ${readable(branch)}…`,
      keys: 'Alt+Shift+Delete',
      icon: 'trash',
      run: () => deleteBranch(page, branch),
    },
  ]
}

function changingCommands(page: Page, tab: Tab, path: string): Command[] {
  const name = readable(baseName(path))
  return [
    { words: `Rename ${name}…`, keys: 'F2', icon: 'pencil', run: () => renameFile(page, tab, path) },
    { words: `Delete ${name}…`, keys: 'Alt+Delete', icon: 'trash', run: () => deleteFile(page, tab, path) },
  ]
}

function deskCommands(page: Page, tab: Tab | undefined): Command[] {
  const desk = page.desk.value
  const commit = tab?.at.kind === 'commit' ? tab.at.commit : undefined
  const tabs = page.tabs.value.slice(0, 9).map(({ at }, index): Command => {
    const name = at.kind === 'branch' ? readable(at.branch) : at.commit.slice(0, 8)
    return { words: `Go to the tab ${name}`, keys: `Alt+${index + 1}`, icon: 'branch', run: () => goTo(page, index) }
  })
  return [
    {
      words: commit ? 'Branch from here…' : 'New branch…',
      keys: 'Alt+Shift+B',
      icon: 'branch',
      run: () => newBranch(page),
    },
    ...(desk?.canUndo
      ? [{ words: `Undo: ${desk.canUndo}`, keys: 'Ctrl+Alt+Z', icon: 'undo', run: () => undo(page) } satisfies Command]
      : []),
    ...(desk?.canRedo
      ? [
          {
            words: `Redo: ${desk.canRedo}`,
            keys: 'Ctrl+Alt+Shift+Z',
            icon: 'redo',
            run: () => redo(page),
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
    { words: 'Repository', keys: 'Alt+0', icon: 'graph', run: () => goTo(page, -1) },
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
}

function step(tab: Tab, by: number): void {
  const panes = tab.panes.peek()
  const index = panes.findIndex(pane => paneKey(pane) === tab.active.peek())
  const next = panes.at((index + by + panes.length) % panes.length)
  if (next) tab.show(next)
}

export function focusOn(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus()
}
