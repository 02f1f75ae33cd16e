/** The search for commits by words, for the palette and the choice of a base. */
import type { CommitRow } from '../../contract/reading.ts'
import { usePage } from '../page/state.ts'
import { useServerValue } from '../ui/server-value.ts'

/** Delay after the last key before all history is searched, in milliseconds. */
const SEARCH_AFTER_MS = 150
const MIN_WORDS_LENGTH = 2
const MAX_WORDS_LENGTH = 400

/**
 * The newest `count` commits of all refs with some words in their message or author, or at the start of their hash. A
 * failed search finds none, since other results are still useful.
 */
export function useFoundCommits(words: string, count: number): { commits: CommitRow[]; isWaiting: boolean } {
  const page = usePage()
  // The commits of a branch that has just moved are found, too.
  const tips = page.desk.value?.branches.map(({ name, tip }) => `${name} ${tip}`).join('\0')
  const find = async () => {
    const filter = { withAbandoned: false }
    const question = { filter, words: words.slice(0, MAX_WORDS_LENGTH), described: count }
    const { commits } = await page.connection.ask('find commits', question).catch(() => ({ commits: [] }))
    return { words, commits }
  }
  const isSearched = words.length >= MIN_WORDS_LENGTH
  const settings = { delayMs: SEARCH_AFTER_MS }
  const { value: found } = useServerValue(isSearched ? find : undefined, [page, words, tips], settings).latest
  if (!isSearched) return { commits: [], isWaiting: false }
  return found?.words === words ? { commits: found.commits, isWaiting: false } : { commits: [], isWaiting: true }
}
