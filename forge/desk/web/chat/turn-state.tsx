/** What the AI of a branch is doing and what it has cost, for views other than the chat. */

import type { Notice, Page, Tab } from '../page/state.ts'
import { cacheShare, money, tokens } from '../ui/figures.ts'
import { Icon } from '../ui/icons.tsx'
import { withoutTricks } from '../ui/names.ts'
import { focusMessage } from './chat-actions.ts'

/** In the status bar: the AI's current action. */
export function AiDoing({ tab }: { tab: Tab }) {
  const { head, isBusy, sections } = tab.conversation
  const turn = head.value?.turn
  if (!turn || !isBusy.value) return null
  const waits = turn.state === 'waits'
  return (
    <span class="seg doing-now">
      <Icon name={waits ? 'question' : 'arc'} tone={waits ? 'is-warn' : 'by-ai spin'} />
      <span class="cut">
        Turn {sections.value.length} · {waits ? 'waits for you: ' : ''}
        {withoutTricks(turn.words)}
      </span>
    </span>
  )
}

/** In the status bar: how full the context is, tokens, and cost. */
export function AiFigures({ tab }: { tab: Tab | undefined }) {
  const head = tab?.conversation.head.value
  const usage = tab?.conversation.usage.value
  if (!head || !usage || head.missing !== undefined) {
    return (
      <span class="seg opt-wide">
        <Icon name="bot" />
        {head ? 'no model' : 'AI'}
      </span>
    )
  }
  const { context } = head
  const share = usage.cacheRead > 0 ? ` · cache ${cacheShare(usage)}` : ''
  const price = money(usage.cost)
  return (
    <>
      <span class="seg opt-far">
        {context.of > 0 ? `${tokens(context.used)} of ${tokens(context.of)} in context` : null}
      </span>
      {usage.input + usage.output > 0 ? (
        <span class="seg opt-wide">
          {tokens(usage.input)} in · {tokens(usage.output)} out{share}
        </span>
      ) : null}
      {price === undefined ? null : <span class="seg">{price}</span>}
    </>
  )
}

/** The notice of a turn that waits for an answer or did not end well. */
export function turnNotice(page: Page, tab: Tab): Notice | undefined {
  const turn = tab.conversation.head.value?.turn
  if (!turn || turn.state === 'running') return undefined
  const title = turn.state === 'unfinished' ? 'The last turn of the AI was not completed' : 'The AI waits for you'
  return {
    tone: 'warn',
    title,
    words: withoutTricks(turn.words),
    actions: [{ words: 'Go to the chat', stays: true, run: () => focusMessage(page, tab) }],
  }
}
