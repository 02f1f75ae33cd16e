/** The conversation: its turns under each other, the newest at the end, where it stays for as long as one is there. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Section } from '../page/conversation-state.ts'
import type { Tab } from '../page/state.ts'
import { clock } from '../ui/figures.ts'
import { Icon } from '../ui/icons.tsx'
import { withoutTricks } from '../ui/names.ts'
import { useClock } from '../ui/use-clock.ts'
import { SectionView } from './chat-section.tsx'
import { Letter } from './letter.tsx'

/** So many items are in the page at first, in whole turns; earlier ones come when one scrolls up to them. */
const MAX_FIRST_ITEMS = 150
/** So near to the end counts as there, in pixels. */
const END_DISTANCE_PX = 48

export function ChatLog({ tab }: { tab: Tab }) {
  const { conversation } = tab
  const sections = conversation.sections.value
  const wanted = useSignal(MAX_FIRST_ITEMS)
  const box = useRef<HTMLDivElement>(null)
  const thread = useRef<HTMLDivElement>(null)
  const from = firstShown(sections, wanted.value)
  const earlier = useEarlier(box, from, () => {
    wanted.value = wanted.peek() + MAX_FIRST_ITEMS
  })
  useStayingAtTheEnd(box, thread)
  const sent = tab.composer.sent.value
  useLayoutEffect(() => {
    if (sent > 0) box.current?.scrollTo(0, box.current.scrollHeight)
  }, [sent])
  const isRunning = conversation.isBusy.value
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <div class="log" role="log" aria-label="Conversation" aria-live="off" tabIndex={0} ref={box} onScroll={earlier}>
      <div class="thread" ref={thread}>
        {from > 0 ? null : <Letter tab={tab} />}
        {from > 0 ? (
          <button type="button" class="fold" onClick={earlier}>
            <Icon name="unfold" size="xs" />
            Show earlier turns
          </button>
        ) : null}
        {sections.slice(from).map((section, index) => {
          const number = from + index + 1
          const isLive = isRunning && number === sections.length
          return (
            <SectionView
              key={`${number} ${section.turn}`}
              tab={tab}
              section={section}
              number={number}
              isLive={isLive}
            />
          )
        })}
        {isRunning ? <Doing tab={tab} /> : null}
      </div>
    </div>
  )
}

/** The first turn that is in the page: as many as have so many items, but at least the last one. */
function firstShown(sections: readonly Section[], wanted: number): number {
  let count = 0
  for (let index = sections.length - 1; index > 0; index--) {
    count += sections[index]?.items.peek().length ?? 0
    if (count >= wanted) return index
  }
  return 0
}

/** Shows more where one has scrolled to the beginning, without moving what is read. */
function useEarlier(box: { current: HTMLDivElement | null }, from: number, more: () => void): () => void {
  const below = useRef<number | undefined>(undefined)
  useLayoutEffect(() => {
    const element = box.current
    if (!element || below.current === undefined) return
    element.scrollTop = element.scrollHeight - below.current
    below.current = undefined
  }, [box, from])
  return () => {
    const element = box.current
    if (!element || from === 0 || element.scrollTop > 2 * element.clientHeight) return
    const isAtTheEnd = element.scrollHeight - element.scrollTop - element.clientHeight < END_DISTANCE_PX
    if (isAtTheEnd && element.scrollTop > END_DISTANCE_PX) return
    below.current ??= element.scrollHeight - element.scrollTop
    more()
  }
}

/** Follows what comes, unless the person has scrolled up to read. */
function useStayingAtTheEnd(box: { current: HTMLDivElement | null }, thread: { current: HTMLDivElement | null }): void {
  useLayoutEffect(() => {
    const element = box.current
    const content = thread.current
    if (!element || !content) return undefined
    let isAtTheEnd = true
    const follow = () => {
      if (isAtTheEnd) element.scrollTop = element.scrollHeight
    }
    let top = 0
    const look = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < END_DISTANCE_PX
      // What came meanwhile makes it far from the end, too: only who has scrolled up wants to stay.
      if (isNear || element.scrollTop < top) isAtTheEnd = isNear
      top = element.scrollTop
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
  }, [box, thread])
}

/** What goes on now: a row of its own, so that nothing jumps when the words become others. */
function Doing({ tab }: { tab: Tab }) {
  const { head, again } = tab.conversation
  const turn = head.value?.turn
  const isWaiting = turn?.state === 'waits'
  const retry = again.value
  const now = useClock(true)
  const left = retry ? Math.max(0, Math.ceil((retry.until - now) / 1_000)) : 0
  const words = withoutTricks(retry?.words ?? turn?.words ?? '')
  return (
    <p class={`doing ${isWaiting ? 'waits' : ''}`}>
      {isWaiting ? <Icon name="question" tone="is-warn" /> : <Icon name="arc" tone="by-ai spin" />}
      <span class="cut grow">{isWaiting ? `Waits for you${words === '' ? '' : `: ${words}`}` : words}</span>
      <span class="time">{retry ? `tries again in ${left} s` : turn ? clock(now / 1_000 - turn.since) : ''}</span>
    </p>
  )
}
