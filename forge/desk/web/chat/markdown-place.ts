/** The file that a Markdown text comes from: relative links and images in the text start at the folder of this file. */
import { type ComponentType, createContext } from 'preact'

export interface MarkdownPlace {
  /** The folder of the file, without a slash at its end; '' is the top. */
  folder: string
  /** The component that shows an image of the repository. `path`: a byte string. */
  Image: ComponentType<{ path: string; alt: string }>
  /** Shows a heading of the file, or of the Markdown file at a path (a byte string), by the slug in a link. */
  goTo: (slug: string, path?: string) => void
  /** Whether a long text is shown whole, without a button for its middle. */
  isWhole: boolean
}

/**
 * Undefined if the text is not a file, such as an answer of a model: its paths start at the top folder, and no image is
 * shown.
 */
export const MarkdownPlaceContext = createContext<MarkdownPlace | undefined>(undefined)

/** Converts an address relative to the file to one relative to the top folder; any other address stays. */
export function fromTop(href: string, place: MarkdownPlace | undefined): string {
  const address = href.trim()
  if (!place || /^([a-z][a-z0-9+.-]*:|[/\\#?])/i.test(address) || address.includes('\\')) return href
  const [path = '', rest = ''] = address.split(/(?=[#?])(.*)/s)
  const parts = place.folder === '' ? [] : place.folder.split('/').map(encodeURIComponent)
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    // An address that leads out of the repository stays as it is.
    else if (parts.pop() === undefined) return href
  }
  return parts.join('/') + rest
}
