/** Answers the questions about the graph. */
import type { graphQuestions } from '../contract/graph.ts'
import type { Handlers } from '../contract/question.ts'
import type { Window } from '../server/window.ts'
import type { GraphView } from './graph-view.ts'

export const graphHandlers = (graph: GraphView): Handlers<typeof graphQuestions, Window> => ({
  graph: ({ filter, from, count }) => graph.window(filter, from, count),
  'graph place': async ({ filter, name }) => ({ row: await graph.place(filter, name) }),
  async 'find commits'({ filter, words }, window) {
    const { search, signal } = window.beginToFind()
    try {
      return await graph.find(filter, words, signal)
    } finally {
      window.endFinding(search)
    }
  },
  refs: () => graph.refs(),
})
