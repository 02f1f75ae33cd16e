/**
 * Decides whether an attempt did its task, by checks and not by what a model claims: the diff is within the boundaries,
 * expected files exist, and the commands succeed in a locked-down container.
 */
import { Failure } from '../../../core/failure.ts'
import { changesIn, diffTrees } from '../../../core/git/diffs.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, asText, type Oid, type Path } from '../../../core/git/repository.ts'
import { entryAt, type TreeChange } from '../../../core/git/trees.ts'
import { many, short, visible, visibleLines, visiblePath } from '../../../core/text.ts'
import { runClosed, whyNoContainer } from '../../ai/closed-container.ts'
import { type ForgeMd, readForgeMd } from '../../ai/forge-md.ts'
import type { Reference, Validated } from '../contract.ts'
import type { Plan, Task } from '../plan/schema.ts'
import { type MergedRun, mergedBy } from '../runs/merging.ts'
import { boundaryOf, findViolations, findViolationsOfAll } from './boundaries.ts'
import { nameOfCheck } from './check-name.ts'
import { type Finding, findingsIn, newFindings } from './findings.ts'
import { type ReadyMade, readyMade } from './ready-made.ts'
import type { Slot, Slots } from './slots.ts'
import { checkTexts, type TextCheck, type WrittenText } from './texts.ts'

export type ValidationMeans = {
  objects: Objects
  slots: Slots
  /** Stores a blob for as long as the run is kept. */
  keep: (kind: string, text: string) => Promise<Reference>
  /** Commits a formatter's changes on top of the attempt's head. */
  commitMended: (head: Oid, changes: ReadonlyMap<Path, TreeChange>) => Promise<Oid>
  /** Gives those of the given commands that the user has not approved. */
  unapproved: (commands: readonly string[]) => Promise<string[]>
  /** Whether the user allows the network for all checks of this repository. */
  hasNetwork: boolean
  signal: AbortSignal
  /** Called with what is being done, at least before each command and every few seconds. */
  onProgress: (words: string) => void
}

/**
 * What is validated: a task's attempt, or, without `task`, the whole run's result. `isWhole`: earlier results of checks
 * do not count, so all tasks in it are checked together: their commands, and that each change is within the boundaries
 * of one of them. Formatters are not run then.
 */
export type Attempt = { plan: Plan; task?: Task; base: Oid; head: Oid; isWhole?: boolean }
/**
 * The result. `commands`: a hash of all commands by which the attempt was judged; '' where the user has to act before
 * the attempt can be judged.
 */
export type Judged = Validated & { commands: string }

/** The result of one check. */
type CheckResult = {
  /** The command, or the name of a check of texts. */
  name: string
  /** `not new`: the base fails in the same way. `flaky`: it failed once and then passed. */
  came: 'good' | 'bad' | 'not new' | 'flaky'
  /**
   * Set for a passed command that shows an assertion of the task: it passed on the base, too, so it does not show that
   * the task did anything.
   */
  heldBefore?: boolean
  /** How the check ended, in a few words: its exit code, or that its time was over. */
  words: string
  findings: Finding[]
  /** The end of the output, where no findings could be read from it. */
  tail: string
}

/** The stored report of a validation. `text` is what a model is shown. */
export type ValidationReport = {
  isGood: boolean
  violations: string[]
  checks: CheckResult[]
  mended: string[]
  text: string
}

/**
 * A command to run. `onlyNew`: only findings that the base does not have count. `isClaim`: it shows an assertion that
 * the task has to make true.
 */
type Wanted = { command: string; seconds: number; onlyNew: boolean; isClaim?: boolean }

const SECONDS = { usual: 300, prepare: 900, mend: 300 }
const TAIL = 2000
const TEXT_CHECKS: readonly string[] = ['citations', 'complete', 'format'] satisfies TextCheck[]

