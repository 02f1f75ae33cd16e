/** Edits of the selected lines and words of the shown file, as actions with the names of VS Code. */
import {
  joinLines,
  type LineEdit,
  sortLinesAscending,
  toLowercase,
  toUppercase,
  trimTrailingWhitespace,
} from '../editor/line-edits.ts'
import { branchOf, isAtWork } from '../page/branch-facts.ts'
import type { Action, Actions } from '../ui/action.ts'
import type { ShownFile } from './code-actions.ts'

const fileOf = ({ page, tab, path }: ShownFile) => page.files.find(tab.at, path)

const action = (label: string, keys: string, edit: LineEdit): Action<ShownFile> => ({
  label,
  keys,
  icon: 'list',
  isPossible: about => canEdit(about),
  run: about => {
    if (!fileOf(about)?.change(edit))
      about.page.tell({ topic: 'line edit', title: `${label}: nothing to change` }, 'info')
  },
})

/** Whether the file can be edited and has no conflicts, whose other sides such an edit would change, too. */
function canEdit(about: ShownFile): boolean {
  const { page, tab, path } = about
  const branch = branchOf(tab)
  if (branch === undefined || tab.path !== path || isAtWork(page, branch)) return false
  const file = fileOf(about)
  const shown = file?.file.value
  return shown?.kind === 'text' && shown.readOnly === undefined && file?.conflicts.value.open.length === 0
}

export const lineActions = {
  joinLines: action('Join lines', 'Ctrl+Alt+J', joinLines),
  uppercase: action('Transform to uppercase', 'Ctrl+Alt+U', toUppercase),
  lowercase: action('Transform to lowercase', 'Ctrl+Alt+Shift+U', toLowercase),
  sortLines: action('Sort lines ascending', 'Ctrl+Alt+Shift+S', sortLinesAscending),
  trimWhitespace: action('Trim trailing whitespace', 'Ctrl+Alt+X', trimTrailingWhitespace),
} satisfies Actions<ShownFile>
