/**
 * A model for tests of the tasks: it has a plan for each piece of work, which it recognises by name, and answers each
 * step by a function. Steps that the function leaves out are done well.
 */
import { type Heard, ModelServer, type Turn } from '../doubles/model-server.ts'
import { callsOf } from '../doubles/task-calls.ts'

export type StepWord =
  | 'plan'
  | 'outline'
  | 'implement'
  | 'artifact'
  | 'review'
  | 'resolve'
  | 'summarise'
  | 'check plan'
  | 'extract'
  | 'classify'

/** A step as the model gets it. */
export type AskedStep = {
  kind: StepWord
  /** The task's id; '' for steps of the run itself, and for sub-agents. */
  task: string
  /** The text of the request, without the system prompt. */
  text: string
  /** Whether an earlier attempt has failed. */
  isAgain: boolean
  /** All answers of the user that the request contains, as one text; '' where there are none. */
  answered: string
  model: string
}

/** The arguments of the only call; or a text; or a turn for the model server. */
export type ModelAnswer = Record<string, unknown> | string | { turn: Turn }
/** Undefined: the step is done well. */
export type AnswerTo = (asked: AskedStep) => ModelAnswer | undefined | Promise<ModelAnswer | undefined>

/** A piece of work: its plan, and the answers to its steps. */
export type Work = { tasks: PlannedTask[]; answer?: AnswerTo; plan?: Record<string, unknown> }
export type PlannedTask = ReturnType<typeof task>

type TaskParts = {
  after?: string[]
  checks?: (string | { command: string })[]
  reviews?: string[]
  write?: string[]
  recursion?: number
  size?: 'small' | 'medium'
  tier?: string
}

/** A task that writes ID.txt, and is done when the file contains `done`. */
export const task = (id: string, parts: TaskParts = {}) => ({
  id,
  title: `Make ${id}`,
  objective: { behaviour: `Write ${id}.txt.`, outputs: [`${id}.txt`], acceptance: [`${id}.txt says done.`] },
  boundaries: { write: parts.write ?? [`${id}.txt`] },
  validation: { checks: parts.checks ?? [], reviews: parts.reviews ?? [] },
  depends_on: parts.after ?? [],
  ...(parts.recursion !== undefined && { recursion: parts.recursion }),
  ...(parts.tier !== undefined && { tier: parts.tier }),
  size: parts.size ?? 'small',
})

/** The plan for a piece of work: each task claims that its file says done. */
export const planOf = (name: string, tasks: PlannedTask[]): Record<string, unknown> => ({
  title: name,
  summary: `The plan of ${name}.`,
  contract: tasks.map(({ id }, at) => ({
    id: `A${at + 1}`,
    says: `${id}.txt says done.`,
    how: { kind: 'command', command: `grep -q done ${id}.txt` },
  })),
  tasks: tasks.map((one, at) => ({ ...one, claims: [`A${at + 1}`] })),
})

export const write = (path: string, content: string) => ({ kind: 'write', path, content })
export const done = (words: string, ...edits: object[]) => ({ signal: 'success', words, edits })
export const says = (signal: string, words: string, more: Record<string, unknown> = {}) => ({ signal, words, ...more })

export class TaskModel implements AsyncDisposable {
  /** All requests, by the name of the piece of work that they belong to. */
  readonly heard = new Map<string, AskedStep[]>()
  private readonly works = new Map<string, Work>()
  /** The answer to requests for lessons, which name no piece of work; by default no lesson is learned. */
  learns: AnswerTo = () => undefined
  /** The answer to requests about an unknown signal, which name no work; by default it can't be told what was meant. */
  classifies: AnswerTo = () => undefined

  private constructor(readonly server: ModelServer) {}

  static async start(): Promise<TaskModel> {
    const server = await ModelServer.start()
    const model = new TaskModel(server)
    server.play(heard => model.turn(heard))
    return model
  }

  /**
   * Adds a piece of work. The wish, and the questions to sub-agents, must contain its name, which must not be a word of
   * the prompts (like `approved`): otherwise requests of other works would match.
   */
  knows(name: string, work: Work): void {
    this.works.set(name, work)
    this.heard.set(name, [])
  }

  /** The requests for a piece of work: `implement a`, `plan`. */
  asked = (name: string): string[] =>
    (this.heard.get(name) ?? []).map(({ kind, task }) => (task ? `${kind} ${task}` : kind))

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop()
  }

  private async turn(heard: Heard): Promise<Turn> {
    const asked = stepOf(heard)
    // A name may be part of a longer one, so longer names are tried first.
    const names = [...this.works.keys()].sort((a, b) => b.length - a.length)
    const name = names.find(name => new RegExp(`\\b${name}\\b`).test(asked.text)) ?? ''
    const work = this.works.get(name)
    // The prompt of a summary has no wish, so it contains no work's name.
    if (!work && asked.kind === 'summarise')
      return { calls: callsOf(says('success', 'In short.', { text: 'It went as it went.' })) }
    if (asked.kind === 'extract') {
      const learned = (await this.learns(asked)) ?? says('success', 'Nothing new.', { lessons: [] })
      return isTurn(learned as object) ? (learned as { turn: Turn }).turn : { calls: callsOf(learned as object) }
    }
    if (asked.kind === 'classify') {
      const told = (await this.classifies(asked)) ?? says('success', 'It could be anything.', { meant: 'unclear' })
      return typeof told === 'string' ? { text: told } : { calls: callsOf(told) }
    }
    if (!work) return { status: 400, words: 'The scripted model knows no such work.' }
    this.heard.get(name)?.push(asked)
    const answer = (await work.answer?.(asked)) ?? usual(name, work, asked)
    if (typeof answer === 'string') return { text: answer }
    if (isTurn(answer)) return answer.turn
    return { calls: callsOf(answer) }
  }
}

const isTurn = (answer: object): answer is { turn: Turn } => 'turn' in answer

const KINDS: Record<string, StepWord> = {
  'the plan': 'plan',
  'an outline': 'outline',
  'change the files': 'implement',
  'a text': 'artifact',
  'a summary': 'summarise',
  lessons: 'extract',
  'how did a step end?': 'classify',
  'a review': 'review',
  'bring two changes together': 'resolve',
  'is the plan still right?': 'check plan',
}

function stepOf({ system, messages, model }: Heard): AskedStep {
  const text = messages.map(message => message.text).join('\n')
  const [, kind = ''] = /^# Your task: (.+)$/m.exec(system) ?? []
  const [, id = ''] = /^# The task ([a-z0-9-]+):/m.exec(text) ?? []
  const answers = [...text.matchAll(/^# What the person answered\n+(.+)$/gm)].map(([, words]) => words)
  return {
    kind: KINDS[kind] ?? 'plan',
    task: id,
    text,
    isAgain: text.includes('# Why the last attempt failed'),
    answered: answers.join('\n'),
    model,
  }
}

function usual(name: string, { tasks, plan }: Work, { kind, task }: AskedStep): ModelAnswer {
  switch (kind) {
    case 'plan':
      return says('success', 'A plan.', { plan: plan ?? planOf(name, tasks) })
    case 'outline':
      return says('success', 'One step.', { steps: [{ does: `Write ${task}.txt.`, files: [`${task}.txt`] }] })
    case 'review':
      return says('success', 'It does what it should.', { verdict: 'good', findings: [] })
    case 'artifact':
    case 'summarise':
      return says('success', 'Found.', { text: 'What was found.' })
    case 'check plan':
      return says('success', 'The plan is still right.')
    default:
      return done(`Make ${task}.`, write(`${task}.txt`, 'done\n'))
  }
}
