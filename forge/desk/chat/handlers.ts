/** Answers the page's questions about chats. */
import { commitNamed } from '../branches/places.ts'
import type { chatQuestions } from '../contract/chat.ts'
import type { Handlers } from '../contract/question.ts'
import type { Mergings } from '../merging/mergings.ts'
import type { Window } from '../server/window.ts'
import type { Chat } from './chat.ts'
import { TurnRuns, type Turns } from './turns.ts'

export function chatHandlers(chat: Chat, mergings: Mergings): Handlers<typeof chatQuestions, Window> {
  const { turns, conversations } = chat
  const { objects } = chat.branches.room
  return {
    conversation: async ({ at }) =>
      await conversations.at(at.kind === 'branch' ? at : { ...at, commit: await commitNamed(objects, at.commit) }),
    send: ({ branch, text }) => sendUnlessBusy(turns, branch, text),
    'stop turn': ({ branch }) => turns.stop(branch),
    'end turn': ({ branch, keep }) => turns.end(branch, keep),
    'undo turn': ({ branch, turn }) => chat.undoTurn(branch, turn),
    'choose model': ({ branch, model }) => chat.chooseModel(branch, model),
    'set context': ({ branch, path, isWhole }) => chat.setContext(branch, path, isWhole),
    'approve tool': ({ branch, path, oid, isApproved }) => turns.approve(branch, path, oid, isApproved),
    'allow commands': ({ isAllowed }) => chat.allowCommands(isAllowed),
    formatters: ({ branch }) => chat.formatters(branch),
    'format file': async ({ branch, path }) => ({ text: await chat.format(branch, path) }),
    'ask for conflicts': async ({ branch, paths, only }) => {
      const { text, asked } = await mergings.requestFor(branch, paths, only)
      return { turn: await turns.send(branch, text, asked) }
    },
  }
}

async function sendUnlessBusy(turns: Turns, branch: string, text: string): Promise<{ turn?: string }> {
  try {
    return { turn: await turns.send(branch, text) }
  } catch (error) {
    if (error instanceof TurnRuns) return {}
    throw error
  }
}
