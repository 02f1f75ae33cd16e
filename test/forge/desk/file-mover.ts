/** Does the steps of file-steps.ts on a repository's main, from a number on, for a test that kills this process. */
import { openRepository } from '../../../core/git/repository.ts'
import { closeFile } from '../../../forge/desk/branches/places.ts'
import { openWork } from '../../../forge/desk/work.ts'
import { ask, edit, PERSON } from '../../support/desk.ts'
import { PLAIN } from '../../support/git.ts'
import { after, FIRST, type FileStep, stepAt } from './file-steps.ts'

const [path = '', state = '', first = '1'] = process.argv.slice(2)
const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
const work = await openWork(repository, { state, onNews: () => {} })
const branch = 'main'

async function run(step: FileStep): Promise<void> {
  switch (step.kind) {
    case 'new':
      await ask(work, 'new file', { branch, path: step.path })
      return
    case 'delete':
      await ask(work, 'delete', { branch, paths: [step.path] })
      return
    case 'move':
      await ask(work, 'move', { branch, moves: [{ from: step.from, to: step.to }] })
      return
    case 'save':
      await ask(work, 'save', { branch, paths: step.paths })
      return
    case 'type': {
      const editor = await edit(work, branch, step.path)
      await editor.type(step.text, editor.text.length)
      await closeFile(work.branches, { kind: 'branch', branch }, step.path)
    }
  }
}

let files = FIRST
for (let number = 1; ; number++) {
  const step = stepAt(number, files)
  files = after(files, step)
  if (number < Number(first)) continue
  console.log(`begin ${number}`)
  await run(step)
  console.log(`done ${number}`)
}