/** Judges an attempt. Throws only the signal's reason; where the user has to act first, the result has a question. */
export async function validate(means: ValidationMeans, attempt: Attempt): Promise<Judged> {
  const { objects, keep } = means
  const [violations, wanted] = await Promise.all([violationsOf(objects, attempt), commandsOf(objects, attempt)])
  const { commands, mend, prepare } = wanted
  const hash = hashOfWanted(wanted)
  // The checks are not run, since a change outside the boundaries could make any command pass.
  if (violations.length > 0)
    return { ...(await judged(means, attempt.head, { violations, checks: [], mended: [] })), commands: hash }
  const all = [...prepare, ...mend, ...commands.map(it => it.command)]
  const question = all.length > 0 ? await questionBefore(means, all) : undefined
  if (question !== undefined) {
    const report = await keep('validation', JSON.stringify({ isGood: false, violations, checks: [], mended: [] }))
    const asked = await keep('question', question)
    return { isGood: false, head: attempt.head, report, words: question, question: asked, commands: '' }
  }
  const mended = await mendFiles(means, attempt, { mend, prepare })
  const checked = { ...attempt, head: mended.head }
  const texts = await checkAllTexts(objects, checked)
  const results = await checkCommands(means, checked, { commands, prepare })
  const found = { violations, checks: [...texts, ...results], mended: mended.paths }
  return { ...(await judged(means, mended.head, found, assertionsOf(attempt.plan))), commands: hash }
}

/** A hash of all commands by which an attempt is judged. */
export async function hashOfCommands(objects: Objects, attempt: Attempt): Promise<string> {
  return hashOfWanted(await commandsOf(objects, attempt))
}

const hashOfWanted = ({ commands, mend, prepare }: Awaited<ReturnType<typeof commandsOf>>): string =>
  new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([prepare, mend, commands.map(({ isClaim: _, ...wanted }) => wanted)]))
    .digest('hex')

async function judged(
  means: ValidationMeans,
  head: Oid,
  found: Omit<ValidationReport, 'isGood' | 'text'>,
  assertions: AssertionsByCommand = new Map(),
): Promise<Validated> {
  const bad = found.checks.filter(({ came }) => came === 'bad')
  const isGood = found.violations.length === 0 && bad.length === 0
  const text = await textOf(means.objects, head, { ...found, assertions })
  const report = await means.keep('validation', JSON.stringify({ isGood, text, ...found } satisfies ValidationReport))
  return { isGood, head, report, words: wordsOf(found, bad) }
}

function wordsOf({ violations, checks }: Omit<ValidationReport, 'isGood' | 'text'>, bad: CheckResult[]): string {
  const [violation] = violations
  if (violation) return short(`${many(violations.length, 'violation')} of its boundaries: ${violation}`, 200)
  const [first] = bad
  if (first) return short(`${bad.length} of ${many(checks.length, 'check')} failed: ${visible(first.name)}`, 200)
  return checks.length === 0 ? 'It is within its boundaries, and no check was asked for.' : 'All checks passed.'
}

// --- The diff

async function violationsOf(objects: Objects, attempt: Attempt): Promise<string[]> {
  const { plan, task, base, head, isWhole } = attempt
  if (!isWhole && !task) return []
  const difference = await diffTrees(objects.repository, base, head)
  if (isWhole) return findViolationsOfAll(difference, tasksIn(plan, task).map(boundariesOf))
  if (!task) return []
  const beyond = findViolations(difference, task.boundaries)
  const { outputs } = task.objective
  const missing: string[] = []
  for (const output of outputs)
    if (!(await entryAt(objects, head, asBytes(output)))) missing.push(`${visible(output)} is not there`)
  const nothing = difference === '' && outputs.length > 0 ? ['nothing was changed at all'] : []
  return [...beyond, ...missing, ...nothing]
}

const boundariesOf = ({ boundaries }: Task): Task['boundaries'] => boundaries

/** All tasks in a result: those of the plan, or a task and its dependencies. */
export function tasksIn({ tasks }: Plan, task: Task | undefined): Task[] {
  if (!task) return tasks
  const ids = new Set([task.id])
  // A set's loop also visits what is added during it.
  for (const id of ids) for (const other of tasks.find(it => it.id === id)?.depends_on ?? []) ids.add(other)
  return tasks.filter(({ id }) => ids.has(id))
}

