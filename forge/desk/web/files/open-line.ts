/** Shows a line of a file. */
import type { OpenFile } from '../editor/open-file.ts'
import type { Page, Tab } from '../page/state.ts'

/**
 * Shows a file of a tab, and selects a range of a line, which counts from 1 in the text that the desk has; the line's
 * start without a range. `isPreview`: in the preview tab.
 */
export async function openLine(
  page: Page,
  tab: Tab,
  path: string,
  line: number,
  range: [number, number] | undefined,
  isPreview = false,
): Promise<void> {
  await openPlace(page, tab, path, file => file.goTo(line, range), isPreview)
}

/** Shows a file of a tab, and goes to a place in it. `isPreview`: in the preview tab. */
export async function openPlace(
  page: Page,
  tab: Tab,
  path: string,
  go: (file: OpenFile) => void,
  isPreview: boolean,
): Promise<void> {
  const isShown = page.tab.peek() === tab && tab.path === path
  openFile(page, tab, path, isPreview)
  const file = page.files.open(tab.at, path)
  file.goWhenOpened(() => {
    if (isShown) jump(page, file, () => go(file))
    else go(file)
  })
  await file.opened()
}

/** Goes to another place in the shown file, from which the browser's Back returns. */
export function jump(page: Page, file: OpenFile, go: () => void): void {
  const from = file.position.cursor
  go()
  const to = file.position.cursor
  if (from !== to) page.jumped.value = { from, to }
}

/** Shows a file of a tab and focuses its editor. `isPreview`: in the preview tab. */
export function openFile(page: Page, tab: Tab, path: string, isPreview: boolean): void {
  if (!isPreview) {
    tab.edit(path)
    return
  }
  page.preview(tab, path)
  tab.focusWish.make()
}
