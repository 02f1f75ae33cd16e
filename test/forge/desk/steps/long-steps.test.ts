/** Steps of many commits: computed once for the preview and the step, and stopped at once without a trace. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Oid } from '../../../../core/git/repository.ts'
import { Plannings } from '../../../../forge/desk/steps/plannings.ts'
import { ask } from '../../../support/desk.ts'
import { commit, gitWith } from '../../../support/git.ts'
import { makePair, type Pair } from '../../../support/merging.ts'
import { makePlace, until } from '../../../support/repository.ts'

setDefaultTimeout(120_000)

/** A topic with this many commits, each of another file. */
async function makeLong(count: number): Promise<Pair> {
  const desk = await makePair({ base: { 'a.txt': 'a\n' }, ours: { 'ours.txt': 'o\n' }, theirs: { 't.txt': 't\n' } })
  const who = 'Una <una@upstream.example> 1790000000 +0000'
  const commits = Array.from({ length: count }, (_, at) => {
    const from = at === 0 ? 'from refs/heads/topic^0\n' : ''
    const data = `data 3\n${String(at).padStart(3, '0')}\n`
    return `commit refs/heads/topic\nauthor ${who}\ncommitter ${who}\n${data}${from}M 100644 inline f${at}\n${data}\n`
  })
  await gitWith(desk.path, ['fast-import', '--quiet'], commits.join(''))
  await desk.work.look()
  return desk
}

const rebase = ({ ours }: Pair) =>
  ({ step: 'rebase', branch: 'topic', onto: { commit: ours, branch: 'main', words: 'main' } }) as const

interface Course {
  /** The number of the commit at which everything is stopped. */
  stopAt?: number
  /** The computation waits for this before it starts. */
  after?: Promise<unknown>
}

/** Records each commit as it begins; the reported progress comes later and less often. */
function eachOf({ work: { steps } }: Pair, { stopAt, after }: Course = {}): string[] {
  const { plannings } = steps
  const begun: string[] = []
  const run = plannings.run.bind(plannings)
  plannings.run = (task, control) =>
    run(async pace => {
      await after
      const tell = (words: string) => {
        begun.push(words)
        pace.tell(words)
        if (begun.length === stopAt) steps.stop()
      }
      return await task({ ...pace, tell })
    }, control)
  return begun
}

const STOPPED = 'It was stopped: nothing was moved.'

const refsOf = ({ git }: Pair) => git('for-each-ref')
const progress = ({ news }: Pair) => news.flatMap(it => (it.say === 'progress' ? [it.words] : []))

test('a long rebase reports its progress, and the step uses the preview’s computation', async () => {
  await using desk = await makeLong(40)
  const { work } = desk
  // A step that ends within this time reports no progress.
  const begun = eachOf(desk, { after: Bun.sleep(700) })
  const preview = await work.steps.preview(rebase(desk))
  expect(preview).toMatchObject({ is: 'clean', commits: 41 })
  expect(begun).toHaveLength(41)
  expect(progress(desk)[0]).toMatch(/^Rebasing: commit \d+ of 41$/)
  expect(progress(desk).at(-1)).toBeUndefined()
  await work.steps.do(rebase(desk), preview)
  // No commit was computed again.
  expect(begun).toHaveLength(41)
  expect(await desk.git('rev-list', '--count', 'main..topic')).toBe('41')
  expect(await desk.git('rev-parse', 'topic^{tree}')).toBe(preview.tree ?? '')
  await desk.git('fsck', '--connectivity-only', '--no-dangling')
})

test('a long preview is stopped at once', async () => {
  await using desk = await makeLong(40)
  const refs = await refsOf(desk)
  const begun = eachOf(desk, { stopAt: 20 })
  expect(await desk.work.steps.preview(rebase(desk))).toMatchObject({ is: 'impossible', words: STOPPED })
  expect(begun).toHaveLength(20)
  expect(await refsOf(desk)).toBe(refs)
  expect(progress(desk).at(-1)).toBeUndefined()
})

