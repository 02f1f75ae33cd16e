/** What can be done with a branch as a whole, where the branch is: for its tab's menu, the status bar and the palette. */
import type { BranchInfo } from '../../contract/branches.ts'
import type { Command } from '../app/command.ts'
import type { Page } from '../app/state.ts'
import type { MenuItem } from '../ui/menu-content.ts'
import { named, readable } from '../ui/names.ts'
import { cherryPickOnto, chooseTarget, fetchRemotes, mergeInto, pull, push, rebaseOnto } from './graph-steps.ts'
import { branchSource } from './step-ways.ts'

/** An action as a menu of the branch calls it, and as the palette does, which names the branch. */
type Action = MenuItem & { inPalette: string }

/** Pull, push and fetch; without a branch to pull from there is only a push. */
function remoteActions(page: Page, { name, upstream }: BranchInfo): Action[] {
  const push_: Action = {
    words: upstream ? 'Push…' : 'Publish branch…',
    inPalette: `${upstream ? 'Push' : 'Publish branch'} ${named(name)}…`,
    icon: 'upload',
    keys: 'Alt+V',
    run: () => void push(page, name),
  }
  if (!upstream) return [push_]
  const from = readable(upstream.name)
  return [
    {
      words: 'Pull…',
      inPalette: `Pull ${named(name)}…`,
      icon: 'arrow-down',
      keys: 'Alt+P',
      run: () => void pull(page, name),
    },
    push_,
    {
      words: `Fetch ${from}`,
      inPalette: `Fetch ${from}`,
      icon: 'download',
      keys: 'Alt+Shift+4',
      run: () => void fetchRemotes(page, { branch: name }),
    },
  ]
}

function stepActions(page: Page, { name, tip }: BranchInfo): Action[] {
  const branch = named(name)
  const source = branchSource(name, tip)
  return [
    {
      words: 'Merge a branch into this one…',
      inPalette: `Merge a branch into ${branch}…`,
      icon: 'merge',
      keys: 'Alt+Shift+5',
      run: () => mergeInto(page, name),
    },
    {
      words: 'Rebase onto…',
      inPalette: `Rebase ${branch} onto…`,
      icon: 'rebase',
      keys: 'Alt+Shift+6',
      run: () => rebaseOnto(page, name),
    },
    {
      words: 'Cherry-pick a commit onto this branch…',
      inPalette: `Cherry-pick a commit onto ${branch}…`,
      icon: 'pick',
      keys: 'Alt+Shift+7',
      run: () => cherryPickOnto(page, name),
    },
    {
      words: 'Merge into another branch…',
      inPalette: `Merge ${branch} into another branch…`,
      icon: 'merge',
      keys: 'Alt+Shift+8',
      run: () => chooseTarget(page, source, 'merge'),
    },
    {
      words: 'Land on another branch…',
      inPalette: `Land ${branch} on another branch…`,
      icon: 'land',
      keys: 'Alt+Shift+9',
      run: () => chooseTarget(page, source, 'land'),
    },
  ]
}

const asItem = ({ inPalette: _, ...item }: Action): MenuItem => item

/** Pull, push and fetch, as items of a menu. */
export const remoteItems = (page: Page, branch: BranchInfo): MenuItem[] => remoteActions(page, branch).map(asItem)

/** Merge, rebase and cherry-pick, as items of a menu. */
export const stepItems = (page: Page, branch: BranchInfo): MenuItem[] => stepActions(page, branch).map(asItem)

/** All of it for the palette. A branch that waits in the middle of a merge has only what moves nothing in it. */
export function branchStepCommands(page: Page, branch: BranchInfo): Command[] {
  const actions = [...remoteActions(page, branch), ...(branch.merging ? [] : stepActions(page, branch))]
  return actions.map(({ inPalette, words: _, ...action }) => ({ ...action, words: inPalette }))
}
