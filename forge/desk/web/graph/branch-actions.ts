/** Actions on a branch as a whole: for its tab's menu, the status bar, the graph and the palette. */
import type { BranchInfo } from '../../contract/branches.ts'
import type { Page } from '../page/state.ts'
import { chooseTarget } from '../steps/source-steps.ts'
import { branchSource, type Way } from '../steps/step-ways.ts'
import type { Action, Actions } from '../ui/action.ts'
import { named, readable } from '../ui/names.ts'
import { chooseUpstream, deleteBranch, renameBranch, setUpstream } from './branch-dialogs.ts'
import { cherryPickOnto, fetchRemotes, mergeInto, pull, push, rebaseOnto } from './graph-steps.ts'

/** A branch, by its name. */
export interface OneBranch {
  page: Page
  branch: string
}

const infoOf = ({ page, branch }: OneBranch): BranchInfo | undefined => page.branch(branch)
const upstreamOf = (about: OneBranch): BranchInfo['upstream'] => infoOf(about)?.upstream

const isThere = ({ page, branch }: OneBranch): boolean => !page.isGone({ kind: 'branch', branch })

/** Whether a branch can be moved: not while a merge waits in it. */
function canMove(about: OneBranch): boolean {
  const info = infoOf(about)
  return info !== undefined && info.merging === undefined
}

function choose(way: Way) {
  return (about: OneBranch): void => {
    const info = infoOf(about)
    if (info) chooseTarget(about.page, branchSource(info.name, info.tip), way)
  }
}

export const branchActions = {
  pull: {
    label: 'Pull…',
    inPalette: ({ branch }) => `Pull ${named(branch)}…`,
    icon: 'arrow-down',
    keys: 'Alt+P',
    // Without an upstream branch, it says what is missing, and offers that.
    isPossible: about => infoOf(about) !== undefined,
    run: ({ page, branch }) => pull(page, branch),
  },
  push: {
    label: 'Push…',
    inPalette: ({ branch }) => `Push ${named(branch)}…`,
    icon: 'upload',
    keys: 'Alt+V',
    isPossible: about => upstreamOf(about) !== undefined,
    run: ({ page, branch }) => push(page, branch),
  },
  publish: {
    label: 'Publish branch…',
    inPalette: ({ branch }) => `Publish branch ${named(branch)}…`,
    icon: 'upload',
    keys: 'Alt+V',
    isPossible: about => infoOf(about) !== undefined && upstreamOf(about) === undefined,
    run: ({ page, branch }) => push(page, branch),
  },
  fetch: {
    label: 'Fetch its upstream',
    inMenu: about => `Fetch ${readable(upstreamOf(about)?.name ?? '')}`,
    inPalette: about => `Fetch ${readable(upstreamOf(about)?.name ?? '')}`,
    icon: 'download',
    keys: 'Alt+Shift+4',
    isPossible: about => upstreamOf(about) !== undefined,
    run: ({ page, branch }) => fetchRemotes(page, { branch }),
  },
  mergeInto: {
    label: 'Merge a branch into this one…',
    inPalette: ({ branch }) => `Merge a branch into ${named(branch)}…`,
    icon: 'merge',
    keys: 'Alt+Shift+5',
    isPossible: canMove,
    run: ({ page, branch }) => mergeInto(page, branch),
  },
  rebase: {
    label: 'Rebase onto…',
    inPalette: ({ branch }) => `Rebase ${named(branch)} onto…`,
    icon: 'rebase',
    keys: 'Alt+Shift+6',
    isPossible: canMove,
    run: ({ page, branch }) => rebaseOnto(page, branch),
  },
  cherryPick: {
    label: 'Cherry-pick a commit onto this branch…',
    inPalette: ({ branch }) => `Cherry-pick a commit onto ${named(branch)}…`,
    icon: 'pick',
    keys: 'Alt+Shift+7',
    isPossible: canMove,
    run: ({ page, branch }) => cherryPickOnto(page, branch),
  },
  merge: {
    label: 'Merge into another branch…',
    inPalette: ({ branch }) => `Merge ${named(branch)} into another branch…`,
    icon: 'merge',
    keys: 'Alt+Shift+8',
    isPossible: canMove,
    run: choose('merge'),
  },
  land: {
    label: 'Land on another branch…',
    inPalette: ({ branch }) => `Land ${named(branch)} on another branch…`,
    icon: 'land',
    keys: 'Alt+Shift+9',
    isPossible: canMove,
    run: choose('land'),
  },
  rename: {
    label: 'Rename branch…',
    inMenu: 'Rename…',
    inPalette: ({ branch }) => `Rename branch ${named(branch)}…`,
    keys: 'Shift+F2',
    icon: 'pencil',
    isPossible: isThere,
    run: ({ page, branch }) => renameBranch(page, branch),
  },
  setUpstream: {
    label: 'Set upstream…',
    icon: 'cloud',
    isPossible: about => infoOf(about) !== undefined,
    run: ({ page, branch }) => chooseUpstream(page, branch),
  },
  unsetUpstream: {
    label: 'Unset upstream',
    icon: 'x',
    isPossible: about => (upstreamOf(about)?.name ?? infoOf(about)?.goneUpstream) !== undefined,
    run: ({ page, branch }) => setUpstream(page, branch),
  },
  delete: {
    label: 'Delete branch…',
    inMenu: 'Delete…',
    inPalette: ({ branch }) => `Delete branch ${named(branch)}…`,
    keys: 'Alt+Shift+Delete',
    icon: 'trash',
    isPossible: isThere,
    run: ({ page, branch }) => deleteBranch(page, branch),
  },
} satisfies Actions<OneBranch>

const { pull: pulling, push: pushing, publish, fetch, setUpstream: tracking, unsetUpstream } = branchActions
/** Pull, push and fetch, without an upstream only Publish; and the choice of the upstream. */
export const REMOTE: readonly Action<OneBranch>[] = [publish, pulling, pushing, fetch, tracking, unsetUpstream]

const { mergeInto: merging, rebase, cherryPick, merge, land } = branchActions
/**
 * The steps that bring other commits into the branch (merge, rebase, cherry-pick), or the branch into another one
 * (merge, land).
 */
export const STEPS: readonly Action<OneBranch>[] = [merging, rebase, cherryPick, merge, land]
