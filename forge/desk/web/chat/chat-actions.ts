/** Actions on the AI of a branch, with their questions and dialogs. */
import { effect } from '@preact/signals'
import type { Approval } from '../../contract/chat.ts'
import { nounOf } from '../../contract/merging.ts'
import { attempt, sentence } from '../page/actions.ts'
import { branchOf, conflictsIn, draftsOf, draftsOnServer, isMerging } from '../page/branch-facts.ts'
import { isSenderThere } from '../page/composer-state.ts'
import { filesOf } from '../page/conversation-state.ts'
import { settle } from '../page/saving.ts'
import type { Page, Tab } from '../page/state.ts'
import { messageToGiveBack, requestOf } from '../page/turn-messages.ts'
import { hideRefusedUndo, prepareReversal, undoOfLast } from '../page/undo.ts'
import { baseName, named, readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { typing } from '../ui/typing.ts'

/** Time to press Escape a second time, in milliseconds. */
const SECOND_PRESS_MS = 3_000

/** Shows the chat and focuses its message field, also in the docked chat. */
export function focusMessage(page: Page, tab: Tab): void {
  if (!page.isDocked.peek() || !page.isWide.peek()) tab.show({ kind: 'chat' })
  page.dropFocusWishes()
  tab.composer.focus()
}

/** Goes on with the message in the chat's tab when the window gets too narrow for the chat beside the editor. */
export function watchWidth(page: Page): () => void {
  return page.isWide.subscribe(isWide => {
    const tab = page.tab.peek()
    if (isWide || !tab || !page.places.hasFocus('docked message')) return
    typing.forget()
    focusMessage(page, tab)
  })
}

/** Why the message can't be sent now; undefined if it can. */
export function offReason(page: Page, tab: Tab): string | undefined {
  const { head, problem } = tab.conversation
  if (!page.connection.isUp.value) return 'The desk does not answer.'
  if (!head.value) return problem.value ?? 'The conversation is still loading.'
  if (head.value.missing !== undefined) return head.value.missing
  return conflictsIn(page, branchOf(tab) ?? '').length > 0 ? 'Resolve the conflicts first.' : undefined
}

/**
 * Sends the message in the field; while a turn runs, it is queued, and sent when that has ended. What is typed after
 * this, also in a question that is asked first, is the next message.
 */
export async function send(page: Page, tab: Tab, text = tab.composer.text.peek()): Promise<void> {
  const branch = branchOf(tab)
  const { composer, conversation } = tab
  const isEmpty = text.trim() === ''
  if (branch === undefined || isEmpty || composer.isSending.peek()) return
  if (conversation.isBusy.peek()) {
    composer.queue()
    page.spoken.value = 'Message queued'
    return
  }
  if (offReason(page, tab) !== undefined) return
  composer.refusal.value = undefined
  if (conversation.isUnfinished.peek()) return await endUnfinished(page, tab, branch, text)
  const drafts = unsavedFor(page, tab)
  if (drafts.length > 0) askAboutDrafts(page, tab, branch, text, drafts)
  else await sendNow(page, tab, branch, text)
}

/** The drafts to save or discard before a message. The AI works on top of those of a waiting merge, its resolutions. */
function unsavedFor(page: Page, tab: Tab): string[] {
  return isMerging(page, tab) ? [] : draftsOf(page, branchOf(tab) ?? '')
}

/** Sends a message: the queued one, or that which begins the field if none is queued. */
async function sendNow(page: Page, tab: Tab, branch: string, text: string): Promise<void> {
  const { composer, conversation } = tab
  const queued = composer.queued.peek()
  composer.beginSending()
  try {
    const { turn } = await page.connection.ask('send', { branch, text })
    if (turn !== undefined) {
      composer.hasSent(turn)
      composer.removeSent(text)
    }
    // Another window's message was first.
    else if (queued === '' && composer.text.peek() === text) composer.queue()
    await conversation.refresh()
    composer.endSending()
    if (turn !== undefined && queued === '') composer.sent.value++
  } catch (error) {
    composer.takeBack()
    composer.refusal.value = (error as Error).message
    composer.endSending()
  }
}

/**
 * Ends an unfinished turn before the next message: if it changed files, asks whether to keep or discard them. Without
 * changes it is kept, so that the AI gets its message, too. It is discarded if it has no answer and its message, which
 * is in the field again, is sent once more, perhaps with other words around it.
 */
async function endUnfinished(page: Page, tab: Tab, branch: string, text: string): Promise<void> {
  const { composer, conversation } = tab
  const turn = conversation.head.peek()?.turn
  const paths = turn?.files ?? []
  const files = turn ? filesOf(turn) : []
  const end = async (keep: boolean) => {
    await page.connection.ask('end turn', { branch, keep })
    await conversation.refresh()
    if (offReason(page, tab) !== undefined) return
    if (keep && paths.length > 0 && !isMerging(page, tab)) askAboutDrafts(page, tab, branch, text, paths)
    else await send(page, tab, text)
  }
  if (files.length === 0) {
    try {
      const request = turn?.id === composer.returned ? requestOf(page, tab) : undefined
      const isSentAgain = request !== undefined && text.includes(request)
      await end(hasAnswer(tab) || !isSentAgain)
    } catch (error) {
      composer.refusal.value = (error as Error).message
    }
    return
  }
  page.dialog.value = {
    kind: 'choose',
    title: `Keep the changes of the last turn to ${plural(files.length, 'file')}?`,
    words: [...(turn ? [turn.words] : []), 'Keep turns its changes into drafts. Undo restores discarded files.'],
    list: files,
    type: key => composer.typeNext(text, key),
    buttons: [
      { words: 'Discard and send', look: 'stop', run: () => end(false) },
      { words: 'Keep', look: 'main', run: () => end(true) },
    ],
  }
}

/** Whether the last turn has an answer or a tool call. */
function hasAnswer({ conversation }: Tab): boolean {
  const items = conversation.sections.peek().at(-1)?.items.peek() ?? []
  return items.some(({ kind }) => kind === 'text' || kind === 'call')
}

/** Puts the request of a failed turn back into the message field of the window that has sent it. */
export function watchFailed(page: Page): () => void {
  const seen = new Set<string>()
  return effect(() => {
    for (const tab of page.tabs.value) {
      const { conversation, composer, at } = tab
      // Skip while a message is being sent: its text is still in the field.
      if (!conversation.isUnfinished.value || composer.isSending.value || at.kind === 'commit') continue
      const section = conversation.sections.value.at(-1)
      if (!section || seen.has(section.turn)) continue
      seen.add(section.turn)
      const how = section.end?.how
      const hasFailed = how === 'failed' || (how !== 'done' && how !== 'limit' && !hasAnswer(tab))
      if (hasFailed) void giveBack(tab, section.turn, requestOf(page, tab))
    }
  })
}

/**
 * Puts the request of a failed turn back into the message field, before another message there or one that is queued,
 * unless another window has sent it and exists. After a reload, the field has it already, perhaps changed.
 */
async function giveBack({ composer }: Tab, turn: string, request: string | undefined): Promise<void> {
  if (request === undefined || composer.returned === turn) return
  if (composer.sentTurn !== turn && (await isSenderThere(turn))) return
  composer.takeBack()
  composer.putBack(request)
  composer.hasReturned(turn)
}

/**
 * Takes the message of an undone or discarded turn, which was put back into the message field, out of it where the turn
 * is there again, by Redo or by Undo. A message that was changed stays.
 */
export function watchRestored(page: Page): () => void {
  return effect(() => {
    for (const tab of page.tabs.value) {
      const { conversation, composer } = tab
      const removed = composer.removed.value
      const section = conversation.sections.value.findLast(({ turn }) => turn === removed)
      const isWaiting = conversation.head.value?.turn?.id === removed
      if (!section || !(isWaiting || section.end?.commit?.canUndo)) continue
      const request = requestOf(page, tab, section.turn)
      composer.removed.value = undefined
      if (request !== undefined) composer.drop(request)
    }
  })
}

/** Asks whether to save or discard the drafts before sending, since the AI sees only what is saved. */
function askAboutDrafts(page: Page, tab: Tab, branch: string, text: string, drafts: string[]): void {
  const save = async () => {
    await settle(page, branch, 'all')
    const message = tab.saveMessage.text.peek()?.trim()
    await page.connection.ask('save', { branch, paths: 'all', ...(message ? { message } : {}) })
    if (message !== undefined) tab.saveMessage.used(message)
    await sendNow(page, tab, branch, text)
  }
  const discard = async () => {
    await settle(page, branch, 'all')
    page.closeFiles(branch, await page.connection.ask('discard', { branch, paths: drafts }))
    await sendNow(page, tab, branch, text)
  }
  page.dialog.value = {
    kind: 'choose',
    title: drafts.length === 1 ? 'Save the draft first?' : `Save the ${plural(drafts.length, 'draft')} first?`,
    words: ['The AI works on what is saved. Undo restores discarded drafts.'],
    list: drafts,
    type: key => tab.composer.typeNext(text, key),
    buttons: [
      { words: 'Discard and send', look: 'stop', run: discard },
      { words: 'Save and send', look: 'main', run: save },
    ],
  }
}

/** Sends a message queued during a turn when that has ended, whatever the window shows then. */
export function watchQueued(page: Page): () => void {
  return effect(() => {
    for (const tab of page.tabs.value) {
      const { composer, conversation } = tab
      // After a reload, it is not known at once whether the turn still runs.
      const isKnown = conversation.head.value !== undefined
      const canBeSent = isKnown && !conversation.isBusy.value && !composer.isSending.value
      if (composer.queued.value !== '' && canBeSent) sendQueued(page, tab)
    }
  })
}

/**
 * Sends the queued message if the turn ended well and nothing has to be asked before: a question would come over
 * whatever the user does by then, perhaps in another branch. Otherwise, puts it back into the field.
 */
async function sendQueued(page: Page, tab: Tab): Promise<void> {
  const { composer, conversation } = tab
  const branch = branchOf(tab)
  if (branch === undefined) return
  const isDone = conversation.sections.peek().at(-1)?.end?.how === 'done'
  const hasEndedWell = isDone && hasAnswer(tab) && !conversation.isUnfinished.peek()
  const canSend = hasEndedWell && offReason(page, tab) === undefined && unsavedFor(page, tab).length === 0
  if (canSend) await sendNow(page, tab, branch, composer.queued.peek())
  else composer.takeBack()
}

export function stop(page: Page, tab: Tab): Promise<void> {
  const branch = branchOf(tab)
  tab.composer.isStopNear.value = false
  if (branch === undefined || !tab.conversation.isBusy.peek()) return Promise.resolve()
  return attempt(page, () => page.connection.ask('stop turn', { branch }), { branch })
}

/** Handles Escape: the first press shows what the second one does, which is to stop the turn. */
export function stopByEscape(page: Page, tab: Tab): void {
  const { isStopNear } = tab.composer
  if (isStopNear.peek()) {
    stop(page, tab)
    return
  }
  isStopNear.value = true
  setTimeout(() => {
    isStopNear.value = false
  }, SECOND_PRESS_MS)
}

export function keepTurn(page: Page, tab: Tab): Promise<void> {
  return endTurn(page, tab, true)
}

/** Discards an unfinished turn. Its message is then to be sent in other words. */
export function discardTurn(page: Page, tab: Tab): void {
  const turn = tab.conversation.head.peek()?.turn
  const files = turn ? filesOf(turn) : []
  const typed = isMerging(page, tab) ? [] : draftsOnServer(page, branchOf(tab) ?? '')
  const changes = `the changes of the turn to ${plural(files.length, 'file')}`
  const result =
    files.length > 0
      ? 'The files are then as in the last commit, and the messages of this turn are removed. Undo restores both.'
      : 'The messages of this turn are removed. Undo restores them.'
  // Asked without changes, too: the key must not do at once what it asks about at other times.
  page.dialog.value = {
    kind: 'confirm',
    title: `Discard ${files.length > 0 ? changes : 'the last turn'}?`,
    words: [
      `${result} Your message is in the message field again.`,
      ...(typed.length > 0 ? [`What was typed in ${typed.map(readable).join(', ')} is shown again, as drafts.`] : []),
    ],
    list: files,
    button: 'Discard',
    isDangerous: true,
    run: async () => {
      const branch = branchOf(tab)
      if (branch !== undefined) await endTurnIn(page, tab, branch, false)
    },
  }
}

function endTurn(page: Page, tab: Tab, keep: boolean): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return Promise.resolve()
  return attempt(page, () => endTurnIn(page, tab, branch, keep), { branch })
}

