/**
 * Finds what a workflow of GitHub (Gitea, Forgejo) runs by itself, and whether a merged workflow runs more than both
 * sides do. The input is parsed YAML, which may be untrusted.
 */
import { isDeepStrictEqual } from 'node:util'

type Fields = Record<string, unknown>
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A setting as one word. A list or map is written out as JSON. */
const wordOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : `${value}`

/** Stands for a file that can't be read, which may start anything. */
export const ANYTHING = 'anything'

type Words = ReadonlySet<string>
/**
 * A step of a job. `runs`: its command, or its action without the version. `given`: the expressions in it that name
 * secrets or tokens.
 */
type Step = { runs: string; condition: unknown; id: string | undefined; text: string; given: Words }
/**
 * A job. `given`: what all of its steps have: permissions, the machine, and expressions that name secrets or tokens.
 */
type Job = { isOff: boolean; guards: Fields; text: string; steps: Step[]; given: Words }
export type Workflow = {
  /** The events with their filters, one entry for each value of a filter: `push branches main`. */
  events: string[]
  jobs: ReadonlyMap<string, Job>
}

/** Events that only a person or another workflow triggers. */
const BY_HAND = ['workflow_dispatch', 'workflow_call', 'repository_dispatch']

/**
 * At most this many filters, jobs and steps of a workflow, since versions are compared item by item. Larger files are
 * not read.
 */
const MAX_THINGS = 5_000

/** Parses a workflow. Undefined where it is not one, or has more items than can be compared. */
export function parseWorkflow(parsed: unknown): Workflow | undefined {
  if (!isFields(parsed)) return undefined
  const { jobs } = parsed
  // In YAML 1.1, `on` is a word for true.
  const events = eventsOf(parsed.on ?? parsed.true)
  const named: [string, unknown][] = isFields(jobs) ? Object.entries(jobs) : [[ANYTHING, undefined]]
  const ofAll = { permissions: parsed.permissions, secrets: secretsIn(parsed.env) }
  const made = named.map(([name, job]): [string, Job] => [name, jobOf(job, ofAll)])
  const things = made.reduce((sum, [, { steps }]) => sum + 1 + steps.length, events.length)
  return things > MAX_THINGS ? undefined : { events, jobs: new Map(made) }
}

/** Parses a job. `ofAll`: the permissions and secrets that the workflow gives to each of its jobs. */
function jobOf(job: unknown, ofAll: { permissions: unknown; secrets: readonly string[] }): Job {
  const { steps, ...rest } = isFields(job) ? job : {}
  const list = Array.isArray(steps) ? steps.filter(isFields) : []
  const { if: condition, environment, permissions = ofAll.permissions, secrets } = rest
  const given = [
    ...permissionsIn(permissions),
    ...runnersIn(rest['runs-on']),
    ...(secrets === 'inherit' ? ['all secrets'] : []),
    ...ofAll.secrets,
    ...secretsIn(rest),
  ]
  return {
    isOff: isOff(job),
    guards: { condition, environment },
    text: JSON.stringify(rest),
    given: new Set(given),
    steps: list
      .filter(step => !isOff(step))
      .map(step => ({
        runs: step.run === undefined ? wordOf(step.uses ?? '').replace(/@.*/s, '') : wordOf(step.run).trim(),
        condition: step.if,
        id: typeof step.id === 'string' ? step.id : undefined,
        text: JSON.stringify(step),
        given: new Set(secretsIn(step)),
      })),
  }
}

/**
 * The permissions of a job's token, a word for each scope. Where the workflow sets none, the repository's settings
 * apply.
 */
function permissionsIn(permissions: unknown): string[] {
  if (!isFields(permissions)) return [`may do ${permissions === undefined ? 'the usual' : wordOf(permissions)}`]
  return Object.entries(permissions).map(([scope, right]) => `may ${wordOf(right)} ${scope}`)
}

const runnersIn = (machine: unknown): string[] =>
  [machine].flat().flatMap(label => (label === undefined ? [] : [`on ${wordOf(label)}`]))

/** The expressions anywhere in a setting that name secrets or tokens, without spaces. */
function secretsIn(setting: unknown): string[] {
  if (typeof setting === 'object' && setting !== null) return Object.values(setting).flatMap(secretsIn)
  const [, ...parts] = wordOf(setting).split('${{')
  return parts
    .map(part => part.slice(0, part.lastIndexOf('}}')).replace(/\s+/g, ''))
    .filter(expression => /secrets|token/i.test(expression))
}

