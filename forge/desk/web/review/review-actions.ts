/** The actions of a review. */
import type { Signal } from '@preact/signals'
import type { Kind } from '../page/review-state.ts'
import type { Tab } from '../page/state.ts'
import type { InTab } from '../page/tab-actions.ts'
import type { Action, Actions } from '../ui/action.ts'
import { readable } from '../ui/names.ts'
import { beginComment, isWithLines } from './comments.tsx'

const isShown = (tab: Tab): boolean => tab.pane.kind === 'review'
const isOfBranch = (tab: Tab): boolean => isShown(tab) && tab.at.kind === 'branch'

function show(kind: Kind): Pick<Action<Tab>, 'isPossible' | 'run'> {
  return {
    isPossible: isOfBranch,
    run: ({ review }) => {
      review.kind.value = kind
    },
  }
}

function toggle(settingOf: (tab: Tab) => Signal<boolean>): Pick<Action<Tab>, 'isPossible' | 'run'> {
  return {
    isPossible: isShown,
    run: tab => {
      const setting = settingOf(tab)
      setting.value = !setting.peek()
    },
  }
}

/** Asks for a line of the file that is read, or of the first one, and begins a comment there. */
function commentOnLine({ page, tab }: InTab): void {
  const { review } = tab
  const path = review.readPath.peek() ?? review.latest.peek()?.[0]?.path
  if (path === undefined) return
  page.dialog.value = {
    kind: 'ask',
    title: `Comment on ${readable(path)}`,
    label: 'Line number, in the new version',
    value: '',
    button: 'Continue',
    hint: 'The comment is then typed at the line.',
    run: async typed => {
      const line = Number(typed)
      if (!Number.isInteger(line) || line < 1) throw new Error('Type the number of a line of the new version.')
      const change = review.latest.peek()?.find(it => it.path === path)
      if (!isWithLines(change, 'after')) throw new Error('The review shows no line of the new version of this file.')
      review.unfold(path)
      beginComment(page, tab, { path, side: 'after', line })
    },
  }
}

/** Actions on the comments of a review. */
export const commentActions = {
  comment: {
    label: 'Comment on a line…',
    keys: 'Ctrl+Alt+M',
    icon: 'chat',
    isPossible: ({ tab }) => isShown(tab) && (tab.review.latest.value?.length ?? 0) > 0,
    run: commentOnLine,
  },
} satisfies Actions<InTab>

export const reviewActions = {
  all: { label: 'Review all changes', keys: 'Alt+Shift+1', icon: 'diff', ...show('all') },
  byCommit: { label: 'Review by commit', keys: 'Alt+Shift+2', icon: 'commit', ...show('commit') },
  unsaved: { label: 'Review unsaved changes', keys: 'Alt+Shift+3', icon: 'pencil', ...show('unsaved') },
  sideBySide: { label: 'Side by side', keys: 'Ctrl+Alt+D', icon: 'columns', ...toggle(tab => tab.review.isSideBySide) },
  ignoreWhitespace: {
    label: 'Hide whitespace changes',
    keys: 'Alt+Shift+S',
    icon: 'pilcrow',
    ...toggle(tab => tab.review.ignoresBlanks),
  },
} satisfies Actions<Tab>
