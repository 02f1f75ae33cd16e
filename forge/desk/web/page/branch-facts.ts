/** What the page knows of a branch: its drafts and conflicts, whether a merge waits there, and whether its AI works. */
import type { MergingFile } from '../../contract/merging.ts'
import type { At } from '../../contract/values.ts'
import { readable } from '../ui/names.ts'
import type { Page, Tab } from './state.ts'

export function branchOf(tab: Tab | undefined): string | undefined {
  return tab?.at.kind === 'branch' ? tab.at.branch : undefined
}

/** The name of a branch for its tooltip, with the folder in which it is checked out, if it is. */
export function branchTitle(name: string, checkout: string | undefined): string {
  return checkout === undefined ? readable(name) : `${readable(name)}, checked out in ${readable(checkout)}`
}

/** The unsaved files of a branch: those the server knows of, and those typed into since. */
export function draftsOf(page: Page, branch: string): string[] {
  const known = draftsOnServer(page, branch)
  const typed = page.files.of(branch).flatMap(({ isDraft, path }) => (isDraft.value ? [path] : []))
  return [...new Set([...known, ...typed])]
}

/** The files of a branch that are not as in its last commit: drafts, or what the AI has changed in its turn. */
export function changedIn(page: Page, branch: string): string[] {
  const { changedByAi = [], renamedByAi = [] } = page.branch(branch) ?? {}
  // A file that the AI has renamed is counted by its new path.
  const drafts = draftsOf(page, branch).filter(path => !renamedByAi.includes(path))
  return [...new Set([...drafts, ...changedByAi])]
}

/**
 * The unsaved files of a branch that the server knows of; also of the first branch before its first commit, and of a
 * deleted one.
 */
export function draftsOnServer(page: Page, branch: string): string[] {
  const desk = page.desk.value
  const first = desk?.head === branch ? desk.firstDrafts : undefined
  return page.branch(branch)?.drafts ?? first ?? page.deleted(branch)?.drafts ?? []
}

/** The files of a branch whose drafts conflict with its newest commit. */
export function conflictsIn(page: Page, branch: string): string[] {
  // Conflicts resolved in the editor count at once, before the server reports it.
  const isSettled = (path: string) => {
    const { all = 0, left = 0 } = page.files.find({ kind: 'branch', branch }, path)?.conflicts.value ?? {}
    return all > 0 && left === 0
  }
  return (page.branch(branch)?.conflicts ?? []).filter(path => !isSettled(path))
}

/** What a branch with a waiting merge is doing, in git's words. */
export const MERGING = {
  merge: 'merging',
  land: 'landing',
  rebase: 'rebasing',
  'cherry-pick': 'cherry-picking',
  revert: 'reverting',
} as const

/** What the base of a conflict is. */
export const BASES = {
  merge: 'common ancestor',
  land: 'common ancestor',
  rebase: 'parent of the commit',
  'cherry-pick': 'parent of the commit',
  revert: 'the reverted commit',
  drafts: 'common ancestor',
} as const

/** The drafts at or below a path. */
export function draftsAt(page: Page, branch: string, path: string): string[] {
  return draftsOf(page, branch).filter(draft => draft === path || draft.startsWith(`${path}/`))
}

export function hasDraft(page: Page, at: At, path: string): boolean {
  if (at.kind === 'commit') return false
  const file = page.files.find(at, path)
  const shown = file?.file.value
  if (file?.isDraft.value) return true
  // Of a file that can't be edited, the page does not know whether its path is new.
  const isEditable = shown?.kind === 'text' && shown.readOnly === undefined
  return !isEditable && draftsOnServer(page, at.branch).includes(path)
}

/** Whether a branch does not have the file of a tab any more. */
export function isDeleted(page: Page, tab: Tab, path: string): boolean {
  if (tab.at.kind === 'commit') return false
  const file = page.files.find(tab.at, path)?.file.value
  if (file?.kind === 'text') return file.deleted?.isRestored === false
  return file ? file.kind === 'nothing' : tab.missing.value.has(path)
}

