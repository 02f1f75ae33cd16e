/**
 * Searches the repository for the words of a wish: definitions of its names, files of these names, and recent commits.
 */
import { lastCommits } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { short, visible, visiblePath } from '../../../core/text.ts'
import { definitionsIn, filesNamed } from '../../ai/named.ts'
import type { CodeReader } from '../../code/reader.ts'

const MAX_COMMITS = 8

/**
 * The files that git finds for a wish, and the last commits, as lines for a planner; '' for nothing. The same commit and
 * wish give the same text. Git, which searches, is started before this returns.
 */
export async function wishedInWords(objects: Objects, base: Oid, wish: string): Promise<string> {
  const tree = `${base}^{tree}`
  const [named, commits] = await Promise.all([
    filesNamed(objects, { tree, text: wish }),
    lastCommits(objects.repository, base, { most: MAX_COMMITS, hasFiles: false }),
  ])
  const parts = [
    named.length > 0 && ['Files of its names:', ...named.map(path => `- ${visiblePath(path)}`)],
    commits.length > 0 && [
      'The last commits:',
      ...commits.map(({ date, subject }) => `- ${date} ${short(visible(subject), 100)}`),
    ],
  ]
  return parts.flatMap(part => part || []).join('\n')
}

/**
 * Where names of a wish are defined, as lines for a planner; '' for nowhere. The same commit and wish give the same text.
 */
export async function definedInWords(code: CodeReader, base: Oid, wish: string): Promise<string> {
  const tree = (await code.objects.info(`${base}^{tree}`))?.oid
  if (tree === undefined) return ''
  const definitions = await definitionsIn(code, { tree, text: wish, signal: new AbortController().signal })
  return definitions.map(({ name, path, line }) => `- ${name}: ${visiblePath(path)}, line ${line}`).join('\n')
}
