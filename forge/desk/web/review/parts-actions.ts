/**
 * Opens the dialogs in which some changes are chosen: some of the drafts, to save only these, or some of a commit, to
 * revert them.
 */
import { attempt } from '../page/actions.ts'
import { draftsOf } from '../page/branch-facts.ts'
import { isOfForge } from '../page/conversation-files.ts'
import { following, type PartsContent } from '../page/dialog-content.ts'
import { settle } from '../page/saving.ts'
import type { Page } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import type { NamedCommit } from '../steps/source-steps.ts'
import { readable, shortId, withoutTricks } from '../ui/names.ts'

const TOPIC = 'parts'

/** Saves some of a branch's drafts; what is left out stays a draft. */
export async function saveSome(page: Page, branch: string): Promise<void> {
  const drafts = draftsOf(page, branch)
  // The dialog shows all edits, so they are sent first.
  await attempt(page, () => settle(page, branch, drafts), { branch, topic: TOPIC })
  page.dialog.value = following(branch, it => savingSome(page, it))
}

function savingSome(page: Page, branch: string): PartsContent {
  return {
    kind: 'parts',
    title: `Save some changes of ${readable(branch)}`,
    button: 'Save',
    hasMessage: true,
    branch,
    explains: 'Select what is saved. What is left out stays a draft.',
    load: () => page.connection.ask('changes', { to: { kind: 'branch', branch } }),
    run: async (parts, message) => {
      const fields = { branch, parts, ...(message !== '' && { message }) }
      const { commit } = await page.connection.ask('save parts', fields)
      page.tell({ topic: TOPIC, title: `Saved → ${shortId(commit)}`, branch, ...undoOfLast(page) })
    },
  }
}

/** Reverts some changes of a commit, as drafts of a branch. */
export function takeBack(page: Page, commit: NamedCommit, branch: string): void {
  page.dialog.value = following(branch, it => takingBack(page, commit, it))
}

function takingBack(page: Page, { oid, subject }: NamedCommit, branch: string): PartsContent {
  return {
    kind: 'parts',
    title: `Revert some changes of ${shortId(oid)}`,
    button: 'Revert as drafts',
    hasMessage: false,
    explains: `Select what is undone of “${withoutTricks(subject)}”. It becomes drafts of ${readable(branch)}, and nothing is committed.`,
    load: async () => {
      const { changes } = await page.connection.ask('commit', { commit: oid })
      // A revert does not change the conversation with the AI.
      return changes.filter(({ path }) => !isOfForge(path))
    },
    run: async parts => {
      await page.connection.ask('take back', { branch, commit: oid, parts })
      const title = `Some changes of ${shortId(oid)} are taken back as drafts`
      page.tell({ topic: TOPIC, title, branch, ...undoOfLast(page) })
    },
  }
}
