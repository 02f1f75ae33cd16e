/**
 * Types into a file of the branch `topic` and renames the branch: a process for a test that kills it before one of its
 * git processes.
 */
import { writeFile } from 'node:fs/promises'
import { openRepository } from '../../../../core/git/repository.ts'
import { openWork } from '../../../../forge/desk/work.ts'
import { edit, PERSON } from '../../../support/desk.ts'
import { PLAIN } from '../../../support/git.ts'

const [path = '', state = '', pid = '', to = ''] = process.argv.slice(2)
const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
const work = await openWork(repository, { state, onNews: () => undefined })
await (await edit(work, 'topic', 'a.txt')).type('typed\n')
await work.flush()
// From now on git processes are counted.
await writeFile(pid, String(process.pid))
await work.renameBranch('topic', to)
process.exit(0)
