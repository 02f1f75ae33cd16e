/**
 * Activities for a task around its steps: merging the results that it builds on, judging resolutions of conflicts,
 * checking, delivering.
 */
import { Failure } from '../../../core/failure.ts'
import { isAncestor } from '../../../core/git/commits.ts'
import type { Path } from '../../../core/git/repository.ts'
import { openScratch } from '../../../core/git/scratch.ts'
import type { TreeChange } from '../../../core/git/trees.ts'
import { review } from '../../../core/review.ts'
import { visible } from '../../../core/text.ts'
import { hashOfPart, type Verdicts } from '../checks/verdicts.ts'
import type {
  Gathered,
  Oid,
  Outcome,
  Reference,
  RunId,
  TaskActivities,
  TaskId,
  TaskPlace,
  Validated,
} from '../contract.ts'
import { attemptRef, doneRef } from '../runs/folder.ts'
import type { RunStore } from '../runs/store.ts'
import { commitOn, newestOf, stepMessage } from '../steps/commits.ts'
import { keptWords } from '../steps/request.ts'
import { brief } from './brief.ts'
import { commitMerge, type GatheredConflicts, type Gathering, gatherAll } from './gathering.ts'
import type { AttemptCheck, CheckMeans, Means } from './means.ts'

/** At most this many characters of each piece of evidence are put into a report. */
const MAX_EVIDENCE_CHARS = 12_000

const OUTCOMES: Record<Outcome, string> = {
  success: 'It was done.',
  failure_retryable: 'It failed.',
  failure_terminal: "It can't be done as it is asked for.",
  new_tasks_discovered: 'Something else has to be done first.',
  blocked_on_human: 'A person has to decide.',
  blocked_on_sibling: 'It waits for another task.',
  confused: 'It ended in an unknown way.',
}

export class TaskEffects implements TaskActivities {
  constructor(private readonly means: Means) {}

  async gather(input: TaskPlace & { base: Oid; results: Oid[]; plan: Reference; resolved?: Oid }): Promise<Gathered> {
    const { objects } = this.means
    const { run, task, attempt, base, results, resolved } = input
    const { store, verdicts } = await this.means.run(run)
    const message = `Bring together what ${task} builds on\n\nForge-Run: ${run}\n`
    const gathered = await gatherAll(this.means, resolved ?? base, results, message)
    await signGathering(verdicts, run, gathered, [resolved ?? base, ...results])
    if (gathered.conflicts) return await withReport(store, gathered.commit, gathered.conflicts)
    // If this activity is repeated later, the attempt's steps may have committed onto the gathered commit: the ref is
    // not moved back then.
    const may = async (from: Oid | undefined) =>
      from === undefined || !(await isAncestor(objects.repository, gathered.commit, from))
    const ref = attemptRef(run, task, attempt)
    await this.means.setRef(run, ref, gathered.commit, { message: `forge: ${task}, attempt ${attempt}`, may })
    return { commit: gathered.commit }
  }

  async judge(
    input: Omit<TaskPlace, 'task'> & { task?: TaskId; ours: Oid; theirs: Oid; resolved: Oid },
  ): Promise<{ commit?: Oid; report: Reference; words: string }> {
    const { objects } = this.means
    const { repository } = objects
    const { run, task, ours, theirs, resolved } = input
    const { store, verdicts } = await this.means.run(run)
    const tree = (await objects.info(`${resolved}^{tree}`))?.oid
    if (!tree) throw new Failure(`The resolution ${resolved.slice(0, 12)} is not in this repository any more.`)
    const message = `Resolve the conflicts of two tasks\n\nForge-Run: ${run}\n${task ? `Forge-Task: ${task}\n` : ''}`
    const result = await commitMerge(this.means, tree, [ours, theirs], message)
    const parent = repository.temporary
    await using scratch = await openScratch({ parent, borrowed: [repository.objects], format: repository.format })
    const { refusals } = await review(scratch, { origin: ours, start: ours, upstream: theirs, result })
    if (refusals.length === 0) {
      await verdicts?.sign({ fact: 'judged', run, commit: result, of: [ours, theirs] })
      const words = 'The resolution is what such a merge may be.'
      return { commit: result, report: await store.put('review', words), words }
    }
    const told = refusals.map(it => it.replace(/\b[Tt]he fork\b/g, 'ours').replace(/\b[Uu]pstream\b/g, 'theirs'))
    const words = brief(`The resolution can't be taken: ${told[0]}`)
    return { report: await store.put('complaints', told.join('\n')), words }
  }

