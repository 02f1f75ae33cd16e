/** What is impossible offers an alternative, and files renamed while a window was disconnected stay open. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { WebSocketRoute } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { commit, git } from '../../../support/git.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until as untilWithin } from '../../../support/repository.ts'
import { openBeside, openBranch, openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const LINES = 'one\ntwo\nthree\n'
const until = (isSo: () => boolean | Promise<boolean>) => untilWithin(isSo, 15_000)

describe.skipIf(!hasBrowser)('a desk that offers what helps', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage

  beforeAll(async () => {
    browser = await openBrowser()
    const files = { 'a.txt': LINES, 'b.txt': LINES, 'src/c.txt': LINES }
    desk = await openRealDesk({ built: await builtPage(), branches: { main: files } })
    for (const branch of ['topic', 'away', 'shared', 'forced', 'reworded', 'named', 'within', 'restored'])
      await git(desk.path, 'branch', branch, 'main')
    await desk.commit('topic', { 'a.txt': LINES.replace('two', 'TOPIC') })
    await desk.commit('main', { 'a.txt': LINES.replace('two', 'MAIN') })
    const before = await git(desk.path, 'rev-parse', 'main')
    await git(desk.path, 'branch', 'merged', 'main')
    const merged = await desk.commit('merged', { 'm.txt': 'one\n' })
    await commit(desk.path, 'main', { 'm.txt': 'one\n' }, { parents: [before, merged], message: 'Bring in merged' })
    const remote = join(desk.path, '../remote.git')
    await git('/', 'init', '--quiet', '--bare', remote)
    await git(desk.path, 'remote', 'add', 'origin', remote)
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    page = await visit(browser.context, desk)
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  /** Reloads the page with a connection that the test can break and restore. */
  const canGoAway = async () => {
    let isAway = false
    let current: WebSocketRoute | undefined
    await page.routeWebSocket(/socket/, socket => {
      current = socket
      if (isAway) socket.close()
      else socket.connectToServer()
    })
    await page.reload()
    return async () => {
      isAway = true
      await current?.close()
      const comeBack = () => {
        isAway = false
      }
      return { comeBack }
    }
  }

  const renameIn = async (window: RealPage, from: string, to: string) => {
    await window.getByRole('treeitem', { name: from }).click()
    await window.getByRole('tree', { name: 'Explorer' }).focus()
    await window.keyboard.press('F2')
    const field = window.getByRole('dialog').getByRole('textbox')
    await field.fill(to)
    await field.press('Enter')
    await window.getByRole('dialog').waitFor({ state: 'hidden' })
  }

  const run = async (words: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill(`>${words}`)
    await page.getByRole('option').first().filter({ hasText: words }).waitFor()
    await page.keyboard.press('Enter')
  }

  test('a merge with conflicts into a branch with drafts saves these first, and then merges', async () => {
    await openFile(page, 'main', 'b.txt')
    await page.keyboard.type('typed ')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'b.txt')) === `typed ${LINES}`)
    await run('Merge a branch into main')
    const names = page.getByRole('dialog').getByRole('combobox')
    await names.fill('no branch has this name')
    await page.getByRole('dialog').getByText('No results').waitFor()
    await names.fill('')
    await page.getByRole('option').filter({ hasText: 'topic' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    const dialog = page.getByRole('dialog', { name: 'topic → main' })
    await dialog.getByText('main has drafts in 1 file: save or discard them first').waitFor()
    // An Enter that was meant for the pull saves nothing.
    await dialog.locator('button:focus').waitFor()
    expect(await dialog.locator('button:focus').textContent()).not.toContain('Save all drafts')
    await dialog.getByRole('button', { name: 'Save all drafts' }).click()
    await dialog.getByRole('button', { name: 'Merge and resolve 1 file' }).waitFor()
    expect(await desk.show('main', 'b.txt')).toBe(`typed ${LINES}`)
    expect(await dialog.getByText('has drafts in').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Merge and resolve 1 file' }).click()
    await page.getByRole('tab', { name: /^main ?, merging/, selected: true }).waitFor()
  })

  test('a step with conflicts into a branch with a draft in conflict is off, with the reason', async () => {
    await git(desk.path, 'branch', 'clashing', 'main')
    await openFile(page, 'clashing', 'b.txt')
    await page.keyboard.type('mine ')
    await until(async () => (await desk.show('refs/forge/drafts/clashing', 'b.txt')).startsWith('mine '))
    await desk.commit('clashing', { 'b.txt': `other ${LINES}` })
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
    await openBranch(page, 'topic')
    await page.keyboard.press('Alt+Shift+8')
    await page.getByRole('option').filter({ hasText: 'clashing' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    const dialog = page.getByRole('dialog', { name: 'topic → clashing' })
    await dialog.getByText('1 draft of clashing is in conflict: resolve that first').waitFor()
    await dialog.getByRole('button', { name: 'Merge', exact: true, disabled: true }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('a step that saves the drafts first uses the message that was typed for them, also if their tab was closed', async () => {
    await git(desk.path, 'branch', 'typed-in', 'main')
    const tip = await git(desk.path, 'rev-parse', 'main')
    await openFile(page, 'typed-in', 'b.txt')
    await page.keyboard.type('more ')
    await until(async () => (await desk.show('refs/forge/drafts/typed-in', 'b.txt')).startsWith('more '))
    await page.getByRole('textbox', { name: 'Commit message' }).fill('What I typed')
    await page.keyboard.press('Alt+Shift+w')
    await page.getByRole('tab', { name: 'typed-in' }).waitFor({ state: 'detached' })
    await openBranch(page, 'topic')
    await page.keyboard.press('Alt+Shift+8')
    await page.getByRole('option').filter({ hasText: 'typed-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    const dialog = page.getByRole('dialog', { name: 'topic → typed-in' })
    await dialog.getByRole('button', { name: 'Save all drafts' }).click()
    await dialog.getByText('has drafts in').waitFor({ state: 'detached' })
    expect(await git(desk.path, 'log', '--format=%s', `${tip}..typed-in`)).toBe('What I typed')
    await page.keyboard.press('Escape')
    // It is not there for the next save.
    await openBranch(page, 'typed-in')
    expect(await page.getByRole('textbox', { name: 'Commit message' }).inputValue()).toBe('')
  })

  test('a pull into a branch without an upstream branch offers to publish it', async () => {
    await openBranch(page, 'topic')
    // The status bar offers it even in a window that has not shown the repository yet.
    await page.getByRole('status', { name: 'Status' }).getByRole('button', { name: 'Publish branch…' }).waitFor()
    await page.keyboard.press('Alt+0')
    await page.getByRole('toolbar', { name: 'Repository' }).getByRole('button', { name: 'Pull' }).click()
    const dialog = page.getByRole('dialog', { name: /has no upstream branch$/ })
    await dialog.getByText('There is nothing to pull from.').waitFor()
    await page.keyboard.press('Escape')
    await openBranch(page, 'topic')
    await page.keyboard.press('Alt+p')
    await dialog.getByRole('button', { name: 'Publish branch…' }).click()
    const push = page.getByRole('dialog', { name: /^Publish / })
    await push.getByRole('button', { name: 'Publish', exact: true }).click()
    await page
      .getByText(/^Pushed \w+ to origin/)
      .first()
      .waitFor()
    expect(await git(desk.path, 'config', '--get-regexp', String.raw`branch\..*\.remote`)).toContain('origin')
  })

  /** Opens the dialog that pushes the one commit of a branch. */
  const openPush = async (branch: string) => {
    await openBranch(page, branch)
    await page
      .getByRole('status', { name: 'Status' })
      .getByRole('button', { name: /^Push .*: 1 commit ahead/ })
      .click()
    return page.getByRole('dialog')
  }

  test('a pull that a push needs offers the push again, also when it had conflicts', async () => {
    const remote = join(desk.path, '../remote.git')
    await git(desk.path, 'push', '--quiet', '--set-upstream', 'origin', 'shared')
    await commit(remote, 'shared', { 'b.txt': LINES.replace('two', 'THEIRS') })
    await desk.commit('shared', { 'b.txt': LINES.replace('two', 'OURS') })
    const dialog = await openPush('shared')
    await dialog.getByText('1 commit to origin/shared').waitFor()
    await dialog.getByRole('button', { name: 'Push', exact: true }).press('Enter')
    const offered = dialog.getByRole('button', { name: 'Pull…' })
    await offered.waitFor()
    await until(() => offered.evaluate(button => button === document.activeElement))
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Pull and resolve 1 file' }).click()
    await page.getByRole('region', { name: 'Conflict 1 of 1' }).getByRole('button', { name: 'Both' }).click()
    await page.getByRole('button', { name: 'Finish' }).click()
    await page.locator('.toast').getByRole('button', { name: 'Push…' }).click()
    await dialog.getByText('2 commits to origin/shared').waitFor()
    await dialog.getByRole('button', { name: 'Push', exact: true }).click()
    await until(
      async () => (await git(remote, 'rev-parse', 'shared')) === (await git(desk.path, 'rev-parse', 'shared')),
    )
  })

  test('a pull that a push needs offers the push to the same remote, not to the one of git push', async () => {
    const remote = join(desk.path, '../remote.git')
    await git('/', 'clone', '--quiet', '--bare', desk.path, join(desk.path, '../fork.git'))
    await git(desk.path, 'remote', 'add', 'fork', join(desk.path, '../fork.git'))
    await git(desk.path, 'push', '--quiet', '--set-upstream', 'origin', 'shared')
    await git(desk.path, 'config', 'remote.pushDefault', 'fork')
    await page.reload()
    await commit(remote, 'shared', { 'theirs.txt': 'theirs\n' })
    await desk.commit('shared', { 'ours.txt': 'ours\n' })
    const dialog = await openPush('shared')
    await dialog.getByText('1 commit to origin/shared').waitFor()
    await dialog.getByRole('button', { name: 'Push', exact: true }).press('Enter')
    await dialog.getByRole('button', { name: 'Pull…' }).click()
    await dialog.getByRole('tab', { name: 'Merge' }).click()
    await dialog.getByRole('button', { name: 'Pull', exact: true }).click()
    await page.locator('.toast').getByRole('button', { name: 'Push…' }).click()
    await dialog.getByRole('tab', { name: 'To origin', selected: true }).waitFor()
    await dialog.getByText('2 commits to origin/shared').waitFor()
    // The other tests have origin alone.
    await git(desk.path, 'config', '--unset', 'remote.pushDefault')
    await git(desk.path, 'remote', 'remove', 'fork')
  })

  test('a branch that the remote has already can be pulled from there before it is published', async () => {
    const remote = join(desk.path, '../remote.git')
    await git(desk.path, 'push', '--quiet', remote, 'named')
    const theirs = await commit(remote, 'named', { 'theirs.txt': 'theirs\n' })
    await desk.commit('named', { 'ours.txt': 'ours\n' })
    await openBranch(page, 'named')
    const status = page.getByRole('status', { name: 'Status' })
    await status.getByRole('button', { name: 'Publish branch…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Publish', exact: true }).click()
    await dialog.getByText('origin/named has 1 commit that named does not have').waitFor()
    await dialog.getByRole('button', { name: 'Pull…' }).click()
    await dialog.getByRole('heading', { name: 'Pull origin/named into named' }).waitFor()
    await dialog.getByRole('tab', { name: 'Merge' }).click()
    await dialog.getByRole('button', { name: 'Pull', exact: true }).click()
    await page.locator('.toast').getByRole('button', { name: 'Push…' }).click()
    await dialog.getByRole('button', { name: 'Publish', exact: true }).click()
    await page.getByText('Pushed named to origin/named').first().waitFor()
    expect(await git(remote, 'rev-list', 'named')).toContain(theirs)
    expect(await git(desk.path, 'rev-parse', '--symbolic-full-name', 'named@{upstream}')).toBe(
      'refs/remotes/origin/named',
    )
  })

  test('a force push that is refused is not done by the same key again, and one that drops commits says which', async () => {
    const remote = join(desk.path, '../remote.git')
    await git(desk.path, 'push', '--quiet', '--set-upstream', 'origin', 'forced')
    await desk.commit('forced', { 'b.txt': LINES.replace('two', 'OURS') })
    const dialog = await openPush('forced')
    await dialog.getByRole('tab', { name: 'Force push to origin' }).click()
    await dialog.getByText('1 commit to origin/forced').waitFor()
    await dialog.getByText('As last fetched, origin/forced has nothing to overwrite').waitFor()
    const theirs = await commit(
      remote,
      'forced',
      { 'b.txt': LINES.replace('two', 'THEIRS') },
      { message: 'What a colleague did', author: 'Mira Okafor <mira@example.com>' },
    )
    const button = dialog.getByRole('button', { name: 'Force push with lease' })
    expect(await button.evaluate(it => it.classList.contains('stop'))).toBe(false)
    await button.focus()
    await page.keyboard.press('Enter')
    await dialog.getByText('nothing was overwritten').waitFor()
    await dialog.getByText('drops 1 commit there').waitFor()
    const dropped = dialog.getByRole('list', { name: 'Dropped commits' }).getByRole('listitem')
    expect((await dropped.allTextContents()).join()).toBe(`${theirs.slice(0, 8)}What a colleague didMira Okafordropped`)
    expect(await button.evaluate(it => it.classList.contains('stop'))).toBe(true)
    await page.keyboard.press('Enter')
    expect(await button.evaluate(it => it === document.activeElement)).toBe(false)
    expect(await git(remote, 'rev-parse', 'forced')).toBe(theirs)
    await button.click()
    await page
      .getByText(`origin/forced lost 1 commit: it was at ${theirs.slice(0, 12)}.`)
      .first()
      .waitFor()
  })

  test('an undo of the deletion of a branch puts the cursor where it was in a line with a draft', async () => {
    const like = 'like\n'.repeat(60)
    await desk.commit('restored', { 'like.txt': like })
    await openBranch(page, 'restored')
    await openBeside(page, 'like.txt')
    for (let line = 1; line < 30; line++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.type(' one')
    await until(async () => (await desk.show('refs/forge/drafts/restored', 'like.txt')).includes('like one'))
    await page.keyboard.press('Alt+Shift+Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('tab', { name: 'restored', selected: true }).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('like one').waitFor()
    await page
      .getByTitle(/: go to a line/)
      .getByText('30:9')
      .waitFor()
  })

  test('a push of a branch that was reworded and renamed after its push leads to the forced one', async () => {
    const remote = join(desk.path, '../remote.git')
    await git(desk.path, 'config', 'core.logAllRefUpdates', 'always')
    const old = await commit(desk.path, 'reworded', { 'c.txt': 'c\n' }, { message: 'Typoo' })
    await git(desk.path, 'push', '--quiet', '--set-upstream', 'origin', 'reworded')
    await openBranch(page, 'reworded')
    await page.keyboard.press('Alt+h')
    const list = page.getByRole('listbox', { name: 'History' })
    await list.getByRole('option', { name: 'Typoo' }).click()
    await page.keyboard.press('r')
    const dialog = page.getByRole('dialog')
    await dialog.locator('textarea:focus').fill('Typo')
    await dialog.getByRole('button', { name: 'Reword', exact: true }).click()
    await list.getByRole('option', { name: /Typo(?!o)/ }).waitFor()
    await git(desk.path, 'branch', '-m', 'reworded', 'renamed')
    await page.getByRole('tab', { name: /^renamed/, selected: true }).waitFor()
    await page.keyboard.press('Alt+v')
    await dialog.getByText('origin/reworded has 1 commit that was rewritten here').waitFor()
    await dialog.getByRole('button', { name: 'Pull…' }).waitFor()
    await dialog.getByRole('button', { name: 'Force push…' }).click()
    await dialog.getByText('origin/reworded loses 1 commit, which was rewritten here.').waitFor()
    await dialog.getByRole('list', { name: 'Dropped commits' }).getByText('Typoo').waitFor()
    expect(await git(remote, 'rev-parse', 'reworded')).toBe(old)
    await dialog.getByRole('button', { name: 'Force push with lease' }).click()
    await page.getByText('origin/reworded lost 1 commit').first().waitFor()
    expect(await git(remote, 'log', '-1', '--format=%s', 'reworded')).toBe('Typo')
  })

  test('a line is gone to by its number: in the palette, by its keys, and from the status bar', async () => {
    await openFile(page, 'topic', 'b.txt')
    const place = page.locator('.line-column')
    const field = page.getByRole('combobox', { name: 'Command palette' })
    await page.keyboard.press('Control+p')
    await field.fill(':3')
    await page.getByRole('option', { name: 'Go to line 3' }).waitFor()
    await page.keyboard.press('Enter')
    await until(async () => (await place.textContent()) === '3:1')
    await page.keyboard.press('Control+g')
    await until(async () => (await field.inputValue()) === ':')
    await page.keyboard.type('2:3')
    await page.keyboard.press('Enter')
    await until(async () => (await place.textContent()) === '2:3')
    await place.getByRole('button').click()
    await page.keyboard.type('99')
    await page.keyboard.press('Enter')
    await until(async () => (await place.textContent()) === '4:1')
  })

  test('a branch whose commits are all in the one it is compared with says so in its review', async () => {
    await openBranch(page, 'within')
    await page.keyboard.press('Alt+r')
    await page.getByText('main has all commits of within already.').waitFor()
    await page.getByRole('tab', { name: 'By commit' }).click()
    await page.getByText('main has all commits of within already.').waitFor()
  })

  test('a branch that is merged already says by which commit, and is reviewed as it was merged', async () => {
    await openBranch(page, 'merged')
    await page.keyboard.press('Alt+r')
    await page.getByRole('heading', { name: 'Already merged' }).waitFor()
    await page.getByText('Bring in merged').waitFor()
    await page.getByRole('button', { name: 'Review as it was merged' }).click()
    await page.getByRole('article', { name: 'm.txt' }).waitFor()
  })

  test('a file and a folder that are renamed while a window is away are open there under their new names', async () => {
    const goAway = await canGoAway()
    await openFile(page, 'away', 'a.txt')
    await page.getByRole('treeitem', { name: 'src' }).click()
    await page.getByRole('treeitem', { name: 'c.txt' }).dblclick()
    await page.getByRole('tab', { name: 'c.txt', selected: true }).waitFor()
    await page.getByRole('tab', { name: 'a.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    const window = await goAway()
    await page.getByText('The desk does not answer').waitFor()
    await page.keyboard.type('while away ')
    const other = await visit(browser.context, desk)
    await openBranch(other, 'away')
    await renameIn(other, 'a.txt', 'z.txt')
    await renameIn(other, 'src', 'lib')
    await other.close()
    window.comeBack()
    const titles = () =>
      page
        .getByRole('tablist', { name: 'Files' })
        .getByRole('tab')
        .evaluateAll(tabs => tabs.map(tab => tab.getAttribute('title')).filter(Boolean))
    await until(async () => (await titles()).join().endsWith('z.txt,lib/c.txt'))
    await page.keyboard.type('and after ')
    await until(async () => (await desk.show('refs/forge/drafts/away', 'z.txt')) === `while away and after ${LINES}`)
    expect(await page.getByText('was not found').count()).toBe(0)
    expect(await page.getByRole('alert').count()).toBe(0)
  })
})
