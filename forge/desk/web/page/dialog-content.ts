import type { BranchStep, Step } from '../../contract/steps.ts'
import type { IconName } from '../ui/icons.tsx'
import type { Base } from './review-base.ts'

/** One of the ways to do something to refs. */
export interface StepWay {
  key: string
  words: string
  button: string
  /** What comes of it, in a sentence. */
  explains: string
  isDangerous?: boolean
  step: Step
}

/** A branch or a commit that can be picked. */
export interface Choice {
  key: string
  icon: IconName
  tone?: string
  /** A byte string. */
  words: string
  meta?: string
  /** What would be done with it: how that would come out is shown beside it. */
  step?: BranchStep
  /** Shown only where its words are typed. */
  isRare?: boolean
  run: () => void
}

/** What a dialog asks. `run` may throw a sentence for the person: the dialog stays and shows it. */
export type DialogContent =
  | {
      kind: 'ask'
      title: string
      label: string
      value: string
      /** What of the value is selected at first. */
      selection?: [number, number]
      button: string
      hint?: string
      run: (words: string) => Promise<void>
    }
  | {
      kind: 'confirm'
      title: string
      words: string[]
      /** Paths that it is about. */
      list?: string[]
      button: string
      isDangerous?: boolean
      run: () => Promise<void>
    }
  /** Several ways to go on, and Cancel, which has the focus. */
  | {
      kind: 'choose'
      title: string
      words: string[]
      list: string[]
      buttons: { words: string; look: string; run: () => Promise<void> }[]
    }
  /** A tool of the branch that is shown, to be looked at. */
  | { kind: 'approval'; path: string }
  | { kind: 'operations' }
  | { kind: 'keys' }
  /** A step that is shown before it is done, in one of several ways. */
  | {
      kind: 'step'
      title: string
      ways: StepWay[]
      first: number
      /** The branch that the branch's remote is fetched for, before anything is previewed. */
      fetchesFor?: string
      /** What makes the step possible where its preview offers it: a pull before a push. */
      pull?: () => void
      isDone: (done: { words: string; merging?: string; isUndoable: boolean }) => void
    }
  /** What a run of the tasks, or one of its tasks, came to: `title` is what that is called. */
  /** `tip`: the result, where it is no branch. */
  | { kind: 'landing'; title: string; run: string; task?: string; tip?: string }
  /** What a branch is compared with; `branch` is not offered. */
  | { kind: 'base'; title: string; branch: string | undefined; run: (base: Base) => void }
  /**
   * A branch or a commit from a list. `list` is the list's name; `none` is said where it is empty. `choices` gives
   * undefined until they are known.
   */
  | {
      kind: 'pick'
      title: string
      label: string
      list: string
      none: string
      choices: () => readonly Choice[] | undefined
    }
