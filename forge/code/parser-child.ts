/** The process that parses: gets texts, replies with their facts, one after the other. See parsers.ts. */
import { factsIn } from './parse.ts'
import type { ParseOrder, ParseReply } from './parsers.ts'

/** With more memory than this, in bytes, the process ends after its reply: WebAssembly gives no memory back. */
const MAX_MEMORY = 700 << 20

process.on('message', async ({ grammar, text }: ParseOrder) => {
  const facts = await factsIn(grammar, text)
  const isLast = process.memoryUsage.rss() > MAX_MEMORY
  const reply: ParseReply = { facts, isLast }
  process.send?.(reply)
})
process.on('disconnect', () => process.exit())
