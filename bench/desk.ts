/**
 * `bun bench/desk.ts`: measures the desk's response times in a real browser beside bare git commands for the same step,
 * on a repository of 50,000 files and 50,000 commits. Prints a table; nothing passes or fails. Making the repository
 * takes minutes: with a folder's path it is kept there, and used again.
 */
import { appendFile, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { hitsOf } from '../forge/desk/web/page/replacing.ts'
import { openBrowser, pick } from '../test/support/browser.ts'
import { bare, git } from '../test/support/git.ts'
import { TestWindow } from '../test/support/served.ts'
import {
  EDITOR,
  environment,
  noteFirst,
  openBranch,
  type RunningDesk,
  startDesk,
  untilShown,
  whenDrawn,
} from './desk-page.ts'
import { median, memoryOf, time } from './measure.ts'
import { importHistory } from './repositories.ts'

const ROUNDS = 9
const SIZE = { name: 'large', files: 50_000, commits: 50_000, bytesPerFile: 2000 }
/**
 * The folder with the files that are opened. Their paths are as repositories.ts makes them: FOLDER/file<number>.txt.
 */
const FOLDER = ['part1', 'area0']
const nameOf = (number: number): string => `file${number}.txt`
/** The first files in the explorer, as many as it has room for. */
const NUMBERS = Array.from({ length: 70 }, (_, at) => 1 + at * 23 * 29)
  .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  .slice(0, 20)
const pathOf = (number: number): string => [...FOLDER, nameOf(number)].join('/')

type Row = { what: string; desk: number; bare?: { command: string; wall: number }; unit?: string; goal: string }

/**
 * Makes the repository twice: a bare one for the desk, and a checkout for the bare commands. `near` differs from main
 * in 50 files.
 */
async function makeRepositories(folder: string): Promise<{ desk: string; checkout: string }> {
  const [origin, desk, checkout] = ['origin.git', 'desk', 'checkout'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  if (await stat(join(folder, 'made')).catch(() => undefined)) {
    await asItWasMade(desk, checkout)
    return { desk, checkout }
  }
  console.error(`Making ${SIZE.files} files and ${SIZE.commits} commits.`)
  await mkdir(folder, { recursive: true })
  await bare(origin)
  await importHistory(origin, SIZE)
  await git(origin, 'repack', '-adfq')
  await git(origin, 'branch', 'near', 'main~10')
  for (const path of [desk, checkout]) {
    await git(folder, 'clone', '-q', origin, path)
    await git(path, 'branch', '-q', 'near', 'origin/near')
  }
  // The desk is to work on main, which must not be checked out.
  await git(desk, 'switch', '-q', '-c', 'elsewhere')
  await Bun.write(join(folder, 'made'), '')
  return { desk, checkout }
}

/** Undoes the changes of an earlier run. */
async function asItWasMade(desk: string, checkout: string): Promise<void> {
  const left = (await git(desk, 'for-each-ref', '--format=%(refname)', 'refs/forge')).split('\n').filter(Boolean)
  for (const ref of left) await git(desk, 'update-ref', '-d', ref)
  await git(desk, 'update-ref', 'refs/heads/main', 'origin/main')
  await git(checkout, 'reset', '-q', '--hard', 'origin/main')
}

const tabOf = (list: string, name: string) =>
  `[...document.querySelectorAll('[role=tablist][aria-label=${list}] [role=tab]')].find(it => it.textContent.includes(${JSON.stringify(name)}))`
const isSelected = (list: string, name: string) => `${tabOf(list, name)}?.getAttribute('aria-selected') === 'true'`
/** The commit that the status bar shows as saved; none while a draft is left. */
const STATUS = `/Saved → ([0-9a-f]{8})/.exec(document.querySelector('.status .saved')?.textContent)?.[1]`

/** Records when the next key is pressed, and the commit saved before that, as `window.pressed`. */
const AWAIT_KEY = `{
  const pressed = { at: 0, saved: ${STATUS} }
  window.pressed = pressed
  const isSave = event => event.ctrlKey && event.key.toLowerCase() === 's'
  addEventListener('keydown', event => { if (isSave(event)) pressed.at ||= event.timeStamp }, { capture: true })
}`
const SAVED_SINCE = `${STATUS} && ${STATUS} !== pressed.saved`

async function openFile(page: Page, number: number): Promise<void> {
  await pick(page, 'Control+P', nameOf(number))
  await page
    .getByRole('tablist', { name: 'Files' })
    .getByRole('tab', { name: nameOf(number), selected: true })
    .waitFor()
  await page.getByRole('textbox', { name: 'Editor' }).waitFor()
}

// --- Measurements ----------------------------------------------------------------------------------------------------

type Bench = { folder: string; desk: string; checkout: string; home: string; env: Record<string, string | undefined> }

const bareCost = async ({ checkout, env }: Bench, words: string[]): Promise<number> =>
  (await time(words, { cwd: checkout, env })).wall

/** Measures the time from the start of the command until the graph shows commits, in a browser that already runs. */
async function start(bench: Bench): Promise<Row[]> {
  await using browser = await openBrowser()
  await noteFirst(browser.context, '.graph-row .subject')
  const [desk, bareStatus, bytes]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    const page = await browser.context.newPage()
    const network = await browser.context.newCDPSession(page)
    let received = 0
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      received += encodedDataLength
    })
    await network.send('Network.enable')
    await network.send('Network.clearBrowserCache')
    await using running = await startDesk(bench.desk, bench.home)
    await page.goto(running.address, { waitUntil: 'commit' })
    desk.push((await whenDrawn(page)) - running.begun)
    bytes.push(received / 1024)
    await page.close()
    bareStatus.push(await bareCost(bench, ['git', 'status']))
  }
  const command = '`git status`'
  return [
    { what: 'start to usable page', desk: median(desk), bare: { command, wall: median(bareStatus) }, goal: '< 500 ms' },
    { what: 'of that, the browser for a page of one word', desk: await emptyPage(), goal: '' },
    { what: 'bytes before that, compressed', desk: median(bytes), unit: 'KiB', goal: '< 400 KB' },
  ]
}

