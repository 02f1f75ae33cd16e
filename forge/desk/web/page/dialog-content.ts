import type { CommitRow } from '../../contract/reading.ts'
import type { BranchStep, Step } from '../../contract/steps.ts'
import type { Run } from '../../contract/tasks.ts'
import type { Change, Part } from '../../contract/values.ts'
import type { IconName } from '../ui/icons.tsx'
import type { Base } from './review-base.ts'
import type { RefKind } from './typed-refs.ts'

/** One of the ways to run a step on refs. */
export interface StepWay {
  key: string
  words: string
  button: string
  /** The effect, in a sentence. */
  explains: string
  isDangerous?: boolean
  step: Step
}

/** A branch or a commit in a list to choose from. */
export interface Choice {
  key: string
  kind: RefKind | 'commit'
  icon: IconName
  tone?: string
  /** The row's text, as a byte string. */
  words: string
  meta?: string
  /** The step that runs when the row is chosen; its outcome is shown beside the row. */
  step?: BranchStep
  /** Whether the row is listed only if typed words match it. */
  isRare?: boolean
  run: () => void
}

/** The content of a dialog. If `run` throws, the dialog stays open and shows the error's message. */
export type DialogContent =
  | (FollowsRenames & {
      kind: 'ask'
      title: string
      label: string
      value: string
      /** The part of the value that is selected at first: start and end. By default all, or nothing of a folder. */
      selection?: [number, number]
      button: string
      hint?: string
      /** Changes the text while it is typed. */
      whileTyping?: (words: string) => string
      /** A warning about the typed words, shown below the field; it does not keep the dialog from running. */
      warn?: (words: string) => string | undefined | Promise<string | undefined>
      /** The label of a second field, of several lines, which may stay empty. */
      messageLabel?: string
      run: (words: string, message: string) => Promise<void>
      /** Called after `run` has succeeded and the dialog is closed. */
      goOn?: (words: string) => void
    })
  | (FollowsRenames & {
      kind: 'confirm'
      title: string
      words: string[]
      /** The paths that the dialog lists. */
      list?: string[]
      button: string
      isDangerous?: boolean
      /** Whether the action is impossible at present, for a reason that the words give. */
      isOff?: boolean
      /** Whether the action's button, rather than Cancel, has the focus when the dialog opens. */
      isSafe?: boolean
      run: () => Promise<void>
    })
  /** Several actions and Cancel, which has the focus. */
  | {
      kind: 'choose'
      title: string
      words: string[]
      list: string[]
      buttons: { words: string; look: string; run: () => Promise<void> }[]
      /** Called with a letter, a space before Tab, or Backspace, which was meant for the field behind the dialog. */
      type: (key: string) => void
    }
  /** A tool of the shown branch, for review before it may run. */
  | { kind: 'approval'; path: string }
  /** The message of a save of all drafts of the shown branch. */
  | { kind: 'save' }
  | { kind: 'operations' }
  | { kind: 'keys' }
  /** The lessons that runs of the tasks have learned. */
  | { kind: 'lessons' }
  /** Starts a run of the tasks. */
  | { kind: 'new run' }
  /** The limits of a run that is under way. */
  | { kind: 'limits'; title: string; run: Run }
  | { kind: 'settings' }
  /** A preview of a step, with the ways to run it. */
  | (FollowsRenames & {
      kind: 'step'
      title: string
      ways: StepWay[]
      first: number
      /** What is fetched before the preview. */
      fetches?: Extract<Step, { step: 'fetch' }>
      /** Runs a pull from the remote, offered where the preview says that a push to it needs one first. */
      pull?: (remote: string) => void
      isDone: (done: { words: string; merging?: string; isUndoable: boolean }) => void
    })
  /** Chooses some of the changes that `load` gives. */
  | (FollowsRenames & {
      kind: 'parts'
      title: string
      explains: string
      button: string
      hasMessage: boolean
      /** The branch whose drafts are shown, which may change while the dialog is open. */
      branch?: string
      load: () => Promise<Change[]>
      run: (parts: Part[], message: string) => Promise<void>
    })
  /** Splits a commit of a branch in two. */
  | (FollowsRenames & {
      kind: 'split'
      title: string
      branch: string
      commit: string
      isDone: (done: { words: string; merging?: string; isUndoable: boolean }) => void
    })
  /** The result of a run or of one of its tasks. `title`: its name. `tip`: the result's commit, if it has no branch. */
  | { kind: 'landing'; title: string; run: string; task?: string; tip?: string }
  /** Chooses the base of a comparison. `branch`: left out of the list. `commit`: if a merge, its parents are listed. */
  | {
      kind: 'base'
      title: string
      branch: string | undefined
      commit: string | undefined
      run: (base: Base) => void
    }
  /**
   * Chooses a branch or a commit. `list`: the list's accessible name. `none`: shown if the list is empty. `choices`:
   * undefined until they are known. `found`: the row of a commit, where typed words find commits, too.
   */
  | (FollowsRenames & {
      kind: 'pick'
      title: string
      label: string
      list: string
      none: string
      choices: () => readonly Choice[] | undefined
      found?: (commit: CommitRow) => Choice
    })

/** The content of a dialog with the preview of a step. */
export type StepContent = Extract<DialogContent, { kind: 'step' }>
/** The content of a dialog that chooses a branch or a commit. */
export type PickContent = Extract<DialogContent, { kind: 'pick' }>
/** The content of a dialog that follows the rename of a branch. */
export type FollowingContent = Extract<DialogContent, { kind: 'ask' | 'confirm' | 'step' | 'parts' | 'split' | 'pick' }>
/** The content of a dialog that asks for words. */
export type AskContent = Extract<DialogContent, { kind: 'ask' }>
/** The content of a dialog that asks for a confirmation. */
export type ConfirmContent = Extract<DialogContent, { kind: 'confirm' }>
/** The content of a dialog that chooses some changes. */
export type PartsContent = Extract<DialogContent, { kind: 'parts' }>

/** The content of a dialog that stays open when its branch is renamed. */
interface FollowsRenames {
  /** Gives the content under the new name of a branch; undefined if the dialog is not about that branch. */
  renamed?: (from: string, to: string) => FollowingContent | undefined
  /** The first title: what was chosen in the dialog stays when it gets another one. */
  firstTitle?: string
}

/** The content of a dialog about one branch, which follows the renames of that. */
export const following = <Content extends FollowingContent>(
  branch: string,
  contentOf: (branch: string) => Content,
): Content => ({
  ...contentOf(branch),
  renamed: (from: string, to: string) => (branch === from ? following(to, contentOf) : undefined),
})

/** Whether the content of a dialog is that of another one, made anew for the new name of its branch. */
export const isSuccessor = (dialog: DialogContent | undefined, of: DialogContent): boolean =>
  dialog?.kind === of.kind &&
  'firstTitle' in dialog &&
  'title' in of &&
  dialog.firstTitle === (('firstTitle' in of ? of.firstTitle : undefined) ?? of.title)
