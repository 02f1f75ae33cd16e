/** Answers the page's questions about Forklift. */
import type { forkliftQuestions } from '../contract/forklift.ts'
import type { Handlers } from '../contract/question.ts'
import type { Window } from '../server/window.ts'
import type { ForkliftOnDesk } from './forklift-on-desk.ts'

/** `forklift`: returns the desk's Forklift; throws if the desk was opened without. */
export const forkliftHandlers = (forklift: () => ForkliftOnDesk): Handlers<typeof forkliftQuestions, Window> => ({
  forklift: () => forklift().describe(),
  'run forklift': () => forklift().run(),
  'stop forklift': () => forklift().stop(),
  'open run': async ({ run }) => ({ branch: await forklift().open(run) }),
  publish: ({ branch }) => forklift().publish(branch),
})