/** The browser's own part of a start: from the command to open a page of one word until it is drawn. */
async function emptyPage(): Promise<number> {
  await using browser = await openBrowser()
  await noteFirst(browser.context, 'p')
  const headers = { 'content-type': 'text/html' }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response('<!doctype html><p>word', { headers }),
  })
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const page = await browser.context.newPage()
    const begun = performance.now()
    await page.goto(server.url.href, { waitUntil: 'commit' })
    times.push((await whenDrawn(page)) - begun)
    await page.close()
  }
  await server.stop(true)
  return median(times)
}

/** Measures the least time that any change in a page takes: from changing one attribute until the frame is drawn. */
async function oneFrame(page: Page): Promise<Row> {
  const times: number[] = []
  for (let round = 0; round < 3 * ROUNDS; round++) {
    times.push(await untilShown(page, `document.querySelector('.status .place').title = '${round}'`, 'true'))
    // An irregular pause, so that the change is not in step with the frames.
    await Bun.sleep(20 + 7 * round)
  }
  return { what: 'of each of these, the browser for a frame', desk: median(times), goal: '' }
}

async function openingFiles(page: Page): Promise<Row> {
  for (const folder of FOLDER) await page.getByRole('treeitem', { name: folder, exact: true }).click()
  await page.getByRole('treeitem', { name: nameOf(1), exact: true }).waitFor()
  const times: number[] = []
  for (const number of NUMBERS.slice(0, ROUNDS)) {
    const name = nameOf(number)
    const row = `[...document.querySelectorAll('[role=treeitem]')].find(it => it.textContent.includes('${name}'))`
    const act = `const before = ${EDITOR}; ${row}.click()`
    const isShown = `${isSelected('Files', name)} && ${EDITOR} && ${EDITOR} !== before`
    times.push(await untilShown(page, act, isShown))
  }
  return { what: 'open a file, from the click until it is drawn', desk: median(times), goal: '< 50 ms' }
}

