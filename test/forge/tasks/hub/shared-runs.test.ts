/** Two clones of a repository and their hub: what one has written of a run reaches the other, in any order. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Objects, openObjects } from '../../../../core/git/objects.ts'
import { openRepository, type Repository } from '../../../../core/git/repository.ts'
import { formerQueuesOf, queueOf } from '../../../../forge/tasks/engine/repository-id.ts'
import { HubTrouble } from '../../../../forge/tasks/hub/remote.ts'
import { SharedRuns } from '../../../../forge/tasks/hub/shared-runs.ts'
import { doneRef, resultRef } from '../../../../forge/tasks/runs/folder.ts'
import { pruneRun } from '../../../../forge/tasks/runs/pruning.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { setRef } from '../../../../forge/tasks/steps/commits.ts'
import { bare, commit, git, gitWith, PLAIN } from '../../../support/git.ts'
import { makeFolder } from '../../../support/repository.ts'

type Clone = { path: string; repository: Repository; objects: Objects; runs: SharedRuns }

const RUN = '20261124-write-notes-aaaaa'

let folder: Awaited<ReturnType<typeof makeFolder>>
let hub = ''
let clones: Clone[] = []
let base = ''

beforeEach(async () => {
  folder = await makeFolder()
  hub = await bare(join(folder.path, 'hub.git'), 'main')
  base = await commit(hub, 'main', { 'a.txt': 'a\n' })
  clones = [await clone('one'), await clone('two')]
})
afterEach(async () => {
  for (const { objects, runs } of clones) {
    runs[Symbol.dispose]()
    await objects[Symbol.asyncDispose]()
  }
  await folder[Symbol.asyncDispose]()
})

async function clone(name: string): Promise<Clone> {
  const path = join(folder.path, name)
  await gitWith(folder.path, ['clone', '--quiet', hub, path])
  await git(path, 'config', 'forge.hub', 'origin')
  const repository = await openRepository(path, { env: PLAIN })
  const objects = openObjects(repository)
  const runs = await SharedRuns.open(objects)
  if (!runs) throw new Error('There is no hub')
  return { path, repository, objects, runs }
}

function both(): [Clone, Clone] {
  const [one, two] = clones
  if (!one || !two) throw new Error('There are no clones')
  return [one, two]
}

const storeOf = ({ objects }: Clone) => new RunStore(objects, RUN)

test('what one machine keeps of a run, another one reads after a fetch, with the commits and names of its refs', async () => {
  const [one, two] = both()
  const store = storeOf(one)
  const answer = await store.keep('answers', 'a'.repeat(64), 'an answer')
  const made = await commit(one.path, 'work', { 'a.txt': 'b\n' })
  await setRef(one.objects, doneRef(RUN, 'alpha'), made, { message: '' })
  one.runs.of(RUN).moved(doneRef(RUN, 'alpha'), made)
  one.runs.of(RUN).carry([base])
  await one.runs.of(RUN).push()
  await two.runs.of(RUN).fetch()
  await two.runs.of(RUN).nameRefs()
  expect(await storeOf(two).find('answers', 'a'.repeat(64))).toBe(answer)
  expect(await git(two.path, 'rev-parse', `forge/${RUN}/alpha/done`)).toBe(made)
  // The hub has one ref for the run, however many tasks there are.
  expect(await git(hub, 'for-each-ref', '--format=%(refname)', 'refs/forge')).toBe(`refs/forge/runs/${RUN}/store`)
  // A result of all is a branch there too, and the tasks' results are no branches any more.
  await setRef(one.objects, resultRef(RUN), made, { message: '' })
  one.runs.of(RUN).moved(resultRef(RUN), made)
  await one.runs.of(RUN).push()
  expect(await git(hub, 'rev-parse', `forge/${RUN}/result`)).toBe(made)
  const third = await clone('three')
  clones.push(third)
  expect(await third.runs.fetchAll()).toEqual([RUN])
  await third.runs.of(RUN).nameRefs()
  const names = await git(third.path, 'for-each-ref', '--format=%(refname)', 'refs/heads/forge', 'refs/forge/runs')
  expect(names.split('\n')).toEqual([
    `refs/forge/runs/${RUN}/done/alpha`,
    `refs/forge/runs/${RUN}/store`,
    `refs/heads/forge/${RUN}/result`,
  ])
})

test('two machines that write at the same time lose nothing, and the first answer to a request stays', async () => {
  const [one, two] = both()
  await storeOf(one).put('wish', 'Write notes')
  await one.runs.of(RUN).push()
  await two.runs.of(RUN).fetch()
  const key = 'b'.repeat(64)
  const write = async (it: Clone, name: string) => {
    for (let at = 0; at < 8; at++) {
      await storeOf(it).keep('journal', `${name} ${at}`, `${name} ${at}`)
      await storeOf(it).keep('answers', key, `by ${name}`)
      await it.runs.of(RUN).push()
    }
  }
  await Promise.all([write(one, 'one'), write(two, 'two')])
  await Promise.all(clones.map(({ runs }) => runs.of(RUN).fetch()))
  const [tip, ...others] = await Promise.all(
    clones.map(({ path }) => git(path, 'rev-parse', `refs/forge/runs/${RUN}/store`)),
  )
  expect(others).toEqual([tip as string])
  for (const it of clones) {
    const lines = (await storeOf(it).all('journal')).map(String).sort()
    expect(lines).toEqual(['one', 'two'].flatMap(name => Array.from({ length: 8 }, (_, at) => `${name} ${at}`)))
    const oid = (await storeOf(it).find('answers', key)) ?? ''
    expect((await storeOf(it).readText({ kind: 'answer', oid })).startsWith('by ')).toBe(true)
  }
  expect(await git(hub, 'fsck', '--full', '--no-dangling', '--no-progress')).toBe('')
})

test('a fetch beside a push of the same process, and of another one, ends well', async () => {
  const [one, two] = both()
  await storeOf(one).put('wish', 'Write notes')
  await one.runs.of(RUN).push()
  const beside = await SharedRuns.open(one.objects)
  if (!beside) throw new Error('There is no hub')
  for (let round = 0; round < 10; round++) {
    await storeOf(two).put('wish', `two ${round}`)
    await two.runs.of(RUN).push()
    await storeOf(one).put('wish', `one ${round}`)
    await Promise.all([one.runs.of(RUN).fetch(), beside.of(RUN).fetch(), one.runs.of(RUN).push()])
  }
  beside[Symbol.dispose]()
  await one.runs.of(RUN).push()
  await two.runs.of(RUN).fetch()
  const tips = await Promise.all(clones.map(({ path }) => git(path, 'rev-parse', `refs/forge/runs/${RUN}/store`)))
  expect(tips[0]).toBe(tips[1] as string)
})

test('a hub that refuses or is away is told as a sentence, and gets everything afterwards', async () => {
  const [one, two] = both()
  await storeOf(one).put('wish', 'Write notes')
  await mkdir(join(hub, 'hooks'), { recursive: true })
  const hook = join(hub, 'hooks/pre-receive')
  await writeFile(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const refused = await one.runs
    .of(RUN)
    .push()
    .catch(error => error)
  expect(refused).toBeInstanceOf(HubTrouble)
  expect(refused.message).toBe('The hub origin refuses what this run writes (pre-receive hook declined).')
  await rm(hook)
  await one.runs.of(RUN).push()
  await git(two.path, 'remote', 'set-url', 'origin', join(folder.path, 'nowhere.git'))
  const away = await two.runs
    .of(RUN)
    .fetch()
    .catch(error => error)
  expect(away).toBeInstanceOf(HubTrouble)
  expect(away.message).toMatch(/^The hub origin can't be used: .*nowhere\.git/)
  await git(two.path, 'remote', 'set-url', 'origin', hub)
  await two.runs.of(RUN).fetch()
  expect((await storeOf(two).all('journal')).length).toBe(0)
  expect(await git(two.path, 'rev-parse', `refs/forge/runs/${RUN}/store`)).toBe(
    await git(one.path, 'rev-parse', `refs/forge/runs/${RUN}/store`),
  )
})

test('names of refs from the hub that are not of this run are ignored', async () => {
  const [one, two] = both()
  await storeOf(one).put('wish', 'Write notes')
  const others = ['refs/heads/main', 'refs/heads/forge/another/result', `refs/forge/runs/${RUN}/../../x`, 'HEAD']
  // Nor are names that no ref of a run has: one could be in the way of another.
  const own = [`refs/heads/forge/${RUN}/a`, `refs/heads/forge/${RUN}/result/done`, `refs/forge/runs/${RUN}/merge`]
  for (const ref of [...others, ...own]) one.runs.of(RUN).moved(ref, base)
  one.runs.of(RUN).moved(`refs/heads/forge/${RUN}/a/done`, base)
  await one.runs.of(RUN).push()
  const before = await git(two.path, 'for-each-ref', '--format=%(refname)')
  await two.runs.of(RUN).fetch()
  await two.runs.of(RUN).nameRefs()
  const after = await git(two.path, 'for-each-ref', '--format=%(refname)')
  const added = after.split('\n').filter(name => !before.split('\n').includes(name))
  expect(added).toEqual([
    `refs/forge/hub/runs/${RUN}`,
    `refs/forge/runs/${RUN}/store`,
    `refs/heads/forge/${RUN}/a/done`,
  ])
})

test('a commit of a person on a branch of a run stays where it is', async () => {
  const [one, two] = both()
  const ref = resultRef(RUN)
  const give = async (made: string) => {
    await setRef(one.objects, ref, made, { message: '' })
    one.runs.of(RUN).moved(ref, made)
    await one.runs.of(RUN).push()
    await two.runs.of(RUN).fetch()
    await two.runs.of(RUN).nameRefs()
    return await git(two.path, 'rev-parse', ref)
  }
  // What the run itself has put there is replaced, also by what does not follow from it.
  for (const text of ['first\n', 'second\n']) {
    const made = await commit(one.path, text.trim(), { 'a.txt': text }, { parents: [base] })
    expect(await give(made)).toBe(made)
  }
  const own = await commit(two.path, `forge/${RUN}/result`, { 'a.txt': 'mine\n' })
  const third = await commit(one.path, 'third', { 'a.txt': 'third\n' }, { parents: [base] })
  expect(await give(third)).toBe(own)
  expect(await git(hub, 'rev-parse', ref)).toBe(third)
  // Nor is one on the hub.
  await git(two.path, 'push', '--quiet', '--force', 'origin', ref)
  await give(await commit(one.path, 'fourth', { 'a.txt': 'fourth\n' }, { parents: [base] }))
  expect(await git(hub, 'rev-parse', ref)).toBe(own)
})

test('what a machine has not pushed before it was killed takes the place of nothing that came later', async () => {
  const [one, two] = both()
  await storeOf(one).set('status.json', 'planning')
  await one.runs.of(RUN).push()
  await two.runs.of(RUN).fetch()
  await storeOf(one).set('status.json', 'runs')
  await storeOf(one).put('wish', 'Write notes')
  await storeOf(two).set('status.json', 'done')
  await two.runs.of(RUN).push()
  expect(await one.runs.pushLeft()).toEqual([RUN])
  await two.runs.of(RUN).fetch()
  expect(String(await storeOf(two).get('status.json'))).toBe('done')
  expect(await git(two.path, 'ls-tree', '-r', '--name-only', `refs/forge/runs/${RUN}/store`)).toContain('kept/')
})

test('a run that one machine prunes does not come back from another one, which keeps its own copy', async () => {
  const [one, two] = both()
  await storeOf(one).put('wish', 'Write notes')
  const done = await commit(one.path, 'work', { 'a.txt': 'a\n', 'b.txt': 'b\n' }, { parents: [base] })
  await setRef(one.objects, resultRef(RUN), done, { message: '' })
  one.runs.of(RUN).moved(resultRef(RUN), done)
  await one.runs.of(RUN).push()
  expect(await two.runs.fetchAll()).toEqual([RUN])
  await two.runs.of(RUN).nameRefs()
  await pruneRun(one.objects, RUN, { env: { XDG_STATE_HOME: folder.path }, all: true })
  expect(await one.runs.of(RUN).remove({ result: true })).toBe(true)
  const refs = async () => await git(hub, 'for-each-ref', '--format=%(refname)', 'refs/forge/runs', 'refs/heads/forge')
  expect(await refs()).toBe('')
  // What another machine does of itself: it looks, and its worker begins.
  expect(await two.runs.fetchAll()).toEqual([])
  expect(await two.runs.pushLeft()).toEqual([])
  await two.runs.of(RUN).fetch()
  expect(await refs()).toBe('')
  expect(await one.runs.fetchAll()).toEqual([])
  expect(await git(two.path, 'rev-parse', resultRef(RUN))).toBe(done)
  // The second machine still has its copy: when it continues the run, it pushes the whole run to the hub again.
  await storeOf(two).put('answer', 'More notes')
  await two.runs.of(RUN).push()
  expect(await one.runs.fetchAll()).toEqual([RUN])
  await one.runs.of(RUN).nameRefs()
  expect(await git(one.path, 'rev-parse', resultRef(RUN))).toBe(done)
})

test('pruning takes nothing from the hub that another machine or a person has put there meanwhile', async () => {
  const [one, two] = both()
  await storeOf(one).put('wish', 'Write notes')
  const done = await commit(one.path, 'work', { 'b.txt': 'b\n' }, { parents: [base] })
  one.runs.of(RUN).moved(resultRef(RUN), done)
  await one.runs.of(RUN).push()
  await two.runs.of(RUN).fetch()
  await storeOf(two).put('answer', 'More notes')
  await two.runs.of(RUN).push()
  const store = `refs/forge/runs/${RUN}/store`
  const newer = await git(hub, 'rev-parse', store)
  expect(await one.runs.of(RUN).remove({ result: true })).toBe(false)
  expect(await git(hub, 'rev-parse', store)).toBe(newer)
  await one.runs.of(RUN).fetch()
  const theirs = await commit(hub, 'theirs', { 'b.txt': 'by hand\n' }, { parents: [done] })
  await git(hub, 'update-ref', resultRef(RUN), theirs)
  expect(await one.runs.of(RUN).remove({ result: true })).toBe(true)
  expect(await git(hub, 'for-each-ref', '--format=%(objectname)', store, resultRef(RUN))).toBe(theirs)
})

test('a push to the hub takes nothing from what a run keeps, and is in the way of no other run', async () => {
  const [one, two] = both()
  const store = `refs/forge/runs/${RUN}/store`
  const key = 'a'.repeat(64)
  await storeOf(one).keep('answers', key, 'an answer')
  await storeOf(one).keep('journal', 'a line', 'a line')
  await one.runs.of(RUN).push()
  await two.runs.of(RUN).fetch()
  const evil = await gitWith(hub, ['hash-object', '-w', '--stdin'], 'evil')
  const answers = await gitWith(hub, ['mktree'], `100644 blob ${evil}\t${'a'.repeat(62)}\n`)
  const folders = await gitWith(hub, ['mktree'], `040000 tree ${answers}\ta\n`)
  const inside = await gitWith(hub, ['mktree'], `040000 tree ${folders}\ta\n`)
  const trees = {
    'the answer is another one': `040000 tree ${inside}\tanswers\n`,
    'a folder is a file': `100644 blob ${evil}\tanswers\n`,
    'nothing is left': '',
  }
  const who = { GIT_AUTHOR_NAME: 'x', GIT_AUTHOR_EMAIL: 'x', GIT_COMMITTER_NAME: 'x', GIT_COMMITTER_EMAIL: 'x' }
  for (const [words, entries] of Object.entries(trees)) {
    const tree = await gitWith(hub, ['mktree'], entries)
    const made = await gitWith(hub, ['commit-tree', tree, '-p', store, '-m', words], undefined, who)
    await git(hub, 'update-ref', store, made)
    expect(await two.runs.fetchAll()).toEqual([RUN])
    const oid = (await storeOf(two).find('answers', key)) ?? ''
    expect(await storeOf(two).readText({ kind: 'answer', oid })).toBe('an answer')
    expect((await storeOf(two).all('journal')).map(String)).toEqual(['a line'])
    await two.runs.of(RUN).push()
  }
  // Refs that are no stores.
  for (const run of [RUN, '20261124-write-notes-bbbbb'])
    await git(hub, 'update-ref', `refs/forge/runs/${run}/store`, evil)
  await git(hub, 'update-ref', `refs/forge/runs/${RUN}/more/store`, base)
  expect(await one.runs.fetchAll()).toEqual([])
  await one.runs.of(RUN).push()
  expect(await git(hub, 'cat-file', '-t', store)).toBe('commit')
})

test('clones get one id from their hub, also where each had its own before', async () => {
  const [one, two] = both()
  for (const { path } of clones) await git(path, 'config', '--unset', 'forge.hub')
  const own = await Promise.all(clones.map(({ repository }) => queueOf(repository)))
  expect(new Set(own).size).toBe(2)
  for (const { path } of clones) await git(path, 'config', 'forge.hub', 'origin')
  const shared = await Promise.all(clones.map(({ repository }) => queueOf(repository)))
  expect(new Set(shared).size).toBe(1)
  // The one whose id was not taken still knows the queue on which its runs may be.
  const [, ...former] = (await Promise.all([one, two].map(({ repository }) => formerQueuesOf(repository)))).flatMap(
    ([, ...ids]) => ['', ...ids],
  )
  expect(former.filter(Boolean)).toEqual(own.filter(queue => queue !== shared[0]))
  // From then on the hub is not asked.
  const moved = join(folder.path, 'moved.git')
  await rename(hub, moved)
  expect(await queueOf(one.repository)).toBe(shared[0] as string)
  // A new hub gets the id from the clones that know it, before another one makes one for it.
  hub = await bare(join(folder.path, 'new.git'), 'main')
  await git(moved, 'push', '--quiet', hub, 'main')
  await git(one.path, 'remote', 'set-url', 'origin', hub)
  expect(await queueOf(one.repository)).toBe(shared[0] as string)
  const third = await clone('three')
  clones.push(third)
  expect(await queueOf(third.repository)).toBe(shared[0] as string)
})

test('a wrong setting of the hub says what to do', async () => {
  const [one] = both()
  await git(one.path, 'config', 'forge.hub', '--upload-pack=x')
  expect(SharedRuns.open(one.objects)).rejects.toThrow('which is no remote of this repository: git remote add NAME URL')
})
