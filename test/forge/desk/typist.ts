/** Types a number per line into a.txt of a repository's main, for a test that kills this process. */
import { openRepository } from '../../../core/git/repository.ts'
import { openWork } from '../../../forge/desk/work.ts'
import { ask, edit, PERSON } from '../../support/desk.ts'
import { PLAIN } from '../../support/git.ts'

const [path = '', state = '', first = '0', saves = ''] = process.argv.slice(2)
const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
const work = await openWork(repository, { state, onNews: news => console.error(JSON.stringify(news)) })
const editor = await edit(work, 'main', 'a.txt')
for (let number = Number(first); ; number++) {
  await editor.type(`${number}\n`)
  console.log(number)
  await Bun.sleep(3)
  if (saves === 'and saves' && number % 97 === 0) void ask(work, 'save', { branch: 'main', paths: 'all' })
}
