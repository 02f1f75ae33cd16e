/** Names and messages in the graph: the order of tags, folded labels, and rewrapped messages. */
import { describe, expect, test } from 'bun:test'
import type { BranchInfo } from '../../../../forge/desk/contract/branches.ts'
import { splitByAge } from '../../../../forge/desk/web/graph/stale-branches.ts'
import { foldLabels, type Label, labelsOf, shortName } from '../../../../forge/desk/web/page/graph-labels.ts'
import { joinWrappedLines } from '../../../../forge/desk/web/ui/reflow.ts'
import { byVersion } from '../../../../forge/desk/web/ui/versions.ts'

test('branches of a remote are stale 90 days after its newest one, and the others are by time', () => {
  const day = 24 * 3600
  const branches = [
    { name: 'old', committed: 10 * day },
    { name: 'missing' },
    { name: 'newest', committed: 1000 * day },
    { name: 'at the bound', committed: 910 * day },
    { name: 'fresh', committed: 950 * day },
  ]
  const { fresh, stale } = splitByAge(branches)
  expect(fresh.map(({ name }) => name)).toEqual(['newest', 'fresh', 'at the bound'])
  expect(stale.map(({ name }) => name)).toEqual(['old', 'missing'])
  expect(splitByAge([])).toEqual({ fresh: [], stale: [] })
})

test('the default branch of a remote is the first one, and never stale', () => {
  const branches = [
    { name: 'feature', committed: 100_000_000 },
    { name: 'main', committed: 1000, isDefault: true },
  ]
  expect(splitByAge(branches).fresh.map(({ name }) => name)).toEqual(['main', 'feature'])
})

test('tags are by version, the newest first, whether they begin with a v or not', () => {
  const names = [
    '10.0.0',
    '11.0.0-beta.2',
    '11.0.0-beta.10',
    '11.0.0',
    'latest',
    'server-5.1.20',
    'v8.5.0',
    'server-5.1.3',
  ]
  expect(byVersion(names.map(name => ({ name }))).map(({ name }) => name)).toEqual([
    '11.0.0',
    '11.0.0-beta.10',
    '11.0.0-beta.2',
    '10.0.0',
    'v8.5.0',
    'server-5.1.20',
    'server-5.1.3',
    'latest',
  ])
})

test('tags of the prefix that was used last come first', () => {
  const tags = [
    { name: '1.6', committed: 100 },
    { name: '1.7', committed: 200 },
    { name: 'gson-2.2', committed: 300 },
    { name: 'gson-parent-2.9.1', committed: 600 },
    { name: 'gson-parent-2.14.0', committed: 500 },
    { name: 'nightly', committed: 900 },
  ]
  expect(byVersion(tags).map(({ name }) => name)).toEqual([
    'gson-parent-2.14.0',
    'gson-parent-2.9.1',
    'gson-2.2',
    '1.7',
    '1.6',
    'nightly',
  ])
})

