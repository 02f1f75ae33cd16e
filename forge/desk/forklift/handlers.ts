/** Handlers of the questions about Forklift. */
import type { forkliftQuestions } from '../contract/forklift.ts'
import type { Handlers } from '../contract/question.ts'
import type { Window } from '../server/window.ts'
import type { ForkliftOnDesk } from './forklift-on-desk.ts'

/** `forklift` throws if the desk has none. */
export const forkliftHandlers = (forklift: () => ForkliftOnDesk): Handlers<typeof forkliftQuestions, Window> => ({
  forklift: () => forklift().describe(),
  'run forklift': () => forklift().run(),
  'stop forklift': () => forklift().stop(),
  'open run': async ({ run }) => ({ branch: await forklift().open(run) }),
  publish: ({ branch }) => forklift().publish(branch),
})
