/** Two releases are compared, and lines of a review are commented on, in a real browser. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser } from '../../../support/browser.ts'
import { commit, git } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, openPage, type PageScene, showBranch, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const MIRA = { author: 'Mira Okafor <mira@example.com>' }
const LINES = Array.from({ length: 12 }, (_, at) => `line ${at + 1}`)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

const template = templateOf(async path => {
  const files = { 'a.txt': text(LINES), 'b.txt': 'b\n', '.editorconfig': '[*.txt]\ntab_width = 7\n' }
  const one = await commit(path, 'main', files, { ...MIRA, message: 'Release one' })
  await git(path, 'tag', 'v1.9', one)
  const two = await commit(
    path,
    'main',
    { 'a.txt': text(LINES.with(3, 'fourth')) },
    { ...MIRA, message: 'Release two' },
  )
  await git(path, 'tag', 'v1.10', two)
  await commit(path, 'main', { 'c.txt': 'c\n' }, { ...MIRA, message: 'Later' })
  await commit(path, 'topic', { 'a.txt': text(LINES.with(8, 'ninth')) }, { ...MIRA, message: 'Topic', parents: [one] })
})

describe.skipIf(!hasBrowser)('a review', () => {
  let desk: PageDesk
  let page: DeskPage
  let browser: PageScene['browser']
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
      browser = each.browser
    },
    { template },
  )

  const diff = (path: string) => page.getByRole('article', { name: path, exact: true })
  const comment = (words: string) => page.getByRole('article', { name: 'Comment of' }).filter({ hasText: words })
  const notes = async () => {
    const listed = await desk.git('for-each-ref', 'refs/notes/forge-review')
    return listed === '' ? '' : await desk.git('log', '--notes=forge-review', '--format=%N', '--all', '--', '.')
  }

  /** The desk knows such a rename by the reflog, which a bare repository has on request only. */
  const renameInTerminal = async (from: string, to: string) => {
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    await desk.git('branch', '-m', from, to)
  }

  test('two releases are compared, from the merge base or straight', async () => {
    const two = await desk.git('rev-parse', 'v1.10')
    await page.keyboard.press('Alt+0')
    await page
      .getByRole('listbox', { name: /Commits|graph/i })
      .or(page.getByRole('tree'))
      .first()
      .waitFor()
    await page.keyboard.press('Alt+c')
    await page.keyboard.type(two.slice(0, 12))
    await page
      .getByRole('option', { name: /Release two/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: two.slice(0, 8), selected: true }).waitFor()
    // The tab of a commit that was just opened has the focus on its only pane's tab, once the start page is drawn.
    await page.getByRole('tab', { name: 'AI chat' }).focus()
    await page.keyboard.press('Control+Alt+r')
    await page.getByRole('dialog', { name: `Compare ${two.slice(0, 8)} with` }).waitFor()
    await page.keyboard.type('v1.9')
    await page.keyboard.press('Enter')
    await diff('a.txt').getByText('fourth').waitFor()
    await page.getByRole('button', { name: 'against v1.9' }).waitFor()
    const region = page.getByRole('region', { name: 'Diff', exact: true })
    await until(() => region.evaluate(it => it === document.activeElement))
    expect(await page.getByLabel('Compared', { exact: true }).inputValue()).toBe('base')
    await page.getByRole('button', { name: 'against v1.9' }).click()
    await page.getByRole('combobox', { name: 'Branch, tag or commit' }).fill('topic')
    await page.keyboard.press('Enter')
    await page.getByLabel('Compared', { exact: true }).selectOption('straight')
    await diff('a.txt').getByText('ninth').waitFor()
    await page.getByRole('button', { name: 'Only this commit' }).click()
    await page.getByText('its parent').waitFor()
  })

  test('a merge is compared with its first parent, which is said, or with another one', async () => {
    const parents = [await desk.git('rev-parse', 'topic'), await desk.git('rev-parse', 'main')]
    const merge = await desk.commit('topic', { 'a.txt': 'merged\n' }, { parents, message: 'Merge main' })
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill(`#${merge.slice(0, 12)}`)
    await page
      .getByRole('option', { name: /Merge main/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: merge.slice(0, 8), selected: true }).waitFor()
    await page.keyboard.press('Alt+r')
    await page.getByRole('button', { name: 'against its first parent' }).click()
    await page
      .getByRole('dialog')
      .getByRole('option', { name: `${parents[1]?.slice(0, 8)} (parent 2)` })
      .click()
    await page.getByRole('button', { name: /^against .* \(parent 2\)$/ }).waitFor()
    // The commit of the first parent changed this line; that of the second one did not.
    await diff('a.txt').getByText('line 9', { exact: true }).waitFor()
    expect(await diff('a.txt').getByText('ninth').count()).toBe(0)
    // Both parents were made without one another: git makes of them what the commit does not have.
    await page.getByRole('button', { name: /^against .* \(parent 2\)$/ }).click()
    await page.getByRole('dialog').getByRole('option', { name: 'the merge as git makes it' }).click()
    await page.getByRole('button', { name: 'against the merge as git makes it' }).waitFor()
    await diff('a.txt').getByText('merged', { exact: true }).waitFor()
    await diff('a.txt').getByText('ninth').first().waitFor()
  })

  test('a comment on a removed line says so to the AI, and has another name than one on the line of its number', async () => {
    await desk.commit('topic', { 'a.txt': text(LINES.toSpliced(1, 1, 'second')) })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on removed line 2', exact: true }).click()
    await page.getByRole('textbox', { name: 'Comment on removed line 2', exact: true }).fill('Why gone?')
    await page.keyboard.press('Control+Enter')
    await comment('Why gone?').waitFor()
    await diff('a.txt').getByRole('button', { name: 'Comment on line 2', exact: true }).click()
    await page.getByRole('textbox', { name: 'Comment on line 2', exact: true }).fill('Why so?')
    await page.keyboard.press('Control+Enter')
    await comment('Why so?').waitFor()
    await page.getByRole('button', { name: 'Add all to the message' }).click()
    const field = page.getByRole('textbox', { name: 'Message', exact: true })
    await until(async () => (await field.inputValue()) !== '')
    expect((await field.inputValue()).split('\n\n').sort()).toEqual([
      'In a.txt, line 2:\n> second\nWhy so?',
      'In a.txt, removed line 2 (of the old version):\n> line 2\nWhy gone?',
    ])
  })

  test('a comment on a removed line follows it in the version that is compared with, or is shown apart', async () => {
    const onto = async (lines: string[], ours: (lines: string[]) => string[]) => {
      const base = await desk.commit('main', { 'a.txt': text(lines) })
      await desk.commit('topic', { 'a.txt': text(ours(lines)) }, { parents: [base], message: 'Topic' })
    }
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on removed line 9', exact: true }).click()
    await page.keyboard.type('Why gone?')
    await page.keyboard.press('Control+Enter')
    const below = (line: string) =>
      diff('a.txt').locator(`.dl:has-text("${line}") + .line-comments`).filter({ hasText: 'Why gone?' }).first()
    await below('line 9').waitFor()
    const longer = ['first', 'second', ...LINES]
    await onto(longer, lines => lines.with(10, 'ninth'))
    await diff('a.txt').getByRole('button', { name: 'Comment on removed line 11', exact: true }).waitFor()
    await below('line 9').waitFor()
    // The branch does not remove the line any more.
    await onto(longer, lines => lines.with(12, 'eleventh'))
    await diff('a.txt').getByRole('button', { name: 'Comment on removed line 13', exact: true }).waitFor()
    await below('line 9').waitFor()
    await onto(longer.toSpliced(10, 1), lines => lines.with(0, 'First'))
    const others = page.getByRole('region', { name: 'Comments on other lines' })
    await others.getByRole('group').filter({ hasText: 'Why gone?' }).getByText('line 9', { exact: true }).waitFor()
  })

  test('a line is commented on; the comment follows its line, is resolved, and no commit is made', async () => {
    await showBranch(page, 'topic')
    const before = await desk.git('rev-parse', 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').waitFor()
    await page.keyboard.press('Alt+Shift+3')
    await page.getByText('No unsaved changes.').waitFor()
    await page.getByRole('button', { name: 'Review all changes' }).click()
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    const field = page.getByRole('textbox', { name: 'Comment on line 9' })
    await field.fill('Why <img src=x onerror=alert(1)>?')
    await page.keyboard.press('End')
    // The palette gives the focus back, and the letters with it.
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Enter')
    await page.keyboard.type('Second line')
    const typed = 'Why <img src=x onerror=alert(1)>?\nSecond line'
    expect(await field.inputValue()).toBe(typed)
    // What is typed outlives Escape and a reload.
    await page.keyboard.press('Escape')
    await page.reload()
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    expect(await field.inputValue()).toBe(typed)
    await page.keyboard.press('Control+Enter')
    await comment('Why <img').waitFor()
    await until(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label') === 'Comment on line 9'))
    expect(await page.locator('img[src="x"]').count()).toBe(0)
    expect(
      await comment('Why <img')
        .locator('.words')
        .evaluate(it => getComputedStyle(it).whiteSpace),
    ).toBe('pre-wrap')
    expect(await notes()).toContain('"text":"ninth"')
    expect(await desk.git('rev-parse', 'topic')).toBe(before)
    expect(await findings(page)).toEqual([])
    // An answer stands below it, and is resolved and deleted like any other.
    await comment('Why <img').getByRole('button', { name: 'Reply' }).click()
    await page.getByRole('textbox', { name: 'Comment on line 9' }).fill('Because.')
    await page.keyboard.press('Control+Enter')
    await comment('Because.').waitFor()
    const all = await page.getByRole('article', { name: /^Comment of/ }).allInnerTexts()
    expect(all.map(it => it.includes('Because.'))).toEqual([false, true])
    await comment('Because.').getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await comment('Because.').waitFor({ state: 'detached' })
    // Typing lines above it, as a draft, moves the commented line down.
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('first\nsecond\n')
    await desk.isText('topic', 'a.txt', it => it.startsWith('first\nsecond\n'))
    await page.keyboard.press('Alt+r')
    const below = () =>
      comment('Why <img').evaluate(it => it.closest('.line-comments')?.previousElementSibling?.textContent ?? '')
    await until(async () => (await below()).includes('ninth'))
    await comment('Why <img').getByRole('button', { name: 'Add to the message' }).click()
    await until(async () =>
      (await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).includes('In a.txt, line 11:'),
    )
    await page.keyboard.press('Alt+r')
    await page.getByRole('button', { name: 'Resolve', exact: true }).click()
    await page.getByRole('button', { name: 'Reopen' }).waitFor()
    expect(await notes()).toContain('"isResolved":true')
    await page.reload()
    await page.getByRole('tab', { name: /^topic/, selected: true }).waitFor()
    await page.getByRole('tab', { name: 'a.txt' }).waitFor()
    await page.keyboard.press('Alt+r')
    await page.getByText('Resolved').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await until(async () => !(await notes()).includes('ninth'))
  })

  test('a comment is resolved with its answers, and all are read without reopening them, by a click or by Enter', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const number = diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last()
    await number.click()
    await page.keyboard.type('Why ninth?')
    await page.keyboard.press('Control+Enter')
    // An answer at a later commit, too.
    for (const answer of ['Because.', 'I see.']) {
      await comment('Why ninth?').getByRole('button', { name: 'Reply' }).click()
      await page.keyboard.type(answer)
      await page.keyboard.press('Control+Enter')
      await comment(answer).waitFor()
      await desk.commit('topic', { 'd.txt': `${answer.length}\n` }, { message: 'Meanwhile' })
      await diff('d.txt').waitFor()
    }
    await number.click()
    await page.keyboard.type('Another matter.')
    await page.keyboard.press('Control+Enter')
    await page.getByText('4 open comments').waitFor()
    await comment('Why ninth?').getByRole('button', { name: 'Resolve', exact: true }).click()
    await page.getByText('1 open comments').waitFor()
    await comment('Another matter.').getByRole('button', { name: 'Resolve', exact: true }).waitFor()
    for (const words of ['Why ninth?', 'Because.', 'I see.']) expect(await page.getByText(words).count()).toBe(0)
    const show = page.getByRole('button', { name: 'Show resolved', expanded: false })
    await show.click()
    await comment('Why ninth?').getByRole('button', { name: 'Reopen' }).waitFor()
    await comment('I see.').waitFor()
    const hide = comment('Why ninth?').getByRole('button', { name: 'Hide resolved', expanded: true })
    await hide.press('Enter')
    await comment('Because.').waitFor({ state: 'detached' })
    await show.press('Enter')
    await comment('Because.').waitFor()
    expect(await findings(page)).toEqual([])
    expect(await hide.evaluate(it => it === document.activeElement)).toBe(true)
    await page.getByRole('button', { name: 'Reopen' }).click()
    await page.getByText('4 open comments').waitFor()
    expect(await notes()).not.toContain('"isResolved":true')
  })

  test('side by side, the comments on a removed line and on the line instead of it are each below their half', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await page.keyboard.press('Control+Alt+d')
    const halves = diff('a.txt').locator('.pair').filter({ hasText: 'ninth' }).locator('.half')
    const [left, right] = [halves.first(), halves.last()]
    const say = async (line: string, words: string) => {
      await diff('a.txt')
        .getByRole('button', { name: `Comment on ${line}`, exact: true })
        .click()
      await page.getByRole('textbox', { name: `Comment on ${line}` }).fill(words)
      await page.keyboard.press('Control+Enter')
      await comment(words).waitFor()
    }
    const isBelow = async (words: string, half: typeof left) => {
      const [box, above] = [await comment(words).boundingBox(), await half.boundingBox()]
      if (!box || !above) return false
      return box.y >= above.y + above.height && box.x >= above.x && box.x + box.width <= above.x + above.width
    }
    await say('line 9', 'About the new one')
    expect(await isBelow('About the new one', right)).toBe(true)
    await say('removed line 9', 'About the old one')
    expect(await isBelow('About the old one', left)).toBe(true)
    expect(await isBelow('About the new one', right)).toBe(true)
    await comment('About the old one').getByRole('button', { name: 'Reply' }).click()
    await page.keyboard.type('It was wrong')
    await page.keyboard.press('Control+Enter')
    await comment('It was wrong').waitFor()
    expect(await isBelow('It was wrong', left)).toBe(true)
  })

  test('a comment follows its line also where most of the file is gone', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    await page.getByRole('textbox', { name: 'Comment on line 9' }).fill('Keep this')
    await page.keyboard.press('Control+Enter')
    await comment('Keep this').waitFor()
    await desk.commit('topic', { 'a.txt': text(['first', 'ninth']) })
    await diff('a.txt').getByText('first', { exact: true }).waitFor()
    const below = () =>
      comment('Keep this').evaluate(it => it.closest('.line-comments')?.previousElementSibling?.textContent ?? '')
    await until(async () => (await below()).endsWith('ninth'))
  })

  test('a comment that is being written keeps its line, its letters and its words, whatever comes in', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    await page.getByRole('textbox', { name: 'Comment on line 9' }).waitFor()
    await page.keyboard.type('a dog')
    for (let at = 0; at < 3; at++) await page.keyboard.press('ArrowLeft')
    await page.keyboard.type('good ')
    // A commit from outside, while it is typed, puts a line above it.
    let isIn = false
    const added = text(['first', ...LINES.with(8, 'ninth')])
    const coming = desk.commit('topic', { 'a.txt': added }).then(() => {
      isIn = true
    })
    let typed = ''
    const field = page.getByRole('textbox', { name: 'Comment on line 10' })
    for (let more = 20; more > 0; ) {
      const letter = String.fromCharCode(97 + (typed.length % 26))
      typed += letter
      await page.keyboard.type(letter)
      if (isIn && (await field.count()) > 0) more--
    }
    await coming
    expect(await field.inputValue()).toBe(`a good ${typed}dog`)
    const below = () => field.evaluate(it => it.closest('.line-comments')?.previousElementSibling?.textContent)
    expect(await below()).toContain('ninth')
    // Escape leaves the field, and what is typed stays in it; also when the page is loaded again.
    await page.keyboard.press('Escape')
    await until(() => field.evaluate(it => it !== document.activeElement))
    expect(await field.inputValue()).toBe(`a good ${typed}dog`)
    await page.reload()
    await page.getByRole('tab', { name: /^topic/, selected: true }).waitFor()
    await page.keyboard.press('Alt+r')
    await until(async () => (await field.inputValue()) === `a good ${typed}dog`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await field.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+m')
    await page.getByRole('dialog', { name: 'Comment on a.txt' }).getByLabel('Line').fill('10')
    await page.keyboard.press('Enter')
    expect(await field.inputValue()).toBe('')
  })

  test('a tab is as wide as in the editor', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByText('ninth').waitFor()
    const width = () =>
      diff('a.txt')
        .locator('.dl')
        .first()
        .evaluate(it => getComputedStyle(it).tabSize)
    await until(async () => (await width()) === '7')
  })

  test('the diff has the focus where the element that had it is gone with another view', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('checkbox', { name: 'Viewed' }).click()
    await page.keyboard.press('Alt+Shift+3')
    await page.getByText('No unsaved changes.').waitFor()
    const region = page.getByRole('region', { name: 'Diff' })
    await until(() => region.evaluate(it => it === document.activeElement))
  })

  test('changes in blanks are hidden on wish, by a key and a button', async () => {
    await desk.commit('topic', { 'b.txt': 'b  \n' }, MIRA)
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByText('ninth').waitFor()
    const changed = diff('b.txt').locator('.dl:is(.a, .m)')
    await until(async () => (await changed.count()) === 2)
    await page.keyboard.press('Alt+Shift+s')
    await until(async () => (await changed.count()) === 0)
    expect(await diff('a.txt').getByText('ninth').count()).toBe(1)
    await page.getByRole('button', { name: 'Hide whitespace changes', pressed: true }).click()
    await until(async () => (await changed.count()) === 2)
  })

  test('comments on lines in which only blanks have changed stay in sight where these changes are hidden', async () => {
    const base = await desk.commit('main', { 'b.txt': 'b\nc\n' })
    await desk.commit('topic', { 'b.txt': 'b  \n  c\n' }, { ...MIRA, parents: [base] })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const commentOn = async (line: string, words: string) => {
      await diff('b.txt')
        .getByRole('button', { name: `Comment on ${line}`, exact: true })
        .click()
      await page.keyboard.type(words)
    }
    await commentOn('line 1', 'Why blanks?')
    await page.keyboard.press('Control+Enter')
    await comment('Why blanks?').waitFor()
    await commentOn('removed line 2', 'Why not there?')
    await page.keyboard.press('Control+Enter')
    await comment('Why not there?').waitFor()
    await commentOn('line 1', 'And')
    await page.keyboard.press('Alt+Shift+s')
    await diff('b.txt').getByText('No lines changed.').waitFor()
    const hidden = diff('b.txt').getByRole('region', { name: 'Comments on hidden lines of b.txt' })
    await hidden.getByRole('group', { name: 'b.txt, line 1', exact: true }).getByText('Why blanks?').waitFor()
    await hidden.getByRole('group', { name: 'b.txt, removed line 2' }).getByText('Why not there?').waitFor()
    // The field moves there, too, and the focus with it.
    await page.keyboard.type(' this?')
    expect(await hidden.getByRole('textbox', { name: 'Comment on line 1' }).inputValue()).toBe('And this?')
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Control+Enter')
    await comment('And this?').waitFor()
    await page.keyboard.press('Alt+Shift+s')
    await hidden.waitFor({ state: 'detached' })
    await diff('b.txt').locator('.dl:has-text("b  ") + .line-comments').getByText('And this?').waitFor()
  })

  test('by commit, a comment is at its line of that commit, or above the diffs where the commit does not have it', async () => {
    await desk.commit('topic', { 'a.txt': text(['first', 'second', ...LINES.with(8, 'ninth')]) }, { message: 'Longer' })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    for (const [line, words] of [
      ['11', 'Why ninth?'],
      ['1', 'Why first?'],
    ] as const) {
      await diff('a.txt')
        .getByRole('button', { name: `Comment on line ${line}`, exact: true })
        .click()
      await page.keyboard.type(words)
      await page.keyboard.press('Control+Enter')
      await comment(words).waitFor()
    }
    const below = (line: string) => diff('a.txt').locator(`.dl:has-text("${line}") + .line-comments`)
    await page.keyboard.press('Alt+Shift+2')
    await below('first').getByText('Why first?').waitFor()
    await page.getByRole('button', { name: 'Topic' }).click()
    await diff('a.txt').locator('.dl:has-text("first")').waitFor({ state: 'detached' })
    await below('ninth').getByText('Why ninth?').waitFor()
    const others = page.getByRole('region', { name: 'Comments on other lines' })
    await others.getByRole('group', { name: 'a.txt, line 1', exact: true }).getByText('Why first?').waitFor()
    // The AI has the text of the branch.
    await comment('Why ninth?').getByRole('button', { name: 'Add to the message' }).click()
    const message = page.getByRole('textbox', { name: 'Message', exact: true })
    await until(async () => (await message.inputValue()).includes('In a.txt, line 11:'))
  })

  test('a comment by keyboard on a folded line opens it, and stays when the branch is renamed and amended', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByText('ninth').waitFor()
    await page.keyboard.press('Control+Alt+m')
    await page.getByRole('dialog', { name: 'Comment on a.txt' }).getByLabel('Line').fill('2')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Comment on line 2' }).fill('Rename this')
    await page.keyboard.press('Control+Enter')
    await comment('Rename this').waitFor()
    // A line that is shown already has its field at once: it has the focus when the dialog has gone.
    await page.keyboard.press('Control+Alt+m')
    await page.getByRole('dialog', { name: 'Comment on a.txt' }).getByLabel('Line').fill('9')
    await page.keyboard.press('Enter')
    const field = page.getByRole('textbox', { name: 'Comment on line 9' })
    await until(() => field.evaluate(it => it === document.activeElement))
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    await page.keyboard.press('Alt+Shift+t')
    await page.getByRole('dialog').getByLabel('Commit message').fill('Another message')
    await page.getByRole('dialog').getByRole('button', { name: 'Amend' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Shift+F2')
    await page.getByRole('dialog').getByRole('textbox').fill('theme')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'theme', selected: true }).waitFor()
    await page.keyboard.press('Alt+r')
    await comment('Rename this').waitFor()
    expect(await desk.git('log', '-1', '--format=%s', 'theme')).toBe('Another message')
    // The line is changed as the comment wants it; the comment is answered where it stands apart from its line.
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.type('renamed ')
    await desk.isText('theme', 'a.txt', it => it.includes('renamed line 2'))
    await page.keyboard.press('Alt+r')
    const others = page.getByRole('region', { name: 'Comments on other lines' })
    await others.getByText('a line that has changed since').waitFor()
    await others.getByRole('button', { name: 'Reply' }).click()
    await page.keyboard.type('Renamed')
    await page.keyboard.press('Control+Enter')
    await until(async () => (await others.getByRole('article').count()) === 2)
    await others.getByRole('article').filter({ hasText: 'Renamed' }).waitFor()
  })

  test('a comment and messages that are being written follow their branch when it is renamed', async () => {
    const fieldIn = (window: DeskPage) => window.getByRole('textbox', { name: 'Comment on line 9' })
    const isThere = async (branch: string, windows: readonly DeskPage[]) => {
      for (const window of windows) {
        await window.getByRole('tab', { name: branch, selected: true }).waitFor()
        await fieldIn(window).waitFor()
        expect(await fieldIn(window).inputValue()).toBe('Unfinished')
      }
    }
    // This window knows nothing of what is typed in the other ones.
    const early = await openPage(browser.context, desk)
    await showBranch(early, 'topic')
    await early.getByRole('tab', { name: 'Chat' }).waitFor()
    await showBranch(page, 'topic')
    await page.getByRole('tab', { name: 'Chat' }).click()
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Not sent')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    await fieldIn(page).fill('Unfinished')
    const late = await openPage(browser.context, desk)
    await showBranch(late, 'topic')
    await late.keyboard.press('Alt+r')
    await fieldIn(late).waitFor()

    await renameInTerminal('topic', 'theme')
    await isThere('theme', [page, late])
    await early.getByRole('tab', { name: 'theme', selected: true }).waitFor()
    await page.reload()
    await isThere('theme', [page])
    await page.keyboard.press('Shift+F2')
    await page.getByRole('dialog').getByRole('textbox').fill('final')
    await page.keyboard.press('Enter')
    await isThere('final', [page, late])
    await early.getByRole('tab', { name: 'final', selected: true }).waitFor()
    await late.reload()
    await isThere('final', [late])

    // No window is there to follow this one.
    const windows = [page, late, early]
    page = await openPage(browser.context, desk)
    await page.goto('about:blank')
    for (const window of windows) await window.close({ runBeforeUnload: false })
    await desk.ask({ ask: 'rename branch', branch: 'final', to: 'last' })
    await page.goto(desk.url)
    await showBranch(page, 'last')
    await page.keyboard.press('Alt+r')
    await isThere('last', [page])
    await page.getByRole('tab', { name: 'Chat' }).click()
    expect(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).toBe('Not sent')
    await page.keyboard.press('Alt+r')
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await page.evaluate(() => Object.keys(localStorage).filter(key => key.startsWith('comment in')))).toEqual([])
  })

  test('what is being written in two windows is each one’s own, also after a reload', async () => {
    const other = await openPage(browser.context, desk)
    const windows = [
      { window: page, line: 8, words: 'of one' },
      { window: other, line: 9, words: 'of the other' },
    ]
    const commentIn = (window: DeskPage, line: number) =>
      window.getByRole('textbox', { name: `Comment on line ${line}` })
    const messageIn = (window: DeskPage) => window.getByRole('textbox', { name: 'Message', exact: true })
    for (const { window } of windows) {
      await showBranch(window, 'topic')
      await window.getByRole('tab', { name: 'Chat' }).click()
    }
    // Typed in turns: the last one of each kind is that of another window.
    for (const { window, words } of windows) await messageIn(window).fill(`Question ${words}`)
    for (const { window } of windows) await window.keyboard.press('Alt+r')
    for (const { window, line, words } of windows) {
      const button = window.getByRole('article', { name: 'a.txt', exact: true }).getByRole('button', {
        name: `Comment on line ${line}`,
      })
      await button.last().click()
      await commentIn(window, line).fill(`Comment ${words}`)
    }
    for (const { window, line, words } of windows) {
      await window.reload()
      await commentIn(window, line).waitFor()
      expect(await commentIn(window, line).inputValue()).toBe(`Comment ${words}`)
      await window.getByRole('tab', { name: 'Chat' }).click()
      expect(await messageIn(window).inputValue()).toBe(`Question ${words}`)
      await window.keyboard.press('Alt+r')
    }
    // One that is given up takes nothing from the other window.
    await page.getByRole('button', { name: 'Cancel' }).click()
    await other.reload()
    expect(await commentIn(other, 9).inputValue()).toBe('Comment of the other')
    await other.close()
  })

  describe('of a branch that is gone at a reload, while another window was used last,', () => {
    const branches = () => page.getByRole('tablist', { name: 'Branches' }).getByRole('tab')
    const names = async () => (await branches().allInnerTexts()).map(name => name.trim().split(/[,\n]/)[0])
    const field = () => page.getByRole('textbox', { name: 'Comment on line 9' })
    let other: DeskPage
    let before: (string | undefined)[]

    beforeEach(async () => {
      other = await openPage(browser.context, desk)
      await showBranch(page, 'main')
      await showBranch(page, 'topic')
      await page.keyboard.press('Alt+r')
      await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
      await field().fill('Unfinished')
      before = await names()
      await page.goto('about:blank')
      await other.keyboard.press('Alt+t')
      await other.getByRole('tab', { name: 'Tasks', selected: true }).waitFor()
      await until(async () => !JSON.stringify(await desk.layout()).includes('topic'))
    })
    afterEach(() => other.close())

    test('its tab, the others and what was being written are kept, and it can be restored', async () => {
      await desk.git('branch', '-D', 'topic')
      await page.goto(desk.url)
      await page.getByRole('button', { name: 'Restore branch' }).waitFor()
      expect(await names()).toEqual(before)
      expect(await field().inputValue()).toBe('Unfinished')
      await page.getByRole('button', { name: 'Restore branch' }).click()
      await until(() => desk.has('topic'))
      await page.getByRole('button', { name: 'Restore branch' }).waitFor({ state: 'detached' })
      expect(await field().inputValue()).toBe('Unfinished')
    })

    test('its tab has its new name if it was renamed', async () => {
      await renameInTerminal('topic', 'theme')
      await page.goto(desk.url)
      await page.getByRole('tab', { name: 'theme', selected: true }).waitFor()
      await field().waitFor()
      expect(await field().inputValue()).toBe('Unfinished')
      expect(await names()).toEqual(before.map(name => (name === 'topic' ? 'theme' : name)))
    })
  })

  test('the field of a comment is shown whole, with its buttons', async () => {
    const lines = Array.from({ length: 80 }, (_, at) => `added ${at + 1}`)
    await desk.commit('topic', { 'a.txt': text(lines) })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const numberOf = (line: number) =>
      diff('a.txt').getByRole('button', { name: `Comment on line ${line}`, exact: true })
    const form = page.locator('form.comment')
    /** How far the form is below the head of its file, and above the end of the diffs, in pixels. */
    const room = () =>
      form.evaluate(it => {
        const { top, bottom } = it.getBoundingClientRect()
        const head = it.closest('article')?.querySelector('header')
        const box = it.closest('.diffs')
        if (!head || !box) throw new Error('The form is in no diff.')
        return [top - head.getBoundingClientRect().bottom, box.getBoundingClientRect().bottom - bottom]
      })
    // The line is this far above the end of the diffs.
    for (const distance of [0, 30, 60, 90]) {
      await numberOf(40).evaluate((it, to) => {
        it.scrollIntoView({ block: 'end' })
        const box = it.closest('.diffs')
        if (box) box.scrollTop += to
      }, distance)
      await numberOf(40).click()
      await page.getByRole('textbox', { name: 'Comment on line 40' }).waitFor()
      const [above = 0, below = 0] = await room()
      expect(above).toBeGreaterThanOrEqual(0)
      expect(below).toBeGreaterThanOrEqual(0)
      await form.getByRole('button', { name: 'Cancel' }).click()
      await form.waitFor({ state: 'detached' })
    }
  })

  test('a comment on a brace follows its line, and not another brace that is nearer afterwards', async () => {
    const block = (name: string) => [`if ${name} {`, '  go', '', '', '}']
    const lines = [...block('one'), ...block('two'), ...block('three')]
    await desk.commit('topic', { 'm.txt': text(lines) }, { message: 'Three blocks' })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('m.txt').getByRole('button', { name: 'Comment on line 10', exact: true }).click()
    await page.getByRole('textbox', { name: 'Comment on line 10' }).fill('The end of two')
    await page.keyboard.press('Control+Enter')
    await comment('The end of two').waitFor()
    /** The number of the line that the comment stands below. */
    const lineAbove = () =>
      comment('The end of two').evaluate(it => {
        const rows = [
          ...document.querySelectorAll('article.diff[data-path="m.txt"] button[aria-label^="Comment on line"]'),
        ]
        const above = rows.filter(row => row.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_FOLLOWING)
        return above.at(-1)?.getAttribute('aria-label')
      })
    await until(async () => (await lineAbove()) === 'Comment on line 10')
    await desk.commit('topic', { 'm.txt': text(['1', '2', '3', '4', '5', ...lines]) }, { message: 'Five lines above' })
    await until(async () => (await lineAbove()) === 'Comment on line 15')
    const made = await desk.git('rev-parse', 'topic~1')
    // In the commit that it was made at, too.
    await page.getByRole('tab', { name: 'By commit' }).click()
    await page.getByRole('button', { name: 'Three blocks' }).click()
    await until(async () => (await lineAbove()) === 'Comment on line 10')
    // Where that commit is gone, as after an amend and a clean-up, the comment is still there.
    const all = { 'm.txt': text(['1', '2', '3', '4', '5', ...lines]) }
    const amended = await desk.commit('amended', all, { parents: [await desk.git('rev-parse', 'topic~2')] })
    await desk.git('update-ref', 'refs/heads/topic', amended)
    await desk.git('gc', '--quiet', '--prune=now')
    expect(await desk.git('cat-file', '-t', made).catch(() => 'gone')).toBe('gone')
    const ask = { ask: 'comments', at: { kind: 'branch', branch: 'topic' } } as const
    expect(await desk.ask(ask)).toEqual([expect.objectContaining({ words: 'The end of two' })])
  })

  test('stays at the line that is read when a commit renames its file', async () => {
    const lines = Array.from({ length: 120 }, (_, at) => `added ${at + 1}`)
    await desk.commit('topic', { 'b.txt': text(lines), 'm.txt': text(lines), 'x.txt': text(lines) })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const lineIn = (path: string) => diff(path).getByRole('button', { name: 'Comment on line 60', exact: true })
    await lineIn('m.txt').scrollIntoViewIfNeeded()
    await page.getByRole('region', { name: 'Diff' }).hover()
    await page.mouse.wheel(0, 120)
    const top = async (path: string) => Math.round((await lineIn(path).boundingBox())?.y ?? Number.NaN)
    let before = Number.NaN
    await until(async () => {
      const last = before
      before = await top('m.txt')
      return before === last
    })
    await desk.commit('topic', { 'm.txt': null, 'zz/m.txt': text(lines) })
    await diff('zz/m.txt').waitFor()
    await until(async () => Math.abs((await top('zz/m.txt')) - before) <= 1)
  })

  test('words that are being written about a line stay there when another line is clicked', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const begin = (line: number) =>
      diff('a.txt')
        .getByRole('button', { name: `Comment on line ${line}` })
        .last()
        .click()
    const field = (line: number) => page.getByRole('textbox', { name: `Comment on line ${line}` })
    await begin(8)
    await begin(9)
    await field(9).fill('About nine')
    await begin(8)
    await page.getByText('A comment on a.txt, line 9, is not sent yet').first().waitFor()
    expect(await field(8).count()).toBe(0)
    expect(await field(9).inputValue()).toBe('About nine')
    await until(() => field(9).evaluate(element => element === document.activeElement))
  })

  test('a comment, and one that is being written, follow the renames of their file', async () => {
    const lines = LINES.with(8, 'ninth')
    const added = text(LINES.map(line => `new ${line}`))
    await desk.commit('topic', { 'm.txt': 'm\n', 'new.txt': added })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    for (const path of ['a.txt', 'new.txt']) {
      await diff(path).getByRole('button', { name: 'Comment on line 9' }).last().click()
      await page.getByRole('textbox', { name: 'Comment on line 9' }).fill(`Saved in ${path}`)
      await page.keyboard.press('Control+Enter')
      await comment(`Saved in ${path}`).waitFor()
    }
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    const fieldIn = (path: string, line: number) =>
      diff(path).getByRole('textbox', { name: `Comment on line ${line}`, exact: true })
    await fieldIn('a.txt', 9).waitFor()
    /** Types on until the field stands in another file. Gives what was typed. */
    const typeUntilIn = async (path: string, line: number) => {
      let typed = ''
      for (let more = 10; more > 0; ) {
        typed += String.fromCharCode(97 + (typed.length % 26))
        await page.keyboard.type(typed.slice(-1))
        if ((await fieldIn(path, line).count()) > 0) more--
      }
      return typed
    }
    // By a commit of a terminal, which also puts a line above.
    const moved = text(['first', ...lines])
    const committed = { 'a.txt': null, 'z.txt': moved, 'new.txt': null, 'b/new.txt': added }
    const coming = desk.commit('topic', committed)
    let typed = await typeUntilIn('z.txt', 10)
    await coming
    expect(await fieldIn('z.txt', 10).inputValue()).toBe(typed)
    const below = (path: string, words: string) =>
      diff(path)
        .locator('.line-comments')
        .filter({ hasText: words })
        .evaluate(it => it.previousElementSibling?.textContent)
    expect(await below('z.txt', 'Saved in a.txt')).toContain('ninth')
    expect(await below('b/new.txt', 'Saved in new.txt')).toContain('new line 9')
    // On the desk, in another window; its undo leads back.
    const renaming = desk.ask({ ask: 'move', branch: 'topic', moves: [{ from: 'z.txt', to: 'b/a.txt' }] })
    typed += await typeUntilIn('b/a.txt', 10)
    await renaming
    expect(await fieldIn('b/a.txt', 10).inputValue()).toBe(typed)
    await until(async () => (await below('b/a.txt', 'Saved in a.txt'))?.includes('ninth') === true)
    await page.reload()
    await fieldIn('b/a.txt', 10).waitFor()
    expect(await fieldIn('b/a.txt', 10).inputValue()).toBe(typed)
    await desk.ask({ ask: 'undo', branch: 'topic' })
    await fieldIn('z.txt', 10).waitFor()
    await until(async () => (await below('z.txt', 'Saved in a.txt'))?.includes('ninth') === true)
    expect(await page.getByRole('region', { name: 'Comments on other lines' }).count()).toBe(0)
    expect(await page.getByText('The field that you typed in is gone').count()).toBe(0)
    // It is sent with the line and the file that it has now.
    await fieldIn('z.txt', 10).focus()
    await page.keyboard.press('Control+Enter')
    await diff('z.txt').getByRole('article', { name: 'Comment of' }).filter({ hasText: typed }).waitFor()
  })

  test('a comment that is being written stays in reach when its file leaves the review', async () => {
    await desk.commit('topic', { 'm.txt': 'm\n' })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    await page.keyboard.type('Unfinished')
    const others = page.getByRole('region', { name: 'Comments on other lines' })
    const field = others.getByRole('textbox', { name: 'Comment on line 9' })
    await desk.commit('topic', { 'a.txt': text(LINES) })
    await field.waitFor()
    // What is typed on goes there.
    await page.keyboard.type(' words')
    expect(await field.inputValue()).toBe('Unfinished words')
    await others.getByRole('button', { name: 'a.txt, line 9' }).waitFor()
    expect(await page.getByText('The field that you typed in is gone').count()).toBe(0)
    await page.reload()
    await field.waitFor()
    expect(await field.inputValue()).toBe('Unfinished words')
    // A comment on another line leads to it.
    await diff('m.txt').getByRole('button', { name: 'Comment on line 1' }).click()
    await until(() => field.evaluate(it => it === document.activeElement))
    await others.getByRole('button', { name: 'Cancel' }).click()
    await others.waitFor({ state: 'detached' })
    await diff('m.txt').getByRole('button', { name: 'Comment on line 1' }).click()
    await page.getByRole('textbox', { name: 'Comment on line 1' }).fill('About m')
    await page.keyboard.press('Control+Enter')
    await comment('About m').waitFor()
    await desk.commit('topic', { 'm.txt': null })
    await others.getByRole('article').filter({ hasText: 'About m' }).waitFor()
    // A deleted file has no lines in the new version.
    await desk.commit('topic', { 'a.txt': null })
    await diff('a.txt').getByText('line 1', { exact: true }).waitFor()
    await page.keyboard.press('Control+Alt+m')
    await page.getByRole('dialog', { name: 'Comment on a.txt' }).getByLabel('Line').fill('2')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('The review shows no line of the new version').waitFor()
    await page.keyboard.press('Escape')
  })

  test('a comment that is being written is kept apart, with the text of its line, when that changes', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    await page.keyboard.type('Is it')
    const others = page.getByRole('region', { name: 'Comments on other lines' })
    const apart = others.getByRole('textbox', { name: 'Comment on line 9' })
    await desk.commit('topic', { 'a.txt': text(LINES.with(8, 'nine')) })
    await apart.waitFor()
    await page.keyboard.type(' the')
    await others.getByRole('button', { name: 'a.txt, a line that has changed' }).waitFor()
    await others.getByText('ninth', { exact: true }).waitFor()
    expect(await diff('a.txt').getByRole('textbox').count()).toBe(0)
    await page.reload()
    await apart.waitFor()
    expect(await apart.inputValue()).toBe('Is it the')
    // The line is as it was again, below another one.
    await desk.commit('topic', { 'a.txt': text(['first', ...LINES.with(8, 'ninth')]) })
    const field = diff('a.txt').getByRole('textbox', { name: 'Comment on line 10', exact: true })
    await field.waitFor()
    await field.press('End')
    await page.keyboard.type(' right')
    await desk.commit('topic', { 'a.txt': text(['first', ...LINES.with(8, 'nine')]) })
    await others.getByRole('textbox', { name: 'Comment on line 10' }).waitFor()
    await page.keyboard.type(' word?')
    await page.keyboard.press('Control+Enter')
    await others.getByRole('group').filter({ hasText: 'Is it the right word?' }).getByText('ninth').waitFor()
    expect(await notes()).toContain('"text":"ninth"')
  })

  test('an answer that is being written stays with its comment when the line of that changes', async () => {
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 9' }).last().click()
    await page.getByRole('textbox', { name: 'Comment on line 9' }).fill('Is it right?')
    await page.keyboard.press('Control+Enter')
    await comment('Is it right?').getByRole('button', { name: 'Reply' }).click()
    await diff('a.txt').getByRole('textbox', { name: 'Comment on line 9' }).waitFor()
    await page.keyboard.type('Yes,')
    await desk.commit('topic', { 'a.txt': text(LINES.with(8, 'nine')) })
    const others = page.getByRole('region', { name: 'Comments on other lines' })
    const field = others.getByRole('textbox', { name: 'Comment on line 9' })
    await field.waitFor()
    await page.keyboard.type(' it')
    expect(await diff('a.txt').getByRole('textbox').count()).toBe(0)
    const above = () => field.evaluate(it => it.closest('form')?.previousElementSibling?.textContent)
    expect(await above()).toContain('Is it right?')
    // The line is as it was again, below another one, and changes once more.
    await desk.commit('topic', { 'a.txt': text(['first', ...LINES.with(8, 'ninth')]) })
    const inDiff = diff('a.txt').getByRole('textbox', { name: 'Comment on line 10', exact: true })
    await inDiff.waitFor()
    await page.keyboard.type(' is')
    expect(await inDiff.inputValue()).toBe('Yes, it is')
    await page.reload()
    await until(async () => (await inDiff.inputValue()) === 'Yes, it is')
    await inDiff.press('End')
    await desk.commit('topic', { 'a.txt': text(['first', ...LINES.with(8, 'nine')]) })
    await field.waitFor()
    await page.keyboard.type('.')
    await page.keyboard.press('Control+Enter')
    await others.getByRole('article').nth(1).getByText('Yes, it is.').waitFor()
    const line = others.getByRole('group', { name: 'a.txt, a line that has changed since' })
    expect(await line.getByRole('article').count()).toBe(2)
    // The place and the text of the line stand once, above both, and the author is whole.
    expect(await line.getByRole('button', { name: 'a.txt, a line that has changed since' }).count()).toBe(1)
    expect(await line.getByText('ninth', { exact: true }).count()).toBe(1)
  })

  test('above the diffs, a comment has its author whole, its age in one line, and a long path above it', async () => {
    await page.setViewportSize({ width: 1280, height: 800 })
    const path = 'lib/sinatra/middleware/a/long/way/down/in/folders/base.rb'
    await desk.commit('topic', { [path]: text(LINES) })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff(path).getByRole('button', { name: 'Comment on line 9' }).last().click()
    await page.keyboard.type('Why?')
    await page.keyboard.press('Control+Enter')
    await comment('Why?').waitFor()
    await desk.commit('topic', { [path]: text(LINES.with(8, 'nine')) })
    const apart = page.getByRole('region', { name: 'Comments on other lines' }).getByRole('article')
    await apart.getByText('Why?').waitFor()
    const isWhole = (it: Element) => it.scrollWidth <= it.clientWidth && it.getClientRects().length === 1
    const [author, time] = [apart.locator('bdi'), apart.locator('header .meta')]
    expect(await author.evaluate(isWhole)).toBe(true)
    const [button, height] = [apart.getByRole('button', { name: 'Resolve' }), (it: Element) => it.clientHeight]
    expect(await time.evaluate(height)).toBeLessThanOrEqual(await button.evaluate(height))
    const place = page.getByRole('button', { name: `${path}, a line that has changed since` })
    expect(await place.evaluate(isWhole)).toBe(true)
  })

  test('a comment on a line in a fold opens three lines around it, and the rest by clicks', async () => {
    const long = Array.from({ length: 600 }, (_, at) => `line ${at + 1}`)
    const base = await desk.commit('main', { 'a.txt': text(long) })
    await desk.commit('topic', { 'a.txt': text(long.with(0, 'first').with(599, 'last')) }, { parents: [base] })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const line = (number: number) => diff('a.txt').locator('.dl').getByText(`line ${number}`, { exact: true })
    const fold = (count: number) => diff('a.txt').getByRole('button', { name: `${count} unchanged lines` })
    await fold(592).waitFor()
    await page.keyboard.press('Control+Alt+m')
    await page.getByRole('dialog', { name: 'Comment on a.txt' }).getByLabel('Line').fill('300')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Comment on line 300' }).fill('Why?')
    await page.keyboard.press('Control+Enter')
    await comment('Why?').waitFor()
    for (const shown of [297, 300, 303]) await line(shown).waitFor()
    expect((await line(296).count()) + (await line(304).count())).toBe(0)
    expect(await fold(292).textContent()).toContain('line 296')
    await fold(293).click()
    await line(304).waitFor()
    expect(await line(296).count()).toBe(0)
    // What was opened stays so without the comment.
    await comment('Why?').getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await fold(299).waitFor()
    await line(304).waitFor()
  })

  test('with a comment that is being written, a click on a file scrolls the diffs to it each time, and nothing else', async () => {
    const long = Array.from({ length: 300 }, (_, at) => `line ${at}\n`).join('')
    await desk.commit('topic', { 'a.txt': long, 'm.txt': long, 'z.txt': long })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('a.txt').getByRole('button', { name: 'Comment on line 12' }).last().click()
    await page.keyboard.type('Unsent')
    const files = page.getByRole('navigation', { name: 'Changed files' })
    const isFirst = async (path: string) => {
      const [view, shown] = await Promise.all([page.locator('.diffs').boundingBox(), diff(path).boundingBox()])
      return view !== null && shown !== null && Math.abs(shown.y - view.y) < 5
    }
    for (let time = 0; time < 2; time++) {
      await files.getByRole('button', { name: 'z.txt' }).click()
      await until(() => isFirst('z.txt'))
      await diff('z.txt').hover()
      await page.mouse.wheel(0, -100_000)
      await until(() => isFirst('a.txt'))
    }
    const { scrollTop, scrollHeight, clientHeight } = await page.evaluate(() => {
      const { scrollTop, scrollHeight, clientHeight } = document.documentElement
      return { scrollTop, scrollHeight, clientHeight }
    })
    expect([scrollTop, scrollHeight]).toEqual([0, clientHeight])
  })

  test('its place and its folded files are kept while another tab is shown, and the list marks the file that is read', async () => {
    const long = (name: string) => Array.from({ length: 200 }, (_, at) => `${name} line ${at}\n`).join('')
    const names = Array.from({ length: 12 }, (_, at) => `file-${at + 10}.txt`)
    await desk.commit('topic', Object.fromEntries(names.map(name => [name, long(name)])))
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const files = page.getByRole('navigation', { name: 'Changed files' })
    const marked = files.locator('[aria-current="true"]')
    const box = page.locator('.diffs')
    const topOf = async (line: string) => {
      const [view, shown] = [await box.boundingBox(), await page.getByText(line, { exact: true }).boundingBox()]
      return Math.round((shown?.y ?? Number.NaN) - (view?.y ?? Number.NaN))
    }
    await diff('file-10.txt').getByRole('button', { name: 'Diff of file-10.txt' }).click()
    await files.getByRole('button', { name: 'file-15.txt' }).click()
    await page.getByText('file-15.txt line 9', { exact: true }).waitFor()
    await until(async () => (await marked.textContent())?.includes('file-15.txt') === true)
    // The wheel leads into the next file, which the list then marks.
    await diff('file-15.txt').hover()
    await page.mouse.wheel(0, 3600)
    await page.getByText('file-16.txt line 9', { exact: true }).waitFor()
    await page.mouse.wheel(0, 1100)
    await until(async () => (await marked.textContent())?.includes('file-16.txt') === true)
    await page.getByText('file-16.txt line 40', { exact: true }).waitFor()
    const top = await topOf('file-16.txt line 40')

    await showBranch(page, 'main')
    await showBranch(page, 'topic')
    await page.getByText('file-16.txt line 40', { exact: true }).waitFor()
    await until(async () => Math.abs((await topOf('file-16.txt line 40')) - top) <= 1)
    expect(await marked.textContent()).toContain('file-16.txt')
    await page
      .getByRole('button', { name: 'Diff of file-10.txt' })
      .and(page.locator('[aria-expanded="false"]'))
      .waitFor({
        state: 'attached',
      })
  })

  test('files stay viewed when the page is loaded again, unless they have changed', async () => {
    await desk.commit('topic', { 'd.txt': 'd\n', 'e.txt': 'e\n' })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const viewed = (path: string) => diff(path).getByRole('checkbox', { name: 'Viewed' })
    await viewed('d.txt').check()
    await viewed('e.txt').check()
    await page.getByText('2 of 3', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('2 of 3', { exact: true }).waitFor()
    expect(await viewed('a.txt').isChecked()).toBe(false)
    await diff('d.txt').getByRole('button', { name: 'Diff of d.txt', expanded: false }).waitFor()
    await page.goto('about:blank')
    await desk.commit('topic', { 'd.txt': 'another d\n' })
    await page.goto(desk.url)
    await page.getByText('1 of 3', { exact: true }).waitFor()
    await diff('d.txt').getByText('another d').waitFor()
    expect(await viewed('e.txt').isChecked()).toBe(true)
  })

  test('the list of files is filtered by a field, which has the key of the explorer’s', async () => {
    await desk.commit('topic', { 'src/alpha.ts': 'a\n', 'src/beta.ts': 'b\n', 'docs/alpha.md': 'd\n' })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    const files = page.getByRole('navigation', { name: 'Changed files' })
    await files.getByRole('button', { name: 'beta.ts' }).waitFor()
    await page.keyboard.press('Control+Alt+f')
    await page.keyboard.type('SRC alpha')
    await page.getByRole('heading', { name: '1 of 4 files' }).waitFor()
    expect(await files.getByRole('button').count()).toBe(1)
    // The diffs stay.
    await diff('src/beta.ts').waitFor()
    await page.keyboard.press('Enter')
    await files.locator('[aria-current="true"]').filter({ hasText: 'alpha.ts' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await files.getByRole('button').and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Control+Alt+f')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('none such')
    await page.getByText('No results').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: '4 files' }).waitFor()
    await diff('src/alpha.ts').waitFor()
  })

  test('the conversation with the AI is folded apart from the code, and not counted with it', async () => {
    const files = { '.forge/session.json': '{"turns": []}\n', '.forge/.gitattributes': 'session.json -diff\n' }
    await desk.commit('topic', { ...files, 'd.txt': 'd\n' }, { ...MIRA, message: 'A turn' })
    await showBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await diff('d.txt').waitFor()
    const side = page.getByRole('complementary', { name: 'Side bar' })
    await side.getByRole('heading', { name: '2 files', exact: true }).waitFor()
    expect(await side.locator('.side-head .meta').textContent()).toBe('+2 −1')
    await side.getByText('0 of 2', { exact: true }).waitFor()
    expect(await diff('.forge/session.json').count()).toBe(0)
    const head = side.getByRole('button', { name: 'Conversation with the AI 2 files' })
    expect(await head.getAttribute('aria-expanded')).toBe('false')
    await head.click()
    await diff('.forge/session.json').waitFor()
    await side.getByRole('button', { name: '.gitattributes' }).click()
    await diff('.forge/.gitattributes').getByText('session.json -diff').waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByRole('region', { name: 'Diff' }).getByRole('button', { name: 'Conversation with the AI' }).click()
    await diff('.forge/session.json').waitFor({ state: 'detached' })
    // Enter in the filter goes to the first file that is found, also to one that is folded.
    await page.getByRole('textbox', { name: 'Filter changed files' }).fill('session')
    await page.keyboard.press('Enter')
    await diff('.forge/session.json').waitFor()
  })

  test('a branch stays the base of a review when it is renamed', async () => {
    await showBranch(page, 'main')
    await page.keyboard.press('Control+Alt+r')
    await page.getByRole('combobox', { name: 'Branch, tag or commit' }).fill('topic')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'against topic' }).waitFor()
    await renameInTerminal('topic', 'theme')
    await page.getByRole('button', { name: 'against theme' }).waitFor()
  })
})
