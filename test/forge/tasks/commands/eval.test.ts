/** Kept requests are asked again of another model, and judged as the first answers were. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AskedStep, done, task, write } from '../../../support/task-model.ts'
import { TaskScene } from '../../../support/tasks.ts'

let scene: TaskScene
let run = ''

/** The model `clumsy` edits text that does not exist in the task sail, and fails the check of the task mast. */
function answer({ kind, task: id, model }: AskedStep) {
  if (kind !== 'implement' || !model.includes('clumsy')) return undefined
  if (id === 'sail') return done('Edit.', { kind: 'replace', path: 'README.md', search: 'not there\n', replace: 'x\n' })
  return done('Write.', write(`${id}.txt`, id === 'mast' ? 'undone, no' : 'done'))
}

beforeAll(async () => {
  scene = await TaskScene.open()
  await scene.set({ FORGE_PRICES: 'openai/scripted=3/15,openai/clumsy=1/2' })
  const checks = ['grep -qx done mast.txt']
  const tasks = [task('sail'), task('mast', { checks: checks.map(command => ({ command })) }), task('hull')]
  const ended = await scene.run('regatta', { tasks, answer })
  run = ended.run
  expect(ended.code).toBe(0)
}, 60_000)
afterAll(() => scene[Symbol.asyncDispose]())

const rows = (out: string) =>
  out
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))

test('what a model would have made of the same requests is told with samples, and costs no more than allowed', async () => {
  const poor = await scene.forge(['eval', run, '--model', 'openai/clumsy', '--budget', '0.001', '--json'])
  expect(poor.err).toMatch(/^4 requests of 4 were not sent, since the budget of \$0\.00 might not have been enough/)
  expect(rows(poor.out)).toMatchObject([
    { kind: 'implement', model: 'openai/scripted', samples: 3, passes: 3, checked: 3 },
    { kind: 'plan', model: 'openai/scripted', samples: 1, passes: 1 },
  ])
  const { code, out, err } = await scene.forge(['eval', '--model', 'openai/clumsy', '--json'])
  expect([code, err]).toEqual([0, ''])
  const clumsy = rows(out).filter(({ model }) => model === 'openai/clumsy')
  expect(clumsy).toMatchObject([
    { kind: 'implement', samples: 3, passes: 1, checked: 2, prompt: 2, cost: expect.any(Number) },
    { kind: 'plan', samples: 1, passes: 1, checked: 0 },
  ])
  const asked = scene.model.server.requests.length
  const again = await scene.forge(['eval', '--model', 'openai/clumsy', '--kind', 'implement'])
  expect(scene.model.server.requests.length).toBe(asked)
  expect(again.out).toMatch(/implement +openai\/clumsy +v2 +3 +1 \(33%\) +2 /)
}, 60_000)

test('the next planner is told, and nothing is asked that can’t be', async () => {
  await scene.run('harbour', { tasks: [task('pier')], answer })
  const [plan] = scene.model.heard.get('harbour') ?? []
  expect(plan?.text).toContain('# How models answered requests of earlier runs when asked again')
  expect(plan?.text).toMatch(/implement +openai\/clumsy +v2 +3 +1 \(33%\)/)
  const unknown = await scene.forge(['eval', '--kind', 'dance'])
  expect([unknown.code, unknown.err]).toEqual([64, expect.stringContaining('dance is no kind of step')])
  const unpriced = await scene.forge(['eval', '--model', 'anthropic/claude-x'])
  expect([unpriced.code, unpriced.err]).toEqual([1, expect.stringContaining('set ANTHROPIC_API_KEY')])
}, 60_000)
