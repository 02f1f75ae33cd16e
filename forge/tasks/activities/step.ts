/**
 * The five activities of a step. Each may be killed at any point and repeated: the same request has the same bytes and
 * the same parsed answer, a stored answer is not asked for again, and an existing commit is found by its content.
 */

import { createHash } from 'node:crypto'
import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { Failure } from '../../../core/failure.ts'
import { commit } from '../../../core/git/commits.ts'
import { oidOf } from '../../../core/git/objects.ts'
import { writeTree } from '../../../core/git/trees.ts'
import { many, visible } from '../../../core/text.ts'
import { tokensIn } from '../../ai/fence.ts'
import { withCost } from '../../ai/price.ts'
import { type Model, type ModelAnswer, ModelError, type Usage } from '../../ai/request.ts'
import { MARK } from '../../ai/secrets.ts'
import { providerOf } from '../../ai/settings.ts'
import { RUNS } from '../../formats/tasks-json.ts'
import { type FactOf, hashOfPart } from '../checks/verdicts.ts'
import type {
  Constructed,
  Limits,
  Oid,
  Outcome,
  Received,
  Reference,
  Sent,
  Serialized,
  Signal,
  StepActivities,
  StepInput,
  StepPlace,
  StepResult,
} from '../contract.ts'
import { withModelSpan } from '../engine/spans.ts'
import { lessonReference, pinnedLessons } from '../lessons/pinned.ts'
import { NOTHING_SPENT } from '../run/state.ts'
import { type AskedBudget, OutOfBudget, type Reservation } from '../runs/budget.ts'
import { attemptRef } from '../runs/folder.ts'
import { type MergePart, mergedBy } from '../runs/merging.ts'
import { readStoredRun } from '../runs/plans.ts'
import { isAssumed, missingPrice, priceOf, requestEstimateOf } from '../runs/prices.ts'
import type { RunStore } from '../runs/store.ts'
import { parseStoredAnswer, spentOf, storedAnswer } from '../runs/stored-answer.ts'
import type { AnswerOf, FileEdit, LookCall, Resolution } from '../steps/answers.ts'
import { applyAll } from '../steps/apply.ts'
import { commitOn, findStep, stepMessage } from '../steps/commits.ts'
import { lookAtAll } from '../steps/look.ts'
import { isMaterial, questionsInWords } from '../steps/prompts.ts'
import { readAnswer } from '../steps/receive.ts'
import {
  buildRequest,
  type Merging,
  modelFor,
  parseRequest,
  type StoredRequest,
  thinkingFor,
} from '../steps/request.ts'
import { applyResolutions, conflictsLeft } from '../steps/resolutions.ts'
import { brief } from './brief.ts'
import type { Gate } from './gate.ts'
import { keepItems } from './lists.ts'
import { type Means, type OpenRun, TRIES } from './means.ts'
import { askShared, usedBy } from './shared-budget.ts'

/** Troubles that Temporal retries: the temporary ones. */
const PASSING: readonly string[] = ['rate', 'overloaded', 'cut', 'unreachable']
/** Troubles for which the provider charges nothing. */
const FREE: readonly string[] = ['rate', 'overloaded', 'unreachable', 'key', 'credit', 'no such model', 'too long']

/** Kinds of steps whose answers decide something, and so are signed. */
const SIGNED: readonly StepInput['kind'][] = ['plan', 'check plan', 'review']

type SendInput = StepPlace & Constructed

const isPlan = ({ kind }: Reference): boolean => kind === 'plan'

const idOf = ({ run, key }: SendInput): string => `${run} ${key}`

export class StepWork implements StepActivities {
  /** Requests under way in this process, by run and key: equal ones are sent once. */
  readonly #sending = new Map<string, Promise<Sent>>()
  /** Answers that could not be stored since the disk was full, by run and key. The next try stores them. */
  readonly #unkept = new Map<string, { answer: ModelAnswer; reservation: Paid }>()

  constructor(private readonly means: Means) {}

