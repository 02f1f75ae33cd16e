/** What files make machines do by themselves, read from their content. Any of it may be a stranger's. */
import type { Path } from './git/repository.ts'

/** Longer files are not parsed: whatever they are, they count as one thing that starts. */
const MAX_PARSED_BYTES = 1 << 20
/** Events that only a person or another workflow causes. */
const BY_HAND = ['workflow_dispatch', 'workflow_call', 'repository_dispatch']
const WORKFLOW = /^\.(github|gitea|forgejo)\/workflows\/[^/]+\.ya?ml$/i
const GITLAB = /(^|\/)([^/]*\.)?gitlab-ci\.ya?ml$/i
/** What runs only where a workflow calls it, and what GitHub does not read in its folder of workflows. */
const CALLED = /^\.(github|gitea|forgejo)\/(actions\/|workflows\/(.*\/|[^/]*(?<!\.ya?ml)$))|(^|\/)action\.ya?ml$/i
/** Keys of .gitlab-ci.yml that are no jobs. */
const NO_JOBS =
  /^(\.|(workflow|include|default|variables|stages|image|services|cache|before_script|after_script|spec)$)/

/** Whether a file that steers CI starts nothing by itself, and runs where another one calls it. */
export const isCalledByOthers = (path: Path): boolean => CALLED.test(path)

/**
 * What a file that steers CI starts by itself, as words that can be compared between versions of the file: of a
 * workflow of GitHub's its events with their filters (`push branches main`) and its jobs (`job build`), of GitLab's the
 * jobs, of any other file one word. Nothing where it is switched off: it is not there, has nothing but comments, waits
 * for a person, or says that it never runs.
 */
export function startsOf(path: Path, bytes: Uint8Array | undefined): ReadonlySet<string> {
  if (!bytes || isBlank(path, bytes)) return new Set()
  if (WORKFLOW.test(path)) return startsOfWorkflow(parse(bytes))
  if (GITLAB.test(path)) return startsOfGitLab(parse(bytes))
  return new Set([ANYTHING])
}

/** What can't be read may start anything. */
const ANYTHING = 'anything'

/** Files in which two slashes begin a comment. In a script they begin the path of a program. */
const HAS_SLASH_COMMENTS = /(Jenkinsfile(\.[^/]*)?|\.(jsonc?|json5|jsonnet|kts|groovy|cue))$/i

