/** The last runs of Forklift in a fork, one of each end. */
import type { ForkliftRun } from '../../../../forge/desk/contract/forklift.ts'

const HOUR = 3_600
const now = Math.floor(Date.now() / 1_000)

const run = (
  name: string,
  hours: number,
  more: Omit<ForkliftRun, 'run' | 'started' | 'isByHand' | 'canOpen'> & Partial<ForkliftRun>,
): ForkliftRun => ({
  run: `tern_${name}`,
  started: now - hours * HOUR,
  canOpen: false,
  isByHand: false,
  ...more,
})

export const RUNS: ForkliftRun[] = [
  run('20261122_101500', 2, { end: 'stuck', words: 'Stuck, 2 conflicts', canOpen: true }),
  run('20261118_020000', 98, {
    end: 'merged',
    words: 'Merged 34 commits',
    pullRequest: 'https://github.com/quayside/tern/pull/41',
  }),
  run('20261117_020000', 122, { end: 'timed out', words: 'Out of time, 3 conflicts', canOpen: true }),
  run('20261116_020000', 146, { end: 'refused', words: 'Refused: more than half went back', canOpen: true }),
  run('20261115_020000', 170, { end: 'failed', words: 'The agent or its harness failed' }),
]
