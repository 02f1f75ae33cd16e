/** `make demo`, as a newcomer runs it. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git } from '../support/git.ts'
import { exists, FORKLIFT, PROJECT, until } from '../support/world.ts'

setDefaultTimeout(60_000)

const STDIO: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']

/** The environment that the demo sets for its run, with a HOME and a time zone of this test. */
const environmentOf = async (demo: string) => ({
  PATH: `${join(demo, 'bin')}:${process.env.PATH}`,
  HOME: demo,
  TZ: 'UTC',
  XDG_STATE_HOME: join(demo, 'state'),
  FORKLIFT_OPENCODE_ENV: join(demo, 'config/forklift/opencode.env'),
  FORKLIFT_TEST_DOCKER: join(demo, 'docker'),
  FORKLIFT_TEST_AGENT: join(PROJECT, 'harness/run.sh'),
  GIT_CONFIG_GLOBAL: join(demo, 'config/gitconfig'),
  GIT_CONFIG_NOSYSTEM: '1',
  GITHUB_API_URL: await readFile(join(demo, 'github-address'), 'utf8'),
  GH_ENTERPRISE_TOKEN: 'ghp_0123456789abcdefSECRETSECRETSECRETS',
})

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
    // Its merge is not too large for one agent.
    expect(stdout).not.toContain('forge resolve')
    expect(stdout).not.toContain('\u001b')
    // Everything is in one folder, which the last lines of the demo name.
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
    // The question can also be answered in FORK.md, without a commit, with the same stand-ins.
    await rm(join(place, demo, 'github-ready'))
    const github = Bun.spawn(['bun', join(PROJECT, 'test/demo-github.ts'), join(place, demo)], { stdio: STDIO })
    try {
      await until('the stand-in for GitHub is there', () => exists(join(place, demo, 'github-ready')))
      await appendFile(join(place, demo, 'my-fork/FORK.md'), 'Goodbye stays "Fair winds".\n')
      const env = await environmentOf(join(place, demo))
      const again = Bun.spawn([FORKLIFT], { cwd: join(place, demo, 'my-fork'), env, stdio: STDIO })
      const [said, told, end] = await Promise.all([again.stdout.text(), again.stderr.text(), again.exited])
      expect([end, told]).toEqual([0, ''])
      expect(said).toContain('Pull request opened: http://127.0.0.1:')
      expect(await git(join(place, demo, 'my-fork'), 'status', '--short')).toBe(' M FORK.md')
    } finally {
      github.kill()
      await github.exited
    }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
})
