/** Actions on commits in a branch's history: open, copy, and rewrite them. */
import { nounOf } from '../../contract/merging.ts'
import type { CommitRow } from '../../contract/reading.ts'
import type { Rewriting } from '../../contract/steps.ts'
import { type DoneStep, STEP_TOPIC, showDone } from '../merging/after-step.ts'
import { attempt, copy } from '../page/actions.ts'
import { draftsOf } from '../page/branch-facts.ts'
import { showInGraph } from '../page/desk-actions.ts'
import { following, type StepContent, type StepWay } from '../page/dialog-content.ts'
import { settle } from '../page/saving.ts'
import type { Page } from '../page/state.ts'
import type { InTab } from '../page/tab-actions.ts'
import { undoOfLast } from '../page/undo.ts'
import { commitStepActions, type OneSource, sourceActions, sourceAt } from '../steps/source-actions.ts'
import {
  cherryPickAll,
  finish,
  type NamedCommits,
  openRevert,
  pickBranchWith,
  revertIn,
  wordsOf,
} from '../steps/source-steps.ts'
import { commitSource } from '../steps/step-ways.ts'
import { type Action, type Actions, actionFor, itemsWith, listKeysIn, withKey } from '../ui/action.ts'
import { shownKeys } from '../ui/keys.ts'
import type { Offer } from '../ui/menu-content.ts'
import { named, readable, shortId, withoutTricks } from '../ui/names.ts'
import { digits, plural } from '../ui/times.ts'
import { commitToFix, fixupIn } from './fixups.ts'
import { takeBack } from './parts-actions.ts'

/** The commits selected in a history, newest first. */
export interface ChosenCommits {
  page: Page
  chosen: readonly CommitRow[]
  /** The branch of the history; undefined for that of a commit. */
  branch: string | undefined
  /**
   * The loaded commits of the branch's first-parent history, newest first: those that can be rewritten. Empty for the
   * history of a file or of lines, and for search results.
   */
  line: readonly CommitRow[]
}

/** The commits of a list that are in the first-parent history of its first commit. */
export function lineOf(rows: readonly CommitRow[]): CommitRow[] {
  const byOid = new Map(rows.map(row => [row.oid, row]))
  const line: CommitRow[] = []
  for (let next = rows[0]; next; next = byOid.get(next.parents[0] ?? '')) line.push(next)
  return line
}

const one = ({ chosen }: ChosenCommits): CommitRow | undefined => (chosen.length === 1 ? chosen[0] : undefined)

/** The ids of commits, in their order. */
const idsOf = (commits: readonly CommitRow[]): string[] => commits.map(({ oid }) => oid)

/** Whether all of these commits can be rewritten in the branch. */
function areOnLine({ page, branch, chosen, line }: ChosenCommits): boolean {
  const info = branch === undefined ? undefined : page.branch(branch)
  if (info === undefined || info.merging !== undefined || chosen.length === 0) return false
  return chosen.every(commit => line.includes(commit))
}

/** The commits to squash: the selected ones, or the only selected one and its parent. */
function toSquash({ chosen, line }: ChosenCommits): CommitRow[] {
  if (chosen.length > 1) return [...chosen]
  const at = chosen[0] ? line.indexOf(chosen[0]) : -1
  return line.slice(at, at + 2)
}

/** Whether several commits, newest first, follow one another, without a merge: those of one branch, whichever it is. */
function areInARow(chosen: readonly CommitRow[]): boolean {
  const older = chosen.slice(1)
  return (
    older.length > 0 &&
    chosen.every(({ parents }, at) => parents.length < 2 && (parents[0] === older[at]?.oid || !older[at]))
  )
}

/** Shows how the selected commits would be squashed, and squashes them; where they have no branch, asks for one. */
function squashChosen(about: ChosenCommits): void {
  const title = `Squash ${plural(toSquash(about).length, 'commit')}`
  if (about.branch !== undefined) {
    rewrite(about, title, squashWays)
    return
  }
  const { page, chosen } = about
  const [newest, ...others] = chosen
  if (!newest) return
  pickBranchWith(page, [newest, ...others], {
    title: `${title} in…`,
    run: branch =>
      rewrite(
        { ...about, branch },
        it => `${title} in ${readable(it)}`,
        squashWays,
        done => finish(page, done),
      ),
  })
}

/** The commit that the selected ones would follow if moved by one row; undefined if there is none. */
function placeBeside({ chosen, line }: ChosenCommits, by: 'newer' | 'older'): string | undefined {
  const places = chosen.map(commit => line.indexOf(commit))
  const [newest, oldest] = [Math.min(...places), Math.max(...places)]
  if (by === 'newer') return line[newest - 1]?.oid
  const below = line[oldest + 1]
  if (!below) return undefined
  return line[oldest + 2]?.oid ?? (below.parents.length === 0 ? 'before the first' : below.parents[0])
}

