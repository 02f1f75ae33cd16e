/** What is typed, without a pause, while a terminal or another window renames the branch or its file, or commits. */
import { describe, expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { type DeskPage, SCENE_FILES, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

const [BRANCH, RENAMED] = ['retry-jitter', 'jitter'] as const
const README = SCENE_FILES['README.md']

describe.skipIf(!hasBrowser)('what is typed while', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    async each => {
      desk = each.desk
      page = each.page
      // The desk tells a rename from a deletion by the reflog, which a bare repository has on request only.
      await desk.git('config', 'core.logAllRefUpdates', 'true')
    },
    { layout: { tabs: [{ ...tabOf(BRANCH, ['README.md']), active: 'README.md' }], active: 0 } },
  )

  const editor = () => page.getByRole('textbox', { name: 'Editor' })
  const branchTab = (name: string) => page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name })
  const fileTab = (name: string) => page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name })
  const rename = (from: string, to: string) => desk.git('branch', '-m', from, to)
  const isFocused = (field: Locator) => field.evaluate(it => it === document.activeElement)
  /** The text of the file in the draft: what was typed into the wrong place is there. */
  const isUnchanged = async (branch: string, path: string) => {
    await desk.isText(branch, path, README)
  }

  /** Types words while `change` is made, until `shown` is there, and some more. Returns all of them. */
  const typeDuring = async (change: () => Promise<unknown>, shown: Locator): Promise<string> => {
    let typed = ''
    let count = 0
    const type = async () => {
      const word = `w${count++} `
      // As fast as a person at most: the field of a search takes 400 characters.
      await page.keyboard.type(word, { delay: 12 })
      typed += word
    }
    await type()
    const changed = change()
    while ((await shown.count()) === 0) await type()
    await changed
    // The news of the desk's state comes later.
    for (let more = 0; more < 30; more++) await type()
    return typed
  }
  const isTypedInto = async (field: Locator, change: () => Promise<unknown>, shown: Locator) => {
    const before = await field.inputValue()
    const typed = await typeDuring(change, shown)
    expect(await field.inputValue()).toBe(before + typed)
    expect(await isFocused(field)).toBe(true)
  }

  const opened = async () => {
    await editor().getByText('A queue.').click()
    await page.keyboard.press('Control+Home')
  }

  test('git branch -m renames the branch stays in the comment of a review', async () => {
    await desk.commit(BRANCH, { 'README.md': `${README}More.\n` })
    await page.keyboard.press('Alt+r')
    const diff = page.getByRole('article', { name: 'README.md', exact: true })
    await diff.getByRole('button', { name: 'Comment on line 4' }).last().click()
    const comment = page.getByRole('textbox', { name: 'Comment on line 4' })
    await isTypedInto(comment, () => rename(BRANCH, RENAMED), branchTab(RENAMED))
  })

  test('git branch -m renames the branch stays in the message of the commit', async () => {
    await opened()
    await page.keyboard.type('x')
    await desk.isText(BRANCH, 'README.md', `x${README}`)
    const message = page.getByRole('textbox', { name: 'Commit message' })
    await message.fill('Say: ')
    await isTypedInto(message, () => rename(BRANCH, RENAMED), branchTab(RENAMED))
    await desk.isText(RENAMED, 'README.md', `x${README}`)
    await page.keyboard.press('Enter')
    await until(async () => (await desk.messageOf(RENAMED)).startsWith('Say: w0 w1'))
  })

  test('git branch -m renames the branch stays in the search in the file', async () => {
    await opened()
    await page.keyboard.press('Control+f')
    const find = page.getByRole('textbox', { name: 'Find', exact: true })
    await isTypedInto(find, () => rename(BRANCH, RENAMED), branchTab(RENAMED))
    await isUnchanged(RENAMED, 'README.md')
    // Also with the two halves of a split.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+\\')
    await page.getByRole('region', { name: 'Right half' }).waitFor()
    await page.keyboard.press('Control+f')
    await until(() => isFocused(find))
    await page.keyboard.press('ArrowRight')
    await isTypedInto(find, () => rename(RENAMED, BRANCH), branchTab(BRANCH))
    await isUnchanged(BRANCH, 'README.md')
  })

  test('git branch -m renames the branch stays in the search in all files', async () => {
    await opened()
    await page.keyboard.press('Control+Shift+f')
    const field = page.getByRole('textbox', { name: 'Find in files' })
    await until(() => isFocused(field))
    await isTypedInto(field, () => rename(BRANCH, RENAMED), branchTab(RENAMED))
  })

  test('git branch -m renames the branch stays in the message of a landing, whose dialog follows the branch', async () => {
    await desk.commit('main', { 'main.md': 'main\n' }, { message: 'On main' })
    await opened()
    await page.keyboard.press('Alt+Shift+5')
    await page.getByRole('option').filter({ hasText: 'main' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    const dialogOf = (name: string) => page.getByRole('dialog', { name })
    await dialogOf(`main → ${BRANCH}`).getByRole('tab', { name: 'Land' }).click()
    await dialogOf(`main → ${BRANCH}`).getByLabel('Commit message').fill('As one commit')
    await rename(BRANCH, RENAMED)
    await dialogOf(`main → ${RENAMED}`).getByRole('tab', { name: 'Land', selected: true }).waitFor()
    const message = dialogOf(`main → ${RENAMED}`).getByLabel('Commit message')
    await until(async () => (await message.inputValue()) === 'As one commit')
    await page.getByRole('button', { name: 'Land', exact: true, disabled: false }).click()
    await dialogOf('main →').waitFor({ state: 'detached' })
    expect(await desk.messageOf(RENAMED)).toContain('As one commit')
  })

  test('git branch -m renames the branch stays in the dialog of a rebase', async () => {
    await desk.commit('main', { 'main.md': 'main\n' }, { message: 'On main' })
    await desk.commit(BRANCH, { 'own.md': 'own\n' }, { message: 'Own' })
    await opened()
    await page.keyboard.press('Alt+Shift+6')
    await page.getByRole('option').filter({ hasText: 'main' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    const former = page.getByRole('dialog', { name: `Rebase ${BRANCH} onto main` })
    await former.getByRole('button', { name: 'Rebase', exact: true, disabled: false }).waitFor()
    await rename(BRANCH, RENAMED)
    const dialog = page.getByRole('dialog', { name: `Rebase ${RENAMED} onto main` })
    const button = dialog.getByRole('button', { name: 'Rebase', exact: true, disabled: false })
    await dialog.waitFor()
    // While the preview is made anew for the new name, the button is off for a moment.
    await until(async () => {
      if ((await button.count()) > 0) await button.click({ timeout: 1_000 }).catch(() => undefined)
      return (await dialog.count()) === 0
    })
    expect(await desk.git('merge-base', RENAMED, 'main')).toBe(await desk.tip('main'))
  })

  test('the branch is renamed in another window stays in the message to the AI', async () => {
    await page.getByRole('tab', { name: 'AI chat' }).click()
    const message = page.getByRole('textbox', { name: 'Message', exact: true })
    await message.click()
    const ask = () => desk.ask({ ask: 'rename branch', branch: BRANCH, to: RENAMED })
    await isTypedInto(message, ask, branchTab(RENAMED))
  })

  test('a commit from outside renames the file stays in the search in it', async () => {
    await opened()
    await page.keyboard.press('Control+f')
    const find = page.getByRole('textbox', { name: 'Find', exact: true })
    const before = await desk.tip(BRANCH)
    const move = () => desk.commit(BRANCH, { 'README.md': null, 'READ.md': README })
    await isTypedInto(find, move, fileTab('READ.md'))
    await isUnchanged(BRANCH, 'READ.md')
    // A reset renames it back.
    const back = () => desk.git('update-ref', `refs/heads/${BRANCH}`, before)
    await isTypedInto(find, back, fileTab('README.md'))
    await isUnchanged(BRANCH, 'README.md')
    // And so does another window.
    const other = () => desk.ask({ ask: 'move', branch: BRANCH, moves: [{ from: 'README.md', to: 'docs/READ.md' }] })
    await isTypedInto(find, other, fileTab('READ.md'))
    await isUnchanged(BRANCH, 'docs/READ.md')
  })

  test('a commit from outside puts a folder in the place of the file goes on in the draft, which is put aside', async () => {
    await opened()
    const typed = await typeDuring(
      () => desk.commit(BRANCH, { 'README.md': null, 'README.md/deep.txt': 'deep\n' }),
      fileTab('README.md~draft'),
    )
    expect(await isFocused(editor())).toBe(true)
    await desk.isText(BRANCH, 'README.md~draft', text => text === typed + README)
  })

  test('a commit from outside puts a link in the place of the file goes on in the draft, which is put aside', async () => {
    await opened()
    const typed = await typeDuring(
      () => desk.commit(BRANCH, { 'README.md': { mode: '120000', content: 'AGENTS.md' } }),
      fileTab('README.md~draft'),
    )
    const words = 'README.md~draft is your draft of README.md, where the branch has something else.'
    await page.getByText(words).waitFor()
    expect(await isFocused(editor())).toBe(true)
    await desk.isText(BRANCH, 'README.md~draft', text => text === typed + README)
  })

  test('a commit from outside puts a file in the place of its folder goes on in the draft, which is put aside', async () => {
    await page.keyboard.press('Control+p')
    await page.keyboard.type('sqlite.ts')
    await page.getByRole('option').filter({ hasText: 'sqlite.ts' }).waitFor()
    await page.keyboard.press('Enter')
    await editor().getByText('SqliteStore').click()
    await page.keyboard.press('Control+Home')
    const files = ['memory.ts', 'postgres.ts', 'sqlite.ts'].map(name => [`src/store/${name}`, null])
    const typed = await typeDuring(
      () => desk.commit(BRANCH, { ...Object.fromEntries(files), 'src/store': 'a file\n' }),
      page.getByRole('treeitem', { name: 'store~draft' }),
    )
    expect(await isFocused(editor())).toBe(true)
    await desk.isText(BRANCH, 'src/store~draft/sqlite.ts', text => text.startsWith(`${typed}export`))
    expect(await desk.git('cat-file', '-p', `${BRANCH}:src/store`)).toBe('a file')
  })

  test('a commit from outside renames the file stays in the search of its history, with its selection', async () => {
    const changed = `${README}two\n`
    await desk.commit(BRANCH, { 'README.md': `${README}one\n` }, { message: 'Add one' })
    await desk.commit(BRANCH, { 'README.md': changed }, { message: 'Add two' })
    await editor().getByText('two').waitFor()
    await page.keyboard.press('Alt+Shift+h')
    const listOf = (path: string) => page.getByRole('listbox', { name: `History of ${path}`, exact: true })
    await listOf('README.md').getByRole('option', { name: 'Add one' }).click()
    const search = page.getByRole('textbox', { name: 'Search this history' })
    await search.click()
    await desk.commit(BRANCH, { 'README.md': null, 'READ.md': changed }, { message: 'Move it' })
    await listOf('READ.md').getByRole('option', { name: 'Move it' }).waitFor()
    expect(await listOf('READ.md').getByRole('option', { selected: true }).getByText('Add one').count()).toBe(1)
    const back = () => desk.commit(BRANCH, { 'READ.md': null, 'README.md': changed }, { message: 'Move it back' })
    await isTypedInto(search, back, fileTab('History of README.md'))
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('a commit from outside renames the file leaves the focus and the selection in the history of its lines', async () => {
    await desk.commit(BRANCH, { 'README.md': `One\n${README}` }, { message: 'Add one' })
    await desk.commit(BRANCH, { 'README.md': `Two\n${README}` }, { message: 'Make it two' })
    await editor().getByText('Two').click()
    await page.keyboard.press('Control+Alt+g')
    const listOf = (path: string) => page.getByRole('listbox', { name: `History of line 1 of ${path}` })
    const selected = (path: string) => listOf(path).getByRole('option', { selected: true })
    await listOf('README.md').getByRole('option', { name: 'Add one' }).waitFor()
    await until(() => isFocused(listOf('README.md')))
    await page.keyboard.press('ArrowDown')
    const before = desk.proxy.count('line history')
    await desk.commit(BRANCH, { 'README.md': null, 'READ.md': `Two\n${README}` }, { message: 'Move it' })
    await fileTab('History of line 1 of READ.md').waitFor()
    await until(() => desk.proxy.count('line history') > before)
    await selected('READ.md').getByText('Add one').waitFor()
    await page.keyboard.press('ArrowUp')
    await selected('READ.md').getByText('Make it two').waitFor()
    await page.keyboard.press('ArrowDown')
    await selected('READ.md').getByText('Add one').waitFor()
    expect(await isFocused(listOf('READ.md'))).toBe(true)
  })

  test('git branch -m renames the branch stays in the search of the history, with its selection', async () => {
    for (const name of ['one', 'two', 'three']) await desk.commit(BRANCH, { [name]: '' }, { message: `Add ${name}` })
    await page.keyboard.press('Alt+h')
    const list = page.getByRole('listbox', { name: 'History' })
    const selected = list.getByRole('option', { selected: true })
    await list.getByRole('option', { name: 'Add three' }).waitFor()
    await list.getByRole('option', { name: 'Add one' }).click()
    await rename(BRANCH, RENAMED)
    await branchTab(RENAMED).waitFor()
    await desk.commit(RENAMED, { four: '' }, { message: 'Add four' })
    await list.getByRole('option', { name: 'Add four' }).waitFor()
    expect(await selected.getByText('Add one').count()).toBe(1)
    const search = page.getByRole('textbox', { name: 'Search this history' })
    await search.click()
    await isTypedInto(search, () => rename(RENAMED, BRANCH), branchTab(BRANCH))
  })

  test('a terminal commits another file, or renames the branch, stays on the box of a conflict', async () => {
    await opened()
    await page.keyboard.type('mine ')
    await desk.isText(BRANCH, 'README.md', `mine ${README}`)
    await desk.commit(BRANCH, { 'README.md': `theirs ${README}` })
    const box = page.getByRole('region', { name: 'Conflict 1 of 1' })
    await box.waitFor()
    await page.keyboard.press('F8')
    await until(() => isFocused(box))
    for (const name of ['one', 'two', 'three']) {
      const before = desk.proxy.count('conflict')
      const release = desk.proxy.hold('conflict')
      await desk.commit(BRANCH, { [name]: '' })
      await until(() => desk.proxy.count('conflict') > before)
      // The page does not have the sides of the conflict with the new commit yet.
      expect(await box.and(page.locator(':focus')).count()).toBe(1)
      release()
    }
    // Where the commit changes the file, or the line itself, the box is drawn again.
    await desk.commit(BRANCH, { 'README.md': `theirs ${README}End.\n` })
    await editor().getByText('End.').waitFor()
    await until(() => isFocused(box))
    await desk.commit(BRANCH, { 'README.md': `others ${README}End.\n` })
    await box.getByText('others').waitFor()
    await until(() => isFocused(box))
    await rename(BRANCH, RENAMED)
    await branchTab(RENAMED).waitFor()
    await until(() => desk.proxy.asked.some(it => it.ask === 'merging' && it.branch === RENAMED))
    expect(await box.and(page.locator(':focus')).count()).toBe(1)
    await page.keyboard.press('3')
    await desk.isText(RENAMED, 'README.md', `mine # Tern\nothers ${README}End.\n`)
  })
})
