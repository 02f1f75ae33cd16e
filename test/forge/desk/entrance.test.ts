/** The real desk in a real browser: how a window gets access, keeps it across restarts, and how others are refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../support/browser.ts'
import { builtPage } from '../../support/built-page.ts'
import { commit, git, gitWith, PLAIN } from '../../support/git.ts'
import { makeFolder, until } from '../../support/repository.ts'

const FORGE = join(import.meta.dir, '../../../forge.ts')
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
)

type Forge = { address: string; kill: (signal: 'SIGKILL' | 'SIGINT') => Promise<unknown> }

describe.skipIf(!hasBrowser)('a window at the desk', () => {
  let built: string
  let browser: OpenBrowser
  let folder: Awaited<ReturnType<typeof makeFolder>>
  let top: string
  let forge: Forge
  let page: Page

  async function start(...args: string[]): Promise<Forge> {
    const env = { ...PLAIN, PATH: process.env.PATH, HOME: folder.path, XDG_STATE_HOME: join(folder.path, 'state') }
    const child = Bun.spawn([FORGE, '--no-open', ...args, top], {
      env: { ...env, FORGE_PAGE: built },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    for await (const piece of child.stdout) {
      out += Buffer.from(piece).toString()
      if (out.includes('\n')) break
    }
    const kill = (signal: 'SIGKILL' | 'SIGINT') => {
      child.kill(signal)
      return child.exited
    }
    return { address: /http:\S+/.exec(out)?.[0] ?? '', kill }
  }

  const open = async (address: string): Promise<Page> => {
    const opened = await browser.context.newPage()
    await opened.goto(address)
    await opened.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: 'main' }).click()
    await opened.getByRole('treeitem', { name: 'a.txt' }).waitFor()
    return opened
  }

  const hash = async (bytes: Buffer) => {
    const child = Bun.spawn(['git', 'hash-object', '-w', '--stdin'], { cwd: top, stdin: bytes, stdout: 'pipe' })
    return (await child.stdout.text()).trim()
  }

  const drafted = () => git(top, 'show', 'refs/forge/drafts/main:a.txt').catch(() => '')

  beforeAll(async () => {
    built = await builtPage()
    browser = await openBrowser()
    folder = await makeFolder()
    top = join(folder.path, 'repository')
    await git('/', 'init', '--quiet', '--bare', '--initial-branch=main', top)
    await commit(top, 'main', { 'a.txt': 'one\n' })
    const blob = await hash(PIXEL)
    const files = `100644 blob ${await git(top, 'rev-parse', 'main:a.txt')}\ta.txt\n100644 blob ${blob}\tdot.png\n`
    const tree = await gitWith(top, ['mktree'], files)
    const env = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b' }
    const made = await gitWith(top, ['commit-tree', '-m', 'An image', '-p', 'main', tree], undefined, env)
    await git(top, 'update-ref', 'refs/heads/main', made)
    forge = await start()
    page = await open(forge.address)
  })
  afterAll(async () => {
    await forge?.kill('SIGINT')
    await browser?.[Symbol.asyncDispose]()
    await folder?.[Symbol.asyncDispose]()
  })

  test('gets access by the address, from which the token then disappears', async () => {
    expect(page.url()).toBe(`${new URL(forge.address).origin}/`)
    expect(await page.evaluate('document.cookie')).toBe('')
    const { entries } = await (await browser.context.newCDPSession(page)).send('Page.getNavigationHistory')
    expect(entries.filter(({ url }) => url.includes('token'))).toEqual([])
    expect(await page.content()).not.toContain('forge-secret')
  })

  test('gets access in a second tab by typing the address', async () => {
    const second = await open(`${new URL(forge.address).origin}/`)
    await second.close()
  })

  test('shows an image, which has no address', async () => {
    await page.getByRole('treeitem', { name: 'dot.png' }).click()
    const image = page.getByRole('img', { name: 'dot.png' })
    await image.waitFor()
    expect(await image.getAttribute('src')).toStartWith('blob:')
    await until(() => image.evaluate(it => (it as unknown as { naturalWidth: number }).naturalWidth === 1))
    const oid = await git(top, 'rev-parse', 'main:dot.png')
    const status = await page.evaluate(`fetch('/image/${oid}').then(answer => answer.status)`)
    expect(status).toBe(401)
  })

  test('turns no text into HTML, and can’t change the policy that prevents it', async () => {
    const tries = [
      "document.createElement('div').insertAdjacentHTML('beforeend', '<b>x</b>')",
      "document.createElement('div').innerHTML = '<b>x</b>'",
      "document.createElement('script').text = 'x'",
      "trustedTypes.createPolicy('other', { createHTML: text => text })",
    ]
    const errors: string[] = []
    for (const attempt of tries) {
      const caught = `try { ${attempt}; 'it was let' } catch (error) { error.name }`
      errors.push(await page.evaluate(caught))
    }
    expect(errors).toEqual(['TypeError', 'TypeError', 'TypeError', 'TypeError'])
  })

  test('goes on by itself after kill -9 of the desk, with the edits made meanwhile', async () => {
    await page.getByRole('treeitem', { name: 'a.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('before ')
    await until(async () => (await drafted()) === 'before one')
    await forge.kill('SIGKILL')
    await page.getByText(`If it was ended, run forge again in ${top}`).waitFor()
    await page.keyboard.type('while away ')
    forge = await start()
    await until(async () => (await drafted()) === 'before while away one')
    await page.keyboard.type('after ')
    await until(async () => (await drafted()) === 'before while away after one')
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('says what to do if its secret is not valid any more, and goes on when the browser has the new one', async () => {
    const { port } = new URL(forge.address)
    await forge.kill('SIGKILL')
    await page.getByText('The desk does not answer').waitFor()
    await page.keyboard.type('kept ')
    await Bun.spawn(['rm', '-r', join(folder.path, 'state')]).exited
    forge = await start('--port', port)
    await page.getByText(`Run forge again in ${top} and open the address`).waitFor()
    const plain = await browser.context.newPage()
    await plain.goto(`http://127.0.0.1:${port}/`)
    expect(await plain.textContent('body')).toContain('run `forge` again in the folder of repository')
    await plain.close()
    const other = await open(forge.address)
    await until(async () => (await drafted()).includes('kept '))
    await other.close()
  })

  test('says what to do with the cookie but without the secret', async () => {
    const other = await open(`${new URL(forge.address).origin}/`)
    const secret = await other.evaluate<string>(`localStorage.getItem('forge-secret')`)
    await other.evaluate('localStorage.clear()')
    await other.reload()
    await other.getByText('This window is no longer signed in to the desk').waitFor()
    await other.evaluate(`localStorage.setItem('forge-secret', '${secret}')`)
    await other.getByRole('treeitem', { name: 'a.txt' }).waitFor()
    await other.close()
  })
})
