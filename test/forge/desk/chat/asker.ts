/** Runs a turn in a repository's main, for a test that kills this process: prints when it began and how it ended. */
import { openRepository } from '../../../../core/git/repository.ts'
import { SetModels } from '../../../../forge/desk/chat/models.ts'
import { openWork } from '../../../../forge/desk/work.ts'
import { PERSON } from '../../../support/desk.ts'
import { PLAIN } from '../../../support/git.ts'

const [path = '', state = '', text = ''] = process.argv.slice(2)
const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
const ended = Promise.withResolvers<void>()
const work = await openWork(repository, {
  state,
  models: new SetModels(process.env),
  onNews: news => {
    if (news.say === 'turn' && news.news.is === 'changed') ended.resolve()
  },
})
console.log('opened')
console.log(`begun ${await work.chat.turns.send('main', text)}`)
await ended.promise
console.log('ended')
// Keeps running until it is killed.
await Bun.sleep(60_000)
