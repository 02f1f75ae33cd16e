/**
 * A link in untrusted text: shown with its address and opened only by a click. It has no `href`, since browsers look up
 * the hosts of links, which would tell the host's owner that the text was read.
 */
import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { copy } from '../page/actions.ts'
import { type Page, usePage } from '../page/state.ts'
import { openPath } from '../page/tab-actions.ts'
import { Icon } from '../ui/icons.tsx'
import { fragmentOf, targetOf } from '../ui/links.ts'
import { toName } from '../ui/names.ts'
import { readableProse } from '../ui/prose.ts'
import { fromTop, type MarkdownPlace, MarkdownPlaceContext } from './markdown-place.ts'

/** Whether the content is within a link. */
export const InLinkContext = createContext(false)

interface LinkProps {
  href: string
  /** Whether the children are images: in a file, the address of a web page is then told only by the title. */
  isOfImages?: boolean
  children: ComponentChildren
}

export function Link({ href, isOfImages = false, children }: LinkProps) {
  const page = usePage()
  const place = useContext(MarkdownPlaceContext)
  const from = fromTop(href, place)
  const target = targetOf(from)
  const isHeading = place !== undefined && isOwnHeading(href)
  const kind = isHeading ? 'heading' : target.kind
  const address = readableProse(target.kind === 'page' ? target.address : href)
  const hasWords = isOfImages || (Array.isArray(children) && children.length > 0 && !isTheAddress(children, href))
  // In an answer of a model, each address is seen before it is opened: it could carry data.
  const hidesAddress = hasWords && (kind === 'file' || kind === 'heading' || (isOfImages && place && kind === 'page'))
  const follow = () => open(page, from, place)
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above why it is no <a href>
    <span
      role="link"
      tabIndex={0}
      class={`link ${kind}`}
      title={address}
      onClick={follow}
      onKeyDown={event => {
        if (event.key === 'Enter') follow()
      }}
    >
      {kind === 'other' ? <Icon name="warning" size="xs" /> : null}
      {hasWords ? (
        <InLinkContext.Provider value={true}>
          <span class="link-words">{children}</span>
        </InLinkContext.Provider>
      ) : null}
      {hasWords && !hidesAddress ? ' ' : null}
      {hidesAddress ? null : <span class={hasWords ? 'address' : 'link-words'}>{address}</span>}
    </span>
  )
}

/** Whether the text of a link is its address, which is then not shown twice. */
function isTheAddress(children: ComponentChildren[], href: string): boolean {
  const [only] = children
  if (children.length !== 1 || typeof only !== 'object' || only === null || !('props' in only)) return false
  const { token } = only.props as { token?: { text?: unknown } }
  return token?.text === href
}

const isOwnHeading = (href: string): boolean => href.trim().startsWith('#')

function open(page: Page, href: string, place: MarkdownPlace | undefined): void {
  const target = targetOf(href)
  const fragment = fragmentOf(href)
  if (place && fragment !== undefined && (target.kind === 'file' || isOwnHeading(href))) {
    place.goTo(fragment, target.kind === 'file' ? toName(target.path) : undefined)
    return
  }
  if (target.kind === 'page') {
    window.open(target.address, '_blank', 'noopener,noreferrer')
    return
  }
  if (target.kind === 'file') {
    const tab = page.tab.peek()
    if (tab) void openPath(page, tab, toName(target.path).replace(/\/$/, ''))
    return
  }
  page.dialog.value = {
    kind: 'confirm',
    title: 'This link is not a web address',
    words: [
      'This address is from the text. The desk opens web pages alone; copy it, if you know what it is:',
      shortened(href),
    ],
    button: 'Copy the address',
    run: () => copy(page, href),
  }
}

function shortened(href: string): string {
  return readableProse(href.length > 300 ? `${href.slice(0, 300)}…` : href)
}
