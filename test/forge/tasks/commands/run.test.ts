/** `forge run`: the plan and its approval, refusals before anything is paid, and how it ends. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { commit, git } from '../../../support/git.ts'
import { type AskedStep, planOf, says, task } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000

let scene: TaskScene

/** The path of the plan's file in a command's output. */
const planFile = (out: string): string => /The plan is in (\S+\.plan\.yaml)/.exec(out)?.[1] ?? ''

describe.skipIf(hasNoTemporal)('forge run', () => {
  beforeAll(async () => {
    scene = await TaskScene.open()
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  test(
    'does a wish in a file, and says how to look at the result',
    async () => {
      scene.model.knows('from-a-file', {
        tasks: [task('a'), task('b', { after: ['a'], size: 'medium', write: ['b.txt', 'c.txt'] })],
      })
      await writeFile(join(scene.folder, 'TASK.md'), '# from-a-file\n\nMake a, then b.\n')
      const { code, out, err } = await scene.forge(['run', '--yes', 'TASK.md'])
      expect(code).toBe(0)
      const run = runIn(err)
      expect(err).toBe(`Run ${run}\n`)
      expect(run).toMatch(/^\d{8}-from-a-file-make-[a-z0-9]{5}$/)
      expect(out).toContain(`forge land ${run}`)
      expect(await scene.git('show', `forge/${run}/result:b.txt`)).toBe('done')
      expect(scene.model.asked('from-a-file')).toEqual(['plan', 'implement a', 'outline b', 'implement b'])
      expect(await scene.git('status', '--porcelain')).toBe('?? TASK.md')
    },
    LONG,
  )

  test(
    'says what is not committed, and so no part of it',
    async () => {
      scene.model.knows('uncommitted', { tasks: [task('a')] })
      for (const name of ['draft-1.txt', 'draft-2.txt', 'draft-3.txt', 'draft-4.txt'])
        await writeFile(join(scene.folder, name), 'mine\n')
      const { code, err } = await scene.forge(['run', '--plan', 'uncommitted'])
      expect(code).toBe(0)
      expect(err).toMatch(
        /^Not part of this run: what is not committed \(\d files: .*draft-1\.txt.* and others\)\. It begins/,
      )
      expect((await scene.forge(['run', '--plan', '--base', 'main', 'uncommitted'])).err).not.toContain('Not part')
      await scene.git('clean', '--quiet', '-f', 'draft-*.txt', '*.plan.yaml')
    },
    LONG,
  )

  test(
    'tells the planner with its first question what the repository has on the words of the wish',
    async () => {
      scene.model.knows('about-tides', { tasks: [task('a')] })
      const code = {
        'sea/tides.ts': '// tideTable\nexport function tideTable(): void {}\n',
        'sea/other.ts': 'tideTable()\n',
      }
      const base = await commit(scene.folder, 'with-code', code, { message: 'Add the tides' })
      expect(
        (await scene.forge(['run', '--plan', `--base=${base}`, 'about-tides: let tideTable of Tides be faster'])).code,
      ).toBe(0)
      const [first] = scene.model.heard.get('about-tides') ?? []
      expect(first?.text).toContain('Definitions of its names:\n- tideTable: sea/tides.ts, line 2\n')
      expect(first?.text).toContain('Files of its names:\n- sea/tides.ts\n')
      expect(first?.text).toMatch(/The last commits:\n- \S+ Add the tides\n/)
      await scene.git('clean', '--quiet', '-f', '*.plan.yaml')
    },
    LONG,
  )

  test(
    '--detach starts the run, prints its name, and leaves the plan to be approved',
    async () => {
      scene.model.knows('detached', { tasks: [task('a')] })
      const { code, out, err } = await scene.forge(['run', '--detach', '--json', '--base=refs/heads/main', 'detached'])
      expect({ code, err }).toEqual({ code: 0, err: '' })
      const { run, notes } = JSON.parse(out)
      expect(notes.join()).not.toContain('draft.txt')
      expect((await scene.forge(['attach', run])).out).toContain('The plan waits for a yes')
      expect((await scene.forge(['resume', run, '--yes'])).code).toBe(0)
      expect(await scene.forge(['attach', run])).toMatchObject({ code: 0 })
      expect(await scene.git('show', `forge/${run}/result:a.txt`)).toBe('done')
      await writeFile(join(scene.folder, 'draft.txt'), 'mine\n')
      const second = await scene.forge(['run', '--detach', '--json', 'detached'])
      const warned = JSON.parse(second.out)
      expect(warned.notes.join()).toContain('draft.txt')
      expect(await scene.forge(['stop', warned.run])).toMatchObject({ code: 0 })
      await scene.git('clean', '--quiet', '-f', 'draft.txt')
      expect((await scene.forge(['run', '--json', '--yes', 'detached'])).err).toStartWith('--json needs --detach')
      expect((await scene.forge(['run', '--plan', '--detach', 'x'])).err).toStartWith('Either --plan or --detach')
    },
    LONG,
  )

  test(
    'knows a plan by its content, and never sends it to a model as a wish',
    async () => {
      scene.model.knows('renamed', { tasks: [task('a')] })
      const planned = await scene.forge(['run', '--plan', 'renamed'])
      const text = await readFile(join(scene.folder, planFile(planned.out)), 'utf8')
      for (const [name, content] of [
        ['plan.json', JSON.stringify(parse(text))],
        ['notes.yaml', text.replace(/^#.*\n/gm, '')],
      ] as const) {
        await writeFile(join(scene.folder, name), content)
        expect((await scene.forge(['run', '--yes', name])).code).toBe(0)
        await rm(join(scene.folder, name))
      }
      expect(scene.model.asked('renamed').filter(kind => kind === 'plan')).toHaveLength(1)
    },
    LONG,
  )

  test(
    '--plan stops at the plan, and an edited one is done when it is given back',
    async () => {
      scene.model.knows('only-planned', { tasks: [task('a')] })
      const planned = await scene.forge(['run', '--plan', 'only-planned'])
      expect(planned).toMatchObject({ code: 0 })
      const file = planFile(planned.out)
      expect(scene.model.asked('only-planned')).toEqual(['plan'])
      const [listed = ''] = (await scene.forge(['runs'])).out.split('\n')
      expect(listed).toContain('only planned, 1 task ')
      expect((await scene.forge(['resume', 'last'])).err).toContain('has made its plan, and that was all')
      expect((await scene.forge(['stop', 'last'])).err).toMatch(/^The run \S+ has ended already: forge show/)
      const path = join(scene.folder, file)
      const text = await readFile(path, 'utf8')
      await writeFile(path, text.replace('title: Make a', 'title: Make it by hand'))
      const { code, err } = await scene.forge(['run', '--yes', file])
      expect(code).toBe(0)
      expect((await scene.status(runIn(err))).tasks).toMatchObject([{ title: 'Make it by hand', state: 'done' }])
      expect(scene.model.asked('only-planned')).toEqual(['plan', 'implement a'])
    },
    LONG,
  )

  test(
    'a plan that the linter refuses is not begun, and a better one is answered',
    async () => {
      scene.model.knows('edited-badly', { tasks: [task('a')] })
      const { out } = await scene.forge(['run', '--plan', 'edited-badly'])
      const path = join(scene.folder, planFile(out))
      await writeFile(
        path,
        (await readFile(path, 'utf8')).replace('title: Make a', 'title: Make a\n    depends_on: [b]'),
      )
      const { code, out: refused, err } = await scene.forge(['run', '--yes', planFile(out)])
      expect(code).toBe(4)
      expect(refused).toContain('The linter refuses this plan')
      expect(refused).toContain(`forge answer ${runIn(err)} "…"`)
      await writeFile(path, 'title: [\n')
      expect(await scene.forge(['run', '--yes', path])).toMatchObject({
        code: 1,
        err: expect.stringMatching(/line \d+: this is no YAML/),
      })
    },
    LONG,
  )

  test(
    'a planner that plans badly three times is a person’s matter',
    async () => {
      const circle = planOf('circular', [task('a', { after: ['b'] }), task('b', { after: ['a'] })])
      const good = planOf('circular', [task('a')])
      const { code, out, run } = await scene.run('circular', {
        tasks: [],
        plan: circle,
        answer: ({ kind, answered }) =>
          kind === 'plan' && answered ? says('success', 'Now.', { plan: good }) : undefined,
      })
      expect(code).toBe(4)
      expect(scene.model.asked('circular')).toEqual(['plan', 'plan', 'plan'])
      expect(out).toContain('No plan is good after 3 tries')
      await scene.forge(['answer', run, 'Only a.'])
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'ends with 2 where the requests are used up, sends no more than those, and goes on with more',
    async () => {
      const { code, out, run } = await scene.run(
        'spent',
        {
          tasks: [task('a'), task('b')],
          answer: ({ kind, task, isAgain }) =>
            kind === 'implement' && task === 'a' && !isAgain ? says('failure_retryable', 'Not so.') : undefined,
        },
        ['--requests', '3'],
      )
      expect(code).toBe(2)
      expect(scene.model.asked('spent')).toHaveLength(3)
      expect(out).toContain(`forge resume ${run} --requests`)
      const without = await scene.forge(['resume', run])
      expect(without.code).toBe(1)
      expect(without.err).toContain('has used up its limits')
      expect(await scene.forge(['resume', run, '--requests', '10'])).toMatchObject({ code: 0, err: '' })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(scene.model.asked('spent').sort()).toEqual(['implement a', 'implement a', 'implement b', 'plan'])
    },
    LONG,
  )

  test(
    'ends with 2 where the dollars are used up, before that would be passed',
    async () => {
      const { code, out, run } = await scene.run('dear', { tasks: [task('a')] }, ['--budget', '0.03'])
      expect(code).toBe(2)
      expect(out).toContain(`forge resume ${run} --budget`)
      const { spent } = await scene.status(run)
      expect(spent.cost).toBeLessThan(0.03)
      await scene.forge(['resume', run, '--budget', '5'])
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'without a terminal asks nobody, and says what to use instead',
    async () => {
      expect(await scene.forge(['run', 'anything'])).toEqual({
        code: 64,
        out: '',
        err: 'There is no terminal to ask on: use --yes, --plan or --detach.\n',
      })
    },
    LONG,
  )

  test.each([
    [[], /^Something is missing: forge run TASK/],
    [['two', 'words'], /^That is too much/],
    [['--budget', 'much', 'x'], /^--budget wants an amount in US dollars/],
    [['--requests', '0', 'x'], /^--requests wants a whole number from 1 on/],
    [['--minutes', '-1', 'x'], /./],
    [['--at-most', '1.5', 'x'], /^--at-most wants a whole number/],
    [['--loud', 'x'], /^Unknown option '--loud'/],
  ])('refuses wrong usage: %p', async (args, words) => {
    const { code, err } = await scene.forge(['run', '--yes', ...args])
    expect(err).toMatch(words)
    expect(err.trimEnd().split('\n')).toHaveLength(1)
    expect(code).toBe(64)
  })

  test('refuses names that mean nothing', async () => {
    expect((await scene.forge(['run', '--yes', 'NOTHING.md'])).err).toStartWith('There is no file NOTHING.md')
    expect((await scene.forge(['run', '--yes', '--base', 'nowhere', 'x'])).err).toStartWith(
      'There is no branch or commit nowhere',
    )
    expect((await scene.forge(['run', '--yes', ''])).code).toBe(64)
    expect((await scene.forge(['show', 'nothing-0000'])).err).toStartWith('There is no run nothing-0000')
    expect((await scene.forge(['attach', '../..'])).err).toStartWith('There is no run ../..')
  })

  test(
    'is refused where there is no repository, or nothing in it yet',
    async () => {
      const nowhere = join(scene.temporal.folder, 'nowhere')
      await mkdir(nowhere)
      const without = await scene.forge(['run', '--yes', 'x'], { cwd: nowhere })
      expect(without).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringMatching(/^There is no git repository in .*\n$/),
      })
      await git(nowhere, 'init', '--quiet')
      const empty = await scene.forge(['run', '--yes', 'x'], { cwd: nowhere })
      expect(empty.err).toBe('This repository has no commit yet to start from: make one, and try again.\n')
      expect(empty.code).toBe(1)
    },
    LONG,
  )

  test('says what to set where there is no model, or no key for it', async () => {
    const env = { XDG_CONFIG_HOME: join(scene.temporal.folder, 'empty') }
    const none = await scene.forge(['run', '--yes', 'x'], { env })
    expect(none.code).toBe(1)
    expect(none.err).toMatch(/^To ask a model, set FORGE_MODEL /)
    const keyless = await scene.forge(['run', '--yes', 'x'], { env: { ...env, FORGE_MODEL: 'anthropic/claude' } })
    expect(keyless.code).toBe(1)
    expect(keyless.err).toContain('ANTHROPIC_API_KEY')
    expect((await scene.forge(['runs'], { env })).code).toBe(0)
  })

  test(
    'at a terminal shows the plan with every command, and asks; later is asked again',
    async () => {
      const command = "grep -q done a.txt && echo '\u001b[31m' >/dev/null"
      scene.model.knows('approved-later', { tasks: [task('a', { checks: [{ command }] })] })
      const first = scene.terminal(['run', 'approved-later'])
      await first.shows('(y/n/l/e/c): ')
      expect(first.text).toContain('grep -q done a.txt')
      expect(first.text).toContain("grep -q done a.txt && echo '")
      expect(first.out).not.toContain(command)
      first.type('what\r')
      await first.shows(/\(y\/n\/l\/e\/c\): [\s\S]*\(y\/n\/l\/e\/c\): /)
      first.type('l\r')
      const { code, text } = await first.ended()
      expect(code).toBe(4)
      const run = runIn(text)
      expect(text).toContain(`forge attach ${run}`)
      expect(scene.model.asked('approved-later')).toEqual(['plan'])
      const again = scene.terminal(['attach', run])
      await again.shows('(y/n/l/e/c): ')
      again.type('y\r')
      expect((await again.ended()).code).toBe(0)
      expect((await scene.status(run)).state).toBe('done')
    },
    LONG,
  )

  test(
    'at a terminal the plan is edited, and is what was shown after that',
    async () => {
      scene.model.knows('edited-here', { tasks: [task('a')] })
      const [editor, good] = ['editor', 'good.yaml'].map(name => join(scene.temporal.folder, name))
      // The editor breaks the file the first time, and corrects it the second time.
      await writeFile(
        editor ?? '',
        [
          '#!/bin/sh',
          `if [ -e ${good} ]; then sed 's/title: Make a$/title: Make it by hand/' ${good} >"$1"`,
          `else cp "$1" ${good} && echo 'title: [' >"$1"; fi`,
        ].join('\n'),
        { mode: 0o755 },
      )
      const terminal = scene.terminal(['run', 'edited-here'], { env: { GIT_EDITOR: editor } })
      await terminal.shows('(y/n/l/e/c): ')
      terminal.type('e\r')
      await terminal.shows(/line \d+: this is no YAML/)
      await terminal.shows(/\(y\/n\/l\/e\/c\): [\s\S]*\(y\/n\/l\/e\/c\): /)
      // A yes after a broken edit is not taken: it would approve another plan than the one just written.
      terminal.type('y\r')
      await terminal.shows('Your last edit was not taken')
      await terminal.shows(/was not taken[\s\S]*\(y\/n\/l\/e\/c\): /)
      terminal.type('e\r')
      await terminal.shows(/Make it by hand[\s\S]*\(y\/n\/l\/e\/c\): /)
      terminal.type('y\r')
      const { code, text } = await terminal.ended()
      expect(code).toBe(0)
      expect((await scene.status(runIn(text))).tasks).toMatchObject([{ title: 'Make it by hand', state: 'done' }])
      expect(scene.model.asked('edited-here')).toEqual(['plan', 'implement a'])
    },
    LONG,
  )

  test(
    'forge approve goes on with an edit that the linter refuses, until it is taken',
    async () => {
      scene.model.knows('refused-edit', { tasks: [task('a')] })
      const editor = join(scene.temporal.folder, 'two-editors')
      const [good, bad] = ['grep -q done a.txt', 'echo done']
      const swap = `if grep -q '${good}' "$1"; then sed -i 's/${good}/${bad}/' "$1"; else sed -i 's/${bad}/${good}/' "$1"; fi`
      await writeFile(editor, `#!/bin/sh\n${swap}\n`, { mode: 0o755 })
      const planned = scene.terminal(['run', 'refused-edit'])
      await planned.shows('(y/n/l/e/c): ')
      planned.type('l\r')
      const run = runIn((await planned.ended()).text)
      const terminal = scene.terminal(['approve', run], { env: { GIT_EDITOR: editor } })
      await terminal.shows('(y/n/l/e/c): ')
      terminal.type('e\r')
      await terminal.shows(/\$ echo done[\s\S]*\(y\/n\/l\/e\/c\): /)
      terminal.type('y\r')
      await terminal.shows(/can never fail[\s\S]*\(y\/n\/l\/e\/c\): /)
      terminal.type('e\r')
      await terminal.shows(/can never fail[\s\S]*\$ grep -q done a\.txt[\s\S]*\(y\/n\/l\/e\/c\): /)
      terminal.type('y\r')
      expect((await terminal.ended()).code).toBe(0)
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'at a terminal a person says what is to be different, and is asked about the new plan',
    async () => {
      const plans = [planOf('worded', [task('a')]), planOf('worded', [task('a'), task('b')])]
      scene.model.knows('worded', {
        tasks: [],
        answer: ({ kind, answered }) =>
          kind === 'plan' ? says('success', 'A plan.', { plan: plans[answered === '' ? 0 : 1] }) : undefined,
      })
      const terminal = scene.terminal(['run', 'worded'])
      await terminal.shows('(y/n/l/e/c): ')
      terminal.type('c\r')
      await terminal.shows('What is to be different? ')
      terminal.type('Make b as well.\r')
      await terminal.shows(/Make b \([\s\S]*\(y\/n\/l\/e\/c\): /)
      terminal.type('n\r')
      expect((await terminal.ended()).code).toBe(1)
      expect(scene.model.heard.get('worded')?.at(-1)?.answered).toContain('Make b as well.')
    },
    LONG,
  )

  test(
    'a plan that was seen elsewhere is approved by its sign, as long as it is still the same',
    async () => {
      scene.model.knows('seen-elsewhere', { tasks: [task('a', { checks: [{ command: 'grep -q done a.txt' }] })] })
      const terminal = scene.terminal(['run', 'seen-elsewhere'])
      await terminal.shows('(y/n/l/e/c): ')
      terminal.type('l\r')
      const run = runIn((await terminal.ended()).text)
      const plan = JSON.parse((await scene.forge(['show', run, '--plan', '--json'])).out)
      expect(plan).toMatchObject({
        ...{ run, waits: true, title: 'seen-elsewhere', levels: [[{ id: 'a', write: ['a.txt'] }]] },
        ...{ commands: [{ command: 'grep -q done a.txt', users: ['A1', 'a'] }], others: [], hasNetwork: false },
        cost: [expect.stringContaining('It may take'), expect.anything(), 'It stops at $5.00.'],
      })
      expect((await scene.forge(['show', run, '--plan'])).out).toContain('Commands that will run')
      expect(await scene.forge(['approve', run])).toMatchObject({ code: 64 })
      expect(await scene.forge(['approve', run, '--seen', 'f'.repeat(40)])).toEqual({
        ...{ code: 1, out: '' },
        err: 'Nothing was approved: the plan, or what belongs to it, has changed since. Look at it again.\n',
      })
      expect(await scene.forge(['approve', run, '--seen', plan.seen])).toEqual({
        ...{ code: 0, err: '' },
        out: `The run ${run} goes on: forge attach ${run} shows it.\n`,
      })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect((await scene.forge(['approve', run, '--seen', plan.seen])).code).toBe(1)
    },
    LONG,
  )

  test(
    'at a terminal is stopped by a no',
    async () => {
      scene.model.knows('refused', { tasks: [task('a')] })
      const terminal = scene.terminal(['run', 'refused'])
      await terminal.shows('(y/n/l/e/c): ')
      terminal.type('n\r')
      const { code, text } = await terminal.ended()
      expect(code).toBe(1)
      expect((await scene.status(runIn(text))).state).toBe('stopped')
      expect(scene.model.asked('refused')).toEqual(['plan'])
    },
    LONG,
  )

  test(
    'Ctrl-C at the question leaves the plan for later; without a terminal it is approved by --yes alone',
    async () => {
      scene.model.knows('unapproved', { tasks: [task('a')] })
      const terminal = scene.terminal(['run', 'unapproved'])
      await terminal.shows('(y/n/l/e/c): ')
      terminal.interrupt()
      const { code, text } = await terminal.ended()
      expect(code).toBe(4)
      const run = runIn(text)
      const attached = await scene.forge(['attach', run])
      expect(attached.code).toBe(4)
      expect(attached.out).toContain(`forge resume ${run} --yes`)
      expect(await scene.forge(['resume', run, '--yes'])).toMatchObject({ code: 0, err: '' })
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'Ctrl-C leaves it alone: it goes on, and can be followed again',
    async () => {
      const gate = Promise.withResolvers<void>()
      scene.model.knows('left-alone', {
        tasks: [task('a')],
        answer: async ({ kind }) => {
          if (kind === 'implement') await gate.promise
          return undefined
        },
      })
      const terminal = scene.terminal(['run', '--yes', 'left-alone'])
      await terminal.shows('▸ a')
      terminal.interrupt()
      const { code, text } = await terminal.ended()
      expect(code).toBe(0)
      const run = runIn(text)
      expect(text).toContain(`Left alone: the run goes on. forge attach ${run} shows it again`)
      expect((await scene.status(run)).state).toBe('runs')
      gate.resolve()
      expect(await scene.forge(['attach', run])).toMatchObject({ code: 0 })
    },
    LONG,
  )

  test(
    'asks reviewers once more what no command shows, where others have changed something since',
    async () => {
      const tasks = [task('a'), task('b')]
      const { contract, ...plan } = planOf('reviewed', tasks) as { contract: { id: string }[]; tasks: object[] }
      const question = { id: 'A3', says: 'All of it is short.', how: { kind: 'review', question: 'Is it short?' } }
      const [first, ...others] = plan.tasks
      const claiming = { ...first, claims: ['A1', 'A3'] }
      const wholes: string[] = []
      const { code, run } = await scene.run('reviewed', {
        tasks,
        plan: { ...plan, contract: [...contract, question], tasks: [claiming, ...others] },
        answer: ({ kind, task, text }) => {
          if (kind === 'review' && task === '') wholes.push(text)
          return undefined
        },
      })
      expect(code).toBe(0)
      expect(scene.model.asked('reviewed').filter(it => it.startsWith('review'))).toEqual(['review a', 'review'])
      expect(wholes).toHaveLength(1)
      expect(wholes[0]).toContain('- A3: All of it is short. (reviewed: Is it short?)')
      expect(wholes[0]).toContain('+++ b/b.txt')
      const told = JSON.parse((await scene.forge(['land', run, '--json'])).out)
      expect(told).not.toHaveProperty('unchecked')
      expect(told.words.join('\n')).not.toContain('look yourself')
      // Unchanged results are not reviewed again.
      const alone = planOf('reviewed-alone', [task('a')]) as { contract: object[]; tasks: object[] }
      const ended = await scene.run('reviewed-alone', {
        tasks: [task('a')],
        plan: {
          ...alone,
          contract: [...alone.contract, { ...question, id: 'A2' }],
          tasks: [{ ...alone.tasks[0], claims: ['A1', 'A2'] }],
        },
      })
      expect(ended.code).toBe(0)
      expect(scene.model.asked('reviewed-alone')).toEqual(['plan', 'implement a', 'review a'])
      expect(JSON.parse((await scene.forge(['land', ended.run, '--json'])).out)).not.toHaveProperty('unchecked')
    },
    LONG,
  )

  test(
    'without docker, or its image, begins nothing and asks no model',
    async () => {
      try {
        for (const [fault, words] of [
          ['down', 'docker, and its engine does not answer'],
          ['no-image', 'the image'],
        ] as const) {
          await scene.useEngine(fault)
          const { code, err, run } = await scene.run('undone', { tasks: [task('a')] })
          expect({ code, run, asked: scene.model.asked('undone') }).toEqual({ code: 1, run: '', asked: [] })
          expect(err).toStartWith(`Nothing was begun, and nothing is paid: checks need ${words}`)
        }
      } finally {
        await scene.useEngine('')
      }
    },
    LONG,
  )

  test(
    'leaves nothing of a run where the server does not answer',
    async () => {
      const refsOfRuns = () => scene.git('for-each-ref', 'refs/forge/runs', 'refs/heads')
      const before = await refsOfRuns()
      const env = { TEMPORAL_ADDRESS: '127.0.0.1:1' }
      const { code, out, err } = await scene.forge(['run', '--yes', 'unreached'], { env })
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(/^No Temporal server answers at 127\.0\.0\.1:1 .*\n$/m)
      expect(await refsOfRuns()).toBe(before)
    },
    LONG,
  )

  test(
    'where docker ends meanwhile, a task waits with a question',
    async () => {
      const answer = async ({ kind, answered }: AskedStep) => {
        if (kind === 'implement' && !answered) await scene.useEngine('down')
        return undefined
      }
      try {
        const { code, out, run } = await scene.run('unchecked', { tasks: [task('a')], answer })
        expect(code).toBe(4)
        expect(out).toContain('a asks')
        await scene.useEngine('')
        expect((await scene.forge(['answer', run, 'a', 'It runs now.'])).code).toBe(0)
        expect((await scene.forge(['attach', run])).code).toBe(0)
      } finally {
        await scene.useEngine('')
      }
    },
    LONG,
  )
})
