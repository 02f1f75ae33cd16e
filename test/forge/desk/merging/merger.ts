/** Merges, resolves, finishes and undoes in main in a loop, for a test that kills this process. */

import { openRepository } from '../../../../core/git/repository.ts'
import { closeFile } from '../../../../forge/desk/branches/places.ts'
import { openWork } from '../../../../forge/desk/work.ts'
import { edit, PERSON } from '../../../support/desk.ts'
import { PLAIN } from '../../../support/git.ts'

const [path = '', state = '', commit = ''] = process.argv.slice(2)
const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
const work = await openWork(repository, { state, onNews: () => undefined })
const at = { kind: 'branch', branch: 'main' } as const
console.log('opened')
for (let round = 1; ; round++) {
  await work.steps.do({ step: 'merge', source: { commit, branch: 'topic', words: 'topic' }, onto: 'main' })
  console.log('begun')
  const editor = await edit(work, 'main', 'a.txt')
  await editor.type(`settled ${round}\n`, 0, editor.text.length)
  await closeFile(work.branches, at, 'a.txt')
  await work.flush()
  console.log(`written ${round}`)
  await work.mergings.finish('main')
  console.log('finished')
  await work.undo()
  console.log('undone')
  await work.mergings.abort('main')
  console.log('aborted')
}