  async validate(input: TaskPlace & { plan: Reference; base: Oid; head: Oid }): Promise<Validated> {
    const { store } = await this.means.run(input.run)
    const plan = await this.means.plan(store, input.plan)
    const task = plan.tasks.find(({ id }) => id === input.task)
    if (!task) throw new Failure(`The plan has no task ${visible(input.task)}.`)
    const ref = attemptRef(input.run, input.task, input.attempt)
    const { base, head } = input
    const place = { run: input.run, task: input.task, attempt: input.attempt }
    return await this.checked(store, place, ref, { plan, task, base, head })
  }

  async reportFailure(
    input: TaskPlace & { outcome: Outcome; words: string; evidence: Reference[] },
  ): Promise<Reference> {
    const { store } = await this.means.run(input.run)
    const { task, attempt, outcome, words } = input
    const parts = await Promise.all(uniqueOf(input.evidence).map(it => evidenceInWords(store, it)))
    const text = [`Attempt ${attempt} at the task ${task}. ${OUTCOMES[outcome]}`, words, ...parts].join('\n\n')
    return await store.put('report', `${this.means.clean(text)}\n`)
  }

  async deliver(input: TaskPlace & { head: Oid }): Promise<void> {
    const { run, task, attempt, head } = input
    const message = `forge: ${task} has passed, attempt ${attempt}`
    await this.means.setRef(run, doneRef(run, task), head, { message })
  }

  /**
   * Runs the checks; files that a formatter changes are committed at a ref. The outcome is signed, because any process
   * that can reach the server could report a result for this activity.
   */
  async checked(
    store: RunStore,
    place: { run: string; task?: TaskId; attempt: number },
    ref: string,
    { plan, task, base, head }: Parameters<AttemptCheck>[1],
  ): Promise<Validated> {
    const { signal, heartbeat } = this.means.surroundings()
    const { verdicts } = await this.means.run(place.run)
    const means: CheckMeans = {
      run: place.run,
      keep: (kind, text) => store.put(kind, this.means.clean(text)),
      commitMended: (from, changes) => this.#commitMended(place, ref, from, changes),
      signal,
      onProgress: words => heartbeat(words),
    }
    const attempt = { plan, task, base, head }
    const { commands, ...validated } = await this.means.options.check(means, attempt)
    validated.words = brief(validated.words)
    if (validated.question) return validated
    const { isGood, report } = validated
    const about = { run: place.run, task: place.task ?? '', attempt: place.attempt, plan: hashOfPart(plan, task?.id) }
    const commits = { base, from: head, head: validated.head, report: report.oid }
    await verdicts?.sign({ fact: 'checked', ...about, ...commits, commands, isGood, isWhole: false })
    return validated
  }

  /** Commits what formatters changed; the same changes always give the same commit. */
  async #commitMended(
    place: { run: string; task?: TaskId; attempt: number },
    ref: string,
    head: Oid,
    changes: ReadonlyMap<Path, TreeChange>,
  ): Promise<Oid> {
    const { objects } = this.means
    const who = await this.means.user(await newestOf(objects, [head]))
    const step = `${place.task ?? 'result'}/${place.attempt}/mend`
    const message = stepMessage('Mend what formatters and linters can mend by themselves', { ...place, step }, '')
    const made = await commitOn(objects, { base: head, changes, message, who })
    await this.means.setRef(place.run, ref, made, { message: `forge: ${step}` })
    return made
  }
}

/** Signs that a commit merges only results in `of`; for a merge that stopped at a conflict, the commit before that. */
export async function signGathering(
  verdicts: Verdicts | undefined,
  run: RunId,
  { commit, conflicts }: Gathering,
  of: Oid[],
): Promise<void> {
  const made = conflicts?.ours ?? commit
  if (!of.includes(made)) await verdicts?.sign({ fact: 'gathered', run, commit: made, of })
}

/** Stores the conflicts between results as a report for the model that resolves them, and refers to it. */
export async function withReport(
  store: RunStore,
  made: Oid,
  { ours, theirs, words, files }: GatheredConflicts,
): Promise<Required<Gathered>> {
  // The model that resolves the conflict has to see these files.
  const report = await store.putJson('conflict', { text: words, files })
  return { commit: made, conflicts: { ours, theirs, report } }
}

const uniqueOf = (references: readonly Reference[]): Reference[] => [
  ...new Map(references.map(it => [it.oid, it])).values(),
]

/** The stored text of a reference, such as a report of checks, in readable form, cut to MAX_EVIDENCE_CHARS. */
export async function evidenceInWords(store: RunStore, reference: Reference): Promise<string> {
  const { words } = keptWords(reference, await store.readText(reference))
  const text = words.trim()
  return text.length > MAX_EVIDENCE_CHARS ? `${text.slice(0, MAX_EVIDENCE_CHARS).toWellFormed()}\n(cut here)` : text
}
