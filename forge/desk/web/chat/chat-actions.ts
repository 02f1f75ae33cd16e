/** What a person can do with the AI of a branch, each as the questions and dialogs that it takes. */
import { effect } from '@preact/signals'
import type { Approval } from '../../contract/chat.ts'
import { attempt, sentence } from '../page/actions.ts'
import { branchOf, conflictsIn, draftsOf } from '../page/branch-facts.ts'
import { settle } from '../page/saving.ts'
import type { Page, Tab } from '../page/state.ts'
import { reversalOf } from '../page/undo.ts'
import { baseName, readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'

/** How long Escape waits for its second press, in milliseconds. */
const SECOND_PRESS = 3_000

/** Shows the chat, to be typed into: where it is docked, there. */
export function focusMessage(page: Page, tab: Tab): void {
  if (!page.isDocked.peek() || !page.isWide.peek()) tab.show({ kind: 'chat' })
  tab.composer.focus()
}

/** Why nothing can be sent now, where something was written. */
export function offReason(page: Page, tab: Tab): string | undefined {
  const { head, problem } = tab.conversation
  if (!page.connection.isUp.value) return 'The desk does not answer.'
  if (!head.value) return problem.value ?? 'The conversation is still loading.'
  if (head.value.missing !== undefined) return head.value.missing
  return conflictsIn(page, branchOf(tab) ?? '').length > 0 ? 'Resolve the conflicts first.' : undefined
}

/** Sends what is written; while a turn runs, it is sent when that has ended. */
export async function send(page: Page, tab: Tab): Promise<void> {
  const branch = branchOf(tab)
  const { composer, conversation } = tab
  const isEmpty = composer.text.peek().trim() === ''
  if (branch === undefined || isEmpty || composer.isSending.peek()) return
  if (conversation.isBusy.peek()) {
    composer.isQueued.value = true
    return
  }
  if (offReason(page, tab) !== undefined) return
  if (conversation.isUnfinished.peek()) return await endUnfinished(page, tab, branch)
  const drafts = draftsOf(page, branch)
  if (drafts.length > 0) askForDrafts(page, tab, branch, drafts)
  else await sendNow(page, tab, branch)
}

async function sendNow(page: Page, tab: Tab, branch: string): Promise<void> {
  const { composer, conversation } = tab
  composer.isSending.value = true
  composer.isQueued.value = false
  try {
    await page.connection.ask('send', { branch, text: composer.text.peek() })
    composer.write('')
    await conversation.refresh()
    composer.sent.value++
  } catch (error) {
    composer.problem.value = (error as Error).message
  }
  composer.isSending.value = false
}

/**
 * The next message ends a turn that did not end well: what it changed is kept or discarded by the person's word. Where
 * it changed nothing, what the AI said is kept; a mere failure is discarded, so that it is in no commit.
 */
async function endUnfinished(page: Page, tab: Tab, branch: string): Promise<void> {
  const { composer, conversation } = tab
  const files = conversation.head.peek()?.turn?.files ?? []
  const end = async (keep: boolean) => {
    await page.connection.ask('end turn', { branch, keep })
    await conversation.refresh()
    if (keep && files.length > 0) askForDrafts(page, tab, branch, files)
    else await send(page, tab)
  }
  if (files.length === 0) {
    try {
      await end(hasAnswer(tab))
    } catch (error) {
      composer.problem.value = (error as Error).message
    }
    return
  }
  page.dialog.value = {
    kind: 'choose',
    title: `Keep the changes of the last turn to ${plural(files.length, 'file')}?`,
    words: ['It was not completed. Keep turns its changes into drafts. Undo restores discarded files.'],
    list: files,
    buttons: [
      { words: 'Discard and send', look: 'stop', run: () => end(false) },
      { words: 'Keep', look: 'main', run: () => end(true) },
    ],
  }
}

/** Whether the AI has said or done anything in the last turn. */
function hasAnswer({ conversation }: Tab): boolean {
  const items = conversation.sections.peek().at(-1)?.items.peek() ?? []
  return items.some(({ kind }) => kind === 'text' || kind === 'call')
}

/** What was asked in a turn that failed is in the field for the message again, unless something else is written there. */
export function watchFailed(page: Page): () => void {
  const seen = new Set<string>()
  return effect(() => {
    for (const tab of page.tabs.value) {
      const { conversation, composer, at } = tab
      // What is on its way is still in the field.
      if (!conversation.isUnfinished.value || composer.isSending.value || at.kind === 'commit') continue
      const section = conversation.sections.value.at(-1)
      if (!section || seen.has(section.turn)) continue
      seen.add(section.turn)
      const asked = section.items.peek().find(item => item.kind === 'user')
      // A merge's request was written by the desk.
      const isOwn = page.branch(at.branch)?.merging === undefined
      const how = section.end?.how
      const hasFailed = how === 'failed' || (how !== 'done' && how !== 'limit' && !hasAnswer(tab))
      if (asked?.kind === 'user' && isOwn && hasFailed && composer.text.peek() === '') composer.write(asked.text)
    }
  })
}

/** A turn works on what is saved. */
function askForDrafts(page: Page, tab: Tab, branch: string, drafts: string[]): void {
  const save = async () => {
    await settle(page, branch, 'all')
    const message = tab.message.peek()?.trim()
    await page.connection.ask('save', { branch, paths: 'all', ...(message ? { message } : {}) })
    tab.writeMessage(undefined)
    await sendNow(page, tab, branch)
  }
  const discard = async () => {
    await settle(page, branch, 'all')
    await page.connection.ask('discard', { branch, paths: drafts })
    await sendNow(page, tab, branch)
  }
  page.dialog.value = {
    kind: 'choose',
    title: drafts.length === 1 ? 'Save the draft first?' : `Save the ${drafts.length} drafts first?`,
    words: ['The AI works on what is saved. Undo restores discarded drafts.'],
    list: drafts,
    buttons: [
      { words: 'Discard and send', look: 'stop', run: discard },
      { words: 'Save and send', look: 'main', run: save },
    ],
  }
}

/** Sends what was written while a turn ran, when that has ended, whatever the window shows then. */
export function watchQueued(page: Page): () => void {
  return effect(() => {
    for (const tab of page.tabs.value) {
      if (tab.composer.isQueued.value && !tab.conversation.isBusy.value) sendQueued(page, tab)
    }
  })
}

/** A turn has ended: what was written meanwhile is sent, if it ended well. */
async function sendQueued(page: Page, tab: Tab): Promise<void> {
  const { composer, conversation } = tab
  if (!composer.isQueued.peek() || conversation.isBusy.peek()) return
  composer.isQueued.value = false
  const last = conversation.sections.peek().at(-1)
  if (last?.end?.how === 'done') await send(page, tab)
}

export function stop(page: Page, tab: Tab): Promise<void> {
  const branch = branchOf(tab)
  tab.composer.isStopNear.value = false
  if (branch === undefined || !tab.conversation.isBusy.peek()) return Promise.resolve()
  return attempt(page, () => page.connection.ask('stop turn', { branch }), { branch })
}

/** Escape: the first one says what the second one does. */
export function stopByEscape(page: Page, tab: Tab): void {
  const { isStopNear } = tab.composer
  if (isStopNear.peek()) {
    stop(page, tab)
    return
  }
  isStopNear.value = true
  setTimeout(() => {
    isStopNear.value = false
  }, SECOND_PRESS)
}

export function keepTurn(page: Page, tab: Tab): Promise<void> {
  return endTurn(page, tab, true)
}

/** Asks once more where files would be lost. */
export async function discardTurn(page: Page, tab: Tab): Promise<void> {
  const files = tab.conversation.head.peek()?.turn?.files ?? []
  if (files.length === 0) return await endTurn(page, tab, false)
  page.dialog.value = {
    kind: 'confirm',
    title: `Discard the changes of the turn to ${plural(files.length, 'file')}?`,
    words: ['The files are then as in the last commit, and the messages of this turn are removed. Undo restores both.'],
    list: files,
    button: 'Discard',
    isDangerous: true,
    run: async () => {
      const branch = branchOf(tab)
      if (branch === undefined) return
      await page.connection.ask('end turn', { branch, keep: false })
      await tab.conversation.refresh()
    },
  }
}

function endTurn(page: Page, tab: Tab, keep: boolean): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return Promise.resolve()
  return attempt(
    page,
    async () => {
      await page.connection.ask('end turn', { branch, keep })
      await tab.conversation.refresh()
    },
    { branch },
  )
}

