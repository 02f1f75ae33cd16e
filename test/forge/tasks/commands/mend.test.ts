/** A slightly wrong plan is corrected while it runs, by one action of the user; finished work is not paid for again. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { done, planOf, says, task, write } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000

describe.skipIf(hasNoTemporal)('a plan that is slightly wrong', () => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await TaskScene.open()
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  /** A run whose task a needs a file outside its boundaries. */
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
      expect(journal).toContain(
        'replanned There is a new plan; changed, with 2 fresh attempts: a. a may write helper.txt.',
      )
      expect(journal).toContain('answered a A person has answered: You may write it.')
    },
    LONG,
  )

  test(
    'with a boundary that is one file too narrow asks whether words that name that file widen it',
    async () => {
      const { out, run } = await scene.run('narrow-in-words', narrow())
      expect(out).toContain(`forge answer ${run} a "…" --may-write helper.txt`)
      const terminal = scene.terminal(['answer', run, 'a', 'You may write helper.txt.'])
      await terminal.shows('May a write helper.txt from now on? (y/n): ')
      terminal.type('y\r')
      const { code, text } = await terminal.ended()
      expect(code).toBe(0)
      expect(text).toContain('a may write helper.txt.')
      expect((await scene.forge(['attach', run])).code).toBe(0)
      // No attempt that could only fail was paid for.
      expect(asked('narrow-in-words')).toHaveLength(4)
    },
    LONG,
  )

  test(
    'with a boundary that is one file too narrow pays for no attempt where nobody can be asked what words mean',
    async () => {
      const { run } = await scene.run('narrow-unasked', narrow())
      const before = asked('narrow-unasked').length
      const { code, err } = await scene.forge(['answer', run, 'a', 'You may write helper.txt.'])
      expect(code).toBe(64)
      expect(err).toContain('Words alone do not change what a may write, so it has not begun anew.')
      expect(err).toContain('To let it write helper.txt, add --may-write helper.txt;')
      // The question is still open, and the words are sent alone where the person says so.
      const words = ['answer', run, 'a', 'Do not write helper.txt.']
      expect((await scene.forge([...words, '--only-words', '--with', 'lib.txt'])).code).toBe(64)
      expect(asked('narrow-unasked')).toHaveLength(before)
      expect((await scene.forge([...words, '--only-words'])).out).toContain('a goes on with that')
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

  /** The current plan with other fields. */
  async function edited(run: string, edit: (plan: Record<string, unknown>) => Record<string, unknown>) {
    const plan = JSON.parse(await scene.git('show', `refs/forge/runs/${run}/store:plan.json`))
    const file = join(scene.temporal.folder, `${run}.yaml`)
    await writeFile(file, JSON.stringify(edit(plan)))
    return file
  }

  test(
    'is changed in words while another task is at work: the person sees what is different, and says yes',
    async () => {
      const asked = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      const wide = { ...task('a'), boundaries: { write: ['a.txt', 'helper.txt'] } }
      scene.model.knows('in-words', {
        ...narrow(),
        answer: async ({ kind, task: id }) => {
          if (kind === 'check plan')
            return says('success', 'It is wider.', { plan: planOf('in-words', [wide, task('b')]) })
          if (kind === 'implement' && id === 'a')
            return done('Make a.', write('a.txt', 'done\n'), write('helper.txt', 'h\n'))
          if (kind !== 'implement') return undefined
          asked.resolve()
          await held.promise
          return undefined
        },
      })
      const planned = scene.terminal(['run', 'in-words'])
      await planned.shows('(y/n/l/e/c): ')
      planned.type('y\r')
      await asked.promise
      await planned.shows(/\? a .*2 attempts failed/)
      planned.interrupt()
      const run = runIn((await planned.ended()).text)
      expect(await scene.forge(['plan', run, 'a writes helper.txt, too.'])).toEqual({
        ...{ code: 0, err: '' },
        out: `The planner looks at it: forge attach ${run} shows the changed plan and asks.\n`,
      })
      const terminal = scene.terminal(['attach', run])
      await terminal.shows(
        /What is different from the plan that holds\s+a may write helper\.txt\.[\s\S]*\(y\/n\/l\/e\/c\): /,
      )
      terminal.type('y\r')
      await terminal.shows(/✓ a +Make a/)
      // Running work continues, and is not requested again.
      held.resolve()
      expect((await terminal.ended()).code).toBe(0)
      expect(timesAsked('in-words')).toEqual({ plan: 1, 'implement a': 3, 'implement b': 1, 'check plan': 1 })
      expect(await scene.journal(run)).toContain(
        'replanned There is a new plan; changed, with 2 fresh attempts: a. a may write helper.txt.',
      )
    },
    LONG,
  )

  test(
    'is opened in the editor, and what came of it is landed',
    async () => {
      const { code, run } = await scene.run('in-editor', narrow())
      expect(code).toBe(4)
      const editor = join(scene.temporal.folder, 'editor')
      // Adds helper.txt to each list in the plan that has a.txt.
      await writeFile(editor, `#!/bin/sh\nsed -i 's/^\\( *\\)- a\\.txt$/&\\n\\1- helper.txt/' "$1"\n`, { mode: 0o755 })
      expect(await scene.forge(['plan', run], { env: { GIT_EDITOR: editor } })).toMatchObject({ code: 64, out: '' })
      const same = scene.terminal(['plan', run], { env: { GIT_EDITOR: 'true' } })
      expect(await same.ended()).toMatchObject({ code: 0, text: 'It is as it was.\n' })
      const terminal = scene.terminal(['plan', run], { env: { GIT_EDITOR: editor } })
      await terminal.shows(
        /a may write helper\.txt\.\s+a has another objective\.[\s\S]*Take this plan from now on\? \(y\/n\): /,
      )
      terminal.type('y\r')
      expect(await terminal.ended()).toMatchObject({ code: 0, text: expect.stringContaining('The plan is changed') })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(asked('in-editor')).toHaveLength(4)
      // Only the combined result is a branch now; a task's result can still be landed alone.
      expect(await scene.git('branch', '--list', `forge/${run}/*`, '--format=%(refname:short)')).toBe(
        `forge/${run}/result`,
      )
      expect((await scene.forge(['show', run, 'a'])).out).toMatch(/Its result is [0-9a-f]{12}\./)
      const ofTask = JSON.parse((await scene.forge(['land', run, 'b', '--json'])).out)
      expect(ofTask.unchecked).toBeUndefined()
      // The result is not landed on main, the base of other tests' runs.
      await scene.git('branch', 'landed')
      const landed = await scene.forge(['land', run, '--yes', '--onto', 'landed'])
      expect([landed.code, landed.err]).toEqual([0, ''])
      expect(await scene.git('show', 'landed:helper.txt')).toBe('h')
    },
    LONG,
  )

  test(
    'is remembered where the server has lost the run: what passed is not paid for again, and can be landed',
    async () => {
      const { code, run } = await scene.run('lost', {
        tasks: [task('a'), task('b'), task('c')],
        answer: asked =>
          asked.task === 'c' && asked.kind === 'implement'
            ? asked.answered.includes('Blue')
              ? undefined
              : says('blocked_on_human', 'Which?', { question: 'Red or blue?' })
            : narrow().answer(asked),
      })
      expect(code).toBe(4)
      await scene.forge(['answer', run, 'a', 'You may.', '--may-write', 'helper.txt'])
      expect((await scene.forge(['attach', run])).code).toBe(4)
      // With other words in the plan, all requests differ.
      const file = await edited(run, plan => ({ ...plan, summary: 'The plan of lost, told anew.' }))
      expect(await scene.forge(['plan', run, '--file', file, '--yes'])).toMatchObject({ code: 0, err: '' })
      await scene.temporal.client.workflow.getHandle(`forge-run-${run}`).terminate('The database is lost')
      expect(await scene.forge(['resume', run])).toMatchObject({ code: 0, err: '' })
      expect((await scene.forge(['attach', run])).code).toBe(4)
      expect((await scene.status(run)).tasks.map(({ id, state }) => `${id} ${state}`)).toEqual([
        'a done',
        'b done',
        'c asks',
      ])
      expect(await scene.forge(['answer', run, 'c', 'Blue.'])).toMatchObject({ code: 0, err: '' })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(timesAsked('lost')).toEqual({ plan: 1, 'implement a': 3, 'implement b': 1, 'implement c': 3 })
      expect(await scene.journal(run)).toContain('approved Passed before, and not done again: a, b.')
      const landed = await scene.forge(['land', run, '--json'])
      expect(JSON.parse(landed.out).unchecked).toBeUndefined()
    },
    LONG,
  )

  /** The requests of a run with their counts. */
  const timesAsked = (name: string): Record<string, number> =>
    Object.fromEntries([...Map.groupBy(scene.model.asked(name), it => it)].map(([it, all]) => [it, all.length]))
})
