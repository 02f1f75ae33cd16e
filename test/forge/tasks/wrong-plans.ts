/**
 * Slightly wrong plans, each with the shortest way out: an answer of the model, or one command of the user. All other
 * steps succeed, so any further request would be wasted.
 */
import {
  type AskedStep,
  done,
  type ModelAnswer,
  type PlannedTask,
  planOf,
  says,
  task,
  write,
} from '../../support/task-model.ts'

type PlanJson = {
  contract: { id: string; says: string; how: Record<string, unknown> }[]
  tasks: (Record<string, unknown> & { id: string })[]
}

/**
 * The user's action: an answer to a task (to the run: ''), words from which the planner changes the plan, the end of a
 * task, or a change of the plan itself.
 */
export type Person =
  | { answers: string; says: string; mayWrite?: string; with?: string }
  | { asksFor: string }
  | { stops: string }
  | { edits: (plan: PlanJson) => PlanJson }

/** What a user types for an action; a changed plan is in a file. */
export function typedBy(person: Person, { run, file }: { run: string; file: string }): string[] {
  if ('edits' in person) return ['plan', run, '--file', file, '--yes']
  if ('asksFor' in person) return ['plan', run, person.asksFor]
  if ('stops' in person) return ['stop', run, person.stops]
  const { answers: task, says: words, mayWrite, with: given } = person
  return [
    ...['answer', run, ...(task === '' ? [] : [task]), words],
    ...(mayWrite === undefined ? [] : ['--may-write', mayWrite]),
    ...(given === undefined ? [] : ['--with', given]),
  ]
}

/** Gives the scripted answer to a step's request; `times`: 1 for the step's first request, then 2, … */
type Does = (asked: AskedStep & { times: number }) => ModelAnswer | undefined

export type WrongPlan = {
  /**
   * What is wrong with the plan. It is also the work that the run is asked to do, so only letters, digits and blanks.
   */
  what: string
  /** The tasks of the first plan that is carried out. */
  tasks: PlannedTask[]
  /** Makes the plan; by default {@link planOf} does, from the tasks. */
  plan?: (name: string) => Record<string, unknown>
  /** The planner's first plan, which the linter has to refuse; `plan` is its next one. */
  refused?: (name: string) => Record<string, unknown>
  /** Answers the steps of the plan's tasks; undefined: they succeed. */
  does?: Does
  /** A planner's new plan during the run. */
  replanned?: (name: string) => Record<string, unknown>
  /** Answers any other step. */
  answers?: Does
  args?: string[]
  /** The user's action; undefined where an answer of the model is enough to finish the run. */
  person?: Person
  /** The expected requests with their counts (by default one plan): finished work is not requested again. */
  asked: Record<string, number>
  /** Parts of the journal's lines, in the expected order. */
  story: string[]
  /** The exit code of the command that follows the run until it ends or waits for the user; by default 0. */
  code?: number
  /** The tasks that are done in the end; by default those of the plan. */
  isDone?: string[]
}

// --- Pieces

const made = (id: string, ...more: object[]) => done(`Make ${id}.`, write(`${id}.txt`, 'done\n'), ...more)
const HELPER = write('helper.txt', 'h\n')
/** Lets a task write helper.txt beside its own file. */
const helps =
  (id: string): Does =>
  asked =>
    asked.task === id ? made(id, HELPER) : undefined
const found = (words: string) =>
  says('new_tasks_discovered', words, { discovered: [{ title: 'Change the plan', why: words }] })
/** Gives this answer to the first request for a task. */
const saysFirst =
  (id: string, answer: ModelAnswer): Does =>
  asked =>
    asked.task === id && asked.times === 1 ? answer : undefined
/** Lets a task fail until its request contains some words. */
const untilTold =
  (id: string, words: string, why: string): Does =>
  asked =>
    asked.task === id && !asked.text.includes(words) ? says('failure_retryable', why) : undefined

/** A task with other fields in the plan. */
const withFields = (one: PlannedTask, fields: Record<string, unknown>): PlannedTask => ({ ...one, ...fields })
const writing = (one: PlannedTask, ...globs: string[]): PlannedTask =>
  withFields(one, { boundaries: { write: [`${one.id}.txt`, ...globs] } })
