/** Talks to a Temporal server, and turns its failures into sentences. */
import type { Client, Connection, TLSConfig, WorkflowHandle } from '@temporalio/client'
import type { ProtoFailure } from '@temporalio/common'
import { Failure } from '../../../core/failure.ts'
import { firstLine, visible } from '../../../core/text.ts'
import { ASK_AGAIN, type AttemptStatus, type RunStatus } from '../contract.ts'
import { added } from '../run/state.ts'
import type { TheirServer } from './find.ts'

/** The history of a run does not fit the workflows of this version. */
export class OtherVersion extends Failure {}

/** How the server's library reports a history that does not fit the code. */
const OTHER_STEPS = /\bTMPRL1100\b|nondeterminism/i

/** A run under way does not answer in time: there is no worker, or it is very busy. */
export class NoAnswer extends Failure {}

/** The server has no run of this id under way. */
export class UnknownRun extends Failure {}

/** How long a host may take to accept a connection, in milliseconds: that needs neither its programs nor its disk. */
const REACH_TIMEOUT_MS = 4000
/** Milliseconds for a server's first answer, as it may be busy. */
export const CONNECT_TIMEOUT_MS = 10_000
/** Milliseconds for the first answer of a server that this command has started: where all else is busy, it is slow. */
export const FIRST_ANSWER_MS = 30_000
/** Milliseconds that a server of ours, started by another command, may take to create its namespace. */
const NAMESPACE_MS = 1500
/** Milliseconds for a server's answer to a question. */
const ANSWER_MS = 4000
/** Milliseconds for a run's answer to a query; it may have to be replayed first. */
const QUERY_MS = 12_000
/** Milliseconds in which a run has to process an update, during which it may check a plan. */
const UPDATE_MS = 60_000
/** Milliseconds after which an update that the server has given up is sent again. */
const AGAIN_MS = 200
/** Seconds that the server keeps finished runs; their results and journals stay in git. */
const RETENTION = 30 * 24 * 3600

/** The address of a server and the credentials for it. */
export type Server = Omit<TheirServer, 'kind'>

/** A repository's task queue on a server. */
export type QueuePlace = { server: Pick<Server, 'namespace' | 'converter'>; queue: string }

/** What a client and a worker of a server have in common: the namespace, and how data for it is converted. */
export const namespaceOf = ({ namespace, converter }: Pick<Server, 'namespace' | 'converter'>) => ({
  namespace,
  ...(converter && { dataConverter: converter }),
})

/**
 * Connects to a server, which has to answer in `patience` milliseconds. @throws Failure where none answers, it is no
 * Temporal server, or it refuses access.
 */
export async function connect(server: Server, patience = CONNECT_TIMEOUT_MS): Promise<Connection> {
  try {
    await reach(server)
    const { Connection } = await import('@temporalio/client')
    const { tls, apiKey, metadata } = server.options
    const options = { ...(tls !== undefined && { tls }), ...(apiKey && { apiKey }), ...(metadata && { metadata }) }
    return await Connection.connect({ address: server.address, connectTimeout: patience, ...options })
  } catch (error) {
    throw serverErrorInWords(error, server)
  }
}

/**
 * Opens a connection to the server as a test, with TLS where that is configured, and fails at once if the port is
 * closed, does not answer or its certificate is refused: Temporal's client would retry until its timeout, and not give
 * the reason. Tests nothing where a proxy is configured.
 */
async function reach({ address, options }: Server): Promise<void> {
  const [, host, port] = /^(?:\w+:\/\/\/?)?\[?([^\]/]+?)\]?:(\d+)$/.exec(address) ?? []
  if (!host || !port || PROXIES.some(name => process.env[name])) return
  const [{ connect: dial, isIP }, { connect: dialTls }] = await Promise.all([import('node:net'), import('node:tls')])
  const place = { host, port: Number(port), timeout: REACH_TIMEOUT_MS }
  const tls = options.tls === true ? {} : options.tls || undefined
  const servername = tls?.serverNameOverride ?? host
  if (tls && isIP(servername))
    throw new Failure(
      `The address of the Temporal server is a number (${visible(address)}), to which TLS gives no name: set the name of its certificate as TEMPORAL_TLS_SERVER_NAME.`,
    )
  await new Promise<void>((resolve, reject) => {
    const socket = tls ? dialTls({ ...place, servername, ALPNProtocols: ['h2'], ...certificatesOf(tls) }) : dial(place)
    const end = (error?: Error) => {
      socket.destroy()
      if (error) reject(error)
      else resolve()
    }
    socket.once(tls ? 'secureConnect' : 'connect', () => end())
    socket.once('timeout', () => end(new Error(NOT_IN_TIME)))
    socket.once('error', end)
  })
}