function eventsOf(on: unknown): string[] {
  if (typeof on === 'string') return eventsOf([on])
  const named = Array.isArray(on) ? on.map((event): [string, unknown] => [wordOf(event), undefined]) : undefined
  const entries = named ?? (isFields(on) ? Object.entries(on) : [[ANYTHING, undefined] as [string, unknown]])
  return entries
    .filter(([event]) => !BY_HAND.includes(event))
    .flatMap(([event, filters]) => {
      const narrowed = isFields(filters)
        ? Object.entries(filters).flatMap(([name, values]) => filterWords(event, name, values))
        : []
      return narrowed.length > 0 ? narrowed : [event]
    })
}

/**
 * The words of a filter: one for each value of a filter that lets events through, one for a whole filter that excludes.
 */
function filterWords(event: string, name: string, values: unknown): string[] {
  const letsMoreThrough = /^(branches|tags|types|paths)$/.test(name) && Array.isArray(values)
  if (letsMoreThrough && values.every(it => !wordOf(it).startsWith('!')))
    return values.map(value => `${event} ${name} ${wordOf(value)}`)
  return /^(branches|tags|types|paths)/.test(name) ? [`${event} ${name} ${JSON.stringify(values)}`] : []
}

/**
 * Whether the condition of a job or step is never true. An empty condition is true, and so is text around `${{ }}`,
 * even a line end: the result is a non-empty text.
 */
const isOff = (it: unknown): boolean =>
  isFields(it) &&
  ['string', 'number', 'boolean'].includes(typeof it.if) &&
  /^(\s*(false|0|''|null)\s*|\$\{\{\s*(false|0|''|null)\s*\}\})$/i.test(`${it.if}`)

/** Whether any job runs once the workflow is started. */
export const runsAnything = ({ jobs }: Workflow): boolean => [...jobs.values()].some(job => !job.isOff)

const runningJobs = ({ jobs }: Workflow): [name: string, job: Job][] => [...jobs].filter(([, job]) => !job.isOff)

/** What a workflow starts, as words that can be compared between versions; empty where it is switched off. */
export function startsOfWorkflow(workflow: Workflow | undefined): ReadonlySet<string> {
  if (!workflow) return new Set([ANYTHING])
  const running = runningJobs(workflow)
  if (workflow.events.length === 0 || running.length === 0) return new Set()
  const steps = running.flatMap(([name, job]) => job.steps.map(({ runs }) => `step of ${name}: ${runs}`))
  return new Set([...workflow.events, ...running.map(([name]) => `job ${name}`), ...steps])
}

/** The three versions of a workflow in a merge, and the result; undefined where one does not exist. */
export type Versions = Record<'base' | 'ours' | 'theirs' | 'result', Workflow | undefined>

/**
 * Whether the result starts what the fork has switched off in a workflow: an event, a job or a step that the fork has
 * deleted, filtered or given a condition, also where upstream has renamed the job or moved the step.
 */
export function restarts(versions: Versions): boolean {
  const { base, ours, theirs, result } = versions
  if (!base || !ours || !result) return false
  return (
    restartsEvent(base, ours, result) ||
    restartsJob({ base, ours, theirs, result }) ||
    restartsStep(base, ours, result) ||
    losesGuard(versions, (own, old) => !isDeepStrictEqual(own, old))
  )
}

const eventIn = (word: string): string => word.split(' ', 1)[0] ?? ''

/** Whether the result restores an event that the fork has deleted, or filters that the fork has changed. */
function restartsEvent(base: Workflow, ours: Workflow, result: Workflow): boolean {
  const limited = new Set(base.events.filter(word => !ours.events.includes(word)).map(eventIn))
  return [...limited].some(event => {
    const own = ours.events.filter(word => eventIn(word) === event)
    const now = result.events.filter(word => eventIn(word) === event)
    const isKept = own.length > 0 && own.every(word => now.includes(word))
    const mayHaveMore = isKept && !base.events.includes(event)
    return now.some(word => !own.includes(word) && (!mayHaveMore || base.events.includes(word)))
  })
}

