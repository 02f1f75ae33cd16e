/**
 * Learning from a run that has ended: counts what came of the lessons that its steps were given, collects what failed
 * and what people answered for a step of kind extract, and keeps that step's lessons, as far as they may be kept.
 */
import * as v from 'valibot'
import { patchOf } from '../../../core/git/diffs.ts'
import { many, short, visible } from '../../../core/text.ts'
import { MARK } from '../../ai/secrets.ts'
import type { WrittenLine } from '../../formats/tasks-json.ts'
import type { LessonActivities, Oid, Reference, RunId, TaskId } from '../contract.ts'
import { counted, type Lesson, LessonId, relearned, sameness } from '../lessons/lesson.ts'
import { lessonNamedBy } from '../lessons/pinned.ts'
import { changePlaybooks, type Playbooks, readPlaybooks } from '../lessons/playbooks.ts'
import { whyRefused } from '../lessons/verify.ts'
import { readDecisions } from '../runs/decisions.ts'
import { findDone } from '../runs/done.ts'
import { listRuns } from '../runs/folder.ts'
import { readJournal } from '../runs/journal.ts'
import { readLastStatus } from '../runs/plans.ts'
import { RunStore } from '../runs/store.ts'
import type { AnswerOf } from '../steps/answers.ts'
import type { Means, OpenRun } from './means.ts'
import { evidenceInWords } from './task.ts'

/** At most this many failed tasks and answers are told to the model. */
const MAX_TOLD = 20
/**
 * At most this many bytes of the patch with which a failed task passed in the end are shown to the model, for each
 * task.
 */
const MAX_PATCH_BYTES = 6000
/** At most this many of the newest ended runs are learned from later. */
const MAX_UNLEARNED = 20

const FORGE = { name: 'Forge', email: 'forge@localhost.invalid' }

export class LessonWork implements LessonActivities {
  constructor(private readonly means: Means) {}

  async gatherLessons({ run }: { run: RunId }): Promise<{ about?: Reference[]; base: Oid; inBatch?: boolean }> {
    const opened = await this.means.run(run)
    const { store } = opened
    const { base, batch } = await this.means.stored(store)
    const lines = await readJournal(store)
    const [failures, answers] = await Promise.all([this.#failures(opened, lines, base), this.#answers(opened, lines)])
    if (failures === '' && answers === '') {
      await this.#change(run, lines, [])
      return { base }
    }
    const { lessons } = await readPlaybooks(this.means.objects)
    const known = lessons.map(({ id, title, says }) => `${id}: ${title}\n${says}`).join('\n\n')
    const texts = [
      ['failures', failures],
      ['asked and answered', answers],
      ['lessons kept', known],
    ] as const
    const about = texts.filter(([, text]) => text !== '')
    const told = await Promise.all(about.map(([kind, text]) => store.put(kind, this.means.clean(text))))
    return { base, about: told, ...(batch && { inBatch: true }) }
  }

  async keepLessons({ run, parsed }: { run: RunId; parsed?: Reference }): Promise<void> {
    const { store, journal } = await this.means.run(run)
    const answer = parsed && ((await store.readJson(parsed)) as AnswerOf<'extract'>)
    const said = answer && 'lessons' in answer ? answer.lessons : []
    const fresh: Lesson[] = []
    for (const [at, it] of said.entries()) {
      const lesson = this.#lessonOf(run, it)
      const id = `lessons/${parsed?.oid.slice(0, 12)}/${at}`
      const named = short(visible(this.means.clean(it.title)), 100)
      if ('why' in lesson) {
        const words = `A lesson is not kept, since ${lesson.why}: ${named}`
        await journal.note({ run, id, what: 'lesson refused', words, why: 'Lessons are advice, and never orders.' })
        continue
      }
      fresh.push(lesson)
      const words = `${lesson.id}: ${lesson.says}`
      await journal.note({ run, id, what: 'learned', words, why: `forge playbooks show ${lesson.id} has it whole.` })
    }
    await this.#change(run, await readJournal(store), fresh)
  }

  async unlearned(): Promise<RunId[]> {
    const { objects, options } = this.means
    const { counted: known } = await readPlaybooks(objects)
    const runs = await listRuns(objects.repository, options.env)
    const found: RunId[] = []
    for (const { run } of runs.filter(it => it.isInGit && !known.includes(it.run)).slice(0, 2 * MAX_UNLEARNED)) {
      const status = await readLastStatus(new RunStore(objects, run)).catch(() => undefined)
      if (status?.state === 'done' || status?.state === 'stopped') found.push(run)
      if (found.length === MAX_UNLEARNED) break
    }
    return found
  }

  /** Turns a lesson as a model wrote it into one to be stored, with secrets blacked out; or says why it is not kept. */
  #lessonOf(run: RunId, said: LessonSaid): Lesson | { why: string } {
    const clean = (text: string) =>
      this.means
        .clean(text)
        .replace(/[ \t]+/g, ' ')
        .trim()
    const { domain, tier, error } = said
    const id = said.id
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
    if (!v.is(LessonId, id)) return { why: 'it has no name of a few words' }
    const lesson: Lesson = {
      id,
      title: clean(said.title).replace(/\s+/g, ' '),
      says: clean(said.says),
      for: said.for,
      ...(domain && { domain }),
      ...(tier && { tier }),
      ...(error && { error: clean(error).replace(/\s+/g, ' ') }),
      from: [run],
      date: this.#today,
      by: 'model',
      given: 0,
      firstTry: 0,
    }
    const texts = [lesson.title, lesson.says, lesson.error]
    if (texts.some(text => text?.includes(MARK))) return { why: 'it has a secret' }
    const why = whyRefused(id.replaceAll('-', ' '), ...texts)
    return why === undefined ? lesson : { why }
  }

  get #today(): string {
    return new Date(this.means.now()).toISOString().slice(0, 10)
  }

