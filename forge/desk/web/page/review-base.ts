/** The base of a review: a branch, a remote branch, a tag or a commit. */

import type { BranchInfo } from '../../contract/branches.ts'
import type { Refs } from '../../contract/graph.ts'
import type { CommitRow } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import { byVersion } from '../ui/versions.ts'
import { splitByRun } from './branches-of-runs.ts'

export interface Base {
  /** `own merge`: what git makes of the two parents of the merge that is reviewed. */
  kind: 'branch' | 'remote branch' | 'tag' | 'commit' | 'own merge'
  /** The name on the screen, a byte string, such as origin/main or abc12345. */
  name: string
  /** Where the base is: a branch is followed, anything else stays at the commit it had when chosen. */
  at: At
  committed?: number | undefined
}

const atTip = (commit: string): At => ({ kind: 'commit', commit })

export const branchBase = ({ name, committed }: Pick<BranchInfo, 'name' | 'committed'>): Base => {
  return { kind: 'branch', name, at: { kind: 'branch', branch: name }, committed }
}

/** The base at the commit that it has now: a remote branch moves by a fetch and a push. */
export function baseNow(base: Base, refs: Refs | undefined): Base {
  if (base.kind !== 'remote branch') return base
  const remote = refs?.remotes.find(({ name, branches }) =>
    branches.some(branch => `${name}/${branch.name}` === base.name),
  )
  const now = remote?.branches.find(branch => `${remote.name}/${branch.name}` === base.name)
  return now ? { ...base, at: atTip(now.tip), committed: now.committed } : base
}

/** The bases for a merge: what git makes of its parents by itself, and each parent. None for another commit. */
export function mergeBases(commit: string, parents: readonly string[]): Base[] {
  if (parents.length < 2) return []
  const own: Base = { kind: 'own merge', name: 'the merge as git makes it', at: atTip(commit) }
  const all = parents.map((parent, at): Base => {
    return { kind: 'commit', name: `${parent.slice(0, 8)} (parent ${at + 1})`, at: atTip(parent) }
  })
  return parents.length === 2 ? [own, ...all] : all
}

export const commitBase = ({ oid, subject, committed }: CommitRow): Base => {
  return { kind: 'commit', name: `${oid.slice(0, 8)} ${subject}`, at: { kind: 'commit', commit: oid }, committed }
}

/** All bases for a branch except itself: branches, remote branches and tags; branches of runs come last. */
export function basesFor(branch: string | undefined, branches: readonly BranchInfo[], refs: Refs | undefined): Base[] {
  const others = branches.filter(({ name }) => name !== branch).toSorted((a, b) => b.committed - a.committed)
  const { own, ofRuns } = splitByRun(others)
  const remotes = (refs?.remotes ?? []).flatMap(remote =>
    remote.branches
      .toSorted((one, other) => (other.committed ?? 0) - (one.committed ?? 0))
      .map(({ name, tip, committed }): Base => {
        return { kind: 'remote branch', name: `${remote.name}/${name}`, at: atTip(tip), committed }
      }),
  )
  const tags = byVersion(refs?.tags ?? []).map(({ name, tip }): Base => ({ kind: 'tag', name, at: atTip(tip) }))
  return [...own.map(branchBase), ...remotes, ...tags, ...ofRuns.map(branchBase)]
}