const squashWords = ({ chosen }: ChosenCommits): string =>
  chosen.length > 1 ? `Squash ${plural(chosen.length, 'commit')}…` : 'Squash into its parent…'

const cherryPickWords = ({ chosen }: ChosenCommits): string => `Cherry-pick ${plural(chosen.length, 'commit')} onto…`

function reorderBeside(about: ChosenCommits, by: 'newer' | 'older'): void {
  const after = placeBeside(about, by)
  if (after !== undefined) reorder(about, after)
}

export const historyActions = {
  open: {
    label: 'Browse files at this commit',
    listKeys: 'Enter',
    icon: 'eye',
    isPossible: about => one(about) !== undefined,
    run: ({ page, chosen: [commit] }) => commit && page.open({ kind: 'commit', commit: commit.oid }),
  },
  showInGraph: {
    label: 'Show in the graph',
    icon: 'graph',
    isPossible: about => one(about) !== undefined,
    run: ({ page, chosen: [commit] }) => commit && showInGraph(page, commit.oid),
  },
  reword: {
    label: 'Reword…',
    listKeys: 'R',
    icon: 'pencil',
    isPossible: about => one(about) !== undefined && areOnLine(about),
    run: about => rewrite(about, `Reword ${wordsOf(about.chosen)}`, it => [rewordWay(it)]),
  },
  squash: {
    label: 'Squash…',
    inMenu: squashWords,
    inPalette: squashWords,
    listKeys: 'S',
    icon: 'merge',
    isPossible: about =>
      about.branch === undefined ? areInARow(about.chosen) : areOnLine(about) && toSquash(about).length > 1,
    run: squashChosen,
  },
  autosquash: {
    label: 'Squash into its commit…',
    icon: 'merge',
    isPossible: about => areOnLine(about) && toFix(about) !== undefined,
    run: about => rewrite(about, 'Squash into its commit', autosquashWays),
  },
  saveAsFixup: {
    label: 'Save all drafts as its fixup',
    icon: 'check',
    isPossible: about =>
      one(about) !== undefined && areOnLine(about) && draftsOf(about.page, about.branch ?? '').length > 0,
    run: saveAsFixup,
  },
  split: {
    label: 'Split…',
    listKeys: 'P',
    icon: 'columns',
    isPossible: about => areOnLine(about) && (one(about)?.parents.length ?? 2) < 2,
    run: about => split(about),
  },
  moveUp: {
    label: 'Move up…',
    inMenu: 'Move up (after the next commit)…',
    listKeys: 'Alt+ArrowUp',
    icon: 'arrow-up',
    isPossible: about => areOnLine(about) && placeBeside(about, 'newer') !== undefined,
    run: about => reorderBeside(about, 'newer'),
  },
  moveDown: {
    label: 'Move down…',
    inMenu: 'Move down (before the previous commit)…',
    listKeys: 'Alt+ArrowDown',
    icon: 'arrow-down',
    isPossible: about => areOnLine(about) && placeBeside(about, 'older') !== undefined,
    run: about => reorderBeside(about, 'older'),
  },
  drop: {
    label: 'Drop…',
    inMenu: ({ chosen }) => (chosen.length > 1 ? `Drop ${plural(chosen.length, 'commit')}…` : 'Drop…'),
    listKeys: 'Delete',
    icon: 'trash',
    isPossible: areOnLine,
    run: about => rewrite(about, `Drop ${wordsOf(about.chosen)}`, it => [dropWay(it)]),
  },
  cherryPick: {
    label: 'Cherry-pick the commits onto…',
    inMenu: cherryPickWords,
    inPalette: cherryPickWords,
    listKeys: 'C',
    icon: 'pick',
    isPossible: ({ chosen }) => chosen.length > 1,
    run: ({ page, chosen, branch }) => cherryPickAll(page, idsOf(chosen).reverse(), branch),
  },
  revert: {
    label: 'Revert…',
    inMenu: ({ chosen }) => (chosen.length > 1 ? `Revert ${plural(chosen.length, 'commit')}…` : 'Revert…'),
    inPalette: ({ chosen }) => `Revert ${wordsOf(chosen)}…`,
    listKeys: 'E',
    icon: 'undo',
    isPossible: ({ chosen }) => chosen.length > 0,
    run: ({ page, chosen: [newest, ...others], branch }) => newest && revert(page, [newest, ...others], branch),
  },
  takeBack: {
    label: 'Revert some changes as drafts…',
    listKeys: 'Shift+E',
    icon: 'undo',
    isPossible: about => one(about) !== undefined && about.branch !== undefined,
    run: ({ page, chosen: [commit], branch }) => commit && branch !== undefined && takeBack(page, commit, branch),
  },
  copyHash: {
    label: 'Copy commit hash',
    inMenu: ({ chosen }) => (chosen.length > 1 ? `Copy ${digits(chosen.length)} commit hashes` : 'Copy commit hash'),
    icon: 'copy',
    isPossible: ({ chosen }) => chosen.length > 0,
    run: ({ page, chosen }) => copy(page, idsOf(chosen).join('\n')),
  },
} satisfies Actions<ChosenCommits>

