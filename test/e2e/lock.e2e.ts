// The lock of a container (the restrictions that it sets up before the agent starts): which user the agent is, what it
// can reach, and that no agent starts where the lock fails.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { clean } from '../harness/scene.ts'
import { addressOfOurs, appears, box, CAPABILITIES, expectCode, IMAGE, processesIn, removeBoxes } from './box.ts'
import { bash } from './model.ts'

const tools = mkdtempSync(join(tmpdir(), 'forklift-sabotage-'))
let internet: Awaited<ReturnType<typeof addressOfOurs>>

beforeAll(async () => {
  internet = await addressOfOurs('203.0.113.0/28')
  for (const program of ['/usr/sbin/nft', '/usr/bin/node']) {
    const cat = Bun.spawn(['docker', 'run', '--rm', '--entrypoint', 'cat', IMAGE, program], { stdout: 'pipe' })
    writeFileSync(join(tools, basename(program)), await cat.stdout.bytes(), { mode: 0o755 })
  }
})
afterAll(async () => {
  await internet.remove()
  removeBoxes()
  rmSync(tools, { recursive: true, force: true })
})

const asking = (...commands: string[]) => [...commands.map(command => ({ calls: [bash(command)] })), { say: 'Done.' }]

describe('the agent', () => {
  const owners: Record<string, [number, number]> = {
    'is the owner of the workspace': [1000, 1000],
    'is the owner of the workspace, whom the image does not know': [1001, 1002],
    'does not get the group of root': [1003, 0],
  }
  for (const [name, owner] of Object.entries(owners)) {
    test(name, async () => {
      const script = asking('id --user; id --group; id --groups; umask; git log -1 --format=%an')
      const result = await box({ scene: { ...clean, seconds: 60 }, script, owner })
      expectCode(result, 0)
      const group = owner[1] || owner[0]
      expect(result.toolResults[0]?.split('\n').slice(0, 3)).toEqual([`${owner[0]}`, `${group}`, `${group}`])
      expect(result.merged).toBe(true)
      expect(readdirSync(result.state).sort()).toEqual(['instructions.txt', 'logs', 'run.txt'])
    })
  }

  test("is 1000 where the mounts look like root's, and git trusts the workspace all the same", async () => {
    const openToAll = (folder: string) => {
      for (const entry of ['.', ...readdirSync(folder, { recursive: true })]) {
        const path = join(folder, String(entry))
        chmodSync(path, statSync(path).isDirectory() ? 0o777 : 0o666)
      }
    }
    const result = await box({
      scene: { ...clean, seconds: 60 },
      script: asking('id --user; id --group'),
      owner: [0, 0],
      beforeStart: ({ workspace, state }) => [workspace, state].forEach(openToAll),
    })
    expectCode(result, 0)
    expect(result.toolResults[0]?.trim()).toBe('1000\n1000')
    expect(result.merged).toBe(true)
  })

  test('reaches the internet, its own loopback and the tools it needs', async () => {
    let hits = 0
    const server = Bun.serve({ hostname: internet.address, port: 0, fetch: () => new Response(`hit ${++hits}`) })
    const result = await box({
      scene: { ...clean, seconds: 90 },
      script: asking(
        `curl --silent --max-time 5 http://${internet.address}:${server.port}/`,
        'python3 -m http.server --bind 127.0.0.1 4567 >/dev/null 2>&1 & sleep 1; curl --silent --max-time 5 --output /dev/null --write-out %{http_code} http://127.0.0.1:4567/',
        'for tool in git gcc cmake make pkg-config python3 pip curl wget unzip openssl jq rg fd tree n bun git-lfs; do command -v $tool >/dev/null || echo missing $tool; done; echo int main\\(\\){} >x.c && gcc x.c -o /tmp/x && /tmp/x && echo built',
      ),
    })
    server.stop(true)
    expectCode(result, 0)
    expect(result.toolResults.map(text => text.trim())).toEqual(['hit 1', '200', 'built'])
  })

  test("meets our own filter, not only the engine's: no vsock, no io_uring", async () => {
    const calls = [
      'import ctypes, errno, os, socket, sys',
      'libc = ctypes.CDLL(None, use_errno=True)',
      'print(libc.syscall(425, 1, 0), errno.errorcode[ctypes.get_errno()])',
      'print(libc.socket(40, 1, 0), errno.errorcode[ctypes.get_errno()])',
      "print(open('/proc/self/status').read().count('Seccomp_filters:\\t1'))",
    ]
    const result = await box({
      scene: { ...clean, seconds: 60 },
      script: asking(`python3 -c "${calls.join('\n')}"`),
      flags: ['--security-opt', 'seccomp=unconfined'],
    })
    expectCode(result, 0)
    expect(result.toolResults[0]?.trim()).toBe('-1 ENOSYS\n-1 EAFNOSUPPORT\n1')
  })

  test("is told at once that an address is forbidden: the cloud's metadata, link-local, multicast", async () => {
    const addresses = ['169.254.169.254', '169.254.1.1', '224.0.0.1', '100.64.0.1', '192.168.1.1', '255.255.255.255']
    const result = await box({
      scene: { ...clean, seconds: 60 },
      script: asking(addresses.map(address => `echo >/dev/udp/${address}/80 && echo open || echo closed`).join('; ')),
    })
    expect([...(result.toolResults[0]?.match(/^(open|closed)$/gm) ?? [])]).toEqual(addresses.map(() => 'closed'))
  })
})

