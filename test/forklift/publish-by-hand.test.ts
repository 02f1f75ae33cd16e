/** `forklift --publish BRANCH`: publishes a person's merge in place of an agent's. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { mergeInPartsLine } from '../../core/formats/merge-in-parts.ts'
import { contains, git, parentsOf, show } from '../support/git.ts'
import { type Ended, expectExit, makeWorld, type World, type WorldOptions } from '../support/world.ts'

setDefaultTimeout(60_000)

/** A world without docker, a key and settings of OpenCode, which are not needed here. */
async function withoutAnAgent(options?: WorldOptions): Promise<World> {
  const world = await makeWorld(options)
  await rm(join(world.home, '.config/forklift'), { recursive: true })
  await world.tool('docker', 'echo "there is no docker here" >&2; exit 127')
  return world
}

type Hands = { from?: string; into?: string; greeting?: string; message?: string }

/** Merges upstream as a person does: fetch, branch, merge, edit the conflicts, commit. */
async function mergeByHand(world: World, hands: Hands = {}): Promise<string> {
  const { from = 'origin/main', into = 'mine', greeting = 'hello from us both', message = 'Say hello together' } = hands
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', into, '--no-track', from)
  await world.git('merge', '--quiet', '--no-edit', 'upstream/main').catch(() => undefined)
  await writeFile(join(world.checkout, 'greeting.txt'), `${greeting}\n`)
  await world.git('commit', '--quiet', '--all', '--message', message)
  return await world.git('rev-parse', 'HEAD')
}

/** Commits another change on the checked-out branch. */
async function change(world: World, path: string, content: string): Promise<void> {
  await mkdir(dirname(join(world.checkout, path)), { recursive: true })
  await writeFile(join(world.checkout, path), content)
  await world.git('add', '--all', '--force')
  await world.git('commit', '--quiet', '--message', `Change ${path}`)
}

/** Checks that nothing of the run reached origin. */
async function nothingIsPublished(world: World, run: Ended, code: number): Promise<void> {
  expectExit(run, code)
  expect(run.stdout + run.stderr).not.toMatch(/^\s+at /m)
  expect(await world.branches()).toEqual([])
  expect(world.github.pulls).toEqual([])
}

test('a merge by hand becomes one commit and a pull request, without docker, model or key', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.last).toContain('Pull request opened: https://github.com/me/fork/pull/1')
  const { headSha, body, draft } = world.pull
  expect(await parentsOf(world.origin, headSha)).toEqual([
    (await world.tip('origin')) ?? '',
    (await world.tip('upstream')) ?? '',
  ])
  expect(await show(world.origin, headSha, 'greeting.txt')).toBe('hello from us both')
  expect(await git(world.origin, 'log', '-1', '--format=%B', headSha)).toMatch(
    /Its commits say:[\s\S]*Say hello together[\s\S]*Forklift-Upstream: [0-9a-f]{40}/,
  )
  expect(body).toContain('Merged by hand, on `mine`')
  expect(body).toContain('Say hello together')
  expect(body).not.toMatch(/agent/i)
  expect(draft).toBe(false)
})

test('a merge that forge land has made in parts is published, and its page says how it was made', async () => {
  await using world = await withoutAnAgent()
  const how = { parts: 2, files: 9, models: [{ model: 'openai/one', parts: 2 }], left: 0 }
  const asked = { count: 1, first: [{ question: 'Which side?', answer: 'Both' }] }
  const line = mergeInPartsLine({ ...how, asked, before: { model: 'agent-model', conflicts: 1 } })
  const message = `Merge upstream into main\n\nResolved in 2 parts: 9 files in conflict.\n\nForge-Run: x\n${line}\n`
  await mergeByHand(world, { into: 'forklift-20261124_101112', message })
  expectExit(await world.run(['--publish', 'forklift-20261124_101112']), 0)
  const { body, headSha } = world.pull
  expect(body).toContain('Merged in parts, on `forklift-20261124_101112`, and judged by Forklift.')
  expect(body).toContain('9 files in conflict were resolved in 2 parts, by `openai/one` (2 parts).')
  expect(body).toContain('1 conflict had been resolved by an agent with `agent-model`.')
  expect(body).toContain('- `Which side?` Answer: `Both`')
  expect(await show(world.origin, headSha, 'greeting.txt')).toBe('hello from us both')
})

