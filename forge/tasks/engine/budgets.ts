/**
 * Lets an activity ask the budget of its run (flows/budget.ts), where several machines work on it, whether a request
 * may be sent.
 */
import { Context } from '@temporalio/activity'
import { WithStartWorkflowOperation } from '@temporalio/client'
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common'
import type { RunId } from '../contract.ts'
import { batchedId, type Closing, type Granting, type Purse, type Used, type Wanted } from '../run/purse.ts'
import { ownQueueOf } from '../run/queues.ts'

/** The budgets of runs. */
export interface Budgets {
  /** Asks for room for a request. `known`: what git knows that was used, for a budget that has to begin. */
  reserve(run: RunId, wanted: Omit<Wanted, 'id' | 'sender'>, known: () => Promise<Purse>): Promise<Granted>
  /** Says what a request has used: one that was granted (`id`), or one whose answer is stored (`key`). */
  settle(run: RunId, which: { id: string } | { key: string }, used: Used): Promise<void>
  /** Says what became of requests in batches. */
  close(run: RunId, closings: Closing[]): Promise<void>
  /** What the run has used; undefined where no request was sent yet, or where the budget does not answer. */
  used(run: RunId): Promise<Purse | undefined>
  /** Ends the budget of a run that has ended. */
  end(run: RunId): Promise<void>
}

/** The answer, and the name under which the request is settled. */
export type Granted = { id: string; granting: Granting }

/** Milliseconds for an answer. A worker has to be free for it. */
const TIMEOUT_MS = 60_000

const idOf = (run: RunId): string => `forge-budget-${run}`

/** Access to the budgets on the Temporal server that runs the calling activity. */
export class TemporalBudgets implements Budgets {
  /** The number of questions of this process, as an activity may send several requests. */
  #asked = 0
  /**
   * The questions without an answer, by activity and request. Each may have been granted: asked again under the same
   * name, it sets nothing more aside.
   */
  readonly #unanswered = new Map<string, string>()

  async reserve(run: RunId, wanted: Omit<Wanted, 'id' | 'sender'>, known: () => Promise<Purse>): Promise<Granted> {
    const { client, info } = Context.current()
    const { workflowId, runId } = info.workflowExecution ?? {}
    const sender = wanted.isBatched ? batchedId(wanted.key) : `${workflowId} ${runId} ${info.activityId}`
    const name = `${sender} ${wanted.key}`
    const fresh = () => `${sender} ${info.attempt}.${this.#asked++}`
    const id = wanted.isBatched ? sender : (this.#unanswered.get(name) ?? fresh())
    this.#unanswered.set(name, id)
    const question: Wanted = { ...wanted, id, sender }
    // One that arrives late is known to the server by this name, too. In a batch, the same may be asked anew.
    const named = wanted.isBatched ? {} : { updateId: id }
    const answer = async (): Promise<Granting> => {
      const args: [Wanted] = [question]
      try {
        return await client.workflow
          .getHandle(idOf(run))
          .executeUpdate<Granting, [Wanted]>('reserve', { ...named, args })
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error
      }
      const startWorkflowOperation = new WithStartWorkflowOperation('forgeBudget', {
        workflowId: idOf(run),
        taskQueue: ownQueueOf(info.taskQueue),
        args: [{ run, purse: await known() }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      })
      const options = { ...named, args, startWorkflowOperation }
      return await client.workflow.executeUpdateWithStart<() => Promise<void>, Granting, [Wanted]>('reserve', options)
    }
    const granting = await client.withDeadline(Date.now() + TIMEOUT_MS, answer).catch(error => {
      throw ApplicationFailure.create({
        message: 'The budget of the run does not answer.',
        type: 'Busy',
        cause: error instanceof Error ? error : undefined,
      })
    })
    this.#unanswered.delete(name)
    return { id, granting }
  }

  async settle(run: RunId, which: { id: string } | { key: string }, used: Used): Promise<void> {
    const { client } = Context.current()
    // A budget that has ended begins again with the answers in git.
    await client.workflow.getHandle(idOf(run)).signal('settle', which, used).catch(ignoreEnded)
  }

  async close(run: RunId, closings: Closing[]): Promise<void> {
    const { client } = Context.current()
    await client.workflow.getHandle(idOf(run)).signal('close', closings).catch(ignoreEnded)
  }

  async used(run: RunId): Promise<Purse | undefined> {
    const { client } = Context.current()
    const query = () => client.workflow.getHandle(idOf(run)).query<Purse, []>('used')
    return await client.withDeadline(Date.now() + QUERY_MS, query).catch(() => undefined)
  }

  async end(run: RunId): Promise<void> {
    const { client } = Context.current()
    await client.workflow.getHandle(idOf(run)).signal('end').catch(ignoreEnded)
  }
}

/** Milliseconds for the answer to a query, without which a status is shown as well. */
const QUERY_MS = 5_000

function ignoreEnded(error: unknown): void {
  if (!(error instanceof WorkflowNotFoundError)) throw error
}
