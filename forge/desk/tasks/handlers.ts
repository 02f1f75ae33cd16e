/** Answers the page's questions about the tasks. */
import type { Handlers } from '../contract/question.ts'
import type { tasksQuestions } from '../contract/tasks.ts'
import type { Window } from '../server/window.ts'
import type { Tasks } from './tasks-on-desk.ts'

/** `tasks`: returns the desk's tasks; throws if the desk was opened without. */
export const tasksHandlers = (tasks: () => Tasks): Handlers<typeof tasksQuestions, Window> => ({
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
  'tell tasks': async ({ word }) => ({ words: await tasks().tell(word) }),
})
