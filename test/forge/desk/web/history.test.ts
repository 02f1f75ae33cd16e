/** The history of a branch in a real browser: its commits are reworded, squashed, dropped, reordered and amended. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser } from '../../../support/browser.ts'
import { commit, gitWith } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const MIRA = { author: 'Mira Okafor <mira@example.com>' }
const NAMES = ['one', 'two', 'three', 'four']

/** main with a first commit, and one for each of four files. */
const template = templateOf(async path => {
  await commit(path, 'main', { 'README.md': '# Tern\n' }, { ...MIRA, message: 'Begin' })
  for (const name of NAMES)
    await commit(path, 'main', { [`${name}.txt`]: `${name}\n` }, { ...MIRA, message: `Add ${name}\n\nWhy ${name}.` })
})

describe.skipIf(!hasBrowser)('the history of a branch', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  const list = () => page.getByRole('listbox', { name: 'History' })
  const row = (subject: string) => list().getByRole('option', { name: subject })
  const dialog = () => page.getByRole('dialog')
  const message = () => dialog().getByLabel('Commit message')
  const open = async () => {
    await page.keyboard.press('Alt+h')
    await row('Add four').waitFor()
    await list().focus()
  }
  /** Adds 450 empty commits to main, of which the newest is number 449. */
  const commitMany = async (subject: string) => {
    const made = (at: number) =>
      `commit refs/heads/main\ncommitter Mira <mira@example.com> ${1_800_000_000 + at} +0000\ndata <<END\n${subject} ${at}\nEND\n`
    const first = `${made(0)}from ${await desk.tip('main')}\n\n`
    const later = Array.from({ length: 449 }, (_, at) => `${made(at + 1)}\n`)
    await gitWith(desk.path, ['fast-import', '--quiet'], first + later.join(''))
  }
  /** Confirms the dialog, and waits for the branch's subjects, newest first. */
  const confirm = async (button: string, ...subjects: string[]) => {
    await dialog().getByRole('button', { name: button, exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    expect((await desk.git('log', '--format=%s', 'main')).split('\n')).toEqual(subjects)
  }

  test('its dialogs of rewriting follow the branch to a new name, with what is typed', async () => {
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    const rename = async (from: string, to: string) => {
      await desk.git('branch', '-m', from, to)
      await page.getByRole('tab', { name: to, selected: true }).waitFor()
    }
    const subjects = async (branch: string) => (await desk.git('log', '--format=%s', branch)).split('\n')
    await open()
    await row('Add four').click()
    await page.keyboard.press('r')
    await message().fill('Add the fourth')
    await rename('main', 'trunk')
    await page.keyboard.type(' file')
    await dialog().getByRole('button', { name: 'Reword', exact: true, disabled: false }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await subjects('trunk')).toEqual(['Add the fourth file', 'Add three', 'Add two', 'Add one', 'Begin'])
    // A squash keeps the chosen way.
    await row('Add the fourth file').click()
    await page.keyboard.press('s')
    await dialog().getByRole('tab', { name: 'Fixup' }).click()
    await rename('trunk', 'stem')
    await dialog().getByRole('tab', { name: 'Fixup', selected: true }).waitFor()
    await dialog().getByRole('button', { name: 'Fixup', exact: true, disabled: false }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await subjects('stem')).toEqual(['Add three', 'Add two', 'Add one', 'Begin'])
    await page.keyboard.press('Alt+Shift+t')
    await page.getByRole('dialog', { name: 'Amend the last commit of stem' }).waitFor()
    await message().fill('Add the third')
    await rename('stem', 'bough')
    await page.getByRole('dialog', { name: 'Amend the last commit of bough' }).waitFor()
    await dialog().getByRole('button', { name: 'Amend', exact: true, disabled: false }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await subjects('bough')).toEqual(['Add the third', 'Add two', 'Add one', 'Begin'])
    await desk.commit('bough', { 'x.txt': 'x\n', 'y.txt': 'y\n' }, { message: 'Add both' })
    await row('Add both').click()
    await page.keyboard.press('p')
    await dialog().getByRole('checkbox').first().check()
    await rename('bough', 'twig')
    await dialog().getByRole('button', { name: 'Split', exact: true, disabled: false }).click()
    await dialog().waitFor({ state: 'detached' })
    expect((await subjects('twig')).slice(0, 3)).toEqual(['Add both', 'Add both', 'Add the third'])
    // A list to choose from, with the words that are typed in it.
    await desk.git('branch', 'side', 'twig~1')
    await page.keyboard.press('Alt+Shift+6')
    await page.getByRole('dialog', { name: 'Rebase twig' }).getByRole('combobox').fill('si')
    await rename('twig', 'leaf')
    const pick = page.getByRole('dialog', { name: 'Rebase leaf', exact: true })
    expect(await pick.getByRole('combobox').inputValue()).toBe('si')
    await desk.git('branch', '-m', 'side', 'sideways')
    await pick.getByRole('option', { name: 'sideways' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Rebase leaf onto sideways' }).waitFor()
  })

  test('a key that rewrites says why it does nothing on a commit that came in by a merge', async () => {
    const before = await desk.tip('main')
    const side = await desk.commit('side', { 'side.txt': 'side\n' }, { message: 'Beside', parents: [before] })
    await desk.commit('main', { 'side.txt': 'side\n' }, { message: 'Merge side', parents: [before, side] })
    await open()
    await row('Beside').click()
    await page.keyboard.press('r')
    await page.locator('.toast').getByText('came in by a merge: only commits that were made in main itself').waitFor()
    expect(await dialog().count()).toBe(0)
    await row('Merge side').click()
    await page.keyboard.press('r')
    await dialog().getByText('rewrites 1 commit').waitFor()
  })

  test('the preview in its dialog follows a branch that is moved outside, also to where the commit is not', async () => {
    const tip = await desk.tip('main')
    await open()
    await row('Add four').click()
    await page.keyboard.press('r')
    await dialog().getByText('rewrites 1 commit').waitFor()
    await desk.git('update-ref', 'refs/heads/main', `${tip}~1`)
    await dialog()
      .getByText(`${tip.slice(0, 8)} is not in main.`)
      .waitFor()
    await desk.git('update-ref', 'refs/heads/main', tip)
    await dialog().getByText('rewrites 1 commit').waitFor()
  })

  test('the lines of a message are shown once each, also where no empty line follows the first one', async () => {
    const message = 'Say how much is missing\n- in the docs,\n- and in the log\n\nAs was asked.\n'
    await desk.commit('main', { 'README.md': '# Said\n' }, { message })
    await page.keyboard.press('Alt+h')
    await row('Say how much is missing - in the docs, - and in the log').click()
    const lines = ['- in the docs,', '- and in the log', 'As was asked.']
    const isShownOnce = async (detail: ReturnType<DeskPage['getByRole']>) => {
      await detail.getByRole('heading', { name: 'Say how much is missing', exact: true }).waitFor()
      const text = (await detail.textContent()) ?? ''
      for (const line of lines) expect(text.split(line)).toHaveLength(2)
    }
    await isShownOnce(page.getByRole('complementary', { name: 'Commit' }))
    await page.keyboard.press('Alt+0')
    await page.getByRole('option', { name: /Say how much is missing/ }).click()
    await isShownOnce(page.getByRole('complementary', { name: /^Commit [0-9a-f]{8}/ }))
  })

  test('the first label of the newest commit is that of the branch, whatever other branches are there', async () => {
    for (const name of ['alpha', 'beta', 'gamma', 'zeta']) await desk.git('branch', name, 'main')
    await page.keyboard.press('Alt+b')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('@zeta')
    await page.getByRole('option', { name: 'zeta' }).filter({ hasNotText: 'New branch' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'zeta', selected: true }).waitFor()
    await open()
    await row('Add four').locator('.label').first().getByText('zeta').first().waitFor()
  })

  test('the label of a branch says which remotes have it at the same commit', async () => {
    await open()
    const label = row('Add four').locator('.label')
    await label.getByText('main').first().waitFor()
    expect(await label.textContent()).not.toContain('origin')
    await desk.git('update-ref', 'refs/remotes/origin/main', 'main')
    await row('branch main and on origin').locator('.label svg').nth(1).waitFor()
    expect(await label.getAttribute('title')).toBe('branch main, the same on origin')
    expect(await label.count()).toBe(1)
  })

  test('a commit is reworded by a key, with a body; the undo of the notice restores it', async () => {
    await open()
    await page.keyboard.press('End')
    await list().getByRole('option', { name: 'Begin', selected: true }).waitFor()
    await page.keyboard.press('Home')
    await list().getByRole('option', { name: 'Add four', selected: true }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('r')
    await dialog().getByText('rewrites 2 commits').waitFor()
    await until(async () => (await message().inputValue()) === 'Add three\n\nWhy three.')
    // The message is all that can be changed in the dialog: it has the focus.
    await dialog().locator('textarea:focus').waitFor()
    await message().fill('Add the third\n\nIt was missing.')
    await confirm('Reword', 'Add four', 'Add the third', 'Add two', 'Add one', 'Begin')
    expect(await desk.git('log', '-1', '--format=%b', 'main~')).toBe('It was missing.')
    await row('Add the third').waitFor()
    const detail = page.getByRole('complementary', { name: 'Commit' })
    await detail.getByText(/^Mira Okafor, .*, committed /).waitFor()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await row('Add three').waitFor()
  })

  test('a message that was typed is there again after Escape, and after another way, until the step is done', async () => {
    await open()
    await page.keyboard.press('r')
    await until(async () => (await message().inputValue()).startsWith('Add four'))
    await message().fill('Thought about for long')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('r')
    await until(async () => (await message().inputValue()).startsWith('Add three'))
    await page.keyboard.press('Escape')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('r')
    await until(async () => (await message().inputValue()) === 'Thought about for long')
    await confirm('Reword', 'Thought about for long', 'Add three', 'Add two', 'Add one', 'Begin')
    // Of a squash, the message outlasts a look at the fixup.
    await row('Thought about for long').waitFor()
    await page.keyboard.press('s')
    await until(async () => (await message().inputValue()).startsWith('Add three'))
    await message().fill('Both')
    await dialog().getByRole('tab', { name: 'Fixup' }).click()
    await message().waitFor({ state: 'detached' })
    await dialog().getByRole('tab', { name: 'Squash' }).click()
    await until(async () => (await message().inputValue()) === 'Both')
    await confirm('Squash', 'Both', 'Add two', 'Add one', 'Begin')
  })

  test('drafts are saved as the fixup of a commit, which is squashed into it by its menu, here and in the graph', async () => {
    await page.getByRole('treeitem', { name: 'two.txt' }).dblclick()
    const editor = page.locator('.cm-content').first()
    await editor.getByText('two').waitFor()
    await editor.click()
    await page.keyboard.type('more ')
    await open()
    const choose = async (subject: string, item: string) => {
      await row(subject).first().click({ button: 'right' })
      await page.getByRole('menuitem', { name: item }).click()
    }
    await choose('Add two', 'Save all drafts as its fixup')
    await page.locator('.toast').getByText('Saved as a fixup of').waitFor()
    const subjects = async () => (await desk.git('log', '--format=%s', 'main')).split('\n')
    expect((await subjects())[0]).toBe('fixup! Add two')
    const fixup = await desk.tip('main')
    await choose('fixup! Add two', 'Squash into its commit…')
    await confirm('Squash', 'Add four', 'Add three', 'Add two', 'Add one', 'Begin')
    expect(await desk.git('show', 'main~2:two.txt')).toContain('more')
    expect(await desk.git('log', '-1', '--format=%B', 'main~2')).toBe('Add two\n\nWhy two.')
    await page.keyboard.press('Control+Alt+Z')
    await until(async () => (await desk.tip('main')) === fixup)
    await page.keyboard.press('Alt+0')
    await page.getByRole('option', { name: /fixup! Add two/ }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Squash into its commit…' }).click()
    await dialog().getByRole('listbox', { name: 'Branches' }).getByRole('option').first().dblclick()
    await dialog().getByText('which keeps its message').waitFor()
    await confirm('Squash', 'Add four', 'Add three', 'Add two', 'Add one', 'Begin')
  })

  test('several commits are selected with Shift, and squashed or dropped together', async () => {
    await open()
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    expect(await list().getByRole('option', { selected: true }).count()).toBe(3)
    for (const [key, action] of [
      ['r', 'Reword…'],
      ['p', 'Split…'],
      ['Shift+E', 'Revert some changes as drafts…'],
      ['t', 'New tag here…'],
    ] as const) {
      await page.keyboard.press(key)
      await page.locator('.toast').getByText(`“${action}” is for one commit: select only one.`).waitFor()
    }
    // The focus ring is only around the row that was selected last.
    const outlines = await list()
      .getByRole('option')
      .evaluateAll(all => all.map(it => getComputedStyle(it).outlineStyle))
    expect(outlines).toEqual(['none', 'none', 'solid', 'none', 'none'])
    await page.keyboard.press('s')
    await dialog().getByRole('heading', { name: 'Squash 3 commits' }).waitFor()
    await until(async () => (await message().inputValue()).startsWith('Add two\n\nWhy two.\n\nAdd three'))
    await dialog().getByRole('tab', { name: 'Fixup' }).click()
    await confirm('Fixup', 'Add two', 'Add one', 'Begin')
    expect(await desk.git('show', 'main:four.txt')).toBe('four')
    await until(async () => (await list().getByRole('option').count()) === 3)
    await row('Add two').click()
    await row('Add one').click({ modifiers: ['Shift'] })
    await page.keyboard.press('Delete')
    await dialog().getByText('drops 2 commits').waitFor()
    await dialog().locator('button:focus').getByText('Cancel').waitFor()
    await confirm('Drop', 'Begin')
  })

  test('after a squash with another subject, and after a drop, no commit is selected that was not', async () => {
    const selected = () => list().getByRole('option', { selected: true }).locator('.subject').allInnerTexts()
    await open()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('s')
    await message().fill('Add both')
    await confirm('Squash', 'Add four', 'Add both', 'Add one', 'Begin')
    await until(async () => (await selected()).join() === 'Add both')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Delete')
    await confirm('Drop', 'Add four', 'Begin')
    await until(async () => (await selected()).join() === 'Begin')
  })

  test('several commits are cherry-picked onto another branch in their order, with one preview and one undo', async () => {
    await desk.git('branch', 'release', 'main~4')
    await open()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await list().getByRole('option', { selected: true }).first().click({ button: 'right' })
    await page.getByRole('menuitem', { name: /^Cherry-pick 2 commits onto…/ }).click()
    const choice = dialog().getByRole('option', { name: /^release/ })
    await choice.getByText('applies cleanly').waitFor()
    expect(await dialog().getByRole('option').count()).toBe(1)
    await page.keyboard.press('Enter')
    await dialog().getByRole('heading', { name: '2 commits → release' }).waitFor()
    await dialog().getByText('applies cleanly').waitFor()
    await dialog().getByRole('button', { name: 'Cherry-pick', exact: true }).click()
    const notice = page.locator('.toast', { hasText: 'Cherry-picked 2 commits onto release.' })
    await notice.waitFor()
    expect(await desk.git('log', '--format=%s', 'release')).toBe('Add three\nAdd two\nBegin')
    await notice.getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.git('log', '--format=%s', 'release')) === 'Begin')
  })

  test('several commits are reverted by the menu, the newest first; Undo and Redo keep what is typed between', async () => {
    const all = ['Add four', 'Add three', 'Add two', 'Add one', 'Begin']
    const reverted = ['Revert "Add two"', 'Revert "Add three"', ...all]
    const subjects = async () => (await desk.git('log', '--format=%s', 'main')).split('\n')
    await open()
    await row('Add two').click()
    await row('Add three').click({ modifiers: ['Control'] })
    await row('Add three').click({ button: 'right' })
    await page.getByRole('menuitem', { name: /^Revert 2 commits…/ }).click()
    await dialog().getByRole('heading', { name: 'Revert 2 commits in main' }).waitFor()
    await dialog().getByText('reverts cleanly').waitFor()
    await dialog().getByText('2 commits', { exact: true }).waitFor()
    expect(await message().count()).toBe(0)
    await confirm('Revert', ...reverted)
    const notice = page.locator('.toast', { hasText: 'Reverted 2 commits in main.' })
    await notice.waitFor()
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    const type = async (words: string, after: string[]) => {
      await page.keyboard.type(words)
      await desk.isText('main', 'README.md', text => text.includes(words))
      await page.keyboard.press(after === all ? 'Control+Alt+z' : 'Control+Alt+Shift+z')
      await until(async () => (await subjects()).join() === after.join())
      await desk.isText('main', 'README.md', text => text.includes(words))
    }
    await type('first ', all)
    await type('second ', reverted)
  })

  test('a commit is moved by keys, by its menu, and by dragging it to another place', async () => {
    await open()
    await page.keyboard.press('Alt+ArrowDown')
    await confirm('Reorder', 'Add three', 'Add four', 'Add two', 'Add one', 'Begin')
    await until(async () => (await list().getByRole('option').first().getByText('Add three').count()) === 1)
    // The selection follows the moved commit, which is another one now.
    await until(
      async () => (await list().locator('[aria-selected="true"]').textContent())?.includes('Add four') === true,
    )
    await row('Add one').click({ button: 'right' })
    await page.getByRole('menuitem', { name: /^Move up/ }).click()
    await confirm('Reorder', 'Add three', 'Add four', 'Add one', 'Add two', 'Begin')
    await until(async () => (await list().getByRole('option').nth(2).getByText('Add one').count()) === 1)
    await row('Add two').dragTo(row('Add three'), { targetPosition: { x: 60, y: 4 } })
    await dialog()
      .getByText(/^Puts \w+ after \w+/)
      .waitFor()
    await confirm('Reorder', 'Add two', 'Add three', 'Add four', 'Add one', 'Begin')
    // The focus ring is on the selected row, not on the one where the drag began.
    expect(await list().evaluate(it => it === document.activeElement)).toBe(true)
  })

  test('the selection stays on its commit when a new one is made above it', async () => {
    await open()
    await row('Add two').click()
    await page.keyboard.press('e')
    await confirm('Revert', 'Revert "Add two"', 'Add four', 'Add three', 'Add two', 'Add one', 'Begin')
    await row('Revert "Add two"').waitFor()
    expect(await list().getByRole('option', { selected: true }).locator('.subject').allInnerTexts()).toEqual([
      'Add two',
    ])
    await page.getByRole('complementary', { name: 'Commit' }).getByText('Why two.').waitFor()
  })

  test('a look at another tab or branch leaves the selected commits, the place in the list and the search', async () => {
    await commitMany('Later')
    await desk.git('branch', 'side', 'main')
    await page.keyboard.press('Alt+h')
    await row('Later 449').waitFor()
    await list().focus()
    const selected = () => list().getByRole('option', { selected: true })
    const areSelected = async (...subjects: string[]) => {
      await until(async () => `${await selected().locator('.subject').allInnerTexts()}` === `${subjects}`)
    }
    const lookAtReview = async () => {
      await page.keyboard.press('Alt+r')
      await page.getByRole('region', { name: 'Diff' }).waitFor()
      await page.keyboard.press('Alt+h')
      await list().waitFor()
    }
    for (let at = 0; at < 3; at++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await lookAtReview()
    await areSelected('Later 446', 'Later 445')
    await page.keyboard.press('Shift+ArrowDown')
    await areSelected('Later 446', 'Later 445', 'Later 444')
    // The end of what is loaded so far: the rows after it are loaded then.
    await page.keyboard.press('End')
    await row('Later 249').waitFor()
    await row('Later 250').click()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Alt+b')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('@side')
    await page.getByRole('option', { name: 'side' }).filter({ hasNotText: 'New branch' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'side', selected: true }).waitFor()
    await desk.commit('main', { 'new.txt': 'new\n' }, { message: 'Come in' })
    await page.getByRole('tab', { name: 'main' }).click()
    await areSelected('Later 251')
    await page.keyboard.press('r')
    await dialog().getByText('Later 251').first().waitFor()
    await page.keyboard.press('Escape')
    // The list scrolls to the selected commit once more when the new commit comes in.
    await until(async () => {
      await list().evaluate(it => it.scrollTo(0, 0))
      return await row('Come in').isVisible()
    })
    // Scrolled away from the selected commit.
    await list().evaluate(it => it.scrollTo(0, 2600))
    await row('Later 350').waitFor()
    await lookAtReview()
    await row('Later 350').waitFor()
    expect(await list().evaluate(it => it.scrollTop)).toBe(2600)
    // A search, also one whose words were typed just before.
    await page.keyboard.press('/')
    await page.keyboard.type('Add t')
    await lookAtReview()
    await row('Add three').waitFor()
    await list().focus()
    await page.keyboard.press('End')
    await areSelected('Add two')
    await lookAtReview()
    expect(await page.getByRole('textbox', { name: 'Search this history' }).inputValue()).toBe('Add t')
    await areSelected('Add two')
    expect(await list().getByRole('option').count()).toBe(2)
  })

  test('commits are selected one by one with Ctrl, and squashed though another one is between them', async () => {
    await open()
    await row('Add four').click()
    await row('Add two').click({ modifiers: ['Control'] })
    expect(await list().locator('[aria-selected="true"]').count()).toBe(2)
    await row('Add two').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Copy 2 commit hashes' }).waitFor()
    await page.getByRole('menuitem', { name: 'Squash 2 commits…' }).click()
    await message().fill('Add two and four')
    await confirm('Squash', 'Add three', 'Add two and four', 'Add one', 'Begin')
  })

  test('the last commit is amended with what is typed, and with another message', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('typed ')
    await desk.isText('main', 'README.md', text => text.includes('typed'))
    await page.keyboard.press('Alt+Shift+t')
    await dialog().getByRole('tab', { name: 'With all drafts', selected: true }).waitFor()
    await until(async () => (await message().inputValue()).startsWith('Add four'))
    await message().fill('Add four and more')
    await confirm('Amend', 'Add four and more', 'Add three', 'Add two', 'Add one', 'Begin')
    expect(await desk.git('show', 'main:README.md')).toContain('typed')
    await page.locator('.status .saved').getByText('No drafts since').waitFor()
    // Without drafts the message is all that can be changed: it has the focus, without the line end of its last line.
    await page.keyboard.press('Alt+Shift+t')
    await dialog().locator('textarea:focus').waitFor()
    expect(await message().inputValue()).toBe('Add four and more')
  })

  test('the preview of an amend shows what is typed in another window meanwhile', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('typed ')
    await desk.isText('main', 'README.md', text => text.includes('typed'))
    await page.keyboard.press('Alt+Shift+t')
    await dialog().getByText('1 file', { exact: true }).waitFor()
    await message().fill('Add four and more')
    await desk.ask({ ask: 'new file', branch: 'main', path: 'elsewhere.txt' })
    await dialog().getByText('2 files', { exact: true }).waitFor()
    await confirm('Amend', 'Add four and more', 'Add three', 'Add two', 'Add one', 'Begin')
    expect(await desk.git('ls-tree', '--name-only', 'main', 'elsewhere.txt')).toBe('elsewhere.txt')
  })

  test('an amend that is refused leaves the focus in the message, where one types on', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('typed ')
    await desk.isText('main', 'README.md', text => text.includes('typed'))
    await page.keyboard.press('Alt+Shift+t')
    await dialog().getByText('1 file', { exact: true }).waitFor()
    await message().fill('Add four')
    const release = desk.proxy.hold('do')
    await page.keyboard.press('Control+Enter')
    await until(() => desk.proxy.count('do') === 1)
    await desk.ask({ ask: 'new file', branch: 'main', path: 'elsewhere.txt' })
    release()
    await dialog().getByText('have changed since this was previewed: nothing was done').waitFor()
    await dialog().getByText('2 files', { exact: true }).waitFor()
    await page.keyboard.type(' and more')
    expect(await message().inputValue()).toBe('Add four and more')
    await page.keyboard.press('Control+Enter')
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe('Add four and more')
  })

  test('Ctrl+F goes to the search of the history, and selects what was searched for', async () => {
    await open()
    const field = page.getByRole('textbox', { name: 'Search this history' })
    await page.keyboard.press('Control+f')
    await page.keyboard.type('two')
    await row('Add three').waitFor({ state: 'detached' })
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('/')
    await page.keyboard.type('three')
    await row('Add three').waitFor()
    expect(await field.inputValue()).toBe('three')
    await page.keyboard.press('Alt+k')
    const now = page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByRole('region', { name: 'Here, now' })
    await now.getByText('Search this history').first().waitFor()
    await page.keyboard.press('Escape')
  })

  test('a search says how many commits have the words, also of those that are not loaded yet', async () => {
    await commitMany('Add many')
    await page.keyboard.press('Alt+h')
    await row('Add many 449').waitFor()
    await page.getByRole('textbox', { name: 'Search this history' }).fill('add many')
    await page.getByRole('status').getByText('450 commits', { exact: true }).waitFor()
    await page.getByRole('textbox', { name: 'Search this history' }).fill('add')
    await page.getByRole('status').getByText('454 commits', { exact: true }).waitFor()
  })

  test('the commit that a search has found stays selected after it, also far below the newest ones', async () => {
    await page.keyboard.press('Alt+h')
    await row('Add four').waitFor()
    const field = page.getByRole('textbox', { name: 'Search this history' })
    const selected = () => list().getByRole('option', { selected: true })
    const searchAndLeave = async (...others: string[]) => {
      await page.keyboard.press('/')
      await page.keyboard.type('Add two')
      await row('Add four').waitFor({ state: 'detached' })
      await selected().filter({ hasText: 'Add two' }).waitFor()
      await field.press('Escape')
      for (const other of others) await row(other).waitFor()
      await selected().filter({ hasText: 'Add two' }).waitFor()
      expect(await selected().count()).toBe(1)
      await page.getByRole('heading', { name: 'Add two' }).waitFor()
    }
    await searchAndLeave('Add three', 'Add one')
    await commitMany('Later')
    await list().focus()
    await page.keyboard.press('Home')
    await row('Later 449').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('Later')
    await page.getByRole('status').getByText('450 commits', { exact: true }).waitFor()
    // Another search selects its newest commit.
    await selected().filter({ hasText: 'Later 449' }).waitFor()
    await field.fill('')
    await list().focus()
    await searchAndLeave('Add three', 'Add one')
    // What is around it can be selected with it.
    await list().focus()
    await page.keyboard.press('Shift+ArrowDown')
    await until(async () => (await selected().count()) === 2)
  })

  test('a commit is cherry-picked, tagged and compared by its menu and keys, as in the graph', async () => {
    await desk.commit('side', { 'side.txt': 'side\n' }, { message: 'Beside', parents: [await desk.tip('main')] })
    await open()
    const two = await desk.git('rev-parse', 'main~2')
    await row('Add two').click({ button: 'right' })
    const offered = await page.getByRole('menuitem').locator('.grow').allInnerTexts()
    const asInGraph = [
      ...['Compare with…', 'New branch from here…', 'New tag here…'],
      ...['Merge into…', 'Land on…', 'Cherry-pick onto…', 'Move a branch here…'],
    ]
    expect(offered).toEqual(expect.arrayContaining(asInGraph))
    await page.getByRole('menuitem', { name: 'New tag here…' }).click()
    await dialog().getByLabel('Tag name').fill('v2')
    await dialog().getByRole('button', { name: 'Create tag' }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.git('rev-parse', 'v2')).toBe(two)
    await row('Add two').getByText('v2').waitFor()
    await desk.git('branch', 'behind', 'main~4')
    await row('Add three').click()
    await page.keyboard.press('c')
    await dialog()
      .getByRole('option', { name: /^behind/ })
      .dblclick()
    await dialog().getByRole('button', { name: 'Cherry-pick', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.git('log', '--format=%s', 'behind')).toBe('Add three\nBegin')
    await row('Add three').click()
    await page.keyboard.press('d')
    await page.getByRole('dialog', { name: /^Compare \w+ with$/ }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('the menu of a commit in a history of lines, and in that of a commit, offers them too', async () => {
    await open()
    await row('Add three').dblclick()
    await page.getByRole('treeitem', { name: 'three.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Control+Alt+g')
    const lines = page.getByRole('listbox', { name: /^History of / })
    await lines.getByRole('option', { name: 'Add three' }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Cherry-pick onto…' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+h')
    await row('Add two').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Revert…' }).click()
    await dialog().getByRole('option', { name: /^main/ }).dblclick()
    await dialog().getByText('“Add two”').waitFor()
    await page.keyboard.press('Escape')
  })

  test('commits of a search, and of a file’s history, are not rewritten, but reverted', async () => {
    await open()
    await page.getByLabel('Search this history').fill('three')
    await until(async () => (await list().getByRole('option').count()) === 1)
    await row('Add three').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Browse files at this commit' }).waitFor()
    expect(await page.getByRole('menuitem', { name: /Reword|Drop|Squash/ }).count()).toBe(0)
    await page.getByRole('menuitem', { name: 'Revert…' }).click()
    await dialog().getByText('“Add three”').waitFor()
    await page.keyboard.press('Escape')
  })
})
