/** Where a Markdown text stands: a file of the repository, whose relative links and images are those of its folder. */
import { type ComponentType, createContext } from 'preact'

export interface MarkdownPlace {
  /** The folder of the file, without a slash at its end; '' is the top. */
  folder: string
  /** Shows an image of the repository. `path`: as bytes of the name. */
  Image: ComponentType<{ path: string; alt: string }>
}

/** Undefined: the text is no file, such as an answer of a model. Paths are then from the top, and no image is shown. */
export const MarkdownPlaceContext = createContext<MarkdownPlace | undefined>(undefined)

/** A relative address as one from the top of the repository; any other address as it is. */
export function fromTop(href: string, place: MarkdownPlace | undefined): string {
  const address = href.trim()
  if (!place || /^([a-z][a-z0-9+.-]*:|[/\\#?])/i.test(address) || address.includes('\\')) return href
  const [path = '', rest = ''] = address.split(/(?=[#?])(.*)/s)
  const parts = place.folder === '' ? [] : place.folder.split('/').map(encodeURIComponent)
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    // Above the top is nothing of the repository.
    else if (parts.pop() === undefined) return href
  }
  return parts.join('/') + rest
}