  async construct(input: StepInput): Promise<Constructed> {
    const { objects, options } = this.means
    const { store, journal, verdicts } = await this.means.run(input.run)
    const settings = await this.means.settingsOf(store)
    const name = modelFor(settings, input.tier, input.choice)
    const { window } = await this.means.model(name)
    const pinned = await this.#pinnedIn(store, verdicts)
    const from = input.kind === 'review' ? await this.#beganAt(input) : undefined
    const merging = await this.#mergingIn(input, store)
    const { bytes, key, tokens, leftOut, prompt, lessons } = await buildRequest(input, {
      objects,
      store,
      model: { name, window, thinking: thinkingFor(settings, input.tier, name) },
      secrets: settings.secrets,
      summaries: options.summaries,
      map: options.map,
      from,
      merging,
      lessons: await pinnedLessons(store, pinned),
    })
    const asked = `${name} for the step ${input.step} (${input.kind}), as its tier is ${input.tier}.`
    const left = leftOut.length > 0 ? ` There was no room for ${leftOut.join('; ')}.` : ''
    const learned = lessons.length > 0 ? ` Lessons of earlier runs: ${lessons.map(({ id }) => id).join(', ')}.` : ''
    const why = `About ${many(tokens, 'token')}, version ${prompt} of the prompt.${learned}${left}`
    const given = pinned ? lessons.map(lesson => lessonReference(lesson, pinned.oid)) : []
    const asking = verdicts && SIGNED.includes(input.kind) && (await this.#asked(input, key))
    const keepAsking = asking ? await verdicts.signed(asking) : undefined
    const [request] = await Promise.all([
      store.put('request', bytes),
      keepAsking?.(),
      journal.note({
        ...lineOf(input),
        id: `${input.step} asks ${key.slice(0, 12)}`,
        what: 'asks_model',
        words: asked,
        why,
        // From these references, `forge eval` rebuilds the request, sends it again and judges the new answer.
        refs: [this.#blobOf(bytes), { kind: 'base', oid: input.base }, ...input.about.filter(isPlan), ...given],
      }),
    ])
    return { request, key, model: name, kind: input.kind, tier: input.tier, prompt }
  }

  /**
   * The lessons with which the run began. A push to the hub could name others, which every request of every machine
   * would have: so they count only with a signature.
   */
  async #pinnedIn(store: RunStore, verdicts: OpenRun['verdicts']): Promise<Reference | undefined> {
    const pinned = (await readStoredRun(store))?.lessons
    if (!pinned || !verdicts || !this.means.options.shared) return pinned
    return (await verdicts.has({ fact: 'pinned', run: store.run, lessons: pinned.oid })) ? pinned : undefined
  }

  /** The reference to a request that is being stored. */
  #blobOf(request: string): Reference {
    const { format } = this.means.objects.repository
    return { kind: 'request', oid: oidOf(format, { type: 'blob', bytes: Buffer.from(request) }) }
  }