/** The files that an attempt has written, with their bytes, without links and submodules. */
async function writtenIn(
  objects: Objects,
  { base, head }: Attempt,
): Promise<Map<Path, { mode: string; bytes: Buffer }>> {
  const written = new Map<Path, { mode: string; bytes: Buffer }>()
  for (const [path, , after] of changesIn(await diffTrees(objects.repository, base, head))) {
    if (!after?.mode.startsWith('100')) continue
    const object = await objects.read(after.oid, { limit: 16 << 20 })
    if (object?.bytes) written.set(path, { mode: after.mode, bytes: object.bytes })
  }
  return written
}

// --- Which checks

async function commandsOf(objects: Objects, { plan, task, base, head, isWhole }: Attempt) {
  const merged = await mergedBy(objects, base)
  const forge = await projectChecks(objects, base, merged, task !== undefined && !isWhole)
  const tasks = isWhole ? tasksIn(plan, task) : task ? [task] : []
  const asked = tasks.flatMap(({ validation }) => validation.checks)
  const names = asked.filter((it): it is ReadyMade => typeof it === 'string' && !TEXT_CHECKS.includes(it))
  const ready = await Promise.all([...new Set(names)].map(name => readyMade(objects, head, name)))
  const claimed = plan.contract.filter(({ id }) => !task || tasks.some(({ claims }) => claims.includes(id)))
  const strict: Wanted[] = [
    ...asked.flatMap(it => (typeof it === 'string' ? [] : [{ ...it, onlyNew: false }])),
    ...claimed.flatMap(({ id, how }) =>
      how.kind === 'command' ? [{ ...how, onlyNew: false, isClaim: task?.claims.includes(id) === true }] : [],
    ),
  ]
  const lenient = [...forge.checks, ...ready.flatMap(it => it.checks)].map(
    (command): Wanted => ({ command, seconds: SECONDS.usual, onlyNew: true }),
  )
  const commands = [...new Map([...lenient, ...strict].map(it => [it.command, it])).values()]
  // A merge has only the lines of its sides, and of its resolutions.
  const mend = isWhole || merged ? [] : [...forge.mend, ...ready.flatMap(it => it.mend)]
  return { commands, prepare: forge.prepare, mend }
}

/**
 * The repository's own checks. Of a merge, they are those of the branch that is merged into, and run on the whole
 * result: while another part has conflict markers, they would fail.
 */
async function projectChecks(
  objects: Objects,
  base: Oid,
  merged: MergedRun | undefined,
  isPart: boolean,
): Promise<Pick<ForgeMd, 'checks' | 'prepare' | 'mend'>> {
  if (!merged) return await readForgeMd(objects, base)
  if (isPart) return { checks: [], prepare: [], mend: [] }
  const own = await readForgeMd(objects, merged.ours)
  return { ...own, checks: [...new Set([...own.checks, ...merged.checks])] }
}

/** The commands that a plan will run at a commit, for the user to see before approving it. */
export async function commandsOfPlan(objects: Objects, plan: Plan, base: Oid): Promise<string[]> {
  const of = (task: Task | undefined) => commandsOfAttempt(objects, { plan, task, base, head: base })
  const all = await Promise.all([undefined, ...plan.tasks].map(of))
  return [...new Set(all.flat())]
}

/** The commands by which an attempt is judged. */
export async function commandsOfAttempt(objects: Objects, attempt: Attempt): Promise<string[]> {
  const { commands, prepare, mend } = await commandsOf(objects, attempt)
  return [...prepare, ...mend, ...commands.map(it => it.command)]
}

async function questionBefore(means: ValidationMeans, commands: readonly string[]): Promise<string | undefined> {
  const why = await whyNoContainer(means.signal)
  if (why) return `Checks need ${why}`
  const unapproved = await means.unapproved(commands)
  if (unapproved.length === 0) return undefined
  const list = unapproved.map(command => `  ${visible(command)}`).join('\n')
  return `These commands have not been approved yet:\n${list}`
}

// --- Mending

