/** Reads from the content of files what CI and package managers run by themselves. The content is untrusted. */
import type { Path } from './git/repository.ts'
import {
  ANYTHING,
  isFields,
  parseWorkflow,
  restarts,
  runsAnything,
  runsMore,
  startsOfWorkflow,
  type Versions,
  type Workflow,
} from './workflows.ts'

/** Longer files are not parsed; they count as starting something. */
const MAX_PARSED_BYTES = 1 << 20
/** Workflow files. GitHub reads only the folder itself; Gitea and Forgejo also read its subfolders. */
const WORKFLOW = /^\.(github\/workflows\/[^/]+|(gitea|forgejo)\/workflows\/.+)\.ya?ml$/i
const GITLAB = /(^|\/)([^/]*\.)?gitlab-ci\.ya?ml$/i
/**
 * Files that run only when a workflow calls them (such as actions), and files in a folder of workflows that are not
 * workflows, which a workflow may call.
 */
const CALLED =
  /^\.(github|gitea|forgejo)\/(actions\/|workflows\/.*(?<!\.ya?ml)$)|^\.github\/workflows\/.*\/|(^|\/)action\.ya?ml$/i
/** Keys of .gitlab-ci.yml that are not jobs. */
const NO_JOBS =
  /^(\.|(workflow|include|default|variables|stages|image|services|cache|before_script|after_script|spec)$)/

/** Whether a CI file starts nothing by itself, but is called by other CI files. */
export const isCalledByOthers = (path: Path): boolean => CALLED.test(path)

/**
 * What a CI file starts by itself, as words that can be compared between versions of the file: for a GitHub workflow
 * its events with their filters (`push branches main`) and its jobs (`job build`), for GitLab the jobs, for any other
 * file one word. Empty where the file is missing, has only comments, waits for a person, or never runs by its own
 * conditions.
 */
export function startsOf(path: Path, bytes: Uint8Array | undefined): ReadonlySet<string> {
  if (!bytes || isBlank(path, bytes)) return new Set()
  if (WORKFLOW.test(path)) return startsOfWorkflow(parseWorkflow(parse(bytes)))
  if (GITLAB.test(path)) return startsOfGitLab(parse(bytes))
  return new Set([ANYTHING])
}

/** Files in which `//` begins a comment. In a shell script, `//` begins a path. */
const HAS_SLASH_COMMENTS = /(Jenkinsfile(\.[^/]*)?|\.(jsonc?|json5|jsonnet|kts|groovy|cue))$/i

/** Groovy replaces unicode escapes before it looks for comments, so an escaped line end may end a comment. */
const UNICODE_ESCAPE = /\\u/
/** A first line that names a shell or an interpreter and nothing to run: with anything else, the line is a command. */
const PLAIN_SHEBANG =
  /^#!\s*(\/usr)?(\/local)?\/bin\/(env\s+)?(ba|da|k|z)?(sh|python3?|node|ruby|perl)(\s+-[eux]+)?\s*$/

/** Whether a file consists of comments only. */
function isBlank(path: Path, bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes)
    .toString()
    .replace(/^\ufeff/, '')
  const hasSlashes = HAS_SLASH_COMMENTS.test(path)
  if (READ_DIFFERENTLY.test(text) || (hasSlashes && UNICODE_ESCAPE.test(text))) return false
  const comment = hasSlashes ? /^\s*(\/\/|$)/ : /^\s*(#|---\s*$|$)/
  const [first = '', ...lines] = text.split(/[\r\n]+/)
  if (first.startsWith('#!') && !PLAIN_SHEBANG.test(first)) return false
  return [first, ...lines].every(line => comment.test(line))
}

