/** Text that could not be inserted into a file, in a box at its position. */
import { useSignal } from '@preact/signals'
import type { Instead } from '../../contract/editable-text.ts'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { visible } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Button, IconButton } from '../ui/words.tsx'
import { EDITOR_KEYS } from './editor-keys.ts'

/** At most this many characters of the text are shown. */
const MAX_SHOWN = 120

/** A refused text, and where it was to be inserted. */
export interface RefusedText {
  at: number
  text: string
  why: string
  /** A variant that can be inserted: without NUL characters, for example. */
  instead?: Instead
  /** Whether the text was in the editor until the server refused it: it can then be tried again. */
  isTakenOut?: boolean
}

interface Props {
  refused: RefusedText
  /** Inserts the refused text, or a variant that the file can contain; undefined if neither is possible. */
  insert?: () => void
  dismiss: () => void
}

export function RefusedBox({ refused, insert, dismiss }: Props) {
  const { text, why, instead, isTakenOut } = refused
  const copied = useSignal('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      copied.value = 'Copied'
    } catch {
      copied.value = 'The browser did not let it be copied'
    }
  }
  return (
    <section class="refused-box" role="alert" aria-label="Text that is not in the file">
      <Icon name="alert" tone="is-bad" />
      <div class="grow">
        <p class="strong">{isTakenOut ? 'Taken out of the text again' : 'Not inserted'}</p>
        <p>{why}</p>
        {text === '' ? null : (
          <p class="meta cut">
            <code>{visible(shortened(text))}</code>
          </p>
        )}
      </div>
      {insert ? (
        <Button
          look="small main"
          words={instead?.words ?? 'Insert again'}
          keys={shownKeys(EDITOR_KEYS.insertRefused.keys)}
          onClick={insert}
        />
      ) : null}
      {text === '' ? null : <Button look="small" words={copied.value || 'Copy'} onClick={copy} />}
      <IconButton icon="x" words="Dismiss" keys="Escape" onClick={dismiss} />
    </section>
  )
}

/** The beginning of a text, and its size. */
function shortened(text: string): string {
  const lines = text.split('\n')
  const [first = ''] = lines
  if (lines.length === 1 && first.length <= MAX_SHOWN) return first
  const size = lines.length > 1 ? plural(lines.length, 'line') : plural(text.length, 'character')
  return `${first.slice(0, MAX_SHOWN)} … (${size})`
}
