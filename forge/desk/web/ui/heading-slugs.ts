/** The addresses of headings in a Markdown text, as GitHub makes them: `#get-started` leads to "Get started". */
import type { Token } from 'marked'
import { withEntities } from './prose.ts'

/** The slug of a heading by its text alone: headings with the same text have the same one. */
export function slugOf(tokens: readonly Token[]): string {
  return textOf(tokens)
    .toLowerCase()
    .replace(/[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** The text of a heading without its images and HTML tags. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(token => {
      if (token.type === 'image' || token.type === 'html') return ''
      if (token.type === 'br') return ' '
      if ('tokens' in token && token.tokens) return textOf(token.tokens)
      if (token.type === 'codespan') return token.text
      return 'text' in token ? withEntities(token.text) : ''
    })
    .join('')
}

/**
 * Finds the heading that an address leads to. `slugs`: those of all headings of the text, in order; of equal ones, the
 * second has -1 at its end, the third -2. Returns the index; -1: none.
 */
export function headingOf(fragment: string, slugs: readonly string[]): number {
  const wanted = fragment.toLowerCase()
  const counts = new Map<string, number>()
  for (const [index, slug] of slugs.entries()) {
    let unique = slug
    let count = counts.get(slug) ?? 0
    while (counts.has(unique)) unique = `${slug}-${++count}`
    counts.set(slug, count)
    counts.set(unique, counts.get(unique) ?? 0)
    if (unique === wanted) return index
  }
  return -1
}
