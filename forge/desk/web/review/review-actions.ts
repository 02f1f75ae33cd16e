/** The actions of a review. */
import type { Signal } from '@preact/signals'
import type { Kind } from '../page/review-state.ts'
import type { Tab } from '../page/state.ts'
import type { Action, Actions } from '../ui/action.ts'

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

export const reviewActions = {
  all: { label: 'Review all changes', keys: 'Alt+Shift+1', icon: 'diff', ...show('all') },
  byCommit: { label: 'Review by commit', keys: 'Alt+Shift+2', icon: 'commit', ...show('commit') },
  unsaved: { label: 'Review unsaved changes', keys: 'Alt+Shift+3', icon: 'pencil', ...show('unsaved') },
  sideBySide: { label: 'Side by side', keys: 'Ctrl+Alt+S', icon: 'columns', ...toggle(tab => tab.review.isSideBySide) },
  ignoreWhitespace: {
    label: 'Hide whitespace changes',
    keys: 'Alt+Shift+S',
    icon: 'pilcrow',
    ...toggle(tab => tab.review.ignoresBlanks),
  },
} satisfies Actions<Tab>