/** The certificates for a connection, in the terms of Node's TLS. */
const certificatesOf = ({ serverRootCACertificate: ca, clientCertPair: pair }: TLSConfig) => ({
  ...(ca && { ca: Buffer.from(ca) }),
  ...(pair && { cert: Buffer.from(pair.crt), key: Buffer.from(pair.key) }),
})

const NOT_IN_TIME = 'no answer in time'

const PROXIES = ['grpc_proxy', 'https_proxy', 'http_proxy', 'HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY']

/**
 * A warning that a Temporal server lacks something that runs can do without. `isCertain`: false if it only may lack it.
 */
export type Warning = { words: string; isCertain: boolean }

/**
 * Waits until the namespace exists (a new server creates it), and adds the search attributes. On our own server, sets
 * finished runs to be kept for a month. Gives a warning where runs can't be listed.
 */
export async function prepareNamespace(
  connection: Connection,
  server: Server,
  { isOurs, isNew = false, attributes }: { isOurs: boolean; isNew?: boolean; attributes: readonly string[] },
): Promise<Warning | undefined> {
  const { namespace } = server
  try {
    const seconds = await retention(connection, namespace, isOurs ? (isNew ? FIRST_ANSWER_MS : NAMESPACE_MS) : 0)
    if (isOurs && seconds !== RETENTION) {
      const config = { workflowExecutionRetentionTtl: await duration(RETENTION) }
      await connection.workflowService.updateNamespace({ namespace, config })
    }
  } catch (error) {
    throw serverErrorInWords(error, server)
  }
  return await addSearchAttributes(connection, server, attributes)
}

async function retention(connection: Connection, namespace: string, patience: number): Promise<number> {
  for (const last = performance.now() + patience; ; await Bun.sleep(50)) {
    try {
      const { config } = await connection.workflowService.describeNamespace({ namespace })
      return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0)
    } catch (error) {
      if (performance.now() >= last) throw error
    }
  }
}

async function duration(seconds: number) {
  const { msToTs } = await import('@temporalio/common/lib/time')
  return msToTs(seconds * 1000)
}

/**
 * Adds the search attributes for runs. Only Temporal's own lists and traces need them, so a failure is returned as a
 * reason. Some servers (Temporal Cloud) refuse even to list them: then they may exist.
 */
async function addSearchAttributes(
  connection: Connection,
  server: Server,
  wanted: readonly string[],
): Promise<Warning | undefined> {
  const { namespace } = server
  const { temporal } = await import('@temporalio/proto')
  const keyword = temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
  const where = `The namespace ${visible(namespace)} at ${visible(server.address)}`
  const commandFor = (names: readonly string[]) =>
    `temporal operator search-attribute create ${names.map(name => `--name ${name} --type Keyword`).join(' ')}`
  let there: string[]
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
    there = Object.keys(customAttributes ?? {})
  } catch (error) {
    const words = `${where} does not say which search attributes it has (${reasonOf(error)}). Runs go on without; where they are missing, traces and Temporal's page do not tell runs apart: ${commandFor(wanted)}`
    return { words, isCertain: false }
  }
  const missing = wanted.filter(name => !there.includes(name))
  if (missing.length === 0) return undefined
  const searchAttributes = Object.fromEntries(missing.map(name => [name, keyword]))
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes })
    return undefined
  } catch (error) {
    // Another command may have added the search attributes meanwhile.
    if (codeOf(error) === ALREADY_EXISTS) return undefined
    const words = `${where} lacks search attributes, and they can't be added from here (${reasonOf(error)}). Runs go on without; so that traces and Temporal's page tell them apart: ${commandFor(missing)}`
    return { words, isCertain: true }
  }
}

