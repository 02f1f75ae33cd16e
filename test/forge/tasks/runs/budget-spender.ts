/** A process that reserves as many requests at once as it is allowed, and prints an r for each. */
import { Ledger, OutOfBudget } from '../../../../forge/tasks/runs/budget.ts'

const [folder = '', name = '', count = '1', requests = '1', dies] = process.argv.slice(2)
const ledger = await Ledger.open(folder, { paid: async () => [] })
const work = Array.from({ length: Number(count) }, async (_, at) => {
  await Bun.sleep(Math.random() * 5)
  try {
    const price = { input: 1e6, output: 1e6, cacheRead: 0, cacheWrite: 0 }
    const asked = {
      key: `${name} ${at}`,
      model: 'a/b',
      kind: 'implement',
      tier: 'generation',
      input: 0,
      output: 1,
      price,
    }
    const reserved = ledger.reserve(asked, { depth: 1, requests: Number(requests) })
    if (reserved === 'wait') throw new Error('A limit of requests is waited for')
    process.stdout.write('r')
    await Bun.sleep(1)
    if (dies) process.kill(process.pid, 'SIGKILL')
    ledger.settle(reserved, { input: 1, output: 0, cacheRead: 0, cacheWrite: 0 })
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error
  }
})
await Promise.all(work)
