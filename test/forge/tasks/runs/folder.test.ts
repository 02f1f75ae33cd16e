/** The storage of runs: found by refs and folders, and pruned. */
import { expect, test } from 'bun:test'
import { exists, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openObjects } from '../../../../core/git/objects.ts'
import {
  attemptRef,
  doneRef,
  listRuns,
  newRunId,
  openRunFolder,
  resultRef,
  storeRef,
  verifyRunId,
} from '../../../../forge/tasks/runs/folder.ts'
import { pruneRun } from '../../../../forge/tasks/runs/pruning.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { commit, gitWith } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'

test('a new run is named by its day and what it is about', () => {
  const id = newRunId('Füge “Undo” hinzu: für alle Tabellen, bitte!', new Date('2026-11-22T10:00:00Z'))
  expect(id).toMatch(/^20261122-fuge-undo-hinzu-fur-[0-9a-z]{5}$/)
  expect(verifyRunId(id)).toBe(id)
})

test('what is no run is refused before it becomes a path', () => {
  for (const text of ['../x', 'a/b', '', '-rf', 'A', 'x'.repeat(90)]) expect(() => verifyRunId(text)).toThrow(/no run/)
})

test('runs are found by their refs and by their folders', async () => {
  await using place = await makePlace()
  const env = { XDG_STATE_HOME: place.folder }
  await new RunStore(place.objects, '20261120-a-0000').put('wish', 'one')
  await openRunFolder(place.repository, '20261121-b-0000', env)
  await new RunStore(place.objects, '20261122-c-0000').put('wish', 'three')
  const folder = await openRunFolder(place.repository, '20261122-c-0000', env)
  expect(await listRuns(place.repository, env)).toEqual([
    { run: '20261122-c-0000', isInGit: true, folder },
    { run: '20261121-b-0000', isInGit: false, folder: expect.any(String) },
    { run: '20261120-a-0000', isInGit: true },
  ])
})

test('a run that is let go of leaves no ref of its own, and what an attempt tried can come back', async () => {
  await using place = await makePlace()
  const env = { XDG_STATE_HOME: place.folder }
  const run = '20261122-c-0000'
  const merged = await commit(place.path, 'main', { 'a.txt': 'a' })
  const alone = await commit(place.path, 'other', { 'b.txt': 'b' })
  await place.git('update-ref', attemptRef(run, 'parser', 1), alone)
  await place.git('update-ref', doneRef(run, 'parser'), merged)
  await place.git('update-ref', '-d', 'refs/heads/other')
  await new RunStore(place.objects, run).put('wish', 'x')
  const folder = await openRunFolder(place.repository, run, env)
  const pruned = await pruneRun(place.objects, run, { env, all: false })
  const at = `refs/forge/kept/forge/${run}/parser/1-${alone.slice(0, 8)}`
  expect(pruned).toMatchObject({ isKept: false, kept: [], lost: [] })
  expect(pruned.saved).toEqual([{ branch: `forge/${run}/parser/1`, at }])
  expect(pruned.refs.sort()).toEqual([storeRef(run), attemptRef(run, 'parser', 1), doneRef(run, 'parser')].sort())
  expect(await exists(folder)).toBe(false)
  expect(await listRuns(place.repository, env)).toEqual([])
  expect((await place.git('for-each-ref', '--format=%(refname)')).split('\n')).toEqual([at, 'refs/heads/main'])
})

