/**
 * The edge between two panes: moved by dragging or the arrow keys, and reset to the default width by a double click.
 */
import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact'

/** How far one press of an arrow key moves the splitter, in pixels. */
const KEY_STEP = 16

interface Props {
  /** The name of the pane whose width the splitter sets. */
  words: string
  /** The side of the splitter on which the pane is. */
  side: 'left' | 'right'
  /** Returns the current width of that pane, in pixels. */
  width: () => number
  min: number
  max: number
  /** Called with the new width, in pixels; undefined for the default. */
  resize: (width: number | undefined) => void
}

export function Splitter({ words, side, width, min, max, resize }: Props) {
  const bounded = (wanted: number) => Math.round(Math.max(min, Math.min(wanted, max)))
  const follow = (event: TargetedPointerEvent<HTMLElement>) => {
    if (event.button !== 0) return
    event.preventDefault()
    event.stopPropagation()
    const edge = event.currentTarget
    const [start, before] = [event.clientX, width()]
    const move = ({ clientX }: PointerEvent) => {
      const by = clientX - start
      resize(bounded(before + (side === 'left' ? by : -by)))
    }
    const end = () => {
      edge.removeEventListener('pointermove', move)
      edge.removeEventListener('lostpointercapture', end)
    }
    edge.setPointerCapture(event.pointerId)
    edge.addEventListener('pointermove', move)
    edge.addEventListener('lostpointercapture', end)
  }
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const grows = side === 'left' ? 'ArrowRight' : 'ArrowLeft'
    const shrinks = side === 'left' ? 'ArrowLeft' : 'ArrowRight'
    if (event.key === grows) resize(bounded(width() + KEY_STEP))
    else if (event.key === shrinks) resize(bounded(width() - KEY_STEP))
    else if (event.key === 'Home') resize(undefined)
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr is a separator that nobody can move
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${words}`}
      aria-valuemin={min}
      aria-valuemax={max}
      aria-valuenow={bounded(width())}
      title="Drag to resize, double-click for the usual width"
      tabIndex={0}
      onPointerDown={follow}
      onDblClick={() => resize(undefined)}
      onKeyDown={onKey}
    />
  )
}
