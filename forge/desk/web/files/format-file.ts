/**
 * Formats a file: by the repository's own formatter, in the container, where FORGE.md lists one, else by the language
 * server. The result is an edit of its draft.
 */
import { attempt } from '../page/actions.ts'
import { branchOf } from '../page/branch-facts.ts'
import type { Page, Tab } from '../page/state.ts'
import { baseName, named } from '../ui/names.ts'
import { formatByServer } from './language-actions.ts'

export async function formatFile(page: Page, tab: Tab, path: string): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  let commands: string[] = []
  await attempt(
    page,
    async () => {
      commands = await page.connection.ask('formatters', { branch })
      if (commands.length === 0) await formatByServer({ page, tab, path })
    },
    { branch, topic: 'format' },
  )
  if (commands.length > 0) await formatByCommands(page, tab, path)
}

/** Formats the shown file; asks first where commands are not allowed in this repository. */
async function formatByCommands(page: Page, tab: Tab, path: string): Promise<void> {
  const head = tab.conversation.head.peek() ?? (await page.connection.ask('conversation', { at: tab.at }))
  if (head.commands.isAllowed) {
    await format(page, tab, path)
    return
  }
  page.dialog.value = {
    kind: 'confirm',
    title: 'Allow commands to format files?',
    words: [
      'The formatter is the command that FORGE.md of this branch lists as “mend”. It runs in a locked container, in a copy of the branch’s files: without network, without your keys, without your folders.',
      'Commands are then allowed for this repository’s AI, too. Only the shown file is changed by formatting, as an edit of its draft.',
    ],
    button: 'Allow and format',
    run: async () => {
      await page.connection.ask('allow commands', { isAllowed: true })
      await tab.conversation.refresh()
      format(page, tab, path)
    },
  }
}

async function format(page: Page, tab: Tab, path: string): Promise<void> {
  const branch = branchOf(tab)
  const file = page.files.find(tab.at, path)
  if (branch === undefined || !file) return
  const name = named(baseName(path))
  const about = { branch, topic: 'format' }
  await attempt(
    page,
    async () => {
      // The formatter reads what the desk has: what was typed last has to be there.
      await file.settled()
      const before = file.text
      if (!before) return
      page.notify({ ...about, tone: 'plain', title: `Formatting ${name}…` })
      const { text } = await page.connection.ask('format file', { branch, path })
      if (before.toString() === text) page.tell({ ...about, title: `${name} is formatted already` }, 'info')
      else if (file.replaceText(before, text)) page.tell({ ...about, title: `${name} was formatted` })
      else throw new Error(`${name} was changed meanwhile: format it again.`)
    },
    about,
  )
}