// Only root can look into another user's processes.
describe.skipIf(process.getuid?.() !== 0)('while the agent works', () => {
  type Process = Awaited<ReturnType<typeof processesIn>>[0] & {
    cwd: string
    files: Map<string, string>
    status: string
    owner: number
  }
  let seen: Process[] = []
  let limits = ''

  beforeAll(async () => {
    const of = (pid: number, file: string) => `/proc/${pid}/${file}`
    const filesOf = (pid: number) =>
      readdirSync(of(pid, 'fd')).map(fd => [fd, readlinkSync(of(pid, `fd/${fd}`))] as const)
    const look = async (name: string) => {
      seen = (await processesIn(name)).flatMap(it => {
        try {
          const [cwd, files] = [readlinkSync(of(it.pid, 'cwd')), new Map(filesOf(it.pid))]
          const status = readFileSync(of(it.pid, 'status'), 'utf8')
          return { ...it, cwd, files, status, owner: statSync(of(it.pid, 'environ')).uid }
        } catch (error) {
          // Skips a process of the agent's that has just ended.
          if (it.uid === 1000 && (error as NodeJS.ErrnoException).code === 'ENOENT') return []
          throw error
        }
      })
      limits = readFileSync(of(seen.find(it => it.command.includes('proxy.mjs'))?.pid ?? 0, 'limits'), 'utf8')
    }
    const result = await box({
      scene: { ...clean, seconds: 60 },
      script: asking('touch started; until [ -e seen ]; do sleep 0.1; done'),
      whileRunning: async ({ name, workspace }) => {
        await appears(join(workspace, 'started'))
        await look(name)
        writeFileSync(join(workspace, 'seen'), '')
      },
    })
    expectCode(result, 0)
  })

  test("no process that it could touch holds the container's own input, output or error", () => {
    const first = seen.find(it => it.command.includes('entry.sh'))
    const outputs = ['1', '2'].map(fd => first?.files.get(fd) ?? '')
    expect(outputs.filter(it => /^(pipe|socket):/.test(it))).toHaveLength(2)
    const touchable = seen.filter(it => it.uid === 1000)
    expect(touchable.some(it => it.command.includes('read -r agent'))).toBe(true)
    for (const { command, files } of touchable) {
      const held = [...files.values()].filter(it => outputs.includes(it))
      expect([command, held]).toEqual([command, []])
    }
  })

  test('what guards it is neither root nor the agent, has no capability, and cannot be looked into', () => {
    const keepers = seen.filter(it => /(proxy|disk-watch)\.mjs/.test(it.command))
    expect(keepers.map(it => it.uid)).toEqual([2_100_000_000, 2_100_000_000])
    for (const { status, owner } of keepers) {
      expect(status.match(/^Cap(Inh|Prm|Eff|Bnd|Amb):\s+0+$/gm)).toHaveLength(5)
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
      expect(owner).toBe(0) // for a process that can be looked into, the owner is its own user
    }
    expect(limits).toMatch(/^Max core file size\s+0\s+0\s/m)
  })

  test('the process that ends the agent is locked in like it, as the agent may take it over', () => {
    const filtersOf = (command: string) =>
      /^Seccomp_filters:\s+(\d+)$/m.exec(
        seen.find(it => it.uid === 1000 && it.command.includes(command))?.status ?? '',
      )?.[1]
    expect(filtersOf('read -r agent')).toMatch(/^\d+$/)
    expect(filtersOf('read -r agent')).toBe(filtersOf('run.sh'))
  })

  test('nothing but it stands in the workspace', () => {
    const others = seen.filter(it => it.uid !== 1000)
    expect(others.map(it => it.cwd)).toEqual(others.map(() => '/'))
  })
})

