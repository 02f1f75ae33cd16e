/** Refused text is explained at its position, and does not hold up other edits or saves. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until as untilWithin } from '../../../support/repository.ts'
import { openBeside, openFile, paste, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const LINES = 'one\ntwo\nthree\nfour\nfive\n'
const MB = 1 << 20
const until = (isSo: () => boolean | Promise<boolean>) => untilWithin(isSo, 60_000)

describe.skipIf(!hasBrowser)('what can’t be taken', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage
  let count = 0
  let branch = ''

  beforeAll(async () => {
    browser = await openBrowser()
    const files = { 'a.txt': LINES, 'b.txt': LINES }
    const names = Array.from({ length: 12 }, (_, number) => `work-${number + 1}`)
    const branches = Object.fromEntries(['main', ...names].map(name => [name, files]))
    desk = await openRealDesk({ built: await builtPage(), branches })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    branch = `work-${++count}`
    page = await visit(browser.context, desk)
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  const box = () => page.getByRole('alert', { name: 'Text that is not in the file' })
  const edits = () => page.sent.filter(({ ask }) => ask === 'edit').length
  const draft = (path: string) => desk.show(`refs/forge/drafts/${branch}`, path)
  const isDraft = (path: string, text: string) => until(async () => (await draft(path)) === text)
  const saved = (path: string) => desk.show(branch, path)
  const isSaved = (path: string, text: string) => until(async () => (await saved(path)) === text)
  const editorText = async () => (await page.locator('.cm-line').allTextContents()).join('\n')

  /** Counts the edits that the page sends within some time in which it has no reason to send any. */
  async function editsIn(milliseconds: number): Promise<number> {
    const before = edits()
    await Bun.sleep(milliseconds)
    return edits() - before
  }

  test('a paste with a NUL stands at its place with its reason, and typing and saving go on', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('ArrowDown')
    await paste(page, 'odd\0paste')
    await box().getByText('NUL character').waitFor()
    expect(await box().getByText('odd\\u0000paste').count()).toBe(1)
    await page.keyboard.type('typed after it ')
    await isDraft('a.txt', LINES.replace('two', 'typed after it two'))
    await page.keyboard.press('Control+s')
    await isSaved('a.txt', LINES.replace('two', 'typed after it two'))
    await openBeside(page, 'b.txt')
    await page.keyboard.type('b ')
    await page.keyboard.press('Control+s')
    await until(async () => (await saved('b.txt')) === `b ${LINES}`)
    expect(edits()).toBeLessThan(30)
    expect(await editsIn(1_000)).toBe(0)
  })

  test('a paste with a NUL is inserted without it by one key, and dismissed by another', async () => {
    await openFile(page, branch, 'a.txt')
    await paste(page, 'with\0out ')
    await box().waitFor()
    await page.keyboard.press('Control+.')
    await isDraft('a.txt', `without ${LINES}`)
    expect(await box().count()).toBe(0)
    await paste(page, 'gone\0')
    await box().waitFor()
    await page.keyboard.press('Escape')
    await until(async () => (await box().count()) === 0)
    await page.keyboard.type('on ')
    await isDraft('a.txt', `without on ${LINES}`)
  })

  test('a paste of more than 2 MB is not inserted, says how large the file would be, and holds up nothing', async () => {
    await openFile(page, branch, 'a.txt')
    await paste(page, 'x'.repeat(3 * MB))
    await box().getByText('3.00 MB').waitFor()
    // The buttons of the box are in view on a narrow screen, too, however long the file's lines are.
    await page.setViewportSize({ width: 800, height: 600 })
    const dismiss = box().getByRole('button', { name: 'Dismiss' })
    await until(async () => ((await dismiss.boundingBox())?.x ?? 800) < 780)
    await page.keyboard.type('small ')
    await isDraft('a.txt', `small ${LINES}`)
    await page.keyboard.press('Control+s')
    await isSaved('a.txt', `small ${LINES}`)
    expect(edits()).toBeLessThan(10)
    expect(await box().count()).toBe(1)
  })

  test('a text of 2 MB in bytes takes no more letters, however few characters that are, and opens again', async () => {
    await openFile(page, branch, 'a.txt')
    const full = '語'.repeat(Math.floor((2 * MB - LINES.length) / 3) - 1)
    await paste(page, `${full}\n`)
    const text = `${full}\n${LINES}`
    await isDraft('a.txt', text)
    await page.keyboard.type('語語語')
    await box().getByText('2 MB').first().waitFor()
    // Everything typed at this place is in one box.
    expect(await box().count()).toBe(1)
    const left = 2 * MB - Buffer.byteLength(text)
    await isDraft('a.txt', text.replace('\n', `\n${'語'.repeat(Math.floor(left / 3))}`))
    await page.keyboard.press('Control+s')
    await page.getByRole('status', { name: 'Status' }).getByText('Saved →').first().waitFor()
    const other = await visit(browser.context, desk)
    await openFile(other, branch, 'a.txt')
    await other.keyboard.press('Control+End')
    await other.keyboard.press('Backspace')
    await until(async () => !(await draft('a.txt')).endsWith('\n'))
    await other.close()
  })

  test('what the server alone refuses comes out of the text, and what was typed after it stays', async () => {
    // As if another window had filled the file at the same time, so that the server refuses what this page lets
    // through: a Q typed here arrives as a NUL.
    await page.routeWebSocket(/socket/, socket => {
      const server = socket.connectToServer()
      socket.onMessage(message => server.send(String(message).replace('"Q"', '"Q\\u0000"')))
    })
    await page.reload()
    await openFile(page, branch, 'a.txt')
    await page.keyboard.type('before ')
    await isDraft('a.txt', `before ${LINES}`)
    await page.keyboard.insertText('Q')
    await page.keyboard.insertText('after ')
    await box().getByText('Taken out of the text again').waitFor()
    await isDraft('a.txt', `before after ${LINES}`)
    expect(await page.locator('.cm-line').first().textContent()).toBe('before after one')
    await page.keyboard.press('Control+s')
    await isSaved('a.txt', `before after ${LINES}`)
  })

  test('what is refused for a while is not sent again before something is different', async () => {
    let isRefusing = true
    let refused = 0
    await page.routeWebSocket(/socket/, socket => {
      const server = socket.connectToServer()
      socket.onMessage(message => {
        const { id, ask, path } = JSON.parse(String(message))
        if (ask !== 'edit' || path !== 'a.txt' || !isRefusing) return server.send(message)
        refused++
        socket.send(JSON.stringify({ re: id, error: 'The AI is at work in this branch.' }))
      })
    })
    await page.reload()
    await openFile(page, branch, 'a.txt')
    await page.keyboard.type('kept ')
    await page.getByRole('alert').getByText('The AI is at work').waitFor()
    const first = refused
    await Bun.sleep(3_000)
    // Letters typed while the first one was on its way may have been sent once more.
    expect(refused - first).toBeLessThanOrEqual(1)
    // A save says why it failed, and another file is saved.
    await page.keyboard.press('Control+s')
    await page.getByRole('alert').getByText('What was typed last in a.txt was not accepted by the desk').waitFor()
    await openBeside(page, 'b.txt')
    await page.keyboard.type('b ')
    await page.keyboard.press('Control+s')
    await isSaved('b.txt', `b ${LINES}`)
    await page.getByRole('tab', { name: 'a.txt' }).click()
    const before = refused
    const again = page.getByRole('button', { name: 'Try again' })
    await again.click()
    // The save of b.txt may have caused another try, since the branch has a new commit.
    await until(() => refused > before)
    isRefusing = false
    // A click before the last refusal has arrived sends nothing, since that try is still on its way.
    await until(async () => {
      await again.click({ timeout: 1_000 }).catch(() => undefined)
      return (await again.count()) === 0
    })
    await isDraft('a.txt', `kept ${LINES}`)
    await page.keyboard.press('Control+s')
    await isSaved('a.txt', `kept ${LINES}`)
    expect(await page.getByText('was not accepted by the desk').count()).toBe(0)
  })

  test('a save that waits holds up no save of another branch, and what is saved meanwhile comes after it', async () => {
    const held: (() => void)[] = []
    await page.routeWebSocket(/socket/, socket => {
      const server = socket.connectToServer()
      socket.onMessage(message => {
        const { ask, branch: asked } = JSON.parse(String(message))
        if (ask === 'save' && asked === branch) held.push(() => server.send(message))
        else server.send(message)
      })
    })
    await page.reload()
    await openFile(page, branch, 'a.txt')
    await page.keyboard.type('a ')
    await page.keyboard.press('Control+s')
    await until(() => held.length === 1)
    await openBeside(page, 'b.txt')
    await page.keyboard.type('b ')
    await page.keyboard.press('Control+s')
    await openFile(page, 'main', 'a.txt')
    await page.keyboard.type('m ')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'a.txt')) === `m ${LINES}`)
    expect([await saved('a.txt'), held.length]).toEqual([LINES, 1])
    held[0]?.()
    await isSaved('a.txt', `a ${LINES}`)
    await until(() => held.length === 2)
    held[1]?.()
    await until(async () => (await saved('b.txt')).includes('b '))
  })

  test('typing in a line that a commit from outside changes goes on, is kept, and is chosen from once', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.type('mine ')
    await isDraft('a.txt', LINES.replace('two', 'mine two'))
    await desk.commit(branch, { 'a.txt': LINES.replace('two', 'THEIRS') })
    const words = 'and typed on while it comes '
    await page.keyboard.type(words, { delay: 60 })
    const conflict = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await conflict.waitFor()
    await page.keyboard.type('to the end ')
    await conflict.getByText(`mine ${words}to the end two`).waitFor()
    // At most one message per letter.
    expect(edits()).toBeLessThan(60)
    // The last letters may be on their way on a busy machine.
    await until(async () => (await editsIn(500)) === 0)
    expect(await editsIn(2_000)).toBe(0)
    await conflict.getByRole('button', { name: 'Ours' }).click()
    const text = LINES.replace('two', `mine ${words}to the end two`)
    expect(await editorText()).toBe(text)
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+s')
    await isSaved('a.txt', text)
  })

  test('a composition in a line that a commit from outside changes is typed to its end, and is then chosen from', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.type(' mine')
    await isDraft('a.txt', LINES.replace('two', 'two mine'))
    const keys = await page.context().newCDPSession(page)
    const compose = (text: string) =>
      keys.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length })
    await compose('か')
    await isDraft('a.txt', LINES.replace('two', 'two mineか'))
    await desk.commit(branch, { 'a.txt': LINES.replace('two', 'THEIRS') })
    await page.getByPlaceholder('Resolve the conflicts first').waitFor()
    await compose('かん')
    await compose('漢字')
    expect(await editorText()).toBe(LINES.replace('two', 'two mine漢字'))
    await keys.send('Input.insertText', { text: '漢字' })
    const conflict = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await conflict.getByText('two mine漢字').waitFor()
    await conflict.getByRole('button', { name: 'Ours' }).click()
    expect(await editorText()).toBe(LINES.replace('two', 'two mine漢字'))
  })

  test('kill -9 of the desk after a refused paste loses nothing that was typed before, after and meanwhile', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.type('before ')
    await paste(page, 'odd\0paste')
    await box().waitFor()
    await page.keyboard.type('after ')
    await desk.kill()
    await page.keyboard.type('meanwhile ')
    await page.getByText('The desk does not answer').waitFor()
    await desk.start()
    await isDraft('a.txt', `before after meanwhile ${LINES}`)
    await page.keyboard.type('again ')
    await page.keyboard.press('Control+s')
    await isSaved('a.txt', `before after meanwhile again ${LINES}`)
    expect(await box().count()).toBe(1)
  })
})
