#!/usr/bin/env bun
/**
 * Records the histories in histories/ again, a file for each workflow: small runs with all features of flows. Tests
 * replay them, to find a change of a flow that would break running runs. Record them again only for a release that may
 * break those; a new feature of a flow gets its own name, and is recorded alone.
 *
 *   test/forge/tasks/record-histories.ts [NAME …]
 *
 * It needs a Temporal server's binary, like the tests of flows.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { emptyPurse, type Granting, type Wanted } from '../../../forge/tasks/run/purse.ts'
import { type Asked, type Overrides, type Said, shape } from '../../support/flow-activities.ts'
import { type FlowHost, FlowServer } from '../../support/flows.ts'

type Recorded = { script: (asked: Asked) => Said; overrides?: Overrides; during?: (host: FlowHost) => Promise<unknown> }
type Execution = { workflowId: string; runId?: string }

const isAgain = ({ step }: Asked) => step.endsWith('/again')

/** The recorded runs, by the names of their files. */
const RECORDED: Record<string, Recorded> = {
  'plan-and-run': {
    script: ({ kind }) => {
      if (kind === 'plan')
        return { plan: [shape('a', { isSmall: false, reviews: 2 }), shape('b', { dependsOn: ['a'] })] }
      if (kind === 'review') return { isGood: true }
      return kind === 'outline' ? { steps: ['one', 'two'] } : {}
    },
    during: async host => host.says('approve', (await host.untilState('approving')).plan),
  },
  retry: {
    script: ({ kind }) => (kind === 'plan' ? { plan: [shape('a')] } : {}),
    overrides: { validate: ({ attempt }) => (attempt === 1 ? { isGood: false, words: 'It fails.' } : undefined) },
  },
  question: {
    script: ({ kind, told }) => {
      if (kind === 'plan') return { plan: [shape('a')] }
      return told.includes('Red.') ? {} : { signal: 'blocked_on_human', words: 'The colour', question: 'Which?' }
    },
    during: async host => {
      await host.untilState('asks')
      await host.answer('a', 'Red.')
    },
  },
  mended: {
    script: ({ kind, attempt, told }) => {
      if (kind === 'plan') return { plan: [shape('a'), shape('b', { dependsOn: ['a'] })] }
      if (kind === 'check plan')
        return told.includes('Call it c.') ? { plan: [shape('a'), shape('c', { dependsOn: ['a'] })] } : {}
      return attempt === 1 ? { signal: 'new_tasks_discovered', words: 'There is more.' } : {}
    },
    overrides: { validate: ({ task }) => (task === 'b' ? { isGood: false, words: 'It fails.' } : undefined) },
    during: async host => {
      await host.says('approve', (await host.untilState('approving')).plan)
      await host.until(({ state }) => state === 'asks')
      await host.says('replan', host.activities.put('answer', 'Call it c.'))
      await host.says('approve', (await host.untilState('approving')).plan)
    },
  },
  'fan-out': {
    script: asked => {
      if (asked.kind === 'plan') return { plan: [shape('a', { recursion: 1 })] }
      if (asked.kind === 'artifact') return {}
      return isAgain(asked) ? {} : { fanOut: [{ id: 'x' }, { id: 'y' }] }
    },
  },
  classified: {
    script: ({ kind, task }) => {
      if (kind === 'plan') return { plan: [shape('a'), shape('b')] }
      // For the task a it can be told what was meant; for b it can't, and the user is asked.
      if (kind === 'classify') return task === 'a' ? { meant: 'success' } : {}
      return { unknown: 'all_done' }
    },
    during: async host => {
      const asks = await host.untilState('asks')
      await host.until(({ tasks }) => tasks.some(({ id, state }) => id === 'a' && state === 'done'))
      host.activities.script = ({ kind }) => (kind === 'classify' ? { meant: 'success' } : {})
      await host.answer(asks.tasks.find(({ state }) => state === 'asks')?.id ?? '', 'Do it.')
    },
  },
}

/** The budget of a run on several machines: grants, a repeated question, a wait, a refusal, and both ways to settle. */
async function recordBudget(host: FlowHost): Promise<Execution> {
  const { client } = host.server
  const workflowId = `${host.queue}-budget`
  const args = [{ run: host.run, purse: emptyPurse() }]
  const handle = await client.workflow.start('forgeBudget', { taskQueue: host.queue, workflowId, args })
  const wants = (sender: string, { id = `${sender} 1`, cost = 1 } = {}) => {
    const rooms = [{ output: 100, tokens: 200, cost: 0.1 }]
    const wanted: Wanted = { id, sender, key: `key of ${sender}`, rooms, limits: { depth: 0, requests: 3, cost } }
    return handle.executeUpdate<Granting, [Wanted]>('reserve', { args: [wanted] })
  }
  const granted = [
    await wants('one'),
    await wants('one', { id: 'one 2' }),
    await wants('two', { cost: 0.2 }),
    await wants('two'),
    await wants('three'),
  ]
  await handle.signal('settle', { id: 'one 2' }, { tokens: 150, cost: 0.05 })
  await handle.signal('settle', { key: 'key of one' }, { tokens: 150, cost: 0.05 })
  await handle.signal('end')
  await handle.result()
  console.log(`budget: ${granted.map(({ is }) => is).join(', ')}`)
  return { workflowId }
}

type History = { workflowId: string; type: string; history: unknown }

/** The history of a workflow and of all its children. */
async function recordedFrom(server: FlowServer, { workflowId, runId }: Execution): Promise<History[]> {
  const history = await server.client.workflow.getHandle(workflowId, runId).fetchHistory()
  const events = history.events ?? []
  const children = events.flatMap(event => {
    const started = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution
    return started?.workflowId && started.runId ? [{ workflowId: started.workflowId, runId: started.runId }] : []
  })
  const others: History[] = []
  for (const child of children) others.push(...(await recordedFrom(server, child)))
  const type = events[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? ''
  return [{ workflowId, type, history: JSON.parse(historyToJSON(history)) }, ...others]
}

/** Does a run, to its end. */
async function recordRun(host: FlowHost, name: string, { during }: Recorded): Promise<Execution> {
  await host.start({ isApproved: !['plan-and-run', 'mended'].includes(name) })
  await during?.(host)
  await host.result()
  return { workflowId: host.queue }
}

const folder = join(import.meta.dir, 'histories')
const wanted = process.argv.slice(2)
await mkdir(folder, { recursive: true })
const server = await FlowServer.start()

async function record(name: string, work: (host: FlowHost) => Promise<Execution>, recorded?: Recorded): Promise<void> {
  if (wanted.length > 0 && !wanted.includes(name)) return
  await using host = await server.host(recorded?.script ?? (() => ({})), recorded?.overrides)
  const histories = await recordedFrom(server, await work(host))
  for (const [at, { type, workflowId, history }] of histories.entries()) {
    await writeFile(
      join(folder, `${name}-${at + 1}-${type.replace('forge', '').toLowerCase()}.json`),
      `${JSON.stringify({ workflowId, history })}\n`,
    )
  }
  console.log(`${name}: ${histories.length} workflows`)
}

try {
  for (const [name, recorded] of Object.entries(RECORDED))
    await record(name, host => recordRun(host, name, recorded), recorded)
  await record('budget', recordBudget)
} finally {
  await server.close()
}
