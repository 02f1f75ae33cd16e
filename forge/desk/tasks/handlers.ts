/** Answers the page's questions about the tasks. */
import type { Handlers } from '../contract/question.ts'
import type { tasksQuestions } from '../contract/tasks.ts'
import type { Window } from '../server/window.ts'
import type { Tasks } from './tasks-on-desk.ts'

/** `tasks`: returns the desk's tasks; throws if the desk was opened without. `openMerge`: opens what a run has kept. */
export const tasksHandlers = (
  tasks: () => Tasks,
  openMerge: (run: string) => Promise<string>,
): Handlers<typeof tasksQuestions, Window> => ({
  'tasks mark': () => tasks().mark(),
  'tasks runs': () => tasks().runs(),
  'tasks run': ({ run }) => tasks().run(run),
  'tasks plan': ({ run }) => tasks().plan(run),
  'tasks plan check': ({ run, text }) => tasks().checkPlan(run, text),
  'tasks task': ({ run, task }) => tasks().task(run, task),
  'tasks journal': ({ run, task }) => tasks().journal(run, task),
  'tasks lessons': () => tasks().lessons(),
  'tasks landing': fields => tasks().landing(fields),
  'start run': fields => tasks().start(fields),
  'resolve in parts': fields => tasks().resolveInParts(fields),
  'open merge': async ({ run }) => {
    await tasks().keepMerge(run)
    return { branch: await openMerge(run) }
  },
  'tell tasks': async ({ word }) => ({ words: await tasks().tell(word) }),
})
