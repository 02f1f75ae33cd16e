/** The checks of a run that count: only those signed by this user, in an unbroken chain from base to result. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Approvals } from '../../../../forge/ai/approvals.ts'
import { SigningKeys } from '../../../../forge/ai/signing-keys.ts'
import { Believed } from '../../../../forge/tasks/checks/believed.ts'
import { hashOfCommands } from '../../../../forge/tasks/checks/validate.ts'
import { type Fact, hashOfPart, Verdicts } from '../../../../forge/tasks/checks/verdicts.ts'
import type { Plan } from '../../../../forge/tasks/plan/schema.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { commit } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'
import { PLAN } from '../activities/scene.ts'

const HASH = '0'.repeat(64)

let place: Place
let [base, stack, docs, result, evil] = ['', '', '', '', '']
let count = 0
beforeAll(async () => {
  place = await makePlace()
  base = await commit(place.path, 'main', { 'a.txt': 'a\n' })
  stack = await commit(place.path, 'stack', { 'stack/a.txt': 's\n' }, { parents: [base] })
  docs = await commit(place.path, 'docs', { 'docs/a.txt': 'd\n' }, { parents: [base] })
  result = await commit(place.path, 'result', { 'stack/a.txt': 's\n', 'docs/a.txt': 'd\n' }, { parents: [stack, docs] })
  evil = await commit(place.path, 'evil', { 'stack/a.txt': 'evil\n' }, { parents: [base] })
})
afterAll(() => place[Symbol.asyncDispose]())

const approvals = (who = 'me') => new Approvals(join(place.folder, 'config', who))
/** A run without any fact (a signed record of what was asked, approved or checked). */
const newRun = () => new RunStore(place.objects, `20261122-facts-${++count}`)

async function checked(run: string, of: string, from: string, to: string, more: object = {}): Promise<Fact> {
  const task = PLAN.tasks.find(({ id }) => id === of)
  const commands = await hashOfCommands(place.objects, { plan: PLAN, ...(task && { task }), base: from, head: to })
  const plan = hashOfPart(PLAN, task?.id)
  const commits = { base: from, from: to, head: to, report: base }
  return {
    fact: 'checked',
    run,
    task: of,
    attempt: 1,
    ...commits,
    plan,
    commands,
    isGood: true,
    isWhole: false,
    ...more,
  }
}

/** All facts that an honest run signs. */
async function honest(run: string): Promise<Fact[]> {
  return [
    { fact: 'asked', run, base },
    { fact: 'approved', run, plan: hashOfPart(PLAN, undefined) },
    await checked(run, 'stack', base, stack),
    await checked(run, 'docs', base, docs),
    { fact: 'gathered', run, commit: result, of: [base, stack, docs] },
    await checked(run, '', base, result),
  ]
}

async function believed(store: RunStore, facts: readonly Fact[], { plan = PLAN, by = 'me' } = {}): Promise<Believed> {
  for (const fact of facts) await new Verdicts(approvals(by), store).sign(fact)
  return new Believed(place.objects, plan as Plan, await new Verdicts(approvals(), store).all())
}

test('what was checked from the base to the result is believed, task by task and as a whole', async () => {
  const store = newRun()
  const all = await believed(store, await honest(store.run))
  expect(await all.whyNot('stack', stack)).toBeUndefined()
  expect(await all.whyNot('docs', docs)).toBeUndefined()
  expect(await all.whyNot(undefined, result)).toBeUndefined()
  expect(await all.whyNot(undefined, docs)).toBe('there is no signature of yours for its checks')
})

test.each([
  ['asked', 'there is work in it that was not checked'],
  ['approved', 'you have not approved the plan that it was checked by'],
  ['gathered', 'there is work in it that was not checked'],
])('without the fact %s it is not', async (left, why) => {
  const store = newRun()
  const facts = (await honest(store.run)).filter(({ fact }) => fact !== left)
  expect(await (await believed(store, facts)).whyNot(undefined, result)).toBe(why)
})

test('work that follows from nothing but itself is not believed, and takes nothing from what is', async () => {
  const store = newRun()
  const { run } = store
  const all = await believed(store, [
    await checked(run, 'stack', evil, evil),
    await checked(run, 'stack', docs, stack),
    await checked(run, 'docs', stack, docs),
    { fact: 'gathered', run, commit: evil, of: [stack, evil] },
    { fact: 'judged', run, commit: evil, of: [evil, docs] },
    await checked(run, '', base, evil),
    await checked(run, '', evil, evil),
    ...(await honest(run)),
  ])
  expect(await all.whyNot('stack', evil)).toBe('there is work in it that was not checked')
  expect(await all.whyNot(undefined, evil)).toBe('there is work in it that was not checked')
  expect(await all.whyNot(undefined, result)).toBeUndefined()
})

