/** Brings drafts to a branch that exists: those of another branch, or what a stash has put away. Drops a stash. */
import type { Source } from '../../contract/steps.ts'
import { STEP_TOPIC } from '../merging/after-step.ts'
import { attempt } from '../page/actions.ts'
import { following, type PickContent } from '../page/dialog-content.ts'
import { moveDrafts } from '../page/saving.ts'
import type { Page } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import { readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { branchesToPick, choiceOf } from './source-steps.ts'

/** Asks for the branch that gets the drafts of `branch`, moves them there, and shows that branch. */
export function draftsOnto(page: Page, branch: string): void {
  page.dialog.value = following(branch, it => draftsOntoContent(page, it))
}

function draftsOntoContent(page: Page, branch: string): PickContent {
  const moveTo = (to: string) => {
    page.dialog.value = undefined
    const move = () => page.connection.ask('drafts onto', { branch, to })
    return attempt(page, () => moveDrafts(page, branch, to, move), { branch })
  }
  return {
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

/** Asks for the branch to whose drafts a stash is applied, applies it, and shows that branch. The stash stays. */
export function applyStash(page: Page, { commit, words }: Source): void {
  const stash = readable(words)
  const apply = async (branch: string) => {
    // Its number may be another one than when the menu was opened.
    const { conflicts, name = words } = await page.connection.ask('apply stash', { branch, commit })
    const more = conflicts.length === 0 ? '' : `: ${plural(conflicts.length, 'file')} in conflict`
    page.open({ kind: 'branch', branch })
    page.tell({
      topic: STEP_TOPIC,
      title: `Applied ${readable(name)} to the drafts of ${readable(branch)}${more}.`,
      ...undoOfLast(page),
    })
  }
  page.dialog.value = {
    kind: 'pick',
    title: `Apply ${stash} to the drafts of…`,
    label: 'Branch',
    list: 'Branches',
    none: 'No branch',
    choices: () =>
      branchesToPick(page).map(info => ({
        ...choiceOf(info),
        run: () => attempt(page, () => apply(info.name), { topic: STEP_TOPIC }),
      })),
  }
}

/** Drops a stash. Its notice has Undo. */
export function dropStash(page: Page, { commit }: Source): Promise<void> {
  return attempt(
    page,
    async () => {
      const { name } = await page.connection.ask('drop stash', { commit })
      page.tell({ topic: STEP_TOPIC, title: `Dropped ${readable(name)}`, ...undoOfLast(page) })
    },
    { topic: STEP_TOPIC },
  )
}