  /**
   * Adds new lessons. For the lessons that the run was given, counts whether their tasks passed at the first attempt,
   * once for each run.
   */
  async #change(run: RunId, lines: readonly WrittenLine[], fresh: readonly Lesson[]): Promise<void> {
    const outcomes = outcomesOf(lines)
    const who = { ...FORGE, date: { seconds: Math.floor(this.means.now() / 1000), zone: '+0000' } }
    const change = (before: Playbooks): Playbooks => {
      const isCounted = before.counted.includes(run)
      const lessons = new Map(before.lessons.map(lesson => [lesson.id, lesson]))
      for (const { id, isFirstTry } of isCounted ? [] : outcomes) {
        const lesson = lessons.get(id)
        if (lesson) lessons.set(id, counted(lesson, isFirstTry, this.#today))
      }
      for (const lesson of fresh) {
        const same = [...lessons.values()].find(it => sameness(it) === sameness(lesson))
        const known = lessons.get(lesson.id) ?? same
        lessons.set(known?.id ?? lesson.id, known ? relearned(known, lesson) : lesson)
      }
      return { lessons: [...lessons.values()], counted: isCounted ? before.counted : [...before.counted, run] }
    }
    const words = fresh.length > 0 ? `Learn ${many(fresh.length, 'lesson')} from ${run}` : `Count lessons in ${run}`
    // A repository without lessons has nothing to count, so no ref is made.
    const { lessons } = await readPlaybooks(this.means.objects)
    if (lessons.length > 0 || fresh.length > 0) await changePlaybooks(this.means.objects, change, { words, who })
  }

  // --- What a run has to tell

  /**
   * Describes each task that failed: its failure reports, and the change with which it passed in the end, if it did.
   */
  async #failures({ store }: OpenRun, lines: readonly WrittenLine[], base: Oid): Promise<string> {
    const failed = Map.groupBy(
      lines.filter(({ task, what }) => task !== undefined && (what === 'failed' || what === 'asks')),
      ({ task = '' }) => task,
    )
    const told: string[] = []
    for (const [task, ends] of [...failed].slice(0, MAX_TOLD)) {
      const all = ends.flatMap(({ refs = [] }) => refs.filter(({ kind }) => kind === 'report'))
      const reports = [...new Map(all.map(it => [it.oid, it])).values()]
      if (reports.length === 0) continue
      const texts = await Promise.all(reports.map(it => evidenceInWords(store, it)))
      told.push(`The task ${task}.\n${texts.join('\n\n')}\n\n${await this.#thenPassed(store, task, lines, base)}`)
    }
    return told.join('\n\n')
  }

