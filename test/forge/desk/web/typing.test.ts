/**
 * No edit is lost when the connection breaks, the server loses edits that it has confirmed, or other windows edit too.
 */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, type OpenBrowser } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, openPage, showBranch, until, withEachPage } from './page-scene.ts'

describe.skipIf(!hasBrowser)('typing', () => {
  let browser: OpenBrowser
  let desk: PageDesk
  let page: DeskPage
  withEachPage(async each => {
    browser = each.browser
    desk = each.desk
    page = each.page
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
  })

  const REST = '# Tern\n\nA queue.\n'
  const inEditor = async () => (await page.locator('.cm-line').allTextContents()).join('\n')
  const isOnServer = (text: string) => desk.isText('main', 'README.md', text)

  test('goes to the server as it is typed', async () => {
    await page.keyboard.type('one two', { delay: 10 })
    await isOnServer(`one two${REST}`)
  })

  test('after a long line shows the next one from its start', async () => {
    await page.keyboard.insertText(`  ${'a long line '.repeat(40)}`)
    const left = () => page.locator('.cm-scroller').evaluate(element => element.scrollLeft)
    await until(async () => (await left()) > 0)
    await page.keyboard.press('Enter')
    await until(async () => (await left()) === 0)
    // The line keeps its indentation.
    await page.keyboard.type('x')
    await until(async () => (await inEditor()).includes('\n  x# Tern'))
    expect(await left()).toBe(0)
  })

  test('in a file that is just being opened comes into it, and no key of it is lost', async () => {
    const open = desk.proxy.hold('open')
    await page.keyboard.press('Alt+x')
    await page.getByRole('treeitem', { name: 'FORK.md' }).click()
    await page.locator('.editor[aria-busy="true"]').click()
    await page.keyboard.type('abx')
    await page.keyboard.press('Backspace')
    await page.keyboard.type('c ')
    open()
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    await page.keyboard.type('d ')
    await desk.isText('main', 'FORK.md', 'abc d # Fork\n')
    // Nor a key that comes directly after the choice in the palette.
    await page.keyboard.press('Control+p')
    await page.keyboard.type('AGENTS')
    await page
      .getByRole('dialog')
      .getByRole('option', { name: /AGENTS/ })
      .waitFor()
    const openOther = desk.proxy.hold('open')
    await page.getByRole('combobox', { name: 'Command palette' }).evaluate(async field => {
      const press = (target: Element, key: string) =>
        target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
      const isShown = new Promise<void>(resolve => {
        const observer = new MutationObserver(() => {
          if (document.querySelector('.editor[aria-busy="true"]')) resolve()
        })
        observer.observe(document.body, { childList: true, subtree: true })
      })
      press(field, 'Enter')
      await isShown
      press(document.body, '#')
    })
    openOther()
    await desk.isText('main', 'AGENTS.md', '## For agents\n')
  })

  test('after Enter in the palette goes to the chosen file, at its line, however late it is found and opened', async () => {
    const LINES = 'one\ntwo\nthree\n'
    await desk.commit('main', { 'first.txt': LINES, 'second.txt': LINES, 'third.txt': LINES })
    await page.getByRole('treeitem', { name: 'third.txt' }).waitFor()
    const goToLine = async (line: number) => {
      await page.keyboard.press('Control+g')
      await page.keyboard.type(String(line))
      await page.keyboard.press('Enter')
    }
    // The file is found, and is opened late.
    await page.keyboard.press('Control+p')
    await page.keyboard.type('first')
    await page.getByRole('dialog').getByRole('option', { name: 'first.txt' }).waitFor()
    const open = desk.proxy.hold('open')
    await page.keyboard.press('Enter')
    await page.keyboard.type('begin ')
    await goToLine(2)
    await page.keyboard.type('typed ')
    open()
    await desk.isText('main', 'first.txt', 'begin one\ntyped two\nthree\n')
    // It is found late.
    const find = desk.proxy.hold('find file')
    for (const name of ['second', 'third']) {
      await page.keyboard.press('Control+p')
      await page.keyboard.type(name)
      await page.keyboard.press('Enter')
      await goToLine(3)
      await page.keyboard.type('typex')
      await page.keyboard.press('Backspace')
      await page.keyboard.type('d')
      await page.keyboard.press('Enter')
    }
    find()
    await desk.isText('main', 'second.txt', 'one\ntwo\ntyped\nthree\n')
    await desk.isText('main', 'third.txt', 'one\ntwo\ntyped\nthree\n')
    // Nothing is found.
    const findNothing = desk.proxy.hold('find file')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('no such file')
    await page.keyboard.press('Enter')
    await goToLine(1)
    await page.keyboard.type('lost')
    findNothing()
    await page.getByText('No results').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.type('end')
    await desk.isText('main', 'third.txt', 'one\ntwo\ntyped\nendthree\n')
    await desk.isText('main', 'first.txt', 'begin one\ntyped two\nthree\n')
    await isOnServer(REST)
  })

  test('is sent after the connection broke in the middle', async () => {
    desk.proxy.delay = 20
    for (const word of ['one ', 'two ', 'three ', 'four ']) {
      await page.keyboard.type(word, { delay: 5 })
      desk.proxy.breakConnections()
      await Bun.sleep(60)
    }
    await isOnServer(`one two three four ${REST}`)
    expect(await inEditor()).toBe(`one two three four ${REST}`)
  })

  test('is kept while the server is away, and sent when it is back, with the undo of the editor', async () => {
    await page.keyboard.type('before ')
    await isOnServer(`before ${REST}`)
    const comeBack = desk.proxy.goAway()
    await page.getByText('The desk does not answer').waitFor()
    await page.keyboard.type('while away ')
    comeBack()
    await isOnServer(`before while away ${REST}`)
    await until(async () => (await page.getByText('The desk does not answer').count()) === 0)
    await page.keyboard.type('after')
    await isOnServer(`before while away after${REST}`)
  })

  test('is kept while the desk answers nothing, which the page says until it answers', async () => {
    const goOn = desk.proxy.stall()
    await page.keyboard.type('stalled ')
    await page.getByText('The desk does not answer').waitFor()
    await page.keyboard.type('on ')
    goOn()
    await isOnServer(`stalled on ${REST}`)
    await page.getByText('The desk does not answer').waitFor({ state: 'detached' })
    expect(await inEditor()).toBe(`stalled on ${REST}`)
    // A single question that takes long does not mean that.
    const release = desk.proxy.hold('history')
    await page.keyboard.press('Alt+h')
    await page.getByText('Loading history').waitFor()
    const before = desk.proxy.count('ping')
    await until(() => desk.proxy.count('ping') >= before + 4)
    expect(await page.getByText('The desk does not answer').count()).toBe(0)
    release()
    await page.getByRole('listbox', { name: 'History' }).waitFor()
  })

  test('is kept where the desk has another key, and sent when this browser has it', async () => {
    desk.proxy.isLocked = true
    desk.proxy.breakConnections()
    await page.getByText('This window is no longer signed in to the desk').waitFor()
    await page.keyboard.type('kept ')
    desk.proxy.isLocked = false
    await isOnServer(`kept ${REST}`)
  })

  test('is sent after the desk was ended and started again, once', async () => {
    await page.keyboard.type('one ')
    await isOnServer(`one ${REST}`)
    desk.proxy.lost.add('edit')
    await page.keyboard.type('two ')
    await until(() => desk.proxy.count('edit') > 1)
    await desk.restart(() => desk.proxy.lost.clear())
    await isOnServer(`one two ${REST}`)
    expect(await inEditor()).toBe(`one two ${REST}`)
  })

  test('is not doubled where the answer was lost', async () => {
    await page.keyboard.type('one ')
    await isOnServer(`one ${REST}`)
    desk.proxy.unanswered.add('edit')
    await page.keyboard.type('two ')
    // The page sends more only when the first letter is answered.
    await desk.isText('main', 'README.md', text => text.startsWith('one t'))
    desk.proxy.unanswered.clear()
    desk.proxy.breakConnections()
    await page.keyboard.type('three ')
    await isOnServer(`one two three ${REST}`)
    expect(await inEditor()).toBe(`one two three ${REST}`)
  })

  test('is sent once in a branch that a terminal renames before the desk has all of it, and then deletes', async () => {
    await showBranch(page, 'retry-jitter')
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    const release = desk.proxy.hold('edit')
    await page.keyboard.type('one ')
    // By the reflog, a rename is told from a deletion.
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    await desk.git('branch', '--move', 'retry-jitter', 'jitter')
    const branches = page.getByRole('tablist', { name: 'Branches' })
    await branches.getByRole('tab', { name: /^jitter/, selected: true }).waitFor()
    await page.keyboard.type('two ')
    release()
    await page.keyboard.type('three ')
    const isText = (text: string) => desk.isText('jitter', 'README.md', text)
    await isText(`one two three ${REST}`)
    await desk.git('branch', '--delete', '--force', 'jitter')
    await page.getByRole('button', { name: 'Restore branch' }).waitFor()
    await page.keyboard.type('four ')
    await isText(`one two three four ${REST}`)
    expect(await inEditor()).toBe(`one two three four ${REST}`)
    // The undo of the editor goes back to before the rename.
    for (let undo = 0; undo < 4; undo++) await page.keyboard.press('Control+z')
    await isText(REST)
  })

  test('after a save was asked for is not in its commit, however long that takes', async () => {
    const arrive = desk.proxy.hold('edit')
    const answer = desk.proxy.hold('save')
    await page.keyboard.type('one')
    await page.keyboard.press('Control+s')
    await page.keyboard.type(' two')
    arrive()
    await until(() => desk.proxy.count('save') === 1)
    await page.keyboard.type(' three ')
    answer()
    await isOnServer(`one two three ${REST}`)
    const saved = () => desk.git('show', 'refs/heads/main:README.md')
    expect(await saved()).toBe(`one${REST}`.trim())
    await page.keyboard.press('Control+s')
    await until(async () => (await saved()) === `one two three ${REST}`.trim())
    expect(await inEditor()).toBe(`one two three ${REST}`)
  })

  test('without a pause, with saves in between, is in each commit as it was at the key', async () => {
    const answer = desk.proxy.hold('save')
    const saved = async (at: string) => await desk.git('show', `refs/heads/main${at}:README.md`)
    for (const word of ['one', 'two', 'three']) {
      await page.keyboard.type(word)
      if (word !== 'three') await page.keyboard.press('Control+s')
    }
    answer()
    await isOnServer(`onetwothree${REST}`)
    await until(async () => (await saved('')) === `onetwo${REST}`.trim())
    expect(await saved('^')).toBe(`one${REST}`.trim())
  })

  test('is in as many commits as saves were asked for, each with its own message, while the first one runs', async () => {
    const answer = desk.proxy.hold('save')
    const message = page.getByRole('textbox', { name: 'Commit message' })
    for (const word of ['one', 'two', 'three']) {
      await page.getByRole('textbox', { name: 'Editor' }).click()
      await page.keyboard.press('Control+Home')
      await page.keyboard.type(`${word} `)
      await message.click()
      await page.keyboard.press('Control+a')
      await page.keyboard.type(`Say ${word}`)
      await page.keyboard.press('Enter')
    }
    answer()
    await desk.isMessage('main', 'Say three')
    const subjects = (await desk.git('log', '--format=%s', 'refs/heads/main')).split('\n')
    expect(subjects.slice(0, 3)).toEqual(['Say three', 'Say two', 'Say one'])
    const saved = async (at: string) => await desk.git('show', `refs/heads/main${at}:README.md`)
    expect(await saved('')).toBe(`three two one ${REST}`.trim())
    expect(await saved('~1')).toBe(`two one ${REST}`.trim())
    expect(await saved('~2')).toBe(`one ${REST}`.trim())
  })

  test('is a draft again after an undo that is asked for while it is saved', async () => {
    const answer = desk.proxy.hold('save')
    const tip = await desk.tip('main')
    await page.keyboard.type('one ')
    await page.keyboard.press('Control+s')
    await until(() => desk.proxy.count('save') === 1)
    await page.keyboard.press('Control+Alt+z')
    await page.getByText('main is being saved. Undo runs when that has ended.').first().waitFor()
    answer()
    await page
      .getByText(/^Undone: save README\.md/)
      .first()
      .waitFor()
    expect(await desk.tip('main')).toBe(tip)
    await isOnServer(`one ${REST}`)
  })

  test('while a save runs is discarded after it on request', async () => {
    const answer = desk.proxy.hold('save')
    await page.keyboard.type('one ')
    await page.keyboard.press('Control+s')
    await until(() => desk.proxy.count('save') === 1)
    await page.keyboard.type('two ')
    await page.keyboard.press('Alt+Shift+d')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    answer()
    await page.getByText('Discarded changes to README.md').first().waitFor()
    await isOnServer(`one ${REST}`)
    expect(await inEditor()).toBe(`one ${REST}`)
  })

  test('into a file that is still opened keeps its order with the keys that move in it and delete', async () => {
    const open = desk.proxy.hold('open')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('AGENTS')
    await page.keyboard.press('Enter')
    await page.locator('.editor[aria-busy="true"]').waitFor()
    await page.keyboard.type('a')
    await page.keyboard.press('End')
    await page.keyboard.press('Backspace')
    await page.keyboard.type('x')
    await page.keyboard.press('Home')
    await page.keyboard.press('Delete')
    await page.keyboard.type('b')
    open()
    await desk.isText('main', 'AGENTS.md', 'b# For agentx\n')
    await page.keyboard.type('c')
    await desk.isText('main', 'AGENTS.md', 'bc# For agentx\n')
  })

  test('of two windows ends as the same text in both', async () => {
    const other = await openPage(browser.context, desk)
    await other.getByRole('treeitem', { name: 'README.md' }).click()
    await other.getByRole('textbox', { name: 'Editor' }).click()
    await other.keyboard.press('Control+End')
    desk.proxy.delay = 15
    await Promise.all([
      page.keyboard.type('left left left ', { delay: 8 }),
      other.keyboard.type('right right', { delay: 8 }),
    ])
    await isOnServer(`left left left ${REST}right right`)
    await until(async () => (await inEditor()) === `left left left ${REST}right right`)
    expect((await other.locator('.cm-line').allTextContents()).join('\n')).toBe(await inEditor())
    await other.close()
  })

  test('meets what comes from elsewhere while it is away', async () => {
    await page.keyboard.type('mine ')
    await isOnServer(`mine ${REST}`)
    desk.proxy.lost.add('edit')
    await page.keyboard.type('and more ')
    await until(() => desk.proxy.count('edit') > 1)
    const other = await openPage(browser.context, desk)
    await other.getByRole('treeitem', { name: 'README.md' }).click()
    await other.getByRole('textbox', { name: 'Editor' }).click()
    desk.proxy.lost.clear()
    await other.keyboard.press('Control+End')
    await other.keyboard.type('theirs')
    await isOnServer(`mine ${REST}theirs`)
    desk.proxy.breakConnections()
    await isOnServer(`mine and more ${REST}theirs`)
    await other.close()
  })

  test('in a last line without a line end stays there when a conflict comes up before it is sent', async () => {
    await desk.commit('main', { 'end.txt': 'first\nlast' })
    await page.getByRole('treeitem', { name: 'end.txt' }).click()
    await page.getByRole('tab', { name: 'end.txt', selected: true }).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' mine')
    await desk.isText('main', 'end.txt', 'first\nlast mine')
    const send = desk.proxy.hold('edit')
    await page.keyboard.type(' typed')
    await desk.commit('main', { 'end.txt': 'first\nlast of theirs' })
    const ours = page.getByRole('region', { name: 'Conflict 1 of 1' }).getByRole('region', { name: 'Ours' })
    await ours.waitFor()
    await page.keyboard.type(' on')
    await until(async () => (await ours.locator('pre').textContent()) === 'last mine typed on\n')
    send()
    await desk.isText('main', 'end.txt', text => text.includes('\nlast mine typed on\n|||'))
    await desk.isText('main', 'end.txt', text => text.endsWith('> branch\n'))
  })

  test('is not lost where an edit is refused for a while', async () => {
    desk.proxy.refused.set('edit', 'The disk is full: what you type can not be kept there.')
    await page.keyboard.type('kept ')
    await page.getByText('The disk is full').waitFor()
    desk.proxy.refused.delete('edit')
    await page.getByRole('button', { name: 'Try again' }).click()
    await isOnServer(`kept ${REST}`)
    await until(async () => (await page.getByText('The disk is full').count()) === 0)
  })

  test('is moved onto the text of the server where the page has come to have another one', async () => {
    const file = { branch: 'main', path: 'README.md' }
    const { version } = await desk.ask<{ version: number }>({
      ask: 'open',
      at: { kind: 'branch', branch: 'main' },
      path: file.path,
    })
    // The page takes an edit that the server does not have for the one that it has.
    const edit = (changes: unknown) => ({ ...file, version, edits: [{ client: 'another window', changes }] })
    desk.proxy.say({ say: 'edited', ...edit([REST.length, [0, 'only here']]) })
    await until(async () => (await inEditor()) === `${REST}only here`)
    await desk.ask({ ask: 'edit', ...edit([[0, 'theirs '], REST.length]) })
    await isOnServer(`theirs ${REST}`)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.type('mine ')
    await isOnServer(`theirs # Tern\n\nmine A queue.\n`)
    await page.keyboard.type('and more ')
    await isOnServer(`theirs # Tern\n\nmine and more A queue.\n`)
    expect(await inEditor()).toBe(`theirs # Tern\n\nmine and more A queue.\n`)
    expect(await page.getByText('no edit of this text').count()).toBe(0)
  })

  test('goes on being sent when its tab is closed at once', async () => {
    desk.proxy.delay = 100
    await page.keyboard.type('late ')
    await page.keyboard.press('Alt+w')
    await isOnServer(`late ${REST}`)
    await until(() => desk.proxy.count('close') > 0)
  })

  test('is discarded on request, and not sent again', async () => {
    await page.keyboard.type('draft ')
    await isOnServer(`draft ${REST}`)
    await page.keyboard.press('Alt+Shift+d')
    await page.getByRole('button', { name: 'Discard' }).click()
    await isOnServer(REST)
    await until(async () => (await inEditor()) === REST)
    await Bun.sleep(200)
    expect(await desk.textOf('main', 'README.md')).toBe(REST)
  })

  test('that was discarded is not undone once more by the undo of the editor, which has ended there', async () => {
    const discard = () => desk.ask({ ask: 'discard', branch: 'main', paths: ['README.md'] })
    const isNothing = async () => {
      await page.keyboard.press('Control+z')
      await page.getByText('There is nothing left to undo here').first().waitFor()
      await page.keyboard.press('Escape')
      expect(await inEditor()).toBe(REST)
    }
    const isRestShown = () => until(async () => (await inEditor()) === REST)
    // A deletion, whose undo would insert the words a second time; the file is shown.
    await page.keyboard.press('Control+Delete')
    await page.keyboard.press('Control+Delete')
    await until(async () => (await inEditor()) !== REST)
    await isOnServer(await inEditor())
    await discard()
    await isRestShown()
    await isNothing()
    // It is not shown: the discard comes while another file is.
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+Delete')
    await page.keyboard.type('One')
    await page.keyboard.press('Enter')
    await isOnServer('# Tern\n\nOne\nqueue.\n')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('AGENTS.md')
    await page.getByRole('option', { name: 'AGENTS.md' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.cm-line').getByText('For agents').waitFor()
    await discard()
    await isOnServer(REST)
    await page.keyboard.press('Alt+PageUp')
    await isRestShown()
    await page.locator('.cm-content:focus').waitFor()
    await isNothing()
    // What is typed since can be undone, also beside what comes in from elsewhere.
    await page.keyboard.press('Control+End')
    await page.keyboard.type('new')
    await isOnServer(`${REST}new`)
    await desk.commit('main', { 'README.md': '# Tern, a library\n\nA queue.\n' })
    await isOnServer('# Tern, a library\n\nA queue.\nnew')
    await page.locator('.cm-line').getByText('# Tern, a library').waitFor()
    await page.keyboard.press('Control+z')
    await isOnServer('# Tern, a library\n\nA queue.\n')
  })

  test('keeps \\r, and pastes without it', async () => {
    await desk.commit('ends', { 'mixed.txt': 'a\r\nb\n' })
    await showBranch(page, 'ends')
    await page.getByRole('treeitem', { name: 'mixed.txt' }).click()
    await page.locator('.cm-specialChar').waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.evaluate(() => {
      const data = new DataTransfer()
      data.setData('text/plain', 'c\r\nd')
      document
        .querySelector('.cm-content')
        ?.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }))
    })
    await desk.isText('ends', 'mixed.txt', 'a\r\nb\nc\nd')
  })
})