function restartsJob({ base, ours, theirs, result }: Versions & { base: Workflow; ours: Workflow; result: Workflow }) {
  const own = new Set(runningJobs(ours).map(([name]) => name))
  const off = runningJobs(base).flatMap(([name]) => (own.has(name) ? [] : [name]))
  const now = runningJobs(result).flatMap(([name]) => (own.has(name) ? [] : [name]))
  // A new job of upstream's may be the renamed version of a job that upstream deleted and the fork has switched off.
  const isRenamed = off.some(name => theirs && !theirs.jobs.has(name))
  return now.some(name => off.includes(name) || (isRenamed && !base.jobs.has(name)))
}

function restartsStep(base: Workflow, ours: Workflow, result: Workflow): boolean {
  const own = new Set(runningJobs(ours).flatMap(([, { steps }]) => steps.map(({ runs }) => runs)))
  const jobOfStep = (runs: string) => runningJobs(base).find(([, { steps }]) => steps.some(step => step.runs === runs))
  return runningJobs(result).some(([name, job]) =>
    job.steps.some(step => {
      const isOwn = ours.jobs.get(name)?.steps.some(({ runs }) => runs === step.runs)
      const [before, old] = jobOfStep(step.runs) ?? []
      if (isOwn || !old || before === undefined || (before !== name && own.has(step.runs))) return false
      // A step that the fork replaced by another one is not switched off.
      const isReplaced = (ours.jobs.get(before)?.steps.length ?? 0) >= old.steps.length
      return !isReplaced && !isAskedFor(step, job, ours)
    }),
  )
}

/**
 * Whether a step that the fork lacks only provides an output, without a secret, to steps that the fork still runs and
 * that no longer read it: then the fork has not switched the step off, but gets the value in another way.
 */
function isAskedFor(step: Step, job: Job, ours: Workflow): boolean {
  if (step.id === undefined || !step.text.includes('GITHUB_OUTPUT')) return false
  if (/secrets|token/i.test(step.text + job.text)) return false
  const own = [...ours.jobs.values()].flatMap(({ steps }) => steps)
  const asks = ({ text }: Step) => text.includes(`steps.${step.id}.outputs`)
  return !own.some(asks) && job.steps.filter(asks).some(({ runs }) => own.some(it => it.runs === runs))
}

/**
 * Whether the result runs a job or step without the condition or environment that the fork requires. `isForks` is
 * called with a guard (condition or environment) of the fork and of the common ancestor, and says whether the fork's
 * guard is required.
 */
function losesGuard(
  { base, ours, theirs, result }: Versions,
  isForks: (own: unknown, old: unknown) => boolean,
): boolean {
  const isLost = (own: unknown, old: unknown, upstreams: unknown, now: unknown) =>
    own !== undefined && isForks(own, old) && !keepsGuard(own, old, upstreams, now)
  const jobIn = (workflow: Workflow | undefined, name: string) => workflow?.jobs.get(name)
  return runningJobs(result ?? { events: [], jobs: new Map() }).some(([name, job]) => {
    const [old, own, upstreams] = [base, ours, theirs].map(workflow => jobIn(workflow, name))
    if (!own || own.isOff) return false
    const guards = Object.keys(job.guards)
    if (guards.some(key => isLost(own.guards[key], old?.guards[key], upstreams?.guards[key], job.guards[key])))
      return true
    return job.steps.some(step => {
      const alike = [old, own, upstreams].map(it => it?.steps.filter(({ runs }) => runs === step.runs) ?? [])
      if (alike[1]?.some(({ condition }) => isDeepStrictEqual(condition, step.condition))) return false
      const [before, mine, other] = alike.map(([first]) => first?.condition)
      return isLost(mine, before, other, step.condition)
    })
  })
}

/**
 * Whether a guard (a condition or environment) is the fork's, upstream's where the fork has not changed it, or a
 * combination of both.
 */
function keepsGuard(own: unknown, old: unknown, upstreams: unknown, now: unknown): boolean {
  if (isDeepStrictEqual(now, own)) return true
  if (isDeepStrictEqual(now, upstreams)) return isDeepStrictEqual(own, old)
  if (![now, own, upstreams].every(guard => typeof guard === 'string')) return false
  const wordsIn = (guard: unknown): Words => new Set(wordOf(guard).split(/\s+/))
  const isOfBoth = wordsIn(now).isSubsetOf(wordsIn(own).union(wordsIn(upstreams)))
  return (isOfBoth && wordsIn(own).isSubsetOf(wordsIn(now))) || mergesTerms(own, old, upstreams, now)
}

