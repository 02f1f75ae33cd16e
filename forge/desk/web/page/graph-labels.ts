/** The labels at commits: branches, remote branches, tags and stashes, each with its name on the screen. */

import type { BranchInfo } from '../../contract/branches.ts'
import type { Refs } from '../../contract/graph.ts'
import { readable } from '../ui/names.ts'
import { runOfBranch } from './branches-of-runs.ts'

export type Label =
  | { kind: 'branch'; ref: string; name: string; tip: string; branch: BranchInfo; isHead: boolean }
  | { kind: 'remote'; ref: string; name: string; tip: string; remote: string }
  | { kind: 'tag'; ref: string; name: string; tip: string; annotated?: string | undefined }
  | { kind: 'stash'; ref: string; name: string; tip: string }

/**
 * All labels by commit. Local branches come first: the checked out one and the default branch before the others, those
 * of runs last.
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
  for (const tag of refs?.tags ?? []) all.push({ kind: 'tag', ...tag })
  for (const { name, tip } of refs?.stashes ?? []) all.push({ kind: 'stash', ref: name, name, tip })
  const labels = new Map<string, Label[]>()
  for (const label of all) {
    const there = labels.get(label.tip)
    if (there) there.push(label)
    else labels.set(label.tip, [label])
  }
  return labels
}

/** The usual names of a default branch, which is shown where not all labels fit. */
const TRUNKS = new Set(['main', 'master', 'trunk', 'develop'])

function rankOf(label: Label): number {
  if (label.kind === 'branch' && label.isHead) return 0
  if (TRUNKS.has(label.name)) return 1
  return runOfBranch(label.name) === undefined ? 2 : 3
}

/**
 * An entry of a row: a label, with the remotes that have the same branch at the same commit, or several folded labels.
 */
export type ShownLabel = { label: Label; remotes: string[] } | { folded: Label[]; words: string }

/** At most this many labels at a commit are shown; above that, the rest is folded. */
const MAX_LABELS = 3
/** The width of a label without its name, the average width of a letter, and the width of a count, in pixels. */
const [LABEL_FRAME, LETTER, COUNT] = [40, 6.5, 40]
/** The least width of a label that is cut, in pixels: enough to tell its name. */
const MIN_CUT_LABEL = 118
/** The width of the label of several branches of runs, in pixels. */
const RUNS = 80

/** The width that a label needs at least, in pixels (an estimate): a short one is never cut. */
function leastWidthOf(label: Label): number {
  return Math.min(MIN_CUT_LABEL, LABEL_FRAME + LETTER * shortName(label.name).length)
}

/** Whether a label is short enough to be shown whole. */
export const isShortLabel = (label: Label): boolean => leastWidthOf(label) < MIN_CUT_LABEL

/** The number of labels that are shown in this width, in pixels: at least one. */
function countThatFit(labels: readonly Label[], room: number): number {
  const widths = labels.map(leastWidthOf)
  const most = labels.length > MAX_LABELS ? MAX_LABELS - 1 : MAX_LABELS
  for (let count = Math.min(most, labels.length); count > 1; count--) {
    const needed = widths.slice(0, count).reduce((sum, width) => sum + width, count < labels.length ? COUNT : 0)
    if (needed <= room) return count
  }
  return Math.min(1, labels.length)
}

/**
 * Folds the labels of a commit to what fits in a row. A remote branch joins the local one of its name. Branches of runs
 * are folded, except the checked out one and those with a waiting merge. `room`: the width for all labels, in pixels.
 */
export function foldLabels(labels: readonly Label[], room = Number.POSITIVE_INFINITY): ShownLabel[] {
  const locals = new Set(labels.flatMap(label => (label.kind === 'branch' ? [label.name] : [])))
  const localOf = (label: Label) => (label.kind === 'remote' ? label.name.slice(label.remote.length + 1) : label.name)
  const isOfRun = (label: Label) =>
    label.kind === 'branch' && !label.isHead && !label.branch.merging && runOfBranch(label.name) !== undefined
  const runs = labels.filter(isOfRun)
  const own = labels.filter(label => !isOfRun(label) && !(label.kind === 'remote' && locals.has(localOf(label))))
  const [only] = runs
  const taken = runs.length === 0 ? 0 : runs.length === 1 && only ? leastWidthOf(only) : RUNS
  const shown = own.slice(0, countThatFit(own, room - taken)).map((label): ShownLabel => {
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

/** The kind of a label in words, for assistive technology; the name of a stash says it itself. */
export const KINDS = { branch: 'branch', remote: 'remote branch', tag: 'tag', stash: '' }

/** How the labels look. */
export const LABEL_LOOKS = {
  branch: { look: '', icon: 'branch' },
  remote: { look: 'remote', icon: 'cloud' },
  tag: { look: 'tagged', icon: 'tag' },
  stash: { look: 'remote', icon: 'archive' },
} as const

/** The remotes that have a label's branch at the same commit, after what else its title says; '' if there are none. */
export const sameOn = (remotes: readonly string[]): string =>
  remotes.length === 0 ? '' : `, the same on ${remotes.map(readable).join(', ')}`

/** A label in words, for assistive technology. */
export const labelWords = (label: Label): string => `${KINDS[label.kind]} ${readable(label.name)}`.trimStart()
