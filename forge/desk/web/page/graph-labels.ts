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

/** What stands at a row: one label, with the remotes that have the same branch at the same commit, or folded ones. */
export type ShownLabel = { label: Label; remotes: string[] } | { folded: Label[]; words: string }

/** More labels than these at one commit are folded. */
const MAX_LABELS = 3

/**
 * The labels of one commit as a row has room for them. A remote branch stands with the local one of its name. Branches
 * of runs are many and begin alike: they are folded, but for those that are checked out or wait for a person.
 */
export function foldLabels(labels: readonly Label[]): ShownLabel[] {
  const locals = new Set(labels.flatMap(label => (label.kind === 'branch' ? [label.name] : [])))
  const localOf = (label: Label) => (label.kind === 'remote' ? label.name.slice(label.remote.length + 1) : label.name)
  const isOfRun = (label: Label) =>
    label.kind === 'branch' && !label.isHead && !label.branch.merging && runOfBranch(label.name) !== undefined
  const runs = labels.filter(isOfRun)
  const own = labels.filter(label => !isOfRun(label) && !(label.kind === 'remote' && locals.has(localOf(label))))
  const [only] = runs
  const shown = own.slice(0, own.length > MAX_LABELS ? MAX_LABELS - 1 : MAX_LABELS).map((label): ShownLabel => {
    const same = label.kind === 'branch' ? labels.filter(it => it.kind === 'remote' && localOf(it) === label.name) : []
    return { label, remotes: same.flatMap(it => (it.kind === 'remote' ? [it.remote] : [])) }
  })
  const hidden = own.slice(shown.length)
  const folded: ShownLabel[] = hidden.length > 0 ? [{ folded: hidden, words: `+${hidden.length}` }] : []
  if (runs.length === 1 && only) folded.unshift({ label: only, remotes: [] })
  else if (runs.length > 1) folded.unshift({ folded: runs, words: `${runs.length} of runs` })
  return [...shown, ...folded]
}

/** A branch's name where there is little room: of a run's branch, without what all branches of that run begin with. */
export function shortName(name: string): string {
  const run = runOfBranch(name)
  return run === undefined ? name : name.slice(`forge/${run}/`.length)
}

export const KINDS = { branch: 'branch', remote: 'remote branch', tag: 'tag' }

/** A label in words, for those who do not see its shape. */
export const labelWords = (label: Label): string => `${KINDS[label.kind]} ${readable(label.name)}`
