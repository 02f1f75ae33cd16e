/** The graph of the repository: lanes, windows, search, and commits that only reflogs have. */
import { describe, expect, test } from 'bun:test'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Objects } from '../../../../core/git/objects.ts'
import type { GraphRow } from '../../../../forge/desk/contract/graph.ts'
import { GraphView } from '../../../../forge/desk/graph/graph-view.ts'
import { layLanes, type Shape } from '../../../../forge/desk/graph/lanes.ts'
import { withoutSecret } from '../../../../forge/desk/reading/remote-url.ts'
import { Operations } from '../../../../forge/operations.ts'
import { commit, gitWith } from '../../../support/git.ts'
import { type Random, randomFrom } from '../../../support/random.ts'
import { makePlace, until } from '../../../support/repository.ts'
import { openTestDesk } from '../../../support/served.ts'
import { workOf } from '../../../support/times.ts'

/**
 * `parents`: for each commit, in the order of creation, the numbers of its parents. `refs`: the number of each ref's
 * commit.
 */
type Story = { parents: number[][]; refs: Map<string, number> }

/** A random history. */
function grow(random: Random, count: number): Story {
  const story: Story = { parents: [[]], refs: new Map([['main', 0]]) }
  while (story.parents.length < count) add(story, random)
  return story
}

/**
 * Adds a commit: to a branch, to a new branch, or as a merge of two. Returns whether the commit extends a line of the
 * graph or begins one.
 */
function add({ parents, refs }: Story, random: Random): 'extended' | 'new' {
  const names = [...refs.keys()]
  const name = random.pick(names)
  const made = parents.length
  if (random.chance(0.2)) {
    const parent = random.below(made)
    const hasChild = parents.some(([first]) => first === parent)
    parents.push([parent])
    refs.set(`z${made}`, made)
    return hasChild || parent === refs.get('main') ? 'new' : 'extended'
  }
  const own = refs.get(name) as number
  const other = refs.get(random.pick(names)) as number
  const isMerge = random.chance(0.25) && other !== own
  parents.push(isMerge ? [own, other] : [own])
  refs.set(name, made)
  return 'extended'
}

function shapeOf({ parents, refs }: Story, rows = parents.length): Shape {
  const rowOf = (made: number) => Math.min(parents.length - 1 - made, rows)
  const from = new Int32Array(rows + 1)
  const all: number[] = []
  for (let row = 0; row < rows; row++) {
    from[row] = all.length
    all.push(...(parents[parents.length - 1 - row] ?? []).map(rowOf))
  }
  from[rows] = all.length
  const trunks = [rowOf(refs.get('main') as number)]
  return { count: rows, from, parents: Int32Array.from(all), trunks, hasMain: true }
}

const lanesOf = (story: Story): number[] => [...layLanes(shapeOf(story)).lanes]

