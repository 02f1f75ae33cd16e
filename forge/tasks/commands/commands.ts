/** The commands of the tasks: `forge VERB …`. Each is loaded when it is called, with its packages. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { EXIT, Failure } from '../../../core/failure.ts'
import type { CommandRunner } from './context.ts'
import { nearestTo } from './nearest.ts'

type Entry = {
  /** The arguments after the verb. */
  usage: string
  /** One line for the list of commands. */
  words: string
  load: () => Promise<{ runCommand: CommandRunner; HELP: string }>
}

const COMMANDS: Record<string, Entry> = {
  run: {
    usage: 'TASK.md|"text"',
    words: 'plan a large piece of work, ask, do it, check it',
    load: () => import('./run.ts'),
  },
  resolve: {
    usage: 'BRANCH',
    words: 'merge a branch with many conflicts, in parts',
    load: () => import('./resolve.ts'),
  },
  runs: { usage: '', words: 'list the runs of this repository', load: () => import('./runs.ts') },
  show: { usage: 'RUN [TASK]', words: 'show how a run is, or its journal', load: () => import('./show.ts') },
  attach: { usage: 'RUN', words: 'follow a run that is under way', load: () => import('./attach.ts') },
  approve: { usage: 'RUN', words: 'look at a plan that waits, and say yes', load: () => import('./approve.ts') },
  answer: { usage: 'RUN [TASK] "…"', words: 'answer what was asked', load: () => import('./answer.ts') },
  plan: { usage: 'RUN ["…"]', words: 'change the plan of a run while it runs', load: () => import('./plan.ts') },
  pause: {
    usage: 'RUN [TASK]',
    words: 'begin nothing new',
    load: () => import('./pause.ts').then(({ runPause, PAUSE_HELP }) => ({ runCommand: runPause, HELP: PAUSE_HELP })),
  },
  resume: {
    usage: 'RUN [TASK]',
    words: 'go on',
    load: () =>
      import('./pause.ts').then(({ runResume, RESUME_HELP }) => ({ runCommand: runResume, HELP: RESUME_HELP })),
  },
  stop: {
    usage: 'RUN [TASK]',
    words: 'end it; what is done stays, and resume takes it up again',
    load: () => import('./pause.ts').then(({ runStop, STOP_HELP }) => ({ runCommand: runStop, HELP: STOP_HELP })),
  },
  stats: { usage: '', words: 'show how tasks went, by tier and model', load: () => import('./stats.ts') },
  models: {
    usage: '',
    words: 'show the models of each tier: window, price, abilities',
    load: () => import('./models.ts'),
  },
  eval: {
    usage: '[RUN …]',
    words: 'ask kept requests of other models, and judge the answers',
    load: () => import('./eval.ts'),
  },
  playbooks: { usage: '', words: 'show and edit what runs have learned', load: () => import('./playbooks.ts') },
  land: { usage: 'RUN [TASK]', words: 'review and merge what passed', load: () => import('./land.ts') },
  trust: { usage: '[KEY]', words: 'say which keys of other machines count', load: () => import('./trust.ts') },
  worker: {
    usage: '',
    words: 'work on the runs of this repository, until it is ended',
    load: () => import('./worker.ts'),
  },
  up: {
    usage: '[--ui]',
    words: 'start the local Temporal server and a worker',
    load: () => import('./up.ts').then(({ runUp, UP_HELP }) => ({ runCommand: runUp, HELP: UP_HELP })),
  },
  down: {
    usage: '[--all]',
    words: 'end both; runs go on at the next start',
    load: () => import('./up.ts').then(({ runDown, DOWN_HELP }) => ({ runCommand: runDown, HELP: DOWN_HELP })),
  },
  doctor: {
    usage: '',
    words: 'say what is there, what is missing, and what to do',
    load: () => import('./doctor.ts'),
  },
}

/** Whether the first argument of `forge` is a command of the tasks. (A folder of that name is `./NAME`.) */
export const isVerb = (word: string | undefined): word is string => word !== undefined && Object.hasOwn(COMMANDS, word)

/**
 * A message for a first argument that looks like a command but is none, and is no existing folder either; undefined for
 * anything else.
 */
export async function whyNoVerb(word: string | undefined, cwd: string): Promise<string | undefined> {
  if (word === undefined || !/^[a-z][a-z-]*$/i.test(word)) return undefined
  if (Object.hasOwn(COMMANDS, word)) return undefined
  if (await stat(join(cwd, word)).catch(() => undefined)) return undefined
  const meant = nearestTo(word.toLowerCase(), Object.keys(COMMANDS))
  const hint = meant === undefined ? '' : ` Did you mean forge ${meant}?`
  return `There is no command ${word}, and no folder of that name.${hint} forge --help lists the commands.`
}

/** A line for each command, for the help of `forge`. */
export function listCommands(): string {
  const calls = Object.entries(COMMANDS).map(([verb, { usage, words }]) => [`forge ${verb} ${usage}`.trim(), words])
  const width = Math.max(...calls.map(([call = '']) => call.length))
  return calls.map(([call = '', words]) => `${call.padEnd(width)}   ${words}`).join('\n')
}

/** Runs a command, or prints its help. Throws a Failure where the packages of the tasks are not installed. */
export async function runVerb(verb: string, ...[argv, context]: Parameters<CommandRunner>): ReturnType<CommandRunner> {
  const entry = COMMANDS[verb]
  if (!entry) throw new Error(`There is no command ${verb}`)
  try {
    const { runCommand, HELP } = await entry.load()
    if (!argv.includes('--help') && !argv.includes('-h')) return await runCommand(argv, context)
    context.out(HELP)
    return EXIT.done
  } catch (error) {
    // Many packages are loaded later, so their absence shows only here.
    throw isMissingPackage(error) ? new Failure(NOT_INSTALLED) : error
  }
}

const NOT_INSTALLED = 'The packages of the tasks are not installed: run make tasks-runtime in the folder of Forge.'
const isMissingPackage = (error: unknown): boolean =>
  error instanceof Error && /Cannot find (module|package) '@(temporalio|opentelemetry)\//.test(error.message)