test('the run is recorded: what was judged, from where, and how it ended', async () => {
  await using world = await withoutAnAgent()
  const result = await mergeByHand(world)
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { metadata, outcome } = await world.lastRun()
  expect(metadata).toMatchObject({
    byHand: 'mine',
    anyway: false,
    startCommit: await world.tip('origin'),
    upstreamCommit: await world.tip('upstream'),
    conflicts: [{ path: 'greeting.txt' }],
  })
  const { head, headSha } = world.pull
  expect(outcome).toMatchObject({ exitCode: 0, result, commit: headSha, branch: head })
  expect(outcome?.pullRequest).toContain('/pull/1')
})

test('after a STUCK.md: the answer by hand is published, and the next run has nothing to do', async () => {
  await using world = await makeWorld()
  await world.agent('merge || true; echo "Which greeting?" >STUCK.md; exit 4')
  expectExit(await world.run(), 4)
  await mergeByHand(world)
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(world.pull.state).toBe('open')
  const next = await world.run([], { terminal: 200 })
  expectExit(next, 0)
  expect(next.stdout).toContain('waits to be merged')
  expect(await world.agentRuns()).toBe(1)
})

test('the checkout, its branches and its index are as they were', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await world.git('checkout', '--quiet', 'main')
  await writeFile(join(world.checkout, 'fork.txt'), 'not saved yet\n')
  const state = async () =>
    [
      await world.git('status', '--porcelain'),
      await world.git('for-each-ref', 'refs/heads'),
      await world.git('symbolic-ref', 'HEAD'),
    ].join('\n')
  const before = await state()
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(await state()).toBe(before)
})

test('a branch that does not exist: one sentence', async () => {
  await using world = await withoutAnAgent()
  const run = await world.run(['--publish', 'nosuch'])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain('There is no branch nosuch here')
})

test('a branch that has nothing of upstream in it: a sentence with the command that brings it', async () => {
  await using world = await withoutAnAgent()
  await world.git('checkout', '--quiet', '-b', 'mine')
  await change(world, 'more.txt', 'more of ours\n')
  const run = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain("mine has none of upstream's new commits in it: git merge upstream/main")
})

test('a branch that has nothing of upstream in it is not published with --anyway either', async () => {
  await using world = await withoutAnAgent()
  await world.git('checkout', '--quiet', '-b', 'mine')
  await change(world, 'more.txt', 'more of ours\n')
  await nothingIsPublished(world, await world.run(['--publish', 'mine', '--anyway']), 1)
})

test('upstream went on after the merge: what was merged is published, and it is said what is left', async () => {
  await using world = await withoutAnAgent()
  const merged = await world.tip('upstream')
  await mergeByHand(world)
  await world.push('upstream', { 'later.txt': 'later\n' })
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.stdout).toContain('upstream has 1 newer commit than mine')
  expect((await parentsOf(world.origin, world.pull.headSha))[1]).toBe(merged ?? '')
})

test('origin went on after the merge: what is new there is merged in', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await world.push('origin', { 'newer.txt': 'newer\n' })
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.stdout).toContain('what is new in origin/main since then was merged in')
  const { headSha, draft, body } = world.pull
  expect(await show(world.origin, headSha, 'newer.txt')).toBe('newer')
  expect(await show(world.origin, headSha, 'greeting.txt')).toBe('hello from us both')
  expect((await parentsOf(world.origin, headSha))[0]).toBe((await world.tip('origin')) ?? '')
  expect(draft).toBe(false)
  expect(body).not.toContain('Join the fork as it is now')
})

test('origin went on and conflicts with the merge: a sentence with the command that mends it', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await world.push('origin', { 'greeting.txt': 'hello, meanwhile\n' })
  const run = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain('mine lacks what is new in origin/main, and the two conflict: git merge origin/main')
})

