/** A long list of rows of equal height. Only the visible rows are in the document. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren, HTMLAttributes, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { keepFocusInList } from './focus.ts'

/** This many rows are also rendered above and below the view. */
const MARGIN_ROWS = 12
/** The delay before the rows outside of the view are rendered, in milliseconds: the visible rows come first. */
const MARGIN_DELAY_MS = 100
/** The height of the view that is assumed until it is measured. */
const FIRST_HEIGHT_PX = 600

interface Props extends Omit<HTMLAttributes<HTMLDivElement>, 'children'> {
  count: number
  rowHeight: number
  row: (index: number) => ComponentChildren
  /** The row that is kept in view. */
  active?: number
  /** Whether the list does not scroll to the active row where that moves, such as while rows are dragged. */
  isStill?: boolean
  /** What the rows belong to, such as the tab or the search: when it changes, the active row is scrolled into view. */
  listOf?: unknown
  /**
   * How far the list is scrolled, in pixels, for a list that is at the same place when it is shown again; undefined
   * before it is shown first.
   */
  place?: Signal<number | undefined>
  /** Called with the last visible row. */
  onReach?: (index: number) => void
  /** Called with the list's width in pixels, at first and whenever it changes. */
  onWidth?: (width: number) => void
  /** Set to the list's element. */
  box?: RefObject<HTMLDivElement | null>
}

export function VirtualList(props: Props) {
  const { count, rowHeight, row, active, isStill = false, listOf, place, onReach, onWidth, ...others } = props
  const { box: given, ...attributes } = others
  const own = useRef<HTMLDivElement>(null)
  const box = given ?? own
  const ownPlace = useSignal<number | undefined>(undefined)
  const top = place ?? ownPlace
  const { value: scrolled = 0 } = top
  const height = useSignal(FIRST_HEIGHT_PX)
  const margin = useSignal(0)
  const isLaidOut = useRef(false)
  const resized = useRef(onWidth)
  resized.current = onWidth
  const keepActive = useRef(() => {})
  keepActive.current = () => {
    const element = box.current
    if (!element || active === undefined || active < 0 || isStill) return
    const from = active * rowHeight
    const at = top.peek() ?? 0
    // Measuring the list's position forces a layout of everything new in the page, so it is done only if needed.
    const isInView = from >= at && from + rowHeight <= at + height.peek()
    if (!isInView) keepInView(element, from, rowHeight)
  }

  // The observer is called before the first frame, after layout: measuring earlier would force an additional layout.
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight
      resized.current?.(element.clientWidth)
      const before = top.peek()
      if (!isLaidOut.current && before !== undefined) element.scrollTop = before
      else if (!isLaidOut.current) keepActive.current()
      top.value = element.scrollTop
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

  const first = Math.max(0, Math.floor(scrolled / rowHeight) - margin.value)
  const last = Math.min(count, Math.ceil((scrolled + height.value) / rowHeight) + margin.value)
  onReach?.(last - 1)
  return (
    // The list handles the keys of its rows.
    // biome-ignore lint/a11y/noStaticElementInteractions: the role is among the attributes
    <div
      {...attributes}
      ref={box}
      onMouseUp={keepFocusInList}
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
