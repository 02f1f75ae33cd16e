/** Answers the page's questions about the graph. */
import { branchesWith } from '../branches/branches.ts'
import type { graphQuestions } from '../contract/graph.ts'
import type { Handlers } from '../contract/question.ts'
import { rowsOf } from '../reading/history.ts'
import type { Window } from '../server/window.ts'
import type { GraphView } from './graph-view.ts'
import { readTagMessages } from './tag-messages.ts'

export const graphHandlers = (graph: GraphView): Handlers<typeof graphQuestions, Window> => ({
  graph: ({ filter, from, count }) => graph.window(filter, from, count),
  'graph place': async ({ filter, name }) => ({ row: await graph.place(filter, name) }),
  async 'find commits'({ filter, words, described = 0 }, window) {
    const { search, signal } = window.beginToFind()
    try {
      const found = await graph.find(filter, words, signal)
      const oids = found.rows.slice(0, described).map(({ oid }) => oid)
      return { ...found, commits: await rowsOf(graph.objects, oids) }
    } finally {
      window.endFinding(search)
    }
  },
  'branches with': ({ commit }) => branchesWith(graph.objects.repository, commit),
  refs: () => graph.refs(),
  'tag messages': ({ refs }) => readTagMessages(graph.objects.repository, refs),
})
