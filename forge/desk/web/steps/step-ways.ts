/** The steps that combine a source (a branch or any commit) with a branch, and their texts. */
import type { BranchStep, Source } from '../../contract/steps.ts'
import type { Label } from '../page/graph-labels.ts'
import { readable, shortId } from '../ui/names.ts'

export const branchSource = (name: string, tip: string): Source => ({ commit: tip, branch: name, words: name })
export const commitSource = (commit: string): Source => ({ commit, words: shortId(commit) })

/** The name that a branch has after a rename. */
export const nameAfter = (name: string, from: string, to: string): string => (name === from ? to : name)
/** A source after the rename of a branch. */
export const sourceAfter = (source: Source, from: string, to: string): Source =>
  source.branch === from ? branchSource(to, source.commit) : source

/** A label as the source of a merge, a landing or a move. */
export function sourceOf(label: Label): Source {
  if (label.kind === 'branch') return branchSource(label.name, label.tip)
  return { commit: label.tip, words: label.name }
}

/** The ways, in the order in which a dialog offers them. */
export const WAYS = ['merge', 'land', 'rebase', 'cherry-pick', 'move'] as const
/** The ways to combine a source and a branch. */
export type Way = (typeof WAYS)[number]

const WORDS: Record<Way, { button: string; into: string; title: (source: string) => string }> = {
  merge: { button: 'Merge', into: 'Merge into…', title: source => `Merge ${source} into…` },
  land: { button: 'Land', into: 'Land on…', title: source => `Land ${source} on…` },
  rebase: { button: 'Rebase', into: 'Rebase onto…', title: source => `Rebase ${source} onto…` },
  'cherry-pick': {
    button: 'Cherry-pick',
    into: 'Cherry-pick onto…',
    title: source => `Cherry-pick ${source} onto…`,
  },
  move: { button: 'Move', into: 'Move a branch here…', title: source => `Move a branch to ${source}` },
}

export const buttonOf = (way: Way): string => WORDS[way].button
/** The label of the menu item that asks for the branch. */
export const wordsInto = (way: Way): string => WORDS[way].into
export const titleInto = (way: Way, { words }: Source): string => WORDS[way].title(readable(words))

/**
 * The step that combines a source with the branch `onto`, which is at `tip`; undefined if a way (such as rebase) is
 * impossible.
 */
export function stepOf(way: Way, source: Source, onto: string, tip: string | undefined): BranchStep | undefined {
  switch (way) {
    case 'merge':
    case 'land':
      return { step: way, source, onto }
    case 'rebase': {
      if (source.branch === undefined || tip === undefined) return undefined
      return { step: 'rebase', branch: source.branch, onto: branchSource(onto, tip) }
    }
    case 'cherry-pick':
      return { step: 'cherry-pick', commits: [source.commit], onto }
    case 'move':
      return { step: 'move', branch: onto, to: source }
  }
}

/** The effect of a step, in a sentence. */
export function explain(way: Way, { words, commit }: Source, onto: string): string {
  const [source, target] = [readable(words), readable(onto)]
  switch (way) {
    case 'merge':
      return `Merges ${source} into ${target} (a merge commit if ${target} has diverged).`
    case 'land':
      return `Adds all changes of ${source} to ${target} as one commit, without .forge/. The commits of ${source} are kept.`
    case 'rebase':
      return `Recreates the commits of ${source} on top of ${target}. ${target} stays where it is.`
    case 'cherry-pick':
      return `Applies the changes of ${shortId(commit)} to ${target} as a new commit.`
    case 'move':
      return `Resets ${target} to ${source}. Commits that only ${target} has are dropped; Undo restores them.`
  }
}
