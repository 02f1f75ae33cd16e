/** Tests of the doubles: a stand-in that accepts more than the real thing proves nothing. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { commit, git, gitWith, tryGit } from '../support/git.ts'
import { DOCKER, makeWorld, until, type World } from '../support/world.ts'
import { FILE, reduced, written } from './describe-github.ts'
import { serveGit } from './git-http.ts'

setDefaultTimeout(60_000)

const ask = (world: World, path: string, init: RequestInit = {}) =>
  fetch(`${world.github.url}${path}`, {
    ...init,
    headers: { authorization: `token ${world.github.token}`, 'user-agent': 'test' },
  })

const open = async (world: World, head: string, more = {}) => {
  const body = JSON.stringify({ title: 'T', head, base: 'main', body: 'B', ...more })
  const answer = await ask(world, '/repos/me/fork/pulls', { method: 'POST', body })
  return { status: answer.status, body: (await answer.json()) as { message?: string; errors?: { message?: string }[] } }
}

test('GitHub follows the branches of a pull request, and closes it with them', async () => {
  await using world = await makeWorld({ story: 'current' })
  const first = await world.push(
    'origin',
    { a: '1' },
    { branch: 'topic', parents: [(await world.tip('origin')) ?? ''] },
  )
  expect((await open(world, 'topic')).status).toBe(201)
  expect(await git(world.origin, 'rev-parse', 'refs/pull/1/head')).toBe(first)
  const second = await world.push('origin', { a: '2' }, { branch: 'topic' })
  const seen = (await (await ask(world, '/repos/me/fork/pulls/1')).json()) as {
    head: { sha: string }
    mergeable: boolean | null
  }
  expect([seen.head.sha, seen.mergeable]).toEqual([second, null])
  const again = (await (await ask(world, '/repos/me/fork/pulls/1')).json()) as { mergeable: boolean | null }
  expect(again.mergeable).toBe(true)
  await world.github.deleteBranch(1)
  expect(world.github.pull(1).state).toBe('closed')
})

test('GitHub refuses a second pull request, an unknown head, nothing to merge, and drafts where there are none', async () => {
  await using world = await makeWorld({ story: 'current', github: { drafts: false } })
  await world.push('origin', { a: '1' }, { branch: 'topic', parents: [(await world.tip('origin')) ?? ''] })
  expect((await open(world, 'topic', { draft: true })).body.message).toContain('Draft pull requests are not supported')
  expect((await open(world, 'topic')).status).toBe(201)
  expect((await open(world, 'topic')).body.errors?.[0]?.message).toContain('A pull request already exists for me:topic')
  expect((await open(world, 'nosuch')).status).toBe(422)
  await git(world.origin, 'branch', 'same', 'main')
  expect((await open(world, 'same')).body.errors?.[0]?.message).toContain('No commits between')
})

test.each(['merge', 'squash', 'rebase'] as const)('a person can merge with the %s button', async how => {
  await using world = await makeWorld({ story: 'current' })
  await world.push('origin', { a: '1' }, { branch: 'topic', parents: [(await world.tip('origin')) ?? ''] })
  await open(world, 'topic')
  await world.push('origin', { b: '1' })
  const result = await world.github.merge(1, how)
  expect(await world.tip('origin')).toBe(result)
  const files = await git(world.origin, 'ls-tree', '--name-only', result)
  expect(files.split('\n')).toContainValues(['a', 'b'])
  const parents = (await git(world.origin, 'rev-parse', `${result}^@`)).split('\n')
  expect(parents).toHaveLength(how === 'merge' ? 2 : 1)
})

test('a request or answer that GitHub does not describe is a violation', async () => {
  const world = await makeWorld({ story: 'current' })
  await ask(world, '/repos/me/fork/pulls?status=open')
  await ask(world, '/repos/me/fork/pulls', { method: 'POST', body: JSON.stringify({ title: 1, head: 'x' }) })
  await ask(world, '/repos/me/fork/nosuch')
  await ask(world, '/repos/me/fork/commits/main/pulls')
  const complaint = await world[Symbol.asyncDispose]().catch(String)
  expect(complaint).toContain('unknown query parameter status')
  expect(complaint).toContain('body.base is missing')
  expect(complaint).toContain('body.title is no string')
  for (const path of ['nosuch', 'commits/main/pulls'])
    expect(complaint).toMatch(
      new RegExp(`${path}: .* no such request: .* test/doubles/describe-github.ts and run that`),
    )
})

test('the description of GitHub is what its script writes: nothing added by hand, nothing changed', async () => {
  const text = await Bun.file(FILE).text()
  const file = JSON.parse(text)
  expect(written(reduced(file), file.source.licence)).toBe(text)
  expect(file.source.licence).toContain('MIT License')
})

test('a long list comes in pages that lead to each other', async () => {
  await using world = await makeWorld({ story: 'current' })
  await world.push('origin', { a: '1' }, { branch: 'topic', parents: [(await world.tip('origin')) ?? ''] })
  await open(world, 'topic')
  for (const word of ['one', 'two', 'three']) world.github.comment(1, word)
  const first = await ask(world, '/repos/me/fork/issues/1/comments?per_page=2')
  expect(await first.json()).toHaveLength(2)
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
  const second = await fetch(next, { headers: { authorization: `token ${world.github.token}`, 'user-agent': 'test' } })
  expect(await second.json()).toHaveLength(1)
})

test('git speaks HTTP, and wants the token', async () => {
  await using world = await makeWorld({ story: 'current' })
  await using server = serveGit(world.path('servers'), { token: 'right' })
  const plain = `${server.url}/me/fork.git`
  const known = plain.replace('//', '//any:right@')
  expect((await tryGit(world.root, ['ls-remote', plain])).code).not.toBe(0)
  await git(world.root, 'clone', '--quiet', known, 'cloned')
  const id = await commit(world.path('cloned'), 'main', { 'new.txt': 'new' })
  await gitWith(world.path('cloned'), ['push', '--quiet', known, 'main'])
  expect(await world.tip('origin')).toBe(id)
})

const docker = (world: World, ...args: string[]) =>
  Bun.spawn([DOCKER, ...args], {
    env: { ...world.env, OPENCODE_API_KEY: 'k', SECRET: 's' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
const container = (world: World, name: string) => {
  const mounts = ['workspace', 'harness-state'].flatMap(at => [
    '--mount',
    `type=bind,source=${world.root},target=/${at}`,
  ])
  return docker(world, 'run', '--rm', '--name', name, ...mounts, '--env', 'OPENCODE_API_KEY', 'image')
}
const program = (world: World, text: string) => Bun.write(world.path('agent'), `#!/usr/bin/env bash\n${text}\n`)

test('a container sees only what was forwarded, and its exit code is told', async () => {
  await using world = await makeWorld({ story: 'current' })
  await program(world, 'echo "$OPENCODE_API_KEY $SECRET"; exit 5')
  const child = container(world, 'one')
  expect([await child.stdout.text(), await child.exited]).toEqual(['k \n', 5])
})

test('killing the client does not end the container; docker rm -f does', async () => {
  await using world = await makeWorld({ story: 'current' })
  await program(world, 'setsid sleep 60 & sleep 60')
  const child = container(world, 'one')
  await until('the container runs', () => Bun.file(world.path('docker/containers/one/pid')).exists())
  child.kill('SIGKILL')
  await child.exited
  expect(await docker(world, 'ps').stdout.text()).toBe('one\n')
  expect(await docker(world, 'rm', '-f', 'one').exited).toBe(0)
  expect(await world.containers()).toEqual([])
  expect(await docker(world, 'rm', '-f', 'one').exited).toBe(1)
})

test('docker stop sends TERM first, which reaches only a program that handles it', async () => {
  await using world = await makeWorld({ story: 'current' })
  await program(world, 'trap "exit 9" TERM; touch ready; sleep 60 & wait')
  const polite = container(world, 'polite')
  await until('the container runs', () => Bun.file(world.path('ready')).exists())
  expect(await docker(world, 'stop', '--time', '10', 'polite').exited).toBe(0)
  expect(await polite.exited).toBe(9)
  await program(world, 'touch ready2; sleep 60')
  const deaf = container(world, 'deaf')
  await until('the container runs', () => Bun.file(world.path('ready2')).exists())
  expect(await docker(world, 'stop', '--time', '1', 'deaf').exited).toBe(0)
  expect(await deaf.exited).toBe(137)
})

test('docker run is strict about its arguments', async () => {
  await using world = await makeWorld({ story: 'current' })
  expect(await docker(world, 'run', '--rm', '--name', 'x', '--nosuch', 'image').exited).toBe(125)
  expect(await docker(world, 'run', '--rm', '--name', 'x', '-v', '/nosuch:/workspace', 'image').exited).toBe(125)
})
