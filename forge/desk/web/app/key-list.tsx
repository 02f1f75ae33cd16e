/** The list of the keys that work now, from the same tables as the palette. */

import { usePage } from '../page/state.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { shownKeys } from '../ui/keys.ts'
import { commandsOf, keysOfView } from './commands.ts'

export function KeyList({ close }: { close: () => void }) {
  const page = usePage()
  const keys = commandsOf(page).flatMap(({ keys, words }): [string, string][] => (keys ? [[keys, words]] : []))
  return (
    <DialogFrame title="Keyboard shortcuts" close={close}>
      {/* The list scrolls, so the keyboard must be able to focus it. */}
      <dl class="key-list" tabIndex={0}>
        {[...keys, ...keysOfView(page)].map(([key, words]) => (
          <div key={`${key} ${words}`}>
            <dt>
              <kbd>{shownKeys(key)}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <span class="grow" />
        <CloseButton words="Close" close={close} />
      </footer>
    </DialogFrame>
  )
}
