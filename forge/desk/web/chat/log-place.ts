/** Where the log of a conversation is scrolled to: its end, or a place that is kept while the log is not shown. */
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import type { LogPlace } from '../page/conversation-state.ts'
import type { Tab } from '../page/state.ts'

/** Within this distance the log counts as scrolled to the end, in pixels. */
export const END_DISTANCE_PX = 48
/** The parts of a turn by which a place in it is known. */
const BLOCKS = '.prose > *, .call'

/**
 * Scrolls to new content, unless the user has scrolled up, and to where the user was reading when the log was shown
 * last. A message that was sent since is scrolled to. `box`: what scrolls; `thread`: its content.
 */
export function useLogPlace(
  { conversation, composer }: Tab,
  box: RefObject<HTMLElement | null>,
  thread: RefObject<HTMLElement | null>,
): void {
  const sent = composer.sent.value
  useLayoutEffect(() => {
    const element = box.current
    const content = thread.current
    if (!element || !content) return undefined
    if (conversation.place?.sent !== sent) conversation.place = undefined
    // Turns get their height when they come into view: the place is kept until the user scrolls.
    let isSettling = true
    let top = 0
    const follow = () => {
      const { place } = conversation
      if (place && !isSettling) return
      element.scrollTop = (place && topOf(element, place)) ?? element.scrollHeight
      top = element.scrollTop
    }
    const look = () => {
      const isUp = element.scrollTop < top
      if (element.scrollTop === top) return
      top = element.scrollTop
      isSettling = false
      const isNear = element.scrollHeight - top - element.clientHeight < END_DISTANCE_PX
      // New content also increases the distance from the end: only when the user scrolls up, new content is not
      // scrolled to any more.
      if (isNear) conversation.place = undefined
      else if (conversation.place || isUp) conversation.place = placeIn(element, sent)
    }
    const observer = new ResizeObserver(follow)
    observer.observe(content)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    follow()
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [conversation, box, thread, sent])
}

const blocksOf = (turn: HTMLElement): HTMLElement[] => [...turn.querySelectorAll<HTMLElement>(BLOCKS)]

/** The turn and its block at the top of the view. */
function placeIn(box: HTMLElement, sent: number): LogPlace | undefined {
  const top = box.getBoundingClientRect().top
  const isAbove = (it: HTMLElement) => it.getBoundingClientRect().top <= top
  const turns = [...box.querySelectorAll<HTMLElement>('[data-turn]')]
  const turn = turns.findLast(isAbove) ?? turns[0]
  if (turn?.dataset.turn === undefined) return undefined
  const blocks = blocksOf(turn)
  const block = blocks.findLastIndex(isAbove)
  return { sent, turn: turn.dataset.turn, block, offset: top - (blocks[block] ?? turn).getBoundingClientRect().top }
}

/** What the log has to be scrolled to for a place to be at the top; undefined if its turn is not there. */
function topOf(box: HTMLElement, { turn: id, block, offset }: LogPlace): number | undefined {
  const turn = box.querySelector<HTMLElement>(`[data-turn="${CSS.escape(id)}"]`)
  if (!turn) return undefined
  const at = blocksOf(turn)[block] ?? turn
  return box.scrollTop + at.getBoundingClientRect().top - box.getBoundingClientRect().top + offset
}