async function switching(page: Page, bench: Bench): Promise<Row> {
  await openBranch(page, 'near')
  await openFile(page, NUMBERS[15] ?? 0)
  const [desk, bareSwitch]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    const [there, file] = round % 2 === 0 ? ['main', NUMBERS[ROUNDS - 1]] : ['near', NUMBERS[15]]
    const isShown = `${isSelected('Files', nameOf(file ?? 0))} && ${EDITOR}`
    desk.push(await untilShown(page, `${tabOf('Branches', there ?? '')}.click()`, isShown))
    bareSwitch.push(await bareCost(bench, ['git', 'switch', '-q', round % 2 === 0 ? 'near' : 'main']))
  }
  await bareCost(bench, ['git', 'switch', '-q', 'main'])
  const bare = { command: '`git switch`', wall: median(bareSwitch) }
  return { what: 'switch of branch, until its file is drawn', desk: median(desk), bare, goal: '< 0.1' }
}

/** Measures from the key press until the status bar shows the commit. */
async function saving(page: Page, bench: Bench, count: number): Promise<Row> {
  const numbers = NUMBERS.slice(0, count)
  const [desk, bareCommit]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    for (const number of numbers) {
      await openFile(page, number)
      await page.getByRole('textbox', { name: 'Editor' }).focus()
      await page.keyboard.type(`${round}`)
      await appendFile(join(bench.checkout, pathOf(number)), `round ${round}\n`)
    }
    await page.evaluate(AWAIT_KEY)
    const shown = untilShown(
      page,
      'const pressed = window.pressed',
      `pressed.at > 0 && (begun = pressed.at) && ${SAVED_SINCE}`,
    )
    await page.keyboard.press(count > 1 ? 'Control+Shift+S' : 'Control+s')
    desk.push(await shown)
    const paths = numbers.map(pathOf)
    const add = await bareCost(bench, ['git', 'add', '--', ...paths])
    bareCommit.push(add + (await bareCost(bench, ['git', 'commit', '-q', '-m', `round ${round}`])))
  }
  const what = `save ${count === 1 ? 'one file' : `${count} files`}, until it is said`
  const bare = { command: '`git add` and `git commit`', wall: median(bareCommit) }
  return { what, desk: median(desk), bare, goal: '< 0.5' }
}

async function finding(running: RunningDesk, bench: Bench): Promise<Row> {
  await using window = await TestWindow.at(running.address)
  const find = async (): Promise<number> => {
    const begun = performance.now()
    const at = { kind: 'branch', branch: 'main' } as const
    const asked = window.ask({ ask: 'find text', at, words: 'edit 49', isRegex: false, matchCase: true })
    const { search } = (await asked) as { search: number }
    await window.heard('found', news => news.search === search && news.isDone)
    return performance.now() - begun
  }
  await find()
  const [desk, bareGrep]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    desk.push(await find())
    bareGrep.push(await bareCost(bench, ['git', 'grep', '-n', '-I', '-F', 'edit 49', 'main']))
  }
  const bare = { command: '`git grep TREE`', wall: median(bareGrep) }
  return { what: 'find text in all files', desk: median(desk), bare, goal: '< 1.2' }
}

/** The words that a replacement is previewed for: in many of the files. */
const REPLACED_WORDS = 'edit 49'

/** Measures the time until all matches in many files are found, and the replacement of each is computed. */
async function replacing(running: RunningDesk, bench: Bench): Promise<Row> {
  await using window = await TestWindow.at(running.address)
  const question = { words: REPLACED_WORDS, isRegex: false, matchCase: true }
  const preview = async (): Promise<number> => {
    const begun = performance.now()
    const at = { kind: 'branch', branch: 'main' } as const
    const { search } = (await window.ask({ ask: 'find text', at, ...question, wholeLines: true })) as { search: number }
    await window.heard('found', news => news.search === search && news.isDone)
    const matches = window.news.flatMap(news => (news.say === 'found' && news.search === search ? news.matches : []))
    hitsOf(matches, { ...question, replacement: 'change 49' })
    return performance.now() - begun
  }
  await preview()
  const [desk, bareGrep]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    desk.push(await preview())
    bareGrep.push(await bareCost(bench, ['git', 'grep', '-n', '-I', '-F', REPLACED_WORDS, 'main']))
  }
  const bare = { command: '`git grep TREE`', wall: median(bareGrep) }
  return { what: 'preview a replacement in files', desk: median(desk), bare, goal: '< 2' }
}

