/** `forge resolve`: a merge in parts, from its conflicts to one merge commit. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { commit } from '../../../support/git.ts'
import { done, write } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000
const NAMES = Array.from({ length: 10 }, (_, at) => `src/${at}.txt`)
const filesOf = (word: string) => Object.fromEntries(NAMES.map(name => [name, `first\n${word}\nlast\n`]))
const settled = (word: (name: string) => string) => (text: string) =>
  NAMES.filter(name => new RegExp(`^${name}$`, 'm').test(text)).map(name => write(name, `first\n${word(name)}last\n`))

describe.skipIf(hasNoTemporal)('forge resolve', () => {
  let scene: TaskScene
  let ours = ''
  let theirs = ''
  beforeAll(async () => {
    scene = await TaskScene.open()
    const root = await scene.git('rev-parse', 'main')
    await commit(scene.folder, 'main', { ...filesOf('old'), 'README.md': '# Notes\n' }, { parents: [root] })
    const base = await scene.git('rev-parse', 'main')
    await commit(
      scene.folder,
      'other',
      { ...filesOf('theirs'), 'README.md': '# Notes\n', 'new.txt': 'new\n' },
      { parents: [base] },
    )
    await commit(scene.folder, 'main', { ...filesOf('ours'), 'README.md': '# Notes\n' }, { parents: [base] })
    await commit(scene.folder, 'deleted', Object.fromEntries(NAMES.map(name => [name, null])), {
      parents: [base],
    })
    await scene.git('checkout', '--quiet', '--force', 'main')
    await scene.git('reset', '--quiet', '--hard', 'main')
    ours = await scene.git('rev-parse', 'main')
    theirs = await scene.git('rev-parse', 'other')
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  test(
    'resolves the conflicts in parts, and lands them as one merge commit of both sides',
    async () => {
      const edits = settled(() => 'ours\ntheirs\n')
      scene.model.knows('Merge other', {
        tasks: [],
        answer: ({ kind, text }) => (kind === 'resolve' ? done('Keep both.', ...edits(text)) : undefined),
      })
      const { code, err, out } = await scene.forge(['resolve', 'other', '--yes'])
      expect({ code, out: code === 0 ? '' : out + err }).toEqual({ code: 0, out: '' })
      expect(err).toContain('10 files in conflict, in 2 parts.\n')
      expect(scene.model.asked('Merge other')).not.toContain('plan')
      const landed = await scene.forge(['land', runIn(err), '--yes'])
      expect({ code: landed.code, err: landed.err }).toEqual({ code: 0, err: '' })
      expect(await scene.git('log', '-1', '--format=%P', 'main')).toBe(`${ours} ${theirs}`)
      expect(await scene.git('show', 'main:src/7.txt')).toBe('first\nours\ntheirs\nlast')
      expect(await scene.git('show', 'main:new.txt')).toBe('new')
      expect(await scene.git('status', '--porcelain')).toBe('')
      expect((await scene.forge(['land', runIn(err), '--yes'])).out).toBe('main has all of it already.\n')
      await scene.git('reset', '--quiet', '--hard', ours)
    },
    LONG,
  )

  test(
    'takes no part in which a conflict is left',
    async () => {
      const [good, bad] = [
        settled(() => 'both\n'),
        settled(() => '<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n'),
      ]
      let wrong = 0
      scene.model.knows('Merge other', {
        tasks: [],
        answer: ({ kind, text, task, isAgain }) => {
          if (kind !== 'resolve') return undefined
          if (task !== 'part-2' || isAgain) return done('Keep both.', ...good(text))
          wrong++
          return done('Keep both.', ...bad(text))
        },
      })
      const { code, err } = await scene.forge(['resolve', 'other', '--yes'])
      expect(code).toBe(0)
      expect(wrong).toBe(1)
      expect(await scene.journal(runIn(err))).toContainEqual(expect.stringMatching(/^failed part-2 /))
      expect(await scene.git('show', `forge/${runIn(err)}/result:src/9.txt`)).toBe('first\nboth\nlast')
    },
    LONG,
  )

  test(
    'asks where the judge refuses the merge, as with markers in comments, and lands none, nor elsewhere or one part alone',
    async () => {
      const edits = settled(() => '# <<<<<<< ours\nours\n# =======\ntheirs\n# >>>>>>> theirs\n')
      scene.model.knows('Merge other', {
        tasks: [],
        answer: ({ kind, text }) => (kind === 'resolve' ? done('Keep both.', ...edits(text)) : undefined),
      })
      const { code, err } = await scene.forge(['resolve', 'other', '--yes'])
      expect(code).toBe(4)
      const run = runIn(err)
      expect((await scene.status(run)).words).toContain('the judge of merges refuses it: Conflict markers were left in')
      const landed = await scene.forge(['land', run, '--yes', '--anyway'])
      expect(landed.code).toBe(1)
      expect(landed.err).toStartWith(
        'Nothing was merged, as the judge of merges refuses it: Conflict markers were left in',
      )
      const part = await scene.forge(['land', run, 'part-1', '--yes'])
      expect(part.err).toContain('A part of a merge is not landed by itself')
      const elsewhere = await scene.forge(['land', run, '--onto', 'deleted', '--yes'])
      expect(elsewhere.code).toBe(1)
      expect(elsewhere.err).toContain('This merge was begun on another branch than deleted')
      expect(await scene.git('rev-parse', 'main')).toBe(ours)
      await scene.forge(['stop', run])
    },
    LONG,
  )

  test(
    'lets a model choose where one side has deleted a file, and asks again where it makes no choice',
    async () => {
      let asked = ''
      scene.model.knows('Merge deleted', {
        tasks: [],
        answer: ({ kind, text, task }) => {
          if (kind !== 'resolve') return undefined
          asked += text
          const ids = [...text.matchAll(/^(C\d+) \(modify\/delete\)$/gm)].map(([, id = '']) => id)
          if (task === 'part-1' && !text.includes('has no resolution')) return done('Undecided.')
          const take = (id: string) => ({ id, take: id === 'C3' ? 'deleted' : 'ours' })
          return { ...done('Keep most of it.'), conflicts: ids.map(take) }
        },
      })
      const { code, err, out } = await scene.forge(['resolve', 'deleted', '--yes'])
      expect({ code, out: code === 0 ? '' : out + err }).toEqual({ code: 0, out: '' })
      expect(asked).toContain('C1 has no resolution: take one of ours, deleted.')
      const landed = await scene.forge(['land', runIn(err), '--yes'])
      expect({ code: landed.code, err: landed.err }).toEqual({ code: 0, err: '' })
      expect(await scene.git('ls-tree', '--name-only', 'main:src')).not.toContain('2.txt')
      expect(await scene.git('show', 'main:src/3.txt')).toBe('first\nours\nlast')
      await scene.git('reset', '--quiet', '--hard', ours)
    },
    LONG,
  )

  test('begins nothing where nothing is in conflict', async () => {
    expect(await scene.forge(['resolve', 'main', '--yes'])).toEqual({
      code: 1,
      out: '',
      err: 'Nothing is in conflict: git merge main does it by itself.\n',
    })
  })
})