/** Runs formatters and fixing linters on the files that the attempt has written; changes to other files are dropped. */
async function mendFiles(
  means: ValidationMeans,
  attempt: Attempt,
  { mend, prepare }: { mend: string[]; prepare: string[] },
): Promise<{ head: Oid; paths: string[] }> {
  const { objects, slots, commitMended, signal } = means
  const { head, task } = attempt
  if (mend.length === 0) return { head, paths: [] }
  const written = await writtenIn(objects, attempt)
  if (written.size === 0) return { head, paths: [] }
  await using slot = await slots.take(head, signal)
  await prepareIn(means, slot, prepare)
  for (const command of mend) await runIn(means, slot, { command, seconds: SECONDS.mend })
  const changes = new Map<Path, TreeChange>()
  const isWithin = task ? boundaryOf(task.boundaries) : () => undefined
  for (const [path, { mode, bytes }] of written) {
    // A name that is not UTF-8 can't be opened by its decoded form.
    if (asBytes(asText(path)) !== path) continue
    const after = await slot.read(path)
    const oid = (await entryAt(objects, head, path))?.oid ?? ''
    const entry = { mode, oid }
    if (after && !after.equals(bytes) && isWithin(path, entry, entry) === undefined)
      changes.set(path, { mode, bytes: after })
  }
  if (changes.size === 0) return { head, paths: [] }
  return { head: await commitMended(head, changes), paths: [...changes.keys()].map(visiblePath) }
}

async function prepareIn(
  means: ValidationMeans,
  slot: Slot,
  prepare: readonly string[],
): Promise<CheckResult | undefined> {
  for (const command of prepare) {
    const end = await runIn(means, slot, { command, seconds: SECONDS.prepare })
    if (end.exitCode !== 0) {
      const offline = means.hasNetwork ? '' : '; it had no network'
      return resultOf(command, end, 'bad', `it has to end well before the checks, and ${howIt(end)}${offline}`)
    }
  }
  return undefined
}

type End = Awaited<ReturnType<typeof runClosed>>

async function runIn(
  { signal, onProgress, hasNetwork }: ValidationMeans,
  slot: Slot,
  { command, seconds }: { command: string; seconds: number },
): Promise<End> {
  const words = `runs ${short(visible(command), 80)}`
  onProgress(words)
  const clock = setInterval(() => onProgress(words), 5000)
  try {
    return await runClosed(slot.folder, { command, seconds, hasNetwork }, signal)
  } finally {
    clearInterval(clock)
  }
}

// --- The checks

async function checkAllTexts(objects: Objects, attempt: Attempt): Promise<CheckResult[]> {
  const { plan, task, isWhole } = attempt
  const tasks = isWhole ? tasksIn(plan, task) : task ? [task] : []
  const wanted = [...new Set(tasks.flatMap(({ validation }) => validation.checks))].filter(
    (it): it is TextCheck => typeof it === 'string' && TEXT_CHECKS.includes(it),
  )
  if (wanted.length === 0) return []
  const written = await writtenIn(objects, attempt)
  const texts = [...written].map(([path, { bytes }]): WrittenText => ({ path, text: bytes.toString() }))
  const exists = async (path: Path) => (await entryAt(objects, attempt.head, path)) !== undefined
  return await Promise.all(
    wanted.map(async (name): Promise<CheckResult> => {
      const findings = await checkTexts(name, texts, exists)
      const words = findings.length === 0 ? many(texts.length, 'text') : many(findings.length, 'finding')
      return { name, came: findings.length === 0 ? 'good' : 'bad', words, findings, tail: '' }
    }),
  )
}

async function checkCommands(
  means: ValidationMeans,
  attempt: Attempt,
  { commands, prepare }: { commands: readonly Wanted[]; prepare: readonly string[] },
): Promise<CheckResult[]> {
  if (commands.length === 0) return []
  await using slot = await means.slots.take(attempt.head, means.signal)
  const room = new CheckRoom(means, slot, prepare)
  const results: CheckResult[] = []
  for (const wanted of commands) {
    const unprepared = await room.begin()
    if (unprepared) return [...results, unprepared]
    const end = await runIn(means, slot, wanted)
    results.push(
      end.exitCode === 0 && !end.wasStopped
        ? resultOf(wanted.command, end, 'good', howIt(end))
        : await lookAgain(means, attempt, { wanted, room, first: end, prepare }),
    )
  }
  if (attempt.isWhole || results.some(({ came }) => came === 'bad')) return results
  return await tellHeldBefore(means, attempt, { commands, results, prepare, slot })
}

