/** Actions on a commit and on the labels at it, and their menus. */
import type { GraphRow } from '../../contract/graph.ts'
import { attempt, copy } from '../page/actions.ts'
import { LABEL_LOOKS, type Label } from '../page/graph-labels.ts'
import { type RemoteBranch, remoteBranches, switchTo } from '../page/remote-branches.ts'
import type { Page } from '../page/state.ts'
import { fixupIn } from '../review/fixups.ts'
import { autosquash, type ChosenCommits } from '../review/history-actions.ts'
import { applyStash, dropStash } from '../steps/draft-moves.ts'
import { sourceActions, sourceAt, stepActions } from '../steps/source-actions.ts'
import { revertIn } from '../steps/source-steps.ts'
import { commitSource, sourceOf } from '../steps/step-ways.ts'
import { type Actions, itemsWith } from '../ui/action.ts'
import type { MenuItem, Offer } from '../ui/menu-content.ts'
import { readable, shortId } from '../ui/names.ts'
import { branchActions, REMOTE } from './branch-actions.ts'
import { deleteRemoteBranch, deleteTag, fetchRemotes, pushTag, renameTag } from './graph-steps.ts'

/** The selected commits, if there are several: of no branch, which is asked for where one is changed. */
export const severalIn = (page: Page): ChosenCommits => ({
  ...{ page, branch: undefined, line: [] },
  chosen: page.graph.chosen,
})

export interface OneCommit {
  page: Page
  row: GraphRow
}

export const commitActions = {
  travel: {
    label: 'Browse files at this commit',
    listKeys: 'Enter',
    icon: 'eye',
    run: ({ page, row }) => page.open({ kind: 'commit', commit: row.oid }),
  },
  showLarge: {
    label: 'Show the whole commit',
    inMenu: ({ page }) => (page.graph.panes.isCommitLarge.peek() ? 'Show the graph again' : 'Show the whole commit'),
    listKeys: 'O',
    icon: ({ page }) => (page.graph.panes.isCommitLarge.peek() ? 'shrink' : 'enlarge'),
    run: ({ page: { graph } }) => {
      graph.panes.isCommitLarge.value = !graph.panes.isCommitLarge.peek()
    },
  },
  goToDetail: { label: 'Go to the commit’s message and files', listKeys: 'Space', icon: 'panel', run: showDetail },
  revert: { label: 'Revert…', listKeys: 'E', icon: 'undo', run: ({ page, row }) => revertIn(page, [row]) },
  autosquash: {
    label: 'Squash into its commit…',
    icon: 'merge',
    isPossible: ({ row }) => fixupIn(row.subject) !== undefined && row.parents.length === 1,
    run: ({ page, row }) => autosquash(page, row),
  },
  copyHash: { label: 'Copy commit hash', icon: 'copy', run: ({ page, row }) => copy(page, row.oid) },
} satisfies Actions<OneCommit>

function showDetail({ page }: OneCommit): void {
  page.graph.panes.showCommit()
  requestAnimationFrame(() => page.places.focus('commit'))
}

export function commitMenu(page: Page, row: GraphRow): Offer {
  const labels = page.graph.labels.peek().get(row.oid) ?? []
  const { travel, showLarge, revert, autosquash: squashing, copyHash } = commitActions
  const { branchFromHere, compare, tag } = sourceActions
  const others = labels.map(
    (label): MenuItem => ({
      words: `${readable(label.name)}…`,
      icon: LABEL_LOOKS[label.kind].icon,
      run: () => openAgain(page, labelMenu(page, label)),
    }),
  )
  const looking = itemsWith({ page, row }, [travel, showLarge], 'list')
  const making = itemsWith({ page, source: commitSource(row.oid) }, [compare, branchFromHere, tag], 'list')
  return {
    title: `${shortId(row.oid)} ${row.subject}`,
    groups: [
      [...looking, ...making],
      [
        ...itemsWith({ page, source: sourceAt(page, row) }, Object.values(stepActions), 'list'),
        ...itemsWith({ page, row }, [revert, squashing], 'list'),
      ],
      others,
      itemsWith({ page, row }, [copyHash]),
    ],
  }
}

/** Opens a menu where the previous one was. */
function openAgain(page: Page, offer: Offer): void {
  const active = document.activeElement
  const element = page.places.find('home')?.querySelector('[aria-selected="true"]') ?? active
  const { left, bottom } = element?.getBoundingClientRect() ?? { left: 0, bottom: 0 }
  page.openMenu(offer, { x: left + 120, y: bottom }, active instanceof HTMLElement ? active : undefined)
}

/** A branch, remote branch, tag or stash in the graph. */
interface OneLabel {
  page: Page
  label: Label
}

const remoteOf = (page: Page, { kind, ref }: Label): RemoteBranch | undefined =>
  kind === 'remote' ? remoteBranches(page).find(it => it.ref === ref) : undefined

/** A remote branch, or the one that a local branch tracks: at the same commit, they are shown as one label. */
function remoteOrUpstreamOf(page: Page, label: Label): RemoteBranch | undefined {
  if (label.kind !== 'branch') return remoteOf(page, label)
  return remoteBranches(page).find(({ words }) => words === label.branch.upstream?.name)
}

