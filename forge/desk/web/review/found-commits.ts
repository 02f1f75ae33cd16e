/** The search for commits by words, as the palette and the choice of a review's base have it. */
import type { CommitRow } from '../../contract/reading.ts'
import { usePage } from '../page/state.ts'
import { useServerValue } from '../ui/server-value.ts'

/** All history is searched this many milliseconds after the last letter. */
const SEARCH_AFTER_MS = 150
const MIN_WORDS_LENGTH = 2
const MAX_WORDS_LENGTH = 400

/**
 * The commits of all refs that have some words in their message or author, or whose hash begins with them: the newest
 * `count` of them. A search that fails finds nothing: names are found all the same.
 */
export function useFoundCommits(words: string, count: number): { commits: CommitRow[]; isWaiting: boolean } {
  const page = usePage()
  const find = async () => {
    const filter = { withAbandoned: false }
    const question = { filter, words: words.slice(0, MAX_WORDS_LENGTH), described: count }
    const { commits } = await page.connection.ask('find commits', question).catch(() => ({ commits: [] }))
    return { words, commits }
  }
  const isSearched = words.length >= MIN_WORDS_LENGTH
  const settings = { delayMs: SEARCH_AFTER_MS }
  const { value: found } = useServerValue(isSearched ? find : undefined, [page, words], settings).latest
  if (!isSearched) return { commits: [], isWaiting: false }
  return found?.words === words ? { commits: found.commits, isWaiting: false } : { commits: [], isWaiting: true }
}
