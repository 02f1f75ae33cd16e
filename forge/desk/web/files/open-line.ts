/** Shows a line of a file. */
import type { Page, Tab } from '../page/state.ts'

/**
 * Shows a file of a tab, and selects a range of a line, which counts from 1; the line's start without a range.
 * `isPreview`: in the preview tab.
 */
export async function openLine(
  page: Page,
  tab: Tab,
  path: string,
  line: number,
  range: [number, number] | undefined,
  isPreview = false,
): Promise<void> {
  openFile(page, tab, path, isPreview)
  const file = page.files.open(tab.at, path)
  await file.opened()
  file.goTo(line, range)
}

/** Shows a file of a tab and focuses its editor. `isPreview`: in the preview tab. */
export function openFile(page: Page, tab: Tab, path: string, isPreview: boolean): void {
  if (!isPreview) {
    tab.edit(path)
    return
  }
  page.preview(tab, path)
  tab.focusWanted.value++
}
