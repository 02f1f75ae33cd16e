/** What can be done with the AI of a branch, by the palette and by keys. */
import { branchOf } from '../app/actions.ts'
import type { Command } from '../app/command.ts'
import type { Page, Tab } from '../app/state.ts'
import { baseName, readable } from '../ui/names.ts'
import {
  allowCommands,
  discardTurn,
  focusMessage,
  isInContext,
  keepTurn,
  lookAtTool,
  send,
  setContext,
  stop,
  undoTurn,
} from './chat-actions.ts'

/** Where the model is chosen; it is in the page where the chat is. */
const MODEL = '.model select'

export function chatCommands(page: Page, tab: Tab): Command[] {
  if (branchOf(tab) === undefined) return []
  return [
    { words: 'Write to the AI', keys: 'Alt+M', icon: 'chat', run: () => focusMessage(page, tab) },
    ...(page.isWide.value ? [dockCommand(page)] : []),
    ...turnCommands(page, tab),
    ...contextCommands(page, tab),
    ...settingCommands(page, tab),
  ]
}

function dockCommand(page: Page): Command {
  return {
    words: page.isDocked.value ? 'Move the chat to its tab' : 'Chat beside the editor',
    keys: 'Alt+Shift+J',
    icon: 'panel',
    run: () => page.dock(!page.isDocked.peek()),
  }
}

function turnCommands(page: Page, tab: Tab): Command[] {
  const { composer, conversation } = tab
  const commands: Command[] = []
  const isChat = tab.pane.kind === 'chat' && composer.text.value.trim() !== ''
  if (isChat) commands.push({ words: 'Send the message', keys: 'Ctrl+Enter', icon: 'chat', run: () => send(page, tab) })
  if (conversation.isBusy.value) {
    commands.push({ words: 'Stop the AI', keys: 'Alt+Q', icon: 'stop', run: () => stop(page, tab) })
  }
  if (conversation.isUnfinished.value) {
    commands.push(
      { words: 'Keep what the turn did', keys: 'Alt+Shift+Y', icon: 'check', run: () => keepTurn(page, tab) },
      { words: 'Discard what the turn did…', keys: 'Alt+Shift+Q', icon: 'trash', run: () => discardTurn(page, tab) },
    )
  }
  const end = conversation.undoable
  if (end && !conversation.isBusy.value) {
    commands.push({
      words: 'Undo the last turn',
      keys: 'Alt+U',
      icon: 'undo',
      run: () => undoTurn(page, tab, end.turn),
    })
  }
  const [approval] = conversation.approvals
  if (approval) {
    const words = `Review the tool ${readable(baseName(approval.path))}…`
    commands.push({ words, keys: 'Alt+Y', icon: 'shield', run: () => lookAtTool(page, approval) })
  }
  return commands
}

function contextCommands(page: Page, tab: Tab): Command[] {
  const path = pathInQuestion(tab)
  const { head } = tab.conversation
  if (path === undefined || !head.value || head.value.missing !== undefined) return []
  const isIn = isInContext(tab, path)
  const name = readable(baseName(path))
  return [
    {
      words: isIn ? `Remove ${name} from the context` : `Add ${name} to the AI’s context`,
      keys: 'Alt+A',
      icon: 'bot',
      run: () => setContext(page, tab, path, !isIn),
    },
  ]
}

/** The file that the explorer points at, which is the one that is shown, mostly. */
function pathInQuestion(tab: Tab): string | undefined {
  const selected = tab.tree.selected.value
  if (selected === tab.path) return tab.path
  const isFile = tab.tree.rows.value.some(({ path, kind }) => path === selected && kind === 'file')
  return isFile ? selected : tab.path
}

function settingCommands(page: Page, tab: Tab): Command[] {
  const head = tab.conversation.head.value
  if (!head || head.missing !== undefined) return []
  const choose: Command = {
    words: 'Choose the model…',
    keys: 'Alt+Shift+M',
    icon: 'cpu',
    run: () => {
      tab.show({ kind: 'chat' })
      // The chat is in the page after it was drawn.
      setTimeout(() => document.querySelector<HTMLElement>(MODEL)?.focus())
    },
  }
  const { isAllowed, why } = head.commands
  if (!isAllowed && why !== undefined) return [choose]
  const words = isAllowed ? 'Don’t let the AI run commands' : 'Let the AI run commands…'
  return [choose, { words, keys: 'Alt+Shift+R', icon: 'cpu', run: () => allowCommands(page, tab) }]
}
