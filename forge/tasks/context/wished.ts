/** What git knows of the words of a wish: where its names are defined, files that are called so, and the last commits. */
import { lastCommits } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { listFiles } from '../../../core/git/trees.ts'
import { short, visible, visiblePath } from '../../../core/text.ts'
import { definitionsIn } from '../../ai/named.ts'

const MAX_FILES = 20
const MAX_COMMITS = 8
/** In a larger repository, files are not looked for by their names. */
const MAX_LISTED = 200_000
/** Of the words of a wish, those that can be the name of a file. */
const NAME = /[A-Za-z][A-Za-z0-9_.-]{3,60}/g

/** As lines for a planner; '' where there is nothing. The same commit and wish give the same words. */
export async function wishedInWords(objects: Objects, base: Oid, wish: string): Promise<string> {
  const tree = (await objects.info(`${base}^{tree}`))?.oid
  if (tree === undefined) return ''
  const [definitions, { files, cut }, commits] = await Promise.all([
    definitionsIn(objects, { tree, text: wish, signal: new AbortController().signal }),
    listFiles(objects, tree, { limit: MAX_LISTED }),
    lastCommits(objects.repository, base, { most: MAX_COMMITS }),
  ])
  const words = new Set((wish.match(NAME) ?? []).map(word => word.replace(/\.+$/, '').toLowerCase()))
  const isNamed = (path: string): boolean => {
    const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
    return words.has(name) || words.has(name.replace(/\.[^.]*$/, ''))
  }
  const named = cut ? [] : files.filter(({ path }) => isNamed(path)).slice(0, MAX_FILES)
  const parts = [
    definitions.length > 0 && [
      'Definitions of its names:',
      ...definitions.map(({ name, path, line }) => `- ${name}: ${visiblePath(path)}, line ${line}`),
    ],
    named.length > 0 && ['Files of its names:', ...named.map(({ path }) => `- ${visiblePath(path)}`)],
    commits.length > 0 && [
      'The last commits:',
      ...commits.map(({ date, subject }) => `- ${date} ${short(visible(subject), 100)}`),
    ],
  ]
  return parts.flatMap(part => part || []).join('\n')
}
