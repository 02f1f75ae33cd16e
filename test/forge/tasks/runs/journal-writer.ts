/** A process that writes lines of a run's journal, one after the other: for tests to kill. */
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { Journal } from '../../../../forge/tasks/runs/journal.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'

const [path = '', folder = '', run = '', count = '1'] = process.argv.slice(2)
await using objects = openObjects(await openRepository(path))
using journal = await Journal.open({ store: new RunStore(objects, run), folder, secrets: [] })
for (let at = 0; at < Number(count); at++) {
  await journal.note({ run, id: `line ${at}`, what: 'decided', words: `Line ${at}, ${'long '.repeat(40)}` })
  process.stdout.write('.')
}
