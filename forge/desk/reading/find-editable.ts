/** Searches the files of a branch for what is to be replaced: files that can't be edited are named, with the reason. */
import { findText, type GrepEnd, type GrepMatch, type GrepQuestion } from '../../../core/git/grep.ts'
import type { Path, Repository } from '../../../core/git/repository.ts'

/** A file with matches that can't be edited, and why, as a sentence. */
export interface ReadOnlyFile {
  path: Path
  why: string
}

interface Options {
  signal: AbortSignal
  pathspecs: readonly string[]
  /** Longer lines are cut to this many characters. */
  maxLineChars: number
  /** Why files can't be edited, by path; files that can are missing. */
  whyNotEditable: (paths: readonly Path[]) => Promise<ReadonlyMap<Path, string>>
  onFound: (matches: GrepMatch[], readOnly: ReadOnlyFile[]) => void
}

/** The search ends after this many seconds. */
const MAX_SECONDS = 30
/** At most this many files are excluded from a repeated search: git compares each path with each of them. */
const MAX_EXCLUDED_FILES = 100

/**
 * Finds matching lines as {@link findText}, without those of files that can't be edited. Where such files used up the
 * limit of a search, it is repeated without those that had the most matches.
 */
export async function findEditable(
  repository: Repository,
  question: GrepQuestion,
  { signal, pathspecs, maxLineChars, whyNotEditable, onFound }: Options,
): Promise<GrepEnd> {
  const isEditable = new Map<Path, boolean>()
  let told = 0
  let besides: Path[] = []
  const end = performance.now() + MAX_SECONDS * 1000
  for (;;) {
    const counts = new Map<Path, number>()
    let seen = 0
    const take = async (matches: GrepMatch[]) => {
      const paths = new Set(matches.map(({ path }) => path))
      const unknown = [...paths].filter(path => !isEditable.has(path))
      const reasons = await whyNotEditable(unknown)
      for (const path of unknown) isEditable.set(path, !reasons.has(path))
      const editable = matches.filter(({ path }) => isEditable.get(path))
      for (const { path } of matches) if (!isEditable.get(path)) counts.set(path, (counts.get(path) ?? 0) + 1)
      // Git finds the same lines in the same order again: those of an earlier round were passed on.
      const fresh = editable.slice(Math.max(0, told - seen))
      seen += editable.length
      told += fresh.length
      const readOnly = [...reasons].map(([path, why]) => ({ path, why }))
      if (!signal.aborted && fresh.length + readOnly.length > 0) onFound(fresh, readOnly)
    }
    let taking = Promise.resolve()
    const ending = await findText(repository, question, {
      ...{ signal, pathspecs, maxLineChars, besides },
      seconds: Math.max(1, (end - performance.now()) / 1000),
      onFound: matches => {
        taking = taking.then(() => take(matches))
        // An error is thrown below.
        taking.catch(() => undefined)
      },
    })
    await taking
    const heaviest = [...counts].toSorted(([, one], [, other]) => other - one).map(([path]) => path)
    const excluded = [...besides, ...heaviest].slice(0, MAX_EXCLUDED_FILES)
    const isOver = !ending.isCut || signal.aborted || performance.now() > end || excluded.length === besides.length
    if (isOver) return ending
    besides = excluded
  }
}
