/** Makes a file executable, or not. */
import { attempt } from '../page/actions.ts'
import { branchOf } from '../page/branch-facts.ts'
import type { Page, Tab } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import { baseName, named } from '../ui/names.ts'

export async function setExecutable(page: Page, tab: Tab, path: string, isExecutable: boolean): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const about = { branch, topic: 'mode' }
  await attempt(
    page,
    async () => {
      // The desk changes the draft that it has: what was typed last has to be there.
      await page.files.find(tab.at, path)?.settled()
      await page.connection.ask('set executable', { branch, path, isExecutable })
      const title = `${named(baseName(path))} is ${isExecutable ? 'executable' : 'not executable'} now`
      page.tell({ ...about, title, ...undoOfLast(page) })
    },
    about,
  )
}
