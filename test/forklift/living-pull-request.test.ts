/** One pull request over many days: it is continued, left alone, taken as a refusal, or repaired. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { commit, contains, git, parentsOf, show } from '../support/git.ts'
import { expectExit, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** A new commit of upstream for a day: it changes the line that the fork changes, too. */
const news = (world: World, day: number) =>
  world.push('upstream', { 'greeting.txt': `hello on day ${day}\n` }, { message: `News of day ${day}` })

async function day(world: World, code = 0) {
  const run = await world.run()
  expectExit(run, code)
  return run
}

test('upstream moves on: the same branch and pull request, by a fast-forward', async () => {
  await using world = await makeWorld()
  await day(world)
  const { head, headSha: first } = world.pull
  const newest = await news(world, 2)
  await day(world)
  await world.github.settle()
  expect(world.pull.head).toBe(head)
  expect(await parentsOf(world.origin, world.pull.headSha)).toEqual([first, newest])
  expect(await world.branches()).toEqual([head])
})

test('the page follows the newest state, and still shows what happened on Monday', async () => {
  await using world = await makeWorld()
  await world.agent('good; echo "beyond" >>README.md; git commit --quiet --all -m "Improve the README"')
  await day(world)
  await news(world, 2)
  await world.agent('good')
  await day(world)
  expect(world.pull.body).toContain('News of day 2')
  expect(world.pull.body).toContain('Bring news')
  expect(world.pull.body).toContain('README.md')
})

test('a person’s own text on the page stays', async () => {
  await using world = await makeWorld()
  await day(world)
  world.github.editBody(1, body => `Before: ask Rita.\n\n${body}\n\nAfter: release on Friday.`)
  world.pull.title = 'Upstream, week 47'
  await news(world, 2)
  await day(world)
  expect(world.pull.body).toStartWith('Before: ask Rita.\n')
  expect(world.pull.title).toBe('Upstream, week 47')
  expect(world.pull.body).toEndWith('After: release on Friday.')
  expect(world.pull.body).toContain('News of day 2')
})

test('a person’s commits on the branch survive', async () => {
  await using world = await makeWorld()
  await day(world)
  const theirs = await commit(
    world.origin,
    world.pull.head,
    { 'person.txt': 'mine\n' },
    { author: 'Rita <rita@fork.example>' },
  )
  await news(world, 2)
  await day(world)
  await world.github.settle()
  expect(await contains(world.origin, theirs, world.pull.headSha)).toBe(true)
  expect(await show(world.origin, world.pull.headSha, 'person.txt')).toBe('mine')
})

test('the fork moves on: the open pull request takes that in when upstream moves', async () => {
  await using world = await makeWorld()
  await day(world)
  const fork = await world.push('origin', { 'forked.txt': 'further\n' })
  const newest = await news(world, 2)
  await day(world)
  await world.github.settle()
  expect(world.github.pulls).toHaveLength(1)
  for (const id of [fork, newest]) expect(await contains(world.origin, id, world.pull.headSha)).toBe(true)
})

test('the fork moves on so that the open branch no longer fits: a new pull request that mentions the old one', async () => {
  await using world = await makeWorld()
  await day(world)
  const { head } = world.pull
  await world.push('origin', { 'greeting.txt': 'quite another greeting\n' })
  await day(world)
  expect(world.github.pulls).toHaveLength(2)
  const second = world.github.pull(2)
  expect(second.head).not.toBe(head)
  expect(second.body).toMatch(new RegExp(`${head}|pull/1|#1\\b`))
  expect(await parentsOf(world.origin, second.headSha)).toEqual([
    (await world.tip('origin')) ?? '',
    (await world.tip('upstream')) ?? '',
  ])
})

test.each([true, false])('closed by a person is a no until upstream moves (branch deleted: %p)', async deleted => {
  await using world = await makeWorld()
  await day(world)
  await world.github.close(1)
  if (deleted) await world.github.deleteBranch(1)
  const quiet = await day(world)
  expect(quiet.stdout + quiet.stderr).toBe('')
  expect(await world.agentRuns()).toBe(1)
  expect(world.github.pulls).toHaveLength(1)
  await news(world, 2)
  await day(world)
  expect(world.github.pulls.filter(pull => pull.state === 'open')).toHaveLength(1)
})

test('approved is left to be merged, although upstream moves', async () => {
  await using world = await makeWorld()
  await day(world)
  const { headSha } = world.pull
  await world.github.approve(1)
  await news(world, 2)
  const quiet = await day(world)
  expect(quiet.stdout + quiet.stderr).toBe('')
  expect(await world.agentRuns()).toBe(1)
  await world.github.settle()
  expect(world.pull.headSha).toBe(headSha)
})