test('a long preview ends when no window waits for it any more', async () => {
  await using desk = await makeLong(40)
  const { steps } = desk.work
  const begun = eachOf(desk)
  const gone = new AbortController()
  const asked = steps.preview(rebase(desk), gone.signal)
  await until(() => begun.length > 0)
  gone.abort()
  expect(await asked).toMatchObject({ is: 'impossible', words: STOPPED })
  expect(begun.length).toBeLessThan(41)
})

test('a long preview continues for a window that still waits for it', async () => {
  await using desk = await makeLong(40)
  const { steps } = desk.work
  const begun = eachOf(desk)
  const gone = new AbortController()
  const both = Promise.all([steps.preview(rebase(desk), gone.signal), steps.preview(rebase(desk))])
  await until(() => begun.length > 0)
  gone.abort()
  expect((await both).map(({ is }) => is)).toEqual(['clean', 'clean'])
  expect(begun).toHaveLength(41)
})

test('a long step is stopped at once without a trace, and can be run again', async () => {
  await using desk = await makeLong(40)
  const { steps } = desk.work
  const refs = await refsOf(desk)
  const meanwhile = Promise.withResolvers<void>()
  const begun = eachOf(desk, { after: meanwhile.promise, stopAt: 20 })
  const asked = steps.do(rebase(desk)).catch((error: Error) => error.message)
  // A new file does not wait for the computation.
  await ask(desk.work, 'new file', { branch: 'topic', path: 'meanwhile.txt' })
  await desk.work.undo()
  meanwhile.resolve()
  expect(await asked).toBe(STOPPED)
  expect(begun).toHaveLength(20)
  const after = await refsOf(desk)
  expect(after.replace(/.*refs\/forge\/operations\n?/, '')).toBe(refs)
  await steps.do(rebase(desk))
  expect(await desk.git('rev-list', '--count', 'main..topic')).toBe('41')
})

test('objects that a garbage collection removed between preview and step are computed again', async () => {
  await using desk = await makeLong(3)
  const preview = await desk.work.steps.preview(rebase(desk))
  await desk.git('gc', '-q', '--prune=now')
  await desk.work.steps.do(rebase(desk), preview)
  expect(await desk.git('rev-parse', 'topic^{tree}')).toBe(preview.tree ?? '')
  await desk.git('fsck', '--connectivity-only', '--no-dangling')
})

test('a continued rebase can be stopped, and waits as before', async () => {
  const same = { 'a.txt': 'a\n' }
  await using desk = await makePair({ base: same, ours: { 'a.txt': 'ours\n' }, theirs: { 'a.txt': 'theirs\n' } })
  let tip: Oid = desk.theirs
  for (let at = 0; at < 40; at++) tip = await commit(desk.path, 'topic', { [`f${at}`]: 'f\n' }, { parents: [tip] })
  await desk.work.look()
  const { steps, mergings } = desk.work
  expect((await steps.do(rebase(desk))).merging).toBe('topic')
  await mergings.takeSide('topic', 'a.txt', 'both')
  const refs = await refsOf(desk)
  const begun = eachOf(desk, { stopAt: 20 })
  expect(await mergings.finish('topic').catch((error: Error) => error.message)).toBe(STOPPED)
  expect(begun).toHaveLength(20)
  expect(await refsOf(desk)).toBe(refs)
  await mergings.finish('topic')
  expect(await desk.git('rev-list', '--count', 'main..topic')).toBe('41')
})

test('computations are shared by key, and repeated after a failure', async () => {
  await using place = await makePlace()
  const plannings = new Plannings(place.objects, () => undefined)
  const picked = { picks: { chain: [], tree: '', dropped: [] }, commits: [], same: 0 }
  let made = 0
  const make = async () => {
    made++
    return picked
  }
  await Promise.all([plannings.once('one', make), plannings.once('one', make), plannings.once('two', make)])
  await plannings.once('one', make)
  expect(made).toBe(2)
  const failing = () => Promise.reject(new Error('no'))
  await plannings.once('three', failing).catch(() => undefined)
  await plannings.once('three', make)
  expect(made).toBe(3)
})