describe('lanes', () => {
  test('a line of commits is one lane, and a merged one is beside it', () => {
    // main: 0 - 1 - 4(merge of 3), and 2 - 3 beside it.
    const story: Story = { parents: [[], [0], [0], [2], [1, 3]], refs: new Map([['main', 4]]) }
    const lanes = layLanes(shapeOf(story))
    expect([...lanes.lanes]).toEqual([0, 1, 1, 0, 0])
    expect(lanes.lines(0, 5).map(row => row.map(({ from, to }) => `${from}${to}`).sort())).toEqual([
      ['00', '01'],
      ['00', '11'],
      ['00', '11'],
      ['00', '10'].sort(),
      [],
    ])
  })

  test('no two commits or lines are at the same position of a lane, and every line ends at a parent', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = randomFrom(seed)
      const story = grow(random, 60 + random.below(300))
      const shape = shapeOf(story)
      const lanes = layLanes(shape)
      const rows = lanes.lines(0, shape.count)
      // Follows the lines of each commit: they lead to all its parents, and to no other commit.
      for (let row = 0; row < shape.count; row++) {
        const wanted = new Set(shape.parents.subarray(shape.from[row], shape.from[row + 1]))
        const met = new Set<number>()
        let lanesNow = new Set((rows[row] ?? []).filter(it => it.child === row).map(it => it.to))
        for (let below = row + 1; below < shape.count && lanesNow.size > 0; below++) {
          const here = lanes.laneOf(below)
          if (lanesNow.delete(here)) met.add(below)
          const next = (rows[below] ?? []).filter(it => it.child !== below && lanesNow.has(it.from))
          lanesNow = new Set(next.map(({ to }) => to))
        }
        expect([...wanted].filter(parent => !met.has(parent))).toEqual([])
      }
      // No line runs through another commit.
      for (let row = 1; row < shape.count; row++)
        for (const { to, child } of rows[row - 1] ?? [])
          if (to === lanes.laneOf(row))
            expect([...shape.parents.subarray(shape.from[child], shape.from[child + 1])]).toContain(row)
    }
  })

  test('a window of rows has the same lines as all rows together', () => {
    const shape = shapeOf(grow(randomFrom(5), 900))
    const lanes = layLanes(shape)
    const sorted = (rows: { from: number; to: number; child: number }[][]) =>
      rows.map(row => row.map(({ from, to, child }) => `${child}:${from}>${to}`).sort())
    const all = sorted(lanes.lines(0, 900))
    for (const [from, to] of [
      [0, 40],
      [250, 262],
      [500, 640],
      [880, 2000],
    ] as const)
      expect(sorted(lanes.lines(from, to))).toEqual(all.slice(from, to))
  })

  test('the default branch keeps lane 0 for itself', () => {
    const story = grow(randomFrom(3), 300)
    const lanes = lanesOf(story)
    const firstParents = new Set<number>()
    for (let at: number | undefined = story.refs.get('main'); at !== undefined; at = story.parents[at]?.[0])
      firstParents.add(story.parents.length - 1 - at)
    expect(lanes.flatMap((lane, row) => (lane === 0 ? [row] : []))).toEqual([...firstParents])
  })

  test('a new commit does not change the lanes below it', () => {
    const moved = { extended: [] as number[], new: [] as number[] }
    for (let seed = 1; seed <= 150; seed++) {
      const random = randomFrom(1000 + seed)
      const story = grow(random, 200)
      const before = lanesOf(story)
      const kind = add(story, random)
      const [, ...after] = lanesOf(story)
      moved[kind].push(after.filter((lane, row) => lane !== before[row]).length)
    }
    const share = (counts: number[]) => counts.filter(count => count === 0).length / counts.length
    const mean = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0) / counts.length
    // A commit that begins a branch moves no other lane.
    expect(Math.max(...moved.new)).toBe(0)
    expect(share(moved.extended)).toBeGreaterThan(0.6)
    expect(mean(moved.extended)).toBeLessThan(12)
  })

  test('the beginning of a history is laid out before the rest is read', () => {
    const story = grow(randomFrom(9), 400)
    const whole = layLanes(shapeOf(story))
    const part = layLanes(shapeOf(story, 100))
    expect([...part.lanes].filter((lane, row) => lane === 0 && whole.laneOf(row) !== 0)).toEqual([])
    // Lines to parents that are not read yet run to the last row.
    expect(part.lines(0, 100)[99]?.length).toBeGreaterThan(0)
  })

  test('very many commits take little time, and very many branches a limited width', () => {
    const random = randomFrom(11)
    const story: Story = { parents: [[]], refs: new Map([['main', 99_999]]) }
    // Each commit extends one of the last ones, so that thousands of lines are open at a time.
    while (story.parents.length < 100_000) {
      const made = story.parents.length
      const near = () => Math.max(0, made - 1 - random.below(random.chance(0.02) ? 20_000 : 40))
      story.parents.push([...new Set(random.chance(0.3) ? [near(), near()] : [near()])])
    }
    const shape = shapeOf(story)
    let lanes = layLanes(shape)
    const work = workOf(() => {
      lanes = layLanes(shape)
    })
    expect(lanes.width).toBeLessThanOrEqual(500)
    expect(Math.max(...lanes.lines(50_000, 50_100).map(row => row.length))).toBeLessThan(2000)
    // The layout takes some tens of milliseconds on an idle machine.
    expect(work).toBeLessThan(1000)
  })
})

const openView = (objects: Objects, onChange: () => void = () => undefined) =>
  new GraphView(objects, new Operations(objects), onChange)
const ALL = { withAbandoned: false }
const said = (rows: GraphRow[]) => rows.map(({ subject }) => subject)