test('changes requested after an approval: carried on', async () => {
  await using world = await makeWorld()
  await day(world)
  await world.github.approve(1)
  await world.github.review(1, 'CHANGES_REQUESTED', 'Not yet.')
  await news(world, 2)
  await day(world)
  expect(await world.agentRuns()).toBe(2)
})

test('merged with a merge commit: nothing to do, and afterwards a fresh start', async () => {
  await using world = await makeWorld()
  await day(world)
  const merged = await world.github.merge(1, 'merge')
  await world.github.deleteBranch(1)
  const quiet = await day(world)
  expect(quiet.stdout + quiet.stderr).toBe('')
  const newest = await news(world, 2)
  await day(world)
  expect(world.github.pulls).toHaveLength(2)
  expect(await parentsOf(world.origin, world.github.pull(2).headSha)).toEqual([merged, newest])
})

test('merged, and the branch kept: a fresh start all the same', async () => {
  await using world = await makeWorld()
  await day(world)
  const merged = await world.github.merge(1, 'merge')
  const newest = await news(world, 2)
  await day(world)
  expect(await parentsOf(world.origin, world.github.pull(2).headSha)).toEqual([merged, newest])
})

test.each(['keep', 'delete'])(
  'squashed (%s the branch): nothing to do, and the same conflicts do not come back',
  async branch => {
    await using world = await makeWorld()
    await day(world)
    const brought = (await world.tip('upstream')) ?? ''
    const squashed = await world.github.merge(1, 'squash')
    if (branch === 'delete') await world.github.deleteBranch(1)
    const quiet = await day(world)
    expect(quiet.stdout + quiet.stderr).toBe('')
    expect(await world.agentRuns()).toBe(1)
    const newest = await world.push('upstream', { 'other.txt': 'unrelated news\n' })
    await world.agent('git diff --quiet "$start" || exit 9; git merge --quiet --no-edit "$upstream"')
    await day(world)
    const second = world.github.pull(2)
    const [start = '', theirs = ''] = await parentsOf(world.origin, second.headSha)
    expect(theirs).toBe(newest)
    expect(await parentsOf(world.origin, start)).toEqual([squashed, brought])
    expect(await git(world.origin, 'rev-parse', `${start}^{tree}`)).toBe(
      await git(world.origin, 'rev-parse', `${squashed}^{tree}`),
    )
    expect((await world.lastRun()).metadata.conflicts).toEqual([])
  },
)

test('rebased: the repair is the same', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await day(world)
  const rebased = await world.github.merge(1, 'rebase')
  await world.github.deleteBranch(1)
  await day(world)
  expect(await world.agentRuns()).toBe(1)
  const newest = await world.push('upstream', { 'other.txt': 'unrelated news\n' })
  await day(world)
  expect(await contains(world.origin, newest, world.github.pull(2).headSha)).toBe(true)
  expect(await contains(world.origin, rebased, world.github.pull(2).headSha)).toBe(true)
})

test('seven updates without a review are enough, until a person comments', async () => {
  await using world = await makeWorld({ story: 'clean' })
  for (let at = 1; at <= 7; at++) {
    await world.push('upstream', { 'news.txt': `news ${at}\n` })
    await day(world)
  }
  expect(await world.agentRuns()).toBe(7)
  await world.push('upstream', { 'news.txt': 'news 8\n' })
  const quiet = await day(world)
  expect(quiet.stdout + quiet.stderr).toBe('')
  expect(await world.agentRuns()).toBe(7)
  world.github.comment(1, 'Thank you, I will look at it on Monday.')
  await day(world)
  expect(await world.agentRuns()).toBe(8)
  expect(world.github.pulls).toHaveLength(1)
})

test('a branch of the prefix that is a person’s is left alone', async () => {
  await using world = await makeWorld()
  const theirs = await world.push(
    'origin',
    { 'idea.txt': 'an idea\n' },
    { branch: 'forklift/main-20990101_000000', parents: [(await world.tip('origin')) ?? ''] },
  )
  await day(world)
  expect(world.pull.head).not.toBe('forklift/main-20990101_000000')
  expect(await git(world.origin, 'rev-parse', 'forklift/main-20990101_000000')).toBe(theirs)
})

test('a commit that a person dropped from the branch does not come back', async () => {
  await using world = await makeWorld()
  await day(world)
  const { head, headSha: first } = world.pull
  await news(world, 2)
  await day(world)
  await git(world.origin, 'update-ref', `refs/heads/${head}`, first)
  // No other agent makes the merge again until upstream moves.
  expect((await day(world)).stdout).toBe('')
  expect(await world.agentRuns()).toBe(2)
  expect(await world.tip('origin', head)).toBe(first)
  await news(world, 3)
  await day(world)
  await world.github.settle()
  const [parent = ''] = await parentsOf(world.origin, world.pull.headSha)
  expect(parent).toBe(first)
})

