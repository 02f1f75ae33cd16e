/** Moves drafts to a branch that exists. */
import { attempt } from '../page/actions.ts'
import { moveDrafts } from '../page/saving.ts'
import type { Page } from '../page/state.ts'
import { readable } from '../ui/names.ts'
import { branchesToPick, choiceOf } from './source-steps.ts'

/** Asks for the branch that gets the drafts of `branch`, moves them there, and shows that branch. */
export function draftsOnto(page: Page, branch: string): void {
  const moveTo = (to: string) => {
    page.dialog.value = undefined
    const move = () => page.connection.ask('drafts onto', { branch, to })
    return attempt(page, () => moveDrafts(page, branch, to, move), { branch })
  }
  page.dialog.value = {
    kind: 'pick',
    title: `Move the drafts of ${readable(branch)} to…`,
    label: 'Branch',
    list: 'Branches',
    none: 'No other branch',
    choices: () =>
      branchesToPick(page)
        .filter(({ name }) => name !== branch)
        .map(info => ({ ...choiceOf(info), run: () => moveTo(info.name) })),
  }
}
