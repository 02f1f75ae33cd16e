/** Which files of earlier runs are removed, and when. */
import { expect, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunMetadata, stamp } from '../../core/formats/forklift-run.ts'
import { tidy } from '../../forklift/house-keeping.ts'
import { keepGitSettings } from '../../forklift/leftovers.ts'
import { recordFile } from '../../forklift/runs.ts'
import { git } from '../support/git.ts'

const DAY = 24 * 60 * 60 * 1000

async function makeState() {
  const state = await mkdtemp(join(tmpdir(), 'forklift-state-'))
  return { state, [Symbol.asyncDispose]: () => rm(state, { recursive: true, force: true }) }
}

/** Makes a run directory of a given age in days, with an exit code. */
async function makeRun(state: string, project: string, days: number, exitCode: number, container = 'gone') {
  const path = join(state, 'runs', `${project}_${stamp(new Date(Date.now() - days * DAY))}`)
  await mkdir(join(path, 'workspace'), { recursive: true })
  await writeFile(join(path, 'workspace', 'file'), 'text')
  const times = { startedAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:00:01Z' }
  const commits = { originCommit: '1', startCommit: '1', upstreamCommit: '2', conflicts: [], forkMd: null }
  const names = { version: '1', origin: 'o', upstream: 'u', branch: 'main', upstreamBranch: 'main', image: 'i' }
  const agent = { container, model: 'm', variant: 'v', agent: 'a', timeLimitSeconds: 480 }
  const metadata: RunMetadata = { ...names, ...commits, ...agent, startedAt: times.startedAt }
  await recordFile(path, 'metadata', metadata)
  await recordFile(path, 'outcome', { exitCode, outcome: 'over', ...times })
  return path
}

const nobody = async (): Promise<string[]> => []

test('the workspace of a published run is removed after seven days, its record stays', async () => {
  await using it = await makeState()
  const old = await makeRun(it.state, 'fork', 8, 0)
  const young = await makeRun(it.state, 'fork', 6, 0)
  expect(await tidy(it.state, nobody)).toEqual([join(old, 'workspace')])
  expect((await readdir(old)).sort()).toEqual(['metadata.json', 'outcome.json'])
  expect(await readdir(young)).toContain('workspace')
})

test('the workspace of a run that was not published stays for thirty days', async () => {
  await using it = await makeState()
  const stuck = await makeRun(it.state, 'fork', 29, 4)
  expect(await tidy(it.state, nobody)).toEqual([])
  expect(await readdir(stuck)).toContain('workspace')
})

test('a run directory is removed after thirty days, also where the agent locked its folders', async () => {
  await using it = await makeState()
  const old = await makeRun(it.state, 'fork', 31, 4)
  await chmod(join(old, 'workspace'), 0)
  expect(await tidy(it.state, nobody)).toEqual([old])
  expect(await readdir(join(it.state, 'runs'))).toEqual([])
})

test('a run whose container still lives is left alone', async () => {
  await using it = await makeState()
  const old = await makeRun(it.state, 'fork', 31, 0, 'forklift-living')
  expect(await tidy(it.state, async () => ['forklift-living'])).toEqual([])
  expect(await readdir(old)).toContain('workspace')
})

test('the workspace of a run whose Forklift was killed is made safe to look at, once its container is gone', async () => {
  await using it = await makeState()
  const killed = await makeRun(it.state, 'fork', 1, 1, 'forklift-living')
  const [workspace, config] = [join(killed, 'workspace'), join(killed, 'workspace/.git/config')]
  await git(workspace, 'init', '--quiet', '--template=')
  await mkdir(join(workspace, '.git/info'))
  await keepGitSettings({ path: killed })
  await git(workspace, 'config', 'core.fsmonitor', '/evil')
  await mkdir(join(killed, 'harness-state'))
  await tidy(it.state, async () => ['forklift-living'])
  expect(await readFile(config, 'utf8')).toContain('/evil')
  await tidy(it.state, nobody)
  expect(await readFile(config, 'utf8')).not.toContain('/evil')
  expect((await readdir(killed)).sort()).toEqual(['harness-state', 'metadata.json', 'outcome.json', 'workspace'])
})

test('the engine is not asked while there is nothing old', async () => {
  await using it = await makeState()
  await makeRun(it.state, 'fork', 1, 0)
  const asked = async (): Promise<string[]> => {
    throw new Error('asked')
  }
  expect(await tidy(it.state, asked)).toEqual([])
})

test('the scratch folder of a killed run is removed, that of a running one stays', async () => {
  await using it = await makeState()
  const child = Bun.spawn(['true'])
  await child.exited
  await mkdir(join(it.state, `scratch-${hostname()}-${child.pid}-dead`))
  await mkdir(join(it.state, `scratch-${hostname()}-${process.pid}-alive`))
  await tidy(it.state, nobody)
  expect(await readdir(it.state)).toEqual([`scratch-${hostname()}-${process.pid}-alive`])
})

test('a scratch folder with another host name is removed after a day', async () => {
  await using it = await makeState()
  const [old, fresh] = ['scratch-laptop.home-17-dead', 'scratch-laptop.office-17-alive']
  for (const name of [old, fresh]) await mkdir(join(it.state, name))
  const yesterday = Date.now() / 1000 - 25 * 60 * 60
  await utimes(join(it.state, old), yesterday, yesterday)
  await tidy(it.state, nobody)
  expect(await readdir(it.state)).toEqual([fresh])
})

test('folders that are not run directories are never touched', async () => {
  await using it = await makeState()
  await mkdir(join(it.state, 'runs', 'notes'), { recursive: true })
  await tidy(it.state, nobody)
  expect(await readdir(join(it.state, 'runs'))).toEqual(['notes'])
})