test('with --all, a run that is not landed goes with its attempts, and it is said what is lost', async () => {
  await using place = await makePlace()
  const run = '20261122-c-0000'
  await commit(place.path, 'main', { 'a.txt': 'a' })
  const done = await commit(place.path, 'other', { 'b.txt': 'b' })
  for (const ref of [attemptRef(run, 'parser', 1), doneRef(run, 'parser')]) await place.git('update-ref', ref, done)
  await place.git('branch', '-D', 'other')
  await new RunStore(place.objects, run).put('wish', 'x')
  const pruned = await pruneRun(place.objects, run, { env: { XDG_STATE_HOME: place.folder }, all: true })
  expect(pruned).toMatchObject({ isKept: false, kept: [], saved: [] })
  expect(pruned.lost.map(({ at }) => at)).toEqual([done, done])
  expect(await place.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
})

test('a run with finished work that is not landed stays whole, so that it can be landed', async () => {
  await using place = await makePlace()
  const env = { XDG_STATE_HOME: place.folder }
  const run = '20261122-c-0000'
  await commit(place.path, 'main', { 'a.txt': 'a' })
  const done = await commit(place.path, 'other', { 'b.txt': 'b' })
  const store = new RunStore(place.objects, run)
  await store.put('wish', 'x')
  await place.git('update-ref', doneRef(run, 'parser'), done)
  await place.git('update-ref', attemptRef(run, 'parser', 1), done)
  await place.git('branch', '-D', 'other')
  const folder = await openRunFolder(place.repository, run, env)
  const pruned = await pruneRun(place.objects, run, { env, all: false })
  expect(pruned).toEqual({ isKept: true, refs: [], kept: [doneRef(run, 'parser')], saved: [], lost: [] })
  expect([await exists(folder), (await listRuns(place.repository, env)).length]).toEqual([true, 1])
  expect(await place.git('rev-parse', attemptRef(run, 'parser', 1))).toBe(done)
})

test('a branch that is checked out stays when its run is let go of', async () => {
  await using place = await makePlace()
  const run = '20261122-c-0000'
  const merged = await commit(place.path, 'main', { 'a.txt': 'a' })
  await place.git('update-ref', doneRef(run, 'parser'), merged)
  await place.git('worktree', 'add', '--quiet', join(place.folder, 'looks'), `forge/${run}/parser/done`)
  const pruned = await pruneRun(place.objects, run, { env: { XDG_STATE_HOME: place.folder }, all: true })
  expect(pruned.kept).toEqual([doneRef(run, 'parser')])
})

test('a run whose result was landed leaves no branch, and loses no commit', async () => {
  await using place = await makePlace()
  const env = { XDG_STATE_HOME: place.folder }
  const run = '20261122-c-0000'
  const base = await commit(place.path, 'main', { 'a.txt': 'a' })
  await place.git('branch', 'work', base)
  const failed = await commit(place.path, 'failed', { 'a.txt': 'b', 'tried.txt': 'x' })
  const done = await commit(place.path, 'work', { 'b.txt': 'b' })
  await place.git('update-ref', attemptRef(run, 'parser', 1), failed)
  for (const ref of [attemptRef(run, 'parser', 2), doneRef(run, 'parser'), resultRef(run)])
    await place.git('update-ref', ref, done)
  await place.git('branch', '-D', 'work', 'failed')
  // The result is not landed yet.
  const before = await pruneRun(place.objects, run, { env, all: false })
  expect(before).toMatchObject({ isKept: true, refs: [], saved: [], lost: [] })
  expect(before.kept).toHaveLength(2)
  // The result is landed as one commit, and main has moved on since.
  await commit(
    place.path,
    'main',
    { 'a.txt': 'a', 'b.txt': 'b' },
    { message: `Land\n\nForge-Run: ${run}\nForge-Landed: ${done}\n` },
  )
  await commit(place.path, 'main', { 'a.txt': 'a', 'b.txt': 'other' })
  const pruned = await pruneRun(place.objects, run, { env, all: false })
  expect(pruned.kept).toEqual([])
  expect(pruned.lost).toEqual([])
  const at = `refs/forge/kept/forge/${run}/result-${done.slice(0, 8)}`
  expect(pruned.saved[0]).toEqual({ branch: `forge/${run}/result`, at })
  expect(await place.git('rev-parse', at)).toBe(done)
  expect((await place.git('for-each-ref', '--format=%(objectname)', 'refs/forge/kept/')).split('\n').sort()).toEqual(
    [failed, done].sort(),
  )
  expect(await place.git('for-each-ref', '--format=%(refname)', 'refs/heads/')).toBe('refs/heads/main')
})

test('one task that was landed goes with its branches, in whatever way that was, and the others stay', async () => {
  await using place = await makePlace()
  const run = '20261122-c-0000'
  await commit(place.path, 'main', { 'a.txt': 'a' })
  for (const id of ['parser', 'docs']) {
    await place.git('branch', id, 'main')
    await place.git('update-ref', doneRef(run, id), await commit(place.path, id, { 'a.txt': 'a', [`${id}.txt`]: id }))
    await place.git('branch', '-D', id)
  }
  // The result was squashed by hand: only the files show that it is landed.
  await commit(place.path, 'main', { 'a.txt': 'a', 'parser.txt': 'parser' })
  const pruned = await pruneRun(place.objects, run, { env: { XDG_STATE_HOME: place.folder }, all: false })
  expect(pruned.kept).toEqual([doneRef(run, 'docs')])
  expect(pruned.refs).toEqual([doneRef(run, 'parser')])
})

test('letting go of a run of many tasks takes no more processes of git than one of few', async () => {
  await using place = await makePlace()
  const run = '20261122-c-0000'
  const base = await commit(place.path, 'main', { 'a.txt': 'a' })
  const made = Array.from({ length: 60 }, (_, at) => {
    const commit = `commit ${attemptRef(run, `t${at}`, 1)}\ncommitter Max <max@notes.example> ${1_790_000_000 + at} +0000\n`
    return `${commit}data 1\nx\nfrom ${base}\nM 100644 inline ${at}.txt\ndata 1\nx\n\n`
  })
  await gitWith(place.path, ['fast-import', '--quiet'], made.join(''))
  const bin = join(place.folder, 'bin')
  const log = join(place.folder, 'log')
  await mkdir(bin)
  const counting = `#!/bin/sh\necho >>'${log}'\nPATH=\${PATH#*:} exec git "$@"\n`
  await writeFile(join(bin, 'git'), counting, { mode: 0o755 })
  const env = { ...place.repository.env, PATH: `${bin}:${process.env.PATH}` }
  await using objects = openObjects({ ...place.repository, env })
  const pruned = await pruneRun(objects, run, { env: { XDG_STATE_HOME: place.folder }, all: false })
  expect(pruned.saved).toHaveLength(60)
  expect((await readFile(log, 'utf8')).length).toBeLessThan(20)
})
