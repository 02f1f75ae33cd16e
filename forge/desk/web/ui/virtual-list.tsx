/** A long list of rows of one height, of which only those in view are in the page. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, HTMLAttributes, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

/**
 * Rows above and below the view that are there already when it moves; and the milliseconds after which they are made:
 * what is in view comes first.
 */
const MARGIN_ROWS = 12
const MARGIN_DELAY_MS = 100
/** What the height is taken for until it is known. */
const FIRST_HEIGHT_PX = 600

interface Props extends Omit<HTMLAttributes<HTMLDivElement>, 'children'> {
  count: number
  rowHeight: number
  row: (index: number) => ComponentChildren
  /** The row that is kept in view. */
  active?: number
  /** What the list is of: where that becomes something else, the row is brought into view again. */
  listOf?: unknown
  /** Called with the last row that is in view. */
  onReach?: (index: number) => void
  /** Where the element of the list is wanted. */
  box?: RefObject<HTMLDivElement | null>
}

export function VirtualList({ count, rowHeight, row, active, listOf, onReach, box: given, ...attributes }: Props) {
  const own = useRef<HTMLDivElement>(null)
  const box = given ?? own
  const top = useSignal(0)
  const height = useSignal(FIRST_HEIGHT_PX)
  const margin = useSignal(0)
  const isLaidOut = useRef(false)
  const keepActive = useRef(() => {})
  keepActive.current = () => {
    const element = box.current
    if (!element || active === undefined || active < 0) return
    const from = active * rowHeight
    // To ask the browser where the list is has it lay out all that is new in the page.
    const isInView = from >= top.peek() && from + rowHeight <= top.peek() + height.peek()
    if (!isInView) keepInView(element, from, rowHeight)
  }

  // The observer is called before the first frame, when all of the page is laid out: to ask before that would have it
  // laid out once more.
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight
      if (!isLaidOut.current) keepActive.current()
      isLaidOut.current = true
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [height])

  useLayoutEffect(() => {
    if (isLaidOut.current) keepActive.current()
  }, [active, rowHeight, listOf])

  useEffect(() => {
    const clock = setTimeout(() => {
      margin.value = MARGIN_ROWS
    }, MARGIN_DELAY_MS)
    return () => clearTimeout(clock)
  }, [margin])

  const first = Math.max(0, Math.floor(top.value / rowHeight) - margin.value)
  const last = Math.min(count, Math.ceil((top.value + height.value) / rowHeight) + margin.value)
  onReach?.(last - 1)
  return (
    <div
      {...attributes}
      ref={box}
      onScroll={event => {
        top.value = event.currentTarget.scrollTop
      }}
    >
      <div class="rows" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        <div role="presentation" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, index) => row(first + index))}
        </div>
      </div>
    </div>
  )
}

function keepInView(element: HTMLElement, from: number, rowHeight: number): void {
  if (from < element.scrollTop) element.scrollTop = from
  const below = from + rowHeight - element.clientHeight
  if (below > element.scrollTop) element.scrollTop = below
}
