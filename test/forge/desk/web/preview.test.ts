/** Previews beside the text: what others wrote is shown, none of it runs, and nothing is fetched for it. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { tableOf } from '../../../../forge/desk/web/preview/csv.ts'
import { notebookOf } from '../../../../forge/desk/web/preview/notebook.ts'
import { hasBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const GIF = 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;'
const XMLNS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
const RUN = 'window.hasRun=true'

const MARKDOWN = `# Title

<script>${RUN}</script>
<img src=x onerror="${RUN}"><iframe srcdoc="<script>parent.hasRun=1</script>"></iframe>

[run](javascript:${RUN}) [data](data:text/html,<script>${RUN}</script>) [up](../README.md) [beside](other.md)

![own](../logo.gif) ![else](https://elsewhere.example/pixel.png) ![data](data:image/svg+xml,<svg/>) ![drawn](drawn.svg) ![none](none.png)

| a | b |
|---|---|
${'| 1 | 2 |\n'.repeat(1_000)}
`

const SVG = `<svg ${XMLNS} width="40" height="40" onload="${RUN}">
<script>${RUN}</script>
<style>@import url(https://elsewhere.example/a.css); rect { fill: url(https://elsewhere.example/b.svg#x) }</style>
<image href="https://elsewhere.example/c.png" width="9" height="9"/>
<use xlink:href="https://elsewhere.example/d.svg#x"/>
<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml"><script>${RUN}</script><img src="https://elsewhere.example/e.png" onerror="${RUN}"/></body></foreignObject>
<rect width="40" height="40"/></svg>`

/** An SVG of twelve levels, each of which draws the level below it ten times. */
const BOMB = `<svg ${XMLNS}><g id="g0"><rect/></g>${Array.from({ length: 12 }, (_, at) => {
  return `<g id="g${at + 1}">${`<use href="#g${at}"/>`.repeat(10)}</g>`
}).join('')}</svg>`

const NOTEBOOK = JSON.stringify({
  nbformat: 4,
  metadata: { language_info: { name: 'python' } },
  cells: [
    { cell_type: 'markdown', source: ['# Notes\n', `<script>${RUN}</script>`] },
    {
      cell_type: 'code',
      source: 'print(1)',
      outputs: [
        { output_type: 'stream', text: ['\u001b[31mone\u001b[0m\n'] },
        {
          output_type: 'display_data',
          data: {
            'text/html': `<img src="https://elsewhere.example/n.png" onerror="${RUN}">`,
            'text/plain': 'a table',
          },
        },
        { output_type: 'display_data', data: { 'image/png': 'iVBORw0KGgo=' } },
      ],
    },
    { cell_type: 7 },
  ],
})

const template = templateOf(async path => {
  const files = {
    'docs/page.md': MARKDOWN,
    'docs/other.md': 'The other page\n',
    'docs/drawn.svg': SVG,
    'docs/bomb.svg': BOMB,
    'docs/entity.svg': `<!DOCTYPE svg [<!ENTITY a "b">]><svg ${XMLNS}/>`,
    'docs/data.csv': `name,value\n"=cmd|'/c calc'!A1","a ""b"", c"\n${'x,'.repeat(2_000)}\n`,
    'docs/notes.ipynb': NOTEBOOK,
    'README.md': 'Top\n',
    'logo.gif': GIF,
  }
  await commit(path, 'main', files, { message: 'Begin' })
})