test('a fork that was rebased onto upstream by hand is published as a merge', async () => {
  await using world = await withoutAnAgent()
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', 'mine', '--no-track', 'origin/main')
  await world.git('rebase', '--quiet', 'upstream/main').catch(() => undefined)
  await writeFile(join(world.checkout, 'greeting.txt'), 'hello from us both\n')
  await world.git('add', '--all')
  await world.git('-c', 'core.editor=true', 'rebase', '--continue')
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { headSha } = world.pull
  expect(await parentsOf(world.origin, headSha)).toEqual([
    (await world.tip('origin')) ?? '',
    (await world.tip('upstream')) ?? '',
  ])
  expect(await show(world.origin, headSha, 'fork.txt')).toBe('ours')
  expect(await show(world.origin, headSha, 'greeting.txt')).toBe('hello from us both')
})

test('the living pull request is carried on, as a fast-forward', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head, headSha: before } = world.pull
  await world.push('upstream', { 'greeting.txt': 'hello once more\n' })
  await world.git('fetch', '--quiet', '--all')
  await mergeByHand(world, { from: `origin/${head}`, greeting: 'hello once more, from us both' })
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.last).toContain('Pull request updated')
  expect(await world.branches()).toEqual([head])
  expect(await contains(world.origin, before, world.pull.headSha)).toBe(true)
  expect(await show(world.origin, world.pull.headSha, 'greeting.txt')).toBe('hello once more, from us both')
})

test('a pull request that brings the same already: nothing is pushed, and it is said', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { headSha } = world.pull
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.last).toMatch(/Nothing to do: pull request #1 .* already brings this\./)
  expect(world.pull.headSha).toBe(headSha)
})

test('a fix after the merge was published goes to the same pull request, as a fast-forward', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { headSha: before } = world.pull
  await change(world, 'greeting.txt', 'hello from us both!\n')
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.last).toContain('Pull request updated')
  const { headSha, body, draft } = world.pull
  expect(await parentsOf(world.origin, headSha)).toEqual([before])
  expect(await show(world.origin, headSha, 'greeting.txt')).toBe('hello from us both!')
  expect(await git(world.origin, 'log', '-1', '--format=%s', headSha)).toBe('Update the merge of main (1 commit)')
  expect(body).toContain('Change greeting.txt')
  expect(draft).toBe(false)
})

test('a fix after others have pushed to the pull request keeps what they did', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { head } = world.pull
  const theirs = await world.push('origin', { 'reviewed.txt': 'by Rita\n' }, { branch: head })
  await change(world, 'greeting.txt', 'hello from us both!\n')
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { headSha } = world.pull
  expect(await contains(world.origin, theirs, headSha)).toBe(true)
  expect(await show(world.origin, headSha, 'reviewed.txt')).toBe('by Rita')
  expect(await show(world.origin, headSha, 'greeting.txt')).toBe('hello from us both!')
})

test('what a teammate has taken back in the pull request does not return with a fix', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  expectExit(await world.run(['--publish', 'mine']), 0)
  await change(world, 'greeting.txt', 'hello from us both!\n')
  expectExit(await world.run(['--publish', 'mine']), 0)
  // A commit on the published branch with the files of the first published state.
  await world.push('origin', { 'greeting.txt': 'hello from us both\n' }, { branch: world.pull.head })
  await change(world, 'more.txt', 'more\n')
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(await show(world.origin, world.pull.headSha, 'greeting.txt')).toBe('hello from us both')
  expect(await show(world.origin, world.pull.headSha, 'more.txt')).toBe('more')
})

test('a merge that differs from the one in the pull request: a sentence with the command that joins them', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head, headSha } = world.pull
  await mergeByHand(world)
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 1)
  expect(run.last).toContain(`and the two conflict: git merge origin/${head} there, and publish it again`)
  await world.git('merge', '--quiet', '--strategy', 'ours', '--no-edit', `origin/${head}`)
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(await contains(world.origin, headSha, world.pull.headSha)).toBe(true)
  expect(await show(world.origin, world.pull.headSha, 'greeting.txt')).toBe('hello from us both')
})

