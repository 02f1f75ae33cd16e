/**
 * Measures what the desk's AI adds to the model's own time: how much of a long session is read from the provider's
 * cache, and how long packing a request takes on 50,000 files. `bun bench/ai.ts [REPOSITORY]`: with the path of a
 * repository from an earlier run, that is used again.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openObjects } from '../core/git/objects.ts'
import { openRepository } from '../core/git/repository.ts'
import { writeTree } from '../core/git/trees.ts'
import { requestFor } from '../forge/ai/context.ts'
import { prepareSession, type State, withToolsDone } from '../forge/ai/opening.ts'
import { newSession, type Session, withActive, withAnswer, withUser } from '../forge/ai/session.ts'
import { openSummaries } from '../forge/ai/summaries.ts'
import { FILES, playLongSession, REQUESTS, Talk, TOOLS } from '../test/forge/ai/talk.ts'
import { bare, commit, type Files, git, PLAIN } from '../test/support/git.ts'
import { median } from './measure.ts'

const COUNT = 50_000
const ROUNDS = 5
const NOW = Date.UTC(2026, 10, 22)
const WINDOWS = [200_000, 1_000_000]

const pathOf = (file: number): string => `part${file % 23}/area${Math.floor(file / 23) % 29}/file${file}.ts`
const contentOf = (file: number): string =>
  `/** File ${file}: what it is about, in one sentence. And more of it. */\nimport { a } from './a.ts'\n\n` +
  Array.from(
    { length: 12 },
    (_, at) => `export function act${file}x${at}(path: string): number {\n  return a(path, ${at})\n}\n\n`,
  ).join('')

async function make(path: string): Promise<void> {
  await bare(path)
  for (let from = 0; from < COUNT; from += 10_000) {
    const files: Files = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [pathOf(from + at), contentOf(from + at)]),
    )
    await commit(path, 'main', files, { message: `Add files from ${from}` })
  }
  await git(path, 'repack', '-adfq')
}

const say = (what: string, value: number | string, unit: string) =>
  console.log(`${what.padEnd(66)} ${(typeof value === 'number' ? value.toFixed(1) : value).padStart(9)} ${unit}`)

async function timed<T>(act: () => Promise<T>): Promise<[T, number]> {
  const begun = performance.now()
  const result = await act()
  return [result, performance.now() - begun]
}

for (const provider of ['anthropic', 'openrouter', 'openai'] as const) {
  await using talk = await Talk.open(FILES, provider)
  await playLongSession(talk)
  say(`read from the cache in ${REQUESTS} requests, ${provider} (goal: over 90)`, talk.server.shareRead * 100, '%')
}

const folder = await mkdtemp(join(tmpdir(), 'forge-bench-'))
try {
  const path = process.argv[2] ?? join(folder, 'large.git')
  if (!(await stat(path).catch(() => undefined))) await make(path)
  await using objects = openObjects(await openRepository(path, { env: PLAIN }))
  const tree = (await objects.info('refs/heads/main^{tree}'))?.oid ?? ''
  const active = Array.from({ length: 20 }, (_, at) => pathOf(at * 23))
  for (const window of WINDOWS) {
    const at = `${COUNT.toLocaleString('en')} files, window of ${window.toLocaleString('en')}`
    const cold = openSummaries(objects, { folder })
    const stateWith = (summaries: typeof cold, changed = tree): State => {
      const model = { name: 'anthropic/x', window }
      return { objects, summaries, model, tools: TOOLS, tree: changed, branch: 'main' }
    }
    const first = async (state: State) => {
      const prepared = await prepareSession(active.reduce(withActive, newSession()), state, NOW)
      const session = withUser(prepared, { turn: 't', at: NOW, text: 'Hello' }, it => it)
      return { session, request: await requestFor(session, state) }
    }
    const [{ request }, coldly] = await timed(() => first(stateWith(cold)))
    cold[Symbol.dispose]()
    say(`first request ever, ${at}`, coldly, 'ms')
    say('  its size', JSON.stringify(request).length / 1000, 'KB')
    const times = { started: [] as number[], committed: [] as number[], again: [] as number[], loop: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      using summaries = openSummaries(objects, { folder })
      times.started.push((await timed(() => first(stateWith(summaries))))[1])
      const after = async (edit: number): Promise<State> => {
        const bytes = Buffer.from(`// Edit ${edit} for ${window}\n`)
        const edits = new Map([[pathOf(edit), { mode: '100644', bytes }]])
        return stateWith(summaries, await writeTree(objects, tree, edits))
      }
      const state = await after(round)
      times.committed.push((await timed(() => first(state)))[1])
      const later = await after(round + 100)
      const [{ session }, again] = await timed(() => first(later))
      times.again.push(again)
      const step = async () => requestFor(await afterCalls(session, later), later)
      times.loop.push((await timed(step))[1])
    }
    say(`first request after a start, ${at}`, median(times.started), 'ms')
    say('first request after a start and a commit (goal: under 150)', median(times.committed), 'ms')
    say('first request after one more commit (goal: under 150)', median(times.again), 'ms')
    say('each further one, with an edit and 20 active files', median(times.loop), 'ms')
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Gives the session after an answer with one call, as if that call had been run. */
async function afterCalls(session: Session, state: State): Promise<Session> {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
  const blocks = [{ type: 'call' as const, id: 'c', name: 'search_replace', arguments: {} }]
  const answered = withAnswer(session, { turn: 't', model: 'm', answer: { blocks, usage } }, it => it)
  return await withToolsDone(answered, state, { touched: [pathOf(1)], activated: [pathOf(2)], deactivated: [] })
}