/** Rewords the 30th commit from the tip: the 29 after it are made again. */
async function rewording(running: RunningDesk, bench: Bench): Promise<Row> {
  await using window = await TestWindow.at(running.address)
  const [desk, bareRebase]: [number[], number[]] = [[], []]
  const editors = ['-c', 'sequence.editor=sed -i 1s/^pick/reword/', '-c', 'core.editor=sed -i 1s/$/./']
  for (let round = 0; round < ROUNDS; round++) {
    const commit = await git(bench.desk, 'rev-parse', 'main~29')
    const step = { step: 'rewrite', branch: 'main', rewriting: { do: 'reword', commit }, message: `Round ${round}` }
    const begun = performance.now()
    await window.ask({ ask: 'do', step } as Parameters<typeof window.ask>[0])
    desk.push(performance.now() - begun)
    bareRebase.push(await bareCost(bench, ['git', ...editors, 'rebase', '-q', '-i', 'HEAD~30']))
  }
  const bare = { command: '`git rebase -i`', wall: median(bareRebase) }
  return { what: 'reword the 30th commit', desk: median(desk), bare, goal: '< 0.5' }
}

/** Measures memory at the end, and processor time in ten idle seconds. */
async function resting(page: Page, running: RunningDesk): Promise<Row[]> {
  const tools = await page.context().newCDPSession(page)
  await tools.send('Performance.enable')
  await tools.send('HeapProfiler.collectGarbage')
  const { metrics } = await tools.send('Performance.getMetrics')
  const heap = (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0) / 2 ** 20
  const before = await memoryOf(running.pid)
  await Bun.sleep(10_000)
  const after = await memoryOf(running.pid)
  return [
    { what: 'memory of the server', desk: after.own, unit: 'MiB', goal: '< 250 MB' },
    { what: 'with the gits that it keeps', desk: after.all, unit: 'MiB', goal: '' },
    { what: 'memory of the page (its heap)', desk: heap, unit: 'MiB', goal: '' },
    { what: 'processor while nothing is done, a second', desk: (after.cpu - before.cpu) / 10, goal: '~ 0' },
  ]
}

const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`

function tableOf(rows: Row[]): string {
  const cells = rows.map(({ what, desk, bare, unit, goal }) => {
    const ours = unit ? `${desk.toFixed(0)} ${unit}` : milliseconds(desk)
    const theirs = bare ? [bare.command, milliseconds(bare.wall), (desk / bare.wall).toFixed(2)] : ['', '', '']
    return `| ${[what, ours, ...theirs, goal].join(' | ')} |`
  })
  return ['| | the desk | bare | time | ratio | goal |', '|---|---:|---|---:|---:|---:|', ...cells].join('\n')
}

async function measure(bench: Bench): Promise<Row[]> {
  const rows = await start(bench)
  await using running = await startDesk(bench.desk, bench.home)
  await using browser = await openBrowser()
  const page = await browser.context.newPage()
  await page.goto(running.address)
  await page.locator('.graph-row .subject').first().waitFor()
  await openBranch(page, 'main')
  rows.push(await openingFiles(page), await switching(page, bench))
  await openBranch(page, 'main')
  rows.push(await saving(page, bench, 1), await saving(page, bench, 10), await oneFrame(page))
  rows.push(await finding(running, bench), await replacing(running, bench), await rewording(running, bench))
  return [...rows, ...(await resting(page, running))]
}

const temporary = await mkdtemp(join(tmpdir(), 'forge-bench-'))
try {
  const folder = process.argv[2] ?? join(temporary, 'repositories')
  const places = await makeRepositories(folder)
  const home = join(temporary, 'home')
  await Bun.write(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n')
  const env = environment(home)
  console.log(tableOf(await measure({ folder, ...places, home, env })))
} finally {
  await rm(temporary, { recursive: true, force: true })
}