describe.skipIf(!hasBrowser)('a preview', () => {
  let desk: PageDesk
  let page: DeskPage
  let requests: string[] = []
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
      requests = []
      page.on('request', request => requests.push(request.url()))
    },
    { template },
  )

  const preview = () => page.getByRole('region', { name: 'Preview' })
  const open = async (name: string) => {
    const file = page.getByRole('treeitem', { name, exact: true })
    if ((await file.count()) === 0) await page.getByRole('treeitem', { name: 'docs' }).click()
    await file.click()
    await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name, selected: true }).waitFor()
  }
  const show = async (name: string) => {
    await open(name)
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    if ((await page.locator('.preview').count()) === 0) await page.keyboard.press('Control+Alt+v')
    await preview().waitFor()
  }
  const isHarmless = async () => {
    expect(await page.evaluate(() => 'hasRun' in window)).toBe(false)
    expect(
      requests.filter(url => !url.startsWith(desk.url.split('/?')[0] ?? '') && !/^(blob|data):/.test(url)),
    ).toEqual([])
    expect(await page.locator('.preview :is(script, iframe, object, embed, a[href])').count()).toBe(0)
  }

  test('of Markdown follows the text, shows images of the repository, and runs and fetches nothing', async () => {
    await show('page.md')
    await preview().getByRole('heading', { name: 'Title' }).waitFor()
    await preview().getByRole('img', { name: 'own' }).waitFor()
    await preview().getByRole('img', { name: 'drawn' }).waitFor()
    await preview().getByText('image not found: none').waitFor()
    await preview().getByText('image: else').waitFor()
    await preview()
      .getByRole('button', { name: /600 more rows/ })
      .waitFor()
    await isHarmless()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('# Typed now\n\n')
    await preview().getByRole('heading', { name: 'Typed now' }).waitFor()
    await preview().getByRole('link', { name: /run/ }).click()
    await page.getByRole('dialog', { name: 'This link is not a web address' }).waitFor()
    await page.keyboard.press('Escape')
    await preview().getByRole('link', { name: 'beside' }).click()
    await preview().getByText('The other page').waitFor()
    await page.getByRole('tab', { name: 'page.md' }).click()
    await preview().getByRole('link', { name: 'up' }).click()
    await preview().getByText('Top').waitFor()
  })

  test('of an SVG is an image in which nothing runs, also when it is opened by itself', async () => {
    await show('drawn.svg')
    const drawing = preview().getByRole('img')
    await drawing.waitFor()
    await until(() => drawing.evaluate(image => (image as HTMLImageElement).naturalWidth === 40))
    await isHarmless()
    const popup = page.waitForEvent('popup')
    await drawing.evaluate(image => window.open((image as HTMLImageElement).src))
    const alone = await popup
    await alone.waitForLoadState()
    expect(await alone.evaluate(() => 'hasRun' in window)).toBe(false)
    await alone.close()
    await show('bomb.svg')
    await preview().getByText('repeats too many elements').waitFor()
    await show('entity.svg')
    await preview().getByText('defines entities').waitFor()
  })

  test('of CSV is a table with bounds, and of a notebook its cells without HTML', async () => {
    await show('data.csv')
    await preview().getByRole('cell', { name: "=cmd|'/c calc'!A1" }).waitFor()
    await preview().getByRole('cell', { name: 'a "b", c' }).waitFor()
    expect(await preview().getByRole('row').last().getByRole('cell').count()).toBe(101)
    await show('notes.ipynb')
    await preview().getByRole('heading', { name: 'Notes' }).waitFor()
    await preview().getByText('one', { exact: true }).waitFor()
    await preview().getByText('a table').waitFor()
    await preview().getByText('Output that is not shown: text/html').waitFor()
    await isHarmless()
    // axe reports that the scrolling editor can not be focused, but the text inside it can: that finding is left out.
    expect((await findings(page)).filter(finding => !finding.includes('.cm-scroller'))).toEqual([])
    await page.keyboard.press('Control+Alt+v')
    await preview().waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
  })
})

test('a table ends at its bounds, whatever its text', () => {
  expect(tableOf('a;b\r\n1;"2\n3"\r\n')).toEqual({
    rows: [
      ['a', 'b'],
      ['1', '2\n3'],
    ],
    isCut: false,
  })
  expect(tableOf('a,b,\n"open')).toEqual({ rows: [['a', 'b', ''], ['open']], isCut: false })
  expect(tableOf(',\n'.repeat(2_000))).toMatchObject({ isCut: true })
  const wide = tableOf(`${'x,'.repeat(1_000_000)}\n`)
  expect([wide.rows[0]?.length, wide.isCut]).toEqual([100, true])
})

test('what is no notebook is said', () => {
  expect(notebookOf('{')).toContain('not JSON')
  expect(notebookOf('{"worksheets": []}')).toContain('no list of cells')
})
