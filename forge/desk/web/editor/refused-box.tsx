/** A text that could not be taken into a file, at the place where it was to be. */
import { useSignal } from '@preact/signals'
import type { Instead } from '../../contract/editable-text.ts'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { visible } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Button, IconButton } from '../ui/words.tsx'
import { EDITOR_KEYS } from './editor-keys.ts'

/** So much of a text is shown, in characters. */
const MAX_SHOWN = 120

/** A text that is not in the file, and where it was to be. */
export interface RefusedText {
  at: number
  text: string
  why: string
  /** The same text as it could be taken: without its NUL characters, for example. */
  instead?: Instead
  /** Whether it was in the editor before the server refused it: then it can be tried again. */
  isTakenOut?: boolean
}

interface Props {
  refused: RefusedText
  /** Where it can be taken in another form, or tried again. */
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

/** The beginning of a text, and how much there is of it. */
function shortened(text: string): string {
  const lines = text.split('\n')
  const [first = ''] = lines
  if (lines.length === 1 && first.length <= MAX_SHOWN) return first
  const size = lines.length > 1 ? plural(lines.length, 'line') : plural(text.length, 'character')
  return `${first.slice(0, MAX_SHOWN)} … (${size})`
}
