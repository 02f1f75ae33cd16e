/** Announces what the AI says and does to screen readers. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Tab } from '../page/state.ts'
import { readableProse } from '../ui/prose.ts'

const MAX_SPOKEN_LENGTH = 600

/** Announces text by whole blocks. The log itself is silent, since it changes many times a second. */
export function Spoken({ tab }: { tab: Tab }) {
  const { conversation } = tab
  const words = useSignal('')
  const said = useRef(0)
  const wasRunning = useRef(false)
  const isRunning = conversation.isBusy.value
  const items = conversation.sections.value.at(-1)?.items.value ?? []
  const last = items.at(-1)
  useEffect(() => {
    if (!isRunning) {
      said.current = 0
      if (wasRunning.current && last?.kind === 'end') words.value = last.words ?? `The turn has ended: ${last.how}.`
      wasRunning.current = false
      return
    }
    wasRunning.current = true
    if (last?.kind === 'call' && last.call.state !== 'coming') {
      words.value = `${last.call.name} ${last.call.title}: ${last.call.state}`
      said.current = 0
    }
    if (last?.kind !== 'text') return
    // The text after the last empty line is not complete yet.
    const end = last.text.lastIndexOf('\n\n')
    if (end <= said.current) return
    words.value = readableProse(last.text.slice(said.current, end).slice(-MAX_SPOKEN_LENGTH))
    said.current = end
  }, [isRunning, last, said, words])
  return (
    <div class="vh" role="status" aria-label="What the AI says">
      {words.value}
    </div>
  )
}
