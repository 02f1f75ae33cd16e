/** The process that parses: gets texts, replies with what is known of them, one after the other. See parsers.ts. */
import { parse } from './parse.ts'
import type { ParseOrder, ParseReply } from './parsers.ts'

/** With more memory than this, in bytes, the process ends after its reply: WebAssembly gives no memory back. */
const MAX_MEMORY = 700 << 20

process.on('message', async (order: ParseOrder) => {
  const parsed = await parse(order)
  const isLast = process.memoryUsage.rss() > MAX_MEMORY
  const reply: ParseReply = { ...parsed, isLast }
  process.send?.(reply)
})
process.on('disconnect', () => process.exit())
