/** A waiting merge as Forklift's agent left it, for tests and pictures. */
import { MergingStandIn, marked, text } from '../merging-stand-in.ts'
import type { StandIn } from '../web-stand-in.ts'

export const BRANCH = 'upstream-2.14'

const OURS = `    const leases = await this.#store.claim(
      wanted, this.#leaseMs,
    );
    this.#log.claimed(leases, this.#holder);
`
const BASE = `    const leases = await this.#store.claim(
      wanted,
    );
`
const THEIRS = `    const leases = await this.#store.claim(
      wanted, { shards },
    );
    shards.advance(leases);
`
const FIRST = `  /** Claims up to \`size\` jobs, shard by shard. */
  async claim(size: number, lease = LEASE_MS): Promise<Lease[]> {
    if (this.#draining) return [];
`

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
const FIRST_MARKED = marked(
  '  async claim(size: number, lease = LEASE_MS): Promise<Lease[]> {\n',
  '  async claim(size: number): Promise<Lease[]> {\n',
  '  /** Claims up to `size` jobs, shard by shard. */\n  async claim(size: number): Promise<Lease[]> {\n    if (this.#draining) return [];\n',
)

export const CLAIM = 'src/queue/claim.ts'
export const CLAIM_MARKED = claim(FIRST_MARKED, marked(OURS, BASE, THEIRS))
/** One of its two conflicts is resolved. */
export const CLAIM_HALF = claim(FIRST, marked(OURS, BASE, THEIRS))
export const POSTGRES = 'src/store/postgres.ts'
export const POSTGRES_MARKED = `export class PostgresStore {\n${marked('  claim = 1\n', '', '  claim = 2\n')}}\n`
export const OTHERS = ['src/queue/lease.ts', 'src/queue/sweep.ts', 'src/store/memory.ts', 'src/index.ts']

export const STUCK = `Merged 37 commits of upstream 2.14. Two conflicts need someone who knows what this fork wants.

### What I could not decide

- \`claim.ts\`: upstream claims by shard, the fork passes its own lease time. Doing both changes what \`Store.claim\` takes.
- \`postgres.ts\`: the same call, in SQL.

### What is settled

- 6 files, 9 conflicts. All tests but \`claim.test.ts\` pass.

<img src=x onerror="document.title='pwned'"> <script>document.title='pwned'</script>
`

/** With a resolved conflict, an open one, and a whole file to choose. */
export function withMerging(standIn: StandIn): MergingStandIn {
  const branch = standIn.addBranch(BRANCH, {
    [CLAIM]: CLAIM_MARKED,
    [POSTGRES]: POSTGRES_MARKED,
    ...Object.fromEntries(OTHERS.map(path => [path, 'export {}\n'])),
    'logo.png': '',
    'README.md': '# Tern\n',
    'test/claim.test.ts': 'test\n',
  })
  const merging = new MergingStandIn(standIn, BRANCH)
  standIn.layout = {
    tabs: [{ at: { kind: 'branch', branch: BRANCH }, files: [], folders: [] }],
    active: 0,
  }
  const sides = { mark: 7, base: text('x\n'), ours: text('x\n'), theirs: text('x\n') }
  merging.add({ path: CLAIM, kind: 'text', sides })
  merging.add({ path: POSTGRES, kind: 'text', sides })
  for (const path of OTHERS.slice(0, 3)) merging.add({ path, kind: 'text', all: 2, by: 'opus-5.5' })
  merging.add({ path: OTHERS[3] ?? '', kind: 'text', all: 1 })
  branch.drafts = new Map()
  return merging
}