/** The local branch of that name is opened; if there is none, it is created, and tracks the remote branch. */
function switchWords(page: Page, remote: RemoteBranch | undefined): string {
  const name = readable(remote?.name ?? '')
  return remote && page.branch(remote.name) ? `Open ${name}` : `Switch to a new branch ${name}`
}

export const labelActions = {
  open: {
    label: 'Open',
    icon: ({ label }) => (label.kind === 'branch' && label.branch.session ? 'bot' : 'sprout'),
    isPossible: ({ label }) => label.kind === 'branch',
    run: ({ page, label }) => page.open({ kind: 'branch', branch: label.name }),
  },
  switchTo: {
    label: 'Switch to it',
    inMenu: ({ page, label }) => switchWords(page, remoteOf(page, label)),
    icon: 'branch',
    isPossible: ({ page, label }) => remoteOf(page, label) !== undefined,
    run: ({ page, label }) => {
      const remote = remoteOf(page, label)
      if (remote) void attempt(page, () => switchTo(page, remote))
    },
  },
  applyStash: {
    label: 'Apply to drafts…',
    inMenu: 'Apply to the drafts of a branch…',
    icon: 'pencil',
    isPossible: ({ label }) => label.kind === 'stash',
    run: ({ page, label }) => applyStash(page, sourceOf(label)),
  },
  dropStash: {
    label: 'Drop the stash',
    icon: 'trash',
    isPossible: ({ label }) => label.kind === 'stash',
    run: ({ page, label }) => dropStash(page, sourceOf(label)),
  },
  fetch: {
    label: 'Fetch its remote',
    inMenu: ({ label }) => `Fetch ${label.kind === 'remote' ? readable(label.remote) : ''}`,
    icon: 'download',
    isPossible: ({ label }) => label.kind === 'remote',
    run: ({ page, label }) => label.kind === 'remote' && fetchRemotes(page, { remote: label.remote }),
  },
  showOnly: {
    label: 'Show only this',
    icon: 'funnel',
    isPossible: ({ label }) => label.kind !== 'stash',
    run: ({ page: { graph }, label }) =>
      graph.setFilter({ ...graph.filter.peek(), refs: [label.ref] }, readable(label.name)),
  },
  pushTag: {
    label: 'Push the tag…',
    icon: 'upload',
    isPossible: ({ label }) => label.kind === 'tag',
    run: ({ page, label }) => pushTag(page, label.name),
  },
  renameTag: {
    label: 'Rename the tag…',
    icon: 'pencil',
    isPossible: ({ label }) => label.kind === 'tag',
    run: ({ page, label }) => renameTag(page, label.name),
  },
  deleteTag: {
    label: 'Delete the tag…',
    icon: 'trash',
    isPossible: ({ label }) => label.kind === 'tag',
    run: ({ page, label }) => deleteTag(page, label.name),
  },
  deleteRemote: {
    label: 'Delete remote branch…',
    icon: 'trash',
    isPossible: ({ page, label }) => remoteOrUpstreamOf(page, label) !== undefined,
    run: ({ page, label }) => {
      const remote = remoteOrUpstreamOf(page, label)
      if (remote) deleteRemoteBranch(page, remote)
    },
  },
} satisfies Actions<OneLabel>

/** The menu of a label. It shows no keys, since the list's keys apply to the selected commit. */
export function labelMenu(page: Page, label: Label): Offer {
  const about = { page, label }
  const source = { page, source: sourceOf(label) }
  const { open, switchTo: switching, fetch, showOnly } = labelActions
  const { branchFromHere, compare, tag } = sourceActions
  const steps = itemsWith(source, Object.values(stepActions), 'none')
  const only = itemsWith(about, [showOnly], 'none')
  const title = readable(label.name)
  if (label.kind === 'tag') {
    const making = itemsWith(source, [compare, branchFromHere], 'none')
    const { pushTag: sending, renameTag: renaming, deleteTag: removing } = labelActions
    return { title, groups: [making, steps, [...only, ...itemsWith(about, [sending, renaming, removing], 'none')]] }
  }
  const making = itemsWith(source, [compare, branchFromHere, tag], 'none')
  if (label.kind === 'stash') {
    const applying = itemsWith(about, [labelActions.applyStash], 'none')
    return { title, groups: [making, [...applying, ...steps], itemsWith(about, [labelActions.dropStash], 'none')] }
  }
  if (label.kind === 'remote') {
    const switches = itemsWith(about, [switching], 'none')
    const removing = itemsWith(about, [labelActions.deleteRemote], 'none')
    return {
      title,
      groups: [[...switches, ...making, ...itemsWith(about, [fetch], 'none')], steps, [...only, ...removing]],
    }
  }
  const branch = { page, branch: label.name }
  const changing = itemsWith(branch, [branchActions.rename, branchActions.delete], 'none')
  return {
    title,
    groups: [
      [...itemsWith(about, [open], 'none'), ...making],
      steps,
      itemsWith(branch, REMOTE, 'none'),
      [...only, ...changing, ...itemsWith(about, [labelActions.deleteRemote], 'none')],
    ],
  }
}
