/** Activities for a run as a whole: its beginning, its decisions, reports and the combined result. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { readIdentity } from '../../../core/git/commits.ts'
import { visible } from '../../../core/text.ts'
import { Believed } from '../checks/believed.ts'
import type { ValidationReport } from '../checks/validate.ts'
import { type FactOf, hashOfPart } from '../checks/verdicts.ts'
import type {
  Finished,
  NewJournalLine,
  Oid,
  PassedBefore,
  PersonAnswer,
  Reference,
  Remembered,
  RunActivities,
  RunId,
  RunInput,
  RunStatus,
  TaskId,
  Tier,
} from '../contract.ts'
import { pinLessons } from '../lessons/pinned.ts'
import { type Plan, TIERS } from '../plan/schema.ts'
import { type Decision, readDecisions } from '../runs/decisions.ts'
import { findDone, hideDone } from '../runs/done.ts'
import { resultRef } from '../runs/folder.ts'
import { judgeMerge, mergedBy } from '../runs/merging.ts'
import { readLastStatus, readStoredRun, type StoredRun } from '../runs/plans.ts'
import { missingPrice } from '../runs/prices.ts'
import { type Escalation, keepEscalation, reportAsMarkdown } from '../runs/report.ts'
import type { RunStore } from '../runs/store.ts'
import { questionsInWords } from '../steps/prompts.ts'
import { reviewersOf } from '../steps/request.ts'
import { brief } from './brief.ts'
import { gatherAll } from './gathering.ts'
import { allItems, keepItems } from './lists.ts'
import type { Means } from './means.ts'
import { planThatHolds } from './plan.ts'
import { evidenceInWords, signGathering, type TaskEffects, withReport } from './task.ts'

const Results = v.array(v.object({ task: v.string(), head: v.string() }))

/** The tier of the models that review the combined result. */
const REVIEW_TIER: Tier = 'generation'

/** Outcomes of a whole run that get a line in the journal. */
const ENDS: readonly string[] = ['done', 'stopped']

export class RunWork implements RunActivities {
  constructor(
    private readonly means: Means,
    private readonly tasks: TaskEffects,
  ) {}

  async begin(input: RunInput): Promise<Remembered> {
    const { objects, now } = this.means
    const settings = input.models ? this.means.settings.withModels(input.models) : this.means.settings
    // Fail here, before any money is spent, where the git identity is missing.
    await readIdentity(objects.repository, 'AUTHOR')
    const models = TIERS.flatMap(tier => settings.modelsOf(tier))
    const missing = models.length === 0 ? settings.missing() : missingPrice(models, settings, input.limits)
    if (missing) throw new Failure(missing)
    const info = await objects.info(`${input.base}^{commit}`)
    if (!info) throw new Failure(`There is no commit ${input.base.slice(0, 12)} in this repository.`)
    // Only forge resolve begins with a plan and such a base; the message of a commit of the repository can say
    // anything.
    if (!input.plan && (await mergedBy(objects, info.oid)))
      throw new Failure(
        `The commit ${info.oid.slice(0, 12)} says that it is a merge to resolve, as forge resolve makes them: begin from another one.`,
      )
    const { store, approved, verdicts } = await this.means.run(input.run)
    const before = await readStoredRun(store)
    const finding = before?.facts ? [] : this.#findFacts(input, store)
    Promise.resolve(finding).catch(() => undefined)
    await approved?.verifyAsked(input)
    const { learns } = settings
    const asked = [input.wish, ...(input.plan ? [input.plan] : [])]
    // The lessons are fixed once, together with the facts for planners: a lesson that is learned later would change the
    // requests of steps that are done.
    const [found, lessons, texts, keepAsked] = await Promise.all([
      finding,
      before?.facts || !learns ? before?.lessons : pinLessons(objects, store),
      Promise.all(asked.map(async it => ({ kind: it.kind, text: await store.readText(it) }))),
      verdicts?.signed({ fact: 'asked', run: input.run, base: info.oid }),
    ])
    // What a hub may have brought is not signed here.
    const pinned = before?.facts ? undefined : lessons
    const keepPinned = pinned && (await verdicts?.signed({ fact: 'pinned', run: input.run, lessons: pinned.oid }))
    const facts = before?.facts ?? found.map(({ kind, text }) => store.referenceTo(kind, text))
    const stored: StoredRun = { ...input, began: before?.began ?? now(), facts, ...(lessons && { lessons }) }
    // Written at the same time, so it is one commit.
    await Promise.all([
      store.set('run.json', `${JSON.stringify(stored)}\n`),
      ...[...texts, ...found].map(({ kind, text }) => store.put(kind, text)),
      keepAsked?.(),
      keepPinned?.(),
    ])
    const used = (await readLastStatus(store))?.used
    const above = Object.fromEntries(TIERS.map(tier => [tier, settings.tierAbove(tier)]).filter(([, next]) => next))
    const known = await this.#remembered(store)
    // Where a planner is asked first, the code map is read while it answers: see step.ts.
    if (input.plan || known.approvedPlan) this.means.readAhead(input.base)
    const passed = known.approvedPlan ? await this.#passedBefore(store, input.run) : []
    return {
      ...known,
      ...(passed.length > 0 && { passed: await keepItems(store, 'passed', passed) }),
      facts,
      above,
      ...(learns && { learns }),
      ...(used !== undefined && { used }),
    }
  }