// --- Runs

/** The workflow type of a run, with a version: see older.ts for the earlier ones. */
export const RUN_TYPE = 'forgeRun'

/** The id of a run's workflow. */
export const workflowIdOf = (run: string): string => `forge-run-${run}`

/** Submits a run. One that is already under way is left as it is. */
export async function startRun<Input extends { run: string }>(
  client: Client,
  queue: string,
  input: Input,
): Promise<WorkflowHandle> {
  const { defineSearchAttributeKey, TypedSearchAttributes } = await import('@temporalio/common')
  const attribute = (name: string, value: string) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value })
  const options = {
    taskQueue: queue,
    workflowId: workflowIdOf(input.run),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
  } as const
  const typedSearchAttributes = new TypedSearchAttributes([attribute('forgeRun', input.run)])
  const start = async () => {
    try {
      return await client.workflow.start(RUN_TYPE, { ...options, args: [input], typedSearchAttributes })
    } catch (error) {
      // The namespace may lack the search attribute and refuse to add it: submit the run without.
      if (codeOf(error) !== INVALID_ARGUMENT || !/search attribute/i.test(reasonOf(error))) throw error
      return await client.workflow.start(RUN_TYPE, { ...options, args: [input] })
    }
  }
  return await spoken(input.run, () => client.withDeadline(Date.now() + CONNECT_TIMEOUT_MS, start), SERVER_SILENT)
}

/** Sends a query to a run and gives its answer. */
export async function queryRun<Answer>(
  client: Client,
  run: string,
  query: string,
  ...args: unknown[]
): Promise<Answer> {
  const handle = client.workflow.getHandle(workflowIdOf(run))
  return await spoken(run, () =>
    client.withDeadline(Date.now() + QUERY_MS, () => handle.query<Answer, unknown[]>(query, ...args)),
  )
}

/** At most this many tasks' attempts are asked what they are doing. */
const MAX_ASKED = 16

/** The status of a run, with what its running attempts are doing. */
export async function statusOfRun(client: Client, run: string): Promise<RunStatus> {
  return await withAttempts(client, workflowIdOf(run), await queryRun<RunStatus>(client, run, 'status'))
}

/** Adds what the attempts are doing. They are queried, since reporting it would cost events of the run's history. */
export async function withAttempts(client: Client, workflowId: string, status: RunStatus): Promise<RunStatus> {
  const asked = status.tasks.filter(({ doing }) => doing !== '').slice(0, MAX_ASKED)
  const told = new Map<string, AttemptStatus>()
  const ask = async ({ id, attempt }: (typeof asked)[number]): Promise<void> => {
    const handle = client.workflow.getHandle(`${workflowId}/${id}`)
    const query = () => handle.query<AttemptStatus, []>('doing')
    // An attempt that has just ended, or has not begun, does not answer.
    const answer = await client.withDeadline(Date.now() + ANSWER_MS / 2, query).catch(() => undefined)
    if (answer?.attempt === attempt) told.set(id, answer)
  }
  await Promise.all(asked.map(ask))
  let { spent } = status
  const tasks = status.tasks.map(task => {
    const attempt = told.get(task.id)
    if (!attempt) return task
    spent = added(spent, attempt.spent)
    return attempt.isHeld ? { ...task, state: 'paused' as const, doing: '' } : { ...task, doing: attempt.doing }
  })
  return { ...status, tasks, spent }
}

