/** The process that parses: gets texts, replies with what is known of them, one after the other. See parsers.ts. */
import { loadGrammar, parse } from './parse.ts'
import type { ParseOrder, ParserMessage } from './parsers.ts'

/** With more memory than this, in bytes, the process ends after its reply: WebAssembly gives no memory back. */
const MAX_MEMORY = 700 << 20

process.on('message', async (order: ParseOrder) => {
  await loadGrammar(order.grammar)
  // What ends this process from here on is the text.
  send('begins')
  const parsed = await parse(order)
  send({ ...parsed, isLast: process.memoryUsage.rss() > MAX_MEMORY })
})
process.on('disconnect', () => process.exit())

function send(message: ParserMessage): void {
  process.send?.(message)
}
