/** A task's activities besides its steps: gathering, judging, checking, delivering; also repeated after a crash. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { attemptRef, doneRef } from '../../../../forge/tasks/runs/folder.ts'
import { commit, git, parentsOf, show, tipOf } from '../../../support/git.ts'
import { edits, failureOf, makeScene, makeSharedScene, RUN, replace, type Scene } from './scene.ts'

const FILES = { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n' }
const BRANCH = attemptRef(RUN, 'docs', 1)

/** Makes a commit on the base for each of `changes`, as the results of tasks. Gives their ids. */
async function results(scene: Scene, ...changes: Record<string, string>[]): Promise<string[]> {
  const made: string[] = []
  for (const [at, files] of changes.entries()) {
    await scene.place.git('update-ref', `refs/heads/made-${at}`, scene.base)
    made.push(await commit(scene.place.path, `made-${at}`, files))
  }
  return made
}

const gather = (scene: Scene, heads: string[], resolved?: string) =>
  scene.activities.gather({
    ...{ run: RUN, task: 'docs', attempt: 1, base: scene.base, results: heads, plan: scene.plan },
    ...(resolved !== undefined && { resolved }),
  })

test('without results, an attempt begins on the run’s base', async () => {
  await using scene = await makeScene({ files: FILES })
  expect(await gather(scene, [])).toEqual({ commit: scene.base })
  expect(await scene.place.git('rev-parse', BRANCH)).toBe(scene.base)
})

test('results are merged in their order, and always to the same commit', async () => {
  await using scene = await makeScene({ files: FILES })
  const heads = await results(scene, { 'a.txt': 'one\nzwei\nthree\n' }, { 'b.txt': 'c\n' }, { 'new.txt': 'n\n' })
  const { commit: gathered, conflicts } = await gather(scene, heads)
  expect(conflicts).toBeUndefined()
  expect(await scene.place.git('ls-tree', '--name-only', gathered)).toBe('a.txt\nb.txt\nnew.txt')
  expect(await show(scene.place.path, gathered, 'a.txt')).toBe('one\nzwei\nthree')
  await scene.place.git('update-ref', '-d', BRANCH)
  expect((await gather(scene, heads)).commit).toBe(gathered)
  // The merge has the date of the newest parent, not of the present.
  const dateOf = (oid: string) => scene.place.git('log', '-1', '--format=%ct', oid)
  expect(await dateOf(gathered)).toBe(await dateOf(heads[2] ?? ''))
})

test('gathered again after its steps, the branch keeps them, here and on the hub', async () => {
  await using scene = await makeSharedScene({ files: FILES, script: [edits(replace('a.txt', 'two\n', 'zwei\n'))] })
  const heads = await results(scene, { 'b.txt': 'c\n' })
  const { commit: base } = await gather(scene, heads)
  const { commit: made } = await scene.step({ task: 'docs', step: 'docs/1/1', base })
  expect((await gather(scene, heads)).commit).toBe(base)
  expect(await scene.place.git('rev-parse', BRANCH)).toBe(made ?? '')
  expect(await git(scene.hub, 'grep', '-h', BRANCH, scene.store.ref, '--', 'refs')).toBe(`${made} ${BRANCH}`)
})

test('a conflict is resolved by a step on git’s own merge, judged, and gathered on', async () => {
  const script = (request: unknown) => {
    const text = JSON.stringify(request)
    expect(text).toContain('<<<<<<< ours\\nzwei\\n=======\\ndos\\n>>>>>>> theirs')
    return edits({ kind: 'write', path: 'a.txt', content: 'one\nzwei dos\nthree\n' })
  }
  await using scene = await makeScene({ files: FILES, script })
  const heads = await results(
    scene,
    { 'a.txt': 'one\nzwei\nthree\n' },
    { 'a.txt': 'one\ndos\nthree\n' },
    { 'b.txt': 'c\n' },
  )
  const gathered = await gather(scene, heads)
  const { ours = '', theirs = '', report } = gathered.conflicts ?? {}
  expect([ours, theirs]).toEqual(heads.slice(0, 2))
  const step = { task: 'docs', step: 'docs/1/resolve/1/1', kind: 'resolve', base: gathered.commit } as const
  const { commit: resolved = '', outcome } = await scene.step({ ...step, about: [scene.plan, report ?? scene.plan] })
  expect(outcome).toBe('success')
  const judged = await scene.activities.judge({ run: RUN, task: 'docs', attempt: 1, ours, theirs, resolved })
  expect(judged.words).toBe('The resolution is what such a merge may be.')
  expect(await parentsOf(scene.place.path, judged.commit ?? '')).toEqual([ours, theirs])
  const whole = await gather(scene, heads, judged.commit)
  expect(whole.conflicts).toBeUndefined()
  expect(await show(scene.place.path, whole.commit, 'a.txt')).toBe('one\nzwei dos\nthree')
  expect(await show(scene.place.path, whole.commit, 'b.txt')).toBe('c')
})

