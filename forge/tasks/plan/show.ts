/** Shows a plan on the terminal before its approval: what is done in which order, what runs, what it may cost. */
import { many, visible, visibleLines, wrap } from '../../../core/text.ts'
import type { PlannedTask, ShownPlan } from '../../formats/tasks-json.ts'
import type { Limits } from '../contract.ts'
import { type EstimateRange, type PlanEstimate, taskSizeOf } from './estimate.ts'
import { graphOf } from './graph.ts'
import { type Check, contractOf, type Plan, type Task } from './schema.ts'

type Showing = {
  estimate: PlanEstimate
  limits: Limits
  /** Whether the run sends the requests of its tasks in batches. */
  inBatch?: boolean
  /** Whether the user allows checks of this repository the network. */
  hasNetwork?: boolean
  /** All commands that will run, with those of FORGE.md and of ready-made checks, which the plan does not spell out. */
  commands?: readonly string[]
  /** The differences from the current plan. */
  changes?: readonly string[]
  /** The columns of the terminal. */
  width?: number
}

/** The whole plan, except for what only models read. Its texts are a model's, so control characters are escaped. */
export function showPlan(plan: Plan, { width = 100, ...showing }: Showing): string {
  const { estimate, hasNetwork = false } = showing
  const commands = new Commands(plan)
  const { levels } = graphOf(plan.tasks)
  const tasks = new Map(plan.tasks.map(task => [task.id, task]))
  const lines = [
    visible(plan.title),
    '',
    ...wrap(plan.summary, width),
    '',
    'What must be true in the end',
    ...plan.contract.flatMap(({ id, says, how }) => {
      const shown = how.kind === 'command' ? commands.numberOf(how) : `a review: ${how.question}`
      return hanging(`${id.padEnd(4)} ${says} (${shown})`, width, 2, 7)
    }),
  ]
  for (const [at, ids] of levels.entries()) {
    lines.push('', ids.length > 1 ? `${ORDER(at)}, at the same time` : ORDER(at))
    for (const id of ids) {
      const task = tasks.get(id)
      if (task) lines.push(...taskLines(task, commands, width))
    }
  }
  const network = hasNetwork ? 'with the network, as you have allowed (--no-network)' : 'without network'
  lines.push('', `Commands that will run, in a container ${network}`, ...commands.lines())
  const others = commands.others(showing.commands ?? [])
  if (others.length > 0)
    lines.push(
      '',
      'And what the repository itself asks for (FORGE.md, ready-made checks)',
      ...others.flatMap(command => whole('', command)),
    )
  const { changes = [] } = showing
  if (changes.length > 0)
    lines.push('', 'What is different from the plan that holds', ...changes.flatMap(it => hanging(it, width, 2, 4)))
  lines.push('', ...costLines(plan, estimate, showing).flatMap(line => wrap(line, width)))
  return `${lines.join('\n')}\n`
}

/** The whole plan for a program, with its texts unescaped. */
export function planInFull(
  plan: Plan,
  { estimate, hasNetwork = false, commands = [], ...showing }: Omit<Showing, 'width' | 'changes'>,
): Omit<ShownPlan, 'waits' | 'seen'> {
  const own = new Commands(plan)
  const tasks = new Map(plan.tasks.map(task => [task.id, task]))
  return {
    title: plan.title,
    summary: plan.summary,
    contract: contractOf(plan),
    /** In order: the tasks in one inner list may run at the same time. */
    levels: graphOf(plan.tasks).levels.map(ids => ids.flatMap(id => tasks.get(id) ?? []).map(inFull)),
    commands: own.list(),
    others: own.others(commands),
    hasNetwork,
    cost: costLines(plan, estimate, showing),
  }
}

const inFull = ({
  id,
  title,
  size,
  tier,
  recursion,
  depends_on,
  claims,
  boundaries,
  validation,
}: Task): PlannedTask => ({
  ...{ id, title, size, tier, recursion, claims, after: depends_on },
  ...{ write: boundaries.write, never: boundaries.never, reviews: validation.reviews },
  checks: validation.checks.map(check => (typeof check === 'string' ? check : check.command)),
})

const ORDER = (at: number): string => (at === 0 ? 'First' : at === 1 ? 'Then' : `Then (${at + 1})`)

function taskLines(task: Task, commands: Commands, width: number): string[] {
  const { id, title, boundaries, validation, depends_on, claims, tier, recursion } = task
  const facts = [taskSizeOf(task), tier, recursion > 0 && `sub-agents, ${many(recursion, 'level')} deep`]
    .filter(Boolean)
    .join(', ')
  const rows: [string, string][] = [
    ['after', depends_on.join(', ')],
    ['writes', boundaries.write.length > 0 ? boundaries.write.join(', ') : 'not known: runs alone'],
    ['never', boundaries.never.join(', ')],
    ['makes true', claims.join(', ')],
    [
      'checks',
      validation.checks.map(check => (typeof check === 'string' ? check : commands.numberOf(check))).join(', '),
    ],
    ['reviews', validation.reviews.join(' · ')],
  ]
  const told = rows.filter(([, words]) => words !== '')
  return [
    ...hanging(`${id}  ${title} (${facts})`, width, 2, 4),
    ...told.flatMap(([name, words]) => hanging(`${name.padEnd(11)}${words}`, width, 6, 17)),
  ]
}