test('a branch that is newer on origin is taken as it is there, and that is said', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await world.git('push', '--quiet', 'origin', 'mine')
  await world.push('origin', { 'teammate.txt': 'a fix\n' }, { branch: 'mine' })
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.stdout).toContain('mine has 1 newer commit on origin: it is taken as it is there.')
  expect(await show(world.origin, world.pull.headSha, 'teammate.txt')).toBe('a fix')
})

test('a branch that has gone apart from origin’s of that name: a sentence that says what to do', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await world.git('push', '--quiet', 'origin', 'mine')
  await world.push('origin', { 'teammate.txt': 'a fix\n' }, { branch: 'mine' })
  await change(world, 'more.txt', 'more\n')
  const run = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain('mine here and on origin have gone apart: git pull there')
})

test('a branch that is older on origin is taken as it is here', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await world.git('push', '--quiet', 'origin', 'mine')
  await change(world, 'more.txt', 'more\n')
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(await show(world.origin, world.pull.headSha, 'more.txt')).toBe('more')
})

test('the local default branch, on which a person has merged, can be published', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world, { into: 'main' })
  await world.push('origin', { 'newer.txt': 'newer\n' })
  expectExit(await world.run(['--publish', 'main']), 0)
  expect(await show(world.origin, world.pull.headSha, 'newer.txt')).toBe('newer')
})

test('what origin has already: nothing to do, or a sentence for what else is on the branch', async () => {
  await using world = await withoutAnAgent()
  const tip = await mergeByHand(world)
  await world.git('push', '--quiet', 'origin', `${tip}:main`)
  const same = await world.run(['--publish', 'mine'], { terminal: 200 })
  expectExit(same, 0)
  expect(same.stdout).toContain('Nothing to do: upstream/main is in origin/main, and so is mine.')
  await change(world, 'more.txt', 'more\n')
  const more = await world.run(['--publish', 'mine'])
  expectExit(more, 1)
  expect(more.last).toContain('so mine brings nothing of upstream: push it as any other branch.')
})

test('a pull request that GitHub did not make is made by a plain run, with the person’s words', async () => {
  await using world = await makeWorld()
  await mergeByHand(world)
  world.github.fail({ method: 'POST', status: 503, times: 4 })
  const failed = await world.run(['--publish', 'mine'])
  expectExit(failed, 1)
  expect(failed.last).toContain('run forklift --publish mine again')
  expectExit(await world.run(), 0)
  expect(world.pull.body).toContain('Merged by hand, on `mine`, and judged by Forklift')
  expect(world.pull.body).toContain('What its commits say')
  expect(world.pull.body).toContain('Say hello together')
  expect(await world.agentRuns()).toBe(0)
})

test('a workflow that the fork deleted comes back where the person’s own merge says so, as a draft', async () => {
  const path = '.github/workflows/deploy.yml'
  const job = (run: string) => `on: push\njobs:\n  deploy:\n    steps:\n      - run: ${run}\n`
  await using world = await withoutAnAgent()
  await world.push('upstream', { [path]: job('make') })
  await mergeByHand(world)
  await world.git('rm', '--quiet', path)
  await world.git('commit', '--quiet', '--message', 'No deployments here')
  await world.git('push', '--quiet', 'origin', 'mine:main')
  await world.push('upstream', { [path]: job('make all') })
  await mergeByHand(world, { into: 'again' })
  await world.git('checkout', '--quiet', 'upstream/main', '--', path)
  await world.git('commit', '--quiet', '--all', '--amend', '--no-edit')
  expectExit(await world.run(['--publish', 'again']), 0)
  expect(world.pull.draft).toBe(true)
  expect(await show(world.origin, world.pull.headSha, path)).toContain('make all')
})

test.each([
  ['HEAD', 'A merge', 'git commit'],
  ['@', 'A merge', 'git commit'],
])('--publish %s in the middle of a merge: a sentence that says so', async (name, what, remedy) => {
  await using world = await withoutAnAgent()
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-b', 'mine')
  await world.git('merge', '--quiet', '--no-edit', 'upstream/main').catch(() => undefined)
  const run = await world.run(['--publish', name])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain(`${what} is under way on ${name}: ${remedy}, and publish it again`)
})

