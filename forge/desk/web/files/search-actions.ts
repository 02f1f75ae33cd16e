/** The options of the search in all files. */
import type { Tab } from '../page/state.ts'
import type { Action, Actions } from '../ui/action.ts'

function toggle(setting: 'matchCase' | 'isRegex'): Pick<Action<Tab>, 'isPossible' | 'run'> {
  return {
    isPossible: tab => tab.pane.kind === 'find',
    run: ({ search }) => {
      search[setting].value = !search[setting].peek()
      search.start()
    },
  }
}

export const searchActions = {
  matchCase: { label: 'Match case', keys: 'Alt+Shift+I', icon: 'search', ...toggle('matchCase') },
  isRegex: { label: 'Find a regular expression', keys: 'Alt+Shift+E', icon: 'search', ...toggle('isRegex') },
} satisfies Actions<Tab>
