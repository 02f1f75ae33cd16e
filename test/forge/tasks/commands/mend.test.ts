/** A plan that is slightly wrong is mended while it runs, by one action of a person; what passed is not paid for again. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { done, task, write } from '../../../support/task-model.ts'
import { TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000

describe.skipIf(hasNoTemporal)('a plan that is slightly wrong', () => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await TaskScene.open()
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  /** A piece of work whose task a needs a file that its boundaries leave out. */
  const narrow = () => ({
    tasks: [task('a'), task('b')],
    answer: ({ kind, task }: { kind: string; task: string }) =>
      kind === 'implement' && task === 'a'
        ? done('Make a.', write('a.txt', 'done\n'), write('helper.txt', 'h\n'))
        : undefined,
  })
  const asked = (name: string) => scene.model.asked(name).filter(it => it.startsWith('implement'))

  test(
    'with a boundary that is one file too narrow goes on with one answer',
    async () => {
      const { code, run } = await scene.run('narrow', narrow())
      expect(code).toBe(4)
      expect(asked('narrow').toSorted()).toEqual(['implement a', 'implement a', 'implement b'])
      const answered = await scene.forge(['answer', run, 'a', 'You may write it.', '--may-write', 'helper.txt'])
      expect(answered).toEqual({
        ...{ code: 0, err: '' },
        out: `a may write helper.txt.\na begins anew with that: forge attach ${run} shows it.\n`,
      })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      // One more request for a, and none for b, which had passed.
      expect(asked('narrow')).toHaveLength(4)
      const journal = await scene.journal(run)
      expect(journal).toContain('replanned There is a new plan; changed, with 2 fresh attempts: a.')
    },
    LONG,
  )

  test(
    'is mended by a file with the whole plan, which passes the linter',
    async () => {
      const { code, run } = await scene.run('by-file', narrow())
      expect(code).toBe(4)
      const shown = JSON.parse((await scene.forge(['show', run, 'a', '--json'])).out)
      expect(shown.state).toBe('asks')
      const plan = JSON.parse(await scene.git('show', `refs/forge/runs/${run}/store:plan.json`))
      const file = join(scene.folder, 'mended.plan.yaml')
      const done = {
        ...plan,
        tasks: plan.tasks.map((it: { id: string }) => (it.id === 'b' ? { ...it, title: 'Other' } : it)),
      }
      await writeFile(file, JSON.stringify(done))
      const refused = await scene.forge(['plan', run, '--file', file, '--yes'])
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('Task "b" is done, and differs')])
      const boundaries = { write: ['a.txt', 'helper.txt'] }
      const good = {
        ...plan,
        tasks: plan.tasks.map((it: { id: string }) => (it.id === 'a' ? { ...it, boundaries } : it)),
      }
      await writeFile(file, JSON.stringify(good))
      expect((await scene.forge(['plan', run, '--file', file, '--yes'])).code).toBe(0)
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(asked('by-file')).toHaveLength(4)
    },
    LONG,
  )
})
