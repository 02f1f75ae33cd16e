/**
 * The validation of an attempt, with a stand-in for docker that runs commands without a container. What a container's
 * commands can't do is tested on a real engine, in test/e2e.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Oid } from '../../../../core/git/repository.ts'
import { Approvals } from '../../../../forge/ai/approvals.ts'
import { ApprovedCommands } from '../../../../forge/tasks/checks/approved.ts'
import { slotsFor } from '../../../../forge/tasks/checks/slots.ts'
import { commandsOfPlan } from '../../../../forge/tasks/checks/validate.ts'
import { commit, type Files, git } from '../../../support/git.ts'
import { type Judge, makeJudge, planOf } from '../../../support/judge.ts'
import { refusedBy } from '../../../support/refusals.ts'
import type { Place } from '../../../support/repository.ts'

setDefaultTimeout(60_000)

const before: Record<string, string | undefined> = {}
let judging: Judge
let place: Place

function setVariable(name: string, value: string | undefined): void {
  if (!(name in before)) before[name] = process.env[name]
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
beforeAll(() => setVariable('PATH', `${join(import.meta.dir, '../../../stand-ins')}:${process.env.PATH}`))
afterAll(() => {
  for (const [name, value] of Object.entries(before)) setVariable(name, value)
})
beforeEach(async () => {
  judging = await makeJudge()
  place = judging.place
  setVariable('FORKLIFT_TEST_DOCKER', join(place.folder, 'engine'))
  setVariable('FORKLIFT_TEST_FAULT', undefined)
})
afterEach(() => judging[Symbol.asyncDispose]())

const judge = (base: Oid, head: Oid, wish: Parameters<Judge['validate']>[1] = {}) =>
  judging.validate({ base, head }, wish)

async function attempt(base: Files, change: Files): Promise<[Oid, Oid]> {
  const from = await commit(place.path, 'main', base)
  return [from, await commit(place.path, 'work', change, { parents: [from] })]
}

test('an attempt whose checks pass is good, and one that fails says what failed with the code around it', async () => {
  const [base, head] = await attempt({ 'a.ts': 'one\n' }, { 'a.ts': 'one\ntwo\nthree\n' })
  const good = await judge(base, head, { checks: [{ command: 'grep -q two a.ts' }], outputs: ['a.ts'] })
  expect([good.isGood, good.words, good.head]).toEqual([true, 'All checks passed.', head])
  const bad = await judge(base, head, { checks: [{ command: "echo 'a.ts:2:1: two is wrong'; exit 3" }] })
  expect([bad.isGood, bad.report.checks.map(it => it.came)]).toEqual([false, ['bad', 'good']])
  expect(bad.report.text).toContain(
    'failed (ended with 3)\n  a.ts:2: two is wrong\n       1| one\n       2> two\n       3| three',
  )
})

test('the claims of a task are checked, and a command may not be what the base fails in as well', async () => {
  const [base, head] = await attempt({ a: '1' }, { a: '2' })
  const { isGood, report } = await judge(base, head, { contract: 'test -e missing' })
  expect([isGood, report.checks[0]?.came]).toEqual([false, 'bad'])
})

test('nothing that was done, and outputs that are missing, are no success', async () => {
  const base = await commit(place.path, 'main', { a: '1' })
  const { isGood, report } = await judge(base, base, { outputs: ['a', 'b'] })
  expect([isGood, report.violations]).toEqual([false, ['b is not there', 'nothing was changed at all']])
})

test('beyond the boundaries no command runs at all', async () => {
  const [base, head] = await attempt({ a: '1' }, { b: '2' })
  const { isGood, report, words } = await judge(base, head, { write: ['a'], checks: [{ command: 'true' }] })
  expect([isGood, report.checks]).toEqual([false, []])
  expect(words).toBe('1 violation of its boundaries: b is outside of what the task may write')
})

test('of the repository’s own checks, only what is new against the base counts', async () => {
  const forge = '## Checks\n- `cat complaints; test ! -s complaints`\n'
  const old = 'x.ts:1:1: old\n'
  const [base, same] = await attempt({ 'FORGE.md': forge, complaints: old, 'x.ts': 'x' }, { y: '1' })
  expect((await judge(base, same)).report.checks[0]).toMatchObject({ came: 'not new' })
  const worse = await commit(place.path, 'worse', { complaints: `${old}x.ts:1:1: new\n` }, { parents: [base] })
  const { isGood, report } = await judge(base, worse)
  expect([isGood, report.checks[0]?.findings.map(it => it.words)]).toEqual([false, ['new']])
})

test('as many attempts as there are slots are compared with their base at the same time', async () => {
  const forge = '## Checks\n- `cat complaints; test ! -s complaints`\n'
  const [base, head] = await attempt({ 'FORGE.md': forge, complaints: 'x.ts:1:1: old\n' }, { y: '1' })
  const judged = await Promise.all(Array.from({ length: judging.slots.most }, () => judge(base, head)))
  expect(new Set(judged.map(({ report }) => report.checks[0]?.came))).toEqual(new Set(['not new']))
})

test('as many checks run at a time as the machine has processors and memory for', () => {
  const GB = 1024 ** 3
  expect(slotsFor({ processors: 8, memory: 64 * GB })).toBe(8)
  expect(slotsFor({ processors: 8, memory: 12.5 * GB })).toBe(3)
  expect(slotsFor({ processors: 1, memory: 2 * GB })).toBe(1)
  expect(slotsFor({ processors: 128, memory: 1024 * GB })).toBe(16)
})

test('a caller that is cancelled while all slots are taken waits no longer', async () => {
  const base = await commit(place.path, 'main', { a: '1' })
  await using _all = new AsyncDisposableStack()
  for (let taken = 0; taken < judging.slots.most; taken++) _all.use(await judging.slots.take(base))
  const control = new AbortController()
  const waiting = refusedBy(judging.slots.take(base, control.signal))
  control.abort(new Error('called off'))
  expect(await waiting).toThrow('called off')
})

test('a check that fails by chance is run again, and said to be flaky', async () => {
  const [base, head] = await attempt({ a: '1' }, { a: '2' })
  const was = join(place.folder, 'was-here')
  const flaky = `test -e ${was} || { touch ${was}; exit 1; }`
  expect((await judge(base, head, { checks: [{ command: flaky }] })).report.checks[0]?.came).toBe('flaky')
})

test('a check that leaves a file at its first run finds nothing of it at its second, and has failed', async () => {
  const [base, head] = await attempt({ a: '1' }, { a: '2' })
  const command = 'test -e was-here || { touch was-here; exit 1; }'
  const { isGood, report } = await judge(base, head, { checks: [{ command }] })
  expect([isGood, report.checks[0]?.came]).toEqual([false, 'bad'])
})

test('a claim that held before the task began is told, and one that the task made true is not', async () => {
  const [base, head] = await attempt({ a: '1' }, { a: '2' })
  const held = await judge(base, head, { contract: 'test -e a' })
  expect([held.isGood, held.report.checks.map(it => it.heldBefore)]).toEqual([true, [true]])
  // The report names, beside the command, the assertion A1 of the contract that the task claims.
  expect(held.report.text).toContain('A1, test -e a: passed (ended with 0, as it did before the task began)')
  const made = await judge(base, head, { contract: 'grep -q 2 a', checks: [{ command: 'test -e a' }] })
  expect(made.report.checks.map(it => it.heldBefore)).toEqual([undefined, undefined])
})

test('a check can’t write another one: each begins with the files of the attempt', async () => {
  const [base, head] = await attempt({ 'check.sh': 'exit 1\n' }, { 'a.sh': "echo 'exit 0' > check.sh; touch also\n" })
  const checks = [{ command: 'sh a.sh' }, { command: 'test ! -e also' }]
  const { isGood, report } = await judge(base, head, { write: ['a.sh'], checks, contract: 'sh check.sh' })
  expect([isGood, report.checks.map(it => it.came)]).toEqual([false, ['good', 'good', 'bad']])
})

test('what was prepared is there for each check, as it was prepared, and prepared again only where a check changed it', async () => {
  const count = join(place.folder, 'count')
  const forge = `# Checks\n- prepare: \`echo 1 >> ${count}; mkdir -p built/deep; echo yes > built/deep/it; echo no > a\`\n`
  const prepared = async () => (await Bun.file(count).text()).length / 2
  const whole = (a: number, files: number) =>
    `test "$(cat built/deep/it a)" = "$(printf 'yes\\n${a}')" && test "$(find . -mindepth 1 | wc -l)" = ${files}`
  const dirt = `echo x > more; mkdir built/new; touch built/new/file; echo 3 > a; mkfifo pipe; ${whole(3, 9)}`
  const checks = [whole(2, 5), dirt, `${whole(2, 5)} && true`].map(command => ({ command }))
  const [base, head] = await attempt({ 'FORGE.md': forge, a: '1' }, { a: '2' })
  const kept = await judge(base, head, { checks, contract: 'test ! -e more' })
  expect(kept.report.checks.map(it => it.came)).toEqual(['good', 'good', 'good', 'good'])
  expect(await prepared()).toBe(1)
  const spoils = { command: 'echo spoilt > built/deep/it' }
  const hides = { command: 'rm -r built' }
  const closes = { command: 'chmod 000 built' }
  const again = await judge(base, head, { checks: [spoils, hides, closes], contract: whole(2, 5) })
  expect(again.report.checks.map(it => it.came)).toEqual(['good', 'good', 'good', 'good'])
  // `prepare` has run once for the attempt above, once for this one, and after each of its three checks, which spoil
  // the prepared files.
  expect(await prepared()).toBe(5)
})

test('what a formatter mends is taken back: in files of the attempt alone, and nothing through a link', async () => {
  const mend = 'echo mended > mine; echo mended > other; rm -rf dir; ln -s /etc dir'
  const [base, head] = await attempt(
    { 'FORGE.md': `# Checks\n- mend: \`${mend}\`\n- \`grep -q mended mine\`\n`, other: '1', 'dir/hostname': '1' },
    { mine: 'raw', 'dir/hostname': 'changed' },
  )
  const { isGood, head: mended, report } = await judge(base, head)
  expect([isGood, report.mended]).toEqual([true, ['mine']])
  expect(await place.git('diff', '--name-only', head, mended)).toBe('mine')
  expect(await place.git('show', `${mended}:mine`)).toBe('mended')
})

test('what is needed first is prepared, and where that fails the checks say so', async () => {
  const forge = (command: string) => `# Checks\n- prepare: \`${command}\`\n- \`cat prepared\`\n`
  const [base, head] = await attempt({ 'FORGE.md': forge('echo yes > prepared') }, { a: '1' })
  expect((await judge(base, head)).isGood).toBe(true)
  const [other, next] = await attempt({ 'FORGE.md': forge('exit 4') }, { a: '1' })
  expect((await judge(other, next)).report.checks).toMatchObject([
    { came: 'bad', words: 'it has to end well before the checks, and ended with 4; it had no network' },
  ])
})

test('no command has a network, and with the person’s word all have it', async () => {
  const forge = '# Checks\n- prepare: `true`\n- mend: `true`\n- `grep -q 2 a`\n'
  const [base, head] = await attempt({ 'FORGE.md': forge, a: '1' }, { a: '2' })
  const calls = join(place.folder, 'engine/calls')
  /** The number of containers since the last call, and of those with a network. */
  const look = async () => {
    const texts = await Promise.all((await readdir(calls)).map(name => Bun.file(join(calls, name)).text()))
    await rm(calls, { recursive: true })
    await mkdir(calls)
    const runs = texts.filter(text => text.startsWith('run\0'))
    return { all: runs.length, open: runs.filter(text => !text.includes('\0--network\0none\0')).length }
  }
  await judge(base, head)
  // Six containers: prepare for formatters, formatter, prepare for checks, FORGE.md's check, the contract's check, and
  // that one on the base.
  expect(await look()).toEqual({ all: 6, open: 0 })
  await judge(base, head, { hasNetwork: true })
  expect(await look()).toEqual({ all: 6, open: 6 })
})