/**
 * Whether a condition is a merge of both sides' terms: a term may be missing where one side has removed it and the
 * other has not changed it, and no term is new.
 */
function mergesTerms(own: unknown, old: unknown, upstreams: unknown, now: unknown): boolean {
  const before = old === undefined ? NO_WORDS : termsOf(old)
  const [mine, other, left] = [own, upstreams, now].map(termsOf)
  if (!before || !mine || !other || !left) return false
  const merged = mine.difference(before.difference(other)).union(other.difference(before.difference(mine)))
  return merged.isSubsetOf(left) && left.isSubsetOf(mine.union(other))
}

/** The terms of a condition that only `&&` joins; undefined for a condition of any other shape. */
function termsOf(condition: unknown): Words | undefined {
  if (typeof condition !== 'string' || /\|\||\$\{\{/.test(condition)) return undefined
  const terms = condition.split('&&').map(term => term.trim().replace(/\s+/g, ' '))
  const count = (term: string, char: string) => term.split(char).length - 1
  const isWhole = (term: string) => count(term, "'") % 2 === 0 && count(term, '(') === count(term, ')')
  return terms.every(isWhole) ? new Set(terms) : undefined
}

/**
 * Whether the result gives a job or step what neither side gives it (a secret, a permission, another machine), or what
 * the fork has taken away.
 */
function givesMore({ base, ours, theirs, result }: Versions): boolean {
  const isMore = (now: Words, [old, own, upstreams]: readonly (Words | undefined)[]) => {
    const ofUpstream = upstreams ?? NO_WORDS
    return !now.isSubsetOf(own ? own.union(ofUpstream.difference(old ?? NO_WORDS)) : ofUpstream)
  }
  return runningJobs(result ?? { events: [], jobs: new Map() }).some(([name, job]) => {
    const versions = [base, ours, theirs].map(workflow => workflow?.jobs.get(name))
    const kept = new Set(job.steps.map(({ runs }) => runs))
    const isMoreOf = (step: Step) => {
      const alike = versions.map(it => givenTo(it?.steps.filter(({ runs }) => runs === step.runs)))
      const isNew = alike[1] === undefined && alike[2] === undefined
      // A step that is on neither side is compared with the steps of the sides that are missing from the result, since
      // it replaces them.
      const replaced = versions.map(it => givenTo(it?.steps.filter(({ runs }) => !kept.has(runs))))
      return isMore(step.given, isNew ? replaced : alike)
    }
    return (
      isMore(
        job.given,
        versions.map(it => it?.given),
      ) || job.steps.some(isMoreOf)
    )
  })
}

const NO_WORDS: Words = new Set()

/** The secrets and permissions that these steps have together; undefined for no steps. */
const givenTo = (steps: readonly Step[] | undefined): Words | undefined =>
  steps?.length ? new Set(steps.flatMap(({ given }) => [...given])) : undefined

/**
 * Whether the result runs more than both sides do: a new event or job, a step in another job than before, a job or step
 * without its condition, or with a secret or permission that it has on neither side. A file that can't be read runs
 * more than one that can.
 */
export function runsMore(versions: Versions): boolean {
  const { ours, theirs, result } = versions
  if (!result) return ours !== undefined || theirs !== undefined
  const sides = [ours, theirs].filter(side => side !== undefined)
  const words = new Set(sides.flatMap(side => [...startsOfWorkflow(side)]))
  const isNew = [...startsOfWorkflow(result)].some(word => !word.startsWith('step of ') && !words.has(word))
  const jobs = runningJobs(result)
  const isMoved = jobs.some(([name, { steps }]) =>
    steps.some(({ runs }) => {
      const places = sides.flatMap(side =>
        runningJobs(side).filter(([, job]) => job.steps.some(it => it.runs === runs)),
      )
      return places.length > 0 && places.every(([other]) => other !== name && jobs.some(([there]) => there === other))
    }),
  )
  return isNew || isMoved || losesGuard(versions, () => true) || givesMore(versions)
}