test.each(['HEAD', 'mine'])('--publish %s in the middle of a rebase: a sentence that says so', async name => {
  await using world = await withoutAnAgent()
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', 'mine', '--no-track', 'origin/main')
  await world.git('rebase', '--quiet', 'upstream/main').catch(() => undefined)
  const run = await world.run(['--publish', name])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain(`A rebase is under way on ${name}: git rebase --continue`)
})

test('a merge that waits in another worktree: a sentence that says so', async () => {
  await using world = await withoutAnAgent()
  await world.git('fetch', '--quiet', '--all')
  const cwd = world.path('elsewhere')
  await world.git('worktree', 'add', '--quiet', '-b', 'mine', cwd, 'origin/main')
  await world.git('merge', '--quiet', '--no-edit', 'upstream/main', { cwd }).catch(() => undefined)
  const run = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain('A merge is under way on mine')
})

test('a detached HEAD, a tag and the beginning of an id are published as the commits that they name', async () => {
  await using world = await withoutAnAgent()
  const tip = await mergeByHand(world)
  await world.git('checkout', '--quiet', '--detach')
  await world.git('tag', '--annotate', '--message', 'Mine', 'merged')
  expectExit(await world.run(['--publish', 'HEAD']), 0)
  const { headSha } = world.pull
  for (const name of ['merged', tip.slice(0, 10), 'HEAD^0', `origin/${world.pull.head}`]) {
    expectExit(await world.run(['--publish', name]), 0)
    expect(world.pull.headSha).toBe(headSha)
  }
})

test('a merge that takes nothing of upstream, and one without its history, are told apart', async () => {
  await using world = await withoutAnAgent()
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', 'nothing', '--no-track', 'origin/main')
  await world.git('merge', '--quiet', '--no-edit', '--strategy', 'ours', 'upstream/main')
  const nothing = await world.run(['--publish', 'nothing'])
  await nothingIsPublished(world, nothing, 3)
  expect(nothing.last).toContain("The result is the fork's tree as it was")
  await mergeByHand(world)
  await world.git('reset', '--quiet', '--soft', 'origin/main')
  await world.git('commit', '--quiet', '--message', 'Squashed')
  const squashed = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, squashed, 1)
  expect(squashed.last).toContain("mine has none of upstream's new commits in it")
})

test('a pull request that a person closed for this upstream commit does not keep them from their own', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  await world.github.close(1)
  await mergeByHand(world)
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(world.github.pull(2)).toMatchObject({ state: 'open' })
})

test('what would refuse an agent’s result refuses a person’s: exit 3, with what lifts it', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await change(world, '.github/workflows/new.yml', 'on: push\n')
  const run = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, run, 3)
  expect(run.last).toMatch(/steer CI.*forklift --publish mine --anyway/)
  expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 3 })
})

test('--anyway publishes what was refused as a draft, the refusals on top of the page', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await change(world, '.github/workflows/new.yml', 'on: push\n')
  expectExit(await world.run(['--publish', 'mine', '--anyway']), 0)
  const { draft, body, headSha } = world.pull
  expect(draft).toBe(true)
  expect(body.indexOf('Files that steer CI differ')).toBeGreaterThan(0)
  expect(body.indexOf('Files that steer CI differ')).toBeLessThan(body.indexOf('**Merges '))
  expect(await show(world.origin, headSha, '.github/workflows/new.yml')).toBe('on: push')
  expect((await world.lastRun()).metadata).toMatchObject({ anyway: true })
})

test('--anyway lifts no conflict markers', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world, { greeting: '<<<<<<< ours\nhello\n=======\nhi\n>>>>>>> theirs' })
  const run = await world.run(['--publish', 'mine', '--anyway'])
  await nothingIsPublished(world, run, 3)
  expect(run.last).toContain('Conflict markers were left in greeting.txt')
  expect(run.last).not.toContain('--anyway')
})

