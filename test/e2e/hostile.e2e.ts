// An agent that tries to break out. Each attempt is first made in a container of the same image without the lock (the
// restrictions on the agent), where it must succeed: that shows that the attempt is real. Then OpenCode makes the
// attempt in a locked container, where it must fail.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { clean } from '../harness/scene.ts'
import { addressOfOurs, box, docker, expectCode, gateway, IMAGE, KEY, removeBoxes } from './box.ts'
import { bash } from './model.ts'

/** A pattern for the key that does not match itself. */
const KEY_PATTERN = '[s]k-live-k3y'
const python = (code: string) => `python3 - <<'PY'\n${code}\nPY`

const bridge = await gateway()
let neighbour: Awaited<ReturnType<typeof addressOfOurs>>
let internet: Awaited<ReturnType<typeof addressOfOurs>>
let publicHost: Awaited<ReturnType<typeof addressOfOurs>>
let publicNeighbour: Awaited<ReturnType<typeof addressOfOurs>>
const servers: { hits: number; url: string; stop: () => void }[] = []
let attempts: Record<string, string>

/** A server on this machine that counts its connections. */
function listen(hostname: string, answer = () => new Response('reached')) {
  const server = Bun.serve({
    hostname,
    port: 0,
    fetch() {
      listening.hits++
      return answer()
    },
  })
  const listening = { hits: 0, url: `http://${hostname}:${server.port}`, stop: () => server.stop(true) }
  servers.push(listening)
  return listening
}

beforeAll(async () => {
  neighbour = await addressOfOurs('10.213.77.0/28')
  internet = await addressOfOurs('203.0.113.0/28')
  // Two parts of one public network. The container is given an address of the first part, and has to reject both.
  publicHost = await addressOfOurs('198.51.100.0/29')
  publicNeighbour = await addressOfOurs('198.51.100.8/29')
  const onBridge = listen(bridge)
  const onNeighbour = listen(neighbour.address)
  const onPublicHost = listen(publicHost.address)
  const onPublicNeighbour = listen(publicNeighbour.address)
  const fetchFrom = (url: string) => `curl --silent --show-error --fail --max-time 5 ${url}`
  attempts = {
    'read the key in its environment': `printenv | grep '${KEY_PATTERN}'`,
    'read the key in the environment and arguments of every process': `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep '${KEY_PATTERN}'`,
    "read the key in the memory of root's processes": python(`
import glob, os, sys
for folder in glob.glob('/proc/[0-9]*'):
    if os.stat(folder).st_uid != 0 or folder == '/proc/%d' % os.getpid(): continue
    try:
        for line in open(folder + '/maps'):
            start, end = [int(n, 16) for n in line.split()[0].split('-')]
            if ' rw' not in line or end - start > 1 << 28: continue
            with open(folder + '/mem', 'rb', 0) as memory:
                memory.seek(start)
                if b'-'.join([b'sk', b'live', b'k3y']) in memory.read(end - start): sys.exit(0)
    except OSError as error: print(folder, error)
sys.exit(1)`),
    "look at the open files of root's processes": 'ls -l /proc/1/fd/0',
    'reach the gateway': fetchFrom(onBridge.url),
    'reach a private address': fetchFrom(onNeighbour.url),
    "reach a public address of the host's own": fetchFrom(onPublicHost.url),
    "reach a neighbour of the host's by a public address": fetchFrom(onPublicNeighbour.url),
    'ask the gateway as a name server': `echo >/dev/udp/${bridge}/53`,
    'open a packet socket': python('import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'),
    'open a raw socket': python('import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'),
    'remove the firewall': 'nft flush ruleset',
    'change the routes': python(`
import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack('16sH14s', b'lo', 0x49, b''))`),
    'push to the gateway': `git init -q /tmp/p && cd /tmp/p && git -c user.name=a -c user.email=a commit -q --allow-empty -m x && git push ${onBridge.url}/x.git HEAD:main; test $(curl -s --max-time 5 ${onBridge.url}) = reached`,
    'become root': 'setpriv --reuid 0 true',
    'gain a capability': 'setpriv --inh-caps=+net_admin --ambient-caps=+net_admin true',
    'make a user namespace': 'unshare --user --map-root-user --net true',
    'mount something': 'mount -t tmpfs none /mnt',
    'change the root folder': 'chroot / true',
    "signal root's processes": 'kill -0 1',
    'write a file beside the mounts': 'touch /outside',
    'write into the tools': 'touch /usr/bin/git',
    'write into the harness': 'echo exit >>/opt/forklift/harness/run.sh',
    'write into the home in the image': 'touch /home/forklift/x',
    'reserve the disk in one call, beyond the size of the file': python(`
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
file = open('/tmp/reserved', 'wb')
sys.exit(0 if libc.fallocate(file.fileno(), 1, ctypes.c_long(0), ctypes.c_long(1 << 20)) == 0 else 1)`),
    'reserve the disk by an ioctl': python(`
import fcntl, struct
fcntl.ioctl(open('/tmp/reserved', 'wb'), 0x40305828, struct.pack('hhqqiI4i', 0, 0, 0, 1 << 20, *[0] * 6))`),
    'make a file of three gigabytes': 'truncate --size 3G /tmp/sparse',
    'have its memory written down': 'ulimit -c unlimited',
    'fill the memory file system': 'head -c 700M /dev/zero >/tmp/fill',
    'start a thousand processes': python(`
import os, signal, sys
children = []
try:
    for _ in range(1000):
        child = os.fork()
        if child == 0: signal.pause()
        children.append(child)
    code = 0
except OSError as error:
    print(len(children), 'processes, then:', error); code = 1
for child in children: os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
sys.exit(code)`),
  }
})