  async send(input: SendInput): Promise<Sent> {
    const { signal } = this.means.surroundings()
    const id = idOf(input)
    // When a shared request fails, the first waiter sends its own, and the others wait for that one.
    for (let known = this.#sending.get(id); known; known = this.#sending.get(id)) {
      const sent = await unlessAborted(
        known.catch(() => undefined),
        signal,
      )
      if (!sent) continue
      // The costs count only for the step that sent the shared request. That can be this very step, where Temporal has
      // lost track of it and repeated it.
      const own = await this.findAnswer(await this.means.run(input.run), input)
      return own ?? { ...sent, spent: NOTHING_SPENT, wasThere: true }
    }
    const sending = this.#send(input)
    this.#sending.set(id, sending)
    try {
      return await sending
    } finally {
      if (this.#sending.get(id) === sending) this.#sending.delete(id)
    }
  }

  async receive(input: StepPlace & { kind: StepInput['kind']; answer: Reference; meant?: Signal }): Promise<Received> {
    const { store, journal } = await this.means.run(input.run)
    const stored = parseStoredAnswer(await store.read(input.answer))
    const read = readAnswer(input.kind, stored, input.meant)
    const words = brief(this.means.clean(read.inShort ?? read.words))
    if (!read.parsed) {
      const evidence = await store.put('complaints', this.means.clean(read.words))
      if (!read.isConfused) return { words, evidence }
      const isAsked = input.kind !== 'classify' && (await this.#canClassify(store))
      const unclear = isAsked ? await store.put('unclear', this.means.clean(read.unclear ?? '')) : undefined
      return { words, evidence, isConfused: true, ...(unclear && { unclear }) }
    }
    const parsed = await store.putJson('parsed', read.parsed)
    if (input.meant === undefined) return { parsed, words }
    const line = { ...lineOf(input), id: `${input.step} meant ${input.answer.oid.slice(0, 12)}`, what: 'meant' }
    const { run, kind, meant } = input
    await journal.note({ ...line, run, words: `Its signal is unknown, and is taken as ${meant}.`, why: WHY_MEANT })
    // Plans and verdicts are signed, and that only as their model has answered: it is asked once more.
    if (meant !== 'success' || !SIGNED.includes(kind)) return { parsed, words }
    const complaint = `The signal of the answer is unknown. Send the same answer again with the signal "success".`
    return { words: complaint, evidence: await store.put('complaints', complaint) }
  }

  /** Whether a model can be asked which signal an answer meant. */
  async #canClassify(store: RunStore): Promise<boolean> {
    const settings = await this.means.settingsOf(store)
    const [name] = settings.modelsOf('classification')
    return name !== undefined && settings.missing(name) === undefined
  }

  async serialize(
    input: StepPlace & { kind: StepInput['kind']; base: Oid; key: string; parsed: Reference },
  ): Promise<Serialized> {
    const { store } = await this.means.run(input.run)
    const parsed = (await store.readJson(input.parsed)) as AnswerOf<StepInput['kind']>
    if (parsed.signal !== 'success') return {}
    if ('fan_out' in parsed && parsed.fan_out.length > 0) return {}
    if ('looks' in parsed)
      return { artifact: await store.put('looked', await this.#lookedAt(input.base, parsed.looks)) }
    if ('text' in parsed) return { artifact: await store.put('artifact', parsed.text) }
    if (!('edits' in parsed)) return {}
    const merging = 'conflicts' in parsed ? await this.#mergingIn(input, store) : undefined
    if (merging && 'conflicts' in parsed) return await this.#resolve(input, parsed, merging.part)
    return await this.#commit(input, parsed)
  }

  async transition(
    input: StepInput & { received: Received; serialized?: Serialized; sent: Sent },
  ): Promise<StepResult> {
    const { store, journal } = await this.means.run(input.run)
    const { received, serialized, sent } = input
    const parsed =
      received.parsed && ((await store.readJson(received.parsed)) as AnswerOf<StepInput['kind']> | undefined)
    await this.#signAnswer(input, sent.answer)
    const { outcome, words } = endOf(received, serialized, parsed)
    const isGood = outcome === 'success'
    const evidence = received.evidence ?? serialized?.evidence ?? (await this.#needed(store, parsed))
    const result: StepResult = {
      outcome,
      words: brief(this.means.clean(words)),
      evidence,
      spent: sent.spent,
      ...(received.parsed && { parsed: named(received.parsed, outcome) }),
      ...(isGood && serialized?.commit !== undefined && { commit: serialized.commit }),
      ...(isGood && serialized?.artifact && { artifact: serialized.artifact }),
      ...(parsed && outcome === parsed.signal && (await more(store, parsed))),
    }
    const { cost, input: read, output } = sent.spent
    const money = cost > 0 ? `, $${cost.toFixed(4)}` : ''
    const took = `${many(read, 'token')} read, ${many(output, 'token')} written${money}`
    const how = sent.wasThere ? 'its answer was there already, and was not asked for again' : `${sent.model}: ${took}`
    const why = `Step ${input.step}, ${how}.`
    // The journal may have the whole evidence, which is not in the workflow's history.
    const told = evidence ? await store.readText(evidence) : words
    const id = `${input.step} ends ${sent.answer.oid.slice(0, 12)}`
    const refs = [result.parsed, result.evidence, result.artifact, result.question].filter(it => it !== undefined)
    await journal.note({ ...lineOf(input), id, what: outcome, words: shortly(told), why, refs })
    return result
  }

  async keepWords(input: StepPlace & { kind: string; words: string }): Promise<Reference> {
    const { store } = await this.means.run(input.run)
    return await store.put(input.kind, this.means.clean(input.words))
  }

  // --- What is believed of an answer

  /**
   * The fact to sign: this request asks a model for a plan or a verdict. Undefined where unfenced text of another
   * author than the user could have instructed the model.
   */
  async #asked(input: StepInput, request: string): Promise<FactOf<'planning' | 'reviewing'> | undefined> {
    const { run, task, step, base, about, kind } = input
    const { store, approved } = await this.means.run(run)
    const reference = kind === 'review' ? about.find(it => it.kind === 'plan') : undefined
    const plan = reference && (await this.means.plan(store, reference))
    const { wish } = await this.means.stored(store)
    for (const it of about) {
      const isAnswer = it.kind === 'answer' && (!approved || (await approved.hasAnswer(task ?? '', it.oid)))
      const isWish = it.kind === 'wish' && it.oid === wish.oid
      const isQuestions =
        plan && it.kind === 'asks' && task === undefined && (await store.readText(it)) === questionsInWords(plan)
      if (!isMaterial(it.kind) && !isAnswer && !isWish && !isQuestions) return undefined
    }
    if (kind !== 'review') return { fact: 'planning', run, step, request }
    if (!plan) return undefined
    return { fact: 'reviewing', run, task: task ?? '', step, head: base, plan: hashOfPart(plan, task), request }
  }

  /** Signs what the model has answered to exactly this request. */
  async #signAnswer(input: StepInput, answer: Reference): Promise<void> {
    const { store, verdicts } = await this.means.run(input.run)
    if (!verdicts || !SIGNED.includes(input.kind)) return
    const stored = parseStoredAnswer(await store.read(answer))
    if ((await store.find('answers', stored.key)) !== answer.oid) return
    // A hub may have brought an answer that is not the model's.
    const answered = { fact: 'answered', run: input.run, request: stored.key, answer: answer.oid } as const
    if (this.means.options.shared && !(await verdicts.has(answered))) return
    const asked = await this.#asked(input, stored.key)
    if (!asked || !(await verdicts.has(asked))) return
    const { parsed } = readAnswer(input.kind, stored)
    if (parsed?.signal !== 'success') return
    if (asked.fact === 'reviewing' && 'verdict' in parsed)
      await verdicts.sign({ ...asked, fact: 'reviewed', isGood: parsed.verdict === 'good' })
    if (asked.fact === 'planning' && 'plan' in parsed && parsed.plan)
      await verdicts.sign({ fact: 'planned', run: input.run, plan: hashOfPart(parsed.plan, undefined) })
  }

  // --- Sending

  async #send(input: SendInput): Promise<Sent> {
    const run = await this.means.run(input.run)
    const there = await this.findAnswer(run, input)
    if (there) return there
    const unkept = this.#unkept.get(idOf(input))
    if (unkept) return await this.#keep(run, input, unkept.answer, unkept.reservation)
    const bytes = await run.store.readText(input.request)
    // Answers are found by the hash of the request, so this request must have that hash.
    if (createHash('sha256').update(bytes).digest('hex') !== input.key)
      throw new Failure(`The request of the step ${visible(input.step)} is not the one that was constructed.`)
    const signal = unlessLost(this.means.surroundings().signal)
    const { limits, base } = await this.means.stored(run.store)
    const price = missingPrice([input.model], this.means.settings, limits)
    if (price) throw ApplicationFailure.nonRetryable(price, 'ModelError', 'key')
    const stored = parseRequest(JSON.parse(bytes))
    if (stored.model !== input.model) throw new Failure(`The step ${visible(input.step)} is for another model.`)
    // A model that can't be opened must use no budget.
    const model = await this.means.model(input.model)
    const gate = this.means.gate(input.model)
    let isCut = false
    const ask = async () => {
      const pass = await gate.enter(signal)
      // The user may have raised the limits meanwhile.
      const { limits: now } = await this.means.stored(run.store)
      const options = { isWhole: isCut, onRefusal: () => gate.leave(pass, { how: 'other' }) }
      const reservation = await this.#reserve(run, input, stored, now, options)
      return reservation === 'wait' ? reservation : { pass, reservation }
    }
    for (;;) {
      const { pass, reservation } = await run.ledger.inLine(ask, {
        signal,
        milliseconds: run.budget && ASK_AGAIN_MS,
      })
      const answer = await this.#ask(input, stored, { model, run, base, gate, pass, reservation, signal })
      isCut = answer.end === 'length' && reservation.output < stored.request.output
      if (!isCut) return await this.#keep(run, input, answer, reservation)
      // The answer was cut at the reserved length: ask again with the longest one allowed.
      await this.#settle(run, reservation, withCost(answer.usage, priceOf(input.model, this.means.settings)))
    }
  }

  /** The stored answer of a request; undefined where there is none. */
  async findAnswer({ store, ledger, budget }: OpenRun, input: SendInput): Promise<Sent | undefined> {
    const { key, step } = input
    const oid = await store.find('answers', key)
    if (oid === undefined) return undefined
    this.#unkept.delete(idOf(input))
    const stored = parseStoredAnswer(await store.read({ kind: 'answer', oid }))
    const { model, usage } = stored
    ledger.settleKnown(key, usage, stored.saved)
    await budget?.settle(store.run, { key }, usedBy(usage))
    // The cost counts for the step that sent the request, also when that is repeated; other steps get the answer for
    // free.
    const spent = stored.step === step ? spentOf(usage) : NOTHING_SPENT
    return { answer: { kind: 'answer', oid }, model, spent, wasThere: true }
  }

  /**
   * Reserves budget for a request. Gives 'wait' where the budget may suffice once the requests under way are settled.
   */
  async #reserve(
    run: OpenRun,
    { key, model, kind, tier }: SendInput,
    { request }: StoredRequest,
    limits: Limits,
    { isWhole, onRefusal }: { isWhole: boolean; onRefusal: () => void },
  ): Promise<Paid | 'wait'> {
    const { ledger, budget } = run
    const { tools, system, messages, output } = request
    const { settings } = this.means
    const input = tokensIn(JSON.stringify([tools, system, messages]))
    const price = priceOf(model, settings)
    try {
      const asked = {
        key,
        model,
        kind: kind ?? '',
        tier: tier ?? '',
        input,
        output,
        price,
        isAssumed: isAssumed(model, settings),
      }
      const reservation = budget
        ? await this.#reserveShared({ ...run, budget }, asked, { limits, isWhole })
        : ledger.reserve(asked, limits, { isWhole })
      if (reservation === 'wait') onRefusal()
      return reservation
    } catch (error) {
      onRefusal()
      if (!(error instanceof OutOfBudget)) throw error
      throw ApplicationFailure.nonRetryable(error.message, 'OutOfBudget', error.limit)
    }
  }

