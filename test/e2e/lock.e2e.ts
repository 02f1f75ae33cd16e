// The lock of a container: who the agent is, what it reaches, and that no agent starts where the lock does not hold.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clean } from '../harness/scene.ts'
import { addressOfOurs, box, CAPABILITIES, expectCode, IMAGE, removeBoxes } from './box.ts'
import { bash } from './model.ts'

const tools = mkdtempSync(join(tmpdir(), 'forklift-sabotage-'))
let internet: Awaited<ReturnType<typeof addressOfOurs>>

beforeAll(async () => {
  internet = await addressOfOurs('203.0.113.0/28')
  const nft = Bun.spawn(['docker', 'run', '--rm', '--entrypoint', 'cat', IMAGE, '/usr/sbin/nft'], { stdout: 'pipe' })
  writeFileSync(join(tools, 'nft'), await nft.stdout.bytes(), { mode: 0o755 })
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
    "when an address of the host's own is not rejected": [edited('own', '/203.0.113.1 reject/d'), '203.0.113.1'],
    'when the agent could remove the firewall': [
      { flags: sabotage('removable', '').with(-1, `type=bind,source=${join(tools, 'true')},target=/usr/sbin/nft`) },
      'the agent could remove the firewall',
    ],
    'without the facts of the run': [{ scene: { ...clean, runFile: 'seconds=x\n' } }, 'run.txt'],
    'with an address in them that is none': [{ scene: { ...clean, moreFacts: 'reject=$(id)\n' } }, 'is no address'],
    'without a key': [{ env: { OPENCODE_API_KEY: '' } }, 'OPENCODE_API_KEY'],
    'with a model that is nowhere': [{ env: { OPENCODE_BASE_URL: 'ftp://x' } }, 'OPENCODE_BASE_URL'],
  }
  writeFileSync(join(tools, 'true'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  for (const [name, [change, sentence]] of Object.entries(broken)) {
    test(name, async () => {
      const scene = { ...clean, seconds: 60, moreFacts: 'reject=203.0.113.1\n' }
      const result = await box({ scene, script: asking('true'), ...change })
      expectCode(result, 5)
      expect(result.log).toContain(sentence)
      expect(result.requests).toEqual([])
      expect(result.harnessLog).toBe('')
    })
  }
})
