/** Git LFS: the files of upstream's commits are on origin before the branch is pushed. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expectExit, makeWorld } from '../support/world.ts'

const pointer = (digit: string): string =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${digit.repeat(64)}\nsize 1000\n`
const files = {
  upstream: { '.gitattributes': '*.psd filter=lfs diff=lfs merge=lfs -text\n', 'art.psd': pointer('a') },
}

/** The container has no git-lfs, unlike this machine: pointers stay pointers there. */
const merge = 'export GIT_CONFIG_NOSYSTEM=1; good'

test('upstream keeps files in Git LFS and git-lfs is missing: told before the agent is paid for', async () => {
  await using world = await makeWorld({ story: 'clean', files })
  await world.tool('git-lfs', 'exit 127')
  const run = await world.run()
  expectExit(run, 1)
  expect(run.last).toContain('install')
  expect(run.last).toContain('git-lfs')
  expect(await world.agentRuns()).toBe(0)
})

test('large files go to origin before the branch does, those of every new commit', async () => {
  await using world = await makeWorld({ story: 'clean', files })
  const first = await world.tip('upstream')
  await world.push('upstream', { 'art.psd': pointer('b') }, { message: 'Draw it again' })
  const newest = await world.tip('upstream')
  const log = join(world.root, 'lfs.log')
  await world.agent(merge)
  await world.tool(
    'git-lfs',
    `[[ $1 == version ]] || echo "$(git ls-remote origin 'refs/heads/forklift/*' | wc -l) $*" >>'${log}'`,
  )
  expectExit(await world.run(), 0)
  const [fetched = '', pushed = ''] = (await readFile(log, 'utf8')).split('\n')
  expect(fetched).toStartWith(`0 fetch upstream ${newest} `)
  expect(fetched).toContain(first ?? 'nothing')
  expect(pushed).toBe(`0 push origin ${newest}`)
})

test('large files that do not reach origin keep the branch back, and the next run tries again without an agent', async () => {
  await using world = await makeWorld({ story: 'clean', files })
  await world.agent(merge)
  await world.tool('git-lfs', '[[ $1 != push ]] || { echo "batch response: over quota" >&2; exit 2; }')
  const failed = await world.run()
  expectExit(failed, 1)
  expect(failed.last).toContain('over quota')
  expect(await world.branches()).toEqual([])
  await world.tool('git-lfs', 'exit 0')
  expectExit(await world.run(), 0)
  expect(await world.branches()).toHaveLength(1)
  expect(await world.agentRuns()).toBe(1)
})
