/** The dialogs that rename and delete a branch. */
import { attempt } from '../page/actions.ts'
import { draftsOf } from '../page/branch-facts.ts'
import { branchWarning } from '../page/case-twins.ts'
import { type AskContent, type ConfirmContent, following, type PickContent } from '../page/dialog-content.ts'
import { remoteBranches } from '../page/remote-branches.ts'
import { settle } from '../page/saving.ts'
import type { Page, TabLayout } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import { baseName, branchWhileTyping, folderOf, named, readable, typedName } from '../ui/names.ts'
import { plural } from '../ui/times.ts'

export function renameBranch(page: Page, branch: string): void {
  page.dialog.value = following(branch, it => renameContent(page, it))
}

function renameContent(page: Page, branch: string): AskContent {
  return {
    kind: 'ask',
    title: `Rename ${named(branch)}`,
    label: 'New name',
    value: readable(branch),
    button: 'Rename',
    hint: [
      ...(draftsOf(page, branch).length > 0 ? ['Drafts move along.'] : []),
      ...(isOnRemote(page, branch) ? ['The remote branch keeps its name.'] : []),
    ].join(' '),
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

/** Whether a branch has an upstream on a remote, or a remote has a branch of its name, as far as they are loaded. */
function isOnRemote(page: Page, branch: string): boolean {
  const upstream = page.branch(branch)?.upstream
  return upstream?.isLocal === false || remoteBranches(page).some(({ name }) => name === branch)
}

/** Asks which remote branch becomes the upstream of a branch. */
export function chooseUpstream(page: Page, branch: string): void {
  page.graph.needRefs()
  page.dialog.value = following(branch, it => upstreamContent(page, it))
}

function upstreamContent(page: Page, branch: string): PickContent {
  return {
    kind: 'pick',
    title: `Set the upstream of ${named(branch)}`,
    label: 'Remote branch',
    list: 'Remote branches',
    none: 'No remote branch: fetch first',
    choices: () => {
      const upstream = page.branch(branch)?.upstream?.name
      const others = remoteBranches(page).filter(({ words }) => words !== upstream)
      // The branch of the same name is the most likely one.
      return others
        .toSorted((one, other) => Number(other.name === branch) - Number(one.name === branch))
        .map(({ ref, words }) => ({
          ...{ key: ref, kind: 'remote branch' as const, icon: 'cloud' as const, words },
          run: () => void setUpstream(page, branch, { ref, words }),
        }))
    },
  }
}

/** Sets the upstream of a branch, or unsets it. */
export async function setUpstream(page: Page, branch: string, to?: { ref: string; words: string }): Promise<void> {
  await attempt(
    page,
    async () => {
      await page.connection.ask('set upstream', { branch, upstream: to?.ref ?? null })
      const title = to ? `${named(branch)} tracks ${named(to.words)}` : `${named(branch)} has no upstream now`
      page.tell({ title, ...undoOfLast(page) })
    },
    { branch, topic: 'upstream' },
  )
}

/** Asks whether to delete a branch. */
export async function deleteBranch(page: Page, branch: string): Promise<void> {
  page.dialog.value = await deletionOf(page, branch)
}

/**
 * The question whether to delete a branch with the commit and the drafts that it has now. If that is refused, it is
 * asked anew.
 */
async function deletionOf(page: Page, branch: string): Promise<ConfirmContent> {
  const found = await page.connection
    .ask('branch deletion', { branch })
    .catch(() => ({ commits: 0, tip: page.branch(branch)?.tip, drafts: [] }))
  return following(branch, it => deletionContent(page, it, found))
}

type Deletion = { commits: number; tip?: string | undefined; drafts: readonly string[] }

function deletionContent(page: Page, branch: string, { commits, tip, ...found }: Deletion): ConfirmContent {
  const drafts = [...new Set([...found.drafts, ...draftsOf(page, branch)])]
  const checkout = page.branch(branch)?.checkout
  const content: ConfirmContent = {
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
      let layout: TabLayout | undefined
      try {
        await settle(page, branch, 'all')
        layout = page.tabLayoutOf(branch)
        await page.connection.ask('delete branch', { branch, drafts, ...(tip !== undefined && { before: tip }) })
      } catch (error) {
        const renewed = await deletionOf(page, branch)
        const open = page.dialog.peek()
        if (open?.kind === 'confirm' && open.run === content.run) page.dialog.value = renewed
        throw error
      }
      page.closeDeleted(branch, layout)
      page.tell({ title: `Deleted ${named(branch)}`, ...undoOfLast(page) })
    },
  }
  return content
}
