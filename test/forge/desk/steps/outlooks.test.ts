/** The outcome on a target matches the preview and the result, for every kind of step. */
import { expect, test } from 'bun:test'
import type { BranchStep, Outlook, Source } from '../../../../forge/desk/contract/steps.ts'
import { branchSource, stepOf, titleInto, WAYS, type Way } from '../../../../forge/desk/web/steps/step-ways.ts'
import { commit } from '../../../support/git.ts'
import { lines, makePair } from '../../../support/merging.ts'

/**
 * `topic` has two commits, the last of which conflicts with main. The other branches: one without conflicts, one that
 * topic is on top of, one at the same commit, one with the same files, one without common history, and one with a
 * waiting merge.
 */
async function makeTargets() {
  const text = (changes: Record<number, string>) => ({ 'a.txt': lines(changes, 20) })
  const desk = await makePair({ base: text({}), ours: text({ 2: 'main' }), theirs: text({ 18: 'first' }) })
  const on = (branch: string, files: Record<string, string>, parents = [desk.base]) =>
    commit(desk.path, branch, files, { parents, message: `In ${branch}\n` })
  await commit(desk.path, 'topic', text({ 2: 'topic', 18: 'first' }), { message: 'Second of topic\n' })
  await on('clean', { 'other.txt': 'other\n' })
  await desk.git('update-ref', 'refs/heads/behind', desk.base)
  await desk.git('update-ref', 'refs/heads/same', 'topic')
  await on('squashed', text({ 2: 'topic', 18: 'first' }))
  await on('stranger', { 'a.txt': 'elsewhere\n' }, [])
  await on('waits', text({ 2: 'waits' }))
  await desk.work.look()
  const source = { commit: await desk.git('rev-parse', 'topic'), branch: 'topic', words: 'topic' }
  await desk.work.steps.do({ step: 'merge', source, onto: 'waits' })
  return Object.assign(desk, { source })
}
type Targets = Awaited<ReturnType<typeof makeTargets>>

const TARGETS = ['main', 'clean', 'behind', 'same', 'squashed', 'stranger', 'waits']

async function stepsOf({ git }: Targets, way: Way, source: Source): Promise<[string, BranchStep][]> {
  const steps = TARGETS.map(async (onto): Promise<[string, BranchStep]> => {
    const step = stepOf(way, source, onto, await git('rev-parse', onto))
    if (!step) throw new Error(`There is no ${way} of ${source.words} and ${onto}`)
    return [onto, step]
  })
  return await Promise.all(steps)
}

/** The outcomes on all targets; those that a busy machine did not compute in time are requested again. */
async function outlooksOf({ work }: Targets, steps: readonly BranchStep[]): Promise<Outlook[]> {
  const outlooks = await work.steps.outlooks(steps)
  for (const [at, step] of steps.entries())
    while (outlooks[at]?.is === 'unknown') outlooks.splice(at, 1, ...(await work.steps.outlooks([step])))
  return outlooks
}

/** The result of running a step, in the form of an outcome; it is undone afterwards. */
async function endOf({ work, git }: Targets, step: BranchStep): Promise<{ is: string; conflicts: number }> {
  const preview = await work.steps.preview(step)
  const branch = step.step === 'rebase' || step.step === 'move' ? step.branch : step.onto
  try {
    const before = await git('rev-parse', branch)
    const { merging } = await work.steps.do(step, preview)
    if (merging === undefined) {
      expect(await git('rev-parse', `${branch}^{tree}`)).toBe(preview.tree ?? '')
      const dropped = step.step === 'move' ? await git('rev-list', '--count', before, '--not', branch) : '0'
      await work.undo()
      return { is: dropped === '0' ? 'clean' : 'drops', conflicts: 0 }
    }
    const files = (await work.mergings.in(merging))?.files ?? []
    expect(files.map(({ path }) => path)).toEqual(preview.conflictsIn.map(({ path }) => path))
    await work.mergings.abort(merging)
    return { is: 'conflicts', conflicts: files.length }
  } catch (error) {
    const isNothing = (error as Error).message.startsWith('There is nothing to do')
    return { is: isNothing ? 'nothing' : 'impossible', conflicts: 0 }
  }
}

const ENDS: Record<Way, string[]> = {
  merge: ['conflicts', 'clean', 'clean', 'nothing', 'clean', 'impossible', 'impossible'],
  land: ['conflicts', 'clean', 'clean', 'nothing', 'nothing', 'impossible', 'impossible'],
  // A rebase changes topic itself, so the merge that waits in the target does not matter.
  rebase: ['conflicts', 'clean', 'nothing', 'nothing', 'clean', 'conflicts', 'conflicts'],
  'cherry-pick': ['conflicts', 'clean', 'clean', 'nothing', 'nothing', 'conflicts', 'impossible'],
  move: ['drops', 'drops', 'clean', 'nothing', 'drops', 'drops', 'impossible'],
}

for (const way of WAYS)
  test(`the outcome of a ${way} on each target is that of its preview, and of the step`, async () => {
    await using desk = await makeTargets()
    const steps = await stepsOf(desk, way, desk.source)
    const outlooks = await outlooksOf(
      desk,
      steps.map(([, step]) => step),
    )
    for (const [at, [onto, step]] of steps.entries()) {
      const { is, conflicts, words } = await desk.work.steps.preview(step)
      const outlook = outlooks[at]
      expect({ onto, is: outlook?.is }).toEqual({ onto, is: ENDS[way][at] as typeof is })
      expect({ onto, is: outlook?.is, conflicts: outlook?.conflicts }).toEqual({ onto, is, conflicts })
      if (is !== 'impossible' && words !== 'fast-forward') expect(outlook?.words).toBe(words)
      expect({ onto, ...(await endOf(desk, step)) }).toEqual({ onto, is, conflicts })
    }
  }, 120_000)

test('the reason why a branch can’t be moved is given in a few words', async () => {
  await using desk = await makeTargets()
  const merge = (await stepsOf(desk, 'merge', desk.source)).map(([, step]) => step)
  const said = (await desk.work.steps.outlooks(merge)).filter(({ is }) => is === 'impossible')
  expect(said.map(({ words }) => words)).toEqual(['no history in common', 'a merge waits there'])
})

test('a branch with any letters is named correctly in the dialog and in the result', async () => {
  await using desk = await makeTargets()
  await desk.git('update-ref', 'refs/heads/größe–neu', 'clean')
  const name = Buffer.from('größe–neu').toString('latin1')
  const source = branchSource(name, await desk.git('rev-parse', 'clean'))
  expect(titleInto('merge', source)).toBe('Merge größe–neu into…')
  const { words } = await desk.work.steps.do({ step: 'merge', source, onto: 'main' })
  expect(words).toBe('Merged größe–neu into main.')
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe("Merge branch 'größe–neu'")
})