test('a pull request that GitHub did not make is made by the same command, for the branch that is there', async () => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  world.github.fail({ method: 'POST', status: 503, times: 4 })
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 1)
  expect(run.last).toContain('is pushed, its pull request is not made')
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(await world.branches()).toEqual([world.pull.head])
  expect(world.pull.body).toContain('Merged by hand, on `mine`')
})

test('where there is no GitHub the branch is pushed', async () => {
  await using world = await withoutAnAgent({ github: false })
  await mergeByHand(world)
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 0)
  expect(run.last).toMatch(/Pushed forklift\/main-\d{8}_\d{6} to origin/)
  expect(await world.branches()).toHaveLength(1)
})

test('a fork without commits of its own: upstream’s commit is published as it is', async () => {
  await using world = await withoutAnAgent({ story: 'pristine' })
  await world.git('fetch', '--quiet', '--all')
  await world.git('branch', '--quiet', 'mine', 'upstream/main')
  expectExit(await world.run(['--publish', 'mine']), 0)
  expect(world.pull.headSha).toBe((await world.tip('upstream')) ?? '')
})

test('any commit can be named, not only a branch', async () => {
  await using world = await withoutAnAgent()
  const tip = await mergeByHand(world)
  await world.git('checkout', '--quiet', '--detach')
  await world.git('branch', '--quiet', '-D', 'mine')
  expectExit(await world.run(['--publish', tip]), 0)
  expect(world.pull.state).toBe('open')
})

test('--publish --check looks at what a person needs, and at nothing of the agent’s', async () => {
  await using world = await withoutAnAgent()
  const run = await world.run(['--publish', 'mine', '--check'])
  expectExit(run, 0)
  expect(run.last).toContain('Everything is ready.')
  expect(run.stdout).not.toMatch(/docker|OpenCode|time limit/)
})

test.each([
  [['--publish'], /publish/],
  [['--publish', ''], /needs the name of a branch/],
  [['--publish=--all'], /needs the name of a branch/],
  [['--anyway'], /--anyway goes with --publish BRANCH/],
  [['--publish', 'mine', '--retry'], /does not go with --retry/],
  [['--publish', 'mine', '--model', 'm'], /does not go with --model/],
])('wrong usage: forklift %j', async (args, sentence) => {
  await using world = await withoutAnAgent()
  const run = await world.run(args)
  expectExit(run, 64)
  expect(run.last).toMatch(sentence)
})

test('commits that people pushed to the living pull request are not undone: a sentence says what to merge', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head, headSha } = world.pull
  const reviewed = await world.push('origin', { 'reviewed.txt': 'by Rita\n' }, { branch: head })
  await world.push('upstream', { 'greeting.txt': 'hello once more\n' })
  await mergeByHand(world, { greeting: 'quite another greeting' })
  const run = await world.run(['--publish', 'mine'])
  expectExit(run, 1)
  expect(run.last).toContain(`mine lacks what is new in origin/${head}, and the two conflict`)
  expect(await world.tip('origin', head)).toBe(reviewed)
  expect(headSha).not.toBe(reviewed)
})

test('what a rebase leaves out of the living pull request is shown, as a draft', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head } = world.pull
  await world.push('origin', { 'reviewed.txt': 'by Rita\n', 'also.txt': 'by Rita\n' }, { branch: head })
  await world.push('upstream', { 'later.txt': 'later\n' })
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', 'mine', '--no-track', 'upstream/main')
  await change(world, 'fork.txt', 'ours\n')
  const run = await world.run(['--publish', 'mine', '--anyway'])
  expectExit(run, 0)
  const pull = world.github.pulls.at(-1)
  expect(pull).toMatchObject({ draft: true })
  expect(pull?.body).toContain('reviewed.txt')
})

test('after a pull request that was squashed: a merge by hand of the newer upstream is published', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  await world.github.merge(1, 'squash')
  await world.push('upstream', { 'greeting.txt': 'hello once more\n' })
  await mergeByHand(world, { greeting: 'hello once more, from us both' })
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { headSha } = world.github.pull(2)
  expect(await show(world.origin, headSha, 'greeting.txt')).toBe('hello once more, from us both')
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', headSha)).toBe(true)
})

