/** The user's signatures count for that run, repository and user, and for the exact text only. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Approvals } from '../../../../forge/ai/approvals.ts'
import { SigningKeys } from '../../../../forge/ai/signing-keys.ts'
import { ApprovedCommands } from '../../../../forge/tasks/checks/approved.ts'
import type { Limits } from '../../../../forge/tasks/contract.ts'
import { queueOf } from '../../../../forge/tasks/engine/repository-id.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { git } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

const LIMITS = { depth: 3, cost: 5 }
/** The input of a run with some limits. */
const asked = (limits: Limits) => ({
  wish: { oid: 'a'.repeat(40), kind: 'wish' },
  base: 'b'.repeat(40),
  limits,
})
const COMMAND = 'grep -q done a.txt'

const ID_REF = 'refs/forge/id'
const RUN = '20261122-one-abcd'
const OTHER_RUN = '20261122-two-abcd'

/** The approvals of a run, for a user with settings in a separate folder. */
const approvalsOf = (place: Place, run = RUN, person = 'pia'): ApprovedCommands =>
  new ApprovedCommands(new Approvals(join(place.folder, person)), new RunStore(place.objects, run))

type Stored = Record<string, string>
/** The stored approvals of a run, in no order. */
const storedOf = async (place: Place, run = RUN): Promise<Stored[]> =>
  (await new RunStore(place.objects, run).all('approvals')).map(bytes => JSON.parse(bytes.toString()))
/** Stores more approvals in a run, as a process could that writes to the repository. */
async function plant(place: Place, run: string, approvals: readonly unknown[]): Promise<void> {
  const store = new RunStore(place.objects, run)
  await Promise.all(approvals.map((one, at) => store.keep('approvals', `planted ${at}`, JSON.stringify(one))))
}

async function signed() {
  const place = await makePlace()
  const one = approvalsOf(place)
  await one.approve([COMMAND])
  await one.approveAsking(asked(LIMITS))
  return { ...place, place, one }
}

test('what was signed is approved, and nothing that differs in a single sign', async () => {
  await using it = await signed()
  expect(await it.one.missing([COMMAND])).toEqual([])
  for (const other of [`${COMMAND} `, `${COMMAND}\n`, COMMAND.toUpperCase(), `${COMMAND}; id`, COMMAND.slice(1), ''])
    expect(await it.one.missing([COMMAND, other])).toEqual([other])
  expect(await it.one.hasAsked(asked({ cost: 5, depth: 3 }))).toBe(true)
  for (const other of [{ ...LIMITS, cost: 5.01 }, { ...LIMITS, requests: 9 }, { depth: 3 }])
    expect(await it.one.hasAsked(asked(other))).toBe(false)
  const words = asked(LIMITS)
  for (const other of [
    { ...words, base: 'c'.repeat(40) },
    { ...words, wish: { ...words.wish, oid: 'c'.repeat(40) } },
  ])
    expect(await it.one.hasAsked(other)).toBe(false)
})

test('an approval that is copied to another run counts for nothing there', async () => {
  await using it = await signed()
  await it.one.approveAll()
  const two = approvalsOf(it.place, OTHER_RUN)
  await plant(it.place, OTHER_RUN, await storedOf(it.place))
  expect(await it.one.missing([COMMAND, 'any'])).toEqual([])
  expect(await two.missing([COMMAND, 'any'])).toEqual([COMMAND, 'any'])
  expect(await two.hasAsked(asked(LIMITS))).toBe(false)
})

test('nor in another repository; in a clone that shares the id, it counts', async () => {
  await using it = await signed()
  await it.one.approveAll()
  await using other = await makePlace()
  await plant(other, RUN, await storedOf(it.place))
  const there = new ApprovedCommands(new Approvals(join(it.folder, 'pia')), new RunStore(other.objects, RUN))
  expect(await there.missing([COMMAND, 'any'])).toEqual([COMMAND, 'any'])
  expect(await there.hasAsked(asked(LIMITS))).toBe(false)
  await git(other.path, 'update-ref', '-d', ID_REF)
  await git(other.path, 'fetch', '--quiet', it.path, `${ID_REF}:${ID_REF}`)
  expect(await there.missing([COMMAND, 'any'])).toEqual([])
})

test('what was asked for by an earlier id of the repository can be asked for again, and does not count before', async () => {
  await using it = await signed()
  await using hub = await makePlace()
  await queueOf(hub.repository)
  await it.git('remote', 'add', 'hub', hub.path)
  await it.git('config', 'forge.hub', 'hub')
  expect(await it.one.hasAsked(asked(LIMITS))).toBe(false)
  expect(await it.one.hasEverAsked(asked(LIMITS))).toBe(true)
  expect(await it.one.hasEverAsked(asked({ ...LIMITS, cost: 6 }))).toBe(false)
})

test('another person’s approval counts only once their key is trusted, whatever it says of whose it is', async () => {
  await using it = await signed()
  const others = approvalsOf(it.place, RUN, 'oleg')
  // The other user, Oleg, first has no key, then one of his own.
  expect(await others.missing([COMMAND])).toEqual([COMMAND])
  await others.approve(['mine'])
  expect(await others.missing([COMMAND, 'mine'])).toEqual([COMMAND])
  expect(await it.one.missing([COMMAND, 'mine'])).toEqual(['mine'])
  const [hers] = (await storedOf(it.place)).filter(({ name }) => name?.startsWith('the asking'))
  const [his] = (await storedOf(it.place)).filter(({ key }) => key !== hers?.key)
  expect(await it.one.ofStrangers()).toContain(`(${his?.key}): forge trust adds it.`)
  // Oleg's approval is changed to name Pia's key, but still has his signature.
  await plant(it.place, RUN, [{ ...his, key: hers?.key }])
  expect(await it.one.missing([COMMAND, 'mine'])).toEqual(['mine'])

  const [hersToo, key] = [
    new SigningKeys(join(it.folder, 'pia')),
    await new SigningKeys(join(it.folder, 'oleg')).ownLine(),
  ]
  await hersToo.trust(key, ['result'])
  expect(await it.one.missing(['mine'])).toEqual(['mine'])
  await hersToo.trust(key, ['approval', 'result'])
  expect(await it.one.missing(['mine'])).toEqual([])
  await hersToo.distrust(his?.key ?? '')
  expect(await it.one.missing(['mine'])).toEqual(['mine'])
})

test.each([
  ['other content under the same signature', (one: Stored) => relabel(one, { content: 'id' })],
  ['another name under the same signature', (one: Stored) => relabel(one, { name: `all of ${RUN}` })],
  ['an empty signature', (one: Stored) => relabel(one, { content: 'id', signature: '' })],
  ['a signature of zeros', (one: Stored) => relabel(one, { content: 'id', signature: 'A'.repeat(200) })],
  ['no fields at all', () => ({ version: 1 })],
])('an approval with %s approves nothing', async (_, change) => {
  await using it = await signed()
  const [one] = (await storedOf(it.place)).filter(({ name }) => name?.startsWith('a check'))
  await plant(it.place, RUN, [change(one ?? {}), 'no object', []])
  expect(await it.one.missing(['id', 'every command'])).toEqual(['id', 'every command'])
  expect(await it.one.missing([COMMAND])).toEqual([])
})

/** An approval with other fields: its `sha256` is the hash of `content`, the others are as given. */
function relabel(one: Stored, { content, ...fields }: Record<string, string>): Stored {
  const sha256 = content === undefined ? undefined : new Bun.CryptoHasher('sha256').update(content).digest('hex')
  return { ...one, ...fields, ...(sha256 && { sha256 }) }
}
