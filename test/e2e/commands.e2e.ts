/** Commands for the AI in a real container: they see the files and nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { commandTool, switchCommands } from '../../forge/ai/commands.ts'
import type { ToolResult } from '../../forge/ai/tool.ts'
import { WorkInProgressVfs } from '../../forge/vfs.ts'
import { roomOf } from '../forge/ai/room.ts'
import { commit } from '../support/git.ts'
import { makePlace, type Place } from '../support/repository.ts'
import { docker, gateway } from './box.ts'

const never = new AbortController().signal
let place: Place
let state: string
let vfs: WorkInProgressVfs

beforeAll(async () => {
  place = await makePlace()
  state = join(place.folder, 'state')
  await Bun.write(join(state, 'x'), '')
  await switchCommands(state, true)
  vfs = new WorkInProgressVfs(place.objects, await commit(place.path, 'main', { 'a.txt': 'hello\n', 'src/b.ts': 'b' }))
})
afterAll(() => place[Symbol.asyncDispose]())

const run = (command: string, more: object = {}): Promise<ToolResult> =>
  commandTool(state).run({ command, ...more }, roomOf(vfs, never))

test('a command sees the files, and its changes come back', async () => {
  const { text, isError, touched } = await run(
    'cat a.txt; ls -A; echo more >> a.txt; printf "#!/bin/sh\\n" > run; chmod 755 run',
    {
      keep_changes: ['a.txt', 'run'],
    },
  )
  expect([isError, text]).toEqual([false, expect.stringContaining('hello\na.txt\nsrc')])
  expect(touched).toEqual(['a.txt', 'run'])
  expect((await vfs.readFile('a.txt')).toString()).toBe('hello\nmore\n')
  expect((await vfs.listFiles('')).find(it => it.path === 'run')?.mode).toBe('100755')
})

test('a command has no network, not even to this machine', async () => {
  const server = Bun.serve({ hostname: await gateway(), port: 0, fetch: () => new Response('reached') })
  try {
    const { text } = await run(
      `ls /sys/class/net; curl --silent --max-time 5 ${server.url}; echo "curl $?"; getent hosts example.com; echo "name $?"`,
    )
    expect(text).toContain('output:\nlo\ncurl 7\nname 2')
  } finally {
    await server.stop(true)
  }
})

test('a command runs as an unprivileged user without capabilities, and can write only the files and /tmp', async () => {
  const { text } = await run(
    'grep -E "^(Cap|NoNewPrivs|Uid)" /proc/self/status; touch /x /etc/x /opt/x 2>/dev/null; ls /x /etc/x /opt/x 2>/dev/null; touch /tmp/x && echo tmp; ls /harness-state 2>&1; env',
  )
  expect(text).not.toMatch(/^Uid:\s+0/m)
  expect(text.match(/^Cap\w+:\s+0+$/gm)).toHaveLength(5)
  expect(text).toMatch(/^NoNewPrivs:\s+1$/m)
  expect(text).not.toMatch(/^\/(x|etc|opt)/m)
  expect(text).toMatch(/^tmp$/m)
  expect(text).not.toMatch(/API_KEY|DOCKER_HOST/)
})

test('a command is stopped at its time limit, with all that it started, and nothing is left', async () => {
  const begun = performance.now()
  const { text } = await run('trap "" TERM; (trap "" TERM; sleep 1000) & echo begun; sleep 1000', { seconds: 2 })
  expect(text).toContain('It was stopped after 2 seconds.\nIts output:\nbegun')
  expect(performance.now() - begun).toBeLessThan(30_000)
  expect((await docker('ps', '--all', '--quiet', '--filter', 'name=forge-command-')).stdout).toBe('')
})

test('memory has a bound', async () => {
  const eating = 'head -c 6000000000 /dev/zero | tail -c 5900000000 >/dev/null'
  const { text } = await run(`set -o pipefail; ${eating}; echo "ended with $?"`, { seconds: 60 })
  expect(text).toMatch(/ended with 137/)
})
