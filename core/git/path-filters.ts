/** Path filters as people type them, such as `*.ts, src/, !*.test.ts`, as pathspecs of git. */
import { Failure } from '../failure.ts'

const MAX_FILTERS = 100
/** At most this many pathspecs come from the braces of one filter. */
const MAX_EXPANDED = 100

/**
 * The pathspecs for path filters, which are separated by commas. `!` excludes. A filter without a slash applies to
 * files and folders of that name in any folder, one with a slash from the top of the tree. `*`, `?`, `[…]`, `**` and
 * `{a,b}` have their usual meaning.
 *
 * @throws A {@link Failure} if a filter can't be read.
 */
export function pathspecsOf(filters: string): string[] {
  const all = splitAtCommas(filters)
    .map(filter => filter.trim())
    .filter(filter => filter !== '' && filter !== '!')
  if (all.length > MAX_FILTERS) throw new Failure(`Use at most ${MAX_FILTERS} path filters.`)
  return all.flatMap(filter => {
    const isExcluded = filter.startsWith('!')
    const magic = isExcluded ? 'top,glob,exclude' : 'top,glob'
    return patternsOf(isExcluded ? filter.slice(1).trim() : filter).map(pattern => `:(${magic})${pattern}`)
  })
}

/** Splits at commas that are not in braces. */
function splitAtCommas(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const char of text) {
    if (char === '{') depth++
    else if (char === '}') depth = Math.max(0, depth - 1)
    if (char === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += char
  }
  return parts
}

function patternsOf(filter: string): string[] {
  if (filter.includes('\0')) throw new Failure('A path filter can have no NUL character in it.')
  const path = filter.replaceAll('\\', '/').replace(/^\.?\/+/, '')
  const isFromTop = path !== filter || /\/./.test(path)
  const name = path.replace(/\/+$/, '')
  if (name === '' || name === '.') return ['**']
  if (name.split('/').includes('..'))
    throw new Failure('Path filters begin at the top of the repository: leave out the “..”.')
  return expanded(name).flatMap(pattern => {
    const from = isFromTop || pattern.startsWith('**/') ? pattern : `**/${pattern}`
    // A folder's name selects all files below it.
    const below = from.endsWith('/**') ? [] : [`${from}/**`]
    return path.endsWith('/') ? below : [from, ...below]
  })
}

/** Replaces `{a,b}` by each of its parts. */
function expanded(pattern: string): string[] {
  const done: string[] = []
  const left = [pattern]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [all, inner] = /\{([^{}]*,[^{}]*)\}/.exec(next) ?? []
    if (all === undefined || inner === undefined) done.push(next)
    else {
      const current = next
      left.push(...inner.split(',').map(part => current.replace(all, () => part)))
    }
    if (done.length + left.length > MAX_EXPANDED)
      throw new Failure('The braces of a path filter stand for too many names: use fewer.')
  }
  return done.reverse()
}
