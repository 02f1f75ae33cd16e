/** Where the toast stands: above a field of the page in which the user may be typing, which it must not cover. */
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** The forms of the view, such as that of the message to the AI. Forms of dialogs are above the toast. */
const FORMS = 'main form'
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
  const { left, right, top, bottom, height } = toast.getBoundingClientRect()
  const covered = [...document.querySelectorAll(FORMS)]
    .map(form => form.getBoundingClientRect())
    .filter(form => form.left < right && form.right > left && form.top < bottom + GAP && form.bottom > top)
  const highest = Math.min(...covered.map(form => form.top))
  // A form as high as the window leaves no room above it.
  if (covered.length > 0 && highest > height + GAP) toast.style.bottom = `${window.innerHeight - highest + GAP}px`
}
