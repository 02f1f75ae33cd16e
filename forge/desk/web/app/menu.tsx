/**
 * The context menu of a row or a tab: opened by the right button, Shift+F10, the menu key, or the button with three
 * dots.
 */
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { usePage } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import type { MenuContent, MenuItem } from '../ui/menu-content.ts'
import { SilentKeys } from '../ui/words.tsx'

/** The smallest distance of a menu from the edges of the window, in pixels. */
const MARGIN = 4
const ITEM = '[role^="menuitem"]'

export function Menu() {
  const page = usePage()
  const content = page.menu.value
  return content ? <OpenMenu key={content.title} content={content} /> : null
}

function OpenMenu({ content }: { content: MenuContent }) {
  const page = usePage()
  const menu = useRef<HTMLDivElement>(null)
  const id = useId()
  const close = () => {
    // The browser reports the close late: another menu may be open by then.
    if (page.menu.peek() !== content) return
    page.menu.value = undefined
    if (content.opener?.isConnected) content.opener.focus()
  }
  const run = (item: MenuItem) => {
    close()
    item.run()
  }

  // A layout effect, so that the menu is in its final position when first painted.
  useLayoutEffect(() => {
    const element = menu.current
    if (!element) return undefined
    element.showPopover()
    place(element, content)
    element.querySelector<HTMLElement>(ITEM)?.focus()
    return () => {
      if (element.matches(':popover-open')) element.hidePopover()
    }
  }, [content])

  // The object of the menu moves when the window changes its size, and the menu may end up outside.
  useEffect(() => {
    window.addEventListener('resize', close)
    return () => window.removeEventListener('resize', close)
  }, [content])

  return (
    <div
      ref={menu}
      class="menu"
      role="menu"
      tabIndex={-1}
      aria-labelledby={id}
      popover="auto"
      onToggle={event => {
        if (event.newState === 'closed') close()
      }}
      onContextMenu={event => event.preventDefault()}
      onKeyDown={event => {
        if (event.key === 'Tab' || event.key === 'Escape') close()
        else if (!moveBy(event)) return
        event.preventDefault()
        event.stopPropagation()
      }}
    >
      <div class="menu-title cut" id={id} role="presentation">
        {content.title}
      </div>
      {content.groups.map((items, index) => (
        // biome-ignore lint/a11y/useSemanticElements: a group of menu items has no element of its own
        <div role="group" key={items[0]?.words ?? index}>
          {items.map(item => (
            <button
              key={item.words}
              type="button"
              {...roleOf(item)}
              tabIndex={-1}
              onMouseMove={event => event.currentTarget.focus()}
              onClick={() => run(item)}
            >
              {item.isChecked === false ? <span class="unchecked" /> : <Icon name={item.icon} />}
              <span class="grow">{item.words}</span>
              {item.keys ? <SilentKeys of={item.keys} /> : null}
            </button>
          ))}
        </div>
      ))}
    </div>
  )
}

function roleOf({ isChecked }: MenuItem) {
  if (isChecked === undefined) return { role: 'menuitem' } as const
  return { role: 'menuitemradio', 'aria-checked': isChecked } as const
}

/** Moves the menu to its position, kept inside the window. */
function place(element: HTMLElement, { x, y }: MenuContent): void {
  const { width, height } = element.getBoundingClientRect()
  const left = Math.max(MARGIN, Math.min(x, window.innerWidth - width - MARGIN))
  const isBelow = y + height + MARGIN <= window.innerHeight
  const top = isBelow ? y : Math.max(MARGIN, Math.min(y - height, window.innerHeight - height - MARGIN))
  element.style.left = `${left}px`
  element.style.top = `${top}px`
}

/** Handles a key pressed in the menu. Returns whether the menu has used the key. */
function moveBy(event: KeyboardEvent): boolean {
  if (!(event.currentTarget instanceof Element) || event.altKey || event.ctrlKey || event.metaKey) return false
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>(ITEM)]
  const index = items.indexOf(document.activeElement as HTMLElement)
  const moves: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index < 0 ? -1 : index - 1,
    Home: 0,
    End: items.length - 1,
  }
  const next = moves[event.key] ?? (event.key.length === 1 ? byLetter(items, index, event.key) : undefined)
  if (next === undefined) return false
  items.at(next % items.length)?.focus()
  return true
}

function byLetter(items: HTMLElement[], index: number, letter: string): number | undefined {
  if (letter === ' ') return undefined
  const begins = (item: HTMLElement) => item.textContent?.toLowerCase().startsWith(letter.toLowerCase()) === true
  const after = items.findIndex((item, at) => at > index && begins(item))
  const found = after >= 0 ? after : items.findIndex(begins)
  return found >= 0 ? found : undefined
}
