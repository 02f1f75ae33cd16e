/** A process that writes to a run's store repeatedly, and prints what is stored: for tests to kill. */
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'

const [path = '', run = '', name = '', count = '1'] = process.argv.slice(2)
await using objects = openObjects(await openRepository(path))
const store = new RunStore(objects, run)
for (let at = 0; at < Number(count); at++) {
  const [oid] = await Promise.all([
    store.keep('journal', `${name}-${at}`, `${name} ${at}`),
    store.put('artifact', `${name} found ${at}`),
    store.keep('decisions', 'the same of all', name),
  ])
  process.stdout.write(`${name}-${at} ${oid}\n`)
}