/**
 * Marks passed commands of the task's assertions that also pass on the base, as these do not show what the task did.
 * This needs runs on the base, so it is done only where all checks have passed: once for a task.
 */
async function tellHeldBefore(
  means: ValidationMeans,
  { base, head }: Attempt,
  {
    commands,
    results,
    prepare,
    slot,
  }: { commands: readonly Wanted[]; results: CheckResult[]; prepare: readonly string[]; slot: Slot },
): Promise<CheckResult[]> {
  const good = new Set(results.filter(({ came }) => came === 'good').map(({ name }) => name))
  const claims = commands.filter(({ command, isClaim }) => isClaim && good.has(command))
  if (claims.length === 0 || base === head) return results
  const held = new Set<string>()
  for (const wanted of claims) {
    // The base is checked with the files prepared for the attempt, such as installed packages. They may differ from the
    // base's own, but the result is only reported and decides nothing.
    const isPrepared = await slot.restore(base)
    if (!isPrepared && prepare.length > 0) break
    const end = await runIn(means, slot, wanted)
    if (end.exitCode === 0 && !end.wasStopped) held.add(wanted.command)
  }
  return results.map(result => (held.has(result.name) ? { ...result, heldBefore: true } : result))
}

/**
 * A folder in which each command starts with the same files: those of the commit and of `prepare`. Otherwise a command
 * could change files so that the next command passes.
 */
class CheckRoom {
  #isFilled = true

  constructor(
    private readonly means: ValidationMeans,
    readonly slot: Slot,
    private readonly prepare: readonly string[],
  ) {}

  /** Restores the files for the next command: call before each. Gives the failed check where preparing fails. */
  async begin(): Promise<CheckResult | undefined> {
    const isFresh = this.#isFilled
    this.#isFilled = false
    if (!isFresh && (await this.slot.restore())) return undefined
    if (this.prepare.length === 0) return undefined
    const failed = await prepareIn(this.means, this.slot, this.prepare)
    if (failed) return failed
    await this.slot.keepPrepared()
    return undefined
  }
}

/** Runs a failed check on the base, where only new findings count, and once more, as some fail by chance. */
async function lookAgain(
  means: ValidationMeans,
  { base }: Attempt,
  { wanted, room, first, prepare }: { wanted: Wanted; room: CheckRoom; first: End; prepare: readonly string[] },
): Promise<CheckResult> {
  const { command, onlyNew } = wanted
  if (!first.wasStopped) {
    const unprepared = await room.begin()
    if (unprepared) return unprepared
  }
  const again = first.wasStopped ? first : await runIn(means, room.slot, wanted)
  if (again.exitCode === 0 && !again.wasStopped)
    return resultOf(command, first, 'flaky', `${howIt(first)}, and ended well when it was run again`)
  if (!onlyNew) return resultOf(command, again, 'bad', howIt(again))
  // A merge's own base has conflict markers: what counts is what fails on the branch that is merged into.
  await using before = await room.slot.beside((await mergedBy(means.objects, base))?.ours ?? base)
  await new CheckRoom(means, before, prepare).begin()
  const atBase = await runIn(means, before, wanted)
  if (atBase.exitCode === 0) return resultOf(command, again, 'bad', howIt(again))
  const known = findingsIn(atBase.output)
  const findings = newFindings(known, findingsIn(again.output))
  if (findings.length > 0) return { ...resultOf(command, again, 'bad', howIt(again)), findings }
  const isSame = atBase.exitCode === again.exitCode && atBase.wasStopped === again.wasStopped
  // Where no findings could be read from either output, a failure counts as known only if the base's output is exactly
  // the same.
  const isKnown = known.length > 0 ? isSame : isSame && atBase.output === again.output
  return resultOf(command, again, isKnown ? 'not new' : 'bad', `${howIt(again)}${isKnown ? ', as on the base' : ''}`)
}