  async #thenPassed(store: RunStore, task: TaskId, lines: readonly WrittenLine[], base: Oid): Promise<string> {
    const passed = lines.findLast(line => line.task === task && line.what === 'passed')
    const tip = (await findDone(this.means.objects, store.run, task))?.tip
    if (!passed || tip === undefined) return 'It did not pass in this run.'
    const options = { context: 3, limit: MAX_PATCH_BYTES, biggestFile: '64k' }
    const { text } = await patchOf(this.means.objects.repository, base, tip, options)
    return `Attempt ${passed.attempt ?? 1} passed, with this change:\n${Buffer.from(text, 'latin1').toString()}`
  }

  /** What people were asked and have answered. */
  async #answers({ store, approved }: OpenRun, lines: readonly WrittenLine[]): Promise<string> {
    const told: string[] = []
    for (const { kind, task, count, answer } of await readDecisions(store)) {
      if (kind !== 'answer' || told.length === MAX_TOLD) continue
      // Skip an answer that the user's command has not signed, as everywhere: it may be someone else's.
      if (approved && !(await approved.hasAnswer(task, answer.oid))) continue
      const asks = lines.filter(line => line.what === 'asks' && (line.task ?? '') === task)
      const asked = asks[count - 1] ?? asks.at(-1)
      const question = asked?.refs?.find(({ kind: of }) => of === 'question')
      const whole = question ? await store.readText(question).catch(() => '') : ''
      const passed = task !== '' && lines.findLast(line => line.task === task && line.what === 'passed')
      const after = passed ? `\nAttempt ${passed.attempt ?? 1} at the task passed after that.` : ''
      const about = task === '' ? 'the run' : `the task ${task}`
      told.push(
        `Asked about ${about}: ${asked?.words ?? ''}${whole ? `\n${whole}` : ''}\nAnswered: ${await store.readText(answer)}${after}`,
      )
    }
    return told.join('\n\n')
  }
}

type LessonSaid = Extract<AnswerOf<'extract'>, { lessons: unknown }>['lessons'][number]

/**
 * For each lesson that a request was given, whether it helped: a task's lesson where its first attempt passed, a
 * planner's lesson where the first attempts of all tasks did.
 */
function outcomesOf(lines: readonly WrittenLine[]): { id: string; isFirstTry: boolean }[] {
  const firstTry = new Map<TaskId, boolean>()
  for (const { task, attempt = 0, what } of lines) {
    if (task === undefined) continue
    if (attempt === 1 && what === 'passed') firstTry.set(task, !firstTry.has(task))
    else if (attempt === 1 && (what === 'failed' || what === 'asks')) firstTry.set(task, false)
  }
  const isWholeGood = firstTry.size > 0 && [...firstTry.values()].every(Boolean)
  const given = new Map<string, { id: string; isFirstTry: boolean }>()
  for (const { task, attempt = 1, refs = [] } of lines) {
    if (task !== undefined && (attempt !== 1 || !firstTry.has(task))) continue
    for (const id of refs.flatMap(it => lessonNamedBy(it) ?? [])) {
      const isFirstTry = task === undefined ? isWholeGood : firstTry.get(task) === true
      given.set(`${task ?? ''} ${id}`, { id, isFirstTry })
    }
  }
  return [...given.values()]
}
