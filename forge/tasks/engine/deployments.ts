/**
 * Versions of workers on a server that a fleet shares, by Temporal's worker deployments: a run stays with the version
 * of the workflows that it began with as long as a machine has that, and new runs go to the newest. A run whose version
 * no machine has any more moves to this one where its history replays with it.
 */
import { Client } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { temporal } from '@temporalio/proto'
import type { NativeConnection } from '@temporalio/worker'
import { firstLine, visible } from '../../../core/text.ts'
import { namespaceOf, type QueuePlace, serverReason } from './client.ts'
import { isDead } from './left-behind.ts'
import { replay } from './replay.ts'

/** A worker asks for at most 60 seconds at a time, so one that has last asked before this many ms is gone. */
const GONE_MS = 70_000
/** Milliseconds between two looks for runs without a machine of their version. */
const LOOK_MS = 30_000
/** Milliseconds until the server knows a version whose worker has begun to ask for work. */
const REGISTERED_MS = 30_000
const RETRY_MS = 100

const { VERSIONING_BEHAVIOR_PINNED } = temporal.api.enums.v1.VersioningBehavior
const { PINNED_OVERRIDE_BEHAVIOR_PINNED } = temporal.api.workflow.v1.VersioningOverride.PinnedOverrideBehavior
const WORKFLOWS = temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW

export type Version = { deploymentName: string; buildId: string }

/** The version of a queue's worker. `buildId`: a hash of its workflows, the same on all machines. */
export const versionOf = (queue: string, buildId: string): Version => ({
  deploymentName: queue.replace(/[^\w-]/g, '-'),
  buildId,
})

/** Why a server has no worker deployments, as a sentence; undefined where it has them. */
export async function whyNoDeployments(connection: NativeConnection, namespace: string): Promise<string | undefined> {
  try {
    await connection.workflowService.listWorkerDeployments({ namespace, pageSize: 1 })
    return undefined
  } catch (error) {
    return `The server has no versions of workers (${serverReason(error)}): a run goes on with whatever version of Forge takes it.`
  }
}

/** The versions of a queue's workers. */
export class Deployments {
  readonly #client: Client
  readonly #namespace: string
  /** The workflows whose histories do not replay with this version, with the sentence about each. */
  readonly #stay = new Map<string, string>()

  constructor(
    private readonly connection: NativeConnection,
    private readonly place: QueuePlace,
    private readonly own: Version,
    private readonly goneMs = GONE_MS,
  ) {
    this.#namespace = place.server.namespace
    this.#client = new Client({ connection, ...namespaceOf(place.server) })
  }

  /**
   * Whether the server knows this version before its worker begins: then it is not a new one, and takes over only from
   * a version that no machine has.
   */
  async isKnown(): Promise<boolean> {
    const info = await this.#info()
    return info?.versionSummaries?.some(it => it.deploymentVersion?.buildId === this.own.buildId) ?? false
  }

