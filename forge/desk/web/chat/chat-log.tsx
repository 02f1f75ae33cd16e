/** The log of the conversation, oldest turn first. It stays scrolled to the end unless it was scrolled up. */
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
import { END_DISTANCE_PX, useLogPlace } from './log-place.ts'

/** About this many items are in the document at first, in whole turns; scrolling up adds earlier ones. */
const MAX_FIRST_ITEMS = 150

export function ChatLog({ tab }: { tab: Tab }) {
  const { conversation } = tab
  const sections = conversation.sections.value
  const wanted = useSignal(Math.max(MAX_FIRST_ITEMS, itemsSince(sections, conversation.place?.turn)))
  const box = useRef<HTMLDivElement>(null)
  const thread = useRef<HTMLDivElement>(null)
  const from = firstShown(sections, wanted.value)
  const earlier = useEarlier(box, from, () => {
    wanted.value = wanted.peek() + MAX_FIRST_ITEMS
  })
  useLogPlace(tab, box, thread)
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

/** The index of the first turn to render, so that at least `wanted` items are there, or all. */
function firstShown(sections: readonly Section[], wanted: number): number {
  let count = 0
  for (let index = sections.length - 1; index > 0; index--) {
    count += sections[index]?.items.peek().length ?? 0
    if (count >= wanted) return index
  }
  return 0
}

/** The number of items in a turn and those after it; 0 if the turn is not there. */
function itemsSince(sections: readonly Section[], turn: string | undefined): number {
  const index = sections.findIndex(section => section.turn === turn)
  return index < 0 ? 0 : sections.slice(index).reduce((sum, { items }) => sum + items.peek().length, 0)
}

/** Adds earlier turns when scrolled to the start, keeping the visible content in place. */
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

/** The current action, in a row of its own, so that nothing moves when its text changes. */
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
      <span class={retry ? 'grow' : 'cut grow'}>
        {isWaiting ? `Waits for you${words === '' ? '' : `: ${words}`}` : words}
      </span>
      <span class="time">{retry ? `tries again in ${left} s` : turn ? clock(now / 1_000 - turn.since) : ''}</span>
    </p>
  )
}
