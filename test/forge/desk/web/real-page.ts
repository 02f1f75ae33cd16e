/** The page of the real desk in a browser. */
import type { BrowserContext, Page } from 'playwright-core'
import type { Asked } from '../../../../forge/desk/contract/contract.ts'
import type { RealDesk } from '../../../support/real-desk.ts'

export type RealPage = Page & {
  /** The questions that the page has sent, oldest first. */
  sent: Asked[]
}

/** Opens the desk in a browser. */
export async function visit(context: BrowserContext, desk: Pick<RealDesk, 'address'>): Promise<RealPage> {
  const page = await context.newPage()
  const sent: Asked[] = []
  page.on('websocket', socket => socket.on('framesent', ({ payload }) => sent.push(JSON.parse(String(payload)))))
  await page.goto(desk.address)
  return Object.assign(page, { sent })
}

/** Opens a file of a branch with the cursor at its start. */
export async function openFile(page: Page, branch: string, path: string): Promise<void> {
  await openBranch(page, branch)
  await openBeside(page, path)
}

/** Shows a branch by the keyboard, as soon as the page is shown. */
export async function openBranch(page: Page, branch: string): Promise<void> {
  await page.getByRole('tablist', { name: 'Branches' }).waitFor()
  await page.keyboard.press('Alt+b')
  await page.getByRole('combobox', { name: 'Command palette' }).fill(`@${branch}`)
  // The page learns of a branch that was just made by git a moment later. Until then, it offers to make one.
  await page.getByRole('option', { name: branch }).filter({ hasNotText: 'New branch' }).first().waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: branch, selected: true }).waitFor()
}

/** Opens a file of the shown branch with the cursor at its start. */
export async function openBeside(page: Page, path: string): Promise<void> {
  await page.getByRole('treeitem', { name: path }).dblclick()
  await page.getByRole('tab', { name: path, selected: true }).waitFor()
  await page.getByRole('textbox', { name: 'Editor' }).click()
  await page.keyboard.press('Control+Home')
}

/** Pastes a text that a test's clipboard can't contain, such as one with a NUL. */
export async function paste(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').evaluate((content, pasted) => {
    const data = new DataTransfer()
    data.setData('text/plain', pasted)
    content.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
  }, text)
}
