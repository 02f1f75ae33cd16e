/** Where the diffs of a review are scrolled to: kept while another pane is shown, and marked in the list of files. */
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Change } from '../../contract/values.ts'
import type { ReviewState, ScrollPlace } from '../page/review-state.ts'

/** A diff whose top is at most this far below the top of the view is the one that is read, in pixels. */
const TOP_PX = 8
/** The events by which the user takes over the scrolling. */
const INPUTS = ['keydown', 'pointerdown', 'wheel'] as const

const diffsIn = (box: HTMLElement): HTMLElement[] => [...box.querySelectorAll<HTMLElement>('article.diff')]

/**
 * Scrolls the diffs to the selected file, and to where they were when they were shown last; records where they are.
 * Returns a listener for the scrolling.
 */
export function useScrollPlace(
  review: ReviewState,
  box: RefObject<HTMLElement | null>,
  changes: readonly Change[] | undefined,
): () => void {
  // Diffs are loaded when they come near, and become higher then: the place is kept until the user scrolls.
  const settling = useRef<AbortController>(undefined)
  const isRestored = useRef(false)
  const selected = review.current.value
  const { value: filesShown } = review.filesShown

  useEffect(() => () => settling.current?.abort(), [])

  useLayoutEffect(() => {
    const element = box.current
    if (!element || !changes) return
    const isSelection = selected !== undefined && selected !== review.scrolledTo
    const isKept = !isRestored.current || isSettling(settling.current) || review.isPlaceMoved
    const place = isSelection ? { path: selected.path, offset: 0 } : isKept ? review.placeNow : undefined
    isRestored.current = true
    review.isPlaceMoved = false
    if (!place) return
    const index = changes.findIndex(({ path }) => path === place.path)
    if (index >= filesShown) {
      // The effect runs again once the file is there.
      isRestored.current = false
      review.filesShown.value = index + 1
      return
    }
    const diffs = diffsIn(element)
    const diff = diffs[index]
    if (!diff) return
    review.scrolledTo = selected
    review.place = { ...place, comparison: review.comparison }
    review.readPath.value = place.path
    settling.current?.abort()
    settling.current = settle(element, { diffs, diff, offset: place.offset })
  }, [selected, changes, filesShown])

  return () => {
    const element = box.current
    if (!element || isSettling(settling.current)) return
    const place = placeIn(element)
    review.place = place && { ...place, comparison: review.comparison }
    review.readPath.value = place?.path
  }
}

const isSettling = (controller: AbortController | undefined): boolean => controller?.signal.aborted === false

interface Target {
  diffs: readonly HTMLElement[]
  diff: HTMLElement
  offset: number
}

/** Keeps a place at the top of the view while diffs change their height, until the user scrolls or types. */
function settle(box: HTMLElement, { diffs, diff, offset }: Target): AbortController {
  const controller = new AbortController()
  const { signal } = controller
  const scroll = () => {
    box.scrollTop += diff.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientTop + offset
  }
  const observer = new ResizeObserver(scroll)
  for (const it of diffs) observer.observe(it)
  signal.addEventListener('abort', () => observer.disconnect())
  for (const kind of INPUTS) window.addEventListener(kind, () => controller.abort(), { signal, capture: true })
  scroll()
  return controller
}

/** The diff at the top of the view, and how far it is scrolled. */
function placeIn(box: HTMLElement): Omit<ScrollPlace, 'comparison'> | undefined {
  const top = box.getBoundingClientRect().top + box.clientTop
  const diffs = diffsIn(box)
  const diff = diffs.findLast(it => it.getBoundingClientRect().top <= top + TOP_PX) ?? diffs[0]
  const path = diff?.dataset.path
  if (!diff || path === undefined) return undefined
  return { path, offset: top - diff.getBoundingClientRect().top }
}