describe('windows', () => {
  test('all branches, remote branches and tags are shown, newest first, each with its model', async () => {
    await using place = await makePlace()
    const base = await commit(place.path, 'main', { a: '1' }, { message: 'Base' })
    await commit(place.path, 'topic', { b: '1' }, { message: 'Topic\n\nForge-Model: opus-5.5', parents: [base] })
    const remote = await commit(place.path, 'gone', { c: '1' }, { message: 'Remote', parents: [base] })
    await place.git('update-ref', 'refs/remotes/origin/main', remote)
    const tagged = await commit(place.path, 'gone', { c: '2' }, { message: 'Tagged', parents: [base] })
    await gitWith(place.path, ['-c', 'user.name=T', '-c', 'user.email=t@t', 'tag', '-a', '-m', 'v1', 'v1', tagged])
    await place.git('update-ref', '-d', 'refs/heads/gone')
    await using view = openView(place.objects)
    const { rows, total } = await view.window(ALL, 0, 10)
    await until(async () => (await view.window(ALL, 0, 1)).total !== undefined)
    expect(said(rows)).toEqual(['Tagged', 'Remote', 'Topic', 'Base'])
    expect(total ?? 4).toBe(4)
    expect(rows.map(({ model }) => model)).toEqual([undefined, undefined, 'opus-5.5', undefined])
    expect(rows.at(-1)?.lane).toBe(0)
    expect(new Set(rows.slice(0, 3).map(({ lane }) => lane)).size).toBe(3)
    expect(said((await view.window({ ...ALL, refs: ['refs/heads/topic'] }, 0, 10)).rows)).toEqual(['Topic', 'Base'])
    expect(said((await view.window(ALL, 1, 2)).rows)).toEqual(['Remote', 'Topic'])
    expect(await view.place(ALL, 'refs/heads/topic')).toBe(2)
    expect(await view.place(ALL, base)).toBe(3)
    expect(await view.place(ALL, 'f'.repeat(40))).toBeUndefined()
    const annotated = await gitWith(place.path, ['rev-parse', 'refs/tags/v1'])
    const committed = Number(await gitWith(place.path, ['log', '-1', '--format=%ct', tagged]))
    expect((await view.refs()).tags).toEqual([{ ref: 'refs/tags/v1', name: 'v1', tip: tagged, annotated, committed }])
  })

  test('commits are in git’s order by date, and after a move in the same order as if newly read', async () => {
    await using place = await makePlace()
    const random = randomFrom(21)
    await using view = openView(place.objects)
    const oids: string[] = [await commit(place.path, 'main', { a: '0' })]
    for (let round = 0; round < 4; round++) {
      for (let at = 0; at < 8; at++) {
        const parents = [...new Set([random.pick(oids), ...(random.chance(0.3) ? [random.pick(oids)] : [])])]
        const branch = `b${random.below(5)}`
        // Sometimes the commit's clock is wrong.
        const when = random.chance(0.1) ? { when: 1_700_000_000 + random.below(1000) } : {}
        oids.push(await commit(place.path, branch, { [branch]: `${round}${at}` }, { parents, ...when }))
      }
      if (random.chance(0.5)) await place.git('update-ref', 'refs/heads/b1', random.pick(oids))
      view.touch()
      await view.window(ALL, 0, 1)
      const { rows, total } = await wholeOf(view)
      expect(rows.map(({ oid }) => oid)).toEqual((await place.git('rev-list', '--date-order', '--all')).split('\n'))
      expect(total).toBe(rows.length)
      await using fresh = openView(place.objects)
      expect(await wholeOf(fresh)).toEqual({ ...(await wholeOf(view)) })
    }
  }, 120_000)

  test('an empty repository has no rows, and then its first commit', async () => {
    await using place = await makePlace()
    await using view = openView(place.objects)
    expect(await view.window(ALL, 0, 10)).toMatchObject({ rows: [], lanes: 0 })
    await commit(place.path, 'main', { a: '1' }, { message: 'First' })
    view.touch()
    expect(said((await view.window(ALL, 0, 10)).rows)).toEqual(['First'])
  })
})

async function wholeOf(view: GraphView) {
  await view.place(ALL, 'f'.repeat(40))
  return await view.window(ALL, 0, 500)
}

