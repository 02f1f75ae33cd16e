/** A text of which a few lines are shown until the user asks for all of it. */
import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { IconButton } from './words.tsx'

interface Unfolding {
  isOpen: Signal<boolean>
  /** Whether some of the text is not shown, or would not be without the user's wish. */
  isCut: Signal<boolean>
}

/**
 * Watches whether a text is cut. `partsOf`: the elements with the text in the box; by default, that is the box itself.
 * `texts`: what they show.
 */
export function useUnfolding(
  box: RefObject<HTMLElement | null>,
  texts: readonly (string | undefined)[],
  partsOf = (element: HTMLElement): Element[] => [element],
): Unfolding {
  const isOpen = useSignal(false)
  const isCut = useSignal(false)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const measure = () => {
      const isOver = (part: Element) => part.scrollHeight > part.clientHeight + 1 || part.scrollWidth > part.clientWidth
      isCut.value = isOpen.peek() || partsOf(element).some(isOver)
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [...texts])
  return { isOpen, isCut }
}

/** The button that shows all of a text, or less of it again. */
export function UnfoldButton({ isOpen }: { isOpen: Signal<boolean> }) {
  return (
    <IconButton
      icon={isOpen.value ? 'chevron-down' : 'chevron-right'}
      words={isOpen.value ? 'Show less' : 'Show more'}
      isPressed={isOpen.value}
      onClick={() => {
        isOpen.value = !isOpen.peek()
      }}
    />
  )
}