/** Reverts commits, newest first, in the branch of their history; in the history of a commit, asks for the branch. */
export function revert(page: Page, commits: NamedCommits, branch: string | undefined): void {
  if (branch === undefined) revertIn(page, commits)
  else openRevert(page, commits, branch)
}

/** The only selected commit as a source of a new branch, a comparison or a tag, and of steps: as in the graph. */
function sourcesOf(about: ChosenCommits): { making: OneSource; stepping: OneSource } | undefined {
  const { page } = about
  const commit = one(about)
  if (!commit) return undefined
  return { making: { page, source: commitSource(commit.oid) }, stepping: { page, source: sourceAt(page, commit) } }
}

/** The action that a key runs on the selected commits. */
export function historyActionFor(about: ChosenCommits, event: KeyboardEvent): (() => void) | undefined {
  const sources = sourcesOf(about)
  const own = actionFor(historyActions, about, event)
  if (own || !sources) return own
  return actionFor(sourceActions, sources.making, event) ?? actionFor(commitStepActions, sources.stepping, event)
}

/** The keys of the selected commits, for aria-keyshortcuts. */
export const HISTORY_KEYS = [listKeysIn(historyActions), listKeysIn({ ...sourceActions, ...commitStepActions })].join(
  ' ',
)

/** Why the key of a rewriting does nothing on these commits, as a sentence; undefined for another key. */
export function whyNotRewritten(about: ChosenCommits, event: KeyboardEvent): string | undefined {
  const { reword, squash, split, moveUp, moveDown, drop } = historyActions
  const { page, chosen, branch, line } = about
  // Without a branch, squash is the only rewriting: it asks for the branch.
  const ofBranch = branch === undefined ? [] : [reword, split, moveUp, moveDown, drop]
  const rewriting: Actions<ChosenCommits> = Object.fromEntries(
    [squash, ...ofBranch].map(it => [it.label, { ...it, isPossible: () => true }]),
  )
  if (chosen.length === 0 || !actionFor(rewriting, about, event)) return undefined
  if (branch === undefined)
    return 'Only several commits that follow one another, without a merge, can be squashed here.'
  const name = named(branch)
  const waiting = page.branch(branch)?.merging
  if (waiting) return `A ${nounOf(waiting)} waits in ${name}: finish or abort it before commits are rewritten.`
  if (line.length === 0)
    return `Commits are rewritten in the history of the whole branch (${shownKeys('Alt+H')}), without a search.`
  if (areOnLine(about)) return undefined
  return `${wordsOf(chosen)} came in by a merge: only commits that were made in ${name} itself can be rewritten.`
}

/** Why the key of an action on one commit does nothing on several, as a sentence; undefined for another key. */
export function whyForOne(
  { chosen }: ChosenCommits,
  event: KeyboardEvent,
  actions: readonly Pick<Action<never>, 'label' | 'listKeys'>[] = ON_ONE,
): string | undefined {
  const [action] = chosen.length > 1 ? withKey(actions, event) : []
  return action && `“${action.label}” is for one commit: select only one.`
}

const { reword, split: splitting, takeBack: takingBack } = historyActions
/** The actions on one commit of a history. */
const ON_ONE = [
  ...[reword, splitting, takingBack],
  ...[...Object.values(sourceActions), ...Object.values(commitStepActions)],
]

/** Why a key of the histories of branches does nothing in the graph, as a sentence; undefined for another key. */
export function whyInHistory(event: KeyboardEvent): string | undefined {
  const { squash, drop } = historyActions
  const [action] = withKey([squash, splitting, drop, takingBack], event)
  return action && `“${action.label}” is in the history of a branch (${shownKeys('Alt+H')}).`
}

