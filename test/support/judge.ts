/** Validates attempts of tasks as a run does, with a repository, container slots and approvals of its own. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { type CommitIdentity, commitChanges } from '../../core/git/commits.ts'
import { writeBlob } from '../../core/git/objects.ts'
import type { Oid } from '../../core/git/repository.ts'
import { Approvals } from '../../forge/ai/approvals.ts'
import { ApprovedCommands } from '../../forge/tasks/checks/approved.ts'
import { Slots } from '../../forge/tasks/checks/slots.ts'
import { type ValidationMeans, type ValidationReport, validate } from '../../forge/tasks/checks/validate.ts'
import type { Validated } from '../../forge/tasks/contract.ts'
import { Plan } from '../../forge/tasks/plan/schema.ts'
import { RunStore } from '../../forge/tasks/runs/store.ts'
import { makePlace, type Place } from './repository.ts'

const PERSON: CommitIdentity = { name: 'A', email: 'a@b', date: { seconds: 0, zone: '+0000' } }

/** The parts of a task that matter to a test. By default everything may be written, and nothing is required. */
export type TaskWish = {
  checks?: (string | { command: string; seconds?: number })[]
  outputs?: string[]
  write?: string[]
  contract?: string
}

export type Judge = AsyncDisposable & {
  place: Place
  /** The state folder, and that of the run. */
  state: string
  run: string
  slots: Slots
  /** By default everything is approved. */
  approved: ApprovedCommands
  validate: (
    attempt: { base: Oid; head: Oid },
    wish: TaskWish & { hasNetwork?: boolean },
  ) => Promise<Omit<Validated, 'report'> & { report: ValidationReport }>
}

/** A plan with one task, `t`, that claims one assertion. */
export function planOf({ checks = [], outputs = [], write = ['**'], contract = 'true' }: TaskWish): Plan {
  return v.parse(Plan, {
    title: 't',
    summary: 's',
    contract: [{ id: 'A1', says: 'It works.', how: { kind: 'command', command: contract } }],
    tasks: [
      {
        id: 't',
        title: 't',
        objective: { behaviour: 'b', outputs, acceptance: ['a'] },
        claims: ['A1'],
        boundaries: { write },
        validation: { checks },
      },
    ],
  })
}

export async function makeJudge(): Promise<Judge> {
  const place = await makePlace()
  const state = join(place.folder, 'state')
  const run = join(state, 'runs/r')
  await mkdir(run, { recursive: true })
  const slots = new Slots(place.repository, state)
  const approved = new ApprovedCommands(
    new Approvals(join(place.folder, 'config')),
    new RunStore(place.objects, '20261122-judge-abcd'),
  )
  await approved.approveAll()
  const means: ValidationMeans = {
    objects: place.objects,
    slots,
    keep: async (kind, text) => ({ kind, oid: await writeBlob(place.repository, Buffer.from(text)) }),
    commitMended: (head, changes) =>
      commitChanges(place.objects, {
        ...{ base: head, changes, parents: [head] },
        ...{ message: 'Mended', author: PERSON, committer: PERSON },
      }),
    unapproved: commands => approved.missing(commands),
    hasNetwork: false,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  }
  return {
    ...{ place, state, run, slots, approved },
    validate: async (attempt, { hasNetwork = false, ...wish }) => {
      const plan = planOf(wish)
      const [task] = plan.tasks
      if (!task) throw new Error('No task')
      const validated = await validate({ ...means, hasNetwork }, { plan, task, ...attempt })
      const bytes = (await place.objects.read(validated.report.oid))?.bytes
      return { ...validated, report: JSON.parse(bytes?.toString() ?? '') as ValidationReport }
    },
    [Symbol.asyncDispose]: async () => {
      await slots[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}
