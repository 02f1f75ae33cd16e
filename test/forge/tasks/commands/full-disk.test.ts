/** A full disk: what a run says, that nothing is lost or paid twice, and that it continues with more space. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { appendFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openRepository } from '../../../../core/git/repository.ts'
import { runsFolder } from '../../../../forge/tasks/runs/folder.ts'
import { until } from '../../../support/repository.ts'
import { done, task, write } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 240_000
const canMount = (await Bun.$`unshare --mount true`.quiet().nothrow()).exitCode === 0

/** Replaces a folder by a disk of some megabytes with the same content. */
async function smallDisk(folder: string, megabytes: number): Promise<AsyncDisposable & { fill: () => Promise<void> }> {
  const content = `${folder}.before`
  await mkdir(folder, { recursive: true })
  await Bun.$`cp -a ${folder} ${content} && mount -t tmpfs -o size=${megabytes}m tmpfs ${folder} && cp -a ${content}/. ${folder} && rm -r ${content}`.quiet()
  return {
    fill: async () => {
      await Bun.$`dd if=/dev/zero of=${folder}/ballast bs=4k`.quiet().nothrow()
      // Fills the last page byte by byte.
      for (;;) {
        const isFull = await appendFile(join(folder, 'ballast'), 'x').then(
          () => false,
          () => true,
        )
        if (isFull) return
      }
    },
    [Symbol.asyncDispose]: async () => void (await Bun.$`umount --lazy ${folder}`.quiet().nothrow()),
  }
}

describe.skipIf(hasNoTemporal || !canMount)('a full disk', () => {
  let scene: TaskScene
  const disks: Record<string, Awaited<ReturnType<typeof smallDisk>> & { folder: string }> = {}
  beforeAll(async () => {
    scene = await TaskScene.open()
    scene.env.TMPDIR = join(scene.temporal.folder, 'tmp')
    const repository = await openRepository(scene.folder)
    const folders = {
      runs: await runsFolder(repository, scene.env),
      objects: repository.objects,
      tmp: scene.env.TMPDIR,
    }
    for (const [name, folder] of Object.entries(folders)) disks[name] = { folder, ...(await smallDisk(folder, 24)) }
    await scene.forge(['up'])
  }, LONG)
  afterAll(async () => {
    await scene.forge(['down'])
    for (const disk of Object.values(disks)) await disk[Symbol.asyncDispose]()
    await scene[Symbol.asyncDispose]()
  }, LONG)

  const isEmpty = (text: string): boolean => text === ''
  const empty = async (name: string) => await rm(join(disks[name]?.folder ?? '', 'ballast'), { force: true })

  test.each([
    ['runs', 'the run’s own folder'],
    ['objects', 'git’s objects'],
    ['tmp', 'temporary files'],
  ])(
    'in the middle (%s: %s) pauses the run with one sentence, and loses nothing',
    async name => {
      const disk = disks[name]
      let hasFilled = false
      const readme = (line: string) => write('README.md', `# Notes\n${line}\n`)
      scene.model.knows(`full-${name}`, {
        tasks: [task('a', { write: [] }), task('b', { write: [] }), task('c', { after: ['a', 'b'] })],
        answer: async ({ kind, task }) => {
          if (kind === 'resolve') return done('Both.', write('README.md', '# Notes\na\nb\n'))
          if (kind !== 'implement' || task === 'c') return undefined
          if (!hasFilled) await disk?.fill()
          hasFilled = true
          return done(`Make ${task}.`, write(`${task}.txt`, 'done\n'), readme(task))
        },
      })
      const { code, out, err } = await scene.forge(['run', '--yes', `full-${name}`])
      const run = runIn(err)
      expect(code).toBe(4)
      expect(out).toContain('No space is left on the disk of ')
      expect(out.replace(/\s+/g, ' ')).toContain('make room there. What is done is kept;')
      expect(out).toContain(`forge resume ${run}`)
      for (const text of [out, err]) expect(text).not.toMatch(/^\s+at |\.ts:\d+|Error:|ENOSPC|SQLITE|undefined/m)
      await empty(name)
      expect(await scene.forge(['resume', run])).toMatchObject({ code: 0, err: '' })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      const asked = scene.model.asked(`full-${name}`)
      expect(new Set(asked).size).toBe(asked.length)
      expect(await scene.git('show', `forge/${run}/result:c.txt`)).toBe('done')
      // The worker packs the objects of a run that has ended: a loose one can go while git reads it.
      await until(() => scene.git('fsck', '--full', '--no-dangling', '--no-progress').then(isEmpty, () => false))
      const ids = (await scene.journal(run)).filter(line => line.startsWith('passed'))
      expect(ids).toHaveLength(3)
    },
    LONG,
  )

  test.each(['runs', 'objects'])(
    'at the beginning (%s) is said before anything is paid, and nothing of the run is left',
    async name => {
      const before = await scene.git('for-each-ref')
      const folders = await readdir(disks.runs?.folder ?? '')
      // A worker that still packs what the last run has written would make room.
      await scene.forge(['down'])
      await disks[name]?.fill()
      try {
        scene.model.knows(`never-${name}`, { tasks: [task('a')] })
        const { code, out, err } = await scene.forge(['run', '--yes', `never-${name}`])
        expect({ code, out }).toEqual({ code: 1, out: '' })
        expect(err.trimEnd().split('\n')).toHaveLength(1)
        expect(err).toMatch(/No space is left on the disk of|ENOSPC/)
        expect(scene.model.asked(`never-${name}`)).toEqual([])
        expect(await scene.git('for-each-ref')).toBe(before)
      } finally {
        await empty(name)
      }
      expect(await readdir(disks.runs?.folder ?? '')).toEqual(folders)
      expect((await scene.forge(['runs'])).out).not.toContain(`never-${name}`)
      expect((await scene.run(`never-${name}`, { tasks: [task('a')] })).code).toBe(0)
    },
    LONG,
  )

  test(
    'is no matter for who only looks',
    async () => {
      const { run } = await scene.run('seen', { tasks: [task('a')] })
      for (const disk of Object.values(disks)) await disk.fill()
      try {
        for (const args of [['runs'], ['show', run], ['show', run, '--journal'], ['attach', run]])
          expect(await scene.forge(args)).toMatchObject({ code: 0, err: '' })
      } finally {
        for (const name of Object.keys(disks)) await empty(name)
      }
    },
    LONG,
  )
})