test('a resolution with marks left in it is refused, with words for the next try', async () => {
  await using scene = await makeScene({ files: FILES })
  const heads = await results(scene, { 'a.txt': 'one\nzwei\nthree\n' }, { 'a.txt': 'one\ndos\nthree\n' })
  const { commit: resolved, conflicts } = await gather(scene, heads)
  const { ours = '', theirs = '' } = conflicts ?? {}
  const judged = await scene.activities.judge({ run: RUN, attempt: 1, ours, theirs, resolved })
  expect(judged.commit).toBeUndefined()
  expect(judged.report.kind).toBe('complaints')
  expect(await scene.store.readText(judged.report)).toMatch(/conflict marker/i)
})

test('checks get the plan, the task and the commits; what they mend is on the branch', async () => {
  await using scene = await makeScene({
    files: FILES,
    check: async ({ commitMended, keep, run }, { task, head }) => {
      expect([run, task?.id]).toEqual([RUN, 'stack'])
      const bytes = Buffer.from('formatted\n')
      const mended = await commitMended(head, new Map([['b.txt', { mode: '100644', bytes }]]))
      return { isGood: true, head: mended, report: await keep('validation', 'ok'), words: 'Good.', commands: '' }
    },
    script: [edits(replace('a.txt', 'two\n', 'zwei\n'))],
  })
  const { commit: head = '' } = await scene.step()
  const place = { run: RUN, task: 'stack', attempt: 1 }
  const validated = await scene.activities.validate({ ...place, plan: scene.plan, base: scene.base, head })
  expect(await scene.place.git('rev-parse', attemptRef(RUN, 'stack', 1))).toBe(validated.head)
  const again = await scene.activities.validate({ ...place, plan: scene.plan, base: scene.base, head })
  expect(again.head).toBe(validated.head)
  await scene.activities.deliver({ ...place, head: validated.head })
  await scene.activities.deliver({ ...place, head: validated.head })
  expect(await scene.place.git('rev-parse', doneRef(RUN, 'stack'))).toBe(validated.head)
})

test('a failure is written down for the next attempt, with what showed it', async () => {
  await using scene = await makeScene()
  const evidence = [await scene.store.putJson('validation', { isGood: false, text: 'expected 3, got 4' })]
  const place = { run: RUN, task: 'stack', attempt: 1, plan: scene.plan }
  const failed = { ...place, outcome: 'failure_retryable', words: 'A test failed.', evidence } as const
  const report = await scene.activities.reportFailure(failed)
  expect(await scene.activities.reportFailure(failed)).toEqual(report)
  expect(await scene.store.readText(report)).toBe(
    'Attempt 1 at the task stack. It failed.\n\nA test failed.\n\nexpected 3, got 4\n',
  )
})

test('nothing of it moves a branch of the user’s', async () => {
  await using scene = await makeScene({ files: FILES, script: [edits(replace('a.txt', 'two\n', 'zwei\n'))] })
  await gather(scene, await results(scene, { 'b.txt': 'c\n' }))
  await scene.step()
  expect(await tipOf(scene.place.path, 'main')).toBe(scene.base)
})

test('a branch that a person has checked out is not moved under them, and goes on when they let go of it', async () => {
  await using scene = await makeScene({ script: [edits(replace('a.txt', 'two\n', 'zwei\n'))] })
  const { place, base, plan } = scene
  const attempt = { run: RUN, task: 'stack', attempt: 1 }
  await scene.activities.gather({ ...attempt, base, results: [], plan })
  const { commit: made = '' } = await scene.step()
  const deliver = () => scene.activities.deliver({ ...attempt, head: made })
  const folder = join(place.folder, 'looks')
  const branch = doneRef(RUN, 'stack').slice('refs/heads/'.length)
  await place.git('worktree', 'add', '--quiet', '-b', branch, folder, base)
  const failure = await failureOf(deliver())
  expect([failure.type, failure.nonRetryable]).toEqual(['Failure', true])
  expect(failure.message).toBe(
    `The branch ${branch} is checked out in ${folder}, so it is not moved: check out another one there, or ` +
      'git switch --detach.',
  )
  expect(await place.git('rev-parse', branch)).toBe(base)
  expect(await git(folder, 'status', '--porcelain')).toBe('')
  await git(folder, 'switch', '--quiet', '--detach')
  await deliver()
  expect(await place.git('rev-parse', branch)).toBe(made)
})

test('attempts are no branches: git branch lists what has passed, and nothing else', async () => {
  await using scene = await makeScene({ script: [edits(replace('a.txt', 'two\n', 'zwei\n'))] })
  const attempt = { run: RUN, task: 'stack', attempt: 1 }
  await scene.activities.gather({ ...attempt, base: scene.base, results: [], plan: scene.plan })
  const { commit: made = '' } = await scene.step()
  expect(await scene.place.git('rev-parse', attemptRef(RUN, 'stack', 1))).toBe(made)
  expect(await scene.place.git('branch', '--format=%(refname:short)')).toBe('main')
  await scene.activities.deliver({ ...attempt, head: made })
  const branches = [`forge/${RUN}/stack/done`, 'main']
  expect((await scene.place.git('branch', '--format=%(refname:short)')).split('\n')).toEqual(branches)
})
