/** The labels at commits: branches, remote branches and tags, each with its name on the screen. */

import type { BranchInfo } from '../../contract/branches.ts'
import type { Refs } from '../../contract/graph.ts'
import { readable } from '../ui/names.ts'
import { runOfBranch } from './branches-of-runs.ts'

export type Label =
  | { kind: 'branch'; ref: string; name: string; tip: string; branch: BranchInfo; isHead: boolean }
  | { kind: 'remote'; ref: string; name: string; tip: string; remote: string }
  | { kind: 'tag'; ref: string; name: string; tip: string }

/** All labels by commit. Local branches come first: the checked out one before the others, those of runs last. */
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

/**
 * An entry of a row: a label, with the remotes that have the same branch at the same commit, or several folded labels.
 */
export type ShownLabel = { label: Label; remotes: string[] } | { folded: Label[]; words: string }

/** At most this many labels at a commit are shown; above that, the rest is folded. */
const MAX_LABELS = 3

/**
 * Folds the labels of a commit to what fits in a row. A remote branch joins the local one of its name. Branches of runs
 * are folded, except the checked out one and those with a waiting merge.
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

/** A short name of a branch: for one of a run, without the prefix common to all branches of the run. */
export function shortName(name: string): string {
  const run = runOfBranch(name)
  return run === undefined ? name : name.slice(`forge/${run}/`.length)
}

export const KINDS = { branch: 'branch', remote: 'remote branch', tag: 'tag' }

/** A label in words, for assistive technology. */
export const labelWords = (label: Label): string => `${KINDS[label.kind]} ${readable(label.name)}`
