/** The menu that changes the line endings of an open file, as VS Code has it in its status bar. */
import type { OpenFile } from '../editor/open-file.ts'
import type { Page } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import type { MenuItem } from '../ui/menu-content.ts'
import { baseName, named, readable } from '../ui/names.ts'
import { placeInStatus } from './status-place.ts'

const LINE_ENDS = ['LF', 'CRLF'] as const

/** Whether the line endings of an open file can be changed: those of a text that can be edited. */
export function canChangeLineEnds({ at, file }: OpenFile): boolean {
  const { value: shown } = file
  return at.kind === 'branch' && shown?.kind === 'text' && shown.readOnly === undefined && shown.deleted === undefined
}

/** Opens the menu above its button in the status bar. `opener` gets the focus when the menu closes. */
export function openLineEndsMenu(page: Page, file: OpenFile, opener: HTMLElement | undefined): void {
  const items = LINE_ENDS.map(
    (lineEnd): MenuItem => ({
      words: lineEnd === 'LF' ? 'LF (Linux, macOS)' : 'CRLF (Windows)',
      icon: 'check',
      isChecked: file.lineEnd === lineEnd,
      run: () => void changeLineEnds(page, file, lineEnd),
    }),
  )
  const title = `Line endings of ${readable(baseName(file.path))}`
  page.openMenu({ title, groups: [items] }, placeInStatus(page, 'line endings'), opener)
}

async function changeLineEnds(page: Page, file: OpenFile, lineEnd: (typeof LINE_ENDS)[number]): Promise<void> {
  const { at, path } = file
  if (at.kind === 'commit') return
  const { branch } = at
  const name = named(baseName(path))
  const about = { branch, topic: 'line endings' }
  try {
    // The desk converts the text that it has: what was typed last has to be there.
    await file.settled()
    const { isChanged } = await page.connection.ask('change line ends', { branch, path, lineEnd })
    page.solved(about.topic, branch)
    if (!isChanged) {
      const title = (file.text?.lines ?? 1) > 1 ? `${name} has ${lineEnd} already` : `${name} has no line ending yet`
      page.tell({ ...about, title }, 'info')
      return
    }
    page.tell({ ...about, title: `All line endings of ${name} are ${lineEnd} now`, ...undoOfLast(page) })
  } catch (error) {
    page.complain(error, about)
  }
}
