/**
 * The graph: rows of equal height, of which only the visible ones are in the document, over canvases (tiles) with their
 * lanes. A tile is drawn once and scrolls with the rows, so that scrolling draws only what is new.
 */
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { GraphRow } from '../../contract/graph.ts'
import type { Label } from '../page/graph-labels.ts'
import { type GraphState, HEIGHTS } from '../page/graph-state.ts'
import { usePlace } from '../page/places.ts'
import { type Page, usePage } from '../page/state.ts'
import { historyActions, historyMenu, whyForOne, whyInHistory, whyNotRewritten } from '../review/history-actions.ts'
import { sourceActions, sourceAt, stepActions } from '../steps/source-actions.ts'
import { commitSource } from '../steps/step-ways.ts'
import { actionFor } from '../ui/action.ts'
import { keepFocusInList } from '../ui/focus.ts'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { graphActions, graphListActions } from './graph-actions.ts'
import { drawLanes, type GraphColours, paletteOf } from './graph-drawing.ts'
import { commitActions, commitMenu, labelMenu, severalIn } from './graph-menus.ts'
import { Row, RowToCome } from './graph-row.tsx'

/** The rendered range moves in steps of this many rows; scrolling within a step renders nothing. */
const STEP_ROWS = 8
/** Rows rendered above and below the view, except while scrolling fast. */
const MARGIN_ROWS = 16
/**
 * Render the margin after this many milliseconds without scrolling, and this long after the first render, which does
 * only the visible rows.
 */
const REST_MS = 120
/** The number of rows that a tile draws. */
const TILE_ROWS = 50
/** At most this many tiles (canvases with the lanes of some rows) exist at once. */
const CANVASES = 8

const NO_LABELS: readonly Label[] = []

