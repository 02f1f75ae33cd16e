/** The menu that changes the indentation of an open file, as VS Code has it in its status bar. */
import type { Indentation } from '../../contract/desk.ts'
import type { OpenFile } from '../editor/open-file.ts'
import type { Page } from '../page/state.ts'
import type { MenuItem } from '../ui/menu-content.ts'
import { baseName, readable } from '../ui/names.ts'
import { placeInStatus } from './status-place.ts'

const SIZES = [2, 4, 8]

/** Opens the menu above its button in the status bar. `opener` gets the focus when the menu closes. */
export function openIndentationMenu(page: Page, file: OpenFile, opener: HTMLElement | undefined): void {
  const choose = (by: Indentation['by']): MenuItem[] => SIZES.map(size => choiceOf(page, file, { by, size }))
  const detect = () => change(page, file, () => file.indentBy(undefined))
  const detected: MenuItem = { words: 'Detect from content', icon: 'search', run: detect }
  const groups = [choose('spaces'), choose('tabs'), [detected]]
  page.openMenu(
    { title: `Indentation of ${readable(baseName(file.path))}`, groups },
    placeInStatus(page, 'indentation'),
    opener,
  )
}

function choiceOf(page: Page, file: OpenFile, { by, size }: Indentation): MenuItem {
  const { tabSize, usesSpaces } = file.indentation
  return {
    words: by === 'spaces' ? `Indent using spaces: ${size}` : `Indent using tabs, width ${size}`,
    icon: 'check',
    isChecked: usesSpaces === (by === 'spaces') && tabSize === size,
    run: () => change(page, file, () => file.indentBy({ by, size })),
  }
}

/** Changes the indentation, keeps it with the layout of the window and says it to screen readers. */
function change(page: Page, file: OpenFile, apply: () => void): void {
  apply()
  page.keepLayout()
  page.spoken.value = `Indentation of ${readable(baseName(file.path))}: ${file.indent.peek()}`
}
