/** All keys of the desk, from the same list that the palette shows. */

import { DialogFrame } from '../ui/dialog-frame.tsx'
import { Button } from '../ui/words.tsx'
import { commandsOf } from './commands.ts'
import { shownKeys } from './keys.ts'
import { REPOSITORY, usePage } from './state.ts'

const IN_THE_EDITOR: [string, string][] = [
  ['Ctrl+F', 'Find and replace in the file'],
  ['Alt+G', 'Go to a line'],
  ['Ctrl+D', 'Add the next occurrence to the selection'],
  ['Alt+ArrowUp', 'Move the line up'],
  ['Ctrl+/', 'Toggle line comment'],
  ['Ctrl+M', 'Toggle whether Tab moves the focus'],
]

const IN_THE_GRAPH: [string, string][] = [
  ['Enter', 'Browse the files at the commit'],
  ['Space', 'Go to the commit’s message and files'],
  ['B', 'Branch from the commit'],
  ['T', 'Tag the commit'],
  ['M', 'Merge it into a branch'],
  ['L', 'Land it on a branch'],
  ['R', 'Rebase its branch onto another'],
  ['C', 'Cherry-pick it onto a branch'],
  ['V', 'Move a branch to it'],
  ['/', 'Find a commit'],
  ['N', 'Next match'],
  ['Shift+N', 'Previous match'],
  ['+', 'Larger'],
  ['-', 'Smaller'],
  ['0', 'Reset the zoom'],
  ['ArrowRight', 'Scroll the lanes'],
  ['A', 'Show or hide unreachable commits'],
  ['F', 'Fetch'],
]

export function KeyList({ close }: { close: () => void }) {
  const page = usePage()
  const keys = commandsOf(page).flatMap(({ keys, words, isOfList }): [string, string][] =>
    keys && !isOfList ? [[keys, words]] : [],
  )
  const here = page.tab.value ? IN_THE_EDITOR : page.active.value === REPOSITORY ? IN_THE_GRAPH : []
  return (
    <DialogFrame title="Keys" close={close}>
      <dl class="key-list">
        {[...keys, ...here].map(([key, words]) => (
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
        <Button words="Close" keys="Esc" onClick={close} />
      </footer>
    </DialogFrame>
  )
}
