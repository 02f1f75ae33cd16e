/** Replaces text in several files of a branch: drafts of all of them, by one operation. */
import { Failure } from '../../../core/failure.ts'
import { pathspecsOf } from '../../../core/git/path-filters.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import type { LineEdit } from '../contract/branches.ts'
import { MAX_REPLACED_MATCHES } from '../contract/limits.ts'
import type { BranchWork } from './branch-work.ts'
import { changeTexts, type Skipped, whyNotEditable } from './change-texts.ts'
import { FORGE_FOLDER, isOfForge } from './forge-folder.ts'

interface FileEdits {
  path: Path
  edits: readonly LineEdit[]
}

/**
 * What is to be replaced. `tree`: the tree that the edits were made for. `words`: a description, as part of a sentence.
 */
interface Replacing {
  tree: Oid
  words: string
  files: readonly FileEdits[]
}

/** Replaces parts of lines in files of a branch. See {@link changeTexts}. */
export async function replaceInFiles(
  work: BranchWork,
  wanted: Replacing,
): Promise<{ files: number; edits: number; skipped: Skipped[] }> {
  const edits = wanted.files.reduce((sum, file) => sum + file.edits.length, 0)
  if (edits > MAX_REPLACED_MATCHES)
    throw new Failure(`At most ${MAX_REPLACED_MATCHES} matches are replaced at once: narrow the search.`)
  return await changeTexts(work, {
    tree: wanted.tree,
    kind: 'replace',
    words: files => `replace ${visible(wanted.words)} in ${many(files, 'file')} in ${visiblePath(work.name)}`,
    files: wanted.files.map(file => ({
      path: file.path,
      count: file.edits.length,
      change: text => withEdits(text, file.edits),
    })),
    hasChanged,
  })
}

/**
 * Why nothing is replaced in files of a branch, as sentences, by path; other files are missing. Besides those that
 * can't be edited, these are the files in .forge, such as the conversation, unless the path filters `files` name that
 * folder.
 */
export async function whyNotReplaced(
  work: BranchWork,
  paths: readonly Path[],
  files: string,
): Promise<Map<Path, string>> {
  const reasons = await whyNotEditable(work, paths)
  if (namesForgeFolder(files)) return reasons
  for (const path of paths)
    if (isOfForge(path) && !reasons.has(path)) reasons.set(path, `${visiblePath(path)} ${OF_FORGE}`)
  return reasons
}

const OF_FORGE = `belongs to the AI’s work: nothing is replaced in it unless Files names ${FORGE_FOLDER}.`

/** Whether one of some path filters selects the folder .forge, or files in it, by that name. */
const namesForgeFolder = (files: string): boolean =>
  pathspecsOf(files).some(spec => !spec.includes('exclude)') && /[)/]\.forge(\/|$)/.test(spec))

const hasChanged = (path: Path): Failure =>
  new Failure(`${visiblePath(path)} has changed since this search. Nothing was replaced: look at the results again.`)

/** A text with parts of its lines replaced; undefined if an edit does not fit the text. */
function withEdits(text: string, edits: readonly LineEdit[]): string | undefined {
  const lines = text.split('\n')
  const byLine = Map.groupBy(edits, ({ line }) => line)
  for (const [number, all] of byLine) {
    const line = lines[number - 1]
    if (line === undefined) return undefined
    let replaced = ''
    let at = 0
    for (const { from, to, insert } of all.toSorted((one, other) => one.from - other.from)) {
      if (from < at || to < from || to > line.length) return undefined
      replaced += line.slice(at, from) + insert
      at = to
    }
    lines[number - 1] = replaced + line.slice(at)
  }
  return lines.join('\n')
}
