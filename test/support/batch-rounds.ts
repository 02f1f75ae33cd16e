/**
 * Runs in batches while worker and Temporal server are killed at random moments. `bun test/support/batch-rounds.ts 100`
 * kills a hundred times, and prints what it has measured.
 */

import type { Heard, Turn } from '../doubles/model-server.ts'
import { callsOf } from '../doubles/task-calls.ts'
import { type Target, TasksWorld, type TasksWorldOptions } from './tasks-world.ts'

type Answer = Record<string, unknown>

/**
 * `AGENTS`: the sub-agents of each round (a run). `LINES`: its requests in batches, one that asks for sub-agents, one
 * for each of them, and one with their texts.
 */
const AGENTS = 3
const LINES = AGENTS + 2
/** At most this many kills in one round. */
const KILLS_PER_ROUND = 8
const TARGETS: Target[] = ['worker', 'server', 'both']

/**
 * The model's answers: a plan with one task that asks sub-agents and writes their texts. All texts contain the number
 * of the round.
 */
function answerTo({ system, messages }: Pick<Heard, 'system' | 'messages'>): Answer {
  const asked = messages.map(({ text }) => text).join('\n')
  const [, kind = ''] = /^# Your task: (.+)$/m.exec(system) ?? []
  const [, round = ''] = /Round (\d+)/.exec(asked) ?? []
  if (kind === 'the plan') return { signal: 'success', words: 'One task.', plan: planOf(round) }
  if (kind === 'a text') {
    const [, what = ''] = /Say (\S+)\./.exec(asked) ?? []
    return { signal: 'success', words: 'Said.', text: `answer to ${what}` }
  }
  const found = new Set(asked.match(/^answer to \S+/gm))
  if (found.size > 0) {
    const edits = [{ kind: 'write', path: 'all.md', content: `Round ${round}: ${found.size} answers\n` }]
    return { signal: 'success', words: 'Written.', edits }
  }
  const fan_out = Array.from({ length: AGENTS }, (_, at) => ({ id: `voice-${at}`, asks: `Say ${round}-${at}.` }))
  return { signal: 'success', words: 'Ask first.', edits: [], fan_out }
}

const planOf = (round: string) => ({
  title: `Round ${round}`,
  summary: 'One task asks several.',
  contract: [
    {
      id: 'A1',
      says: 'All answers are there.',
      how: { kind: 'command', command: `grep -q "${AGENTS} answers" all.md` },
    },
  ],
  tasks: [
    {
      id: 'ask',
      title: 'Ask and write',
      claims: ['A1'],
      size: 'small',
      recursion: 1,
      objective: { behaviour: `Round ${round}: ask, then write.`, outputs: ['all.md'], acceptance: ['It is there.'] },
      boundaries: { write: ['all.md'] },
    },
  ],
})

export const turnOfRound = (heard: Heard): Turn => ({ calls: callsOf(answerTo(heard)) })

/** `twice`: the requests that were submitted more than once. `now`: those that were sent outside of batches instead. */
export type Rounds = { rounds: number; kills: number; batches: number; twice: string[]; now: string[]; seconds: number }

/**
 * Kills processes at random moments, `kills` times in all, in as many rounds as that takes. Each run has to end well.
 */
export async function surviveRounds(
  world: TasksWorld,
  { kills, random = Math.random, log }: { kills: number; random?: () => number; log?: boolean },
): Promise<Rounds> {
  const began = Date.now()
  const now: string[] = []
  let count = 0
  let rounds = 0
  while (count < kills) {
    rounds++
    const { run, leave } = await world.begun({}, [], `Round ${rounds}`)
    while ((await world.stateOf(run)) === undefined) await Bun.sleep(20)
    await leave()
    for (let own = 0; ; ) {
      if (await world.isDead()) {
        await world.revive().catch(error => log && console.log(`not revived: ${error.message}`))
        continue
      }
      const state = await world.stateOf(run)
      if (state !== undefined && state !== 'RUNNING') break
      await Bun.sleep(random() * 1200)
      if (own === KILLS_PER_ROUND || count === kills) continue
      if (await world.kill(TARGETS[count % TARGETS.length] ?? 'both')) {
        own++
        count++
      }
    }
    const { git } = await world.journal(run)
    if (git.at(-1)?.what !== 'done') throw new Error(`Round ${rounds} is not done: ${git.at(-1)?.words}`)
    now.push(...git.filter(({ what }) => what === 'batch lost').map(({ words }) => words))
    if (log) console.log(`${Math.round((Date.now() - began) / 1000)} s: round ${rounds}, ${count} kills`)
  }
  const ids = world.model.batches.lines.map(({ id }) => id)
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at)
  if (new Set(ids).size !== rounds * LINES) throw new Error(`${new Set(ids).size} lines in ${rounds} rounds`)
  const seconds = Math.round((Date.now() - began) / 1000)
  return { rounds, kills: count, batches: world.model.batches.batches.length, twice, now, seconds }
}

/** Makes a world for rounds, in which a batch is answered after most of a second. */
export async function worldOfRounds(provider: TasksWorldOptions['provider'] = 'anthropic'): Promise<TasksWorld> {
  const env = {
    FORGE_BATCH: '1',
    FORGE_LESSONS: 'off',
    FORGE_BATCH_WINDOW: '0.5',
    FORGE_PRICES: `${provider}/claude-scripted=4/20`,
  }
  const world = await TasksWorld.make({ provider, script: turnOfRound, env })
  world.model.batches.script = { delay: 800 }
  return world
}

if (import.meta.main) {
  await using world = await worldOfRounds(process.argv[3] === 'openai' ? 'openai' : 'anthropic')
  console.log(await surviveRounds(world, { kills: Number(process.argv[2] ?? 100), log: true }))
}