test('two lines of upstream’s that were merged apart: a sentence with the command that joins them', async () => {
  await using world = await withoutAnAgent()
  const first = await world.push('upstream', { 'x.txt': 'x\n' }, { branch: 'x' })
  await git(world.upstream, 'update-ref', 'refs/heads/y', (await world.tip('upstream')) ?? '')
  const second = await world.push('upstream', { 'y.txt': 'y\n' }, { branch: 'y' })
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', 'mine', '--no-track', 'origin/main')
  await world.git('merge', '--quiet', '--no-edit', '--allow-unrelated-histories', first)
  await world.git('merge', '--quiet', '--no-edit', second).catch(() => undefined)
  await writeFile(join(world.checkout, 'greeting.txt'), 'hello from us both\n')
  await world.git('commit', '--quiet', '--all', '--message', 'Merge y')
  await world.push('upstream', { 'z.txt': 'z\n' }, { parents: [second, first] })
  const run = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain("lines of upstream's in it that upstream has joined since: git merge upstream/main")
})

test('a commit that was left out of a clean rebase does not come back', async () => {
  await using world = await withoutAnAgent({ story: 'clean' })
  await world.push('origin', { 'dropped.txt': 'no longer wanted\n' })
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', 'mine', '--no-track', 'origin/main')
  await world.git('rebase', '--quiet', '--onto', 'upstream/main', 'upstream/main~1', 'mine~1')
  await world.git('branch', '--quiet', '--force', 'mine', 'HEAD')
  expectExit(await world.run(['--publish', 'mine']), 0)
  const { headSha, draft } = world.pull
  expect(await git(world.origin, 'ls-tree', '--name-only', headSha)).not.toContain('dropped.txt')
  expect(draft).toBe(true)
})

test.each(['mine', 'origin/mine'])('a branch that is only on origin is taken as it is there now: %s', async name => {
  await using world = await withoutAnAgent()
  await mergeByHand(world)
  await world.git('push', '--quiet', 'origin', 'mine')
  await world.git('checkout', '--quiet', 'main')
  await world.git('branch', '--quiet', '-D', 'mine')
  await world.push('origin', { 'newer.txt': 'pushed by somebody else\n' }, { branch: 'mine' })
  expectExit(await world.run(['--publish', name]), 0)
  expect(await show(world.origin, world.pull.headSha, 'newer.txt')).toBe('pushed by somebody else')
})

test('upstream’s own branch, without the fork’s commits: a sentence, and no way to force it', async () => {
  await using world = await withoutAnAgent()
  await world.git('fetch', '--quiet', '--all')
  for (const more of [[], ['--anyway']]) {
    const run = await world.run(['--publish', 'upstream/main', ...more])
    await nothingIsPublished(world, run, 1)
    expect(run.last).toContain(
      "upstream/main is upstream's own, without the fork's commits: git merge origin/main there",
    )
  }
})

test('a merge that is not committed yet: a sentence that says so', async () => {
  await using world = await withoutAnAgent()
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-b', 'mine')
  await world.git('merge', '--quiet', '--no-edit', 'upstream/main').catch(() => undefined)
  const run = await world.run(['--publish', 'mine'])
  await nothingIsPublished(world, run, 1)
  expect(run.last).toContain('A merge is under way on mine: git commit, and publish it again')
})

test('--anyway on a living pull request: what is refused gets a draft of its own', async () => {
  await using world = await makeWorld()
  expectExit(await world.run(), 0)
  const { head, headSha } = world.pull
  await world.push('upstream', { 'later.txt': 'later\n' })
  await world.git('fetch', '--quiet', '--all')
  await world.git('checkout', '--quiet', '-B', 'mine', '--no-track', `origin/${head}`)
  await world.git('merge', '--quiet', '--no-edit', 'upstream/main')
  await change(world, '.github/workflows/new.yml', 'on: push\n')
  expectExit(await world.run(['--publish', 'mine', '--anyway']), 0)
  expect(world.github.pull(1)).toMatchObject({ headSha, draft: false })
  expect(world.github.pull(2)).toMatchObject({ state: 'open', draft: true })
  expect(world.github.pull(2).body).toContain('/pull/1')
})
