#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Tasks a minute of one, two and four workers with a hub, all on this machine, with models that answer after two
 * seconds; and how quick git is in a repository after a run of 2,000 tasks:
 * `bun bench/fleet.ts [workers|refs] [COUNT]`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openObjects } from '../core/git/objects.ts'
import { listRefs, moveRefs } from '../core/git/refs.ts'
import { openRepository } from '../core/git/repository.ts'
import { SharedRuns } from '../forge/tasks/hub/shared-runs.ts'
import { hideDone } from '../forge/tasks/runs/done.ts'
import { attemptRef, attemptsRef, doneRef, resultRef } from '../forge/tasks/runs/folder.ts'
import { RunStore } from '../forge/tasks/runs/store.ts'
import { setRef } from '../forge/tasks/steps/commits.ts'
import { Fleet } from '../test/support/fleet.ts'
import { notesScript } from '../test/support/fleet-model.ts'
import { bare, commit, git, gitWith } from '../test/support/git.ts'

const ANSWER_MS = 2000
/** How many tasks end between two pushes. */
const STEP = 20
const [what = 'workers', count = ''] = process.argv.slice(2)

async function measureWorkers(tasks: number): Promise<void> {
  for (const workers of [1, 2, 4]) {
    await using fleet = await Fleet.make({ machines: workers, script: notesScript(tasks, { delay: ANSWER_MS }) })
    await Promise.all(fleet.machines.map(machine => machine.work()))
    const run = await fleet.begin(fleet.machine(0), ['--at-most', '16'])
    const began = performance.now()
    const state = await fleet.ends(run, 300_000)
    const seconds = (performance.now() - began) / 1000
    const hub = fleet.machines.reduce((sum, { doors }) => sum + doors.hub.opened, 0)
    const rate = ((tasks * 60) / seconds).toFixed(0)
    console.log(
      `${workers} workers: ${tasks} tasks ${state} in ${seconds.toFixed(1)} s, ${rate} a minute; ${hub} transfers`,
    )
  }
}

async function measureRefs(tasks: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'forge-refs-'))
  try {
    const hub = await bare(join(folder, 'hub.git'), 'main')
    await commit(hub, 'main', { 'a.txt': 'a\n' })
    const clone = join(folder, 'clone')
    await gitWith(folder, ['clone', '--quiet', hub, clone])
    await git(clone, 'config', 'forge.hub', 'origin')
    const repository = await openRepository(clone)
    await using objects = openObjects(repository)
    using shared = await SharedRuns.open(objects)
    const run = '20261124-many-notes-aaaaa'
    const store = new RunStore(objects, run)
    const base = await git(clone, 'rev-parse', 'HEAD')
    const refsOfTask = (at: number) => [attemptRef(run, `t${at}`, 1), doneRef(run, `t${at}`)]
    // One commit for each task, on the base of the run.
    const stream = Array.from({ length: tasks }, (_, at) => [
      `commit ${attemptRef(run, `t${at}`, 1)}\ncommitter Max <max@notes.example> ${1_790_000_000 + at} +0000\n`,
      `data 5\nWrite\nfrom ${base}\nM 100644 inline ${at}.md\ndata ${`${at}\n`.length}\n${at}\n\n`,
    ])
    await gitWith(clone, ['fast-import', '--quiet'], stream.flat().join(''))
    const heads = new Map((await listRefs(repository, [attemptsRef(run)])).map(({ name, oid }) => [name, oid]))
    let head = base
    for (let from = 0; from < tasks; from += STEP) {
      const some = Array.from({ length: Math.min(STEP, tasks - from) }, (_, at) => from + at)
      const kinds = ['request', 'answer', 'parsed']
      await Promise.all(some.flatMap(at => kinds.map(kind => store.put(kind, `${kind} of ${at}`))))
      const ends = some.map(at => ({ at, made: heads.get(attemptRef(run, `t${at}`, 1)) ?? '' }))
      const moves = ends.map(({ at, made }) => ({ ref: doneRef(run, `t${at}`), from: undefined, to: made }))
      await moveRefs(repository, moves, { message: '' })
      for (const { at, made } of ends) for (const ref of refsOfTask(at)) shared?.of(run).moved(ref, made)
      await shared?.of(run).push()
      head = ends.at(-1)?.made ?? head
    }
    await setRef(objects, resultRef(run), head, { message: '' })
    shared?.of(run).moved(resultRef(run), head)
    const time = async (name: string, work: () => Promise<unknown>) => {
      const began = performance.now()
      await work()
      console.log(`${name}: ${Math.round(performance.now() - began)} ms`)
    }
    await time('the last push', async () => await shared?.of(run).push())
    await time('hide the results of tasks', () => hideDone(objects, run))
    const refsOf = async (path: string) => (await git(path, 'for-each-ref', '--format=%(refname)')).split('\n').length
    console.log(`refs: ${await refsOf(clone)} in the clone, ${await refsOf(hub)} on the hub`)
    await time('git status', () => git(clone, 'status', '--short'))
    await time('git branch', () => git(clone, 'branch'))
    await time('git for-each-ref', () => git(clone, 'for-each-ref'))
    await time('git log -1 --all', () => git(clone, 'log', '-1', '--all', '--format=%h'))
    await time('git fetch of main', () => git(clone, 'fetch', '--quiet', 'origin', 'main'))
    const other = join(folder, 'other')
    await time('a clone of the hub', () => gitWith(folder, ['clone', '--quiet', hub, other]))
    await git(other, 'config', 'forge.hub', 'origin')
    await using objectsOfOther = openObjects(await openRepository(other))
    using sharedOfOther = await SharedRuns.open(objectsOfOther)
    await time('the run fetched there', async () => await sharedOfOther?.fetchAll())
    await time('its refs named there', async () => await sharedOfOther?.of(run).nameRefs())
    await time('git fetch of main there', () => git(other, 'fetch', '--quiet', 'origin', 'main'))
    await time('git for-each-ref there', () => git(other, 'for-each-ref'))
    await time('git pack-refs', () => git(clone, 'pack-refs', '--all'))
    await time('git fetch of main, refs packed', () => git(clone, 'fetch', '--quiet', 'origin', 'main'))
    await time('git for-each-ref, refs packed', () => git(clone, 'for-each-ref'))
    await time('git log -1 --all, refs packed', () => git(clone, 'log', '-1', '--all', '--format=%h'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (what === 'refs') await measureRefs(Number(count || 2000))
else await measureWorkers(Number(count || 60))
