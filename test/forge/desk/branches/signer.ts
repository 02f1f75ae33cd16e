/** Saves a.txt of a repository's main, and types more on request, for a test that kills it during the signature. */
import { openRepository } from '../../../../core/git/repository.ts'
import { openWork } from '../../../../forge/desk/work.ts'
import { ask, edit, PERSON } from '../../../support/desk.ts'
import { PLAIN } from '../../../support/git.ts'

const [path = '', state = ''] = process.argv.slice(2)
const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
const work = await openWork(repository, { state, onNews: () => undefined })
const editor = await edit(work, 'main', 'a.txt')
await editor.type('saved\n')
void ask(work, 'save', { branch: 'main', paths: 'all' })
for await (const _line of console) await editor.type('typed\n')