  /**
   * Asks the budget that several machines share. What it grants is recorded in this machine's ledger too, which learns
   * how long answers are, and by which no machine alone passes a limit.
   */
  async #reserveShared(
    run: Parameters<typeof askShared>[0],
    asked: AskedBudget,
    options: { limits: Limits; isWhole: boolean },
  ): Promise<Paid | 'wait'> {
    const granted = await askShared(run, asked, options)
    if (granted === 'wait') return 'wait'
    const { id: shared, room } = granted
    const giveBack = () => run.budget.settle(run.store.run, { id: shared }, usedBy(undefined))
    try {
      const own = run.ledger.openGranted(asked, room, options.limits)
      if (own !== 'wait') return { ...own, shared }
      await giveBack()
      return own
    } catch (error) {
      await giveBack()
      throw error
    }
  }

  async #ask(
    { model: name, run: id, task, step, kind }: SendInput,
    { request }: StoredRequest,
    { model, run, base, gate, pass, reservation, signal }: Asking,
  ): Promise<ModelAnswer> {
    try {
      const asked = { operation: 'chat', provider: providerOf(name) ?? '', model: name, run: id, step } as const
      const place = { ...asked, maxTokens: reservation.output, task }
      const answer = await withModelSpan(place, async tell => {
        const asking = model.ask({ ...request, output: reservation.output }, { signal, onProgress: () => undefined })
        if (kind === 'plan') this.means.readAhead(base)
        const told = await asking
        const { input, output, cost } = told.usage
        tell({ finish: told.end, input, output, cost })
        return told
      })
      gate.leave(pass, { how: 'good' })
      await this.#tellOver(run, name)
      return answer
    } catch (error) {
      const trouble = error instanceof ModelError ? error : undefined
      const isBusy = trouble?.trouble === 'rate' || trouble?.trouble === 'overloaded'
      const { retryAfter } = trouble ?? {}
      gate.leave(pass, isBusy ? { how: 'busy', retryAfter } : { how: 'other' })
      await this.#settle(run, reservation, this.#usedBy(name, request, trouble))
      if (!trouble) throw error
      this.means.count(name, { sent: 'now', error: trouble.trouble })
      const failure = failureOf(trouble, gate)
      await this.#tellTrouble(run, name, failure)
      throw failure
    }
  }

  /** Records for `forge show` that a model does not answer, and when it is asked again. */
  async #tellTrouble({ store, troubles, journal }: OpenRun, model: string, failure: ApplicationFailure): Promise<void> {
    const { attempt = 1 } = this.means.surroundings()
    if (failure.nonRetryable || attempt >= LAST_TRY) {
      await troubles.over(model)
      return
    }
    const now = this.means.now()
    const delay = typeof failure.nextRetryDelay === 'number' ? failure.nextRetryDelay : pauseAfter(attempt)
    const words = this.means.clean(failure.message)
    if (!(await troubles.failed(model, { words, now, next: now + delay }))) return
    const id = `trouble ${model} ${now}`
    await journal.note({ run: store.run, id, what: 'trouble', words, why: `Asked for ${model}; it is asked again.` })
  }

  async #tellOver({ store, troubles, journal }: OpenRun, model: string): Promise<void> {
    const over = await troubles.over(model)
    if (!over) return
    const seconds = Math.max(1, Math.round((this.means.now() - over.since) / 1000))
    const words = `${model} answers again, after ${many(seconds, 'second')} and ${over.tries === 1 ? 'one try' : `${over.tries} tries`}.`
    await journal.note({ run: store.run, id: `trouble over ${model} ${over.since}`, what: 'trouble over', words })
  }

  /** The estimated usage of a request without an answer; undefined where it is free. */
  #usedBy(name: string, request: StoredRequest['request'], trouble: ModelError | undefined): Usage | undefined {
    if (trouble && FREE.includes(trouble.trouble)) return undefined
    const { tools, system, messages } = request
    const input = tokensIn(JSON.stringify([tools, system, messages]))
    const output = tokensIn(trouble?.text ?? '')
    const { cost } = requestEstimateOf({ input, output }, priceOf(name, this.means.settings))
    return { input, output, cacheRead: 0, cacheWrite: 0, cost }
  }

  /**
   * Stores the answer first, then its cost: a crash in between loses nothing that was paid for. An answer that can't be
   * stored is kept in memory for the next try.
   */
  async #keep(run: OpenRun, input: SendInput, answer: ModelAnswer, reservation: Paid): Promise<Sent> {
    const { model, key } = input
    const usage = withCost(answer.usage, priceOf(model, this.means.settings))
    const stored = storedAnswer(input, { ...answer, usage })
    this.#unkept.set(idOf(input), { answer, reservation })
    const bytes = Buffer.from(this.#hidden(JSON.stringify(stored)))
    await this.signAnswered(run, input, bytes)
    const oid = await run.store.keep('answers', key, bytes)
    await this.#settle(run, reservation, usage, this.#assumedCost(model, usage))
    this.means.count(model, { sent: 'now', usage })
    this.#unkept.delete(idOf(input))
    return { answer: { kind: 'answer', oid }, model, spent: spentOf(usage), wasThere: false }
  }

  /**
   * Signs which answer a model has given, where that decides something. This is done before the answer is stored, so
   * that a stored one of this worker's is always signed.
   */
  async signAnswered(
    { store, verdicts }: OpenRun,
    { kind, key }: Pick<SendInput, 'kind' | 'key'>,
    bytes: Buffer,
  ): Promise<void> {
    if (!verdicts || kind === undefined || !SIGNED.includes(kind)) return
    const answer = oidOf(this.means.objects.repository.format, { type: 'blob', bytes })
    await verdicts.sign({ fact: 'answered', run: store.run, request: key, answer })
  }

  /** Replaces what was set aside for a request by what it has used; without usage, only the request is counted. */
  async #settle(
    { store, ledger, budget }: OpenRun,
    reservation: Paid,
    usage: Usage | undefined,
    assumed = 0,
  ): Promise<void> {
    ledger.settle(reservation, usage, assumed)
    if (reservation.shared !== undefined) await budget?.settle(store.run, { id: reservation.shared }, usedBy(usage))
  }

  /** The cost of a request by an assumed price; 0 where the price is known. */
  #assumedCost(model: string, { input, output }: Usage): number {
    if (!isAssumed(model, this.means.settings)) return 0
    return requestEstimateOf({ input, output }, priceOf(model, this.means.settings)).cost
  }

  /** Removes this process's keys. Text that only looks like a key is kept, since it may be the model's code. */
  #hidden(text: string): string {
    return this.means.settings.secrets.reduce((hidden, secret) => hidden.replaceAll(secret, MARK), text)
  }

  // --- Writing

  /** Applies edits to the base and commits the result on the attempt's ref; an existing equal commit is reused. */
  async #commit(
    input: StepPlace & { kind: StepInput['kind']; base: Oid; key: string },
    parsed: { words: string; edits: readonly FileEdit[] },
  ): Promise<Serialized> {
    const { objects } = this.means
    const { base, key } = input
    const ref = this.#refFor(input)
    const tip = (await objects.info(ref))?.oid
    const found = await findStep(objects, tip, input, key)
    if (found.commit !== undefined && found.parent === base) return { commit: found.commit }
    const { signal } = this.means.surroundings()
    const applied = await applyAll(objects, base, parsed.edits, signal)
    if (!applied.files) return await this.#refused(input.run, applied.inShort, applied.words)
    const who = await this.means.user(Math.floor(this.means.now() / 1000))
    const message = stepMessage(this.means.clean(parsed.words), input, key)
    const made = await commitOn(objects, { base, changes: applied.files.changes, message, who })
    // An edit that changes nothing is no failure: the work was done already.
    if (made === base) return { commit: base }
    await this.means.setRef(input.run, ref, made, { message: `forge: ${input.step}` })
    return { commit: made }
  }

  /** As {@link #commit}, with resolutions of conflicts, which come before the edits. */
  async #resolve(
    input: StepPlace & { kind: StepInput['kind']; base: Oid; key: string },
    parsed: { words: string; edits: readonly FileEdit[]; conflicts: readonly Resolution[] },
    part: MergePart,
  ): Promise<Serialized> {
    const { objects } = this.means
    const { base, key } = input
    const ref = this.#refFor(input)
    const found = await findStep(objects, (await objects.info(ref))?.oid, input, key)
    if (found.commit !== undefined && found.parent === base) return { commit: found.commit }
    const resolved = await applyResolutions(objects, base, part, parsed.conflicts)
    if (!resolved.changes)
      return await this.#refused(input.run, 'The resolutions fit no conflicts.', resolved.complaints.join('\n'))
    const between = await writeTree(objects, base, resolved.changes)
    const { signal } = this.means.surroundings()
    const applied = await applyAll(objects, between, parsed.edits, signal)
    if (!applied.files) return await this.#refused(input.run, applied.inShort, applied.words)
    const tree = await writeTree(objects, between, applied.files.changes)
    const left = await conflictsLeft(objects, tree, part)
    if (left !== undefined) return await this.#refused(input.run, 'Conflicts of the part are not resolved.', left)
    const who = await this.means.user(Math.floor(this.means.now() / 1000))
    const message = stepMessage(this.means.clean(parsed.words), input, key)
    // Also where no file changes: a choice may be what git has left.
    const made = await commit(objects, { tree, parents: [base], message, author: who, committer: who })
    await this.means.setRef(input.run, ref, made, { message: `forge: ${input.step}` })
    return { commit: made }
  }

  async #refused(run: StepInput['run'], inShort: string, words: string): Promise<Serialized> {
    const { store } = await this.means.run(run)
    return { words: brief(inShort), evidence: await store.put('complaints', this.means.clean(words)) }
  }

  /** The part of a merge that a step of a task is about; undefined in a run that resolves no merge. */
  async #mergingIn({ task, kind }: Pick<StepInput, 'task' | 'kind'>, store: RunStore): Promise<Merging | undefined> {
    if (task === undefined || (kind !== 'resolve' && kind !== 'review')) return undefined
    const base = (await readStoredRun(store))?.base
    const merged = base === undefined ? undefined : await mergedBy(this.means.objects, base)
    const part = merged?.parts.find(it => it.task === task)
    return merged && part && { merged, part }
  }

  /**
   * Runs the reading tools of the chat that a planner has called, on the files of the base commit; gives their results.
   */
  async #lookedAt(base: Oid, looks: readonly LookCall[]): Promise<string> {
    const { signal } = this.means.surroundings()
    return this.means.clean(await lookAtAll(this.means.objects, base, looks, signal))
  }

  /** A reference to the list of files that the model asked for; with it, the step is asked again. */
  async #needed(store: RunStore, parsed: AnswerOf<StepInput['kind']> | undefined): Promise<Reference | undefined> {
    if (parsed?.signal !== 'failure_retryable') return undefined
    // Answers stored by an older version do not have `needs`.
    const { needs = [] } = parsed
    if (needs.length === 0) return undefined
    const list = needs.map(path => `- ${path}`).join('\n')
    const words = `You needed these files whole; those that exist are here now:\n${list}\nDo the step with them.`
    return await store.put('complaints', this.means.clean(words))
  }

  /**
   * The ref for a step's commit: the attempt's for a task's changes; a separate one for the resolution of a conflict,
   * which is judged later.
   */
  #refFor({ run, task, attempt, step, kind }: StepPlace & { kind: StepInput['kind'] }): string {
    const isWork = kind === 'implement' || (kind === 'resolve' && !step.startsWith(`${task}/${attempt}/resolve/`))
    if (isWork && task !== undefined) return attemptRef(run, task, attempt)
    return `${RUNS}${run}/steps/${createHash('sha256').update(step).digest('hex').slice(0, 20)}`
  }

  /** The commit that the attempt (or the run) began with: a reviewer is shown the changes since. */
  async #beganAt(input: StepInput): Promise<Oid | undefined> {
    if (input.task === undefined) return (await this.means.stored((await this.means.run(input.run)).store)).base
    const { began } = await findStep(this.means.objects, input.base, input, undefined)
    return began === input.base ? undefined : began
  }
}