test('a pull request that no longer merges into its base is replaced by a new one', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await day(world)
  await world.push('origin', { 'news.txt': 'the fork has news of its own\n' })
  await day(world)
  expect(await world.agentRuns()).toBe(2)
})

test('a fast-forward of a fork without own commits is carried on, too', async () => {
  await using world = await makeWorld({ story: 'pristine' })
  await day(world)
  const newest = await world.push('upstream', { 'more.txt': 'more\n' })
  await day(world)
  await world.github.settle()
  expect(world.github.pulls).toHaveLength(1)
  expect(world.pull.headSha).toBe(newest)
  expect(await world.agentRuns()).toBe(0)
})

test('the branch is carried on where there is no GitHub, too', async () => {
  await using world = await makeWorld({ github: false })
  await day(world)
  const [branch = ''] = await world.branches()
  const first = await git(world.origin, 'rev-parse', branch)
  const newest = await news(world, 2)
  await day(world)
  expect(await world.branches()).toEqual([branch])
  expect(await parentsOf(world.origin, branch)).toEqual([first, newest])
})

test('where there is no GitHub, a branch that a person deleted is not made again until upstream moves', async () => {
  await using world = await makeWorld({ github: false })
  expectExit(await world.run(), 0)
  const [branch = ''] = await world.branches()
  await git(world.origin, 'update-ref', '-d', `refs/heads/${branch}`)
  const again = await world.run([], { terminal: 200 })
  expectExit(again, 0)
  expect(again.stdout).toContain(branch)
  expect(await world.branches()).toEqual([])
  expect(await world.agentRuns()).toBe(1)
  await world.push('upstream', { 'more.txt': 'more\n' })
  expectExit(await world.run(), 0)
  expect(await world.branches()).toHaveLength(1)
})

test('among a hundred other pull requests, the one that is ours is found', async () => {
  await using world = await makeWorld()
  await day(world)
  const [start] = [(await world.tip('origin')) ?? '']
  await git(
    world.origin,
    'branch',
    'idea',
    await world.push('origin', { 'idea.txt': 'x' }, { branch: 'ideas', parents: [start] }),
  )
  const headSha = await git(world.origin, 'rev-parse', 'idea')
  for (let number = 2; number <= 105; number++) {
    const at = `2026-11-22T00:00:${String(number % 60).padStart(2, '0')}Z`
    world.github.pulls.push({
      ...world.github.pull(1),
      number,
      title: `Idea ${number}`,
      head: 'idea',
      headSha,
      createdAt: at,
      updatedAt: `2099${at.slice(4)}`,
      known: '',
    })
  }
  await news(world, 2)
  await day(world)
  expect(await world.branches()).toHaveLength(1)
  expect(world.github.requests('GET', /\/pulls$/).some(one => /[?&]page=2\b/.test(one.query))).toBe(true)
  expect(world.github.requests('POST')).toHaveLength(1)
})

test('a fine-grained token, which tells no scopes, is fine', async () => {
  await using world = await makeWorld({ files: { upstream: { '.github/workflows/ci.yml': 'on: push\n' } } })
  world.github.scopes = undefined
  await day(world)
  expect(world.pull.state).toBe('open')
})

test('a user without a name in git’s configuration: the pull request is carried on all the same', async () => {
  await using world = await makeWorld()
  await world.git('config', '--global', '--unset', 'user.name')
  await world.git('config', '--global', '--unset', 'user.email')
  await day(world)
  await news(world, 2)
  await day(world)
  expect(world.pull.state).toBe('open')
  expect(await world.branches()).toEqual([world.pull.head])
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', world.pull.head)).toBe(true)
})

test('all that an update brought is dropped by a person: the pull request is still the one', async () => {
  await using world = await makeWorld()
  await day(world)
  await world.github.merge(1, 'squash')
  await news(world, 2)
  await day(world)
  const { head } = world.github.pull(2)
  // The pull request's branch goes back to the commit that repairs the squash, without the merge on top.
  await git(world.origin, 'update-ref', `refs/heads/${head}`, `${head}^1`)
  await world.push('origin', { 'else.txt': 'else\n' })
  await day(world)
  expect(world.github.pulls).toHaveLength(2)
  expect(await world.branches()).toContain(head)
})

test('a person’s branch with a name like ours, and nothing in common, does no harm', async () => {
  await using world = await makeWorld()
  const tree = await git(world.origin, 'rev-parse', 'main^{tree}')
  const person = ['-c', 'user.name=Fay', '-c', 'user.email=fay@fork.example']
  const orphan = await git(world.origin, ...person, 'commit-tree', tree, '-m', 'Something else')
  await git(world.origin, 'update-ref', 'refs/heads/forklift/main-20990101_000000', orphan)
  await day(world)
  expect(world.pull.head).not.toContain('2099')
})