test('commands without approval do not run: the person is asked, and a signature of another key is none', async () => {
  const [base, head] = await attempt({ a: '1' }, { a: '2' })
  const { store } = judging.approved
  await git(place.path, 'update-ref', '-d', store.ref)
  const strangers = new ApprovedCommands(new Approvals(join(place.folder, 'other')), store)
  await strangers.approveAll()
  const command = `touch ${join(place.folder, 'ran')}`
  const asked = await judge(base, head, { checks: [{ command }] })
  expect([asked.isGood, asked.words]).toEqual([
    false,
    `These commands have not been approved yet:\n  ${command}\n  true`,
  ])
  expect(asked.question?.kind).toBe('question')
  expect(await readdir(place.folder)).not.toContain('ran')
  await judging.approved.approve([command, 'true'])
  expect((await judge(base, head, { checks: [{ command }] })).isGood).toBe(true)
})

test('without an engine the person is asked, and nothing counts as passed', async () => {
  setVariable('FORKLIFT_TEST_FAULT', 'down')
  const [base, head] = await attempt({ a: '1' }, { a: '2' })
  const { isGood, words, question } = await judge(base, head)
  expect([isGood, question?.kind]).toEqual([false, 'question'])
  expect(words).toStartWith('Checks need docker, and its engine does not answer')
})