/** Why a signal is taken for another one, for the journal. */
const WHY_MEANT = 'A model of the tier classification was asked, with the words of the answer.'

type Asking = {
  model: Model
  run: OpenRun
  /** The base commit of the run. */
  base: Oid
  gate: Gate
  pass: Awaited<ReturnType<Gate['enter']>>
  reservation: Paid
  signal: AbortSignal
}

/** A reservation in this machine's ledger. `shared`: its name in the budget of all machines. */
type Paid = Reservation & { shared?: string }

/**
 * Milliseconds after which the budget of all machines is asked again, where no request of this one was settled before:
 * each question is an update of a workflow, with events in its history.
 */
const ASK_AGAIN_MS = 5_000

/** The number of the last try of a request. */
const LAST_TRY = TRIES.passing

/** Milliseconds that Temporal waits after a try, where the provider names no time (see flows/effects.ts). */
const pauseAfter = (attempt: number): number => Math.min(2 ** attempt, 120) * 1000

/** Converts an error of a model to a failure of an activity. */
function failureOf(error: ModelError, gate: Gate): ApplicationFailure {
  const { trouble, retryAfter = 0 } = error
  const message = error.inRun
  if (!PASSING.includes(trouble)) return ApplicationFailure.nonRetryable(message, 'ModelError', trouble)
  const wait = Math.max(gate.closedFor, retryAfter * 1000)
  return ApplicationFailure.create({
    message,
    type: 'ModelError',
    details: [trouble],
    ...(wait > 0 && { nextRetryDelay: Math.ceil(wait) }),
  })
}