export async function undoTurn(page: Page, tab: Tab, turn: string): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  await attempt(
    page,
    async () => {
      const { words } = await page.connection.ask('undo turn', { branch, turn })
      page.tell({
        branch,
        title: words.startsWith('undo: ')
          ? reversalOf(words).title
          : sentence(words.replace(/^take back /, 'taken back: ')),
      })
      await tab.conversation.refresh()
    },
    { branch },
  )
}

export function chooseModel(page: Page, tab: Tab, model: string): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return Promise.resolve()
  return attempt(
    page,
    async () => {
      await page.connection.ask('choose model', { branch, model })
      await tab.conversation.refresh()
    },
    { branch },
  )
}

/** Whether the AI has all of a file before it, or at most its summary. */
export function setContext(page: Page, tab: Tab, path: string, isWhole: boolean): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return Promise.resolve()
  return attempt(
    page,
    async () => {
      await page.connection.ask('set context', { branch, path, isWhole })
      tab.tree.refresh()
      page.spoken.value = `${readable(baseName(path))} ${isWhole ? 'is in the AI’s context' : 'removed from the AI’s context'}`
      await tab.conversation.refresh()
    },
    { branch },
  )
}

/** Whether a file is whole in the context, by what the page knows. */
export function isInContext(tab: Tab, path: string): boolean {
  const files = tab.conversation.head.value?.context.files ?? []
  return files.some(file => file.path === path)
}

export function lookAtTool(page: Page, approval: Approval): void {
  page.dialog.value = { kind: 'approval', path: approval.path }
}

export async function decideOnTool(page: Page, tab: Tab, approval: Approval, isApproved: boolean): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const { path, oid } = approval
  await page.connection.ask('approve tool', { branch, path, oid, isApproved })
  await tab.conversation.refresh()
}

/** Commands run in a container, but still run what the repository says: switched on by a person, once. */
export function allowCommands(page: Page, tab: Tab): void {
  const commands = tab.conversation.head.peek()?.commands
  if (!commands) return
  if (commands.isAllowed) {
    attempt(page, async () => {
      await page.connection.ask('allow commands', { isAllowed: false })
      await tab.conversation.refresh()
    })
    return
  }
  page.dialog.value = {
    kind: 'confirm',
    title: 'Allow the AI to run commands?',
    words: [
      'Tests and linters of this repository then run in a locked container, in a copy of the branch’s files: without network, without your keys, without your folders.',
      'What they change comes back only if the AI asks for it, as a part of its turn.',
    ],
    button: 'Allow commands',
    run: async () => {
      await page.connection.ask('allow commands', { isAllowed: true })
      await tab.conversation.refresh()
    },
  }
}

/** Shows what a turn's commit changed, at one of its files or at the first. */
export function showCommit(tab: Tab, oid: string, path?: string): void {
  tab.review.kind.value = 'commit'
  tab.review.commit.value = oid
  if (path !== undefined) tab.review.current.value = path
  tab.show({ kind: 'review' })
}