test('checks that failed, other commands and another plan are told apart', async () => {
  const store = newRun()
  const all = await believed(store, [
    await checked(store.run, 'stack', base, stack, { isGood: false }),
    await checked(store.run, 'docs', base, docs, { commands: HASH }),
    await checked(store.run, '', base, result, { plan: HASH }),
  ])
  expect(await all.whyNot('stack', stack)).toBe('its checks failed')
  expect(await all.whyNot('docs', docs)).toBe(
    'it was checked by other commands than the plan and the repository ask for now',
  )
  expect(await all.whyNot(undefined, result)).toBe('it was checked by another plan than the one that holds')
})

test('a key that is not trusted, another run’s signatures and words that were changed count for nothing', async () => {
  const store = newRun()
  const facts = await honest(store.run)
  const theirs = await believed(store, facts, { by: 'them' })
  const strange = 'its checks were signed with a key that does not count here (SHA256:'
  expect(await theirs.whyNot(undefined, result)).toStartWith(strange)
  const keys = (who: string) => new SigningKeys(join(place.folder, 'config', who))
  const theirKey = await keys('them').ownLine()
  await keys('me').trust(theirKey, ['approval'])
  expect(await (await believed(store, [])).whyNot(undefined, result)).toStartWith(strange)
  await keys('me').trust(theirKey, ['result'])
  expect(await (await believed(store, [])).whyNot(undefined, result)).toBeUndefined()
  await keys('me').distrust(theirKey)
  expect((await believed(store, await honest('20261122-another'))).known.facts).toEqual([])
  const [first] = facts
  if (!first) throw new Error('There is no fact')
  await new Verdicts(approvals(), store).sign(first)
  const [signed] = (await store.all('verdicts')).filter(it => it.toString().includes('asked') && it.includes(store.run))
  const { signature } = JSON.parse(signed?.toString() ?? '')
  const words = JSON.stringify({ ...first, base: evil })
  await store.keep('verdicts', `${signature.key} ${words}`, JSON.stringify({ words, signature }))
  const { facts: left } = await new Verdicts(approvals(), store).all()
  expect(left.filter(it => it.fact === 'asked' && it.base === evil)).toEqual([])
})

test('a review is needed where the plan asks for one, and is needed again for other files', async () => {
  const store = newRun()
  const { run } = store
  const how = { kind: 'review', question: 'Is it short?' } as const
  const plan: Plan = { ...PLAN, contract: PLAN.contract.map(it => ({ ...it, how })) }
  const parts = { stack: hashOfPart(plan, 'stack'), all: hashOfPart(plan, undefined) }
  const commandsOf = (head: string, id?: string) => {
    const task = plan.tasks.find(it => it.id === id)
    return hashOfCommands(place.objects, { plan, ...(task && { task }), base, head })
  }
  const about = { run, head: stack, plan: parts.stack, task: 'stack', request: HASH }
  const facts: Fact[] = [
    { fact: 'asked', run, base },
    { fact: 'approved', run, plan: parts.all },
    await checked(run, 'stack', base, stack, { plan: parts.stack, commands: await commandsOf(stack, 'stack') }),
    await checked(run, 'docs', base, docs, { plan: hashOfPart(plan, 'docs') }),
    { fact: 'gathered', run, commit: result, of: [base, stack, docs] },
    await checked(run, '', base, result, { plan: parts.all, commands: await commandsOf(result) }),
  ]
  const none = await believed(store, facts, { plan })
  expect(await none.whyNot('stack', stack)).toBe('not all reviews that the plan asks for have accepted it')
  const one = await believed(store, [{ ...about, fact: 'reviewed', step: 'stack/1/review/1', isGood: true }], { plan })
  expect(await one.whyNot('stack', stack)).toBeUndefined()
  expect(await one.whyNot(undefined, result)).toBe('not all reviews that the plan asks for have accepted it')
  const whole = { ...about, head: result, plan: parts.all, task: '' }
  const two = await believed(store, [{ ...whole, fact: 'reviewed', step: 'finish/review/1', isGood: true }], { plan })
  expect(await two.whyNot(undefined, result)).toBeUndefined()
  const bad = await believed(store, [{ ...whole, fact: 'reviewed', step: 'finish/review/2', isGood: false }], { plan })
  expect(await bad.whyNot(undefined, result)).toBe('not all reviews that the plan asks for have accepted it')
  const last = await believed(store, [{ ...whole, fact: 'reviewed', step: 'finish/review/last', isGood: true }], {
    plan,
  })
  expect(await last.whyNot(undefined, result)).toBeUndefined()
})
