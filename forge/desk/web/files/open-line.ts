/** Shows a line of a file. */
import type { Page, Tab } from '../page/state.ts'

/** Shows a file of a tab, and selects a range of a line, which counts from 1; the line's start without a range. */
export async function openLine(
  page: Page,
  tab: Tab,
  path: string,
  line: number,
  range: [number, number] | undefined,
): Promise<void> {
  tab.edit(path)
  const file = page.files.open(tab.at, path)
  await file.opened()
  file.goTo(line, range)
}