/** Whether a file has nothing but comments. */
function isBlank(path: Path, bytes: Uint8Array): boolean {
  const comment = HAS_SLASH_COMMENTS.test(path) ? /^\s*(\/\/|$)/ : /^\s*(#|---\s*$|$)/
  const text = Buffer.from(bytes).toString('latin1')
  return text
    .replace(/^\xef\xbb\xbf/, '')
    .split(/[\r\n]+/)
    .every(line => comment.test(line))
}

/** The YAML of a file; undefined where it is none, or too long. */
function parse(bytes: Uint8Array): unknown {
  if (bytes.length > MAX_PARSED_BYTES) return undefined
  try {
    return Bun.YAML.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function startsOfWorkflow(workflow: unknown): ReadonlySet<string> {
  if (!isFields(workflow)) return new Set([ANYTHING])
  const { jobs } = workflow
  // By the rules of YAML 1.1, `on` is a word for true.
  const events = eventsOf(workflow.on ?? workflow.true)
  const running = isFields(jobs) ? Object.entries(jobs).filter(([, job]) => !isOff(job)) : [[ANYTHING]]
  if (events.length === 0 || running.length === 0) return new Set()
  const steps = running.flatMap(([name, job]) => stepsOf(job).map(step => `${stepPrefix(`${name}`)}${step}`))
  return new Set([...events, ...running.map(([name]) => `job ${name}`), ...steps])
}

/** What the steps of a job run: their commands, and the actions that they use without the version. */
function stepsOf(job: unknown): string[] {
  const steps = isFields(job) && Array.isArray(job.steps) ? job.steps.filter(isFields) : []
  return steps.flatMap(({ run, uses }) => (run === undefined ? `${uses ?? ''}`.replace(/@.*/s, '') : `${run}`.trim()))
}

const stepPrefix = (job: string): string => `step of ${job}: `

function eventsOf(on: unknown): string[] {
  if (typeof on === 'string') return eventsOf([on])
  const named = Array.isArray(on) ? on.map((event): [string, unknown] => [`${event}`, undefined]) : undefined
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

/** A filter that lets more through with each of its values, value by value; one that keeps things out as a whole. */
function filterWords(event: string, name: string, values: unknown): string[] {
  if (/^(branches|tags|types)$/.test(name) && Array.isArray(values) && values.every(it => !`${it}`.startsWith('!')))
    return values.map(value => `${event} ${name} ${value}`)
  return /^(branches|tags|types|paths)/.test(name) ? [`${event} ${name} ${JSON.stringify(values)}`] : []
}

/** A job whose condition never holds. */
const isOff = (job: unknown): boolean =>
  isFields(job) && job.if !== undefined && /^\s*(\$\{\{)?\s*(false|0|''|null)\s*(\}\})?\s*$/i.test(`${job.if}`)

function startsOfGitLab(pipeline: unknown): ReadonlySet<string> {
  if (!isFields(pipeline)) return new Set([ANYTHING])
  const { workflow } = pipeline
  const rules = isFields(workflow) ? workflow.rules : undefined
  const isNever = (rule: unknown) => isFields(rule) && rule.when === 'never'
  if (Array.isArray(rules) && rules.length > 0 && rules.every(isNever)) return new Set()
  const waits = (job: unknown) => isFields(job) && ['manual', 'never'].includes(`${job.when}`)
  const jobs = Object.entries(pipeline).filter(([name, job]) => !NO_JOBS.test(name) && isFields(job) && !waits(job))
  const included = pipeline.include === undefined ? [] : [`include ${JSON.stringify(pipeline.include)}`]
  return new Set([...jobs.map(([name]) => `job ${name}`), ...included])
}

/**
 * Whether a version of a CI file starts what the fork has switched off: anything at all where the fork's version starts
 * nothing, and else what was there before and is not in the fork's version any more. `base` is what both sides come
 * from. A step that the fork has only replaced by another one is not switched off.
 */
export function startsWhatIsOff(
  path: Path,
  { base, ours, result }: Record<'base' | 'ours' | 'result', Uint8Array | undefined>,
): boolean {
  if (isCalledByOthers(path)) return false
  const [before, own, now] = [base, ours, result].map(bytes => startsOf(path, bytes))
  if (!before || !own || !now || now.size === 0) return false
  if (own.size === 0) return true
  const stepsIn = (words: ReadonlySet<string>, prefix: string) => [...words].filter(it => it.startsWith(prefix)).length
  const isReplaced = (word: string) => {
    const prefix = /^step of .*?: /.exec(word)?.[0]
    return prefix !== undefined && stepsIn(own, prefix) >= stepsIn(before, prefix)
  }
  return [...now].some(word => !own.has(word) && ((before.has(word) && !isReplaced(word)) || word === ANYTHING))
}

/** Scripts that a package manager runs by itself. */
const LIFECYCLE = /^(pre|post)?(install|prepare|pack|publish|uninstall|version|dependencies)$|^prepublishOnly$/

/** The commands of a package.json (or composer.json) that run by themselves, `name: command`; none where it is none. */
export function lifecycleScripts(bytes: Uint8Array | undefined): string[] {
  if (!bytes || bytes.length > MAX_PARSED_BYTES) return []
  try {
    const { scripts } = JSON.parse(Buffer.from(bytes).toString())
    if (!isFields(scripts)) return []
    return Object.entries(scripts).flatMap(([name, command]) =>
      LIFECYCLE.test(name) || /^(pre|post)-[a-z-]+$/.test(name) ? [`${name}: ${JSON.stringify(command)}`] : [],
    )
  } catch {
    return []
  }
}

/**
 * Whether a version of a file that came out of a conflict says nothing that neither side says: every line of it is a
 * line of a side or of the base, or made of the words of one line that only ours has and one that only theirs has.
 */
export function isOfBothSides(result: Uint8Array, [ours, theirs, base]: readonly (Uint8Array | undefined)[]): boolean {
  const linesOf = (bytes: Uint8Array | undefined) =>
    Buffer.from(bytes ?? [])
      .toString('latin1')
      .split(/[\r\n]+/)
      .map(line => line.trim())
  const [own, other, old] = [ours, theirs, base].map(bytes => new Set(linesOf(bytes)))
  if (!own || !other || !old) return false
  const added = [...new Set(linesOf(result))].filter(line => line && ![own, other, old].some(side => side.has(line)))
  if (added.length > MAX_COMPOSED_LINES) return false
  const onlyOurs = [...own.difference(other)].map(wordsOf)
  const onlyTheirs = [...other.difference(own)].map(wordsOf)
  return added.every(line => {
    const wanted = wordsOf(line)
    return onlyOurs.some(first => {
      const rest = wanted.difference(first)
      return rest.size < wanted.size && onlyTheirs.some(second => rest.isSubsetOf(second))
    })
  })
}

/** Lines that an agent may put together of both sides' words: each is compared with every line of them. */
const MAX_COMPOSED_LINES = 200

/** A name and its version, in one word: of an image, an action, a package. */
const NAME_AND_VERSION = /^(.+[:@=])(v?\d[\w.+-]*|[0-9a-f]{7,64})$/

/** The words of a line; a version counts for itself, because forks keep their name and take upstream's version. */
const wordsOf = (line: string): Set<string> =>
  new Set((line.match(/[^\s"'`,;()[\]{}]+/g) ?? []).flatMap(word => NAME_AND_VERSION.exec(word)?.slice(1) ?? word))