/** Sends an update to a run. A refusal is thrown as a Failure with the run's message. */
export async function updateRun<Answer>(
  client: Client,
  run: string,
  update: string,
  args: [unknown, ...unknown[]],
): Promise<Answer> {
  const handle = client.workflow.getHandle(workflowIdOf(run))
  const last = Date.now() + UPDATE_MS
  const execute = async (): Promise<Answer> => {
    try {
      return await handle.executeUpdate<Answer, [unknown, ...unknown[]]>(update, { args })
    } catch (error) {
      // The server gives an update up that comes in the middle of a workflow task which is done again.
      const isGivenUp = codeOf(error) === FAILED_PRECONDITION
      if (!(isGivenUp || isAskedAgain(error)) || Date.now() + AGAIN_MS > last) throw error
    }
    await Bun.sleep(AGAIN_MS)
    return await execute()
  }
  return await spoken(run, () => client.withDeadline(last, execute))
}

/** Whether an update is to be sent again, as it came at a moment at which the run takes none. */
export const isAskedAgain = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && 'type' in error.cause && error.cause.type === ASK_AGAIN

/** The state of a run's workflow according to the server. `words`: the reason for its end. */
export type WorkflowStanding =
  | { is: 'open' }
  | { is: 'unknown' | 'completed' | 'cancelled' | 'timed out' }
  | { is: 'terminated' | 'failed'; words: string }

/** The state of a run's workflow, without the visibility store, which lags, and without a worker. */
export async function standingOf(client: Client, run: string): Promise<WorkflowStanding> {
  const handle = client.workflow.getHandle(workflowIdOf(run))
  try {
    const describe = () => client.withDeadline(Date.now() + ANSWER_MS, () => handle.describe())
    const { status } = await spoken(run, describe, SERVER_SILENT)
    switch (status.name) {
      case 'TERMINATED':
        return { is: 'terminated', words: await reasonOfEnd(client, run) }
      case 'FAILED':
        return { is: 'failed', words: await reasonOfEnd(client, run) }
      case 'CANCELLED':
        return { is: 'cancelled' }
      case 'TIMED_OUT':
        return { is: 'timed out' }
      case 'COMPLETED':
        return { is: 'completed' }
      default:
        return { is: 'open' }
    }
  } catch (error) {
    if (error instanceof UnknownRun) return { is: 'unknown' }
    throw error
  }
}

/** The reason for a workflow's end in its last event; '' where there is none. */
async function reasonOfEnd(client: Client, run: string): Promise<string> {
  const { namespace } = client.options
  const request = { namespace, execution: { workflowId: workflowIdOf(run) }, maximumPageSize: 1 }
  const last = await client
    .withDeadline(Date.now() + ANSWER_MS, () => client.workflowService.getWorkflowExecutionHistoryReverse(request))
    .then(({ history }) => history?.events?.[0])
    .catch(() => undefined)
  const failure = last?.workflowExecutionFailedEventAttributes?.failure
  const reason =
    last?.workflowExecutionTerminatedEventAttributes?.reason ?? (failure && (await messageOf(client, failure))) ?? ''
  return visible(firstLine(reason)).slice(0, 300)
}

/** The message of a failure on the server; its own is in the data that can be encrypted. */
async function messageOf(client: Client, failure: ProtoFailure): Promise<string> {
  const { decodeOptionalFailureToOptionalError } = await import('@temporalio/common/lib/internal-non-workflow')
  const decoded = decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure)
  const error = await decoded.catch((reason: Error) => reason)
  return error?.message ?? ''
}

/** The unfinished runs of these workflow types, of one queue or of all. */
export async function openRuns(client: Client, queue?: string, types = [RUN_TYPE]): Promise<string[]> {
  const ofQueue = queue === undefined ? '' : ` AND TaskQueue = '${queue}'`
  const runs: string[] = []
  const query = `WorkflowType IN (${types.map(type => `'${type}'`).join(', ')}) AND ExecutionStatus = 'Running'${ofQueue}`
  await client.withDeadline(Date.now() + CONNECT_TIMEOUT_MS, async () => {
    for await (const { workflowId } of client.workflow.list({ query })) runs.push(workflowId.replace(/^forge-run-/, ''))
  })
  return runs
}

/** Ends a run on the server with all its children there; what is in git stays. */
export async function forgetRun(client: Client, run: string, why: string): Promise<void> {
  const terminate = () => client.workflow.getHandle(workflowIdOf(run)).terminate(why)
  await spoken(run, () => client.withDeadline(Date.now() + CONNECT_TIMEOUT_MS, terminate), SERVER_SILENT)
}

