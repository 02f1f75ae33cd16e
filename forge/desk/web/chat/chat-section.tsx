/** A turn in the log: the request, the steps, the answers, and the end. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Call, Item } from '../../contract/chat.ts'
import type { End, Section } from '../page/conversation-state.ts'
import { type Tab, usePage } from '../page/state.ts'
import { usageWords } from '../ui/figures.ts'
import { Icon, type IconName } from '../ui/icons.tsx'
import { withoutTricks } from '../ui/names.ts'
import { readableProse } from '../ui/prose.ts'
import { fullTime, plural } from '../ui/times.ts'
import { Path } from '../ui/words.tsx'
import { Calls } from './chat-calls.tsx'
import { CommitCard } from './chat-commit.tsx'
import { Markdown } from './markdown.tsx'

/** At most this many steps of a turn are shown, the newest; earlier ones on request. */
const MAX_SHOWN_STEPS = 120
/** The number of hidden steps is a multiple of this. */
const MORE_STEPS = 60
const MAX_QUESTION_LENGTH = 4_000

interface SectionProps {
  tab: Tab
  section: Section
  number: number
  /** Whether the section may still get more content, since its turn runs. */
  isLive: boolean
}

export function SectionView({ tab, section, number, isLive }: SectionProps) {
  const items = section.items.value
  const count = useSignal(MAX_SHOWN_STEPS)
  const first = items.findIndex(({ kind }) => kind === 'user')
  const rest = items.slice(first + 1)
  const hidden = hiddenOf(rest.length, count.value)
  const pieces = useMemo(() => piecesOf(rest, hidden), [items, hidden])
  const question = items[first]
  return (
    <section
      class="turn"
      aria-label={`Turn ${number}${isLive ? ', running' : ''}`}
      data-turn={section.turn}
      // Focusable by script only: the scrolling log handles the keys.
      tabIndex={-1}
    >
      {items.slice(0, Math.max(0, first)).map((item, index) => (
        <ItemView key={index} tab={tab} item={item} isLive={false} />
      ))}
      {question?.kind === 'user' ? <Question text={question.text} at={question.at} /> : null}
      {hidden > 0 ? (
        <button
          type="button"
          class="fold"
          onClick={() => {
            count.value = count.peek() + 10 * MAX_SHOWN_STEPS
          }}
        >
          <Icon name="unfold" size="xs" />
          {plural(hidden, 'earlier step')}: show {hidden > 10 * MAX_SHOWN_STEPS ? 'more' : 'them'}
        </button>
      ) : null}
      {pieces.map((piece, index) => {
        const isLast = index === pieces.length - 1
        if (piece.kind === 'calls') return <Calls key={piece.key} tab={tab} calls={piece.calls} />
        return <ItemView key={piece.key} tab={tab} item={piece.item} isLive={isLive && isLast} />
      })}
    </section>
  )
}

type Piece = { kind: 'calls'; key: string; calls: Call[] } | { kind: 'item'; key: string; item: Item }

/** The number of hidden steps. It grows in increments, so that not every new item moves the shown ones. */
function hiddenOf(length: number, shown: number): number {
  return Math.max(0, Math.ceil((length - shown) / MORE_STEPS) * MORE_STEPS)
}

/** Groups consecutive tool calls into lists. */
function piecesOf(items: readonly Item[], from: number): Piece[] {
  const pieces: Piece[] = []
  for (const [index, item] of items.entries()) {
    if (index < from) continue
    const last = pieces.at(-1)
    if (item.kind !== 'call') pieces.push({ kind: 'item', key: `${item.kind} ${index}`, item })
    else if (last?.kind === 'calls') last.calls.push(item.call)
    else pieces.push({ kind: 'calls', key: `calls ${index}`, calls: [item.call] })
  }
  return pieces
}

function Question({ text, at }: { text: string; at: number }) {
  const page = usePage()
  const isWhole = useSignal(text.length <= MAX_QUESTION_LENGTH)
  const name = page.desk.value?.identity?.name ?? 'You'
  return (
    <div class="said person">
      <span class="face" title={`${name}, ${fullTime(at)}`} role="img" aria-label={`${name}:`}>
        {[...name][0]?.toUpperCase()}
      </span>
      <div class="prose">
        <p class="as-typed" dir="auto">
          {readableProse(isWhole.value ? text : text.slice(0, MAX_QUESTION_LENGTH))}
        </p>
        {isWhole.value ? null : (
          <button
            type="button"
            class="fold"
            onClick={() => {
              isWhole.value = true
            }}
          >
            {plural(text.length - MAX_QUESTION_LENGTH, 'more character')}: show them
          </button>
        )}
      </div>
    </div>
  )
}

interface ItemProps {
  tab: Tab
  item: Item
  isLive: boolean
}

function ItemView({ tab, item, isLive }: ItemProps) {
  switch (item.kind) {
    case 'text':
      return (
        <div class="said">
          <span class="face ai" role="img" aria-label="The AI:">
            <Icon name="bot" size="xs" />
          </span>
          <Markdown text={item.text} isLive={isLive} />
        </div>
      )
    case 'reasoning':
      return <Folded title={isLive ? 'Thinking' : 'Thought'} text={item.text} />
    case 'summary':
      return <Folded title="Everything above is sent as this summary" text={item.text} />
    case 'file':
      return (
        <p class="aside">
          <Icon name={item.why === 'inactive' ? 'x' : 'file'} />
          <Path of={item.path} />
          <span>{FILE_WORDS[item.why]}</span>
        </p>
      )
    case 'note':
      return (
        <p class={`aside ${item.isBad ? 'bad' : ''}`}>
          <Icon name={item.isBad ? 'alert' : 'file'} />
          <span>{readableProse(item.words)}</span>
        </p>
      )
    case 'end':
      return <EndView tab={tab} end={item} />
    case 'user':
      return <Question text={item.text} at={item.at} />
    case 'call':
      return <Calls tab={tab} calls={[item.call]} />
  }
}

const FILE_WORDS = {
  active: 'is in the context',
  changed: 'changed outside the conversation',
  inactive: 'removed from the context',
}

function Folded({ title, text }: { title: string; text: string }) {
  const isOpen = useSignal(false)
  return (
    <details
      class="folded"
      onToggle={event => {
        isOpen.value = event.currentTarget.open
      }}
    >
      <summary>
        <Icon name="chevron-right" size="xs" />
        {title}
      </summary>
      {isOpen.value ? (
        <p class="as-typed" dir="auto">
          {readableProse(text)}
        </p>
      ) : null}
    </details>
  )
}

const ENDS: Record<End['how'], { icon: IconName; tone: string; words: string }> = {
  done: { icon: 'check', tone: '', words: 'Done' },
  stopped: { icon: 'stop', tone: '', words: 'Stopped' },
  failed: { icon: 'alert', tone: 'is-bad', words: 'It failed' },
  limit: { icon: 'hourglass', tone: 'is-warn', words: 'A limit was reached' },
}

function EndView({ tab, end }: { tab: Tab; end: End }) {
  const { commit, how, words } = end
  const look = ENDS[how]
  const isSaid = how !== 'done' || words !== undefined || !commit
  return (
    <>
      {isSaid ? (
        <p class={`aside end ${look.tone}`}>
          <Icon name={look.icon} tone={look.tone} />
          <span class="grow">{words ? readableProse(withoutTricks(words)) : `${look.words}.`}</span>
          {commit ? null : <span class="cost">{usageWords(end.usage)}</span>}
        </p>
      ) : null}
      {commit ? <CommitCard tab={tab} end={end} commit={commit} /> : null}
    </>
  )
}
