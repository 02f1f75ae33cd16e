/** A waiting merge and a waiting rebase, as the real desk makes them. */

import { replacement } from '../../../support/desk.ts'
import { commit, type Files, git } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { openTestDesk, type TestWindow } from '../../../support/served.ts'
import { templateOf } from './page-scene.ts'

export const BRANCH = 'upstream-2.14'
export const CLAIM = 'src/queue/claim.ts'
export const POSTGRES = 'src/store/postgres.ts'

/** The three sides of a file; null if it does not exist. */
type Sides = { base: string | null; ours: string | null; theirs: string | null }

const claim = (first: string, second: string) => `import type { Lease, Store } from './types'

export class Claimer {
  readonly #store: Store;
  #seen = 0;

${first}    return this.#claimBatch(size, lease);
  }

  async #claimBatch(size: number): Promise<Lease[]> {
    const shards = await this.#store.shards();
    const wanted = Math.min(size, this.#free());
${second}    this.#seen += leases.length;
    return leases;
  }

  /** How many jobs this worker can still take. */
  #free(): number {
    return this.#limit - this.#held.size;
  }
}
`
const CLAIM_SIDES: Sides = {
  base: claim(
    '  async claim(size: number): Promise<Lease[]> {\n',
    '    const leases = await this.#store.claim(wanted);\n',
  ),
  ours: claim(
    '  async claim(size: number, lease = LEASE_MS): Promise<Lease[]> {\n',
    '    const leases = await this.#store.claim(wanted, this.#leaseMs);\n    this.#log.claimed(leases, this.#holder);\n',
  ),
  theirs: claim(
    '  /** Claims up to `size` jobs, shard by shard. */\n  async claim(size: number): Promise<Lease[]> {\n    if (this.#draining) return [];\n',
    '    const leases = await this.#store.claim(wanted, { shards });\n    shards.advance(leases);\n',
  ),
}
const store = (line: string) => `export class PostgresStore {\n${line}}\n`
const POSTGRES_SIDES = { base: store(''), ours: store('  claim = 1\n'), theirs: store('  claim = 2\n') }

/** A file with a conflict at its start, and with `many` another one at its end. */
const other = (many: boolean): Sides => {
  const text = (words: string) =>
    `export const first = '${words}'\n\n// a\n// b\n// c\n// d\n\n${many ? words : 'end'}()\n`
  return { base: text('base'), ours: text('ours'), theirs: text('theirs') }
}
/** Files whose conflicts are resolved: seven in all. */
const SETTLED: Record<string, Sides> = {
  'src/queue/lease.ts': other(true),
  'src/queue/sweep.ts': other(true),
  'src/store/memory.ts': other(true),
  'src/index.ts': other(false),
}
const SHARDS = '# Shards\n\nA shard has one lease at a time.\n'
/** Files that git merges by itself: a new one, and one that theirs renamed. */
const BY_GIT: Record<string, Sides> = {
  'docs/lanes.md': { base: SHARDS, ours: SHARDS, theirs: null },
  'docs/shards.md': { base: null, ours: null, theirs: SHARDS },
  'src/shards.ts': { base: null, ours: null, theirs: 'export {}\n' },
}

/** An image that our side deleted and theirs changed. */
export const LOGO: Record<string, Sides> = {
  'logo.png': { base: `GIF89a\x01\0\x01\0old`, ours: null, theirs: `GIF89a\x01\0\x01\0new` },
}

function sideOf(sides: Record<string, Sides>, side: keyof Sides): Files {
  const files = Object.entries(sides).map(([path, of]) => [path, of[side]] as const)
  // A file that does not exist can't be deleted.
  return Object.fromEntries(files.filter(([path, text]) => text !== null || sides[path]?.base !== null))
}

const fileAt = (branch: string, path: string) => ({ at: { kind: 'branch', branch } as const, path })

/** Replaces the text of a file in the branch, by typing. */
async function typeIn(window: TestWindow, path: string, text: string): Promise<void> {
  const file = (await window.ask({ ask: 'open', ...fileAt(BRANCH, path) })) as { text: string; version: number }
  const edits = [{ client: 'a test', changes: replacement(file.text.length, 0, file.text.length, text) }]
  await window.ask({ ask: 'edit', branch: BRANCH, path, version: file.version, edits })
}

export async function settled(desk: PageDesk, path: string, text: string): Promise<void> {
  await using window = await desk.desk.window()
  await typeIn(window, path, text)
  await desk.isText(BRANCH, path, text)
}

/**
 * Creates three branches: main, and from its commit `branch` and upstream. Merging upstream into `branch` has
 * conflicts.
 */
export async function upstreamIn(
  path: string,
  branch: string,
  more: Record<string, Sides> = {},
): Promise<{ theirs: string }> {
  const rest = { 'README.md': { base: '# Tern\n', ours: '# Tern\n', theirs: '# Tern\n' } }
  const sides = { [CLAIM]: CLAIM_SIDES, [POSTGRES]: POSTGRES_SIDES, ...SETTLED, ...BY_GIT, ...rest, ...more }
  const present = Object.fromEntries(Object.entries(sideOf(sides, 'base')).filter(([, text]) => text !== null))
  const base = await commit(path, 'main', present, { message: 'Begin main' })
  await commit(path, branch, sideOf(sides, 'ours'), { message: 'What the fork has', parents: [base] })
  return {
    theirs: await commit(path, 'upstream', sideOf(sides, 'theirs'), { message: 'Release 2.14', parents: [base] }),
  }
}

/** A merge of upstream into the branch: three conflicts in two files are open, and seven are resolved. */
export const mergingTemplate = (more: Record<string, Sides> = {}): (() => Promise<string>) =>
  templateOf(async path => {
    const { theirs } = await upstreamIn(path, BRANCH, more)
    await using desk = await openTestDesk(path)
    await using window = await desk.window()
    const source = { branch: 'upstream', commit: theirs, words: 'upstream' }
    await window.ask({ ask: 'do', step: { step: 'merge', source, onto: BRANCH } })
    for (const [file, { ours }] of Object.entries(SETTLED)) await typeIn(window, file, ours ?? '')
  })

/** A rebase of the branch that waits at the second of its three commits. */
export const rebasingTemplate = templateOf(async path => {
  const base = await commit(path, 'main', { [CLAIM]: 'one\n' }, { message: 'Begin main' })
  const onto = await commit(path, 'main', { [CLAIM]: 'main\n' }, { message: 'Go on' })
  await commit(path, BRANCH, { 'a.txt': 'a\n' }, { message: 'First', parents: [base] })
  await commit(path, BRANCH, { [CLAIM]: 'shard\n' }, { message: 'Claim by shard' })
  await commit(path, BRANCH, { 'b.txt': 'b\n' }, { message: 'Last' })
  await git(path, 'pack-refs', '--all')
  await using desk = await openTestDesk(path)
  await using window = await desk.window()
  const source = { branch: 'main', commit: onto, words: 'main' }
  await window.ask({ ask: 'do', step: { step: 'rebase', branch: BRANCH, onto: source } })
})
