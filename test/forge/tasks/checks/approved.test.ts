/** The user's signatures count for that run, repository and user, and for the exact text only. */
import { expect, test } from 'bun:test'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openRepository } from '../../../../core/git/repository.ts'
import { Approvals } from '../../../../forge/ai/approvals.ts'
import { ApprovedCommands } from '../../../../forge/tasks/checks/approved.ts'
import type { Limits } from '../../../../forge/tasks/contract.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

const LIMITS = { depth: 3, cost: 5 }
/** The input of a run with some limits. */
const asked = (limits: Limits) => ({
  wish: { oid: 'a'.repeat(40), kind: 'wish' },
  base: 'b'.repeat(40),
  limits,
})
const COMMAND = 'grep -q done a.txt'

/** The approvals of a run, for a user with settings in a separate folder. */
async function approvalsOf(place: Place, run = 'one', person = 'pia'): Promise<ApprovedCommands> {
  const folder = folderOf(place, run)
  await mkdir(folder, { recursive: true })
  return new ApprovedCommands(new Approvals(join(place.folder, person)), folder, place.repository, run)
}
const folderOf = (place: Place, run: string) => join(place.folder, 'runs', run)
const fileOf = (place: Place, run: string) => join(folderOf(place, run), 'approved.json')

type Stored = { version: number; approvals: Record<string, string>[] }
/** Changes the stored file of approvals. */
async function rewrite(place: Place, run: string, change: (stored: Stored) => unknown): Promise<void> {
  const stored = JSON.parse(await readFile(fileOf(place, run), 'utf8')) as Stored
  await writeFile(fileOf(place, run), JSON.stringify(change(stored) ?? stored))
}

async function signed() {
  const place = await makePlace()
  const one = await approvalsOf(place)
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
  const two = await approvalsOf(it.place, 'two')
  await cp(fileOf(it.place, 'one'), fileOf(it.place, 'two'))
  expect(await it.one.missing([COMMAND, 'any'])).toEqual([])
  expect(await two.missing([COMMAND, 'any'])).toEqual([COMMAND, 'any'])
  expect(await two.hasAsked(asked(LIMITS))).toBe(false)
})

test('nor in another repository, also one that is a copy of it', async () => {
  await using it = await signed()
  await it.one.approveAll()
  const copy = join(it.folder, 'copy.git')
  await cp(it.path, copy, { recursive: true })
  const approvals = new Approvals(join(it.folder, 'pia'))
  const there = new ApprovedCommands(approvals, folderOf(it.place, 'one'), await openRepository(copy), 'one')
  expect(await there.missing([COMMAND, 'any'])).toEqual([COMMAND, 'any'])
  expect(await there.hasAsked(asked(LIMITS))).toBe(false)
})

test('another person’s approval counts for nothing, whatever it says of whose it is', async () => {
  await using it = await signed()
  const others = await approvalsOf(it.place, 'one', 'oleg')
  // The other user, Oleg, first has no key, then one of his own.
  expect(await others.missing([COMMAND])).toEqual([COMMAND])
  await others.approve(['mine'])
  expect(await others.missing([COMMAND, 'mine'])).toEqual([COMMAND])
  expect(await it.one.missing([COMMAND, 'mine'])).toEqual(['mine'])
  // Oleg's approval is changed to name Pia's key, but still has his signature.
  await rewrite(it.place, 'one', ({ approvals }) => {
    const [hers, , his] = approvals
    if (hers && his) his.key = hers.key ?? ''
  })
  expect(await it.one.missing([COMMAND, 'mine'])).toEqual(['mine'])
})

test.each([
  ['other content under the same signature', ({ approvals }: Stored) => relabel(approvals, { content: 'id' })],
  ['another name under the same signature', ({ approvals }: Stored) => relabel(approvals, { name: 'all of one' })],
  ['an empty signature', ({ approvals }: Stored) => relabel(approvals, { signature: '' })],
  ['a signature of zeros', ({ approvals }: Stored) => relabel(approvals, { signature: 'A'.repeat(86).concat('==') })],
  ['no list at all', () => ({ version: 1 })],
  ['another version', (stored: Stored) => ({ ...stored, version: 2 })],
  ['more than anybody signs', ({ approvals }: Stored) => ({ version: 1, approvals: Array(5001).fill(approvals[0]) })],
])('a file with %s approves nothing new', async (_, change) => {
  await using it = await signed()
  await rewrite(it.place, 'one', change)
  expect(await it.one.missing(['id', 'every command'])).toEqual(['id', 'every command'])
})

/** Changes fields of the first approval: sets its `sha256` to the hash of `content`, and the others as given. */
function relabel(approvals: Stored['approvals'], { content, ...fields }: Record<string, string>): void {
  const sha256 = content === undefined ? undefined : new Bun.CryptoHasher('sha256').update(content).digest('hex')
  Object.assign(approvals[0] ?? {}, fields, sha256 && { sha256 })
}

test('what can’t be read is asked again, and signing works after that', async () => {
  await using it = await signed()
  await writeFile(fileOf(it.place, 'one'), '{"version": 1, "approvals": [')
  expect(await it.one.missing([COMMAND])).toEqual([COMMAND])
  await it.one.approve([COMMAND])
  expect(await it.one.missing([COMMAND])).toEqual([])
})