const checkedBy = (plan: Record<string, unknown>, id: string, command: string): Record<string, unknown> => {
  const { contract } = plan as PlanJson
  return { ...plan, contract: contract.map(it => (it.id === id ? { ...it, how: { kind: 'command', command } } : it)) }
}
/** A user's change of a task's fields. */
const change =
  (id: string, fields: (task: PlanJson['tasks'][number]) => Record<string, unknown>) =>
  (plan: PlanJson): PlanJson => ({
    ...plan,
    tasks: plan.tasks.map(it => (it.id === id ? { ...it, ...fields(it) } : it)),
  })

/**
 * A check that fails while there are exactly three .txt files, as with tasks a and b alone, and passes with a fourth.
 */
const TWO_ALONE = 'grep -q done a.txt && { ! test $(ls *.txt | wc -l) = 3; }'

const REPLANNED = 'replanned There is a new plan; changed, with 2 fresh attempts: '

// --- The plans

export const WRONG_PLANS: WrongPlan[] = [
  // --- Boundaries
  {
    what: 'a boundary that is one file too narrow',
    tasks: [task('a'), task('b')],
    does: helps('a'),
    person: { answers: 'a', says: 'You may write it.', mayWrite: 'helper.txt' },
    asked: { 'implement a': 3, 'implement b': 1 },
    story: [
      'failed a 1 violation of its boundaries: helper.txt',
      'asks a 2 attempts failed',
      `${REPLANNED}a. a may write helper.txt.`,
      'answered a A person has answered: You may write it.',
      'passed a It passed at attempt 3.',
    ],
  },
  {
    what: 'a boundary that the planner widens as soon as the task says so',
    tasks: [task('a'), task('b')],
    does: asked =>
      asked.task !== 'a'
        ? undefined
        : asked.text.includes('helper.txt`')
          ? made('a', HELPER)
          : found('It has to write helper.txt, too.'),
    replanned: name => planOf(name, [writing(task('a'), 'helper.txt'), task('b')]),
    asked: { 'implement a': 2, 'implement b': 1, 'check plan': 1 },
    story: ['discovers a ', `${REPLANNED}a.`, 'passed a It passed at attempt 2.'],
  },
  {
    what: 'a boundary about which the task asks before it crosses it',
    tasks: [task('a')],
    does: ({ times }) =>
      times === 1
        ? says('blocked_on_human', 'The boundary is too narrow.', { question: 'May I write helper.txt?' })
        : made('a', HELPER),
    person: { answers: 'a', says: 'Yes.', mayWrite: 'helper.txt' },
    asked: { 'implement a': 2 },
    story: ['asks a ', `${REPLANNED}a.`, 'passed a It passed at attempt 2.'],
  },
  {
    what: 'a boundary whose missing file belongs to a task that is done',
    tasks: [task('a'), writing(task('b'), 'helper.txt')],
    does: asked => (asked.task === 'b' ? made('b', HELPER) : made('a', write('helper.txt', 'more\n'))),
    person: { answers: 'a', says: 'You may write it.', mayWrite: 'helper.txt' },
    asked: { 'implement a': 3, 'implement b': 1 },
    story: ['asks a 2 attempts failed', `${REPLANNED}a.`, 'passed a It passed at attempt 3.'],
  },
  {
    what: 'a boundary whose missing file belongs to a task that waits',
    tasks: [task('a'), writing(task('b'), 'helper.txt'), task('c', { after: ['b'] })],
    args: ['--at-most', '1'],
    does: asked => {
      if (asked.task === 'b') return says('blocked_on_human', 'Which?', { question: 'Red or blue?' })
      return made('a', HELPER)
    },
    person: { answers: 'a', says: 'You may write it.', mayWrite: 'helper.txt' },
    asked: { 'implement a': 3, 'implement b': 2 },
    isDone: ['a'],
    code: 4,
    story: ['asks a 2 attempts failed', `${REPLANNED}a, b.`, 'b waits for a.', 'passed a It passed at attempt 3.'],
  },
  {
    what: 'a boundary that forbids what the task needs',
    tasks: [withFields(task('a'), { boundaries: { write: ['a.txt', 'help*'], never: ['helper.txt'] } })],
    does: helps('a'),
    person: { answers: 'a', says: 'You may.', mayWrite: 'helper.txt' },
    asked: { 'implement a': 3 },
    story: ['asks a 2 attempts failed', `${REPLANNED}a.`, 'passed a It passed at attempt 3.'],
  },
  {
    what: 'boundaries that are too wide and overlap',
    tasks: [task('a'), task('b')],
    refused: name => planOf(name, [writing(task('a'), 'shared/**'), writing(task('b'), 'shared/x.txt')]),
    asked: { plan: 2, 'implement a': 1, 'implement b': 1 },
    story: ['refused The linter refuses this plan: The tasks "a" and "b" may both write "shared/x.txt"', 'approved'],
  },
  {
    what: 'a boundary that reaches what the build server obeys',
    tasks: [task('a')],
    refused: name => planOf(name, [writing(task('a'), '**')]),
    asked: { plan: 2, 'implement a': 1 },
    story: ['refused The linter refuses this plan: Task "a", boundaries.write: it reaches', 'approved'],
  },
  {
    what: 'boundaries that nobody knew so that two tasks change the same line',
    tasks: [task('a', { write: [] }), task('b', { write: [] })],
    does: ({ task: id }) => made(id, write('README.md', `# Notes\n${id}\n`)),
    answers: ({ kind }) => (kind === 'resolve' ? done('Both.', write('README.md', '# Notes\na\nb\n')) : undefined),
    asked: { 'implement a': 1, 'implement b': 1, resolve: 1 },
    story: ['passed a ', 'passed b ', 'done '],
  },

  // --- Context
  {
    what: 'a context file that was forgotten and that the task names',
    tasks: [task('a')],
    does: untilTold('a', 'xyzzy', 'The content of lib.txt is not here.'),
    asked: { 'implement a': 2 },
    story: ['failed a The content of lib.txt is not here.', 'passed a It passed at attempt 2.'],
  },
  {
    what: 'a context file that was forgotten and that only the person knows',
    tasks: [task('a')],
    does: untilTold('a', 'xyzzy', 'The magic word is not here.'),
    person: { answers: 'a', says: 'It is in there.', with: 'lib.txt' },
    asked: { 'implement a': 3 },
    story: ['asks a 2 attempts failed', `${REPLANNED}a.`, 'passed a It passed at attempt 3.'],
  },
  {
    what: 'a boundary and a context that both lack a file',
    tasks: [task('a'), task('b')],
    does: ({ task: id, text }) => {
      if (id !== 'a') return undefined
      return text.includes('xyzzy') ? made('a', HELPER) : says('failure_retryable', 'The magic word is not here.')
    },
    person: { answers: 'a', says: 'Look there.', mayWrite: 'helper.txt', with: 'lib.txt' },
    asked: { 'implement a': 3, 'implement b': 1 },
    story: [
      'asks a 2 attempts failed',
      `${REPLANNED}a. a may write helper.txt. a is given lib.txt.`,
      'passed a It passed at attempt 3.',
    ],
  },
  {
    what: 'a context file that the person names in plain words',
    tasks: [task('a')],
    does: asked =>
      asked.text.includes('xyzzy')
        ? undefined
        : says('blocked_on_human', 'The word is missing.', { question: 'Which word?' }),
    person: { answers: 'a', says: 'The one in lib.txt.' },
    asked: { 'implement a': 2 },
    story: ['asks a ', 'answered a', 'passed a It passed at attempt 2.'],
  },
  {
    what: 'a context file that does not exist',
    tasks: [withFields(task('a'), { context: { files: ['lib.txt'] } })],
    refused: name => planOf(name, [withFields(task('a'), { context: { files: ['lob.txt'] } })]),
    asked: { plan: 2, 'implement a': 1 },
    story: ['refused The linter refuses this plan: Task "a", context.files: "lob.txt" does not exist', 'approved'],
  },

  // --- Order
  {
    what: 'a missing dependency that the task names',
    tasks: [task('a'), task('b')],
    does: saysFirst('a', says('blocked_on_sibling', 'It needs b.', { sibling: 'b' })),
    asked: { 'implement a': 2, 'implement b': 1 },
    story: ['order a Waits for b from now on.', 'passed a It passed at attempt 2.'],
  },
  {
    what: 'a dependency on a task that is missing',
    tasks: [task('a'), task('b')],
    does: saysFirst('a', says('blocked_on_sibling', 'It needs the parser.', { sibling: 'parser' })),
    replanned: name => planOf(name, [task('a', { after: ['parser'] }), task('b'), task('parser')]),
    isDone: ['a', 'b', 'parser'],
    asked: { 'implement a': 2, 'implement b': 1, 'implement parser': 1, 'check plan': 1 },
    story: [
      'discovers a It says that it waits for parser',
      'replanned There is a new plan; new: parser; changed',
      'passed parser',
      'passed a It passed at attempt 2.',
    ],
  },
  {
    what: 'two tasks in the wrong order',
    tasks: [task('a'), task('b', { after: ['a'] })],
    does: saysFirst('a', says('blocked_on_sibling', 'It stands on b.', { sibling: 'b' })),
    replanned: name => planOf(name, [task('a', { after: ['b'] }), task('b')]),
    asked: { 'implement a': 2, 'implement b': 1, 'check plan': 1 },
    story: [
      'discovers a It says that it waits for b',
      'they would wait for each other',
      `${REPLANNED}a, b.`,
      'passed b',
      'passed a',
    ],
  },
  {
    what: 'an order that only the person knows to be wrong',
    tasks: [task('a'), task('b', { after: ['a'] })],
    does: untilTold('a', 'Done before', 'It has nothing to stand on.'),
    person: {
      edits: plan => change('b', () => ({ depends_on: [] }))(change('a', () => ({ depends_on: ['b'] }))(plan)),
    },
    asked: { 'implement a': 3, 'implement b': 1 },
    story: ['asks a 2 attempts failed', `${REPLANNED}a, b.`, 'passed b', 'passed a It passed at attempt 3.'],
  },
  {
    what: 'tasks that wait for each other in a circle',
    tasks: [task('a'), task('b', { after: ['a'] })],
    refused: name => planOf(name, [task('a', { after: ['b'] }), task('b', { after: ['a'] })]),
    asked: { plan: 2, 'implement a': 1, 'implement b': 1 },
    story: ['refused The linter refuses this plan: The tasks "a" → "b" → "a" wait for each other', 'approved'],
  },

  // --- Checks
  {
    what: 'a check that nothing can pass',
    tasks: [task('a', { checks: [{ command: 'grep -q unobtainable a.txt' }] }), task('b')],
    person: { edits: change('a', () => ({ validation: { checks: [], reviews: [] } })) },
    asked: { 'implement a': 3, 'implement b': 1 },
    story: ['failed a ', 'asks a 2 attempts failed', `${REPLANNED}a.`, 'passed a It passed at attempt 3.'],
  },
  {
    what: 'an assertion whose command tests the wrong thing mended in words',
    tasks: [task('a'), task('b')],
    plan: name => checkedBy(planOf(name, [task('a'), task('b')]), 'A1', 'grep -q dnoe a.txt'),
    replanned: name => planOf(name, [task('a'), task('b')]),
    person: { asksFor: 'A1 has a typing error: it is done.' },
    asked: { 'implement a': 3, 'implement b': 1, 'check plan': 1 },
    story: [
      'asks a 2 attempts failed',
      'A person wants the plan to be changed: ',
      `${REPLANNED}a.`,
      'passed a It passed at attempt 3.',
    ],
  },
  {
    what: 'a check of a finished task that tests too little',
    tasks: [task('a'), task('b', { after: ['a'] })],
    plan: name => checkedBy(planOf(name, [task('a'), task('b', { after: ['a'] })]), 'A1', 'test -f a.txt'),
    does: saysFirst('b', found('A1 has to look into a.txt.')),
    replanned: name => planOf(name, [task('a'), task('b', { after: ['a'] })]),
    asked: { 'implement a': 1, 'implement b': 2, 'check plan': 1 },
    story: [
      'passed a ',
      'discovers b ',
      'replanned There is a new plan; checked again: a.',
      'begins a Make a: its checks again.',
      'passed a ',
      'passed b ',
    ],
  },
  {
    what: 'a check of a finished task that let a mistake through',
    tasks: [task('a'), task('b', { after: ['a'] })],
    plan: name => checkedBy(planOf(name, [task('a'), task('b', { after: ['a'] })]), 'A1', 'test -f a.txt'),
    does: asked => {
      if (asked.task === 'a') return asked.times > 1 ? undefined : done('Make a.', write('a.txt', 'half\n'))
      return asked.times === 1 ? found('A1 has to look into a.txt.') : undefined
    },
    replanned: name => planOf(name, [task('a'), task('b', { after: ['a'] })]),
    asked: { 'implement a': 2, 'implement b': 2, 'check plan': 1 },
    story: ['passed a ', 'discovers b ', 'checked again: a.', 'failed a ', 'passed a ', 'passed b '],
  },
  {
    what: 'a check that can not fail',
    tasks: [task('a')],
    refused: name => planOf(name, [task('a', { checks: [{ command: 'grep -q done a.txt || true' }] })]),
    asked: { plan: 2, 'implement a': 1 },
    story: ['refused The linter refuses this plan: Task "a", validation.checks', 'can never fail', 'approved'],
  },
  {
    what: 'a check that reads what another one has written',
    tasks: [task('a')],
    refused: name =>
      planOf(name, [task('a', { checks: [{ command: 'cp a.txt out.txt' }, { command: 'cat out.txt' }] })]),
    asked: { plan: 2, 'implement a': 1 },
    story: ['refused The linter refuses this plan: Task "a", validation.checks', 'approved'],
  },
  {
    what: 'an assertion that the wrong task claims',
    tasks: [task('a'), task('b')],
    plan: name => {
      const plan = planOf(name, [task('a'), task('b')]) as PlanJson
      const claims: Record<string, string[]> = { a: ['A1', 'A2'], b: [] }
      const checks = { b: { checks: [{ command: 'test -f b.txt' }], reviews: [] } }
      return {
        ...plan,
        tasks: plan.tasks.map(it => ({
          ...it,
          claims: claims[it.id],
          ...(it.id === 'b' && { validation: checks.b }),
        })),
      }
    },
    person: {
      edits: plan => change('b', () => ({ claims: ['A2'] }))(change('a', () => ({ claims: ['A1'] }))(plan)),
    },
    asked: { 'implement a': 3, 'implement b': 1 },
    story: ['asks a 2 attempts failed', 'changed, with 2 fresh attempts: a; checked again: b.', 'passed '],
  },
  {
    what: 'a review that asks for what nobody wants',
    tasks: [task('a', { reviews: ['Is it written in Latin?'] })],
    answers: ({ kind, text }) =>
      kind === 'review'
        ? says('success', 'Looked.', { verdict: text.includes('in Latin?') ? 'bad' : 'good', findings: [] })
        : undefined,
    person: { edits: change('a', () => ({ validation: { checks: [], reviews: ['Is it short?'] } })) },
    asked: { 'implement a': 3, 'review a': 3 },
    story: [
      'failed a A review does not accept it',
      'asks a 2 attempts failed',
      `${REPLANNED}a.`,
      'passed a It passed at attempt 3.',
    ],
  },

  // --- Size and number
  {
    what: 'a task that is too large and says so',
    tasks: [task('a'), task('b')],
    does: saysFirst('a', found('It is two things: the left and the right half.')),
    replanned: name => planOf(name, [task('left'), task('b'), task('right')]),
    isDone: ['left', 'b', 'right'],
    asked: { 'implement a': 1, 'implement b': 1, 'implement left': 1, 'implement right': 1, 'check plan': 1 },
    story: [
      'discovers a It is two things',
      'replanned There is a new plan; new: left, right; gone: a.',
      'passed left',
      'done ',
    ],
  },
  {
    what: 'a task that is too large for an answer',
    tasks: [task('a'), task('b')],
    does: ({ task: id }) => (id === 'a' ? { turn: { text: 'It is longer than', end: 'length' } } : undefined),
    replanned: name => planOf(name, [task('left'), task('b'), task('right')]),
    person: { asksFor: 'Split a in two.' },
    isDone: ['left', 'b', 'right'],
    asked: { 'implement a': 4, 'implement b': 1, 'implement left': 1, 'implement right': 1, 'check plan': 1 },
    story: ['asks a ', 'A person wants the plan to be changed: ', 'new: left, right; gone: a.', 'done '],
  },
  {
    what: 'a task that stands there twice',
    tasks: [
      task('a'),
      withFields(task('b', { after: ['a'], write: ['a.txt'] }), {
        objective: { behaviour: 'Write a.txt.', outputs: ['a.txt'], acceptance: ['It says done.'] },
      }),
    ],
    plan: name => {
      const twin = withFields(task('b', { after: ['a'], write: ['a.txt'] }), {
        objective: { behaviour: 'Write a.txt.', outputs: ['a.txt'], acceptance: ['It says done.'] },
      })
      return checkedBy(planOf(name, [task('a'), twin]), 'A2', 'grep -c done a.txt')
    },
    does: ({ task: id }) => (id === 'b' ? done('It is there already.') : undefined),
    person: { stops: 'b' },
    isDone: ['a'],
    asked: { 'implement a': 1, 'implement b': 2 },
    story: ['failed b It changed nothing', 'asks b 2 attempts failed', 'A person stops b.', 'done '],
  },
  {
    what: 'a task that stands there twice and says so',
    tasks: [task('a'), task('b')],
    does: saysFirst('b', found('That is what a does.')),
    replanned: name => {
      const plan = planOf(name, [task('a'), task('b')]) as PlanJson
      return { ...plan, contract: plan.contract.slice(0, 1), tasks: plan.tasks.slice(0, 1) }
    },
    isDone: ['a'],
    asked: { 'implement a': 1, 'implement b': 1, 'check plan': 1 },
    story: ['discovers b That is what a does.', 'gone: b.', 'done Its one task is done'],
  },
  {
    what: 'a task that is missing',
    tasks: [task('a')],
    does: saysFirst('a', found('There is no c.')),
    replanned: name => planOf(name, [task('a'), task('c')]),
    isDone: ['a', 'c'],
    asked: { 'implement a': 2, 'implement c': 1, 'check plan': 1 },
    story: ['discovers a There is no c.', 'new: c.', 'done All 2 tasks are done'],
  },
  {
    what: 'a task that is missing as only the whole shows',
    tasks: [task('a'), task('b')],
    plan: name => {
      // The result of b undoes what a has made true, so that the contract fails for both together.
      const plan = planOf(name, [task('a'), task('b')])
      return checkedBy(plan, 'A1', TWO_ALONE)
    },
    replanned: name => {
      const both = withFields(task('both', { after: ['a', 'b'] }), {})
      const plan = planOf(name, [task('a'), task('b'), both])
      return checkedBy(plan, 'A1', TWO_ALONE)
    },
    does: ({ task: id }) => (id === 'both' ? done('Both.', write('both.txt', 'done: both\n')) : undefined),
    person: { answers: '', says: 'They need both.txt, which says both.' },
    isDone: ['a', 'b', 'both'],
    asked: { 'implement a': 1, 'implement b': 1, 'implement both': 1, 'check plan': 1 },
    story: ['finish ', 'answered ', 'replanned There is a new plan; new: both.', 'done All 3 tasks are done'],
  },

  // --- Tier, depth, words
  {
    what: 'a tier that is too low',
    tasks: [task('a', { tier: 'classification' })],
    does: ({ model }) => (model === 'small' ? says('failure_retryable', 'That is too hard for me.') : undefined),
    asked: { 'implement a': 2 },
    story: [
      'failed a That is too hard for me.',
      'begins a Make a: attempt 2 by the tier',
      'passed a It passed at attempt 2.',
    ],
  },
  {
    what: 'a tier that is too low twice',
    tasks: [task('a', { tier: 'classification' })],
    does: ({ model }) => (model === 'clever' ? undefined : says('failure_retryable', 'That is too hard for me.')),
    person: { edits: change('a', () => ({ tier: 'reasoning' })) },
    asked: { 'implement a': 3 },
    story: [
      'asks a 2 attempts failed',
      `${REPLANNED}a.`,
      'begins a Make a: attempt 3 by the tier reasoning',
      'passed a ',
    ],
  },
  {
    what: 'sub agents that the plan does not allow',
    tasks: [task('a')],
    does: ({ text }) =>
      text.includes('no more levels')
        ? undefined
        : { ...done('That has to be found out.'), fan_out: [{ id: 's', asks: 'What is it?' }] },
    asked: { 'implement a': 2 },
    story: ['passed a It passed at the first attempt.'],
  },
  {
    what: 'an objective that contradicts itself',
    tasks: [task('a'), task('b')],
    does: saysFirst('a', says('failure_terminal', 'It can not be both red and blue.')),
    person: { edits: change('a', it => ({ objective: { ...(it.objective as object), behaviour: 'Make it red.' } })) },
    asked: { 'implement a': 2, 'implement b': 1 },
    story: [
      "asks a It can't be done as it is: It can not be both red and blue.",
      `${REPLANNED}a.`,
      'passed a It passed at attempt 2.',
    ],
  },
  {
    what: 'an objective that leaves something open',
    tasks: [task('a'), task('b', { after: ['a'] })],
    does: saysFirst('a', says('blocked_on_human', 'The colour is not said.', { question: 'Red or blue?' })),
    person: { answers: 'a', says: 'Blue.' },
    asked: { 'implement a': 2, 'implement b': 1 },
    story: ['asks a The colour is not said.', 'answered a', 'passed a ', 'passed b '],
  },

  // --- Many at once
  {
    what: 'most boundaries too narrow by the same file',
    tasks: ['p', 'q', 'r', 's', 't', 'u'].map(id => task(id)),
    args: ['--at-most', '1'],
    does: ({ task: id, text }) =>
      text.includes(`helper-${id}.txt\``)
        ? undefined
        : says('failure_retryable', `helper-${id}.txt has to be written, too.`),
    replanned: name =>
      planOf(
        name,
        ['p', 'q', 'r', 's', 't', 'u'].map(id => writing(task(id), `helper-${id}.txt`)),
      ),
    asked: {
      'implement p': 3,
      'implement q': 3,
      'implement r': 3,
      'implement s': 3,
      'implement t': 3,
      'implement u': 2,
      'check plan': 1,
    },
    story: [
      'failed p ',
      'replanned There is a new plan; changed, with 2 fresh attempts: p, q, r, s, t, u.',
      'done All 6 tasks are done',
    ],
  },
  {
    what: 'a task that eight others have made needless',
    tasks: [
      ...['p', 'q', 'r', 's', 't', 'u', 'v', 'w'].map(id => task(id)),
      task('z', { after: ['p', 'q', 'r', 's', 't', 'u', 'v', 'w'] }),
    ],
    args: ['--at-most', '4'],
    replanned: name => {
      const plan = planOf(
        name,
        ['p', 'q', 'r', 's', 't', 'u', 'v', 'w'].map(id => task(id)),
      )
      return plan
    },
    isDone: ['p', 'q', 'r', 's', 't', 'u', 'v', 'w'],
    asked: Object.fromEntries([
      ...['p', 'q', 'r', 's', 't', 'u', 'v', 'w'].map(id => [`implement ${id}`, 1]),
      ['check plan', 1],
    ]),
    story: ['passed w', 'replanned There is a new plan; gone: z.', 'done All 8 tasks are done'],
  },
]