/**
 * A signal that is not aborted where the server has only lost track of the activity, as on a busy machine: the request
 * is paid for, and the next try waits for its answer.
 */
function unlessLost(signal: AbortSignal): AbortSignal {
  const control = new AbortController()
  const hear = () => {
    const { reason } = signal
    if (!(reason instanceof CancelledFailure && LOST.includes(reason.message))) control.abort(reason)
  }
  if (signal.aborted) hear()
  signal.addEventListener('abort', hear, { once: true })
  return control.signal
}

/** Temporal's reasons for ending an activity that was not cancelled. */
const LOST: readonly string[] = ['NOT_FOUND', 'TIMED_OUT']

/** Gives the result of `work`. Throws the signal's reason where that is aborted first; the work itself continues. */
async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const lineOf = ({ run, task, attempt }: StepPlace) => ({ run, attempt, task })

/**
 * The outcome of a step. The signal in the model's answer (how the step ended) counts only where the answer could be
 * read and its edits could be applied.
 */
function endOf(
  received: Received,
  serialized: Serialized | undefined,
  parsed: AnswerOf<StepInput['kind']> | undefined,
): { outcome: Outcome; words: string } {
  if (!parsed) return { outcome: received.isConfused ? 'confused' : 'failure_retryable', words: received.words }
  if (serialized?.words !== undefined) return { outcome: 'failure_retryable', words: serialized.words }
  return { outcome: parsed.signal, words: parsed.words }
}

