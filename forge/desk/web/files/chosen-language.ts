/** The language that the user chooses for an open file. */
import type { OpenFile } from '../editor/open-file.ts'
import type { Page } from '../page/state.ts'
import type { LanguageName } from '../ui/languages.ts'
import { baseName, readable } from '../ui/names.ts'

/**
 * Sets the language of a file (undefined: the detected one), keeps it with the layout of the window and says it to
 * screen readers.
 */
export async function chooseLanguage(page: Page, file: OpenFile, name: LanguageName | undefined): Promise<void> {
  page.wantFocus()
  const coloured = file.colourAs(name)
  page.keepLayout()
  await coloured
  page.spoken.value = `Language of ${readable(baseName(file.path))}: ${file.languageName.peek()}`
}
