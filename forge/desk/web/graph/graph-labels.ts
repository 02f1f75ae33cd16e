/** The names that stand at commits: branches, remote branches, tags, each with what a person calls it. */

import type { BranchInfo } from '../../contract/branches.ts'
import type { Refs } from '../../contract/graph.ts'
import { readable } from '../ui/names.ts'
import { runOfBranch } from './branches-of-runs.ts'

export type Label =
  | { kind: 'branch'; ref: string; name: string; tip: string; branch: BranchInfo; isHead: boolean }
  | { kind: 'remote'; ref: string; name: string; tip: string; remote: string }
  | { kind: 'tag'; ref: string; name: string; tip: string }

/**
 * All labels by the commit that they stand at; local branches first: the one that is checked out before all, those of
 * runs behind the others.
 */
export function labelsOf(
  branches: readonly BranchInfo[],
  refs: Refs | undefined,
  head: string | undefined,
): Map<string, Label[]> {
  const all: Label[] = branches.map(branch => {
    const { name, tip } = branch
    return { kind: 'branch', ref: `refs/heads/${name}`, name, tip, branch, isHead: name === head }
  })
  all.sort((one, other) => rankOf(one) - rankOf(other))
  for (const remote of refs?.remotes ?? [])
    for (const { ref, name, tip } of remote.branches)
      all.push({ kind: 'remote', ref, name: `${remote.name}/${name}`, tip, remote: remote.name })
  for (const { ref, name, tip } of refs?.tags ?? []) all.push({ kind: 'tag', ref, name, tip })
  const labels = new Map<string, Label[]>()
  for (const label of all) {
    const there = labels.get(label.tip)
    if (there) there.push(label)
    else labels.set(label.tip, [label])
  }
  return labels
}

const rankOf = (label: Label): number =>
  label.kind === 'branch' && label.isHead ? 0 : runOfBranch(label.name) === undefined ? 1 : 2

export const KINDS = { branch: 'branch', remote: 'remote branch', tag: 'tag' }

/** A label in words, for those who do not see its shape. */
export const labelWords = (label: Label): string => `${KINDS[label.kind]} ${readable(label.name)}`