/**
 * Characters that end a line or the file for some parsers and not for others: what one parser takes for a comment may
 * run in another. GitHub and GitLab read YAML 1.1, in which U+0085, U+2028 and U+2029 end a line.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
const READ_DIFFERENTLY = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]/

/** Parses a file as YAML. Undefined where it is not YAML, is too long, or could be read in more than one way. */
function parse(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes)
    .toString()
    .replace(/^\ufeff/, '')
  if (bytes.length > MAX_PARSED_BYTES || READ_DIFFERENTLY.test(text)) return undefined
  // The parser copies a text for each alias to it.
  const aliases = text.match(/\*[^\s,[\]{}*]/g)?.length ?? 0
  if (aliases * bytes.length > MAX_COPIED_BYTES) return undefined
  try {
    const value = Bun.YAML.parse(text)
    return isShort(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** At most this many bytes may be copied for a file's aliases: a thousand aliases in a file of 128 KiB. */
const MAX_COPIED_BYTES = 128 << 20
/**
 * At most this many characters after aliases are replaced: aliases of aliases can stand for more than fits in memory.
 */
const MAX_UNFOLDED_CHARS = 4 * MAX_PARSED_BYTES

/** Whether a parsed YAML value is finite and, written out, at most MAX_UNFOLDED_CHARS long. */
function isShort(value: unknown): boolean {
  let left = MAX_UNFOLDED_CHARS
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    left -= typeof next === 'string' ? next.length + 1 : 1
    if (left < 0) return false
    if (Array.isArray(next)) for (const item of next) waiting.push(item)
    else if (isFields(next)) for (const [name, item] of Object.entries(next)) waiting.push(name, item)
  }
  return true
}

/**
 * Whether other CI files may run the content of this file, even if it starts nothing by itself: a workflow that others
 * call, or jobs, templates and defaults of GitLab that others include.
 */
export function mayBeCalled(path: Path, bytes: Uint8Array | undefined): boolean {
  if (!bytes || isBlank(path, bytes)) return false
  if (!WORKFLOW.test(path)) return true
  const parsed = parse(bytes)
  const workflow = parseWorkflow(parsed)
  if (!workflow || !isFields(parsed)) return true
  return runsAnything(workflow) && JSON.stringify(parsed.on ?? parsed.true ?? '').includes('workflow_call')
}

function startsOfGitLab(pipeline: unknown): ReadonlySet<string> {
  if (!isFields(pipeline)) return new Set([ANYTHING])
  const { workflow } = pipeline
  const rules = isFields(workflow) ? workflow.rules : undefined
  const isNever = (rule: unknown) => isFields(rule) && rule.when === 'never'
  if (Array.isArray(rules) && rules.length > 0 && rules.every(isNever)) return new Set()
  const isByHand = (when: unknown) => when === 'manual' || when === 'never'
  // The `when` of a rule overrides the `when` of its job.
  const ruleWaits = (rule: unknown, when: unknown) => isFields(rule) && isByHand(rule.when ?? when)
  const waits = (job: unknown) => {
    if (!isFields(job)) return false
    const { when, rules } = job
    if (rules === undefined) return isByHand(when)
    return Array.isArray(rules) && rules.length > 0 && rules.every(rule => ruleWaits(rule, when))
  }
  const jobs = Object.entries(pipeline).filter(([name, job]) => !NO_JOBS.test(name) && isFields(job) && !waits(job))
  const included = pipeline.include === undefined ? [] : [`include ${JSON.stringify(pipeline.include)}`]
  return new Set([...jobs.map(([name]) => `job ${name}`), ...included])
}

/** The three versions of a file in a merge, and the result; undefined where the file does not exist. */
export type FileVersions = Record<keyof Versions, Uint8Array | undefined>

/**
 * Whether the result of a merge starts what the fork has switched off in a CI file: anything at all where the fork's
 * version starts nothing, else what the common ancestor started and the fork's version no longer does.
 */
export function startsWhatIsOff(path: Path, versions: FileVersions): boolean {
  if (isCalledByOthers(path)) return false
  const { base, ours, result } = versions
  const [before, own, now] = [base, ours, result].map(bytes => startsOf(path, bytes))
  if (!before || !own || !now || now.size === 0) return false
  if (own.size === 0) return true
  if (now.has(ANYTHING) && !own.has(ANYTHING)) return true
  if (WORKFLOW.test(path)) return restarts(workflowsOf(versions))
  return [...now].some(word => !own.has(word) && before.has(word))
}

/**
 * Whether a CI file in the result of a merge runs more than in both sides, though each of its lines is in a side: a
 * line that prevented a run may be missing. `isChangedAround`: outside of conflicts, the file differs from git's own
 * merge.
 */
export function startsMore(path: Path, versions: FileVersions, isChangedAround: boolean): boolean {
  if (WORKFLOW.test(path)) return runsMore(workflowsOf(versions))
  return isChangedAround || losesLimit(versions)
}

/** Words in lines by which CI systems restrict what runs, or wait for a person. */
const LIMITS_RUNS =
  /\b(if|unless|when|only|except|rules?|conditions?|branch(es)?|tags?|refs?|paths?|changes|events?|triggers?|filters?|manual|never|approval|approve|input|hold|requires?|needs|depends_on|enabled?|disabled?|skip|ignore|environment|target)\b/i

/**
 * Whether a line that limits runs (see LIMITS_RUNS) occurs in the result fewer times than in a merge of both sides,
 * and no new line of the result has all words of that line.
 */
function losesLimit({ base, ours, theirs, result }: FileVersions): boolean {
  const [old, own, other, now] = [countLines(base), countLines(ours), countLines(theirs), countLines(result)]
  const composed = [...now.keys()].filter(line => !own.has(line) && !other.has(line)).map(wordsOf)
  const isLostFrom = (side: LineCounts, opposite: LineCounts) =>
    [...side].some(([line, count]) => {
      if (!LIMITS_RUNS.test(line) || /^(#|\/\/)/.test(line)) return false
      const wanted = count + Math.min((opposite.get(line) ?? 0) - (old.get(line) ?? 0), 0)
      if ((now.get(line) ?? 0) >= wanted) return false
      const words = wordsOf(line)
      return !composed.some(it => words.isSubsetOf(it))
    })
  return isLostFrom(own, other) || isLostFrom(other, own)
}

/** The lines of a file, trimmed, with the number of times that each occurs. */
type LineCounts = ReadonlyMap<string, number>

function countLines(bytes: Uint8Array | undefined): LineCounts {
  const counts = new Map<string, number>()
  const lines = Buffer.from(bytes ?? [])
    .toString('latin1')
    .split(/[\r\n]+/)
  for (const line of lines.map(it => it.trim())) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

function workflowsOf({ base, ours, theirs, result }: FileVersions): Versions {
  const read = (bytes: Uint8Array | undefined): Workflow | undefined => bytes && parseWorkflow(parse(bytes))
  return { base: read(base), ours: read(ours), theirs: read(theirs), result: read(result) }
}

/** Names of scripts that a package manager runs by itself. */
const LIFECYCLE = /^(pre|post)?(install|prepare|pack|publish|uninstall|version|dependencies)$|^prepublishOnly$/

/** The scripts of a package.json or composer.json that run by themselves, as `name: command`. */
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
 * Whether the resolution of a conflict only combines the sides: every line is a line of a side or of the base, or all
 * its words are from one line that only our side has and one line that only their side has.
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
  const [ofOurs, ofTheirs] = [own.difference(other), other.difference(own)]
  if (added.length * ofOurs.size * ofTheirs.size > MAX_COMPARISONS) return false
  const [onlyOurs, onlyTheirs] = [[...ofOurs].map(wordsOf), [...ofTheirs].map(wordsOf)]
  return added.every(line => {
    const wanted = wordsOf(line)
    return onlyOurs.some(first => {
      const rest = wanted.difference(first)
      return rest.size < wanted.size && onlyTheirs.some(second => rest.isSubsetOf(second))
    })
  })
}

/** At most this many lines may combine words of both sides: each is compared with every line of both. */
const MAX_COMPOSED_LINES = 200
/** At most this many comparisons, which take about a second. The two sides may differ in millions of lines. */
const MAX_COMPARISONS = 5_000_000

/** A name and its version in one word: of an image, an action, a package. */
const NAME_AND_VERSION = /^(.+[:@=])(v?\d[\w.+-]*|[0-9a-f]{7,64})$/
/** Two names in one word, with a colon between them: an image and its tag, an owner and a branch. */
const NAME_AND_NAME = /^([^:]+:)([^:]+)$/

/**
 * The words of a line. In `name@version` or `image:tag` both parts are words of their own, because forks keep their own
 * name and take upstream's version.
 */
const wordsOf = (line: string): Set<string> => {
  const partsOf = (word: string) => (NAME_AND_VERSION.exec(word) ?? NAME_AND_NAME.exec(word))?.slice(1) ?? word
  return new Set((line.match(/[^\s"'`,;()[\]{}]+/g) ?? []).flatMap(partsOf))
}
