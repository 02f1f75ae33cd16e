// Starts one container as Forklift does, with a scripted model; and helpers for docker, for the e2e tests.
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMerged, type Scene, setScene } from '../harness/scene.ts'
import { removeAtEnd } from '../support/leftovers.ts'
import { type Script, startModel } from './model.ts'

export const IMAGE = 'forklift/kitchen-sink:latest'
/** The key of the tests. It is never written as a whole in a script or argument, so a match is the real key. */
export const KEY = `sk-live-${'k3y'.repeat(4)}-e2e`

const root = mkdtempSync(join(tmpdir(), 'forklift-e2e-'))
/** Removes what a test file left, and makes the folder for the next one. */
export function removeBoxes(): void {
  rmSync(root, { recursive: true, force: true })
  mkdirSync(root)
}
removeAtEnd(root)

export async function docker(...args: string[]) {
  const child = Bun.spawn(['docker', ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { code, stdout: stdout.trim(), stderr: stderr.trim() }
}

/** This machine's address on a network of the engine: its gateway, else the first address of its subnet. */
async function addressOn(network: string): Promise<string> {
  const format = '{{with index .IPAM.Config 0}}{{.Gateway}}|{{.Subnet}}{{end}}'
  const { stdout } = await docker('network', 'inspect', '--format', format, network)
  const [gateway, subnet = ''] = stdout.split('|')
  const address = gateway || subnet.replace(/\d+\/\d+$/, '1')
  if (!/^\d+(\.\d+){3}$/.test(address)) throw new Error(`no address of this machine on the network ${network}`)
  return address
}

/** The address by which containers of the default bridge reach this machine: a private one. */
export const gateway = () => addressOn('bridge')

/** Makes a bridge network, so that this machine has one more address. */
export async function addressOfOurs(subnet: string, ...more: string[]) {
  const name = `forklift-e2e-${crypto.randomUUID().slice(0, 8)}`
  const made = await docker('network', 'create', '--label', 'forklift-e2e', '--subnet', subnet, ...more, name)
  if (made.code !== 0) throw new Error(made.stderr)
  return { name, address: await addressOn(name), remove: () => docker('network', 'rm', name) }
}

/** The container's processes, as seen from this machine: only root may look into them. */
export async function processesIn(name: string) {
  const { stdout } = await docker('top', name, '-eo', 'pid,uid,args')
  return stdout
    .split('\n')
    .slice(1)
    .map(line => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
    .map(([, pid = '', uid = '', command = '']) => ({ pid: Number(pid), uid: Number(uid), command }))
}

export type BoxOptions = {
  scene: Scene
  script: Script
  /** The owner of both mounted folders. */
  owner?: [number, number]
  /** The folder in which both mounted folders are made. */
  root?: string
  /** Additional flags of docker run. */
  flags?: string[]
  /** Replaces the capabilities that the container gets to lock itself (CAPABILITIES), for example to leave one out. */
  capabilities?: string[]
  env?: Record<string, string>
  beforeStart?: (box: { workspace: string; state: string }) => unknown
  whileRunning?: (box: { name: string; workspace: string; state: string }) => Promise<unknown>
}

export const CAPABILITIES = ['NET_ADMIN', 'SETUID', 'SETGID', 'SETPCAP']

export async function box(options: BoxOptions) {
  const { scene, script, owner = [1000, 1000], flags = [], capabilities = CAPABILITIES } = options
  const { folder, workspace, state, branch, upstream } = setScene(options.root ?? root, scene)
  for (const folder of [workspace, state]) {
    chownSync(folder, ...owner)
    for (const entry of readdirSync(folder, { recursive: true })) chownSync(join(folder, String(entry)), ...owner)
  }
  options.beforeStart?.({ workspace, state })
  const model = startModel(await gateway(), script)
  const name = `forklift-e2e-${crypto.randomUUID()}`
  const command = [
    ...[
      'docker',
      'run',
      '--rm',
      '--stop-timeout',
      '10',
      '--pull',
      'never',
      '--name',
      name,
      '--label',
      `forklift=${name}`,
    ],
    ...['--log-driver', 'none', '--read-only', '--tmpfs', '/tmp:exec,mode=1777,size=512m', '--cap-drop', 'ALL'],
    ...capabilities.flatMap(capability => ['--cap-add', capability]),
    ...['--security-opt', 'no-new-privileges', '--pids-limit', '512', '--memory', '4g'],
    ...['--mount', `type=bind,source=${workspace},target=/workspace`],
    ...['--mount', `type=bind,source=${state},target=/harness-state`],
    ...['API_KEY', 'MODEL', 'VARIANT', 'AGENT', 'BASE_URL'].flatMap(setting => ['--env', `OPENCODE_${setting}`]),
    ...flags,
    IMAGE,
  ]
  const env = {
    ...process.env,
    OPENCODE_API_KEY: KEY,
    OPENCODE_MODEL: 'test-model',
    OPENCODE_VARIANT: 'high',
    OPENCODE_AGENT: 'build',
    OPENCODE_BASE_URL: model.url,
    ...options.env,
  }
  const began = performance.now()
  const child = Bun.spawn(command, { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const output = Promise.all([child.stdout.text(), child.stderr.text()])
  try {
    await options.whileRunning?.({ name, workspace, state })
    const code = await child.exited
    const [stdout, stderr] = await output
    const read = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
    return {
      name,
      code,
      log: stdout + stderr,
      seconds: (performance.now() - began) / 1000,
      merged: isMerged(workspace, branch, upstream),
      stuck: read(join(workspace, 'STUCK.md')),
      events: read(join(state, 'logs/events.jsonl')),
      harnessLog: read(join(state, 'logs/harness.log')),
      requests: model.requests,
      toolResults: model.toolResults(),
      folder,
      workspace,
      state,
    }
  } finally {
    model.stop()
    await docker('rm', '--force', name)
  }
}

export type Boxed = Awaited<ReturnType<typeof box>>

/** The proxy's report of each request. */
export const reports = (result: Boxed) =>
  result.log
    .split('\n')
    .filter(line => line.startsWith('{"forklift":"request"'))
    .map(line => JSON.parse(line) as { ms: number; status: number; input: number | null; output: number | null })

export function expectCode(result: Boxed, code: number): void {
  if (result.code === code) return
  throw new Error(`exit ${result.code} instead of ${code}:\n${result.log}\n${result.harnessLog.slice(-3000)}`)
}

export async function appears(path: string, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1000
  while (!existsSync(path)) {
    if (Date.now() > end) throw new Error(`${path} did not appear in ${seconds} s`)
    await Bun.sleep(50)
  }
}