describe('IPv6', () => {
  test('reaches the internet, and neither the networks of the host nor what stands for private IPv4', async () => {
    const ours = await addressOfOurs('10.213.78.0/28', '--ipv6', '--subnet', '2001:db8:77::/64')
    const server = Bun.serve({ hostname: '::', port: 0, fetch: () => new Response('reached') })
    const ask = (host: string) => `curl --silent --max-time 2 http://[${host}]:${server.port}/ || echo no`
    const hosts = ['2001:db8:77::1', '2001:db8:77::7', '64:ff9b::a00:1', 'fd12::1', '::ffff:10.213.78.1']
    const run = async (moreFacts: string, script: string) => {
      const scene = { ...clean, seconds: 60, moreFacts }
      const result = await box({ scene, script: asking(script), flags: ['--network', ours.name] })
      expectCode(result, 0)
      return result.toolResults[0]?.trim().split('\n')
    }
    try {
      const [open, closed] = await Promise.all([
        run('', ask('2001:db8:77::1')),
        run('reject=2001:db8:77::1/64\n', hosts.map(ask).join('; ')),
      ])
      expect(open).toEqual(['reached'])
      expect(closed).toEqual(hosts.map(() => 'no'))
    } finally {
      server.stop(true)
      await ours.remove()
    }
  })
})

describe('no agent starts', () => {
  const sabotage = (name: string, change: string) => {
    const path = join(tools, name)
    writeFileSync(path, `#!/bin/bash\nif [[ $1 == -f ]]; then ${change}; fi\nexec /sabotage/nft "$@"\n`, {
      mode: 0o755,
    })
    return [
      ...['--mount', `type=bind,source=${tools},target=/sabotage,readonly`],
      ...['--mount', `type=bind,source=${path},target=/usr/sbin/nft,readonly`],
    ]
  }
  const without = (capability: string) => ({ capabilities: CAPABILITIES.filter(name => name !== capability) })
  const edited = (name: string, expression: string) => ({
    flags: sabotage(name, `sed '${expression}' | exec /sabotage/nft -f -; exit`),
  })
  const broken: Record<string, [object, string]> = {
    'without the right to raise the firewall': [without('NET_ADMIN'), 'the firewall cannot be raised'],
    'when the agent would keep capabilities': [without('SETPCAP'), 'the agent would keep capabilities'],
    'when it would stay root': [without('SETUID'), 'cannot become the unprivileged user'],
    'when it would stay in the group of root': [without('SETGID'), 'cannot become the unprivileged user'],
    'when the rules are not loaded': [{ flags: sabotage('none', 'exit 0') }, 'the firewall does not hold'],
    'when private addresses are not rejected': [edited('v4', '/ip daddr {/,/reject$/d'), 'the firewall does not hold'],
    'when one range is missing': [edited('range', 's|169.254.0.0/16, ||'), '169.254.169.254'],
    'when only UDP is rejected': [edited('udp', 's|} reject|} meta l4proto udp reject|'), 'answered'],
    "when an address of the host's own is not rejected": [edited('own', '/203.0.113.1.28 reject/d'), '203.0.113.1'],
    "when a neighbour of the host's is not rejected": [
      edited('alone', 's|\\(203.0.113.1\\)/28 reject|\\1 reject|'),
      '203.0.113.0',
    ],
    'when the agent could remove the firewall': [
      { flags: sabotage('removable', '').with(-1, `type=bind,source=${join(tools, 'true')},target=/usr/sbin/nft`) },
      'the agent could remove the firewall',
    ],
    'without the facts of the run': [{ scene: { ...clean, runFile: 'seconds=x\n' } }, 'run.txt'],
    'with a network in them that is none': [{ scene: { ...clean, moreFacts: 'reject=$(id)/24\n' } }, 'is no network'],
    'with a network in them that is the internet': [
      { scene: { ...clean, moreFacts: 'reject=2.0.0.1/7\n' } },
      'is no network',
    ],
    'for an owner of the workspace who keeps the key': [{ owner: [2_100_000_000, 1000] }, 'who keeps the key'],
    'when what holds the key could be looked into': [
      { flags: ['--mount', `type=bind,source=${join(tools, 'node')},target=/opt/forklift/node,readonly`] },
      'could be looked into',
    ],
    'without a key': [{ env: { OPENCODE_API_KEY: '' } }, 'OPENCODE_API_KEY'],
    'with a model that is nowhere': [{ env: { OPENCODE_BASE_URL: 'ftp://x' } }, 'OPENCODE_BASE_URL'],
  }
  writeFileSync(join(tools, 'true'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  for (const [name, [change, sentence]] of Object.entries(broken)) {
    test(name, async () => {
      const scene = { ...clean, seconds: 60, moreFacts: 'reject=203.0.113.1/28\n' }
      const result = await box({ scene, script: asking('true'), ...change })
      expectCode(result, 5)
      expect(result.log).toContain(sentence)
      expect(result.requests).toEqual([])
      expect(result.harnessLog).toBe('')
    })
  }

  test('for the name of an agent that OpenCode does not have', async () => {
    const env = { OPENCODE_AGENT: 'nosuch' }
    const result = await box({ scene: { ...clean, seconds: 60 }, script: asking('true'), env })
    expectCode(result, 5)
    expect(result.harnessLog).toMatch(/knows no primary agent 'nosuch': set OPENCODE_AGENT to one of build .*\bplan\b/)
    expect(result.requests).toEqual([])
  })
})
