/**
 * A process that runs the steps of a task one after the other, as a worker does, and prints each finished activity: for
 * tests to kill. Each request to its model appends a byte to a file.
 */
import { appendFileSync } from 'node:fs'
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { activitiesOf } from '../../../../forge/tasks/activities/activities.ts'
import type { Activities, Reference } from '../../../../forge/tasks/contract.ts'
import { ScriptedModel } from '../../../support/scripted-model.ts'
import { settingsOf } from '../../ai/models.ts'

const [path = '', state = '', paid = '', run = '', base = '', plan = '', count = '1'] = process.argv.slice(2)

const model = new ScriptedModel(request => {
  appendFileSync(paid, '.')
  // The request of a step contains the step's number.
  const number = /Do number (\d+)\./.exec(JSON.stringify(request))?.[1] ?? 'none'
  const edits = [{ kind: 'write', path: `made-${number}.txt`, content: `number ${number}\n` }]
  return { calls: [{ name: 'answer', arguments: { answer: { signal: 'success', words: `Did ${number}.`, edits } } }] }
})

const objects = openObjects(await openRepository(path))
const { activities } = activitiesOf({
  objects,
  settings: await settingsOf({ FORGE_MODEL: model.name, OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }),
  env: { XDG_STATE_HOME: state },
  openModel: async () => model,
  check: () => Promise.reject(new Error('nothing is checked here')),
  lint: () => Promise.reject(new Error('nothing is linted here')),
  surroundings: () => ({ signal: new AbortController().signal, heartbeat: () => undefined }),
})

/** The activities, each of which prints when it is done. */
const told = new Proxy(activities, {
  get: (target, name: keyof Activities) => async (input: never) => {
    const result = await target[name](input)
    process.stdout.write(`${name}\n`)
    return result
  },
})

const about = (text: string): Promise<Reference> =>
  told.keepWords({ run, attempt: 1, step: 'none', kind: 'step', words: JSON.stringify({ text, files: [] }) })

const { wholeStep } = await import('./scene.ts')
let head = base
for (let at = 1; at <= Number(count); at++) {
  const step = await about(`Do number ${at}.`)
  const { commit } = await wholeStep(told, {
    ...{ run, task: 'stack', attempt: 1, step: `stack/1/${at}`, kind: 'implement', tier: 'generation', choice: 0 },
    ...{ base: head, depth: 0, about: [{ kind: 'plan', oid: plan }, step] },
  })
  if (commit === undefined) throw new Error('The step changed nothing')
  head = commit
}
process.stdout.write(`end ${head}\n`)
process.exit()