const SERVER_SILENT = 'The Temporal server does not answer: see with forge doctor whether it runs.'

/**
 * Sends a request to the server with `ask`; failures become sentences. `late`: the sentence where no answer comes in
 * time; by default, that the run does not answer.
 */
async function spoken<Answer>(run: string, ask: () => Promise<Answer>, late?: string): Promise<Answer> {
  const { NamespaceNotFoundError, WorkflowNotFoundError } = await import('@temporalio/common')
  const { WorkflowUpdateFailedError, QueryRejectedError, WorkflowUpdateRPCTimeoutOrCancelledError } = await import(
    '@temporalio/client'
  )
  try {
    return await ask()
  } catch (error) {
    if (OTHER_STEPS.test(reasonOf(error)))
      throw new OtherVersion(
        `Another version of Forge has begun ${visible(run)}, and it can't go on in this one as it is: forge resume ${visible(run)} submits it again; what is done stays done.`,
      )
    if (error instanceof WorkflowNotFoundError)
      throw new UnknownRun(`The Temporal server knows no run ${visible(run)} that is under way: see forge runs.`)
    if (error instanceof WorkflowUpdateFailedError) throw new Failure(visible(error.cause?.message ?? error.message))
    const isLate = error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || codeOf(error) === DEADLINE_EXCEEDED
    // A query of a workflow that no worker has begun yet.
    const isEarly = codeOf(error) === FAILED_PRECONDITION
    if (isLate || isEarly || error instanceof QueryRejectedError)
      throw new NoAnswer(
        late ?? `The run ${visible(run)} does not answer: see with forge doctor whether a worker is there.`,
      )
    if (error instanceof NamespaceNotFoundError)
      throw new Failure(
        `The Temporal server has no namespace ${visible(error.namespace)} any more: create it again, then forge resume ${visible(run)}.`,
      )
    if (codeOf(error) === UNAVAILABLE)
      throw new Failure(`The Temporal server can't be reached (${reasonOf(error)}): check that it runs.`)
    throw error
  }
}

// --- Failures

const INVALID_ARGUMENT = 3
const [DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED] = [4, 5, 6, 7]
const [FAILED_PRECONDITION, UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED] = [9, 12, 14, 16]

/** The gRPC code of an error, or of an error that it wraps. */
function codeOf(error: unknown): number | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'number') return code
  }
  return undefined
}

/** The message of the innermost error, which tells most, for a sentence. */
export const serverReason = (error: unknown): string => reasonOf(error)

function reasonOf(error: unknown): string {
  let reason = ''
  for (let at = error; at instanceof Error; at = at.cause) reason = at.message
  return visible(firstLine(reason)).slice(0, 300)
}

export function serverErrorInWords(error: unknown, { address, namespace }: Server): Failure {
  if (error instanceof Failure) return error
  const where = visible(address)
  const code = codeOf(error)
  // The library words its timeouts differently by where they come from, so they all get the same reason.
  const isLate = code === DEADLINE_EXCEEDED || /before the deadline/i.test(reasonOf(error))
  const reason = isLate ? NOT_IN_TIME : reasonOf(error)
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED)
    return new Failure(`The Temporal server at ${where} does not accept this key or certificate (${reason}).`)
  if (code === NOT_FOUND)
    return new Failure(
      `The Temporal server at ${where} has no namespace ${visible(namespace)}: set TEMPORAL_NAMESPACE, or create it.`,
    )
  if (code === UNIMPLEMENTED) return new Failure(`What answers at ${where} is no Temporal server (${reason}).`)
  if (/ssl|tls|certificate|wrong version number|secure|altnames/i.test(reason))
    return new Failure(
      `No secure connection to the Temporal server at ${where} (${reason}): check TEMPORAL_TLS and its certificates.`,
    )
  return new Failure(
    `No Temporal server answers at ${where} (${reason}): check that it runs, and TEMPORAL_ADDRESS if that names it.`,
  )
}
