/** The actions on the AI of a branch, for keys and the palette. */
import type { Approval, Conversation } from '../../contract/chat.ts'
import { isMerging } from '../page/branch-facts.ts'
import type { Page, Tab } from '../page/state.ts'
import type { Actions } from '../ui/action.ts'
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
  undoLastTurn,
} from './chat-actions.ts'

/** The tab of a branch. */
interface InTab {
  page: Page
  tab: Tab
}

export const chatActions = {
  write: { label: 'Write to the AI', keys: 'Alt+M', icon: 'chat', run: ({ page, tab }) => focusMessage(page, tab) },
  dock: {
    label: 'Chat beside the editor',
    inPalette: ({ page }) => (page.isDocked.value ? 'Move the chat to its tab' : 'Chat beside the editor'),
    keys: 'Alt+Shift+J',
    icon: 'panel',
    isPossible: ({ page }) => page.isWide.value,
    run: ({ page }) => page.dock(!page.isDocked.peek()),
  },
  send: {
    label: 'Send the message',
    keys: 'Ctrl+Enter',
    icon: 'chat',
    isPossible: ({ tab }) => tab.pane.kind === 'chat' && tab.composer.text.value.trim() !== '',
    run: ({ page, tab }) => send(page, tab),
  },
  stop: {
    label: 'Stop the AI',
    keys: 'Alt+Q',
    icon: 'stop',
    isPossible: ({ tab }) => tab.conversation.isBusy.value,
    run: ({ page, tab }) => stop(page, tab),
  },
  keep: {
    label: 'Keep the changes of the turn',
    keys: 'Alt+Shift+Y',
    icon: 'check',
    isPossible: ({ tab }) => tab.conversation.isUnfinished.value,
    run: ({ page, tab }) => keepTurn(page, tab),
  },
  discard: {
    label: 'Discard the changes of the turn…',
    keys: 'Alt+Shift+Q',
    icon: 'trash',
    isPossible: ({ tab }) => tab.conversation.isUnfinished.value,
    run: ({ page, tab }) => discardTurn(page, tab),
  },
  undo: {
    label: 'Undo the last turn',
    keys: 'Alt+U',
    icon: 'undo',
    isPossible: ({ page, tab }) => {
      const { undoable, sections, isBusy } = tab.conversation
      const isInStep = isMerging(page, tab) && sections.value.length > 0
      return (undoable !== undefined || isInStep) && !isBusy.value
    },
    run: ({ page, tab }) => undoLastTurn(page, tab),
  },
  lookAtTool: {
    label: 'Review the tool that needs your approval…',
    inPalette: ({ tab }) => `Review the tool ${readable(baseName(pendingApproval(tab)?.path ?? ''))}…`,
    keys: 'Alt+Y',
    icon: 'shield',
    isPossible: ({ tab }) => pendingApproval(tab) !== undefined,
    run: ({ page, tab }) => {
      const tool = pendingApproval(tab)
      if (tool) lookAtTool(page, tool)
    },
  },
  context: {
    label: 'Add the file to the context, or remove it',
    inPalette: ({ tab }) => {
      const path = pathInQuestion(tab) ?? ''
      const name = readable(baseName(path))
      return isInContext(tab, path) ? `Remove ${name} from the context` : `Add ${name} to the AI’s context`
    },
    keys: 'Alt+A',
    icon: 'bot',
    isPossible: ({ tab }) => pathInQuestion(tab) !== undefined && modelOf(tab) !== undefined,
    run: ({ page, tab }) => {
      const path = pathInQuestion(tab)
      if (path !== undefined) setContext(page, tab, path, !isInContext(tab, path))
    },
  },
  chooseModel: {
    label: 'Select the model…',
    keys: 'Alt+Shift+M',
    icon: 'cpu',
    isPossible: ({ tab }) => modelOf(tab) !== undefined,
    run: ({ page, tab }) => {
      tab.show({ kind: 'chat' })
      // After rendering, when the chat is in the document.
      setTimeout(() => page.places.focus('model'))
    },
  },
  allowCommands: {
    label: 'Allow the AI to run commands…',
    inPalette: ({ tab }) =>
      modelOf(tab)?.commands.isAllowed ? 'Do not allow the AI to run commands' : 'Allow the AI to run commands…',
    keys: 'Alt+Shift+R',
    icon: 'cpu',
    isPossible: ({ tab }) => {
      const commands = modelOf(tab)?.commands
      return commands !== undefined && (commands.isAllowed || commands.why === undefined)
    },
    run: ({ page, tab }) => allowCommands(page, tab),
  },
} satisfies Actions<InTab>

/** The first tool of the repository that waits for approval. */
function pendingApproval({ conversation }: Tab): Approval | undefined {
  return conversation.approvals[0]
}

/** The conversation, if it has a model. */
function modelOf({ conversation }: Tab): Conversation | undefined {
  const head = conversation.head.value
  return head?.missing === undefined ? head : undefined
}

/** The file that the action applies to: the one selected in the explorer, else the shown one. */
function pathInQuestion(tab: Tab): string | undefined {
  const selected = tab.tree.selected.value
  if (selected === tab.path) return tab.path
  const isFile = tab.tree.rows.value.some(({ path, kind }) => path === selected && kind === 'file')
  return isFile ? selected : tab.path
}
