/** The agent's workspace: a new repository, and two folders mounted into a container. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { git, tryGit } from '../support/git.ts'
import { expectExit, filesBelow, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** The workspace as the agent first sees it. */
async function firstLook(world: World): Promise<{ workspace: string; state: string }> {
  await world.agent(
    `mkdir "${world.root}/look"; cp --archive "$workspace" "${world.root}/look/workspace"; cp --archive "$state" "${world.root}/look/state"; good`,
  )
  expectExit(await world.run(), 0)
  return { workspace: world.path('look/workspace'), state: world.path('look/state') }
}

test('the workspace has the two branches, no remotes, and stands clean at the start', async () => {
  await using world = await makeWorld()
  const { workspace } = await firstLook(world)
  expect(await git(workspace, 'remote')).toBe('')
  expect(await git(workspace, 'for-each-ref', '--format=%(refname) %(objectname)')).toBe(
    `refs/heads/main ${await world.tip('origin')}\nrefs/remotes/upstream/main ${await world.tip('upstream')}`,
  )
  expect(await git(workspace, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main')
  expect(await git(workspace, 'status', '--porcelain')).toBe('')
  expect(await git(workspace, 'fsck', '--full', '--strict')).toBe('')
})

test('nothing of the user’s own branches, stashes or other remotes is in it', async () => {
  await using world = await makeWorld()
  await writeFile(join(world.checkout, 'secret.txt'), 'the secret of the stash\n')
  await world.git('add', 'secret.txt')
  await world.git('stash', '--quiet')
  const stash = await world.git('rev-parse', 'stash')
  await world.git('checkout', '--quiet', '-b', 'private')
  await world.git('commit', '--quiet', '--allow-empty', '--message', 'A private thought')
  const secret = await world.git('rev-parse', 'private')
  const other = await world.push('origin', { 'other.txt': 'other' }, { branch: 'other' })
  await world.git('fetch', '--quiet', 'origin')
  const { workspace } = await firstLook(world)
  for (const id of [stash, secret, other]) {
    expect((await tryGit(workspace, ['cat-file', '-e', id])).code).not.toBe(0)
  }
})

test('the tags on its history are there, others are not', async () => {
  await using world = await makeWorld()
  await world.git('fetch', '--quiet', 'upstream')
  await world.git('tag', 'v0.9', 'upstream/main^')
  await world.git('tag', 'elsewhere', await world.git('commit-tree', 'HEAD^{tree}', '-m', 'Elsewhere'))
  const { workspace } = await firstLook(world)
  const tags = (await git(workspace, 'tag')).split('\n')
  expect(tags).toContain('v0.9')
  expect(tags).not.toContain('elsewhere')
  expect(await git(workspace, 'describe', '--tags', 'upstream/main')).toMatch(/^v0\.9-1-g/)
})

test('no hard links into the user’s repository, and no alternates', async () => {
  await using world = await makeWorld()
  const { workspace } = await firstLook(world)
  const run = await world.lastRun()
  for (const file of await filesBelow(run.workspace)) expect((await lstat(file)).nlink).toBe(1)
  expect(
    await filesBelow(join(workspace, '.git/objects')).then(files => files.filter(file => file.includes('alternates'))),
  ).toEqual([])
})

test('no path, URL, name or address of the host or its user is in it', async () => {
  await using world = await makeWorld()
  const { workspace, state } = await firstLook(world)
  const words = [world.root, 'github.com', 'me/fork', 'them/project', 'Max Maintainer', 'max@fork.example', 'insteadOf']
  const files = [...(await filesBelow(join(workspace, '.git'))), ...(await filesBelow(state))]
  const names: string[] = []
  for (const file of files.filter(file => !file.endsWith('.pack') && !file.endsWith('.idx'))) {
    const text = await readFile(file, 'latin1')
    for (const word of words) if (text.includes(word)) names.push(`${file}: ${word}`)
    if (new RegExp(`\\b(${hostname()}|${userInfo().homedir}\\b)`).test(text)) names.push(file)
  }
  expect(names).toEqual([])
  const inside = await readdir(join(workspace, '.git'))
  for (const name of ['FETCH_HEAD', 'ORIG_HEAD', 'hooks', 'description']) expect(inside).not.toContain(name)
})

test('the configuration of user and system does not reach the checkout in it', async () => {
  await using world = await makeWorld()
  await world.git('config', '--global', 'core.autocrlf', 'true', { cwd: world.home })
  await world.git('config', '--global', 'init.templateDir', world.path('template'), { cwd: world.home })
  await writeFile(join(world.home, '.gitattributes'), '* text eol=crlf\n')
  await world.git('config', '--global', 'core.attributesFile', '~/.gitattributes', { cwd: world.home })
  const { workspace } = await firstLook(world)
  expect(await readFile(join(workspace, 'greeting.txt'), 'utf8')).toBe('hello from the fork\n')
  expect(await readFile(join(workspace, '.git/config'), 'utf8')).not.toMatch(/autocrlf|\[user|\[remote|\[url/)
})

test('the agent gets the checkout’s FORK.md, even an uncommitted one', async () => {
  await using world = await makeWorld()
  await writeFile(join(world.checkout, 'FORK.md'), 'Keep `both` $(greetings).\n')
  await world.agent(
    'git status --porcelain >"$state/status.txt"; cat FORK.md >"$state/read.txt"; echo x >STUCK.md; git status --porcelain >>"$state/status.txt"; rm STUCK.md; good',
  )
  expectExit(await world.run(), 0)
  const run = await world.lastRun()
  const read = (name: string) => readFile(join(run.state, name), 'utf8')
  expect(await read('fork-context.md')).toBe('Keep `both` $(greetings).\n')
  expect(await read('read.txt')).toBe('Keep `both` $(greetings).\n')
  expect(await read('status.txt')).toBe('')
  expect(await git(world.origin, 'ls-tree', '--name-only', world.pull.headSha)).not.toContain('FORK.md')
})

test('a committed FORK.md stays in the workspace as it is; the checkout’s own words are the context', async () => {
  await using world = await makeWorld({ forkMd: 'As committed.\n' })
  await writeFile(join(world.checkout, 'FORK.md'), 'As it is being written.\n')
  await world.agent('cat FORK.md >"$state/read.txt"; good')
  expectExit(await world.run(), 0)
  const run = await world.lastRun()
  expect(await readFile(join(run.state, 'fork-context.md'), 'utf8')).toBe('As it is being written.\n')
  expect(await readFile(join(run.state, 'read.txt'), 'utf8')).toBe('As committed.\n')
})

test('without FORK.md there is no context', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  expect(await readdir((await world.lastRun()).state)).not.toContain('fork-context.md')
})

test('a FORK.md that is a symbolic link is not followed, and a note says so', async () => {
  await using world = await makeWorld()
  await writeFile(world.path('private.txt'), 'the private words of the host\n')
  await symlink(world.path('private.txt'), join(world.checkout, 'FORK.md'))
  const run = await world.run()
  expectExit(run, 0)
  expect(run.stdout).toMatch(/Note: FORK\.md is no plain file/)
  const { path, state } = await world.lastRun()
  expect(await readdir(state)).not.toContain('fork-context.md')
  for (const file of await filesBelow(path)) {
    expect((await readFile(file, 'latin1')).includes('the private words of the host') && file).toBe(false)
  }
})

test('run.txt has the facts for the harness', async () => {
  await using world = await makeWorld({ branch: 'trunk', upstreamBranch: 'next' })
  expectExit(await world.run([], { env: { FORKLIFT_TIMEOUT_SECONDS: '90' } }), 0)
  const facts = (await readFile(join((await world.lastRun()).state, 'run.txt'), 'utf8')).split('\n')
  // The last facts are the networks that the host is in, which the container must reject.
  for (const line of facts.filter(it => it.startsWith('reject='))) expect(line).toMatch(/^reject=[\da-f.:]+\/\d+$/)
  expect(facts.filter(line => !line.startsWith('reject='))).toEqual([
    'branch=trunk',
    'upstream_branch=next',
    `start=${await world.tip('origin')}`,
    `upstream=${await world.tip('upstream')}`,
    'seconds=90',
    '',
  ])
})

test('the mounts belong to the user of the container', async () => {
  await using world = await makeWorld()
  await world.agent(
    'stat --format "%u:%g" "$workspace" "$workspace/.git/HEAD" "$workspace/greeting.txt" "$state" >"$state/owners.txt"; good',
  )
  expectExit(await world.run(), 0)
  const { uid, gid } = userInfo()
  const expected = uid === 0 ? '2100000001:2100000001' : `${uid}:${gid}`
  const owners = (await readFile(join((await world.lastRun()).state, 'owners.txt'), 'utf8')).trim().split('\n')
  expect(new Set(owners)).toEqual(new Set([expected]))
})

const after = (call: string[], flag: string) => call.filter((_, at) => call[at - 1] === flag)

test('the container is called with exactly what it needs', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const run = await world.lastRun()
  const [call = [], ...others] = await world.calls('run')
  expect(others).toEqual([])
  expect(call.at(-1)).toBe('forklift/kitchen-sink:latest')
  for (const flag of ['--rm', '--read-only']) expect(call).toContain(flag)
  for (const flag of ['--user', '--entrypoint', '--privileged', '--network', '--init', '-u', '-v', '--volume']) {
    expect(call).not.toContain(flag)
  }
  expect(after(call, '--stop-timeout')).toEqual(['10'])
  expect(after(call, '--pull')).toEqual(['never'])
  expect(after(call, '--log-driver')).toEqual(['none'])
  expect(after(call, '--cap-drop')).toEqual(['ALL'])
  expect(after(call, '--cap-add').sort()).toEqual(['NET_ADMIN', 'SETGID', 'SETPCAP', 'SETUID'])
  expect(after(call, '--security-opt')).toEqual(['no-new-privileges'])
  expect(after(call, '--pids-limit')).toEqual(['512'])
  expect(after(call, '--memory')).toEqual(['4g'])
  expect(after(call, '--mount')).toEqual([
    `type=bind,source=${run.workspace},target=/workspace`,
    `type=bind,source=${run.state},target=/harness-state`,
  ])
  expect(after(call, '--name')[0]).toMatch(/^forklift-/)
  expect(after(call, '--label')[0]).toMatch(/^forklift=/)
})

test('every container has a name of its own', async () => {
  await using world = await makeWorld()
  await world.agent('exit 5')
  expectExit(await world.run(), 5)
  expectExit(await world.run(), 5)
  const names = (await world.calls('run')).map(call => after(call, '--name')[0])
  expect(new Set(names).size).toBe(2)
})

test('the container’s output is kept', async () => {
  await using world = await makeWorld()
  await world.agent('echo "words of the harness"; echo "words of its errors" >&2; good')
  expectExit(await world.run(), 0)
  const log = await readFile(join((await world.lastRun()).path, 'container.log'), 'utf8')
  expect(log).toContain('words of the harness\n')
  expect(log).toContain('words of its errors\n')
})