/**
 * The reference to an answer. Where the answer says that the plan lacks some work, it gets the kind `discovered`, since
 * later requests show it under the heading of that kind.
 */
const named = (parsed: Reference, outcome: Outcome): Reference =>
  outcome === 'new_tasks_discovered' ? { ...parsed, kind: 'discovered' } : parsed

/** The fields of a step's result that only some outcomes have. */
async function more(store: RunStore, parsed: AnswerOf<StepInput['kind']>): Promise<Partial<StepResult>> {
  if (parsed.signal === 'blocked_on_human') return { question: await store.put('question', parsed.question) }
  if (parsed.signal === 'blocked_on_sibling') return { sibling: parsed.sibling }
  if (parsed.signal !== 'success') return {}
  if ('plan' in parsed && parsed.plan) return { plan: await store.putJson('plan', parsed.plan) }
  if ('meant' in parsed) return parsed.meant === 'unclear' ? {} : { meant: parsed.meant }
  if ('verdict' in parsed) return { isGood: parsed.verdict === 'good' }
  if ('steps' in parsed) {
    const steps = parsed.steps.map(({ does, files }) => store.putJson('step', { text: does, files }))
    return { steps: await Promise.all(steps) }
  }
  if (!('fan_out' in parsed) || parsed.fan_out.length === 0) return {}
  const asked = parsed.fan_out.map(async ({ id, tier, asks, files }) => {
    return { id, tier, asks: await store.putJson('asks', { text: asks, files }) }
  })
  const agents = await Promise.all(asked)
  return { fanOut: await keepItems(store, 'agents', agents) }
}

/** The beginning of a text, on one line. The whole text is stored in a blob. */
function shortly(words: string): string {
  const line = visible(words.replace(/\s+/g, ' ').trim())
  return line.length > 600 ? `${line.slice(0, 600)} …` : line
}
