/**
 * Slightly wrong plans, carried out by the real command, server and worker: each ends by the shortest way out, finished
 * work is not paid for again, and the journal tells what happened. All share one server, worker and repository, and run
 * at the same time.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { workflowIdOf } from '../../../forge/tasks/engine/client.ts'
import type { forgeRun } from '../../../forge/tasks/flows/run.ts'
import { readJournal } from '../../../forge/tasks/runs/journal.ts'
import { readLastStatus } from '../../../forge/tasks/runs/plans.ts'
import { RunStore } from '../../../forge/tasks/runs/store.ts'
import { journalStory } from '../../../forge/tasks/runs/story.ts'
import { type AskedStep, type ModelAnswer, planOf, says } from '../../support/task-model.ts'
import { TaskScene } from '../../support/tasks.ts'
import { hasNoTemporal } from '../../support/temporal.ts'
import { type Person, typedBy, WRONG_PLANS, type WrongPlan } from './wrong-plans.ts'

const LONG = 240_000
/** The path of a file to which the whole story (journal) of each run is appended, for a person to read. */
const { FORGE_TEST_STORIES } = process.env

describe.skipIf(hasNoTemporal)('a run by a plan with', () => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await TaskScene.open({
      FORGE_TIER_CLASSIFICATION: 'openai/small',
      FORGE_TIER_GENERATION: 'openai/usual',
      FORGE_TIER_REASONING: 'openai/clever',
      FORGE_PRICES: 'openai/small=1/5,openai/usual=3/15,openai/clever=6/30',
    })
    await writeFile(join(scene.folder, 'lib.txt'), `${'Nothing is here.\n'.repeat(40)}The word is xyzzy.\n`)
    await scene.git('add', 'lib.txt')
    await scene.git('-c', 'user.name=You', '-c', 'user.email=you@forge.example', 'commit', '--quiet', '-m', 'A word')
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  test.concurrent.each(WRONG_PLANS.map(wrong => [wrong.what, wrong] as const))(
    '%s',
    async (name, wrong) => {
      const args = wrong.args ?? []
      const begun = await scene.run(
        name,
        { tasks: wrong.tasks, answer: asked => answerTo(name, wrong, { ...asked, times: timesOf(name, asked) }) },
        args,
      )
      const { run } = begun
      if (wrong.person) {
        expect(begun).toMatchObject({ code: 4 })
        const answered = await scene.forge(await wordsOf(run, wrong.person))
        expect(answered).toMatchObject({ code: 0, err: '' })
        // `forge attach` takes a second of CPU time, so it is run only where its exit code is tested.
        if (wrong.code !== undefined) expect(await scene.forge(['attach', run])).toMatchObject({ code: wrong.code })
      } else expect(begun).toMatchObject({ code: wrong.code ?? 0 })
      // The run's command ends with its last decision; then the status is still written to git.
      if (wrong.code === undefined) expect((await handleOf(run).result()).state).toBe('done')
      const { lines, story, tasks } = await keptOf(run)
      if (FORGE_TEST_STORIES) await appendFile(FORGE_TEST_STORIES, `\n=== ${name}\n${story}\n`)
      expect(countsOf(scene.model.asked(name))).toEqual({ plan: 1, ...wrong.asked })
      expect(inOrder(lines, wrong.story)).toEqual(wrong.story)
      const done = tasks.filter(({ state }) => state === 'done').map(({ id }) => id)
      expect(done.toSorted()).toEqual((wrong.isDone ?? wrong.tasks.map(({ id }) => id)).toSorted())
    },
    LONG,
  )

  const handleOf = (run: string) => scene.temporal.client.workflow.getHandle<typeof forgeRun>(workflowIdOf(run))

  const timesOf = (name: string, { kind, task }: AskedStep): number =>
    scene.model.asked(name).filter(it => it === `${kind} ${task}`).length

  /** The arguments that the user types. */
  async function wordsOf(run: string, person: Person): Promise<string[]> {
    const file = join(scene.temporal.folder, `${run}.yaml`)
    if ('edits' in person) {
      const plan = JSON.parse(await scene.git('show', `refs/forge/runs/${run}/store:plan.json`))
      await writeFile(file, JSON.stringify(person.edits(plan)))
    }
    return typedBy(person, { run, file })
  }

  /** What git has of a run that has ended or waits for the user: its journal, and the states of its tasks. */
  async function keptOf(run: string) {
    await using objects = openObjects(await openRepository(scene.folder))
    const store = new RunStore(objects, run)
    const written = await readJournal(store)
    const lines = written.map(({ what, task, words }) => [what, task, words].filter(Boolean).join(' '))
    const { tasks = [] } = (await readLastStatus(store)) ?? {}
    return { lines, story: journalStory(written, { run }).join('\n'), tasks }
  }
})

function answerTo(name: string, wrong: WrongPlan, asked: AskedStep & { times: number }): ModelAnswer | undefined {
  const plan = wrong.plan?.(name) ?? planOf(name, wrong.tasks)
  if (asked.kind === 'plan') {
    const isTold = asked.text.includes('mend exactly this')
    return says('success', 'A plan.', { plan: wrong.refused && !isTold ? wrong.refused(name) : plan })
  }
  if (asked.kind === 'check plan' && wrong.replanned)
    return says('success', 'It was slightly wrong.', { plan: wrong.replanned(name) })
  return (asked.kind === 'implement' ? wrong.does : wrong.answers)?.(asked)
}

function countsOf(asked: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const one of asked) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

/** Gives those of `parts` that occur in the lines in this order. */
function inOrder(lines: string[], parts: string[]): string[] {
  let from = 0
  return parts.filter(part => {
    const at = lines.findIndex((line, at) => at >= from && line.includes(part))
    if (at >= 0) from = at
    return at >= 0
  })
}