  /** Lets new runs begin with this version, if it is a new one, or no machine has the present one. */
  async takeOver({ isNew }: { isNew: boolean }): Promise<void> {
    for (const last = performance.now() + REGISTERED_MS; ; await Bun.sleep(RETRY_MS)) {
      const info = await this.#info()
      const current = info?.routingConfig?.currentDeploymentVersion?.buildId
      if (current === this.own.buildId) return
      if (current && !isNew && (await this.#served()).has(current)) return
      const token = info?.conflictToken
      try {
        await this.connection.workflowService.setWorkerDeploymentCurrentVersion({
          namespace: this.#namespace,
          deploymentName: this.own.deploymentName,
          buildId: this.own.buildId,
          version: `${this.own.deploymentName}.${this.own.buildId}`,
          // Other queues of an older version have no workers of this one.
          ignoreMissingTaskQueues: true,
          ...(token && { conflictToken: token }),
        })
        return
      } catch (error) {
        // The server does not know the version yet, or another worker has changed it at the same time.
        if (performance.now() > last) throw error
      }
    }
  }

  /**
   * Moves the open workflows whose version no machine has to this version, each if its history replays. Gives the ids
   * of those that moved, and a sentence for each that can't. What a workflow would have begun last is not compared, as
   * the history may end before that: it then fails with its next event, and `forge resume` submits the run again.
   */
  async moveStranded(bundle: string): Promise<{ moved: string[]; stays: string[] }> {
    const served = await this.#served()
    const [moved, stays]: [string[], string[]] = [[], []]
    const query = `TaskQueue = '${this.place.queue}' AND ExecutionStatus = 'Running'`
    for await (const { workflowId, runId } of this.#client.workflow.list({ query })) {
      const execution = { workflowId, runId }
      const pinned = await this.#pinnedTo(execution)
      if (pinned === undefined || pinned === this.own.buildId || served.has(pinned)) continue
      const known = this.#stay.get(runId)
      if (known !== undefined) {
        stays.push(known)
        continue
      }
      const history = await this.#client.workflow.getHandle(workflowId, runId).fetchHistory()
      const recorded = { workflowId, history: JSON.parse(historyToJSON(history)) }
      const [complaint] = await replay([recorded], bundle, this.place.server.converter)
      if (complaint !== undefined) {
        const words = `${visible(workflowId)} began with another version of Forge, which no machine has, and does not go on with this one (${visible(firstLine(complaint)).slice(0, 200)}): forge resume submits its run again.`
        this.#stay.set(runId, words)
        stays.push(words)
        continue
      }
      await this.#move(execution)
      moved.push(workflowId)
    }
    return { moved, stays }
  }

  /** Moves such workflows now and then, until the signal is aborted. */
  async keepMoving(
    bundle: string,
    { signal, log }: { signal: AbortSignal; log: (line: string) => void },
  ): Promise<void> {
    const told = new Set<string>()
    while (!signal.aborted) {
      try {
        const { moved, stays } = await this.moveStranded(bundle)
        if (moved.length > 0) log(`Goes on with what another version of Forge has begun: ${moved.join(', ')}.`)
        for (const words of stays) if (!told.has(words)) log(words)
        for (const words of stays) told.add(words)
      } catch (error) {
        // The server may be away for a while.
        log(`Could not look for runs of other versions (${serverReason(error)}).`)
      }
      await pause(LOOK_MS, signal)
    }
  }

  async #move(workflowExecution: { workflowId: string; runId: string }): Promise<void> {
    const { own: version } = this
    await this.connection.workflowService.updateWorkflowExecutionOptions({
      namespace: this.#namespace,
      workflowExecution,
      workflowExecutionOptions: {
        versioningOverride: { override: 'pinned', pinned: { behavior: PINNED_OVERRIDE_BEHAVIOR_PINNED, version } },
      },
      updateMask: { paths: ['versioning_override'] },
    })
  }

  /** The build of the version that a workflow is pinned to; undefined where it is to none, or has ended meanwhile. */
  async #pinnedTo(execution: { workflowId: string; runId: string }): Promise<string | undefined> {
    const { workflowExecutionInfo } = await this.connection.workflowService
      .describeWorkflowExecution({ namespace: this.#namespace, execution })
      .catch(() => ({ workflowExecutionInfo: undefined }))
    const { behavior, deploymentVersion, versioningOverride } = workflowExecutionInfo?.versioningInfo ?? {}
    const override = versioningOverride?.pinned?.version?.buildId
    if (override) return override
    return behavior === VERSIONING_BEHAVIOR_PINNED ? (deploymentVersion?.buildId ?? undefined) : undefined
  }

  /** The builds of which a worker asks for work, or has within the time of one question. */
  async #served(): Promise<ReadonlySet<string>> {
    const taskQueue = { name: this.place.queue }
    const request = { namespace: this.#namespace, taskQueue, taskQueueType: WORKFLOWS }
    const { pollers } = await this.connection.workflowService.describeTaskQueue(request)
    const builds = new Set<string>()
    for (const { deploymentOptions, lastAccessTime, identity } of pollers ?? []) {
      const age = Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000
      const { buildId } = deploymentOptions ?? {}
      if (buildId && age < this.goneMs && !(await isDead(identity ?? ''))) builds.add(buildId)
    }
    return builds
  }

  async #info() {
    try {
      const { deploymentName } = this.own
      const request = { namespace: this.#namespace, deploymentName }
      const { workerDeploymentInfo, conflictToken } =
        await this.connection.workflowService.describeWorkerDeployment(request)
      return { ...workerDeploymentInfo, conflictToken }
    } catch {
      // The first worker of a deployment makes it.
      return undefined
    }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  timer.unref()
  const end = () => {
    clearTimeout(timer)
    resolve()
  }
  signal.addEventListener('abort', end, { once: true })
  return promise.finally(() => signal.removeEventListener('abort', end))
}