  /**
   * The decisions of the user, as kept in git. Answers count with the user's signature, and the current plan with that
   * of a worker of the user's, which has verified its approval: a hub may bring others.
   */
  async #remembered(store: RunStore): Promise<Omit<Remembered, 'facts'>> {
    const { run } = store
    const { approved, verdicts } = await this.means.run(run)
    const answers: PersonAnswer[] = []
    for (const { kind, task, count, answer } of await readDecisions(store)) {
      const isOwn = kind === 'answer' && (!approved || (await approved.hasAnswer(task, answer.oid)))
      if (isOwn) answers.push({ task, count, answer })
    }
    const bytes = await store.get('plan.json')
    const plan = bytes && (await store.put('plan', bytes))
    const isApproved = async (it: Reference) => {
      if (!verdicts) return true
      const read = await this.means.plan(store, it).catch(() => undefined)
      return read !== undefined && (await verdicts.has({ fact: 'approved', run, plan: hashOfPart(read, undefined) }))
    }
    return {
      ...(answers.length > 0 && { answers: await keepItems(store, 'answers', answers) }),
      ...(plan && (await isApproved(plan)) && { approvedPlan: plan }),
    }
  }

  /**
   * The tasks of the current plan whose results have passed, by the signatures of this user's worker. A run that is
   * submitted again does not do them again: if the plan has changed, their requests would differ, so that no stored
   * answers would be found.
   */
  async #passedBefore(store: RunStore, run: RunId): Promise<PassedBefore[]> {
    const { objects } = this.means
    const { verdicts } = await this.means.run(run)
    const plan = await planThatHolds(store)
    if (!verdicts || !plan) return []
    const known = await verdicts.all()
    const believed = new Believed(objects, plan, known)
    const passed: PassedBefore[] = []
    for (const { id: task } of plan.tasks) {
      const head = (await findDone(objects, run, task))?.tip
      if (head === undefined) continue
      const own = hashOfPart(plan, task)
      const good = known.facts.filter(it => it.fact === 'checked' && it.task === task && it.head === head && it.isGood)
      const checked = good.flatMap(it => (it.fact === 'checked' && !it.isWhole ? [it] : []))
      const same = (await believed.whyNot(task, head)) === undefined ? checked.find(it => it.plan === own) : undefined
      const last = same ?? checked.find(it => it.plan !== own)
      if (last) passed.push({ task, attempt: last.attempt, head, from: last.base, hash: last.plan })
    }
    return passed
  }

  /** What planners are told besides files. */
  async #findFacts({ base, wish, wished }: RunInput, store: RunStore): Promise<{ kind: string; text: string }[]> {
    const found = wished && (await store.readText(wished))
    const isSearched = found !== undefined
    const others = await this.means.options.facts?.(base, await store.readText(wish), { isSearched })
    const facts = [...(others ?? []), ...(found ? [{ kind: 'wished', text: found }] : [])]
    return facts.map(({ kind, text }) => ({ kind, text: this.means.clean(text) }))
  }

  async note({ run, lines }: { run: RunId; lines: NewJournalLine[] }): Promise<void> {
    const { journal, budget } = await this.means.run(run)
    for (const line of lines) {
      await journal.note({ ...line, run, words: await this.#withAnswer(line, run) })
      if (line.task !== undefined || !ENDS.includes(line.what)) continue
      if (line.what === 'done') await hideDone(this.means.objects, run)
      await budget?.end(run)
      this.means.packRun(run)
      this.means.tidyUp()
    }
  }

  /**
   * A sentence for the journal, with the text of the user's answer added, to which the workflow's history has only a
   * reference.
   */
  async #withAnswer({ what, words, task = '', refs = [] }: NewJournalLine, run: RunId): Promise<string> {
    const answer = what === 'answered' ? refs.find(({ kind }) => kind === 'answer') : undefined
    if (!answer) return words
    const { store, approved } = await this.means.run(run)
    // Without this check, any other blob of the repository could be read into the journal.
    if (approved && !(await approved.hasAnswer(task, answer.oid))) return words
    const said = await store.readText(answer).catch(() => '')
    return said === '' ? words : `${words.replace(/\.$/, '')}: ${brief(said)}`
  }

  async remember(input: { run: RunId; kind: 'approval' | 'answer' } & PersonAnswer): Promise<void> {
    const { store } = await this.means.run(input.run)
    const { kind, task, count, answer } = input
    await (kind === 'approval' ? this.#verifyApproved(input) : this.#verifyAnswered(input))
    const bytes = await store.read(answer)
    await Promise.all([
      store.put(answer.kind, bytes),
      store.keep(
        'decisions',
        `${kind} ${task} ${count}`,
        JSON.stringify({ kind, task, count, answer } satisfies Decision),
      ),
      ...(kind === 'approval' ? [store.set('plan.json', bytes)] : []),
    ])
  }

  /**
   * Verifies that the user has signed the plan that is reported as approved. Then signs, as this user's worker, that
   * this plan is approved.
   */
  async #verifyApproved({ run, answer }: { run: RunId; answer: Reference }): Promise<void> {
    const { store, approved, verdicts } = await this.means.run(run)
    const plan = await this.means.plan(store, answer)
    const hash = hashOfPart(plan, undefined)
    // Without the user's signature, only a plan of a planner is accepted: with --yes any of its plans, else one that
    // allows nothing beyond the approved plan.
    const isPlanned = async () => !verdicts || (await verdicts.has({ fact: 'planned', run, plan: hash }))
    const isTaken = async () => ((await approved?.hasAll()) || (await this.#isWithin(run, plan))) && (await isPlanned())
    if (approved && !(await approved.hasPlan(plan)) && !(await isTaken()))
      throw new Failure(
        `A plan of ${run} was approved, but not by you: forge stop ${run} ends it, and a new run begins afresh.${await approved.ofStrangers()}`,
      )
    await verdicts?.sign({ fact: 'approved', run, plan: hash })
  }

  /** Whether a plan allows nothing beyond the current one, which the user has approved. */
  async #isWithin(run: RunId, plan: Plan): Promise<boolean> {
    const { store, verdicts } = await this.means.run(run)
    const before = await planThatHolds(store)
    if (!before) return false
    const isApproved = !verdicts || (await verdicts.has({ fact: 'approved', run, plan: hashOfPart(before, undefined) }))
    if (!isApproved) return false
    return this.means.widens(await this.means.settingsOf(store), before, plan, []).length === 0
  }

  async #verifyAnswered({ run, task, answer }: { run: RunId } & PersonAnswer): Promise<void> {
    const { approved } = await this.means.run(run)
    if (!approved || (await approved.hasAnswer(task, answer.oid))) return
    throw new Failure(`That is no answer of yours: forge answer ${run}${task ? ` ${visible(task)}` : ''} "…" signs it.`)
  }

  async escalate(input: {
    run: RunId
    task?: TaskId
    plan?: Reference
    words: string
    evidence: Reference[]
    status: RunStatus
    resume?: string
  }): Promise<Reference> {
    const { store, folder } = await this.means.run(input.run)
    const plan = input.plan && (await this.means.plan(store, input.plan))
    const state = input.status.tasks.find(({ id }) => id === input.task)
    // A question that was just asked is not yet in the status.
    const asked = input.evidence.find(isQuestion) ?? state?.question ?? input.status.question
    const failures = input.evidence.filter(it => !isQuestion(it))
    const evidence = await Promise.all(failures.map(it => evidenceInWords(store, it)))
    const escalation: Escalation = {
      status: {
        ...input.status,
        tasks: inShort(input.status.tasks, input.task),
        spent: await this.means.spent(input.run),
      },
      words: this.means.clean(input.words),
      // Failures with the same evidence are listed once.
      evidence: [...new Set(evidence.map(text => this.means.clean(text)))],
      task: input.task,
      // The input is untrusted, and the report shows this command for typing: only a plain `forge resume` of this run
      // is taken over.
      ...(input.resume?.startsWith(`forge resume ${input.run}`) &&
        /^[\w -]+$/.test(input.resume) && { resume: input.resume }),
      // Of the plan, the report needs the title and this task.
      ...(plan && { plan: { ...plan, contract: [], tasks: plan.tasks.filter(({ id }) => id === input.task) } }),
      ...(asked && { question: this.means.clean(await store.readText(asked)) }),
    }
    const text = reportAsMarkdown(escalation)
    await writeFile(join(folder, 'report.md'), text, { mode: 0o600 })
    const report = await store.put('escalation', text)
    await keepEscalation(store, report, escalation)
    return report
  }

  async rest(status: RunStatus): Promise<void> {
    const { store } = await this.means.run(status.run)
    // The ledger, which counts all requests, also has the costs that the workflow is not told: of answers that broke
    // off, and of requests lost in a crash.
    const spent = await this.means.spent(status.run)
    await store.set('status.json', `${JSON.stringify({ ...status, spent })}\n`)
  }

  async finish(input: {
    run: RunId
    base: Oid
    plan: Reference
    results: Reference
    resolved?: Oid
  }): Promise<Finished> {
    const { run, base, resolved } = input
    const { store, verdicts } = await this.means.run(run)
    const plan = await this.means.plan(store, input.plan)
    const results = v.parse(Results, await allItems(store, input.results))
    const heads = results.map(({ head }) => head)
    const title = plan.title.replace(/\s+/g, ' ').slice(0, 100)
    const message = `Bring together all results: ${title}\n\nForge-Run: ${run}\n`
    const gathered = await gatherAll(this.means, resolved ?? base, heads, message)
    await signGathering(verdicts, run, gathered, [resolved ?? base, ...heads])
    if (gathered.conflicts) {
      const { commit, conflicts } = await withReport(store, gathered.commit, gathered.conflicts)
      return { isGood: false, head: commit, report: conflicts.report, words: 'Results are in conflict.', conflicts }
    }
    const head = gathered.commit
    const ref = resultRef(run)
    await this.means.setRef(run, ref, head, { message: 'forge: all results' })
    const against = await this.#judged(base, head, store)
    if (against) return against
    const validated = await this.tasks.checked(store, { run, attempt: 1 }, ref, { plan, base, head })
    if (!validated.isGood) return validated
    const heldBefore = await this.#heldBefore({ store, verdicts }, plan, results)
    const finished = { ...validated, ...(heldBefore.length > 0 && { heldBefore }) }
    if (!(await this.#hasOpenQuestions(plan, results, validated.head))) return finished
    const asks = await store.put('asks', questionsInWords(plan))
    const count = reviewersOf(await this.means.settingsOf(store), REVIEW_TIER)
    return { ...finished, review: { asks, count, tier: REVIEW_TIER } }
  }

  /** Judges the result of a run that resolves a merge as Forklift's are; undefined where nothing is against it. */
  async #judged(base: Oid, head: Oid, store: RunStore): Promise<Finished | undefined> {
    const { objects } = this.means
    const merged = await mergedBy(objects, base)
    const { refusals } = merged ? await judgeMerge(objects, { ...merged, result: head }) : { refusals: [] }
    const [first] = refusals
    if (first === undefined) return undefined
    const report = await store.put('complaints', this.means.clean(refusals.join('\n')))
    return { isGood: false, head, report, words: brief(this.means.clean(`the judge of merges refuses it: ${first}`)) }
  }

  /** Assertions whose command passed before their task began, as the worker found out when it checked the task. */
  async #heldBefore(
    { store, verdicts }: Pick<Awaited<ReturnType<Means['run']>>, 'store' | 'verdicts'>,
    plan: Plan,
    results: readonly { task: TaskId; head: Oid }[],
  ): Promise<string[]> {
    const facts = (await verdicts?.all())?.facts ?? []
    const held = await Promise.all(
      results.map(async ({ task, head }) => {
        const part = hashOfPart(plan, task)
        const isOfResult = (it: FactOf<'checked'>) =>
          it.task === task && it.head === head && it.plan === part && it.isGood
        const checked = facts.find((it): it is FactOf<'checked'> => it.fact === 'checked' && isOfResult(it))
        const reference = checked && { kind: 'validation', oid: checked.report }
        // A report that can't be read counts as one without checks.
        const report = reference && ((await store.readJson(reference).catch(() => undefined)) as ValidationReport)
        const commands = new Set((report?.checks ?? []).filter(it => it.heldBefore).map(({ name }) => name))
        const { claims = [] } = plan.tasks.find(({ id }) => id === task) ?? {}
        const isHeld = ({ id, how }: Plan['contract'][number]) =>
          claims.includes(id) && how.kind === 'command' && commands.has(how.command)
        return plan.contract.filter(isHeld).map(({ id }) => id)
      }),
    )
    return held.flat().slice(0, MAX_NAMED_ASSERTIONS)
  }

  /**
   * Whether some assertions that only reviewers can affirm have not been affirmed for exactly these files. The
   * reviewers of an assertion's task have affirmed that task's result, but other tasks may have changed the files
   * since.
   */
  async #hasOpenQuestions(plan: Plan, results: readonly { task: TaskId; head: Oid }[], head: Oid): Promise<boolean> {
    const treeOf = async (commit: Oid) => (await this.means.objects.info(`${commit}^{tree}`))?.oid
    const tree = await treeOf(head)
    const same = await Promise.all(results.map(async it => ((await treeOf(it.head)) === tree ? [it.task] : [])))
    const affirmed = plan.tasks.filter(({ id }) => same.flat().includes(id)).flatMap(({ claims }) => claims)
    return plan.contract.some(({ id, how }) => how.kind === 'review' && !affirmed.includes(id))
  }
}

/** At most this many assertions are named to the workflow: its history takes no list without a bound. */
const MAX_NAMED_ASSERTIONS = 20

/** At most this many tasks are described in a report; with more, only the one that it is about. */
const MAX_TASKS_IN_WORDS = 100

/** The tasks in a report, shortened: a run of a thousand asking tasks writes a thousand reports. */
const inShort = (tasks: RunStatus['tasks'], about: TaskId | undefined): RunStatus['tasks'] =>
  tasks.length <= MAX_TASKS_IN_WORDS ? tasks : tasks.map(it => (it.id === about ? it : { ...it, words: '' }))

const isQuestion = ({ kind }: Reference): boolean => kind === 'question'