/** Wraps text, with all lines but the first one indented further. */
function hanging(text: string, width: number, first: number, others: number): string[] {
  return wrap(visible(text), Math.max(width - others, 20)).map(
    (line, at) => `${' '.repeat(at === 0 ? first : others)}${line}`,
  )
}

/** The commands, each with a number by which the plan's text refers to it. */
class Commands {
  readonly #numbers = new Map<string, { number: number; check: Check; users: string[] }>()

  constructor(plan: Plan) {
    for (const { id, how } of plan.contract) if (how.kind === 'command') this.#add(how, id)
    for (const { id, validation } of plan.tasks)
      for (const check of validation.checks) if (typeof check !== 'string') this.#add(check, id)
  }

  #add({ command, seconds }: Check, user: string): void {
    const key = JSON.stringify([command, seconds])
    const known = this.#numbers.get(key)
    if (!known) this.#numbers.set(key, { number: this.#numbers.size + 1, check: { command, seconds }, users: [user] })
    else if (!known.users.includes(user)) known.users.push(user)
  }

  numberOf({ command, seconds }: Check): string {
    return `[${this.#numbers.get(JSON.stringify([command, seconds]))?.number}]`
  }

  /** The commands as lines. Never shortened, since the user approves them. */
  lines(): string[] {
    if (this.#numbers.size === 0) return ['  none']
    return [...this.#numbers.values()].flatMap(({ number, check, users }) => {
      const who = users.length > 6 ? `${users.slice(0, 6).join(', ')} and ${users.length - 6} more` : users.join(', ')
      return [...whole(`[${number}]`, check.command), `${' '.repeat(9)}at most ${check.seconds} s, for ${who}`]
    })
  }

  /** The commands with their time limits and the tasks and assertions that need them. */
  list(): { command: string; seconds: number; users: string[] }[] {
    return [...this.#numbers.values()].map(({ check, users }) => ({ ...check, users }))
  }

  /** Those of the given commands that the plan does not contain word for word, such as those of ready-made checks. */
  others(commands: readonly string[]): string[] {
    const own = new Set([...this.#numbers.values()].map(({ check }) => check.command))
    return commands.filter(command => !own.has(command))
  }
}

/** A command with all of its lines, printed behind a name. */
function whole(name: string, command: string): string[] {
  const [first = '', ...others] = visibleLines(command).split('\n')
  return [`  ${name.padEnd(5)}$ ${first}`, ...others.map(line => `${' '.repeat(9)}${line}`)]
}

/** Dollars with cents; with more digits below ten cents. */
const dollars = (amount: number): string => `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`
const range = ({ low, high }: EstimateRange, word: (count: number) => string): string => `${word(low)} to ${word(high)}`
/** The estimated cost, single or in batches as the run sends its requests, and for comparison the other. */
function bothWays({
  cost,
  batched,
  inBatch,
}: {
  cost: EstimateRange
  batched?: EstimateRange
  inBatch: boolean
}): string {
  if (!batched) return range(cost, dollars)
  return inBatch
    ? `${range(batched, dollars)} in batches, as you have asked (${range(cost, dollars)} if all were sent now)`
    : `${range(cost, dollars)} (${range(batched, dollars)} in batches, whose answers may take a day)`
}

/** A number with two significant digits, as it is an estimate. */
const rough = (count: number): string => {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(count, 1))) - 1)
  return (Math.round(count / unit) * unit).toLocaleString('en')
}

function costLines(
  plan: Plan,
  { requests, tokens, cost, batched, unpriced }: PlanEstimate,
  { limits, inBatch = false }: Pick<Showing, 'limits' | 'inBatch'>,
): string[] {
  const sizes = (['small', 'medium', 'large'] as const).flatMap(size => {
    const count = plan.tasks.filter(task => taskSizeOf(task) === size).length
    return count > 0 ? [`${count} ${size}`] : []
  })
  const isFree = cost?.high === 0
  const price = cost
    ? isFree
      ? 'it costs nothing, as its models run on this machine'
      : bothWays({ cost, batched, inBatch })
    : `its cost is unknown, as no price is known for ${unpriced.join(', ')}: set FORGE_PRICES to see and to limit it`
  const most = [
    // Where nothing costs anything, a limit in dollars has no effect.
    limits.cost !== undefined && !isFree && dollars(limits.cost),
    limits.requests !== undefined && many(limits.requests, 'request'),
    limits.tokens !== undefined && many(limits.tokens, 'token'),
    limits.minutes !== undefined && many(limits.minutes, 'minute'),
  ].filter(it => it !== false)
  const hasSubAgents = plan.tasks.some(({ recursion }) => recursion > 0)
  return [
    `It may take ${range(requests, rough)} requests and ${range(tokens, rough)} tokens; ${price}.`,
    `That is a guess by the sizes of the tasks (${sizes.join(', ')}): from where all goes well to where each needs its second attempt.${
      hasSubAgents ? ' Sub-agents are not in it.' : ''
    }`,
    most.length > 0
      ? `It stops at ${most.join(', ')}.`
      : `There is no limit: set one with ${isFree ? '--requests or --minutes' : '--budget'}.`,
  ]
}