test('a renamed repository: closed pull requests are also found by the new name', async () => {
  await using world = await makeWorld()
  await day(world)
  await world.github.close(1)
  await world.github.deleteBranch(1)
  world.repository.name = 'me/renamed'
  world.github.repositories.set('me/renamed', world.repository)
  await world.push('origin', { 'own.txt': 'own\n' })
  expect((await day(world)).stdout).toBe('')
  expect(world.github.pulls).toHaveLength(1)
})

test.each(['me/renamed', 'us/fork'])(
  'a repository that is called %s by now still finds its pull request',
  async name => {
    await using world = await makeWorld()
    await day(world)
    await news(world, 2)
    world.repository.name = name
    const { head } = world.pull
    await world.agent('good')
    expectExit(await world.run(), 0)
    expect(world.pull).toMatchObject({ state: 'open', head })
    expect(
      await contains(world.origin, (await world.tip('upstream')) ?? '', await git(world.origin, 'rev-parse', head)),
    ).toBe(true)
    expect(await world.branches()).toEqual([head])
    expectExit(await world.run(), 0)
    expect(world.github.pulls).toHaveLength(1)
    expect(await world.agentRuns()).toBe(2)
  },
)

test('among hundreds of closed pull requests into other branches, ours is found', async () => {
  await using world = await makeWorld()
  await day(world)
  await world.github.close(1)
  const ours = world.pull
  ours.updatedAt = '2026-01-01T00:00:00Z'
  for (let number = 2; number <= 205; number++)
    world.github.pulls.push({
      ...ours,
      number,
      head: `topic-${number}`,
      base: 'release',
      updatedAt: '2026-02-01T00:00:00Z',
    })
  await world.push('origin', { 'own.txt': 'own\n' })
  expect((await day(world)).stdout).toBe('')
  expect(await world.agentRuns()).toBe(1)
})

test('a person’s commit on the pull request of a fork without commits of its own: it is carried on', async () => {
  await using world = await makeWorld({ story: 'pristine' })
  await day(world)
  const { head } = world.pull
  await world.push('origin', { 'fix.txt': 'fixed\n' }, { branch: head })
  await news(world, 2)
  await day(world)
  expect(world.pull.head).toBe(head)
  expect(await show(world.origin, head, 'fix.txt')).toBe('fixed')
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', head)).toBe(true)
})

test('a commit from the year 10000 stops nothing', async () => {
  await using world = await makeWorld({ story: 'pristine' })
  await world.push('upstream', { 'late.txt': 'late\n' }, { when: 253402300810 })
  await day(world)
  expect((await day(world)).stdout).toBe('')
  expect(world.pull.state).toBe('open')
})

test('a new pull request never has the name of a branch that was deleted', async () => {
  await using world = await makeWorld()
  // The branch name has the time of the newest commit, which is the same both times.
  await world.push('origin', { 'own.txt': 'own\n' })
  await day(world)
  await world.github.close(1)
  await world.github.deleteBranch(1)
  await world.push('upstream', { 'more.txt': 'more\n' }, { when: Date.UTC(2020, 0) / 1000 })
  await day(world)
  expect(world.github.pull(2).head).not.toBe(world.github.pull(1).head)
})

test('the default branch is renamed: its open pull request is carried on', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head } = world.pull
  // GitHub retargets open pull requests to the new name.
  await git(world.origin, 'branch', '--move', 'main', 'trunk')
  world.pull.base = 'trunk'
  await world.push('upstream', { 'more.txt': 'more\n' })
  const run = await world.run()
  expectExit(run, 0)
  expect(run.stdout).toContain('Note: the default branch of origin is trunk.')
  expect(world.github.pulls).toHaveLength(1)
  expect(world.pull.head).toBe(head)
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', head)).toBe(true)
  expect((await world.run()).stdout).toBe('')
})

test('a branch of ours that is gone from origin leaves no trace in the checkout', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head } = world.pull
  await git(world.checkout, 'update-ref', 'refs/remotes/origin/forklift/idea', 'origin/main')
  await git(world.checkout, 'update-ref', 'refs/remotes/origin/topic', 'origin/main')
  expect(await git(world.checkout, 'for-each-ref', 'refs/remotes/origin/forklift')).toContain(head)
  await world.github.merge(1)
  await world.github.deleteBranch(1)
  expectExit(await world.run(), 0)
  const refs = await git(world.checkout, 'for-each-ref', '--format=%(refname)', 'refs/remotes/origin')
  expect(refs).not.toContain(head)
  // Remote-tracking branches of the person's own are kept, even if origin has deleted them.
  expect(refs).toContain('origin/forklift/idea')
  expect(refs).toContain('origin/topic')
})
