/** A checkout of a fork in which Forklift has run, with one run of each outcome. */
import { join } from 'node:path'
import { ForkliftCommand } from '../../../support/forklift-command.ts'
import { commit, git } from '../../../support/git.ts'
import { type PageDesk, type PageDeskOptions, tabOf } from '../../../support/page-desk.ts'
import { CLAIM, POSTGRES, upstreamIn } from './merge-scene.ts'
import { makeScratch, openScene, templateOf } from './page-scene.ts'

/** A stuck run, and the branch as which it is opened. */
export const STUCK_RUN = 'tern_20261122_101500'
export const STUCK_BRANCH = 'forklift-20261122_101500'
/** The report of the stuck run's agent. */
export const STUCK = `Merged 37 commits of upstream 2.14. Two conflicts need someone who knows what this fork wants.

### What I could not decide

- \`claim.ts\`: upstream claims by shard, the fork passes its own lease time. Doing both changes what \`Store.claim\` takes.
- \`postgres.ts\`: the same call, in SQL.

### What is settled

- 6 files, 9 conflicts. All tests but \`claim.test.ts\` pass.

<img src=x onerror="document.title='pwned'"> <script>document.title='pwned'</script>
`

const ORIGIN = 'https://github.com/mira/tern.git'
const UPSTREAM = 'https://github.com/quayside/tern.git'

/** main with upstream's branch beside it, which is three commits ahead. */
const forkTemplate = templateOf(async path => {
  const { theirs } = await upstreamIn(path, 'main')
  await commit(path, 'upstream', { 'docs/2.md': '2\n' }, { parents: [theirs] })
  await commit(path, 'upstream', { 'docs/3.md': '3\n' })
})

type ForkOptions = Pick<PageDeskOptions, 'prepare'> & {
  /** Whether Forklift has run and upstream was fetched. Default: true. */
  hasRun?: boolean
  /** The branches with a tab. Default: main. */
  branches?: string[]
}

/** The desk on a checkout of the fork, with a Forklift whose output is scripted. */
export async function openFork({ hasRun = true, branches = ['main'], prepare }: ForkOptions = {}): Promise<{
  desk: PageDesk
  forklift: ForkliftCommand
}> {
  const template = await forkTemplate()
  const [start, upstreamCommit] = await Promise.all([
    git(template, 'rev-parse', 'main'),
    git(template, 'rev-parse', 'upstream'),
  ])
  const scene = { origin: ORIGIN, upstream: UPSTREAM, start, upstreamCommit }
  const forklift = await ForkliftCommand.in(join(await makeScratch(), 'forklift'), scene)
  if (hasRun) await recordRuns(forklift)
  const prepared = async (path: string) => {
    await checkOut(path)
    if (hasRun) await fetchUpstream(path)
    await prepare?.(path)
  }
  const desk = await openScene({
    ...{ template: forkTemplate, forklift: forklift.options, prepare: prepared },
    layout: { tabs: branches.map(branch => tabOf(branch)), active: 0 },
  })
  return { desk, forklift }
}

/** Replaces a bare repository by a checkout of its main. */
async function checkOut(path: string): Promise<void> {
  const bare = `${path}.git`
  await Bun.spawn(['mv', path, bare]).exited
  await Bun.spawn(['mkdir', path]).exited
  await Bun.spawn(['mv', bare, join(path, '.git')]).exited
  await git(path, 'config', 'core.bare', 'false')
  await git(path, 'config', 'remote.origin.url', ORIGIN)
  await git(path, 'reset', '--quiet', '--hard')
}

async function fetchUpstream(path: string): Promise<void> {
  await git(path, 'config', 'remote.upstream.url', UPSTREAM)
  await git(path, 'update-ref', 'refs/remotes/origin/main', 'main')
  await git(path, 'update-ref', 'refs/remotes/upstream/main', 'upstream')
}

async function recordRuns(forklift: ForkliftCommand): Promise<void> {
  await forklift.ran(STUCK_RUN, { exitCode: 4 }, { letter: STUCK, conflicts: [CLAIM, POSTGRES] })
  await forklift.ran('tern_20261118_020000', { exitCode: 0, pullRequest: 'https://github.com/mira/tern/pull/41' })
  await forklift.ran('tern_20261117_020000', { exitCode: 2 }, { conflicts: [CLAIM, POSTGRES, 'src/index.ts'] })
  await forklift.ran('tern_20261116_020000', { exitCode: 3, outcome: 'Refused: more than half went back' })
  await forklift.ran('tern_20261115_020000', { exitCode: 1, outcome: 'The agent or its harness failed' })
}