const howIt = ({ wasStopped, exitCode, seconds }: End): string =>
  wasStopped ? `was stopped after ${many(seconds, 'second')}` : `ended with ${exitCode ?? 'a signal'}`

function resultOf(command: string, end: End, came: CheckResult['came'], words: string): CheckResult {
  const findings = came === 'good' ? [] : findingsIn(end.output)
  const isUnread = came !== 'good' && findings.length === 0
  return { name: command, came, words, findings, tail: isUnread ? end.output.slice(-TAIL) : '' }
}

// --- What a model hears

/** For each command of the contract, the ids of the assertions that it shows. */
type AssertionsByCommand = ReadonlyMap<string, readonly string[]>

function assertionsOf({ contract }: Plan): AssertionsByCommand {
  const byCommand = new Map<string, string[]>()
  for (const { id, how } of contract)
    if (how.kind === 'command') byCommand.set(how.command, [...(byCommand.get(how.command) ?? []), id])
  return byCommand
}

const TOLD = { findings: 12, around: 3, violations: 40 }

/** A short text for the model: what failed, and the code around the first findings. Never the whole output. */
async function textOf(
  objects: Objects,
  head: Oid,
  {
    violations,
    checks,
    mended,
    assertions,
  }: Omit<ValidationReport, 'isGood' | 'text'> & { assertions: AssertionsByCommand },
): Promise<string> {
  const lines: string[] = []
  if (violations.length > 0) {
    lines.push('The boundaries were not kept:')
    lines.push(...violations.slice(0, TOLD.violations).map(it => `- ${it}`))
    if (violations.length > TOLD.violations) lines.push(`- and ${violations.length - TOLD.violations} more`)
  }
  for (const { name, came, words, findings, tail, heldBefore } of checks) {
    const held = heldBefore ? ', as it did before the task began' : ''
    const what = came === 'bad' ? 'failed' : came === 'good' ? 'passed' : came === 'flaky' ? 'is flaky' : 'is not new'
    const shown = [...(assertions.get(name) ?? []), nameOfCheck(name)].join(', ')
    lines.push(`${shown}: ${what} (${visible(words)}${held})`)
    if (came !== 'bad') continue
    for (const finding of findings.slice(0, TOLD.findings)) lines.push(...(await codeAround(objects, head, finding)))
    if (findings.length > TOLD.findings) lines.push(`  and ${findings.length - TOLD.findings} more of the kind`)
    if (tail)
      lines.push(
        ...visibleLines(tail)
          .split('\n')
          .slice(-30)
          .map(line => `  ${line}`),
      )
  }
  if (mended.length > 0) lines.push(`Mended by formatters: ${short(mended.join(', '), 500)}`)
  return lines.join('\n')
}

async function codeAround(objects: Objects, head: Oid, { path, line, words }: Finding): Promise<string[]> {
  const says = visible(short(words, 400))
  if (path === undefined || line === undefined) return [`  ${says}`]
  const code = await linesAt(objects, head, path, line)
  return [`  ${visible(path)}:${line}: ${says}`, ...code]
}

async function linesAt(objects: Objects, head: Oid, path: string, line: number): Promise<string[]> {
  // A path in a check's output is untrusted.
  const entry = await entryAt(objects, head, asBytes(path)).catch(error => {
    if (error instanceof Failure) return undefined
    throw error
  })
  if (!entry?.mode.startsWith('100')) return []
  const object = await objects.read(entry.oid, { limit: 4 << 20 })
  const lines = object?.bytes?.toString().split('\n') ?? []
  const first = Math.max(1, line - TOLD.around)
  return lines
    .slice(first - 1, line + TOLD.around)
    .map(
      (text, at) =>
        `  ${String(first + at).padStart(6)}${first + at === line ? '>' : '|'} ${visible(short(text, 200))}`,
    )
}