/** Whether a merge waits in the branch that a tab shows. */
export function isMerging(page: Page, tab: Tab | undefined): boolean {
  const branch = branchOf(tab)
  return branch !== undefined && page.branch(branch)?.merging !== undefined
}

/** Whether the branch that a tab shows has conflicts: of a waiting merge, or of drafts with the newest commit. */
export function isInConflict(page: Page, tab: Tab | undefined): boolean {
  const branch = branchOf(tab)
  if (!tab || branch === undefined) return false
  if (showsTurn(page, branch)) return isMerging(page, tab)
  const { kind } = tab.merging.latest.value ?? {}
  // A branch whose conflicts of drafts are all resolved still counts as in conflict, until the drafts are saved.
  const isSettled = kind === 'drafts'
  // What waits may be known before the list of branches tells of it.
  const isWaiting = kind !== undefined && page.branch(branch) !== undefined
  return isMerging(page, tab) || conflictsIn(page, branch).length > 0 || isSettled || isWaiting
}

/**
 * The files of a waiting merge. For open files the editor's state counts, which is ahead of the server, and all that is
 * known while the server is away.
 */
export function mergingFiles(page: Page, tab: Tab): MergingFile[] {
  const opened = new Map(page.files.of(branchOf(tab) ?? '').map(file => [file.path, file]))
  return (tab.merging.latest.value?.files ?? []).map(file => {
    const { all = 0, left: inText = 0 } = opened.get(shownPath(file))?.conflicts.value ?? {}
    const left = inText + wholesLeft(file)
    if (all === 0 || left === file.left) return file
    return { ...file, left, all: Math.max(file.all, left), state: left > 0 ? 'open' : 'settled' }
  })
}

/** The path under which a file in conflict is shown: the side that was taken may have another one. */
export const shownPath = ({ path, result = path }: MergingFile): string => result

/** 1 if a version of the whole file, or its name, is still to be chosen: it is one of the conflicts that are left. */
const wholesLeft = ({ isWholeOpen }: MergingFile): number => (isWholeOpen ? 1 : 0)

/** Whether the text of a file has open conflicts. */
export const isTextOpen = (file: MergingFile): boolean => file.state === 'open' && file.left > wholesLeft(file)

/** A file of a waiting merge, by its path or that of its result; undefined for all others. */
export function mergingFile(page: Page, tab: Tab, path: string): MergingFile | undefined {
  return mergingFiles(page, tab).find(file => file.path === path || file.result === path)
}

/** How many conflicts a merge has and how many are left. */
export function tallyOf(page: Page, tab: Tab): { left: number; all: number } {
  const files = mergingFiles(page, tab)
  return {
    left: files.reduce((sum, { left }) => sum + left, 0),
    all: files.reduce((sum, { all }) => sum + all, 0),
  }
}

/**
 * Whether the AI can be asked to resolve the conflicts of a merge: a model is set up. Conflicts of drafts are excluded,
 * since the AI works on committed files.
 */
export function canAskAi(page: Page, tab: Tab): boolean {
  return isMerging(page, tab) && tab.conversation.head.value?.missing === undefined
}

/**
 * Whether the side bar lists the conflicts. A merge's are listed unless the explorer is chosen; those of drafts only on
 * request.
 */
export function showsConflicts(page: Page, tab: Tab): boolean {
  const showsExplorer = tab.merging.showsExplorer.value ?? !isMerging(page, tab)
  return isInConflict(page, tab) && !showsExplorer
}

/**
 * Whether a branch shows the files of an AI's turn that is not kept or discarded yet. A draft in conflict can't be
 * resolved then: it is not shown.
 */
export function showsTurn(page: Page, branch: string): boolean {
  return page.branch(branch)?.changedByAi !== undefined
}

/** Whether the AI works in a branch, so that its files are read-only. */
export function isAtWork(page: Page, branch: string): boolean {
  const turn = page.branch(branch)?.turn
  return turn === 'running' || turn === 'waits'
}
