/** Actions on the name at the cursor: its definition, and the lines that mention it. */
import { attempt } from '../page/actions.ts'
import type { NamedPlace } from '../page/palette-mode.ts'
import type { Page, Tab } from '../page/state.ts'
import type { Actions } from '../ui/action.ts'
import { openLine } from './open-line.ts'

/** The file that is shown, in its tab. */
export interface ShownFile {
  page: Page
  tab: Tab
  path: string
}

const isText = ({ page, tab, path }: ShownFile): boolean =>
  tab.path === path && page.files.find(tab.at, path)?.file.value?.kind === 'text'

export const codeActions = {
  goToDefinition: {
    label: 'Go to definition',
    keys: 'F12',
    icon: 'list',
    isPossible: isText,
    run: about => find(about, 'definitions'),
  },
  findReferences: {
    label: 'Find references by name',
    keys: 'Shift+F12',
    icon: 'search',
    isPossible: isText,
    run: about => find(about, 'mentions'),
  },
} satisfies Actions<ShownFile>

/** Asks for the places of the name at the cursor. A single definition is shown at once; several places are listed. */
async function find({ page, tab, path }: ShownFile, wanted: 'definitions' | 'mentions'): Promise<void> {
  const file = page.files.find(tab.at, path)
  const name = file?.nameAtCursor()
  const topic = 'named places'
  if (!file || name === undefined) {
    page.tell({ topic, title: 'There is no name at the cursor' })
    return
  }
  await attempt(
    page,
    async () => {
      // The desk answers by what it has: what was typed last has to be there.
      await file.sent()
      const found = await page.connection.ask('named places', { at: tab.at, path, name })
      const places: NamedPlace[] = found[wanted]
      const [first, ...others] = places
      if (!first) {
        const title = wanted === 'definitions' ? `No definition of ${name} was found` : `${name} was not found`
        page.tell({ topic, title, words: 'Names are looked for in the files of this branch or commit.' })
        return
      }
      if (wanted === 'definitions' && others.length === 0) {
        await openLine(page, tab, first.path, first.line, first.ranges[0])
        return
      }
      const title = wanted === 'definitions' ? `Definitions of ${name}` : `References to ${name}, by name`
      page.named.value = { tab, title: found.isCut ? `${title}: the first ${places.length}` : title, places }
      page.palette.value = 'named'
    },
    { topic },
  )
}
