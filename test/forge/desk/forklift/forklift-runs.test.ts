/** The lines of the runs of Forklift in the desk. */
import { expect, test } from 'bun:test'
import type { RecordedRun } from '../../../../core/formats/forklift-run.ts'
import { wordsOfRun } from '../../../../forge/desk/forklift/forklift-runs.ts'

const BY_HAND: RecordedRun = {
  path: '/runs/my-fork_20261123_140903',
  metadata: {
    version: '1',
    origin: 'https://github.com/me/my-fork',
    upstream: 'https://github.com/una/greet',
    branch: 'main',
    upstreamBranch: 'main',
    originCommit: 'a'.repeat(40),
    startCommit: 'b'.repeat(40),
    upstreamCommit: 'c'.repeat(40),
    conflicts: [],
    startedAt: '2026-11-23T14:09:03.000Z',
    byHand: 'mine',
    anyway: false,
  },
  outcome: { exitCode: 0, outcome: 'Pull request updated', startedAt: '', endedAt: '' },
}

test('a run without new commits of upstream has updated a merge', () => {
  expect(wordsOfRun(BY_HAND, { commits: 3, isOwn: false })).toBe('Merged 3 commits by hand')
  expect(wordsOfRun(BY_HAND, { commits: 0, isOwn: false })).toBe('Updated the merge')
})