describe('labels at one commit', () => {
  const branch = (name: string, isHead = false): Label => {
    const info: BranchInfo = { name, tip: 'a', committed: 0, session: false, merging: false, drafts: [] } as never
    return { kind: 'branch', ref: `refs/heads/${name}`, name, tip: 'a', branch: info, isHead }
  }
  const remote = (name: string): Label => {
    return { kind: 'remote', ref: `refs/remotes/origin/${name}`, name: `origin/${name}`, tip: 'a', remote: 'origin' }
  }
  const words = (labels: Label[], room?: number) =>
    foldLabels(labels, room).map(shown =>
      'label' in shown ? [shown.label.name, ...shown.remotes].join(' & ') : `${shown.words}: ${shown.folded.length}`,
    )

  test('a remote branch stands with the local one of its name', () => {
    expect(words([branch('main', true), remote('main'), remote('other')])).toEqual(['main & origin', 'origin/other'])
  })

  test('branches of runs are one label, but for one that is checked out', () => {
    const runs = ['docs/1', 'docs/2', 'tests/done'].map(name => branch(`forge/20261120-add-tests/${name}`))
    expect(words([branch('main', true), ...runs])).toEqual(['main', '3 of runs: 3'])
    expect(words([branch('forge/20261120-add-tests/result', true), ...runs])).toEqual([
      'forge/20261120-add-tests/result',
      '3 of runs: 3',
    ])
    expect(shortName('forge/20261120-add-tests/docs/1')).toBe('docs/1')
  })

  test('more than three are counted', () => {
    const many = ['a', 'b', 'c', 'd'].map(name => branch(name))
    expect(words(many)).toEqual(['a', 'b', '+2: 2'])
    expect(words(many.slice(1))).toEqual(['b', 'c', 'd'])
  })

  test('as many are shown as fit with their names, and a short name is never cut for a long one', () => {
    const long = 'dependabot/a-rather-long-name-of-a-branch'
    const some = [branch('main', true), branch(long), branch('x')]
    expect(words(some, 400)).toEqual(['main', long, 'x'])
    expect(words(some, 230)).toEqual(['main', long, '+1: 1'])
    expect(words(some, 150)).toEqual(['main', '+2: 2'])
    expect(words([branch(long), ...some.slice(2)], 40)).toEqual([long, '+1: 1'])
    const runs = ['docs/1', 'docs/2'].map(name => branch(`forge/20261120-add-tests/${name}`))
    expect(words([branch('main', true), branch(long), ...runs], 200)).toEqual(['main', '2 of runs: 2', '+1: 1'])
  })

  test('the default branch comes before others, also where none is checked out', () => {
    const info = (name: string): BranchInfo => ({ name, tip: 'a', drafts: [] }) as never
    const at = labelsOf([info('a'), info('forge/20261120-add-tests/result'), info('main')], undefined, undefined)
    expect(at.get('a')?.map(({ name }) => name)).toEqual(['main', 'a', 'forge/20261120-add-tests/result'])
  })
})

describe('a message that was wrapped by hand', () => {
  const lines = (text: string) => joinWrappedLines(text).map(({ lines }) => lines)

  test('has each paragraph on one line, to be wrapped where there is room', () => {
    const text = `A slow renew() left the next one waiting behind it, and a lost
lease was noticed only when the job tried to finish.

One renewal at a time, each with a deadline of half the time
left.`
    expect(lines(text)).toEqual([
      [
        'A slow renew() left the next one waiting behind it, and a lost lease was noticed only when the job tried to finish.',
      ],
      ['One renewal at a time, each with a deadline of half the time left.'],
    ])
  })

  test('keeps the indentation of its first line', () => {
    expect(lines('\n  two spaces\nnone')).toEqual([['  two spaces', 'none']])
  })

  test('keeps lists, trailers, quotes, code and short lines as lines', () => {
    const list = `- the first item is so long that it had to be wrapped at this
  place by its author
- the second one`
    expect(lines(list)).toEqual([
      ['- the first item is so long that it had to be wrapped at this place by its author', '- the second one'],
    ])
    expect(
      lines('Signed-off-by: Ada Lovelace <ada@example.org>\nReviewed-by: Grace Hopper <grace@example.org>'),
    ).toEqual([['Signed-off-by: Ada Lovelace <ada@example.org>', 'Reviewed-by: Grace Hopper <grace@example.org>']])
    expect(lines('roses\nviolets\nsugar')).toEqual([['roses', 'violets', 'sugar']])
    expect(joinWrappedLines('Run it:\n\n    make check\n    make test')).toEqual([
      { lines: ['Run it:'], isCode: false },
      { lines: ['    make check', '    make test'], isCode: true },
    ])
    expect(joinWrappedLines('```\none\n\ntwo\n```\n\nafter')).toEqual([
      { lines: ['```', 'one', '', 'two', '```'], isCode: true },
      { lines: ['after'], isCode: false },
    ])
  })

  test('keeps a line that ends long before the others as one that was meant', () => {
    const text = `This line goes on until there is no more room in it at all, and so
does the next one.
This is a sentence that its author began on a line of its own, which stays.`
    expect(lines(text)).toEqual([
      [
        'This line goes on until there is no more room in it at all, and so does the next one.',
        'This is a sentence that its author began on a line of its own, which stays.',
      ],
    ])
  })
})