/** Actions on a shown history as a whole. */
export const historyViewActions = {
  find: {
    label: 'Search this history',
    keys: 'Ctrl+F',
    listKeys: '/',
    icon: 'search',
    isPossible: ({ tab }) => tab.pane.kind === 'history',
    run: ({ page }) => {
      const field = page.places.find('history search')
      field?.focus()
      if (field instanceof HTMLInputElement) field.select()
    },
  },
} satisfies Actions<InTab>

export function historyMenu(about: ChosenCommits): Offer {
  const {
    open,
    showInGraph: showing,
    reword,
    squash,
    autosquash,
    saveAsFixup: saving,
    split,
    moveUp,
    moveDown,
    drop,
    cherryPick,
    revert: reverting,
    takeBack: takeParts,
    copyHash,
  } = historyActions
  const { compare, branchFromHere, tag } = sourceActions
  const sources = sourcesOf(about)
  const commit = one(about)
  return {
    title: commit ? `${shortId(commit.oid)} ${withoutTricks(commit.subject)}` : plural(about.chosen.length, 'commit'),
    groups: [
      [
        ...itemsWith(about, [open, showing], 'list'),
        ...(sources ? itemsWith(sources.making, [compare, branchFromHere, tag], 'list') : []),
      ],
      sources
        ? itemsWith(sources.stepping, Object.values(commitStepActions), 'list')
        : itemsWith(about, [cherryPick], 'list'),
      itemsWith(
        about,
        [reword, squash, autosquash, saving, split, moveUp, moveDown, drop, reverting, takeParts],
        'list',
      ),
      itemsWith(about, [copyHash], 'list'),
    ],
  }
}

/** Opens the dialog with the preview of a rewriting. `title`: as a function, it names the branch. */
function rewrite(
  about: ChosenCommits,
  title: string | ((branch: string) => string),
  waysOf: (about: ChosenCommits) => StepWay[],
  isDone: (done: DoneStep) => void = done => showDone(about.page, done),
): void {
  about.page.dialog.value = following(
    about.branch ?? '',
    (branch): StepContent => ({
      kind: 'step',
      title: typeof title === 'string' ? title : title(branch),
      ways: waysOf({ ...about, branch }),
      first: 0,
      isDone,
    }),
  )
}

function split({ page, branch = '', chosen: [commit] }: ChosenCommits): void {
  if (!commit) return
  const title = `Split ${shortId(commit.oid)}`
  page.dialog.value = following(branch, name => ({
    ...({ kind: 'split', title, branch: name, commit: commit.oid } as const),
    isDone: (done: DoneStep) => showDone(page, done),
  }))
}

function wayOf({ branch }: ChosenCommits, way: Omit<StepWay, 'step'>, rewriting: Rewriting): StepWay {
  return { ...way, step: { step: 'rewrite', branch: branch ?? '', rewriting } }
}

function rewordWay(about: ChosenCommits): StepWay {
  const [{ oid } = { oid: '' }] = about.chosen
  const explains = `Changes the message of ${shortId(oid)}. The commits after it get new hashes; no file changes.`
  return wayOf(about, { key: 'reword', words: 'Reword', button: 'Reword', explains }, { do: 'reword', commit: oid })
}

function squashWays(about: ChosenCommits): StepWay[] {
  const commits = toSquash(about)
  const into = shortId(commits.at(-1)?.oid ?? '')
  const squash = {
    key: 'squash',
    words: 'Squash',
    button: 'Squash',
    explains: `Makes one commit of them, in the place of ${into}.`,
  }
  const fixup = {
    key: 'fixup',
    words: 'Fixup',
    button: 'Fixup',
    explains: `The same, with the message of ${into} alone.`,
  }
  return [
    wayOf(about, squash, { do: 'squash', commits: idsOf(commits), isFixup: false }),
    wayOf(about, fixup, { do: 'squash', commits: idsOf(commits), isFixup: true }),
  ]
}

/** The commit that the only selected one is to be squashed into, by its subject. */
function toFix(about: ChosenCommits): CommitRow | undefined {
  const commit = one(about)
  return commit && commitToFix(about.line, commit)
}

function autosquashWays(about: ChosenCommits): StepWay[] {
  const [commit, into] = [one(about), toFix(about)]
  if (!commit || !into) return []
  const isFixup = fixupIn(commit.subject)?.isFixup === true
  const explains = `Makes one commit of ${shortId(commit.oid)} and ${shortId(into.oid)} “${withoutTricks(into.subject)}”${isFixup ? ', which keeps its message' : ''}.`
  const way = { key: 'autosquash', words: 'Squash', button: 'Squash', explains }
  return [wayOf(about, way, { do: 'squash', commits: [commit.oid, into.oid], isFixup })]
}

