/**
 * Searches the repository for the words of a wish: definitions of its names, files of these names, and recent commits.
 */
import { lastCommits } from '../../../core/git/history.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { short, visible, visiblePath } from '../../../core/text.ts'
import { definitionsIn, filesNamed } from '../../ai/named.ts'
import type { CodeReader } from '../../code/reader.ts'

const MAX_COMMITS = 8

/**
 * Where names of a wish are defined, the files of its names, and the last commits, as lines for a planner; '' for
 * nothing. The same commit and wish give the same text. Git, which searches, is started before this returns.
 */
export async function wishedInWords(code: CodeReader, base: Oid, wish: string): Promise<string> {
  const { objects } = code
  const [definitions, named, commits] = await Promise.all([
    definitionsIn(code, { tree: base, text: wish, signal: new AbortController().signal }),
    filesNamed(objects, { tree: base, text: wish }),
    lastCommits(objects.repository, base, { most: MAX_COMMITS, hasFiles: false }),
  ])
  const parts = [
    definitions.length > 0 && [
      'Definitions of its names:',
      ...definitions.map(({ name, path, line }) => `- ${name}: ${visiblePath(path)}, line ${line}`),
    ],
    named.length > 0 && ['Files of its names:', ...named.map(path => `- ${visiblePath(path)}`)],
    commits.length > 0 && [
      'The last commits:',
      ...commits.map(({ date, subject }) => `- ${date} ${short(visible(subject), 100)}`),
    ],
  ]
  return parts.flatMap(part => part || []).join('\n')
}
