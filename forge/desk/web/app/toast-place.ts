/** Where the toast stands: it must not cover fields in which the user may be typing, nor Keep and Discard. */
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/**
 * The forms of the view, such as that of the message to the AI, and the strips with questions above it. Forms of
 * dialogs are above the toast.
 */
const FORMS = 'main :is(form, .strip)'
/** Pixels between the toast and what is below it. */
const GAP = 8

/**
 * Moves the toast above the forms that it would cover, also when they grow or the window changes. `shown`: what is
 * shown in the view and in the toast; with another value the forms are looked for again.
 */
export function useToastPlace(toast: RefObject<HTMLElement | null>, shown: readonly unknown[]): void {
  useLayoutEffect(() => {
    const element = toast.current
    if (!element) return undefined
    const place = () => placeAboveForms(element)
    const observer = new ResizeObserver(place)
    place()
    // The view may be rendered after the toast.
    const frame = requestAnimationFrame(() => {
      for (const box of [element, ...document.querySelectorAll(FORMS)]) observer.observe(box)
    })
    window.addEventListener('resize', place)
    return () => {
      cancelAnimationFrame(frame)
      observer.disconnect()
      window.removeEventListener('resize', place)
    }
  }, shown)
}

function placeAboveForms(toast: HTMLElement): void {
  toast.style.removeProperty('bottom')
  const { left, right, bottom, height } = toast.getBoundingClientRect()
  const beside = [...document.querySelectorAll(FORMS)]
    .map(form => form.getBoundingClientRect())
    .filter(form => form.left < right && form.right > left)
    // From the lowest one up: above it, the toast may cover the next one.
    .sort((one, other) => other.top - one.top)
  let end = bottom
  for (const { top, bottom: below } of beside) {
    const isCovered = top < end + GAP && below > end - height
    // A form as high as the window leaves no room above it.
    if (isCovered && top > height + GAP) end = top - GAP
  }
  if (end < bottom) toast.style.bottom = `${window.innerHeight - end}px`
}