test('commits are found by message, author and hash, in the order of the graph', async () => {
  await using place = await makePlace()
  const first = await commit(place.path, 'main', { a: '1' }, { message: 'Add the lease', author: 'Mira O <m@x>' })
  await commit(place.path, 'main', { a: '2' }, { message: 'Other', author: 'Una <u@x>' })
  await commit(place.path, 'main', { a: '3' }, { message: 'Fix [LEASE] of mira*', author: 'Una <u@x>' })
  await using view = openView(place.objects)
  const find = async (words: string) => (await view.find(ALL, words, new AbortController().signal)).rows.map(r => r.row)
  expect(await find('lease')).toEqual([0, 2])
  expect(await find('MIRA')).toEqual([0, 2])
  expect(await find('[lease]')).toEqual([0])
  expect(await find('mira*')).toEqual([0])
  expect(await find('--all')).toEqual([])
  expect(await find('MAIN')).toEqual([0])
  expect(await find(first.slice(0, 7))).toEqual([2])
  const gone = AbortSignal.abort()
  expect(await view.find(ALL, 'lease', gone)).toEqual({ rows: [], isCut: true })
})

test('a search of commits ignores the case of all letters', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { a: '1' }, { message: 'Überarbeitet', author: 'Łukasz L <l@x>' })
  await commit(place.path, 'main', { a: '2' }, { message: 'Other', author: 'Una <u@x>' })
  await using view = openView(place.objects)
  const find = async (words: string) => (await view.find(ALL, words, new AbortController().signal)).rows.map(r => r.row)
  for (const words of ['łukasz', 'ŁUKASZ', 'über', 'ÜBER']) expect(await find(words)).toEqual([1])
})

test('commits that only reflogs or operations have are shown on request', async () => {
  await using place = await makePlace()
  await place.git('config', 'core.logAllRefUpdates', 'always')
  const base = await commit(place.path, 'main', { a: '1' }, { message: 'Base' })
  const lost = await commit(place.path, 'main', { a: '2' }, { message: 'Lost' })
  const deleted = await commit(place.path, 'side', { b: '1' }, { message: 'Deleted', parents: [base] })
  await place.git('update-ref', '-m', 'reset: away', 'refs/heads/main', base, lost)
  const operations = new Operations(place.objects)
  const moves = [{ ref: 'refs/heads/side', from: deleted, to: undefined }]
  await operations.record({ kind: 'delete branch', words: 'delete the branch side', moves })
  await using view = openView(place.objects)
  expect(said((await view.window(ALL, 0, 10)).rows)).toEqual(['Base'])
  const { rows } = await view.window({ withAbandoned: true }, 0, 10)
  expect(rows.map(({ subject, abandoned }) => [subject, abandoned])).toEqual([
    ['Deleted', 'side before: delete the branch side'],
    ['Lost', 'main@{1}'],
    ['Base', undefined],
  ])
  expect(rows[1]?.lines.every(line => line.isAbandoned)).toBe(true)
})

test('stashes are shown with their names, found, and followed; notes are no commits that nothing reaches', async () => {
  await using place = await makePlace()
  const person = ['-c', 'user.name=M', '-c', 'user.email=m@example.com']
  await place.git('config', 'core.logAllRefUpdates', 'always')
  const base = await commit(place.path, 'main', { a: '1' }, { message: 'Base' })
  for (const note of ['one', 'two'])
    await place.git(...person, 'notes', '--ref=forge-review', 'add', '-f', '-m', note, base)
  const folder = join(place.path, 'checkout')
  await place.git('worktree', 'add', '--quiet', folder, 'main')
  const stash = async (text: string) => {
    await writeFile(join(folder, 'a'), text)
    await place.git('-C', folder, ...person, 'stash', 'push', '--quiet', '-m', `Put ${text} away`)
  }
  await stash('two')
  await using view = openView(place.objects)
  const stashes = async () => (await view.refs()).stashes?.map(({ name }) => name)
  const shown = async (withAbandoned = false) => {
    const { rows } = await view.window({ withAbandoned }, 0, 20)
    return rows.flatMap(({ subject, abandoned }) => (subject.startsWith('index on') ? [] : [[subject, abandoned]]))
  }
  expect(await shown()).toEqual([
    ['On main: Put two away', undefined],
    ['Base', undefined],
  ])
  expect(await stashes()).toEqual(['stash@{0}'])
  await stash('three')
  view.touch()
  expect(await stashes()).toEqual(['stash@{0}', 'stash@{1}'])
  const found = async (words: string) => (await view.find(ALL, words, new AbortController().signal)).rows
  expect(await found('Put two')).toEqual([expect.objectContaining({ oid: await place.git('rev-parse', 'stash@{1}') })])
  expect(await found('stash@{1}')).toEqual(await found('Put two'))
  expect(await view.place(ALL, 'stash@{1}')).toBe((await found('Put two'))[0]?.row)
  // None is unreachable, and neither are the notes.
  expect(await shown(true)).toEqual(await shown())
  await place.git('-C', folder, 'stash', 'clear')
  view.touch()
  expect(await stashes()).toBeUndefined()
  expect(await shown()).toEqual([['Base', undefined]])
})

