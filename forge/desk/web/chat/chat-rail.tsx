/** The side of the conversation, if there is room: its turns, their cost, and the AI's context. */

import type { Answer } from '../../contract/contract.ts'
import type { Section } from '../page/conversation-state.ts'
import type { Tab } from '../page/state.ts'
import { cacheShare, money, tokens } from '../ui/figures.ts'
import { withoutTricks } from '../ui/names.ts'
import { Button } from '../ui/words.tsx'
import { ContextFiles } from './context-files.tsx'

const MAX_TURNS = 200
const MAX_TITLE_LENGTH = 80

export function ChatRail({ tab, allow }: { tab: Tab; allow: () => void }) {
  const { head, sections } = tab.conversation
  const usage = tab.conversation.usage.value
  if (!head.value || !usage) return null
  const { context, commands } = head.value
  const all = sections.value
  const from = Math.max(0, all.length - MAX_TURNS)
  return (
    <aside class="rail" aria-label="This conversation">
      {all.length === 0 ? null : (
        <section>
          <h3>Turns</h3>
          {all.slice(from).map((section, index) => {
            const number = from + index + 1
            return <TurnRow key={number} tab={tab} section={section} number={number} isLast={number === all.length} />
          })}
        </section>
      )}
      <section>
        <h3>Session</h3>
        <dl>
          <dt>In</dt>
          <dd>{tokens(usage.input)}</dd>
          <dt>from cache</dt>
          <dd>
            {tokens(usage.cacheRead)}
            {usage.cacheRead > 0 ? ` · ${cacheShare(usage)}` : ''}
          </dd>
          <dt>to cache</dt>
          <dd>{tokens(usage.cacheWrite)}</dd>
          <dt>Out</dt>
          <dd>{tokens(usage.output)}</dd>
          {usage.cost === undefined ? null : (
            <>
              <dt class="strong">Cost</dt>
              <dd class="strong">{money(usage.cost)}</dd>
            </>
          )}
        </dl>
      </section>
      {context.of > 0 ? (
        <section>
          <h3>Context</h3>
          <ContextFiles tab={tab} />
          <dl>
            <dt class="strong">Used</dt>
            <dd class="strong">
              {tokens(context.used)} of {tokens(context.of)}
            </dd>
          </dl>
          {context.words === undefined ? null : <p class="meta rail-words">{context.words}</p>}
        </section>
      ) : null}
      {tab.at.kind === 'branch' ? (
        <section>
          <h3>Commands</h3>
          <p class="meta rail-words">{wordsOnCommands(commands)}</p>
          {commands.isAllowed || commands.why === undefined ? (
            <Button
              look="small rail-button"
              words={commands.isAllowed ? 'Disallow commands' : 'Allow commands'}
              onClick={allow}
            />
          ) : null}
        </section>
      ) : null}
    </aside>
  )
}

/** What the AI can do with commands now. Those that are allowed may not be possible, as without a container engine. */
function wordsOnCommands({ isAllowed, why }: Answer<'conversation'>['commands']): string {
  if (!isAllowed) return why ?? 'The AI may not run them.'
  return why === undefined ? 'The AI may run them in the container.' : `The AI may run them, but cannot now. ${why}`
}

interface TurnRowProps {
  tab: Tab
  section: Section
  number: number
  isLast: boolean
}

function TurnRow({ tab, section, number, isLast }: TurnRowProps) {
  const items = section.items.value
  const question = items.find(item => item.kind === 'user')
  const isRunning = isLast && tab.conversation.isBusy.value
  const title = question?.kind === 'user' ? firstLine(question.text) : 'Before the first turn'
  const cost = isRunning ? tab.conversation.head.value?.turn?.usage.cost : section.end?.usage.cost
  return (
    <button
      type="button"
      class={`turnrow ${isRunning ? 'on' : ''}`}
      aria-current={isRunning ? 'true' : undefined}
      title={title}
      onClick={event => goTo(event.currentTarget, section.turn)}
    >
      <span class={isRunning ? 'by-ai' : 'meta'}>{number}</span>
      <bdi class="cut">{title}</bdi>
      <span>{money(cost) ?? ''}</span>
    </button>
  )
}

function firstLine(text: string): string {
  return withoutTricks(text.trim().split('\n')[0]?.slice(0, MAX_TITLE_LENGTH) ?? '')
}

function goTo(button: HTMLElement, turn: string): void {
  const log = button.closest('.chat')
  const element = log?.querySelector<HTMLElement>(`.log [data-turn="${CSS.escape(turn)}"]`)
  element?.scrollIntoView({ block: 'start' })
  element?.focus({ preventScroll: true })
}
