/** What the page knows of a branch: its drafts and conflicts, whether it is merging, and whether its AI works. */
import type { MergingFile } from '../../contract/merging.ts'
import type { At } from '../../contract/values.ts'
import type { Page, Tab } from './state.ts'

export function branchOf(tab: Tab | undefined): string | undefined {
  return tab?.at.kind === 'branch' ? tab.at.branch : undefined
}

/** Files of a branch that are not saved: what the server knows, and what was typed just now. */
export function draftsOf(page: Page, branch: string): string[] {
  const known = page.branch(branch)?.drafts ?? []
  const typed = page.files.of(branch).flatMap(({ isDraft, path }) => (isDraft.value ? [path] : []))
  return [...new Set([...known, ...typed])]
}

/** Files of a branch whose drafts are in conflict with what has become of it. */
export function conflictsIn(page: Page, branch: string): string[] {
  // What was settled just now is not yet known to the server.
  const isSettled = (path: string) => {
    const { all = 0, open = [] } = page.files.find({ kind: 'branch', branch }, path)?.conflicts.value ?? {}
    return all > 0 && open.length === 0
  }
  return (page.branch(branch)?.conflicts ?? []).filter(path => !isSettled(path))
}

/** The drafts of a file, or of all files of a folder. */
export function draftsAt(page: Page, branch: string, path: string): string[] {
  return draftsOf(page, branch).filter(draft => draft === path || draft.startsWith(`${path}/`))
}

export function hasDraft(page: Page, at: At, path: string): boolean {
  if (at.kind === 'commit') return false
  const file = page.files.find(at, path)
  if (file?.file.value?.kind === 'text') return file.isDraft.value
  return page.branch(at.branch)?.drafts.includes(path) ?? false
}

/** The merge in the branch that a tab shows, if one waits there. */
export function isMerging(page: Page, tab: Tab | undefined): boolean {
  const branch = branchOf(tab)
  return branch !== undefined && page.branch(branch)?.merging !== undefined
}

/** Whether there are conflicts in the branch that a tab shows: of a merge that waits, or of drafts with the branch. */
export function isInConflict(page: Page, tab: Tab | undefined): boolean {
  const branch = branchOf(tab)
  if (!tab || branch === undefined) return false
  // The last one is settled, and not saved yet.
  const isSettled = tab.merging.latest.value?.kind === 'drafts'
  return isMerging(page, tab) || conflictsIn(page, branch).length > 0 || isSettled
}

/** How many conflicts a merge has, and how many are left; of open files as the editor has them, ahead of the server. */
export function tallyOf(page: Page, tab: Tab): { left: number; all: number } {
  const files = tab.merging.latest.value?.files ?? []
  const leftIn = ({ path, kind, left }: MergingFile): number => {
    const { all = 0, open = [] } = page.files.find(tab.at, path)?.conflicts.value ?? {}
    return kind === 'text' && all > 0 ? open.length : left
  }
  return {
    left: files.reduce((sum, file) => sum + leftIn(file), 0),
    all: files.reduce((sum, { all }) => sum + all, 0),
  }
}

/** Whether the AI can be asked for the conflicts of a merge: there is a model, and it works on what is saved. */
export function canAskAi(page: Page, tab: Tab): boolean {
  return isMerging(page, tab) && tab.conversation.head.value?.missing === undefined
}

/** Whether the files in conflict stand at the side. Those of drafts do when they are asked for. */
export function showsConflicts(page: Page, tab: Tab): boolean {
  const showsExplorer = tab.merging.showsExplorer.value ?? !isMerging(page, tab)
  return isInConflict(page, tab) && !showsExplorer
}

/** Whether the files of a branch are the AI's for now. */
export function isAtWork(page: Page, branch: string): boolean {
  const turn = page.branch(branch)?.turn
  return turn === 'running' || turn === 'waits'
}
