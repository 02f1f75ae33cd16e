/** The example repository. */
import { expect, test } from 'bun:test'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { branchesOf, git, PLAIN } from '../../support/git.ts'
import { makeFolder } from '../../support/repository.ts'

const SCRIPT = join(import.meta.dir, '../../../forge/desk/example.ts')

async function run(state: string, path = process.env.PATH) {
  const env = { ...PLAIN, PATH: path, HOME: state, XDG_STATE_HOME: state }
  const child = Bun.spawn([SCRIPT], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { out: out.trim(), err, code }
}

test('it has branches, a merge and files of all kinds, and a second call leaves it as it is', async () => {
  await using folder = await makeFolder()
  const first = await run(folder.path)
  expect([first.code, first.out]).toEqual([0, join(folder.path, 'forge/example/tides')])
  expect(first.err).toContain(`in ${first.out}: it stays until you remove it.`)
  expect(await branchesOf(first.out)).toEqual(['faster', 'main', 'next-high-water', 'web'])
  expect(await git(first.out, 'rev-list', '--merges', '--count', 'main')).toBe('1')
  expect(await git(first.out, 'status', '--porcelain')).toBe('')
  const modes = (await git(first.out, 'ls-tree', '-r', '--format=%(objectmode)', 'main')).split('\n')
  expect([...new Set(modes)].sort()).toEqual(['100644', '100755', '120000'])
  await git(first.out, '-c', 'user.name=A', '-c', 'user.email=a@b', 'commit', '--quiet', '--allow-empty', '-m', 'Mine')
  const mine = await git(first.out, 'rev-parse', 'main')
  expect(await run(folder.path)).toEqual({ code: 0, out: first.out, err: '' })
  expect(await git(first.out, 'rev-parse', 'main')).toBe(mine)
})

test('a failed creation leaves nothing behind, and the next one succeeds', async () => {
  await using folder = await makeFolder()
  const script = `#!/bin/sh\n[ "$1" = fast-import ] && exit 1\nexec ${Bun.which('git')} "$@"\n`
  await writeFile(join(folder.path, 'git'), script, { mode: 0o755 })
  expect((await run(folder.path, `${folder.path}:${process.env.PATH}`)).code).not.toBe(0)
  expect(await readdir(join(folder.path, 'forge/example'))).toEqual([])
  expect((await run(folder.path)).code).toBe(0)
  expect(await readdir(join(folder.path, 'forge/example'))).toEqual(['tides'])
})
