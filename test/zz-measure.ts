import { activitiesOf } from '../forge/tasks/activities/activities.ts'
import { openSummaries } from '../forge/ai/summaries.ts'
import { RunStore } from '../forge/tasks/runs/store.ts'
import { PLAN, RUN, wholeStep } from './forge/tasks/activities/scene.ts'
import { settingsOf } from './forge/ai/models.ts'
import { commit } from './support/git.ts'
import { makePlace } from './support/repository.ts'
import { ScriptedModel } from './support/scripted-model.ts'

const place = await makePlace()
await place.git('config', 'user.name', 'Pia Person')
await place.git('config', 'user.email', 'pia@person.example')
const files: Record<string, string> = { 'a.txt': 'one\ntwo\n' }
for (let at = 0; at < 20_000; at++) files[`src/m${at % 100}/n${at % 7}/file${at}.ts`] = `import { x${at} } from './x.ts'\n\nexport function f${at}(a: number): number {\n  return a + ${at}\n}\n`.repeat(8)
const base = await commit(place.path, 'main', files)
await place.git('repack', '-adq')
let n = 0
const model = new ScriptedModel(() => ({ calls: [{ name: 'answer', arguments: { answer: { signal: 'success', words: 'Did it.', edits: [{ kind: 'write', path: `stack/new${++n}.ts`, content: 'x\n' }, {kind:'replace', path:'src/m1/n1/file1.ts'.replace('n1','n1'), search:'no', replace:'nope'}].slice(0,1) } } }] }))
const settings = await settingsOf({ FORGE_MODEL: model.name, OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })
const summaries = openSummaries(place.objects, { folder: place.folder })
const times = new Map<string, number[]>()
const made = activitiesOf({
  objects: place.objects, settings, env: { XDG_STATE_HOME: `${place.folder}/state` }, openModel: async () => model, summaries,
  check: () => Promise.reject(new Error('x')), lint: () => Promise.reject(new Error('x')),
  surroundings: () => ({ signal: new AbortController().signal, heartbeat: () => undefined }),
})
const timed = new Proxy(made.activities, { get: (t, name: never) => async (i: never) => { const b = performance.now(); const r = await (t[name] as (i: never) => Promise<unknown>)(i); const l = times.get(name) ?? []; l.push(performance.now() - b); times.set(name, l); return r } })
const store = new RunStore(place.objects, RUN)
const wish = await store.put('wish', 'x')
const size = (process.argv[2] ?? 'small') as 'small'
const plan = await store.putJson('plan', { ...PLAN, tasks: PLAN.tasks.map(t => ({ ...t, size })) })
await made.activities.begin({ run: RUN, wish, base, limits: { depth: 1 }, isApproved: true, onlyPlan: false, atMost: 8 })
let head = base
const whole: number[] = []
for (let at = 1; at <= 15; at++) {
  const began = performance.now()
  const r = await wholeStep(timed, { run: RUN, task: 'stack', attempt: 1, step: `stack/1/${at}`, kind: 'implement', tier: 'generation', choice: 0, base: head, depth: 0, about: [plan, await store.put('step', `{"text":"number ${at}"}`)] })
  whole.push(performance.now() - began)
  if (!r.commit) throw new Error(r.words)
  head = r.commit
}
const median = (l: number[]) => Math.round(l.toSorted((a, b) => a - b)[Math.floor(l.length / 2)] ?? 0)
console.log('first', Math.round(whole[0] ?? 0), 'median', median(whole), 'max', Math.round(Math.max(...whole.slice(1))))
for (const [name, list] of times) console.log(name, 'first', Math.round(list[0] ?? 0), 'median', median(list))
const b = performance.now()
await Promise.all(Array.from({ length: 64 }, (_, i) => wholeStep(made.activities, { run: RUN, task: 'stack', attempt: i + 2, step: `stack/${i + 2}/1`, kind: 'implement', tier: 'generation', choice: 0, base, depth: 0, about: [plan] })))
console.log('64 at once', Math.round(performance.now() - b), 'ms')
process.exit()
