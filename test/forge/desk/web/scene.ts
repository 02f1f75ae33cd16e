/** A repository to show, and its page in a real browser. */
import type { BrowserContext, Page } from 'playwright-core'
import { StandIn } from '../web-stand-in.ts'

export { until } from '../../../support/repository.ts'

const LEASE = await Bun.file(`${import.meta.dir}/lease.txt`).text()

export const SCENE_FILES = {
  '.forge/session.json': '{}\n',
  'docs/design.md': '# Design\n\nA queue with *leases*.\n',
  'src/http/routes.ts': 'export const routes = []\n',
  'src/queue/backoff.ts': 'export function backoff(tries: number): number {\n  return 2 ** tries\n}\n',
  'src/queue/claim.ts':
    "import type { Lease } from './types'\n\nexport async function claim(): Promise<Lease> {\n  throw new Error('none')\n}\n",
  'src/queue/lease.ts': LEASE,
  'src/queue/retry.ts': 'export const RETRIES = 3\n',
  'src/queue/sweep.ts': 'export function sweep(): void {}\n',
  'src/queue/types.ts': 'export interface Lease {\n  token: string\n  expiresAt: number\n}\n',
  'src/store/memory.ts': 'export class MemoryStore {}\n',
  'src/store/postgres.ts': 'export class PostgresStore {}\n',
  'src/store/sqlite.ts': 'export class SqliteStore {}\n',
  'src/index.ts': "export * from './worker'\n",
  'src/metrics.ts': 'export const metrics = new Map<string, number>()\n',
  'src/worker.ts': 'export class Worker {}\n',
  'test/lease.test.ts': "import { test } from 'bun:test'\n\ntest('a lease', () => {})\n",
  'tools/store_stats.ts': 'export const schema = {}\n',
  'AGENTS.md': '# For agents\n',
  'FORK.md': '# Fork\n',
  'README.md': '# Tern\n\nA queue.\n',
  'logo.png': '',
  'data.bin': '',
  'big.locked': 'pointer\n',
  'package.json': '{\n  "name": "tern"\n}\n',
  'tsconfig.json': '{}\n',
}

export async function startScene(built: string): Promise<StandIn> {
  const standIn = await StandIn.start(built)
  standIn.addBranch('main', SCENE_FILES)
  standIn.addBranch('retry-jitter', SCENE_FILES, {
    upstream: { name: 'origin/retry-jitter', ahead: 4, behind: 0 },
    checkout: '/home/mira/tern',
  })
  standIn.addBranch('lease-renewal', SCENE_FILES, { session: true })
  standIn.addBranch('http-metrics', SCENE_FILES, { session: true })
  return standIn
}

export type DeskPage = Page & { troubles: string[] }

const SETTLED = `(async () => {
  const idle = () => new Promise(resolve => requestIdleCallback(resolve))
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
  for (const next of [frame, idle, frame, idle]) await next()
})()`

/** Waits until the page has rendered its state, and is idle. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(SETTLED)
}

/** Opens the page; its errors and violations of its policy are collected. */
export async function openDesk(context: BrowserContext, standIn: StandIn): Promise<DeskPage> {
  const page = await context.newPage()
  const troubles: string[] = []
  page.on('pageerror', error => troubles.push(String(error)))
  page.on('console', message => {
    const isExpected = /WebSocket connection to|ERR_CONNECTION_REFUSED|status of 401/.test(message.text())
    if (message.type() === 'error' && !isExpected) troubles.push(message.text())
  })
  await page.goto(standIn.url)
  await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab').nth(2).waitFor()
  return Object.assign(page, { troubles })
}