test('the commands of a plan are listed for the person, each once', async () => {
  const base = await commit(place.path, 'main', { 'FORGE.md': '# Checks\n- `make test`\n', 'go.mod': 'module x\n' })
  const plan = planOf({ checks: ['tests', { command: 'make test' }], contract: './x' })
  expect((await commandsOfPlan(place.objects, plan, base)).sort()).toEqual(['./x', 'go test ./...', 'make test'])
})

test('a slot is warm, and nothing of what ran in it is seen by the next', async () => {
  const [base, head] = await attempt({ a: '1', 'dir/b': '2' }, { a: '3' })
  const first = await judging.slots.take(base)
  const { folder } = first
  const dirty =
    'rm a; mkdir a; touch a/x; echo no > dir/b; chmod 000 dir; mkdir deep; git init -q deep; ln -s / root; mkfifo pipe deep/pipe; mkdir only; mkfifo only/pipe; touch .gitignore ig'
  await Bun.$`sh -c ${dirty}`.cwd(folder).quiet()
  await first[Symbol.asyncDispose]()
  await using second = await judging.slots.take(head)
  expect((await readdir(second.folder, { recursive: true })).sort()).toEqual(['a', 'dir', 'dir/b'])
  expect(await Bun.file(join(second.folder, 'a')).text()).toBe('3')
  expect(await Bun.file(join(second.folder, 'dir/b')).text()).toBe('2')
  expect((await readdir(join(judging.state, 'slots'))).length).toBe(1)
})

test('the slot of a process that was killed is taken over, its lock and all', async () => {
  const base = await commit(place.path, 'main', { a: '1' })
  const gone = Bun.spawn(['true'])
  await gone.exited
  const { hostname } = await import('node:os')
  const left = join(judging.state, 'slots', `used-${hostname()}-${gone.pid}-x`)
  await mkdir(join(left, 'files'), { recursive: true })
  for (const name of ['index', 'index.lock', 'files/rest']) await Bun.write(join(left, name), 'cut')
  await using slot = await judging.slots.take(base)
  expect(await readdir(slot.folder)).toEqual(['a'])
  expect(await readdir(join(judging.state, 'slots'))).toHaveLength(1)
})