export function GraphList() {
  const page = usePage()
  const { graph } = page
  const box = usePlace<HTMLDivElement>('home')
  const height = useSignal(800)
  const { value: rowHeight } = graph.rowHeight
  // Reading `version` here makes the list render again when rows have arrived.
  graph.version.value
  const count = graph.count
  const visible = Math.ceil(height.value / rowHeight)
  const { first, margin, scrolledTo } = useFirst(rowHeight)
  const from = Math.max(0, first - margin)
  const to = Math.min(count, first + visible + STEP_ROWS + margin)

  useEffect(() => graph.view(from, to, first), [graph, from, to])
  useSize(box, height)
  useScroll(box, graph)
  // Enough for the smallest row height: a number that depends on the zoom would replace all elements on each zoom.
  const rows = useRows(from, to, Math.ceil(height.value / HEIGHTS[0]) + STEP_ROWS + 2 * MARGIN_ROWS)

  return (
    <div
      ref={box}
      class="graph-list"
      role="listbox"
      aria-label="Commits"
      aria-multiselectable={true}
      aria-busy={count === 0 && graph.total.value === undefined}
      tabIndex={0}
      aria-activedescendant={count > 0 && !graph.isSelectedHidden ? `row-${graph.selected.value.row}` : undefined}
      onMouseUp={keepFocusInList}
      onScroll={event => scrolledTo(event.currentTarget.scrollTop)}
      onClick={event => {
        const index = rowOf(event)
        if (index === undefined) return
        if (event.shiftKey) void graph.extendTo(index)
        else if (event.ctrlKey || event.metaKey) graph.toggle(index)
        else graph.select(index)
      }}
      onDblClick={event => travel(page, rowOf(event))}
      onContextMenu={event => openMenu(page, event)}
      onKeyDown={event => onKey(page, event, visible)}
    >
      <div class="rows" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        <Tiles from={from} to={to} count={count} />
        <div role="presentation" class="graph-rows" style={{ transform: `translateY(${from * rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  )
}

/** The first visible row, and the rows wanted above and below the view. */
function useFirst(rowHeight: number) {
  const view = useSignal({ first: 0, margin: 0 })
  const rest = useRef<ReturnType<typeof setTimeout>>(undefined)
  const fill = () => {
    view.value = { first: view.peek().first, margin: MARGIN_ROWS }
  }
  useEffect(() => {
    rest.current = setTimeout(fill, REST_MS)
    return () => clearTimeout(rest.current)
  }, [])
  const scrolledTo = (scrollTop: number) => {
    const first = Math.floor(scrollTop / rowHeight / STEP_ROWS) * STEP_ROWS
    const { first: before, margin } = view.peek()
    const isFast = Math.abs(first - before) > MARGIN_ROWS
    if (first !== before) view.value = { first, margin: isFast ? 0 : margin }
    clearTimeout(rest.current)
    if (view.peek().margin < MARGIN_ROWS) rest.current = setTimeout(fill, REST_MS)
  }
  return { ...view.value, scrolledTo }
}

interface Made {
  key: number
  row: GraphRow | undefined
  labels: readonly Label[]
  state: string
  node: VNode
}

/**
 * The visible rows, at most `most`. An unchanged row keeps its node, so that it is not rendered. A row that comes into
 * view reuses the elements of one that leaves it, which costs half of creating them.
 */
function useRows(from: number, to: number, most: number): VNode[] {
  const { graph } = usePage()
  const made = useRef(new Map<number, Made>())
  const keys = useRef({ from, base: 0 })
  // After a jump, each element keeps its position; after a small scroll, those that leave on one side enter on the
  // other.
  const { from: before, base: known } = keys.current
  const base = Math.abs(from - before) > most / 2 ? known + from - before : known
  keys.current = { from, base }
  const { value: selected } = graph.selected
  const { value: several } = graph.several
  const { value: labelsAt } = graph.labels
  const total = graph.total.value ?? -1
  const found = useMemo(() => new Set(graph.found.value?.rows.map(({ oid }) => oid)), [graph.found.value])
  const rows: VNode[] = []
  const next = new Map<number, Made>()
  for (let index = from; index < to; index++) {
    const row = graph.rowAt(index)
    const labels = (row && labelsAt.get(row.oid)) ?? NO_LABELS
    const isFound = row !== undefined && found.has(row.oid)
    const isActive = index === selected.row
    const isSelected = several.size > 0 ? row !== undefined && several.has(row.oid) : isActive
    const state = `${isSelected} ${isActive} ${isFound} ${total}`
    const key = (((index - base) % most) + most) % most
    const known = made.current.get(index)
    const isSame = known?.key === key && known.row === row && known.labels === labels && known.state === state
    const one = isSame && known ? known : { key, row, labels, state, node: nodeOf() }
    function nodeOf(): VNode {
      if (!row) return <RowToCome key={key} index={index} />
      return (
        <Row
          key={key}
          row={row}
          index={index}
          total={total}
          labels={labels}
          isSelected={isSelected}
          isActive={isActive}
          isFound={isFound}
        />
      )
    }
    next.set(index, one)
    rows.push(one.node)
  }
  made.current = next
  return rows
}

function useSize(box: { current: HTMLDivElement | null }, height: { value: number }): void {
  const { graph } = usePage()
  // The observer is called before the first frame, after layout: measuring earlier would force an additional layout.
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight
      graph.listWidth.value = element.clientWidth
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [box, height, graph])
  const { value: rowHeight } = graph.rowHeight
  const { value: width } = graph.columnWidth
  useLayoutEffect(() => {
    box.current?.style.setProperty('--graph-row', `${rowHeight}px`)
    box.current?.style.setProperty('--graph-lanes', `${width}px`)
  }, [box, rowHeight, width])
}

/** Scrolls to the selection or by rows that were added above; zooms and pans by the wheel. */
function useScroll(box: { current: HTMLDivElement | null }, graph: GraphState): void {
  const rowHeight = graph.rowHeight.value
  const reveal = graph.revealWanted.value
  const centre = graph.centreWanted.value
  useLayoutEffect(() => {
    const element = box.current
    if (!element || reveal === 0) return
    const top = graph.selected.peek().row * rowHeight
    if (top < element.scrollTop) element.scrollTop = top
    const below = top + rowHeight - element.clientHeight
    if (below > element.scrollTop) element.scrollTop = below
  }, [reveal])
  useLayoutEffect(() => {
    const element = box.current
    if (!element || centre === 0) return
    const top = graph.selected.peek().row * rowHeight
    const isThere = top >= element.scrollTop && top + rowHeight <= element.scrollTop + element.clientHeight
    if (!isThere) element.scrollTop = top - element.clientHeight / 2
  }, [centre])
  const before = useRef(rowHeight)
  useLayoutEffect(() => {
    const element = box.current
    const old = before.current
    before.current = rowHeight
    if (!element || old === rowHeight) return
    // The row that stays in place: the one at the pointer, else the selected one, else the one in the middle.
    const selected = (graph.selected.peek().row + 0.5) * old - element.scrollTop
    const isSeen = selected >= 0 && selected <= element.clientHeight
    const around = graph.zoomedAround ?? (isSeen ? selected : element.clientHeight / 2)
    element.scrollTop = ((element.scrollTop + around) * rowHeight) / old - around
  }, [rowHeight])
  const shift = graph.shift.value
  useLayoutEffect(() => {
    if (shift === 0 || !box.current) return
    box.current.scrollTop += shift * rowHeight
    graph.shift.value = 0
  }, [shift])
  const { focusWish } = graph
  const wanted = focusWish.made.value
  useEffect(() => {
    if (!focusWish.isOpen) return
    focusWish.end()
    box.current?.focus()
  }, [focusWish, wanted])
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const onWheel = (event: WheelEvent) => {
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX
      if (event.ctrlKey) graph.zoom(event.deltaY < 0 ? 1 : -1, event.clientY - element.getBoundingClientRect().top)
      else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) graph.panBy(sideways)
      else return
      event.preventDefault()
    }
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => element.removeEventListener('wheel', onWheel)
  }, [box, graph])
}

// --- Lanes ---

function Tiles({ from, to, count }: { from: number; to: number; count: number }) {
  const { graph } = usePage()
  const holder = useRef<HTMLDivElement>(null)
  const palette = usePalette(holder)
  graph.version.value
  // Canvases are reused, since creating one costs more than drawing. A tile out of view is drawn when it comes into
  // view.
  const tiles = useRef<TileProps[]>([])
  for (let tile = Math.floor(from / TILE_ROWS); tile * TILE_ROWS < to; tile++) {
    const start = tile * TILE_ROWS
    const rows = Array.from({ length: Math.min(TILE_ROWS, count - start) }, (_, at) => graph.rowAt(start + at))
    tiles.current[tile % CANVASES] = { start, rows, above: graph.rowAt(start - 1) }
  }
  return (
    <div ref={holder} class="lane-tiles" aria-hidden="true">
      {tiles.current.map((tile, key) =>
        palette && tile.start < count ? (
          <Tile key={key} {...tile} palette={palette} isInView={tile.start < to && tile.start + TILE_ROWS > from} />
        ) : null,
      )}
    </div>
  )
}

interface TileProps {
  start: number
  rows: readonly (GraphRow | undefined)[]
  above: GraphRow | undefined
}

function Tile({ start, rows, above, palette, isInView }: TileProps & { palette: GraphColours; isInView: boolean }) {
  const { graph } = usePage()
  const canvas = useRef<HTMLCanvasElement>(null)
  const drawn = useRef<unknown[]>([])
  const { value: rowHeight } = graph.rowHeight
  const { value: width } = graph.columnWidth
  const { value: gap } = graph.laneGap
  const { value: pan } = graph.pan
  useLayoutEffect(() => {
    const inputs = [palette, rowHeight, width, gap, pan, window.devicePixelRatio, above, ...rows]
    const isSame = inputs.length === drawn.current.length && inputs.every((input, at) => input === drawn.current[at])
    if (isSame || !isInView || !canvas.current) return
    drawLanes(canvas.current, { above, rows, rowHeight, width, gap, pan }, palette)
    drawn.current = inputs
  })
  const size = { width: `${width}px`, height: `${rows.length * rowHeight}px` }
  return <canvas ref={canvas} style={{ ...size, transform: `translateY(${start * rowHeight}px)` }} />
}

/**
 * The colours, updated when the system changes between light and dark. The observer is called before the first frame,
 * when styles are computed.
 */
function usePalette(holder: { current: HTMLElement | null }): GraphColours | undefined {
  const palette = useSignal<GraphColours | undefined>(undefined)
  const recoloured = usePage().settings.recoloured.value
  // The colours are read again when the theme has changed.
  useLayoutEffect(() => {
    const element = holder.current
    if (!element) return undefined
    const read = () => {
      palette.value = paletteOf(element)
    }
    const observer = new ResizeObserver(() => {
      observer.disconnect()
      read()
    })
    observer.observe(element)
    const scheme = window.matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', read)
    return () => {
      observer.disconnect()
      scheme.removeEventListener('change', read)
    }
  }, [holder, palette, recoloured])
  return palette.value
}

// --- Keys and menus ---

function rowOf({ target }: Event): number | undefined {
  const element = target instanceof Element ? target.closest<HTMLElement>('[data-row]') : null
  return element ? Number(element.dataset.row) : undefined
}

function travel(page: Page, index: number | undefined): void {
  const row = index === undefined ? undefined : page.graph.rowAt(index)
  if (row) page.open({ kind: 'commit', commit: row.oid })
}

function openMenu(page: Page, event: MouseEvent | KeyboardEvent): void {
  const { graph } = page
  const list = event.currentTarget
  if (!(list instanceof HTMLElement)) return
  event.preventDefault()
  const target = event.target instanceof Element ? event.target : undefined
  const ref = target?.closest<HTMLElement>('[data-ref]')?.dataset.ref
  const index = event instanceof MouseEvent ? (rowOf(event) ?? graph.selected.peek().row) : graph.selected.peek().row
  const row = graph.rowAt(index)
  const { chosen } = graph
  if (row && chosen.some(({ oid }) => oid === row.oid)) {
    page.openMenu(historyMenu(severalIn(page)), placeOfMenu(event, list.querySelector(`#row-${index}`) ?? list), list)
    return
  }
  if (index !== graph.selected.peek().row || chosen.length > 0) graph.select(index)
  if (!row) return
  const label = graph.labels
    .peek()
    .get(row.oid)
    ?.find(it => it.ref === ref)
  const place = placeOfMenu(event, list.querySelector(`#row-${index}`) ?? list)
  page.openMenu(label ? labelMenu(page, label) : commitMenu(page, row), place, list)
}

function onKey(page: Page, event: KeyboardEvent, visible: number): void {
  if (asksForMenu(event)) {
    openMenu(page, event)
    return
  }
  if (event.altKey || event.ctrlKey || event.metaKey) return
  if (moveBy(page, event, visible)) event.preventDefault()
  else {
    const run = actionOf(page, event)
    if (!run) return
    run()
    event.preventDefault()
  }
  event.stopPropagation()
}

/** Moves through the list by a key. Returns whether the list has used the key. */
function moveBy(page: Page, { key, shiftKey }: KeyboardEvent, visible: number): boolean {
  const { graph } = page
  const { row: index } = graph.selected.peek()
  const moves: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    PageDown: index + visible - 1,
    PageUp: index - visible + 1,
    Home: 0,
    End: graph.count - 1,
  }
  const next = moves[key]
  if (next !== undefined && shiftKey) void graph.extendTo(next)
  else if (next !== undefined) graph.select(next)
  else if (key === 'Escape' && graph.several.peek().size > 0) graph.select(index)
  else if (key === 'Escape' && graph.panes.isCommitLarge.peek()) graph.panes.isCommitLarge.value = false
  else return false
  return true
}

/** The action of a key on the list or the selected commit. */
function actionOf(page: Page, event: KeyboardEvent): (() => void) | undefined {
  const ofList = actionFor({ ...graphActions, ...graphListActions }, page, event)
  const { row } = page.graph
  if (ofList || !row) return ofList
  const several = severalIn(page)
  const ofCommits =
    several.chosen.length > 0
      ? actionFor(historyActions, several, event)
      : (actionFor(commitActions, { page, row }, event) ??
        actionFor(sourceActions, { page, source: commitSource(row.oid) }, event) ??
        actionFor(stepActions, { page, source: sourceAt(page, row) }, event))
  if (ofCommits) return ofCommits
  const ofOne = Object.values({ ...commitActions, ...sourceActions, ...stepActions })
  const why = whyNotRewritten(several, event) ?? whyInHistory(event) ?? whyForOne(several, event, ofOne)
  return why === undefined ? undefined : () => page.tell({ topic: 'history', title: why }, 'info')
}
