/** `forge land`: what the user sees before a merge, and that the merge is all or nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Approvals } from '../../../../forge/ai/approvals.ts'
import { commit, git } from '../../../support/git.ts'
import { done, planOf, says, task, write } from '../../../support/task-model.ts'
import { TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000

describe.skipIf(hasNoTemporal)('forge land', () => {
  let scene: TaskScene
  /** A run with a task a, and a task b that changes README.md. */
  let run = ''
  let base = ''
  beforeAll(async () => {
    scene = await TaskScene.open()
    base = await scene.git('rev-parse', 'main')
    const ended = await scene.run('landed', {
      tasks: [task('a'), task('b', { write: ['b.txt', 'README.md'], reviews: ['Is it right?'] })],
      answer: ({ kind, task }) =>
        kind === 'implement' && task === 'b'
          ? done('Make b.', write('b.txt', 'done\n'), write('README.md', '# Notes\n\nWith b.\n'))
          : undefined,
    })
    if (ended.code !== 0) throw new Error(ended.err + ended.out)
    run = ended.run
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  const land = (...args: string[]) => scene.forge(['land', run, ...args])
  /** Restores the state before anything was landed. */
  const reset = async (to = base) => {
    await scene.git('checkout', '--quiet', '--force', 'main')
    await scene.git('reset', '--hard', '--quiet', to)
    await scene.git('clean', '--quiet', '-fd')
  }

  test(
    'without a terminal merges only what was reviewed elsewhere, as one commit, and says how to undo it',
    async () => {
      await reset()
      expect((await land()).code).toBe(64)
      const { code, out, err } = await land('--yes')
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toContain('  A1 a.txt says done.\n     checked: grep -q done a.txt\n')
      expect(out).toContain('What reviewing models said:\n  b: good\nOnly commands have looked at a.\n')
      expect(out).toMatch(/README\.md +\| +2 \+\+/)
      expect(await scene.git('rev-parse', 'main^')).toBe(base)
      expect(await readFile(join(scene.folder, 'README.md'), 'utf8')).toContain('With b.')
      const message = await scene.git('log', '-1', '--format=%an%n%B')
      expect(message).toContain(`landed\n\n- a.txt says done.\n- b.txt says done.\n\nForge-Run: ${run}`)
      expect(await scene.git('status', '--porcelain')).toBe('')
      expect((await land('--yes')).out).toBe('main has all of it already.\n')
      // The landing is recorded as an operation, like those of the desk, in the same transaction.
      const operation = await scene.git('log', '-1', '--format=%B', 'refs/forge/operations')
      expect(operation).toStartWith(`land forge/${run}/result on main\n`)
      expect(JSON.parse(operation.split('\n\n')[1] ?? '')).toMatchObject({
        kind: 'land',
        refs: [
          { ref: 'refs/heads/main', before: base, after: await scene.git('rev-parse', 'main') },
          {
            ref: expect.stringContaining('refs/forge/kept/'),
            after: await scene.git('rev-parse', `forge/${run}/result`),
          },
        ],
      })
      const [, undo = ''] = /^To undo: (git .+)$/m.exec(out) ?? []
      await git(scene.folder, ...undo.split(' ').slice(1))
      expect(await scene.git('rev-parse', 'main')).toBe(base)
    },
    LONG,
  )

  test(
    'at a terminal shows the diff, and merges nothing without a yes',
    async () => {
      await reset()
      const terminal = scene.terminal(['land', run])
      await terminal.shows('(y/n/d/c): ')
      terminal.type('d\r')
      await terminal.shows('+With b.')
      await terminal.shows(/\(y\/n\/d\/c\): [\s\S]*\(y\/n\/d\/c\): /)
      terminal.type('n\r')
      const { code, text } = await terminal.ended()
      expect(text).toContain('Nothing was merged.')
      expect(code).toBe(4)
      expect(await scene.git('rev-parse', 'main')).toBe(base)
      const again = scene.terminal(['land', run])
      await again.shows('(y/n/d/c): ')
      again.type('y\r')
      expect((await again.ended()).code).toBe(0)
      expect(await scene.git('rev-parse', 'main^')).toBe(base)
    },
    LONG,
  )

  test(
    'refuses where work that is not committed is in the way, and keeps what is not',
    async () => {
      await reset()
      await writeFile(join(scene.folder, 'README.md'), '# Mine\n')
      const { code, err } = await land('--yes')
      expect(code).toBe(1)
      expect(err).toMatch(
        /^Nothing was merged, as .* could not follow: README\.md has changes there that are not committed\. Commit it/,
      )
      expect(await scene.git('rev-parse', 'main')).toBe(base)
      expect(await readFile(join(scene.folder, 'README.md'), 'utf8')).toBe('# Mine\n')
      await scene.git('checkout', '--quiet', 'README.md')
      await writeFile(join(scene.folder, 'other.txt'), 'mine\n')
      expect((await land('--yes')).code).toBe(0)
      expect(await readFile(join(scene.folder, 'other.txt'), 'utf8')).toBe('mine\n')
    },
    LONG,
  )

  test(
    'says what is under way in a checkout that is in the middle of a merge, and not to stash it',
    async () => {
      await reset()
      await scene.git('checkout', '--quiet', '-b', 'other', base)
      await commit(scene.folder, 'other', { 'README.md': '# Theirs\n' }, { parents: [base] })
      await scene.git('checkout', '--quiet', '--force', 'main')
      await writeFile(join(scene.folder, 'README.md'), '# Mine\n')
      const who = ['-c', 'user.name=You', '-c', 'user.email=y@e.example']
      await scene.git(...who, 'commit', '--quiet', '-am', 'Mine')
      await scene.git(...who, 'merge', 'other').catch(() => '')
      const { code, err } = await scene.forge(['land', run, 'a', '--yes'])
      expect(code).toBe(1)
      expect(err).toContain('A merge is under way there: finish it (git -C ')
      expect(err).not.toContain('stash')
      await scene.git('merge', '--abort')
      await scene.git('branch', '-D', 'other')
    },
    LONG,
  )

  test(
    'shows first what the checks do not show: a flaky one, one that held before, and one whose own file was changed',
    async () => {
      await reset()
      await writeFile(join(scene.folder, 'check.sh'), 'exit 1\n')
      await scene.git('add', '--all')
      const who = ['-c', 'user.name=You', '-c', 'user.email=y@e.example']
      await scene.git(...who, 'commit', '--quiet', '-m', 'A check')
      const was = join(scene.temporal.folder, 'was-here')
      const flaky = `test -e ${was} || { touch ${was}; exit 1; }`
      // A command that the linter can't judge without running it.
      const held = 'wc -l README.md'
      const planned = planOf('doubtful', [
        task('f', { write: ['f.txt', 'check.sh'], checks: [{ command: 'sh check.sh' }], reviews: ['Is it so?'] }),
      ])
      const contract = [flaky, held].map((command, at) => ({
        ...{ id: `A${at + 1}`, says: 'It is so.', how: { kind: 'command', command } },
      }))
      const [only] = planned.tasks as object[]
      const plan = { ...planned, contract, tasks: [{ ...only, claims: ['A1', 'A2'] }] }
      const ended = await scene.run('doubtful', {
        tasks: [],
        answer: ({ kind }) => {
          if (kind === 'plan') return says('success', 'Planned.', { plan })
          if (kind === 'review') return undefined
          return done('Make f.', write('f.txt', 'done\n'), write('check.sh', 'exit 0\n'))
        },
      })
      expect(ended.code).toBe(0)
      expect((await scene.status(ended.run)).words).toContain(
        'Its one task is done, and the contract holds, though the check of A2 passed before anything was done: ',
      )
      const { out } = await scene.forge(['land', ended.run, '--json'])
      expect(JSON.parse(out).doubts).toEqual([
        `A2: its check passed before anything was done, so it does not show that it was [${held}]`,
        // A long command is shortened.
        expect.stringMatching(/^A1: its check is flaky: it failed, and passed when it was run again \[test -e .*…/),
        'check.sh is changed here, and is what a check runs [sh check.sh]',
      ])
      await scene.forge(['runs', '--prune', ended.run, '--all'])
      await scene.git('reset', '--hard', '--quiet', base)
    },
    LONG,
  )

  test(
    'shows how many decisions there were as forge show does, and the checks of the contract whole when asked',
    async () => {
      await reset()
      const { words } = JSON.parse((await land('--json')).out) as { words: string[] }
      const shown = (await scene.forge(['show', run, '--journal'])).out
      const [, length = ''] = /: (\d+ decisions in [^,]*), begun/.exec(shown) ?? []
      expect(length).not.toBe('')
      expect(words.find(line => line.includes('decisions in'))).toContain(`${length}, of which `)
      const checks = await land('--checks')
      expect({ code: checks.code, out: checks.out }).toEqual({
        code: 0,
        out: 'A1 a.txt says done.\n  $ grep -q done a.txt\nA2 b.txt says done.\n  $ grep -q done b.txt\n',
      })
    },
    LONG,
  )

  test(
    'by two at once merges it once, and the other is told so in a sentence',
    async () => {
      await reset()
      const ends = await Promise.all([land('--yes'), land('--yes'), land('--yes')])
      expect(ends.filter(({ out }) => out.includes('Merged into main'))).toHaveLength(1)
      for (const { err } of ends) expect(err).not.toContain('not expected')
      expect(await scene.git('rev-parse', 'main^')).toBe(base)
    },
    LONG,
  )

  test(
    'merges into a branch that has moved on, and refuses where that is in conflict',
    async () => {
      await reset()
      await writeFile(join(scene.folder, 'more.txt'), 'more\n')
      await scene.git('add', '--all')
      await scene.git('-c', 'user.name=You', '-c', 'user.email=y@e.example', 'commit', '--quiet', '-m', 'More')
      expect((await land('--yes')).code).toBe(0)
      expect(await scene.git('ls-tree', '--name-only', 'main')).toBe('README.md\na.txt\nb.txt\nmore.txt')

      await reset()
      await writeFile(join(scene.folder, 'README.md'), '# Notes\n\nWithout b.\n')
      await scene.git('-c', 'user.name=You', '-c', 'user.email=y@e.example', 'commit', '--quiet', '-am', 'Other')
      const tip = await scene.git('rev-parse', 'main')
      const { code, err } = await land('--yes')
      expect(code).toBe(1)
      expect(err).toContain("1 file can't be merged by itself (README.md)")
      expect(err).toContain(`forge/${run}/result`)
      expect(await scene.git('rev-parse', 'main')).toBe(tip)
    },
    LONG,
  )

  test(
    'lands one task alone, and names what there is not',
    async () => {
      await reset()
      expect(await land('a', '--yes')).toMatchObject({ code: 0, err: '' })
      expect(await scene.git('ls-tree', '--name-only', 'main')).toBe('README.md\na.txt')
      expect(await scene.git('log', '-1', '--format=%s')).toBe('Make a')
      expect((await land('zebra', '--yes')).err).toBe(
        `The run ${run} has no task zebra: forge show ${run} lists them.\n`,
      )
      expect((await land('--onto', 'nowhere', '--yes')).err).toBe(
        'There is no branch nowhere: git branch lists them.\n',
      )
      await scene.git('checkout', '--quiet', '--detach')
      expect((await land('--yes')).err).toBe('No branch is checked out here: say with --onto which one it goes to.\n')
    },
    LONG,
  )

  test(
    'works from a linked worktree and in a bare repository, and other checkouts follow',
    async () => {
      await reset()
      const linked = join(scene.temporal.folder, 'linked')
      await scene.git('worktree', 'add', '--quiet', '-b', 'beside', linked)
      expect(await scene.forge(['land', run, '--yes'], { cwd: linked })).toMatchObject({ code: 0, err: '' })
      expect(await readFile(join(linked, 'a.txt'), 'utf8')).toBe('done\n')
      expect(await scene.git('rev-parse', 'main')).toBe(base)
      const { code, out } = await scene.forge(['land', run, '--yes', '--onto', 'main'], { cwd: linked })
      expect(code).toBe(0)
      expect(await readFile(join(scene.folder, 'a.txt'), 'utf8')).toBe('done\n')
      // The printed command undoes the merge.
      const [, undo = ''] = /^To undo: (git -C .+)$/m.exec(out) ?? []
      await git('/', ...undo.split(' ').slice(1))
      expect(await scene.git('rev-parse', 'main')).toBe(base)
      expect(await scene.git('status', '--porcelain')).toBe('')
      await scene.git('worktree', 'remove', '--force', linked)

      await reset()
      const bare = join(scene.temporal.folder, 'bare.git')
      await git('/', 'clone', '--quiet', '--bare', scene.folder, bare)
      await git(
        bare,
        'fetch',
        '--quiet',
        scene.folder,
        'refs/forge/*:refs/forge/*',
        'refs/heads/forge/*:refs/heads/forge/*',
      )
      const landed = await scene.forge(['land', run, '--yes', '--onto', 'main'], { cwd: bare })
      expect(landed).toMatchObject({ code: 0, err: '' })
      expect(landed.out).toContain(`To undo: git update-ref refs/heads/main ${base}`)
      expect(await git(bare, 'show', 'main:a.txt')).toBe('done')
      await rm(bare, { recursive: true })
    },
    LONG,
  )

  describe('what was not checked by the user’s own worker', () => {
    const key = () => join(scene.temporal.folder, 'config/forge/signing_key')
    const away = () => rename(key(), `${key()}.away`)
    const back = async () => {
      await rm(key(), { force: true })
      await rename(`${key()}.away`, key())
    }
    const unchecked = (why: string) =>
      `This was not checked by you, as ${why}. forge land ${run} --check runs all checks here first; --anyway merges it as it is.`
    const refused = (why: string) => `Nothing was merged. ${unchecked(why)}\n`

    test(
      'is shown as such and not merged, where the key is gone or another one',
      async () => {
        await reset()
        await away()
        try {
          const gone = 'the key that its checks were signed with is gone (signing_key in ~/.config/forge)'
          const { code, err, out } = await land('--yes')
          expect({ code, err }).toEqual({ code: 1, err: refused(gone) })
          expect(out).toContain('What is to be true, and was not checked by you:')
          expect(JSON.parse((await land('--json')).out).unchecked).toBe(unchecked(gone))
          const shown = (await scene.forge(['show', run])).out
          expect(shown).toContain(`The result was not checked by you: ${gone}.`)
          expect(shown).toContain(`What a came to was not checked by you: ${gone}.`)
          await new Approvals(dirname(key())).sign(
            { kind: 'command', scope: '', name: '', content: Buffer.of() },
            'sha1',
          )
          const { err: other } = await land('--yes')
          expect(other).toMatch(
            /as its checks were signed with a key that does not count here \(SHA256:[\w+/]{43}\): forge trust/,
          )
          // The first key is trusted as that of another machine: what was checked there counts.
          const first = `${key()}.away`
          const publicKey = await Bun.$`ssh-keygen -y -f ${first}`.text()
          expect(await scene.forge(['trust', '--only', 'results', publicKey])).toMatchObject({ code: 0, err: '' })
          expect((await land('--json')).out).not.toContain('unchecked')
          const [, name = ''] = /\((SHA256:.*?)\)/.exec(other) ?? []
          expect((await scene.forge(['trust'])).out).toContain(`(${name}), for only results`)
          expect((await scene.forge(['trust', '--remove', name])).out).toStartWith('Not trusted any more: ')
          expect((await land('--yes')).err).toBe(other)
          expect(await scene.git('rev-parse', 'main')).toBe(base)
        } finally {
          await back()
        }
        expect((await land('--json')).out).not.toContain('unchecked')
      },
      LONG,
    )

    test(
      'is merged anyway where the person says so, and the commit says it',
      async () => {
        await reset()
        await away()
        try {
          expect(await land('--yes', '--anyway')).toMatchObject({ code: 0, err: '' })
        } finally {
          await back()
        }
        expect(await scene.git('log', '-1', '--format=%(trailers:key=Forge-Unchecked,valueonly)')).toContain('is gone')
      },
      LONG,
    )

    test(
      'is checked here when the person says so, and merged where that is well',
      async () => {
        await reset()
        const result = `forge/${run}/result`
        const before = await scene.git('rev-parse', result)
        // A commit of no task: within the boundaries, but against the contract.
        const bad = await commit(scene.folder, result, { 'a.txt': 'nothing\n' })
        const other = await land('--yes')
        expect(other).toMatchObject({ code: 1, err: refused('there is no signature of yours for its checks') })
        const failed = await land('--yes', '--check')
        expect(failed.code).toBe(1)
        expect(failed.err).toEndWith(
          'Nothing was merged, as it was checked here and did not pass: 1 of 2 checks failed: grep -q done a.txt\n',
        )
        expect((await land('--yes')).err).toBe(refused('its checks failed'))
        const good = await commit(scene.folder, result, { 'a.txt': 'done again\n' })
        expect(good).not.toBe(bad)
        expect((await land('--yes')).code).toBe(1)
        const { code, out } = await land('--yes', '--check')
        expect({ code, isChecked: out.includes('and how that was checked:') }).toEqual({ code: 0, isChecked: true })
        expect(await readFile(join(scene.folder, 'a.txt'), 'utf8')).toBe('done again\n')
        await reset()
        // A file that no task may write.
        await commit(scene.folder, result, { 'c.txt': 'c\n' })
        expect((await land('--yes', '--check')).err).toContain(
          'did not pass: 1 violation of its boundaries: c.txt is outside of what any of the tasks may change',
        )
        await scene.git('update-ref', `refs/heads/${result}`, before)
      },
      LONG,
    )

    test(
      'at a terminal is checked after a look at commands that were not approved',
      async () => {
        await reset()
        await away()
        try {
          const terminal = scene.terminal(['land', run, '--check'])
          await terminal.shows('Run them? yes or no (y/n): ')
          expect(terminal.text).toContain('  grep -q done a.txt')
          terminal.type('y\r')
          await terminal.shows('(y/n/d/c): ')
          terminal.type('y\r')
          expect((await terminal.ended()).code).toBe(0)
          expect(await scene.git('rev-parse', 'main^')).toBe(base)
        } finally {
          await back()
        }
      },
      LONG,
    )
  })

  test(
    'signs where the repository signs, and merges nothing where that fails',
    async () => {
      await reset()
      const program = join(scene.temporal.folder, 'bin/signer')
      await writeFile(
        program,
        `#!/bin/sh\ncat >/dev/null\n[ -z "$SIGNER_FAILS" ] || exit 1\nprintf '\\n[GNUPG:] SIG_CREATED D\\n' >&2\n` +
          `printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nAAAA\\n-----END PGP SIGNATURE-----\\n'\n`,
        { mode: 0o755 },
      )
      await scene.git('config', 'gpg.program', program)
      await scene.git('config', 'commit.gpgSign', 'true')
      try {
        const failed = await scene.forge(['land', run, '--yes'], { env: { SIGNER_FAILS: '1' } })
        expect(failed.code).toBe(1)
        expect(failed.err).toMatch(/sign/i)
        expect(failed.err).not.toContain('not expected')
        expect(await scene.git('rev-parse', 'main')).toBe(base)
        expect((await land('--yes')).code).toBe(0)
        expect(await scene.git('cat-file', 'commit', 'main')).toContain('gpgsig -----BEGIN PGP SIGNATURE-----')
      } finally {
        await scene.git('config', '--unset', 'commit.gpgSign')
      }
    },
    LONG,
  )

  test(
    'makes its run one whose branches go with a plain --prune, which says how they come back',
    async () => {
      await reset()
      expect((await land('--yes')).code).toBe(0)
      const tip = await scene.git('rev-parse', `forge/${run}/result`)
      const { code, out } = await scene.forge(['runs', '--prune', run])
      expect(code).toBe(0)
      expect(out).toMatch(
        new RegExp(`^${run}: \\d+ refs and its folder are gone\\.\n  To bring back a branch: git branch`),
      )
      expect(await scene.git('branch', '--list', 'forge/*')).toBe('')
      const [, back = ''] = /: git (branch \S+ \S+?)(,|$)/m.exec(out) ?? []
      await scene.git(...back.split(' '))
      expect(await scene.git('rev-parse', `forge/${run}/result`)).toBe(tip)
    },
    LONG,
  )
})
