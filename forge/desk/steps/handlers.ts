/** Answers the page's questions about steps (merge, rebase, push and the like). */
import type { Handlers } from '../contract/question.ts'
import type { stepQuestions } from '../contract/steps.ts'
import type { Window } from '../server/window.ts'
import { addRemote, changeRemoteUrl, removeRemote } from './remote-changes.ts'
import { pushRemote } from './remotes.ts'
import type { Steps } from './steps.ts'

export const stepHandlers = (steps: Steps): Handlers<typeof stepQuestions, Window> => ({
  outlooks: ({ steps: wanted }) => steps.outlooks(wanted),
  preview: ({ step }, window) => steps.preview(step, window.beginToPreview()),
  'way to pull': ({ branch, remote }) => steps.wayToPull(branch, remote),
  'push remote': async ({ branch }) => (await pushRemote(steps.room.objects.repository, branch)) ?? null,
  'stop preview': (_, window) => window.endPreview(),
  do: ({ step, ...previewed }) => steps.do(step, previewed),
  'add remote': ({ name, url }) => addRemote(steps.room, name, url),
  'change remote url': ({ name, url }) => changeRemoteUrl(steps.room, name, url),
  'remove remote': ({ name }) => removeRemote(steps.room, name),
  'stop step': () => steps.stop(),
})
