/** The tool calls of a model: one line each, which opens to the result. */
import { useSignal } from '@preact/signals'
import { useId, useRef } from 'preact/hooks'
import type { Call } from '../../contract/chat.ts'
import { type Tab, usePage } from '../page/state.ts'
import { clock, duration } from '../ui/figures.ts'
import { Icon, type IconProps } from '../ui/icons.tsx'
import { visible } from '../ui/names.ts'
import { readableProse } from '../ui/prose.ts'
import { useClock } from '../ui/use-clock.ts'
import { Button } from '../ui/words.tsx'
import { lookAtTool } from './chat-actions.ts'

/** At most this many lines of a running command's output are shown, the last ones. */
const LAST_LINES = 12
const MAX_RESULT_LENGTH = 20_000
const MAX_LINE_LENGTH = 400

const LOOKS: Record<Call['state'], IconProps & { words: string }> = {
  coming: { name: 'dashed', tone: '', words: 'coming' },
  waits: { name: 'question', tone: 'is-warn', words: 'waits for you' },
  runs: { name: 'arc', tone: 'by-ai spin', words: 'running' },
  done: { name: 'check', tone: '', words: 'done' },
  failed: { name: 'x', tone: 'is-bad', words: 'failed' },
}

export function Calls({ tab, calls }: { tab: Tab; calls: Call[] }) {
  return (
    <ol class="calls" aria-label="Steps">
      {calls.map((call, index) => (
        <CallRow key={`${index} ${call.id}`} tab={tab} call={call} />
      ))}
    </ol>
  )
}

/** If the turn of a tool call is over, an unfinished call is shown as ended. */
function asItIs(tab: Tab, call: Call): Call {
  const isOver = !tab.conversation.isBusy.value
  const isOpen = call.state === 'coming' || call.state === 'runs' || call.state === 'waits'
  return isOver && isOpen ? { ...call, state: 'failed', words: 'did not end' } : call
}

function CallRow({ tab, call: told }: { tab: Tab; call: Call }) {
  const call = asItIs(tab, told)
  const isOpen = useSignal(false)
  const id = useId()
  const { state, result } = call
  const look = LOOKS[state]
  const title = titleOf(call)
  const canOpen = result !== undefined && result !== '' && state !== 'runs'
  const isLive = state === 'runs' || state === 'waits'
  return (
    <li>
      <button
        type="button"
        class={`call ${isLive ? 'live' : ''} ${state}`}
        aria-expanded={canOpen ? isOpen.value : undefined}
        aria-controls={canOpen && isOpen.value ? id : undefined}
        aria-disabled={!canOpen}
        onClick={() => {
          if (canOpen) isOpen.value = !isOpen.peek()
        }}
      >
        <Icon {...look} />
        <span class="vh">{look.words}: </span>
        <span class="name cut">{visible(call.name)}</span>
        <bdi class="arg cut" title={title}>
          {title}
        </bdi>
        <span class="cut came">
          <CallWords call={call} />
        </span>
        <span class="time">
          <Time call={call} />
        </span>
      </button>
      {state === 'runs' && result ? <pre class="call-out">{lastLines(result)}</pre> : null}
      {state === 'waits' ? <WaitsForApproval tab={tab} call={call} /> : null}
      {canOpen && isOpen.value ? <Result id={id} text={result} /> : null}
    </li>
  )
}

/** The title of a tool call without the tool's name, which is shown before it. */
function titleOf({ name, title }: Call): string {
  const words = title.startsWith(`${name} `) ? title.slice(name.length + 1) : title
  return visible(words === name ? '' : words.slice(0, MAX_LINE_LENGTH))
}

/** The result of a call in a few words, with the colours of added and deleted lines. */
function CallWords({ call }: { call: Call }) {
  const words = visible((call.words ?? '').slice(0, MAX_LINE_LENGTH))
  // A result without text, or with the tool's name alone, is shown as the call's state.
  if (words === '' || words === call.name)
    return <>{call.state === 'runs' || call.state === 'waits' ? LOOKS[call.state].words : ''}</>
  return words.split(/((?<!\S)[+−-]\d+(?!\S))/).map((piece, index) => {
    if (index % 2 === 0) return piece
    if (/^.0$/.test(piece)) return null
    return (
      <span key={index} class={piece.startsWith('+') ? 'add-n' : 'del-n'}>
        {piece.replace('-', '−')}
      </span>
    )
  })
}

function Time({ call }: { call: Call }) {
  const isRunning = call.state === 'runs'
  const begun = useRef(Date.now())
  // The time in which a person is asked is not the call's.
  if (!isRunning) begun.current = Date.now()
  const now = useClock(isRunning)
  if (isRunning) {
    const seconds = (now - begun.current) / 1_000
    return <>{seconds > 1 ? clock(seconds) : ''}</>
  }
  return <>{call.seconds !== undefined && call.seconds > 1 ? duration(call.seconds) : ''}</>
}

function WaitsForApproval({ tab, call }: { tab: Tab; call: Call }) {
  const page = usePage()
  const approval = tab.conversation.approvals.find(one => one.call === call.id)
  if (!approval) return null
  return (
    <div class="call-waits">
      <span class="grow">This tool comes from the repository. Review it before it runs.</span>
      <Button words="Review the tool" look="small" icon="shield" onClick={() => lookAtTool(page, approval)} />
    </div>
  )
}

function Result({ id, text }: { id: string; text: string }) {
  const rest = text.length - MAX_RESULT_LENGTH
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <pre class="call-out whole" id={id} tabIndex={0}>
      {readableProse(text.slice(0, MAX_RESULT_LENGTH))}
      {rest > 0 ? `\n… ${rest.toLocaleString('en')} more characters` : ''}
    </pre>
  )
}

function lastLines(text: string): string {
  const lines = readableProse(text.slice(-MAX_RESULT_LENGTH)).trimEnd().split('\n')
  return lines
    .slice(-LAST_LINES)
    .map(line => line.slice(0, MAX_LINE_LENGTH))
    .join('\n')
}
