/** `forge resolve`: a merge in parts, from its conflicts to one merge commit. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mergeInPartsIn } from '../../../../core/formats/merge-in-parts.ts'
import { readMergeOnDesk } from '../../../../forge/formats/merge-on-desk.ts'
import { commit, git } from '../../../support/git.ts'
import { done, says, write } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000
const NAMES = Array.from({ length: 10 }, (_, at) => `src/${at}.txt`)
const filesOf = (word: string) => Object.fromEntries(NAMES.map(name => [name, `first\n${word}\nlast\n`]))
const settled = (word: (name: string) => string) => (text: string) =>
  NAMES.filter(name => new RegExp(`^${name}$`, 'm').test(text)).map(name => write(name, `first\n${word(name)}last\n`))

type Sides = { ours: string; theirs: string }

/**
 * The directory of a run of Forklift whose agent has resolved one file, and asks about another; or, with exit code 2,
 * ran out of time. Gives its name.
 */
async function endedRun(scene: TaskScene, { ours, theirs }: Sides, exitCode: 2 | 4 = 4): Promise<string> {
  const name = `repository_20261124_10111${exitCode}`
  const path = join(scene.env.XDG_STATE_HOME ?? '', 'forklift/runs', name)
  const [workspace, state] = [join(path, 'workspace'), join(path, 'harness-state')]
  await mkdir(state, { recursive: true })
  await git(scene.folder, 'clone', '--quiet', '--no-hardlinks', '--no-checkout', scene.folder, workspace)
  await git(workspace, 'checkout', '--quiet', '-B', 'main', ours)
  const who = ['-c', 'user.name=Agent', '-c', 'user.email=agent@nowhere.example']
  const merge = [...who, '-c', 'merge.conflictStyle=zdiff3', 'merge', '--quiet', '--no-edit', theirs]
  await git(workspace, ...merge).catch(() => undefined)
  await writeFile(join(workspace, 'src/0.txt'), 'first\nby the agent\nlast\n')
  const forkMd = 'The fork says: keep both.\n'
  await writeFile(join(state, 'fork-context.md'), forkMd)
  if (exitCode === 4) await writeFile(join(path, 'STUCK.md'), 'Which side of src/5.txt?\n')
  const startedAt = `2026-11-24T10:11:1${exitCode}.000Z`
  const metadata = {
    ...{ version: '1', origin: 'https://forge.example/me/fork', upstream: 'https://forge.example/up/project' },
    ...{ branch: 'main', upstreamBranch: 'main', originCommit: ours, startCommit: ours, upstreamCommit: theirs },
    ...{ conflicts: NAMES.map(path => ({ path, base: '', ours: '', theirs: '' })), startedAt },
    ...{ forkMd: new Bun.CryptoHasher('sha256').update(forkMd).digest('hex'), image: '', container: '' },
    ...{ model: 'agent-model', variant: '', agent: 'build', timeLimitSeconds: 480 },
  }
  const outcome = exitCode === 4 ? 'The agent is stuck' : 'The agent ran out of time'
  const ended = { exitCode, outcome, startedAt, endedAt: startedAt }
  await writeFile(join(path, 'metadata.json'), JSON.stringify(metadata))
  await writeFile(join(path, 'agent.json'), JSON.stringify({ exitCode, seconds: 1 }))
  await writeFile(join(path, 'outcome.json'), JSON.stringify(ended))
  return name
}

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

  test(
    'continues a run of Forklift that got stuck: keeps what its agent resolved, and leaves a branch to publish',
    async () => {
      const run = await endedRun(scene, { ours, theirs })
      let told = ''
      const edits = settled(name => `${name} of both\n`)
      scene.model.knows('Merge upstream', {
        tasks: [],
        answer: ({ kind, text }) => {
          if (kind !== 'resolve') return undefined
          told += text
          return done('Keep both.', ...edits(text))
        },
      })
      const { code, err, out } = await scene.forge(['resolve', '--forklift', run, '--yes'])
      expect({ code, out: code === 0 ? '' : out + err }).toEqual({ code: 0, out: '' })
      expect(err).toContain("1 conflict resolved by Forklift's agent is kept.\n9 files in conflict, in 2 parts.\n")
      expect(told).toContain('The fork says: keep both.')
      expect(told).toContain('Which side of src/5.txt?')
      expect(told).not.toContain('\nsrc/0.txt')
      const landed = await scene.forge(['land', runIn(err), '--yes'])
      expect({ code: landed.code, err: landed.err }).toEqual({ code: 0, err: '' })
      const branch = `forklift-${run.slice(-15)}`
      expect(landed.out).toContain(`To open the pull request: forklift --publish ${branch}\n`)
      expect(await scene.git('log', '-1', '--format=%P', branch)).toBe(`${ours} ${theirs}`)
      expect(await scene.git('show', `${branch}:src/0.txt`)).toBe('first\nby the agent\nlast')
      expect(await scene.git('show', `${branch}:src/5.txt`)).toBe('first\nsrc/5.txt of both\nlast')
      expect(await scene.git('rev-parse', 'main')).toBe(ours)
      const how = mergeInPartsIn(await scene.git('log', '-1', '--format=%B', branch))
      expect(how).toMatchObject({ parts: 2, files: 9, left: 0, before: { model: 'agent-model', conflicts: 1 } })
      expect(how?.models).toEqual([{ model: expect.stringContaining('/'), parts: 2 }])
    },
    LONG,
  )

  test(
    'continues a run of Forklift that ran out of time in the middle of its merge',
    async () => {
      const run = await endedRun(scene, { ours, theirs }, 2)
      const edits = settled(name => `${name} of both\n`)
      scene.model.knows('Merge upstream', {
        tasks: [],
        answer: ({ kind, text }) => (kind === 'resolve' ? done('Keep both.', ...edits(text)) : undefined),
      })
      const { code, err, out } = await scene.forge(['resolve', '--forklift', run, '--yes'])
      expect({ code, out: code === 0 ? '' : out + err }).toEqual({ code: 0, out: '' })
      expect(err).toContain("1 conflict resolved by Forklift's agent is kept.\n9 files in conflict, in 2 parts.\n")
      const landed = await scene.forge(['land', runIn(err), '--yes'])
      expect({ code: landed.code, err: landed.err }).toEqual({ code: 0, err: '' })
      const branch = `forklift-${run.slice(-15)}`
      expect(await scene.git('log', '-1', '--format=%P', branch)).toBe(`${ours} ${theirs}`)
      expect(await scene.git('show', `${branch}:src/0.txt`)).toBe('first\nby the agent\nlast')
      expect(await scene.git('show', `${branch}:src/5.txt`)).toBe('first\nsrc/5.txt of both\nlast')
    },
    LONG,
  )

  test(
    'keeps what is resolved for the desk, where a part is left',
    async () => {
      const edits = settled(() => 'both\n')
      scene.model.knows('Merge other', {
        tasks: [],
        answer: ({ kind, text, task }) => {
          if (kind !== 'resolve') return undefined
          return task === 'part-1'
            ? says('blocked_on_human', 'Unclear.', { question: 'Which?' })
            : done('Both.', ...edits(text))
        },
      })
      const { code, err } = await scene.forge(['resolve', 'other', '--yes'])
      expect(code).toBe(4)
      const opened = await scene.forge(['resolve', '--open', runIn(err), '--json'])
      expect({ code: opened.code, err: opened.err }).toEqual({ code: 0, err: '' })
      expect(JSON.parse(opened.out)).toEqual({ run: runIn(err), branch: `merge-${runIn(err)}`, left: 8 })
      const ref = `refs/forge/runs/${runIn(err)}/merge`
      expect(await scene.git('log', '-1', '--format=%P', ref)).toBe(`${ours} ${theirs}`)
      expect(await scene.git('show', `${ref}:src/9.txt`)).toBe('first\nboth\nlast')
      const told = readMergeOnDesk(await scene.git('log', '-1', '--format=%B', ref))
      expect(told?.open).toContain('src/0.txt')
      expect(told?.open).not.toContain('src/9.txt')
      await scene.forge(['stop', runIn(err)])
    },
    LONG,
  )

  test(
    'runs the project’s checks on the whole merge only, and compares them with the branch that is merged into',
    async () => {
      const check = '! grep -rq broken src'
      const forge = `# Notes\n\n## Checks\n\n- \`${check}\`\n`
      await commit(scene.folder, 'main', { 'FORGE.md': forge }, { parents: [ours] })
      await scene.git('reset', '--quiet', '--hard', 'main')
      const bad = settled(name => (name === 'src/9.txt' ? 'broken\n' : 'both\n'))
      scene.model.knows('Merge other', {
        tasks: [],
        answer: ({ kind, text }) => (kind === 'resolve' ? done('Keep both.', ...bad(text)) : undefined),
      })
      const { code, err } = await scene.forge(['resolve', 'other', '--yes'])
      expect(code).toBe(4)
      const status = await scene.status(runIn(err))
      expect(status.tasks.map(({ state }) => state)).toEqual(['done', 'done'])
      expect(status.words).toContain(`1 of 3 checks failed: ${check}`)
      await scene.forge(['stop', runIn(err)])
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
