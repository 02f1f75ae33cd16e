/** All keys of the desk, from the same list that the palette shows. */
import { commandsOf } from './commands.ts'
import { DialogFrame } from './dialog-frame.tsx'
import { shownKeys } from './keys.ts'
import { usePage } from './state.ts'
import { Button } from './words.tsx'

const IN_THE_EDITOR: [string, string][] = [
  ['Ctrl+F', 'Find and replace in the file'],
  ['Alt+G', 'Go to a line'],
  ['Ctrl+D', 'Select the next such word, too'],
  ['Alt+ArrowUp', 'Move the line up'],
  ['Ctrl+/', 'Comment or uncomment'],
  ['Ctrl+M', 'Tab leaves the editor, or indents again'],
]

export function KeyList({ close }: { close: () => void }) {
  const page = usePage()
  const keys = commandsOf(page).flatMap(({ keys, words }): [string, string][] => (keys ? [[keys, words]] : []))
  return (
    <DialogFrame title="Keys" close={close}>
      <dl class="key-list">
        {[...keys, ...IN_THE_EDITOR].map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{shownKeys(key)}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <span class="grow" />
        <Button words="Close" keys="Esc" onClick={close} />
      </footer>
    </DialogFrame>
  )
}
