import type { RefObject, TargetedWheelEvent } from 'preact'
import { useEffect } from 'preact/hooks'

/** Handles the arrow keys in a list of tabs, as assistive technology expects them. */
export function onTabKeys(event: KeyboardEvent): void {
  if (!(event.currentTarget instanceof Element) || event.altKey || event.ctrlKey || event.metaKey) return
  const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')]
  const index = tabs.indexOf(document.activeElement as HTMLElement)
  const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 }[event.key]
  if (index < 0 || next === undefined) return
  event.preventDefault()
  const tab = tabs[(next + tabs.length) % tabs.length]
  tab?.focus()
  tab?.click()
}

/** Keeps the selected tab in view when the window, the other tabs or their names change. */
export function useSelectedTabInView(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = list.current
    if (!element) return undefined
    const show = () =>
      element.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    const sizes = new ResizeObserver(show)
    const watchSizes = () => {
      sizes.disconnect()
      for (const part of [element, ...element.children]) sizes.observe(part)
    }
    const tabs = new MutationObserver(watchSizes)
    tabs.observe(element, { childList: true })
    watchSizes()
    return () => {
      sizes.disconnect()
      tabs.disconnect()
    }
  }, [list])
}

/** Scrolls the tabs sideways also with a vertical wheel. */
export function onTabsWheel(event: TargetedWheelEvent<HTMLElement>): void {
  if (event.deltaX === 0 && !event.ctrlKey) event.currentTarget.scrollLeft += event.deltaY
}
