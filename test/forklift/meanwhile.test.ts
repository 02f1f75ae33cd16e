/** People's actions on the pull request while the agent works are kept. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { commit, contains } from '../support/git.ts'
import { whileTheAgentWorks } from '../support/moments.ts'
import { expectExit, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** Makes an open pull request, and then a new commit upstream. */
async function openPull(world: World): Promise<void> {
  expectExit(await world.run(), 0)
  await world.push('upstream', { 'greeting.txt': 'hello once more\n' })
}

test.each(['kept', 'deleted'])(
  'a pull request that is merged while the agent works (its branch %s): the result gets a new one',
  async branch => {
    await using world = await makeWorld()
    await openPull(world)
    const { head } = world.pull
    const tip = await world.tip('origin', head)
    const run = await whileTheAgentWorks(world, async () => {
      await world.github.merge(1)
      if (branch === 'deleted') await world.github.deleteBranch(1)
    })
    expectExit(run, 0)
    expect(world.github.pulls).toHaveLength(2)
    const second = world.github.pull(2)
    expect(second.state).toBe('open')
    expect(second.head).not.toBe(head)
    expect(run.last).toContain(`/pull/2`)
    expect(await contains(world.origin, (await world.tip('upstream')) ?? '', second.headSha)).toBe(true)
    expect(await world.tip('origin', head)).toBe(branch === 'kept' ? tip : undefined)
    expect(await world.agentRuns()).toBe(2)
  },
)

test('a pull request that is squashed while the agent works: nothing that conflicts is pushed, the next run is right', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const run = await whileTheAgentWorks(world, () => world.github.merge(1, 'squash'))
  expectExit(run, 1)
  expect(run.last).toContain('https://github.com/me/fork/pull/1 was squashed while the agent worked')
  expect(world.github.pulls).toHaveLength(1)
  await world.agent('good')
  expectExit(await world.run(), 0)
  const second = world.github.pull(2)
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', second.headSha)).toBe(true)
  await world.github.merge(2)
  expect((await world.run()).stdout).toBe('')
})

test('a pull request that is closed while the agent works: exit 1, nothing is pushed, and it stays closed', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const { head, body } = world.pull
  const tip = await world.tip('origin', head)
  const run = await whileTheAgentWorks(world, () => world.github.close(1))
  expectExit(run, 1)
  expect(run.last).toMatch(/closed/)
  expect(run.last).toContain('/pull/1')
  expect(await world.branches()).toEqual([head])
  expect(await world.tip('origin', head)).toBe(tip)
  expect(world.pull).toMatchObject({ state: 'closed', body })
  expect(world.github.requests('PATCH')).toEqual([])
  // As the message says, another run makes a new pull request.
  expectExit(await world.run(), 0)
  expect(world.github.pull(1).state).toBe('closed')
  expect(world.github.pull(2)).toMatchObject({ state: 'open' })
  expect(world.github.pull(2).head).not.toBe(head)
})

test('a person’s own text, written while the agent works, stays', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const before = world.pull.body
  const run = await whileTheAgentWorks(world, async () =>
    world.github.editBody(1, body => `Rita: please wait for the release.\n\n${body}\n\nSee you on Monday.`),
  )
  expectExit(run, 0)
  const { body } = world.pull
  expect(body).toContain('Rita: please wait for the release.')
  expect(body).toContain('See you on Monday.')
  expect(body).not.toContain(before)
})

test('a person’s commit that arrives while the agent works is not lost', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const { head } = world.pull
  let theirs = ''
  const run = await whileTheAgentWorks(world, async () => {
    theirs = await commit(world.origin, head, { 'person.txt': 'mine\n' }, { author: 'Rita <rita@fork.example>' })
  })
  expectExit(run, 1)
  expect(await contains(world.origin, theirs, head)).toBe(true)
  // The next run continues from the person's commit.
  await world.agent('good')
  expectExit(await world.run(), 0)
  expect(await contains(world.origin, theirs, world.pull.headSha)).toBe(true)
  expect(await contains(world.origin, (await world.tip('upstream')) ?? '', world.pull.headSha)).toBe(true)
})

test('a result that a person discarded while the agent worked does not come back', async () => {
  await using world = await makeWorld()
  await openPull(world)
  const run = await whileTheAgentWorks(world, () => world.github.deleteBranch(1))
  expectExit(run, 1)
  expect(await world.branches()).toEqual([])
})