/** The commit to squash a commit into is looked for among this many before it. */
const MAX_COMMITS_BEFORE = 300

/** Squashes a commit into the one that its subject names, in a branch that is asked for. */
export function autosquash(page: Page, { oid, subject }: CommitRow): Promise<void> {
  return attempt(
    page,
    async () => {
      const at = { kind: 'commit', commit: oid } as const
      const { rows } = await page.connection.ask('history', { at, from: 0, count: MAX_COMMITS_BEFORE })
      const line = lineOf(rows)
      const about = { page, branch: undefined, chosen: line.slice(0, 1), line }
      const into = toFix(about)
      const [commit] = line
      if (!commit || !into)
        throw new Error(
          `No commit before it is “${withoutTricks(fixupIn(subject)?.of ?? '')}”: select both to squash them.`,
        )
      const title = `Squash ${shortId(oid)} into ${shortId(into.oid)}`
      pickBranchWith(page, [commit, into], {
        title: `${title} in…`,
        run: branch =>
          rewrite(
            { ...about, branch },
            it => `${title} in ${readable(it)}`,
            autosquashWays,
            done => finish(page, done),
          ),
      })
    },
    { topic: STEP_TOPIC },
  )
}

/** Saves all drafts of the branch as a commit that is to be squashed into the selected one. */
async function saveAsFixup(about: ChosenCommits): Promise<void> {
  const { page, branch } = about
  const commit = one(about)
  if (!commit || branch === undefined) return
  let isMade = false
  const save = async () => {
    await settle(page, branch, 'all')
    const message = `fixup! ${commit.subject}`
    const { commit: made } = await page.connection.ask('save', { branch, paths: 'all', message })
    if (made) page.saved(branch, made)
    isMade = made !== undefined
    const title = `Saved as a fixup of ${shortId(commit.oid)}`
    page.tell({ topic: 'save', branch, title, ...undoOfLast(page) })
  }
  await page.saves.add(branch, async () => {
    await attempt(page, save, { branch, topic: 'save' })
    return isMade
  })
}

function dropWay(about: ChosenCommits): StepWay {
  const explains = `Takes ${wordsOf(about.chosen)} out of ${readable(about.branch ?? '')}, with its changes. Undo restores it.`
  const way = { key: 'drop', words: 'Drop', button: 'Drop', explains, isDangerous: true }
  return wayOf(about, way, { do: 'drop', commits: idsOf(about.chosen) })
}

/** Whether the selected commits can be moved after another one, which is in the same branch and not selected. */
export function canReorder(about: ChosenCommits, after: string): boolean {
  const { chosen, line } = about
  if (!areOnLine(about) || chosen.some(({ oid }) => oid === after)) return false
  return after === 'before the first' ? line.at(-1)?.parents.length === 0 : line.some(({ oid }) => oid === after)
}

/** Moves the selected commits after another commit of the branch, or before its first one. */
export function reorder(about: ChosenCommits, after: string): void {
  const place = after === 'before the first' ? 'before the first commit' : `after ${shortId(after)}`
  const explains = `Puts ${wordsOf(about.chosen)} ${place}. The commits from there on get new hashes.`
  const way = { key: 'reorder', words: 'Reorder', button: 'Reorder', explains }
  const commits = idsOf(about.chosen)
  rewrite(about, `Reorder ${wordsOf(about.chosen)}`, it => [wayOf(it, way, { do: 'reorder', commits, after })])
}

/** Amends the newest commit of a branch: its message, and optionally with the drafts. */
export async function amendLast(page: Page, branch: string): Promise<void> {
  const drafts = draftsOf(page, branch)
  // The preview needs all edits, so they are sent first.
  if (drafts.length > 0) await attempt(page, () => settle(page, branch, drafts), { branch, topic: STEP_TOPIC })
  page.dialog.value = following(branch, it => amendContent(page, it, drafts.length > 0))
}

function amendContent(page: Page, branch: string, hasDrafts: boolean): StepContent {
  const name = readable(branch)
  const way = (isWithDrafts: boolean, words: string, explains: string): StepWay => ({
    ...{ key: words, words, button: 'Amend', explains },
    step: { step: 'rewrite', branch, rewriting: { do: 'amend', isWithDrafts } },
  })
  const message = way(false, 'Message', `Changes the message of the last commit of ${name}; no file changes.`)
  const withDrafts = way(true, 'With all drafts', `Saves all drafts of ${name} into its last commit.`)
  return {
    ...{ kind: 'step', title: `Amend the last commit of ${name}`, first: 0 },
    ways: hasDrafts ? [withDrafts, message] : [message],
    isDone: done => showDone(page, done),
  }
}
