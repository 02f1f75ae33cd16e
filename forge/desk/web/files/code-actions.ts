/** Actions on the name at the cursor: its definition, and the lines that mention it. */
import type { OpenFile } from '../editor/open-file.ts'
import { attempt } from '../page/actions.ts'
import type { NamedPlace } from '../page/palette-mode.ts'
import type { Page, Tab } from '../page/state.ts'
import type { Actions } from '../ui/action.ts'
import { FocusWish } from '../ui/focus.ts'
import { digits } from '../ui/times.ts'
import { placesByServer } from './language.ts'
import { openLine } from './open-line.ts'

/** The file that is shown, in its tab. */
export interface ShownFile {
  page: Page
  tab: Tab
  path: string
}

/** The name at the cursor of an open file. */
interface AskedName extends ShownFile {
  file: OpenFile
  name: string
}

type Wanted = 'definitions' | 'mentions'

/** `how`: how the places were found, shown behind the title of the list; '' if they are exact. */
interface FoundPlaces {
  places: NamedPlace[]
  isCut: boolean
  how: string
}

/** Finds places of a name; undefined where it can't answer. */
type PlaceSource = (asked: AskedName, wanted: Wanted) => Promise<FoundPlaces | undefined>

/** The places by the name alone, in the files of the branch or commit with their drafts. */
const byName: PlaceSource = async ({ page, tab, path, name }, wanted) => {
  const found = await page.connection.ask('named places', { at: tab.at, path, name })
  return { places: found[wanted], isCut: found.isCut, how: ', by name' }
}

/** The declaration of a variable or parameter in the function around the cursor, by the syntax of the editor. */
const byScope: PlaceSource = async ({ path, file }, wanted) => {
  const found = wanted === 'definitions' ? await file.declarationAtCursor() : undefined
  return (
    found && { places: [{ path, line: found.line, ranges: [found.range], text: found.text }], isCut: false, how: '' }
  )
}

/** The places that a language server knows, where one runs for the file. */
const byServer: PlaceSource = async ({ page, tab, path, file, name }, wanted) => {
  const of = wanted === 'definitions' ? 'definitions' : 'references'
  const found = await placesByServer(page, tab, path, file, of)
  if (!found) return undefined
  if (found.places.length > 0) return { places: found.places, isCut: found.isCut, how: '' }
  const [outside] = found.outside
  if (outside === undefined) return undefined
  throw new Error(`${name} is defined outside of this branch, in ${outside}.`)
}

/** Where places of a name are asked for, the most precise source first: the first that can answer does. */
const SOURCES: readonly PlaceSource[] = [byServer, byScope, byName]

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

/** The symbols of all files of a tab. */
export const symbolActions = {
  goToBranchSymbol: {
    label: 'Go to symbol in the branch…',
    keys: 'Alt+Shift+L',
    icon: 'list',
    run: ({ page }) => {
      page.palette.value = 'branch symbols'
    },
  },
} satisfies Actions<{ page: Page; tab: Tab }>

/**
 * Asks for the places of the name at the cursor. A single definition is shown, and several places are listed: at once,
 * or by a button if the user has put the focus elsewhere meanwhile.
 */
async function find({ page, tab, path }: ShownFile, wanted: Wanted): Promise<void> {
  const file = page.files.find(tab.at, path)
  const name = file?.nameAtCursor()
  const topic = 'named places'
  if (!file || name === undefined) {
    page.tell({ topic, title: 'There is no name at the cursor' }, 'info')
    return
  }
  const wish = new FocusWish()
  wish.make()
  await attempt(
    page,
    async () => {
      // The desk answers by what it has: what was typed last has to be there.
      await file.sent()
      const { places, isCut, how } = await placesOf({ page, tab, path, file, name }, wanted)
      const [first, ...others] = places
      if (!first) {
        const title = wanted === 'definitions' ? `No definition of ${name} was found` : `${name} was not found`
        page.tell({ topic, title, words: 'Names are looked for in the files of this branch or commit.' }, 'info')
        return
      }
      const title = `${wanted === 'definitions' ? 'Definitions of' : 'References to'} ${name}${how}`
      const show = async () => {
        if (wanted === 'definitions' && others.length === 0) {
          await openLine(page, tab, first.path, first.line, first.ranges[0])
          return
        }
        page.named.value = { tab, title: isCut ? `${title}: the first ${digits(places.length)}` : title, places }
        page.palette.value = 'named'
      }
      if (wish.isOpen) await show()
      else page.tell({ topic, title: `${title}: found`, actions: [{ words: 'Show', run: () => void show() }] }, 'info')
    },
    { topic },
  )
  wish.end()
}

async function placesOf(asked: AskedName, wanted: Wanted): Promise<FoundPlaces> {
  for (const source of SOURCES) {
    const found = await source(asked, wanted)
    if (found) return found
  }
  return { places: [], isCut: false, how: '' }
}