async function endTurnIn(page: Page, tab: Tab, branch: string, keep: boolean): Promise<void> {
  const request = requestOf(page, tab)
  const turn = tab.conversation.head.peek()?.turn?.id
  const giveBack = messageToGiveBack(page, tab, turn)
  await page.connection.ask('end turn', { branch, keep })
  // The message of a failed turn is in the field again: with the turn, it is in the conversation.
  if (keep && request !== undefined && turn === tab.composer.returned) tab.composer.drop(request)
  if (keep) {
    await tab.conversation.refresh()
    return
  }
  page.tell({ branch, title: `Discarded the last turn in ${named(branch)}`, ...undoOfLast(page) })
  await giveBack()
}

/** Undoes a turn. Its message is in the message field again, unless the turn waits again. */
export async function undoTurn(page: Page, tab: Tab, turn: string): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const giveBack = messageToGiveBack(page, tab, turn)
  const finish = prepareReversal(page, branch)
  await attempt(
    page,
    async () => {
      const reversed = await page.connection.ask('undo turn', { branch, turn })
      if (reversed.of !== undefined) {
        await finish(reversed)
        return
      }
      hideRefusedUndo(page)
      const title = sentence(reversed.words.replace(/^take back /, 'taken back by a new commit: '))
      page.tell({ branch, title, ...undoOfLast(page) })
      await giveBack()
    },
    { branch },
  )
}

/** Undoes the last turn that can be undone, or says why there is none in a step. */
export async function undoLastTurn(page: Page, tab: Tab): Promise<void> {
  const { undoable } = tab.conversation
  const branch = branchOf(tab)
  const waiting = page.branch(branch ?? '')?.merging
  if (branch !== undefined && waiting !== undefined) {
    const title = `The AI’s turns in the ${nounOf(waiting)} are not committed yet: Undo takes back what was done last`
    page.tell({ branch, title }, 'info')
  } else if (undoable) await undoTurn(page, tab, undoable.turn)
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

/** Sets whether a file is in the AI's context as a whole, or at most as a summary. */
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

/** Whether the whole file is in the AI's context, according to the page. */
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

/**
 * Asks to allow commands in this repository. They run in a container, but the repository's own code decides what they
 * do.
 */
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

/** Shows the changes of a turn's commit, at `path` or at its first file. */
export function showCommit(tab: Tab, oid: string, path?: string): void {
  tab.review.kind.value = 'commit'
  tab.review.commit.value = oid
  if (path !== undefined) tab.review.select(path)
  tab.show({ kind: 'review' })
}
