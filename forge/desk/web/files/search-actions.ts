/** The options of the search in all files, and replacing what it has found. */
import { MAX_REPLACED_MATCHES } from '../../contract/limits.ts'
import { branchOf } from '../page/branch-facts.ts'
import type { Hit } from '../page/replacing.ts'
import type { TextSearch } from '../page/search.ts'
import type { Page } from '../page/state.ts'
import type { InTab } from '../page/tab-actions.ts'
import { undoOfLast } from '../page/undo.ts'
import type { Action, Actions } from '../ui/action.ts'
import { FIND_KEYS } from '../ui/find-keys.ts'
import { plural } from '../ui/times.ts'

function toggle(setting: 'matchCase' | 'isRegex'): Pick<Action<InTab>, 'isPossible' | 'run'> {
  return {
    isPossible: ({ tab }) => tab.pane.kind === 'find',
    run: ({ tab: { search } }) => {
      search[setting].value = !search[setting].peek()
      search.start()
    },
  }
}

export const searchActions = {
  replace: {
    label: 'Replace in files',
    keys: 'Ctrl+Shift+H',
    icon: 'pencil',
    isPossible: ({ page, tab }) => tab.at.kind === 'branch' && !page.isGone(tab.at),
    run: ({ tab }) => {
      const isNew = tab.pane.kind !== 'find'
      tab.show({ kind: 'find' })
      if (!tab.search.isReplacing.peek()) tab.search.replaces(true)
      // Focuses the field of the words to find if the search was just opened or that field is empty.
      tab.search.focus(isNew || tab.search.words.peek() === '' ? 'words' : 'replacement')
    },
  },
  replaceAll: {
    label: 'Replace all matches',
    keys: FIND_KEYS.replaceAll,
    icon: 'check',
    isPossible: ({ tab }) =>
      tab.pane.kind === 'find' && branchOf(tab) !== undefined && isReplaceable(chosenHits(tab.search).length),
    run: ({ page, tab }) => replaceHits(page, tab.search, branchOf(tab) ?? ''),
  },
  matchCase: { label: 'Match case', keys: FIND_KEYS.matchCase, icon: 'search', ...toggle('matchCase') },
  isRegex: { label: 'Find a regular expression', keys: FIND_KEYS.isRegex, icon: 'search', ...toggle('isRegex') },
} satisfies Actions<InTab>

/** Whether that many matches can be replaced by one operation. */
export const isReplaceable = (count: number): boolean => count > 0 && count <= MAX_REPLACED_MATCHES

/** The hits that are to be replaced. */
export function chosenHits(search: TextSearch): Hit[] {
  const leftOut = search.leftOut.value
  return search.hits.value.hits.filter(({ key }) => !leftOut.has(key))
}

/** Replaces the chosen hits, and searches again, which shows what is left. */
export async function replaceHits(page: Page, search: TextSearch, branch: string): Promise<void> {
  const hits = chosenHits(search)
  if (hits.length === 0 || search.isRunning.peek()) return
  const about = { branch, topic: 'replace' }
  try {
    const { files, edits, skipped } = await search.replace(branch, hits)
    page.solved(about.topic, branch)
    const [first] = skipped
    const words =
      first && `${skipped.length > 1 ? `${plural(skipped.length, 'file')} were left as they are. ` : ''}${first.why}`
    if (files === 0) page.notify({ ...about, tone: 'bad', title: 'Nothing was replaced.', ...(words && { words }) })
    else
      page.tell({
        ...about,
        title: `Replaced ${plural(edits, 'match', 'matches')} in ${plural(files, 'file')}`,
        ...(words && { words }),
        ...undoOfLast(page),
      })
    await search.afterReplacing(hits)
  } catch (error) {
    page.complain(error, about)
    // It may be refused since a file has changed.
    await search.again()
  }
}
