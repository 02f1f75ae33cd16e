/**
 * Measures what a turn adds to the model's own time on a repository with many files: until the first request, from an
 * answer with a call to the next request, and from the last answer to the commit. `bun bench/desk-turn.ts [files]`
 * prints a table; nothing passes or fails.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRepository } from '../core/git/repository.ts'
import type { Model } from '../forge/ai/request.ts'
import { NO_USAGE } from '../forge/ai/session.ts'
import { openWork } from '../forge/desk/work.ts'
import { ask, PERSON } from '../test/support/desk.ts'
import { gitWith, PLAIN } from '../test/support/git.ts'
import { modelsOf, ScriptedModel, write } from '../test/support/scripted-model.ts'
import { median } from './measure.ts'

const FILES = Number(process.argv[2] ?? 50_000)
const [TURNS, CALLS] = [6, 10]

const pathOf = (file: number): string => `part${file % 23}/area${Math.floor(file / 23) % 29}/file${file}.ts`

async function makeRepository(path: string): Promise<void> {
  await gitWith('/', ['init', '-q', '--bare', '-b', 'main', path])
  const who = 'Ada <ada@example.org> 1700000000 +0000'
  const files = Array.from({ length: FILES }, (_, at) => {
    const text = `/** File ${at}. */\n${`export const line = 'of file ${at}'\n`.repeat(60)}`
    return `M 100644 inline ${pathOf(at)}\ndata ${text.length}\n${text}\n`
  })
  const head = `commit refs/heads/main\ncommitter ${who}\ndata 5\nBegin\n`
  await gitWith(path, ['fast-import', '--quiet'], `${head}${files.join('')}\n`)
  await gitWith(path, ['repack', '-adq'])
}

/** A model that answers at once and records when it was asked. */
class Clocked extends ScriptedModel {
  readonly asked: number[] = []
  answered = 0

  override async ask(...[request, options]: Parameters<Model['ask']>): ReturnType<Model['ask']> {
    this.asked.push(performance.now())
    const answer = await super.ask(request, options)
    this.answered = performance.now()
    return { ...answer, usage: { ...NO_USAGE, input: 100, output: 10 } }
  }
}

const folder = await mkdtemp(join(tmpdir(), 'desk-turn-'))
try {
  const path = join(folder, 'repository.git')
  await makeRepository(path)
  const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
  const model = new Clocked([])
  let ended = Promise.withResolvers<number>()
  await using work = await openWork(repository, {
    state: join(folder, 'state'),
    models: modelsOf(model),
    onNews: news => news.say === 'saved' && ended.resolve(performance.now()),
  })
  const [firsts, calls, commits]: [number[], number[], number[]] = [[], [], []]
  for (let turn = 0; turn < TURNS; turn++) {
    const steps = Array.from({ length: CALLS }, (_, at) => ({ calls: [write(pathOf(at * 4001), `turn ${turn}\n`)] }))
    model.play([...steps, { text: 'Done.' }, { text: `Turn ${turn}` }])
    model.asked.length = 0
    ended = Promise.withResolvers<number>()
    const begun = performance.now()
    await work.chat.turns.send('main', 'Please.')
    const end = await ended.promise
    const [first = 0, ...rest] = model.asked
    firsts.push(first - begun)
    calls.push(...rest.slice(0, CALLS).map((at, index) => at - (model.asked[index] ?? 0)))
    commits.push(end - model.answered)
    while ((await ask(work, 'conversation', { at: { kind: 'branch', branch: 'main' } })).turn) await Bun.sleep(5)
  }
  const [cold = 0, ...warm] = firsts
  console.log(`until the first request, summaries not made yet: ${cold.toFixed(0)} ms`)
  console.log(`until the first request (goal: under 150): ${median(warm).toFixed(0)} ms`)
  console.log(`a call, from answer to next request (goal: under 50): ${median(calls).toFixed(0)} ms`)
  console.log(`the commit (goal: under 100): ${median(commits).toFixed(0)} ms`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