afterAll(async () => {
  for (const server of servers) server.stop()
  for (const network of [neighbour, internet, publicHost, publicNeighbour]) await network.remove()
  removeBoxes()
})

const attempt = (name: string, command: string) =>
  `if { ${command}\n} 2>&1; then printf '\\nSUCCEEDED: %s\\n' "${name}"; else printf '\\nFAILED: %s\\n' "${name}"; fi`

describe('an agent that tries', () => {
  test('everything fails at everything, and all of it works without the lock', async () => {
    const unlocked = [
      'run',
      '--rm',
      ...['NET_ADMIN', 'SYS_ADMIN', 'SYS_PTRACE'].flatMap(capability => ['--cap-add', capability]),
      ...['--security-opt', 'seccomp=unconfined', '--security-opt', 'apparmor=unconfined', '--entrypoint', 'bash'],
    ]
    const everything = Object.entries(attempts).map(([name, command]) => attempt(name, command))
    const control = await docker(...unlocked, '--env', `OPENCODE_API_KEY=${KEY}`, IMAGE, '-c', everything.join('\n'))
    const succeeded = control.stdout.split('\n').filter(line => line.startsWith('SUCCEEDED: '))
    expect(succeeded).toEqual(Object.keys(attempts).map(name => `SUCCEEDED: ${name}`))
    const hitsWithout = servers.map(server => server.hits)
    expect(hitsWithout.every(hits => hits > 0)).toBe(true)

    const result = await box({
      scene: { ...clean, seconds: 180, moreFacts: `reject=${publicHost.address}/28\n` },
      script: [...everything.map(command => ({ calls: [bash(command)] })), { say: 'I tried.' }],
    })
    expectCode(result, 0)
    const outcomes = result.toolResults.map(text => text.trim().split('\n').at(-1))
    expect(outcomes).toEqual(Object.keys(attempts).map(name => `FAILED: ${name}`))
    expect(servers.map(server => server.hits)).toEqual(hitsWithout)
    expect(result.requests.every(request => request.authorization === `Bearer ${KEY}`)).toBe(true)
    expect(result.events + result.harnessLog + result.log).not.toContain(KEY)
  })
})
