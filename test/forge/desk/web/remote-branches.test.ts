/** A branch of a remote is worked on: by the list of branches, by its menu, and by pulls and pushes. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import { replacement } from '../../../support/desk.ts'
import { commit, git } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, SCENE_FILES, showBranch, until, withEachPage } from './page-scene.ts'

setDefaultTimeout(60_000)

if (!hasBrowser) console.warn(NO_BROWSER)

const originOf = (path: string) => join(path, '../origin.git')

/** A remote that has the branches of the repository, of which lease-renewal tracks it, and proposed/3.0.0. */
async function withOrigin(path: string): Promise<void> {
  await git('/', 'clone', '--quiet', '--bare', path, originOf(path))
  await commit(originOf(path), 'proposed/3.0.0', { 'proposed.md': 'one\n' }, { message: 'Propose' })
  await git(path, 'remote', 'add', 'origin', originOf(path))
  await git(path, 'fetch', '--quiet', 'origin')
  await git(path, 'branch', '--quiet', '--set-upstream-to=origin/lease-renewal', 'lease-renewal')
}

describe.skipIf(!hasBrowser)('a branch of a remote', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
      page.setDefaultTimeout(15_000)
    },
    { prepare: withOrigin },
  )

  const dialog = () => page.getByRole('dialog')
  const upstreamOf = (branch: string) => desk.git('rev-parse', '--abbrev-ref', `${branch}@{upstream}`)
  const isShown = (branch: string) =>
    page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: branch, selected: true }).waitFor()

  test('is in the list of branches, and becomes a local one that tracks it, and is pulled', async () => {
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('proposed')
    await page.getByRole('option', { name: /^origin\/proposed\/3\.0\.0.*remote branch/, selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await isShown('proposed/3.0.0')
    await page.getByText('Created proposed/3.0.0, which tracks origin/proposed/3.0.0').first().waitFor()
    expect(await desk.tip('proposed/3.0.0')).toBe(await desk.git('rev-parse', 'origin/proposed/3.0.0'))
    expect(await upstreamOf('proposed/3.0.0')).toBe('origin/proposed/3.0.0')
    const next = await commit(originOf(desk.path), 'proposed/3.0.0', { 'proposed.md': 'two\n' }, { message: 'Again' })
    await page.keyboard.press('Alt+p')
    await dialog().getByRole('button', { name: 'Pull', exact: true }).click()
    await until(async () => (await desk.tip('proposed/3.0.0')) === next)
  })

  test('gets what is typed after it was chosen, however late it is made a local one', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    const answer = desk.proxy.hold('new branch')
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('proposed')
    await page.getByRole('option', { name: /^origin\/proposed\/3\.0\.0/, selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('proposed.md')
    await page.keyboard.press('Enter')
    await page.keyboard.type('fast ')
    await until(() => desk.proxy.count('new branch') === 1)
    expect(await desk.textOf('main', 'README.md')).toBe(SCENE_FILES['README.md'])
    answer()
    await isShown('proposed/3.0.0')
    await desk.isText('proposed/3.0.0', 'proposed.md', 'fast one\n')
    expect(await desk.textOf('main', 'README.md')).toBe(SCENE_FILES['README.md'])
    // With the name of its remote, it is found also now that there is a local one.
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('origin/proposed')
    await page.getByRole('option', { name: /^origin\/proposed.*remote branch of proposed/, selected: true }).waitFor()
  })

  test('comes with a remote that is added by keys, which gets another URL and is removed by its menu', async () => {
    await page.keyboard.press('Alt+0')
    const refs = page.getByRole('navigation', { name: 'Branches and tags' })
    await refs.getByRole('button', { name: /^origin/ }).waitFor()
    await page.keyboard.press('Alt+Shift+N')
    await dialog().getByLabel('Name').fill('fork')
    await page.keyboard.press('Enter')
    await dialog().getByLabel('URL').fill('https://ada:hunter-two@example.org/')
    await page.keyboard.press('Enter')
    await dialog().getByText('leave it out, and sign in with git in a terminal').waitFor()
    await dialog().getByLabel('URL').fill(originOf(desk.path))
    await page.keyboard.press('Enter')
    const added = page.locator('.toast', { hasText: 'Added the remote fork' })
    await added.getByRole('button', { name: 'Fetch' }).click()
    await until(async () => (await desk.git('for-each-ref', 'refs/remotes/fork')) !== '')
    await desk.git('branch', '--quiet', '--set-upstream-to=fork/retry-jitter', 'retry-jitter')
    const menu = async (name: string) => {
      await refs.getByRole('button', { name: /^fork/ }).click({ button: 'right' })
      await page.getByRole('menuitem', { name }).click()
    }
    await menu('Change URL…')
    await dialog()
      .getByText(`Now: ${originOf(desk.path)}`)
      .waitFor()
    await dialog().getByLabel('New URL').fill('https://example.org/fork.git')
    await page.keyboard.press('Enter')
    await until(async () => (await desk.git('config', 'remote.fork.url')) === 'https://example.org/fork.git')
    await page.locator('.toast', { hasText: 'Changed the URL of fork' }).waitFor()
    await menu('Remove…')
    await dialog().getByText('1 local branch loses its upstream: retry-jitter.').waitFor()
    await dialog().getByText('There is no Undo: add it again by its URL, and fetch.').waitFor()
    await dialog()
      .getByText(/^Its URL \(.+\), its other settings and its \d+ remote branch/)
      .waitFor()
    await dialog().getByRole('button', { name: 'Remove', exact: true }).click()
    await refs.getByRole('button', { name: /^fork/ }).waitFor({ state: 'detached' })
    expect(await desk.git('remote')).toBe('origin')
  })

  test('has a menu in the graph that switches to it, and a new branch from it has its name', async () => {
    await page.keyboard.press('Alt+0')
    const label = page.locator('.graph-row .label').filter({ hasText: 'origin/proposed/3.0.0' }).first()
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'New branch from here…' }).click()
    await until(async () => (await dialog().getByRole('textbox').inputValue()) === 'proposed/3.0.0')
    await dialog().getByText('With the name proposed/3.0.0, it tracks origin/proposed/3.0.0.').waitFor()
    await page.keyboard.press('Escape')
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Switch to a new branch proposed/3.0.0' }).click()
    await isShown('proposed/3.0.0')
    expect(await upstreamOf('proposed/3.0.0')).toBe('origin/proposed/3.0.0')
  })

  test('that a review compares with is followed where it moves, as by a push', async () => {
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('lease-renewal')
    await page.keyboard.press('Enter')
    await isShown('lease-renewal')
    await page.keyboard.press('Control+Alt+r')
    await page.getByRole('combobox', { name: 'Branch, tag or commit' }).fill('origin/proposed')
    await page
      .getByRole('option', { name: /^origin\/proposed/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    const changes = page.getByRole('article')
    await changes.first().waitFor()
    await desk.git('update-ref', 'refs/remotes/origin/proposed/3.0.0', 'lease-renewal')
    await until(async () => (await changes.count()) === 0)
    await page.getByRole('button', { name: /origin\/proposed\/3\.0\.0/ }).waitFor()
  })

  test('with the name of a local one without upstream is pulled from, and tracked once that is published', async () => {
    await showBranch(page, 'retry-jitter')
    const next = await commit(originOf(desk.path), 'retry-jitter', { 'more.md': 'more\n' }, { message: 'More' })
    await page.keyboard.press('Alt+p')
    await dialog().getByRole('heading', { name: 'Pull origin/retry-jitter into retry-jitter' }).waitFor()
    await dialog().getByRole('button', { name: 'Pull', exact: true }).click()
    await until(async () => (await desk.tip('retry-jitter')) === next)
    await until(async () => (await dialog().count()) === 0)
    await page.keyboard.press('Alt+v')
    await dialog().getByText('retry-jitter will track origin/retry-jitter.').waitFor()
    await dialog().getByRole('button', { name: 'Publish' }).click()
    await page.getByText('retry-jitter tracks origin/retry-jitter now').first().waitFor()
    expect(await upstreamOf('retry-jitter')).toBe('origin/retry-jitter')
  })

  test('is deleted on the remote, which its dialog names with the commits that are nowhere else, and undone', async () => {
    const tip = await desk.git('rev-parse', 'origin/proposed/3.0.0')
    const there = () => git(originOf(desk.path), 'for-each-ref', '--format=%(objectname)', 'refs/heads/proposed')
    await page.keyboard.press('Alt+0')
    const label = page.locator('.graph-row .label').filter({ hasText: 'origin/proposed/3.0.0' }).first()
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete remote branch…' }).click()
    await dialog().getByRole('heading', { name: 'Delete the branch proposed/3.0.0 on origin?' }).waitFor()
    await dialog().getByText('deletes origin/proposed/3.0.0 with 1 commit that is on no other branch or tag').waitFor()
    // Enter cancels, as wherever something is deleted.
    await dialog().getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    const notice = page.getByText('Deleted the branch proposed/3.0.0 on origin.').first()
    await notice.waitFor()
    expect(await there()).toBe('')
    await until(async () => (await label.count()) === 0)
    await page.keyboard.press('Alt+o')
    await dialog()
      .getByRole('listitem')
      .filter({ hasText: 'Delete the branch proposed/3.0.0 on origin' })
      .getByRole('button', { name: 'Undo' })
      .click()
    await page.getByText('Undone: delete the branch proposed/3.0.0 on origin').first().waitFor()
    expect(await there()).toBe(tip)
    await label.waitFor()
  })

  test('has its name as it is in the notice that it was deleted on the remote already', async () => {
    await page.keyboard.press('Alt+0')
    await page
      .locator('.graph-row .label')
      .filter({ hasText: 'origin/proposed/3.0.0' })
      .first()
      .click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete remote branch…' }).click()
    await dialog().getByText('deletes origin/proposed/3.0.0 with 1 commit that is on no other branch or tag').waitFor()
    await git(originOf(desk.path), 'branch', '-D', 'proposed/3.0.0')
    await dialog().getByRole('button', { name: 'Delete' }).click()
    const notice = page.locator('.toast').getByText('was deleted on origin already')
    expect(await notice.textContent()).toContain(
      'proposed/3.0.0 was deleted on origin already: removed origin/proposed',
    )
  })

  test('is deleted from the menu of the local branch that tracks it, which stays', async () => {
    const tip = await desk.tip('lease-renewal')
    await page.keyboard.press('Alt+0')
    const label = page.locator('.graph-row .label').filter({ hasText: 'lease-renewal' }).first()
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete remote branch…' }).click()
    await dialog().getByText('The local branch lease-renewal stays, and keeps origin/lease-renewal as its').waitFor()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deleted the branch lease-renewal on origin.').first().waitFor()
    expect(await git(originOf(desk.path), 'for-each-ref', 'refs/heads/lease-renewal')).toBe('')
    expect(await desk.tip('lease-renewal')).toBe(tip)
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Publish branch…' }).waitFor()
    expect(await page.getByRole('menuitem', { name: 'Delete remote branch…' }).count()).toBe(0)
  })

  test('is removed by a fetch where it is gone on the remote, which its local branch says, and comes back by Undo', async () => {
    await git(originOf(desk.path), 'branch', '-D', 'lease-renewal')
    await showBranch(page, 'lease-renewal')
    await page.keyboard.press('Alt+Shift+4')
    await page.getByText('1 branch is gone on origin.').first().waitFor()
    const status = page.getByRole('status', { name: 'Status' })
    await status.getByText('origin/lease-renewal is gone').waitFor()
    expect(await desk.git('for-each-ref', 'refs/remotes/origin/lease-renewal')).toBe('')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await status.getByText('is gone').count()) === 0)
    expect(await desk.git('rev-parse', 'origin/lease-renewal')).toBe(await desk.tip('lease-renewal'))
    await page.keyboard.press('Alt+0')
    await page.getByRole('toolbar', { name: 'Repository' }).getByRole('button', { name: 'Fetch' }).click()
    await page.getByText('upstream gone').first().waitFor()
  })

  test('is what a branch is pushed to whose upstream is a local branch, and its buttons say so', async () => {
    await desk.git('branch', '--quiet', '--set-upstream-to=main', 'retry-jitter')
    await desk.commit('retry-jitter', { 'more.md': 'more\n' }, { message: 'More' })
    await desk.commit('main', { 'README.md': 'Ahead\n' }, { message: 'Ahead' })
    await page.reload()
    await showBranch(page, 'retry-jitter')
    const words = '2 commits ahead of the local branch main: push retry-jitter to a remote'
    await page.getByRole('button', { name: 'Pull 1 commit from main' }).waitFor()
    await page.getByRole('button', { name: words }).click()
    await dialog().getByText('1 commit to origin/retry-jitter').waitFor()
    await dialog().getByRole('button', { name: 'Push', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.git('rev-parse', 'origin/retry-jitter')).toBe(await desk.tip('retry-jitter'))
    expect(await upstreamOf('retry-jitter')).toBe('main')
  })

  test('is pushed to by a dialog that follows its branch to a new name', async () => {
    // In a bare repository, as here, git keeps no reflogs unless it is told to.
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    await desk.commit('lease-renewal', { 'more.md': 'more\n' }, { message: 'More' })
    await showBranch(page, 'lease-renewal')
    await page.keyboard.press('Alt+v')
    await page.getByRole('dialog', { name: 'Push lease-renewal' }).getByText('1 commit to origin/').waitFor()
    await desk.git('branch', '-m', 'lease-renewal', 'renewal')
    const renamed = page.getByRole('dialog', { name: 'Push renewal', exact: true })
    await renamed.getByText('Adds the commits of renewal that origin does not have yet.').waitFor()
    await renamed.getByRole('button', { name: 'Push', exact: true, disabled: false }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.git('rev-parse', 'origin/lease-renewal')).toBe(await desk.tip('renewal'))
  })

  test('is pulled from by a dialog that follows its branch to a new name, in the chosen way', async () => {
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    const theirs = await commit(
      originOf(desk.path),
      'lease-renewal',
      { 'theirs.md': 'theirs\n' },
      { message: 'Theirs' },
    )
    await showBranch(page, 'lease-renewal')
    await page.keyboard.press('Alt+p')
    const former = page.getByRole('dialog', { name: 'Pull origin/lease-renewal into lease-renewal' })
    await former.getByRole('tab', { name: 'Merge' }).click()
    await former.getByRole('button', { name: 'Pull', exact: true, disabled: false }).waitFor()
    await desk.git('branch', '-m', 'lease-renewal', 'renewal')
    const renamed = page.getByRole('dialog', { name: 'Pull origin/lease-renewal into renewal' })
    await renamed.getByText('Merges origin/lease-renewal into renewal.').waitFor()
    await renamed.getByRole('tab', { name: 'Merge', selected: true }).waitFor()
    await renamed.getByRole('button', { name: 'Pull', exact: true, disabled: false }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.tip('renewal')).toBe(theirs)
  })

  test('is the upstream of a branch soon after git has set it in a terminal, and is none any more once it is unset', async () => {
    await desk.commit('retry-jitter', { 'more.md': 'more\n' }, { message: 'More' })
    await showBranch(page, 'retry-jitter')
    await page.getByRole('button', { name: /^Publish/ }).waitFor()
    await desk.git('branch', '--quiet', '-u', 'origin/retry-jitter', 'retry-jitter')
    await page.getByRole('button', { name: 'Push 1 commit to origin/retry-jitter' }).waitFor()
    await desk.git('branch', '--unset-upstream', 'retry-jitter')
    await page.getByRole('button', { name: /^Publish/ }).waitFor()
    await page.keyboard.press('Alt+0')
    await desk.git('remote', 'add', 'mirror', 'https://example.com/mirror.git')
    await page.getByRole('navigation', { name: 'Branches and tags' }).getByText('mirror').waitFor()
  })

  test('is chosen as the upstream of a branch by its menu, and unset, each undone by its notice', async () => {
    await showBranch(page, 'retry-jitter')
    const tab = page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: 'retry-jitter' })
    const undo = () => page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    const configured = () => desk.git('config', '--default', '', '--get', 'branch.retry-jitter.merge')
    await tab.click({ button: 'right' })
    expect(await page.getByRole('menuitem', { name: 'Unset upstream' }).count()).toBe(0)
    await page.getByRole('menuitem', { name: 'Set upstream…' }).click()
    await dialog()
      .getByRole('option', { name: /origin\/retry-jitter/ })
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('retry-jitter tracks origin/retry-jitter').first().waitFor()
    expect(await upstreamOf('retry-jitter')).toBe('origin/retry-jitter')
    await undo()
    await page.getByText('Undone: set the upstream of retry-jitter to origin/retry-jitter').first().waitFor()
    expect(await configured()).toBe('')
    await page.locator('.toast').getByRole('button', { name: 'Redo' }).click()
    await until(async () => (await configured()) === 'refs/heads/retry-jitter')
    await page.getByRole('button', { name: /^Publish/ }).waitFor({ state: 'hidden' })
    await tab.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Unset upstream' }).click()
    await page.getByText('retry-jitter has no upstream now').first().waitFor()
    expect(await configured()).toBe('')
    await undo()
    await until(async () => (await configured()) === 'refs/heads/retry-jitter')
    expect(await upstreamOf('retry-jitter')).toBe('origin/retry-jitter')
  })

  test('is published again on the remote that its local branch is configured for, where it is gone there', async () => {
    const fork = join(desk.path, '../fork.git')
    await git('/', 'clone', '--quiet', '--bare', desk.path, fork)
    await desk.git('remote', 'add', 'fork', fork)
    await desk.git('config', 'branch.retry-jitter.remote', 'fork')
    await desk.git('config', 'branch.retry-jitter.merge', 'refs/heads/retry-jitter')
    for (const path of [fork, originOf(desk.path)]) await git(path, 'branch', '-D', 'retry-jitter')
    await desk.git('fetch', '--quiet', '--prune', 'fork')
    await showBranch(page, 'retry-jitter')
    await page.getByRole('status', { name: 'Status' }).getByText('fork/retry-jitter is gone').waitFor()
    await page.keyboard.press('Alt+v')
    await dialog().getByRole('tab', { name: 'To fork', selected: true }).waitFor()
    await dialog().getByText('creates fork/retry-jitter').waitFor()
    await dialog().getByRole('button', { name: 'Publish', exact: true }).click()
    // Git writes the remote-tracking branch after the branch of the remote; without it there is no upstream to name.
    await until(async () => (await desk.git('for-each-ref', 'refs/remotes/fork/retry-jitter')) !== '')
    expect(await git(fork, 'rev-parse', 'retry-jitter')).toBe(await desk.tip('retry-jitter'))
    expect(await upstreamOf('retry-jitter')).toBe('fork/retry-jitter')
  })

  test('that was rewritten is named by a pull, which leaves out by rebase what was dropped there', async () => {
    // In a bare repository, as here, git keeps no reflogs unless it is told to.
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    const old = await git(originOf(desk.path), 'rev-parse', 'lease-renewal')
    await commit(originOf(desk.path), 'lease-renewal', { 'dropped.md': 'one\n' }, { message: 'Dropped later' })
    await showBranch(page, 'lease-renewal')
    await page.keyboard.press('Alt+p')
    await dialog().getByRole('button', { name: 'Pull', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    await desk.commit('lease-renewal', { 'own.md': 'own\n' }, { message: 'My own' })
    await page.getByRole('button', { name: 'Push 1 commit to origin/lease-renewal' }).waitFor()
    await git(originOf(desk.path), 'update-ref', 'refs/heads/lease-renewal', old)
    await commit(originOf(desk.path), 'lease-renewal', { 'other.md': 'other\n' }, { message: 'Instead of it' })
    await page.keyboard.press('Alt+p')
    await dialog().getByText('was rewritten: the merge brings back 1 commit that it had before').waitFor()
    await dialog().getByRole('tab', { name: 'Rebase' }).click()
    await dialog()
      .getByText('origin/lease-renewal was rewritten: 1 commit that it had before is left out: “Dropped later”.')
      .waitFor()
    await dialog().getByText('Rebases 1 commit').waitFor()
    await dialog().getByRole('button', { name: 'Pull', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.git('log', '-3', '--format=%s', 'lease-renewal')).toStartWith('My own\nInstead of it\n')
    expect(await desk.git('log', '--format=%s', 'lease-renewal')).not.toContain('Dropped later')
  })

  test('is removed by a pull, too, whose dialog says so', async () => {
    await git(originOf(desk.path), 'branch', '-D', 'lease-renewal')
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Alt+p')
    const dialog = page.getByRole('dialog', { name: 'Pull ' })
    await dialog.getByText('1 branch is gone on origin. Undo is in Operations.').waitFor()
    expect(await desk.git('for-each-ref', 'refs/remotes/origin/lease-renewal')).toBe('')
  })

  test('and a local one: the deletion says which commits are nowhere else', async () => {
    await showBranch(page, 'retry-jitter')
    const question = page.getByRole('dialog', { name: 'Delete the branch retry-jitter?' })
    const lost = question.getByText('on no other branch, remote branch or tag')
    await page.keyboard.press('Alt+Shift+Delete')
    await question.getByText('Undo restores it').waitFor()
    expect(await lost.count()).toBe(0)
    await page.keyboard.press('Escape')
    await commit(desk.path, 'retry-jitter', { 'only.md': 'here\n' }, { message: 'Only here' })
    await desk.git('tag', 'local-only', 'retry-jitter')
    await commit(desk.path, 'retry-jitter', { 'only.md': 'again\n' }, { message: 'Nowhere else' })
    await page.keyboard.press('Alt+Shift+Delete')
    await question.getByText('1 commit of it is on no other branch, remote branch or tag.').waitFor()
  })

  test('and nothing that came after the question: it is asked anew, with what the deletion would lose now', async () => {
    await showBranch(page, 'retry-jitter')
    const question = page.getByRole('dialog', { name: 'Delete the branch retry-jitter?' })
    const focused = (name: string) =>
      question.getByRole('button', { name }).evaluate(it => it === document.activeElement)
    await page.keyboard.press('Alt+Shift+Delete')
    await question.getByText('Undo restores it').waitFor()
    const late = await commit(desk.path, 'retry-jitter', { 'late.md': 'late\n' }, { message: 'Important' })
    await page.keyboard.press('Tab')
    expect(await focused('Delete')).toBe(true)
    await page.keyboard.press('Enter')
    await question.getByText('retry-jitter was moved since this was shown: nothing was deleted').waitFor()
    await question.getByText('1 commit of it is on no other branch, remote branch or tag.').waitFor()
    expect(await desk.tip('retry-jitter')).toBe(late)
    expect(await focused('Cancel')).toBe(true)
    await question.getByRole('button', { name: 'Delete' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await desk.has('retry-jitter')).toBe(false)
  })

  test('with the drafts of other windows: all are named, none that came after the question is deleted, and Undo restores them', async () => {
    await using other = await desk.desk.window()
    const type = async (path: string, text: string) => {
      await other.ask({ ask: 'open', at: { kind: 'branch', branch: 'retry-jitter' }, path })
      const edits = [{ client: 'other', changes: replacement(text.length, 0, text.length, 'typed\n') }]
      const edit = { ask: 'edit', branch: 'retry-jitter', path, version: 0, edits } as const
      expect(await other.ask(edit)).toMatchObject({ accepted: true })
    }
    const question = page.getByRole('dialog', { name: 'Delete the branch retry-jitter?' })
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Alt+Shift+Delete')
    await question.getByText('Undo restores it').waitFor()
    await type('README.md', SCENE_FILES['README.md'])
    await question.getByRole('button', { name: 'Delete' }).click()
    await question.getByText('README.md in retry-jitter was edited since this was shown: nothing was deleted').waitFor()
    await question.getByText('It has 1 draft, restored by Undo too:').waitFor()
    expect(await question.getByRole('listitem').allTextContents()).toEqual(['README.md'])
    await question.getByRole('button', { name: 'Delete' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await desk.has('retry-jitter')).toBe(false)
    await page.keyboard.press('Control+Alt+z')
    await until(() => desk.has('retry-jitter'))
    await desk.isText('retry-jitter', 'README.md', 'typed\n')
  })

  test('not a branch that is checked out: Delete is off, with the reason', async () => {
    await desk.git('worktree', 'add', '--quiet', `${desk.path}-checkout`, 'retry-jitter')
    await showBranch(page, 'retry-jitter')
    const question = page.getByRole('dialog', { name: 'Delete the branch retry-jitter?' })
    // The desk may take a moment to see the new checkout: the dialog says what was known when it was opened.
    await until(async () => {
      await page.keyboard.press('Escape')
      await page.keyboard.press('Alt+Shift+Delete')
      await question.getByText('Undo restores it').waitFor()
      return (await question.getByText('first switch to another branch there').count()) > 0
    })
    expect(await question.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
  })
})
