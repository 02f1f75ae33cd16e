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
import { type Asked, type Overrides, type Said, shape } from '../../support/flow-activities.ts'
import { type FlowHost, FlowServer } from '../../support/flows.ts'

type Recorded = { script: (asked: Asked) => Said; overrides?: Overrides; during?: (host: FlowHost) => Promise<unknown> }

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
}

type Execution = { workflowId: string; runId?: string }
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

const folder = join(import.meta.dir, 'histories')
const wanted = process.argv.slice(2)
await mkdir(folder, { recursive: true })
const server = await FlowServer.start()
try {
  for (const [name, { script, overrides, during }] of Object.entries(RECORDED)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    await using host = await server.host(script, overrides)
    await host.start({ isApproved: !['plan-and-run', 'mended'].includes(name) })
    await during?.(host)
    await host.result()
    const histories = await recordedFrom(server, { workflowId: host.queue })
    for (const [at, { type, workflowId, history }] of histories.entries()) {
      await writeFile(
        join(folder, `${name}-${at + 1}-${type.replace('forge', '').toLowerCase()}.json`),
        `${JSON.stringify({ workflowId, history })}\n`,
      )
    }
    console.log(`${name}: ${histories.length} workflows`)
  }
} finally {
  await server.close()
}
