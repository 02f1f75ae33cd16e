/** The first thing a newcomer does. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exists, PROJECT } from '../support/world.ts'

setDefaultTimeout(60_000)

test('make demo brings a fork to a question without docker, key or GitHub, says what is a stand-in, and what to do next', async () => {
  const place = await mkdtemp(join(tmpdir(), 'forklift-demo-test-'))
  try {
    const child = Bun.spawn([join(PROJECT, 'test/demo.sh')], {
      cwd: place,
      env: { PATH: process.env.PATH, HOME: place, TMPDIR: place, GIT_DIR: '/nonexistent', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/Stand-ins: +docker/)
    expect(stdout).toContain('- `goodbye.sh`: your fork says "Fair winds", and upstream now says "See you soon".')
    expect(stdout).toContain('The agent is stuck: answer')
    expect(stdout).not.toContain('\u001b')
    // Everything is in one folder, which the last lines name.
    const [demo = '', ...others] = (await readdir(place)).filter(name => name.startsWith('forklift-demo.'))
    expect(others).toEqual([])
    expect(stdout).toContain(`rm -rf ${join(place, demo)}`)
    expect(stdout).toContain(`make desk DEMO=${join(place, demo)}\n`)
    const run = /^ *(\/.*\/forklift\/runs\/my-fork_\d{8}_\d{6})$/m.exec(stdout)?.[1] ?? ''
    expect(await exists(join(run, 'metadata.json'))).toBe(true)
    expect(await readFile(join(run, 'harness-state/instructions.txt'), 'utf8')).toContain('greet.sh')
    expect(await readFile(join(run, 'harness-state/fork-context.md'), 'utf8')).toContain('pirate')
    expect(await readFile(join(run, 'harness-state/logs/transcript.txt'), 'utf8')).toContain(
      'goodbye.sh is a question of taste',
    )
  } finally {
    await rm(place, { recursive: true, force: true })
  }
})
