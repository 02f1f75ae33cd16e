/** The dialogs that rename and delete a branch. */
import { draftsOf } from '../page/branch-facts.ts'
import { branchWarning } from '../page/case-twins.ts'
import type { DialogContent } from '../page/dialog-content.ts'
import { settle } from '../page/saving.ts'
import type { Page } from '../page/state.ts'
import { undoButton, untilMore } from '../page/undo.ts'
import { baseName, branchWhileTyping, folderOf, named, readable, typedName } from '../ui/names.ts'
import { plural } from '../ui/times.ts'

export function renameBranch(page: Page, branch: string): void {
  page.dialog.value = {
    kind: 'ask',
    title: `Rename ${named(branch)}`,
    label: 'New name',
    value: readable(branch),
    button: 'Rename',
    hint: `${draftsOf(page, branch).length > 0 ? 'Drafts move along. ' : ''}The remote branch keeps its name.`,
    whileTyping: branchWhileTyping,
    warn: words => branchWarning(page, typedName(words, folderOf(branch), baseName(branch)), branch),
    run: async words => {
      const to = typedName(words, folderOf(branch), baseName(branch))
      await settle(page, branch, 'all')
      await page.connection.ask('rename branch', { branch, to })
      page.renamed(branch, to)
    },
  }
}

/** Asks whether to delete a branch. */
export async function deleteBranch(page: Page, branch: string): Promise<void> {
  page.dialog.value = await deletionOf(page, branch)
}

/**
 * The question whether to delete a branch with the commit and the drafts that it has now. If that is refused, it is
 * asked anew.
 */
async function deletionOf(page: Page, branch: string): Promise<DialogContent> {
  const { commits, tip, ...found } = await page.connection
    .ask('branch deletion', { branch })
    .catch(() => ({ commits: 0, tip: page.branch(branch)?.tip, drafts: [] }))
  const drafts = [...new Set([...found.drafts, ...draftsOf(page, branch)])]
  const checkout = page.branch(branch)?.checkout
  const content: DialogContent = {
    kind: 'confirm',
    title: `Delete the branch ${named(branch)}?`,
    words: [
      ...(checkout === undefined
        ? []
        : [`It is checked out in ${readable(checkout)}: first switch to another branch there.`]),
      ...(commits === 0
        ? []
        : [
            `${plural(commits, 'commit')} of it ${commits === 1 ? 'is' : 'are'} on no other branch, remote branch or tag.`,
          ]),
      'Undo restores it; its commits are kept for that.',
      ...(drafts.length > 0 ? [`It has ${plural(drafts.length, 'draft')}, restored by Undo too:`] : []),
    ],
    list: drafts,
    button: 'Delete',
    isDangerous: true,
    // Git refuses it, too.
    isOff: checkout !== undefined,
    run: async () => {
      const lasts = untilMore(page)
      try {
        await settle(page, branch, 'all')
        await page.connection.ask('delete branch', { branch, drafts, ...(tip !== undefined && { before: tip }) })
      } catch (error) {
        const renewed = await deletionOf(page, branch)
        if (page.dialog.peek() === content) page.dialog.value = renewed
        throw error
      }
      page.closeDeleted(branch)
      page.tell({ title: `Deleted ${named(branch)}`, lasts, actions: [undoButton(page)] })
    },
  }
  return content
}
