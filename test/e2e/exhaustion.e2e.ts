// Resources that the whole host shares, which an agent could try to use up.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { AGENT_USER } from '../../core/container.ts'
import { clean } from '../harness/scene.ts'
import { box, docker, expectCode, IMAGE, removeBoxes } from './box.ts'
import { bash } from './model.ts'

afterAll(removeBoxes)

const python = (code: string) => `python3 - <<'PY'\n${code}\nPY`
const CONNTRACK = '/proc/sys/net/netfilter/nf_conntrack_count'
const tracked = () => Number(readFileSync(CONNTRACK, 'utf8'))

/** Sends datagrams and opens connections to as many addresses of a documentation network as it can. */
const FLOOD = python(`
import socket, time
end = time.time() + 8
sent = failed = 0
udp = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
tcp = []
while time.time() < end and sent < 30000:
    at = '198.51.100.%d' % (sent % 250 + 1)
    port = 1000 + sent // 250
    try: udp[sent % 4].sendto(b'x', (at, port))
    except OSError: failed += 1
    one = socket.socket(); one.setblocking(False)
    one.connect_ex((at, port))
    tcp.append(one)
    if len(tcp) > 500: tcp.pop(0).close()
    sent += 1
print('sent', sent, 'failed', failed > 0)`)

describe.skipIf(!existsSync(CONNTRACK))('the table of connections of the host', () => {
  test('is not filled by an agent that opens as many as it can, and the agent can go on afterwards', async () => {
    const before = tracked()
    const unlocked = await docker('run', '--rm', '--entrypoint', 'bash', IMAGE, '-c', FLOOD.replace('30000', '8000'))
    expect(unlocked.stdout).toBe('sent 8000 failed False')
    const without = tracked() - before
    expect(without).toBeGreaterThan(12_000)

    const since = tracked()
    let most = 0
    const result = await box({
      scene: { ...clean, seconds: 180 },
      script: [{ calls: [bash(FLOOD)] }, { calls: [bash('getent hosts localhost; echo after')] }, { say: 'Done.' }],
      whileRunning: async ({ name }) => {
        for (let look = 0; look < 60; look++) {
          most = Math.max(most, tracked() - since)
          if ((await docker('inspect', '--format', '{{.State.Running}}', name)).stdout !== 'true' && look > 10) break
          await Bun.sleep(250)
        }
      },
    })
    expectCode(result, 0)
    expect(result.toolResults[0]).toContain('failed True')
    expect(result.toolResults[1]).toContain('after')
    // Eight seconds at the rate limit, plus the allowed burst, are 1,300 tracked connections of UDP and as many of TCP.
    expect(most).toBeLessThan(4000)
  })
})

describe('what the kernel counts by user', () => {
  test('is not taken from a person by an agent of Forklift as root: watches, pipes, keys', async () => {
    const take = python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print('watches', sum(libc.inotify_init1(0) >= 0 for _ in range(1000)))
print('key', libc.syscall(248 if os.uname().machine == 'x86_64' else 217, b'user', b'mine', b'x', 1, -4))
open('/workspace/taken', 'w').close()
import time
while not os.path.exists('/workspace/seen'): time.sleep(0.1)`)
    const mine = `import ctypes, os
os.setgid(1000); os.setuid(1000)
libc = ctypes.CDLL(None)
print(sum(libc.inotify_init1(0) >= 0 for _ in range(64)))`
    let left = ''
    const result = await box({
      scene: { ...clean, seconds: 180 },
      owner: [AGENT_USER, AGENT_USER],
      script: [{ calls: [bash(take)] }, { say: 'Done.' }],
      whileRunning: async ({ workspace }) => {
        while (!existsSync(`${workspace}/taken`)) await Bun.sleep(50)
        left = (await docker('run', '--rm', '--entrypoint', 'python3', IMAGE, '-c', mine)).stdout
        await Bun.write(`${workspace}/seen`, '')
      },
    })
    expectCode(result, 0)
    expect(result.toolResults[0]).toMatch(/^watches \d{2,3}\nkey -1/)
    expect(left).toBe('64')
  })

  test('has a bound for every agent, so that a person has more: files, signals, queues; nothing is written down', async () => {
    const commands = ['ulimit -Hn; ulimit -Hi; ulimit -Hq; cat /proc/self/limits | grep core', 'id --user --name']
    const result = await box({
      scene: { ...clean, seconds: 180 },
      owner: [AGENT_USER, AGENT_USER],
      script: [...commands.map(command => ({ calls: [bash(command)] })), { say: 'Done.' }],
    })
    expectCode(result, 0)
    expect(result.toolResults[0]).toMatch(/^4096\n2048\n262144\nMax core file size +1 +1 +bytes/)
    expect(result.toolResults[1]?.trim()).toBe('agent')
  })

  test('no protocol is spoken whose module the kernel of the host would have to load', async () => {
    const open = python(`
import socket
for kind in [(2, 1, 132), (2, 2, 33), (2, 1, 262), (16, 3, 12), (16, 3, 4), (38, 5, 0), (21, 5, 0)]:
    try: socket.socket(*kind); print('open', kind)
    except OSError as error: print('closed')
for kind in [(1, 1, 0), (2, 1, 0), (2, 2, 17), (16, 3, 0)]: socket.socket(*kind)
print('usual')`)
    const result = await box({
      scene: { ...clean, seconds: 180 },
      script: [{ calls: [bash(open)] }, { say: 'Done.' }],
      flags: ['--security-opt', 'seccomp=unconfined'],
    })
    expectCode(result, 0)
    expect(result.toolResults[0]?.trim().split('\n')).toEqual([...Array(7).fill('closed'), 'usual'])
  })
})