test('remotes are shown without the secrets in their URLs', async () => {
  await using place = await makePlace()
  await place.git('remote', 'add', 'origin', 'https://mira:token@host.example/r.git?key=secret')
  await place.git('remote', 'add', 'team/mirror', 'git@host.example:r.git')
  const tip = await commit(place.path, 'main', { a: '1' })
  for (const ref of ['origin/main', 'team/mirror/x/y']) await place.git('update-ref', `refs/remotes/${ref}`, tip)
  await Bun.write(join(place.path, 'FETCH_HEAD'), `${tip}\t\tbranch 'main' of https://host.example/r\n`)
  await utimes(join(place.path, 'FETCH_HEAD'), 1_700_000_000, 1_700_000_000)
  const committed = Number(await place.git('log', '-1', '--format=%ct', tip))
  await using view = openView(place.objects)
  expect(await view.refs()).toEqual({
    remotes: [
      {
        name: 'origin',
        url: 'https://host.example/r.git',
        branches: [{ ref: 'refs/remotes/origin/main', name: 'main', tip, committed }],
      },
      {
        name: 'team/mirror',
        url: 'git@host.example:r.git',
        branches: [{ ref: 'refs/remotes/team/mirror/x/y', name: 'x/y', tip, committed }],
      },
    ],
    tags: [],
    fetched: 1_700_000_000,
  })
  expect(withoutSecret('ssh://git:pass@host/r')).toBe('ssh://git@host/r')
  expect(withoutSecret('user:pass@host:r.git')).toBe('user@host:r.git')
  expect(withoutSecret('/some/folder')).toBe('/some/folder')
  expect(withoutSecret('https://me:pa/ss@word@host/r')).toBe('https://host/r')
  expect(withoutSecret('https://me:pass@host:port/r?key=1')).toBe('https://host:port/r')
})

test("a remote's default branch is known", async () => {
  await using place = await makePlace()
  const tip = await commit(place.path, 'main', { a: '1' })
  for (const name of ['main', 'topic']) await place.git('update-ref', `refs/remotes/origin/${name}`, tip)
  await place.git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main')
  await using view = openView(place.objects)
  const [origin] = (await view.refs()).remotes
  expect(origin?.branches.map(({ name, isDefault }) => [name, isDefault])).toEqual([
    ['main', true],
    ['topic', undefined],
  ])
})

test('a window gets news when a tag or a remote branch moves in a terminal', async () => {
  await using place = await makePlace()
  const tip = await commit(place.path, 'main', { a: '1' })
  await using desk = await openTestDesk(place.path)
  await using window = await desk.window()
  const graph = (await window.ask({ ask: 'graph', filter: ALL, from: 0, count: 10 })) as { rows: GraphRow[] }
  expect(graph.rows.map(({ oid }) => oid)).toEqual([tip])
  await place.git('update-ref', 'refs/remotes/origin/main', tip)
  await window.heard('repository')
  expect(await window.ask({ ask: 'refs' })).toMatchObject({ remotes: [{ name: 'origin' }] })
  expect(await window.ask({ ask: 'graph place', filter: ALL, name: 'refs/remotes/origin/main' })).toEqual({ row: 0 })
  expect(await window.ask({ ask: 'find commits', filter: ALL, words: 'Change' })).toMatchObject({ isCut: false })
})
