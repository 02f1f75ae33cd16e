/**
 * What a page asks first. The desk answers it in the page itself, for who comes by its address: so that nothing has to
 * be asked before there is something to see.
 */
import type { Asked } from './contract/contract.ts'

/** So many rows of the graph are asked for at a time. */
export const CHUNK = 100

const DESK: Asked = { id: 0, ask: 'desk' }
const GRAPH: readonly Asked[] = [
  { id: 1, ask: 'graph', filter: { withAbandoned: false }, from: 0, count: CHUNK },
  { id: 2, ask: 'refs' },
]

/** Their ids are from 0 on. The graph is asked for where that is what the page will show. */
export const firstQuestions = (showsGraph: boolean): readonly Asked[] => (showsGraph ? [DESK, ...GRAPH] : [DESK])

/** The element of the page that has the answers, and the words in its place where the page has none. */
export const BEGINNING = 'beginning'
