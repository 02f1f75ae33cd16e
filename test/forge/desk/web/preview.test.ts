/** Previews beside the text: what others wrote is shown, none of it runs, and nothing is fetched for it. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { tableOf } from '../../../../forge/desk/web/preview/csv.ts'
import { partsOf } from '../../../../forge/desk/web/preview/front-matter.ts'
import { notebookOf } from '../../../../forge/desk/web/preview/notebook.ts'
import { whyNotShown } from '../../../../forge/desk/web/preview/svg.ts'
import { hasBrowser, workOf } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, settled, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const GIF = 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;'
/** An image of one row. */
const gifOf = (width: number): string => GIF.replace('GIF89a\x01', `GIF89a${String.fromCharCode(width)}`)
const XMLNS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
const RUN = 'window.hasRun=true'

const MARKDOWN = `# Title

<script>${RUN}</script>
<img src=x onerror="${RUN}"><iframe srcdoc="<script>parent.hasRun=1</script>"></iframe>

[run](javascript:${RUN}) [data](data:text/html,<script>${RUN}</script>) [up](../README.md) [beside](other.md)

![own](../logo.gif) ![else](https://elsewhere.example/pixel.png) ![data](data:image/svg+xml,<svg/>) ![drawn](drawn.svg) ![none](none.png)

[![Version](https://elsewhere.example/version.svg)](https://index.example/tern)
[![Seal](../logo.gif)](https://index.example/own)

| a | b |
|---|---|
${'| 1 | 2 |\n'.repeat(1_000)}
`

/** A long text with a table of contents, and with definitions at its end. */
const README = `# Tern [![Version][badge]][Package]

- [Installation](#installation)
- [The \`second\` example](#example-1)
- [Notes of the other page](other.md#notes)
- [Nothing](#nothing)

[Docs][], [guide] and ![own][logo], but [unknown] and [ ] and [^1] as they are.

## Installation

${'A paragraph.\n\n'.repeat(300)}

## Example

${'A paragraph.\n\n'.repeat(300)}

## Example

[Back](#)

> [docs]: https://docs.example/start
> [DOCS]: https://docs.example/other

[guide]: other.md#notes "The guide"
[logo]: ../logo.gif
[badge]: https://elsewhere.example/version.svg
[package]: <https://index.example/tern>
[^1]: footnote
`

/** Sections of different heights in the preview, with lists, whose ends the parser trims, between them. */
const LONG = `---
title: Long
---
${Array.from({ length: 60 }, (_, at) => {
  return `## Section ${at + 1}\n\n- one\n- two\n\n\n${'Words and more words. '.repeat(at % 2 === 0 ? 60 : 1)}\n\n`
}).join('')}`

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

const svgOf = (content: string, attributes = ''): string => `<svg ${XMLNS} ${attributes}>${content}</svg>`
const embedded = (svg: string): string => `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
/** Groups, each of which refers ten times to the one before it, in the given way. */
const groups = (refer: (id: string) => string, { levels = 8, id = (at: number) => `g${at}` } = {}): string =>
  `<g id="${id(0)}"><rect/></g>${Array.from({ length: levels }, (_, at) => {
    return `<g id="${id(at + 1)}">${refer(id(at)).repeat(10)}</g>`
  }).join('')}`
/** The same of patterns (or masks), by classes and a style sheet. */
const byStyle = (
  sheet: (rules: string) => string,
  { rule = (id: string) => `fill:url(#${id})`, tag = 'pattern' } = {},
) => {
  const rules = Array.from({ length: 9 }, (_, at) => `.c${at}{${rule(`g${at}`)}}`).join('\n')
  const parts = Array.from({ length: 8 }, (_, at) => {
    return `<${tag} id="g${at + 1}">${`<rect class="c${at}"/>`.repeat(10)}</${tag}>`
  })
  return svgOf(`${sheet(rules)}<${tag} id="g0"><rect/></${tag}>${parts.join('')}`)
}
const sheetOf = (rules: string): string => `<style>${rules}</style>`
const USES = groups(id => `<use href="#${id}"/>`)
const filtered = (steps: string): string => svgOf(`<filter id="f">${steps}</filter><rect filter="url(#f)"/>`)

/** SVGs that would take the browser minutes, or change while they are looked at. */
const TOO_COSTLY: Record<string, string> = {
  'decimal character references': svgOf(groups(id => `<use href="&#35;${id}"/>`)),
  'hexadecimal character references': svgOf(groups(id => `<use href="&#x23;${id}"/>`)),
  'character references in an id': svgOf(groups(id => `<use href="#${id.replace('g', '&#103;')}"/>`)),
  'entities of XHTML': `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">${svgOf(groups(id => `<use href="&num;${id}"/>`))}`,
  'percents in an id': svgOf(groups(id => `<use href="#${id.replace('g', '%67')}"/>`)),
  'line breaks and tabs in an address': svgOf(groups(id => `<use href="#&#10;${id}&#9;"/>`)),
  'another prefix': svgOf(groups(id => `<ü:use xmlns:ü="http://www.w3.org/2000/svg" href="#${id}"/>`)),
  'a comment that begins in an instruction': `<?x <!-- ?>${svgOf(USES)}<?x --> ?>`,
  'a comment that begins in the document type': `<!DOCTYPE svg PUBLIC "<!--" "x">${svgOf(USES)}<!-- -->`,
  'declared attributes': `<!DOCTYPE svg [<!ATTLIST use href CDATA "#g0">]>${svgOf('<g id="g0"/><use/>')}`,
  'a style sheet': byStyle(sheetOf),
  'a style sheet in CDATA': byStyle(rules => sheetOf(`<![CDATA[${rules}]]>`), {
    tag: 'mask',
    rule: id => `mask:url("#${id}")`,
  }),
  'a style sheet for media': byStyle(rules => sheetOf(`@media all{${rules}}`)),
  'escapes in a style sheet': byStyle(sheetOf, { rule: id => `fill:u\\72l(\\23 ${id})` }),
  'a style sheet in two parts': byStyle(() => sheetOf('*, <!-- --> .x{fill:url(#g3)}')),
  'a style sheet that looks like comments': byStyle(() => sheetOf('a{fill:url(/*)} *{fill:url(#g3)} b{fill:url(*/)}')),
  'a selector that looks like rules': byStyle(() => sheetOf('*:not(:is({} .z)){fill:url(#g3)}')),
  'styles of elements': byStyle(() => '').replaceAll(/class="c(\d)"/g, `style="fill:url('#g$1')"`),
  'styles with character references': byStyle(() => '').replaceAll(
    /class="c(\d)"/g,
    'style="fill:url(&quot;&#35;g$1&quot;)"',
  ),
  'styles with escapes': byStyle(() => '').replaceAll(/class="c(\d)"/g, 'style="fill:url(\\23 g$1)"'),
  'quotes in an id': svgOf(groups(id => `<rect mask='url("#${id}")'/>`, { id: at => `m)&apos;${at}` })),
  'inherited patterns': byStyle(() => '').replaceAll(
    /<rect class="c(\d)"\/>/g,
    '<g fill="url(#g$1)"><rect/><rect/></g>',
  ),
  'markers on many points': svgOf(
    `<marker id="m">${'<rect/>'.repeat(100)}</marker><path marker-mid="url(#m)" d="M0 0${'L1 1'.repeat(50_000)}"/>`,
  ),
  'animated references': svgOf(`${groups(() => '<use href="#g0"/>')}<set href="#u" attributeName="href" to="#g8"/>`),
  'animated classes': byStyle(() => `${sheetOf('.x{fill:url(#g8)}')}<rect><set attributeName="class" to="x"/></rect>`),
  'an embedded SVG': svgOf(`<image href="${embedded(svgOf(USES))}"/>`),
  'an embedded SVG without base64': svgOf(
    `<image href=" DA&#9;TA: image/SVG+xml ,${encodeURIComponent(svgOf(USES))}"/>`,
  ),
  'many embedded SVGs': svgOf(`<image href="${embedded(svgOf('<rect/>'.repeat(1_000)))}"/>`.repeat(50)),
  'deeply embedded SVGs': Array.from({ length: 5 }).reduce<string>(
    inner => svgOf(`<image href="${embedded(inner)}"/>`),
    svgOf(''),
  ),
  'an SVG as a background': svgOf(
    `<foreignObject><p style="background:url(${embedded(svgOf(USES))})"/></foreignObject>`,
  ),
  'an SVG in a style sheet': svgOf(sheetOf(`p{background:url(${embedded(svgOf(USES))})}`)),
  'an SVG in a set of images': svgOf(`<foreignObject><img srcset="${embedded(svgOf(USES))} 1x"/></foreignObject>`),
  'an embedded style sheet': svgOf(sheetOf('@import "data:text/css,rect{fill:url(%23a)}"')),
  'a style sheet of an instruction': `<?xml-stylesheet href="data:text/css,a"?>${svgOf('')}`,
  'a filter of a thousand steps': filtered('<feGaussianBlur stdDeviation="100"/>'.repeat(1_000)),
  'a filter that doubles': filtered(`<feOffset/>${'<feBlend/>'.repeat(40)}`),
  'a filter that merges': filtered(`<feOffset/>${'<feMerge><feMergeNode/><feMergeNode/></feMerge>'.repeat(40)}`),
  'filters in each other': svgOf(
    `<filter id="f"><feGaussianBlur/></filter>${'<g filter="url(#f)">'.repeat(400)}${'</g>'.repeat(400)}`,
  ),
  'a thousand blurs in a style': svgOf(`<rect style="filter:${'blur(9px) '.repeat(1_000)}"/>`),
  'costly selectors': svgOf(
    `${sheetOf('*:nth-last-child(3n of rect){fill:red}'.repeat(5_000))}${'<rect/>'.repeat(3_000)}`,
  ),
  'many animations': svgOf('<rect><animate attributeName="x" values="0;9"/></rect>'.repeat(5_000)),
  'a megabyte of text': svgOf(`<text>${'word '.repeat(200_000)}</text>`),
  'a hundred thousand levels': svgOf(`${'<g>'.repeat(100_000)}${'</g>'.repeat(100_000)}`),
  'a million references': svgOf(`<rect fill="${'#a'.repeat(1_000_000)}"/>`),
}

/** SVGs as programs write them. */
const USUAL: Record<string, string> = {
  'a document type': `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n<!-- a -->${svgOf('<title>A &amp; B</title><path d="M1 1L2 2" fill="#fff"/>')}`,
  'classes, gradients and clips': svgOf(
    `${sheetOf("\n\t.st0{fill:url(#SVGID_1_);}\n\t.st1{clip-path:url(#SVGID_2_);fill:#FFFFFF}\n\t.st2{font-family:'Myriad';}\n")}<linearGradient id="SVGID_1_"><stop/></linearGradient><defs><rect id="SVGID_3_"/></defs><clipPath id="SVGID_2_"><use xlink:href="#SVGID_3_" style="overflow:visible;"/></clipPath>${'<path class="st1" d="M1 2"/><path class="st0"/>'.repeat(3_000)}`,
  ),
  'links inside': svgOf('<a href="#x"><g id="x"><a href="#x"/></g></a>'),
  'a sprite': svgOf(`<symbol id="s"><path d="M1 1"/></symbol>${'<use href="#s"/>'.repeat(5_000)}`),
  'pictures and fonts': svgOf(
    `<image href="data:image/png;base64,iVBORw0KGgo="/>${sheetOf('@font-face{font-family:"A";src:url(data:font/woff2;base64,AAAA)}')}`,
  ),
  'an embedded SVG': svgOf(`<image href="${embedded(svgOf('<rect/>'))}"/>`),
  'a drawing with its source': svgOf(
    '',
    'content="&lt;mxfile style=&quot;color:#fff;image=data:image/svg+xml,PH&quot;>"',
  ),
  'names of files': svgOf('<g label="Data: 5, 6" export="C:\\Users\\x\\a.png" style="font-family:\'A\';fill:#fff"/>'),
  'a spinner': svgOf('<circle r="9"><animate attributeName="r" values="1;9" dur="1s"/></circle>'),
  shadows: svgOf(
    Array.from(
      { length: 30 },
      (_, at) => `<g filter="url(#f${at})"><rect/></g><filter id="f${at}">${'<feOffset/>'.repeat(7)}</filter>`,
    ).join(''),
  ),
  arrows: svgOf(
    `<marker id="m"><path d="M0 0L1 1"/></marker>${'<path marker-end="url(#m)" d="M0 0L9 9L1 1"/>'.repeat(2_000)}`,
  ),
}

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
        { output_type: 'display_data', data: { 'image/png': '"><script>x</script>', 'text/plain': 'no picture' } },
        { output_type: 'display_data', data: { 'image/gif': 'AA,https://elsewhere.example/i.gif' } },
        { output_type: 'display_data', data: { 'application/javascript': RUN, 'image/svg+xml': SVG } },
        { output_type: 'stream', text: 'safe\u202etxt.exe' },
      ],
    },
    { cell_type: 7 },
  ],
})

const HOSTILE_MARKDOWN = `<base href="https://elsewhere.example/"><meta http-equiv="refresh" content="0;url=https://elsewhere.example/">
<link rel="stylesheet" href="https://elsewhere.example/a.css"><style>@import url(https://elsewhere.example/b.css); * { display: none }</style>

<form action="https://elsewhere.example/"><input autofocus onfocus="${RUN}"><button>Save</button></form>

<div style="position:fixed;inset:0;background:url(https://elsewhere.example/c.png)">covers</div>

<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${RUN}&gt;">
<svg></p><style><a id="</style><img src=1 onerror=${RUN}>"></svg></math><noscript><p title="</noscript><img src=x onerror=${RUN}>">

- <details open ontoggle=${RUN}>&lt;img src=x onerror=${RUN}&gt;</details> <javascript:${RUN}> <https://elsewhere.example/auto>

[tab](java\tscript:${RUN}) [entity](&#106;avascript:${RUN}) [vb](vbscript:${RUN}) [file](file:///etc/passwd)
[out](../../../etc/passwd) [encoded](..%2f..%2f..%2fetc/passwd) [desk](/settings) [host](//elsewhere.example/x) [user](https://desk@elsewhere.example/) [ref]

[ref]: javascript:${RUN} "title"

![host](//elsewhere.example/d.png) ![back](\\\\elsewhere.example\\e.png) ![out](../../e.png) ![git](../.git/config) ![q](../logo.gif?https://elsewhere.example/)
![blob](blob:https://elsewhere.example/f) [![in](https://elsewhere.example/g.png)](https://elsewhere.example/h)

cod\u202ee.exe and a\u0007b \u200bhidden &#8238;turned

The end`

/** Files that are slow to parse, to lay out or to draw for a preview without bounds. */
const HEAVY: Record<string, string> = {
  'quotes.md': `${'> '.repeat(100_000)}a\n`,
  'lists.md': `${'- '.repeat(100_000)}a\n`,
  'steps.md': Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth * 2)}- a`).join('\n'),
  'line.md': `${'word *it* [a](b) '.repeat(60_000)}\n`,
  'brackets.md': `${'[a]('.repeat(100_000)}\n`,
  'references.md': `${`${'[a] [*b][c] '.repeat(400)}\n\n`.repeat(100)}[a]: b\n[b]: ${'c'.repeat(300_000)}\n`,
  'definitions.md': Array.from({ length: 10_000 }, (_, at) => `[${at}]\n\n[${at}]: ${at}\n\n`).join(''),
  'wide.csv': `${'x,'.repeat(1_000_000)}\n`,
  'grid.csv': `${'1234567,'.repeat(100)}\n`.repeat(1_000),
  'signs.csv': `${`a${'\u0301\u0323'.repeat(400)},`.repeat(50)}\n`.repeat(10),
  'quote.csv': `a,"${'b\n'.repeat(500_000)}`,
  'broken.ipynb': `${'[{'.repeat(200_000)}`,
  'output.ipynb': JSON.stringify({
    cells: Array.from({ length: 60 }, () => ({
      cell_type: 'code',
      source: 'a = 1\n'.repeat(500),
      outputs: Array.from({ length: 60 }, () => ({ output_type: 'stream', text: 'line\n'.repeat(80) })),
    })),
  }),
  'bomb.svg': TOO_COSTLY['a style sheet'] ?? '',
  'text.svg': TOO_COSTLY['a megabyte of text'] ?? '',
  'search.svg': `<svg ${XMLNS}><style>${' '.repeat(300_000)}#}</style><g fill="data:${' '.repeat(300_000)}x"/></svg>`,
}
/** The most CPU time of the page, in milliseconds, for one of them; the measured times are printed. */
const MAX_WORK_MS = 6_000

const template = templateOf(async path => {
  const files = {
    'docs/page.md': MARKDOWN,
    'docs/other.md': `The other page\n\n${'A paragraph.\n\n'.repeat(200)}## Notes\n\nThe notes\n`,
    'docs/readme.md': README,
    'docs/drawn.svg': SVG,
    'docs/bomb.svg': BOMB,
    'docs/entity.svg': `<!DOCTYPE svg [<!ENTITY a "b">]><svg ${XMLNS}/>`,
    'docs/data.csv': `name,value\n"=cmd|'/c calc'!A1","a ""b"", c"\n${'x,'.repeat(2_000)}\n`,
    'docs/notes.ipynb': NOTEBOOK,
    'docs/hostile.md': HOSTILE_MARKDOWN,
    'docs/long.md': LONG,
    'docs/table.md': `| Name | Words |\n| - | - |\n${'| row | words |\n'.repeat(100)}`,
    'docs/front.md': '---\ntitle: Tern\ntags: [queue]\n---\n# Usage\n\nWords.\n',
    ...Object.fromEntries(Object.entries(HEAVY).map(([name, text]) => [`heavy/${name}`, text])),
    'README.md': 'Top\n',
    'logo.gif': GIF,
  }
  await commit(path, 'main', files, { message: 'Begin' })
})

test.each([
  ['---\na: 1\n---\nb\n', 'a: 1', 'b\n', 4],
  ['---\n# words\n"a b":\n  - c\n--- \n\n# d', '# words\n"a b":\n  - c', '\n# d', 6],
  ['---\na: 1\n---', 'a: 1', '', 3],
  ['---\na: 1\nb\n', undefined, '---\na: 1\nb\n', 1],
  ['---\nA rule\n---\n', undefined, '---\nA rule\n---\n', 1],
  ['\n---\na: 1\n---\n', undefined, '\n---\na: 1\n---\n', 1],
])('the front matter of %j is %j', (text, frontMatter, body, firstLine) => {
  expect(partsOf(text)).toEqual({ frontMatter, body, firstLine })
})

describe.skipIf(!hasBrowser)('a preview', () => {
  let desk: PageDesk
  let page: DeskPage
  let requests: string[] = []
  /** Dialogs, new windows and other pages that were opened. */
  let surprises: string[] = []
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
      requests = []
      page.on('request', request => requests.push(request.url()))
      surprises = []
      page.on('dialog', dialog => surprises.push(dialog.message()))
      page.on('popup', popup => surprises.push(popup.url()))
      page.on('framenavigated', frame => {
        if (!frame.url().startsWith(desk.proxy.url.split('/?')[0] ?? '')) surprises.push(frame.url())
      })
    },
    { template },
  )

  const preview = () => page.getByRole('region', { name: 'Preview' })
  const open = async (name: string) => {
    const file = page.getByRole('treeitem', { name, exact: true })
    if ((await file.count()) === 0) await page.getByRole('treeitem', { name: name in HEAVY ? 'heavy' : 'docs' }).click()
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
    const inert = 'script, style, link, meta, base, form, input, iframe, object, embed, math, a[href], [style]'
    expect(await page.locator('.preview').locator(inert).count()).toBe(0)
    expect(surprises).toEqual([])
  }

  test('of Markdown follows the text, shows images of the repository, and runs and fetches nothing', async () => {
    await show('page.md')
    await preview().getByRole('heading', { name: 'Title' }).waitFor()
    await preview().getByRole('img', { name: 'own' }).waitFor()
    await preview().getByRole('img', { name: 'drawn' }).waitFor()
    await preview().getByText('image not found: none').waitFor()
    await preview().getByText('image: else').waitFor()
    // A badge is its description: it leads to the page that it links to, and no address stands beside it.
    const badge = preview().getByRole('link', { name: 'image: Version', exact: true })
    expect(await badge.getAttribute('title')).toBe('https://index.example/tern')
    expect(await badge.textContent()).not.toContain('http')
    await preview().getByRole('link').getByRole('img', { name: 'Seal' }).waitFor()
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

  test('of Markdown shows an image that is added, replaced and deleted meanwhile', async () => {
    await show('page.md')
    await preview().getByText('image not found: none').waitFor()
    const upload = async (width: number) => {
      await page.getByRole('treeitem', { name: /^docs/ }).click({ button: 'right' })
      const [chooser] = await Promise.all([
        page.waitForEvent('filechooser'),
        page.getByRole('menuitem', { name: 'Upload files here…' }).click(),
      ])
      await chooser.setFiles([{ name: 'none.png', mimeType: 'image/png', buffer: Buffer.from(gifOf(width), 'latin1') }])
    }
    const image = preview().getByRole('img', { name: 'none', exact: true })
    const hasWidth = (width: number) =>
      until(async () =>
        (await image.evaluateAll(all => all.map(it => (it as HTMLImageElement).naturalWidth))).includes(width),
      )
    await upload(1)
    await hasWidth(1)
    await upload(2)
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
    await hasWidth(2)
    await page.keyboard.press('Control+Shift+s')
    await until(async () => (await desk.git('ls-tree', 'main', 'docs/none.png')) !== '')
    await commit(desk.path, 'main', { 'docs/none.png': gifOf(3) })
    await hasWidth(3)
    await page.getByRole('treeitem', { name: 'none.png' }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await preview().getByText('image not found: none').waitFor()
  })

  test('of Markdown shows front matter as code, and neither as a rule nor as a heading', async () => {
    await show('front.md')
    await preview().getByRole('heading', { name: 'Usage' }).waitFor()
    expect(await preview().getByRole('heading').allInnerTexts()).toEqual(['Usage'])
    expect(await preview().getByRole('separator').count()).toBe(0)
    expect((await preview().locator('code').textContent())?.trim()).toBe('title: Tern\ntags: [queue]')
  })

  test('of Markdown shows a long table whole, as a part of the text that scrolls', async () => {
    await show('table.md')
    const table = preview().getByRole('region', { name: 'Table' })
    await table.waitFor()
    expect(await table.evaluate(it => it.scrollHeight - it.clientHeight)).toBe(0)
  })

  test('of Markdown scrolls along with the editor, and stays where it is while one types', async () => {
    await show('long.md')
    await preview().getByRole('heading', { name: 'Section 60' }).waitFor()
    const scroller = page.locator('.cm-scroller')
    const topIn = (box: Locator, words: string) =>
      box.evaluate((it, words) => {
        const found = [...it.querySelectorAll('.cm-line, h4')].find(line => line.textContent?.endsWith(words))
        return found ? found.getBoundingClientRect().top - it.getBoundingClientRect().top : Number.NaN
      }, words)
    const scrollTo = (share: number) =>
      scroller.evaluate((it, share) => {
        it.scrollTop = (it.scrollHeight - it.clientHeight) * share
      }, share)
    /** Whether a section is at the same height in the editor and in the preview. */
    const isBeside = async (words: string) =>
      Math.abs((await topIn(scroller, words)) - (await topIn(preview(), words))) < 40
    const distanceToEnd = () => preview().evaluate(it => it.scrollHeight - it.clientHeight - it.scrollTop)
    await scrollTo(0.5)
    await until(() => isBeside('Section 31'))
    await scrollTo(1)
    await until(async () => (await distanceToEnd()) < 2)
    await scrollTo(0)
    await until(() => preview().evaluate(it => it.scrollTop === 0))
    // A preview that is shown for a text that is scrolled already begins there.
    await scrollTo(0.5)
    await page.keyboard.press('Control+Alt+v')
    await preview().waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+v')
    await until(() => isBeside('Section 31'))
    const line = page.locator('.cm-line').filter({ hasText: 'Section 31' })
    await line.click()
    await page.keyboard.press('End')
    const before = await topIn(preview(), 'Section 31')
    await page.keyboard.type(' typed')
    await preview().getByRole('heading', { name: 'Section 31 typed' }).waitFor()
    await settled(page)
    expect(Math.abs((await topIn(preview(), 'Section 31 typed')) - before)).toBeLessThan(4)
    // A place that was scrolled to in the preview stays, too, until the editor is scrolled.
    await preview().hover()
    await page.mouse.wheel(0, 500)
    await until(async () => (await topIn(preview(), 'Section 31 typed')) < before - 400)
    const moved = await topIn(preview(), 'Section 31 typed')
    await page.keyboard.type(' again')
    await preview().getByRole('heading', { name: 'Section 31 typed again' }).waitFor()
    await settled(page)
    expect(Math.abs((await topIn(preview(), 'typed again')) - moved)).toBeLessThan(4)
    await scrollTo(0.6)
    await scrollTo(0.5)
    await until(() => isBeside('typed again'))
  })

  test('of Markdown is at the place of the editor when its images have loaded, too', async () => {
    const tall = `<svg ${XMLNS} width="20" height="1500"><rect width="20" height="1500"/></svg>`
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at}\n`)
    await desk.commit('main', { 'tall.svg': tall, 'pictures.md': `![Tall](tall.svg)\n\n${lines.join('')}` })
    await page.getByRole('treeitem', { name: 'pictures.md' }).click()
    const scroller = page.locator('.cm-scroller')
    await page.getByRole('textbox', { name: 'Editor' }).getByText('line 9', { exact: true }).waitFor()
    await scroller.evaluate(it => it.scrollTo(0, it.scrollHeight))
    await page.getByRole('textbox', { name: 'Editor' }).getByText('line 59', { exact: true }).waitFor()
    await page.keyboard.press('Control+Alt+v')
    await preview().getByRole('img', { name: 'Tall' }).waitFor()
    await until(() => preview().evaluate(it => it.scrollHeight > it.clientHeight + 900))
    await until(() => preview().evaluate(it => it.scrollHeight - it.clientHeight - it.scrollTop < 2))
  })

  test('of Markdown shows the middle of a long text, left out at first, where the editor is scrolled to it', async () => {
    const sections = Array.from({ length: 300 }, (_, at) => `## Section ${at + 1}\n\nWords of ${at + 1}.\n\n`)
    await desk.commit('main', { 'book.md': sections.join('') })
    await page.getByRole('treeitem', { name: 'book.md' }).waitFor()
    await show('book.md')
    await preview()
      .getByRole('button', { name: /more blocks between/ })
      .waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+g')
    await page.keyboard.type(`${4 * 149 + 1}`)
    await page.keyboard.press('Enter')
    await page.keyboard.press('End')
    await page.keyboard.type(' typed')
    const heading = preview().getByRole('heading', { name: 'Section 150 typed' })
    await heading.waitFor()
    const isInView = () =>
      heading.evaluate(it => {
        const [box, shown] = [it.getBoundingClientRect(), it.closest('.preview')?.getBoundingClientRect()]
        return shown !== undefined && box.top > shown.top && box.bottom < shown.bottom
      })
    await until(isInView)
  })

  test('of Markdown: a table of contents leads to the headings, by mouse and by keyboard, also of other files', async () => {
    await show('readme.md')
    const heading = (name: string) => preview().getByRole('heading', { name, exact: true })
    const isAtTop = (name: string) =>
      until(async () => {
        const [outer, inner] = await Promise.all([preview().boundingBox(), heading(name).last().boundingBox()])
        return outer !== null && inner !== null && inner.y >= outer.y - 1 && inner.y < outer.y + outer.height - 20
      })
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    const toc = preview().getByRole('link', { name: 'Installation', exact: true })
    expect(await toc.textContent()).toBe('Installation')
    await toc.click()
    await isAtTop('Installation')
    expect(await focused()).toBe('Installation')
    await preview().getByRole('link', { name: 'The second example', exact: true }).focus()
    await page.keyboard.press('Enter')
    await isAtTop('Example')
    expect(await focused()).toBe('Example')
    // The second one of the two.
    expect(
      await preview()
        .locator('h4:focus')
        .evaluate(it => it.closest('.block')?.nextElementSibling?.textContent),
    ).toBe('Back')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await until(() => preview().evaluate(it => it.scrollTop === 0))
    await preview().getByRole('link', { name: 'Nothing', exact: true }).click()
    await page.getByRole('paragraph').filter({ hasText: 'readme.md has no heading #nothing' }).waitFor()
    await preview().getByRole('link', { name: 'Notes of the other page', exact: true }).click()
    await page.getByRole('tab', { name: 'other.md', selected: true }).waitFor()
    await isAtTop('Notes')
    await until(async () => (await focused()) === 'Notes')
    await isHarmless()
  })

  test('of Markdown: a link to a file that was renamed says which it is now, and leads there', async () => {
    const text = 'How it began.\n\nIn a harbour.\n\nLong ago.\n'
    await desk.commit('main', { 'docs/old.md': text, 'docs/links.md': '[the beginning](old.md)\n' })
    await desk.commit('main', { 'docs/old.md': null, 'docs/older.md': text }, { message: 'Rename once' })
    await desk.commit('main', { 'docs/older.md': null, 'docs/story.md': `${text}And on.\n` }, { message: 'And again' })
    await show('links.md')
    await preview().getByRole('link', { name: 'the beginning' }).click()
    await page.getByRole('heading', { name: 'old.md was renamed' }).waitFor()
    await page.getByText('It is docs/story.md now.').waitFor()
    await page.getByRole('button', { name: 'Rename once' }).waitFor()
    await page.getByRole('button', { name: 'Open story.md' }).click()
    await page.getByRole('tab', { name: 'story.md', selected: true }).waitFor()
    expect(await page.getByRole('tab', { name: 'old.md' }).count()).toBe(0)
  })

  test('of Markdown: a link to a folder opens it in the explorer, also where the side bar is hidden', async () => {
    await desk.commit('main', {
      'start.md': '[The parts](parts/) and [one of them](parts/inner)\n',
      'parts/inner/deep.txt': 'deep\n',
      'parts/first.txt': 'first\n',
    })
    await page.getByRole('treeitem', { name: 'start.md' }).click()
    await page.keyboard.press('Control+Alt+v')
    const folder = (name: string) => page.getByRole('treeitem', { name, exact: true, selected: true })
    const isFocused = () => page.evaluate(() => document.activeElement?.getAttribute('role') === 'tree')
    await preview().getByRole('link', { name: 'one of them' }).click()
    await folder('inner').waitFor()
    await page.getByRole('treeitem', { name: 'deep.txt' }).waitFor()
    await until(isFocused)
    expect(await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'inner' }).count()).toBe(0)
    await page.keyboard.press('Control+b')
    await page.getByRole('tree').waitFor({ state: 'detached' })
    await preview().getByRole('link', { name: 'The parts' }).press('Enter')
    await folder('parts').waitFor()
    await page.getByRole('treeitem', { name: 'first.txt' }).waitFor()
    await until(isFocused)
  })

  test('of Markdown indents a list in an item of a task list below the text of the item', async () => {
    await desk.commit('main', { 'tasks.md': '- [ ] task\n  - nested\n- plain\n' })
    await page.getByRole('treeitem', { name: 'tasks.md' }).click()
    await page.keyboard.press('Control+Alt+v')
    await preview().getByText('nested').waitFor()
    /** Where the text of an item begins. */
    const startOf = (words: string) =>
      preview().evaluate((it, words) => {
        const texts = document.createTreeWalker(it, NodeFilter.SHOW_TEXT)
        for (let text = texts.nextNode(); text; text = texts.nextNode()) {
          if (text.textContent?.trim() !== words) continue
          const range = document.createRange()
          range.selectNodeContents(text)
          return range.getBoundingClientRect().left
        }
        return Number.NaN
      }, words)
    expect(await startOf('task')).toBeCloseTo(await startOf('plain'), 0)
    expect(await startOf('nested')).toBeGreaterThan((await startOf('task')) + 15)
  })

  test('of Markdown resolves links and images whose addresses are defined at the end of the text', async () => {
    await show('readme.md')
    const badge = preview().getByRole('link', { name: 'image: Version', exact: true })
    expect(await badge.getAttribute('title')).toBe('https://index.example/tern')
    const docs = preview().getByRole('link', { name: /^Docs/ })
    expect(await docs.getAttribute('title')).toBe('https://docs.example/start')
    await preview().getByRole('img', { name: 'own' }).waitFor()
    const rest = (await preview().getByText('as they are').textContent()) ?? ''
    expect(rest).toContain('but [unknown] and [ ] and [^1] as they are')
    const text = (await preview().textContent()) ?? ''
    expect(text).toContain('[^1]: footnote')
    expect(text).not.toContain('docs.example/other')
    await isHarmless()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('[unknown]: other.md')
    await preview().getByRole('link', { name: 'unknown', exact: true }).waitFor()
    await preview().getByRole('link', { name: 'guide', exact: true }).click()
    await preview().getByText('The notes').waitFor()
  })

  test('of hostile Markdown is text: no element, dialog, window or request is made by it', async () => {
    await show('hostile.md')
    await preview().getByText('The end').waitFor()
    const text = (await preview().textContent()) ?? ''
    expect(text).toContain('<form action=')
    expect(text).toContain('cod\\u202ee.exe')
    expect(text).toContain('\\u202eturned')
    expect(['\u202e', '\u200b', '\u0007'].filter(sign => text.includes(sign))).toEqual([])
    await isHarmless()
    for (const name of [/^vb/, /^file/, /^out/, /^encoded/, /^user/]) {
      await preview().getByRole('link', { name }).first().click()
      await page.getByRole('dialog', { name: 'This link is not a web address' }).waitFor()
      await page.keyboard.press('Escape')
    }
    await isHarmless()
    await open('page.md')
    await isHarmless()
  })

  test('of large files has bounds: the page goes on', async () => {
    for (const name of Object.keys(HEAVY)) {
      const work = await workOf(page, async () => {
        await show(name)
        await page.locator('.preview > *').first().waitFor()
        await page.getByRole('textbox', { name: 'Editor' }).click()
        await page.keyboard.press('Control+Home')
        await page.keyboard.type(' ')
        await desk.isText('main', `heavy/${name}`, text => text.startsWith(' '))
        await settled(page)
      })
      const nodes = await page.locator('.preview *').count()
      console.log(`${name}: ${Math.round(work)} ms of work, ${nodes} elements`)
      expect({ name, isQuick: work < MAX_WORK_MS, isSmall: nodes < 30_000 }).toEqual({
        name,
        isQuick: true,
        isSmall: true,
      })
    }
    await isHarmless()
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
    // Pictures that are no base64 are not asked for: the browser would report an address that is not valid.
    await preview().getByText('no picture').waitFor()
    await preview().getByText('Output that is not shown: image/png').waitFor()
    await preview().getByText('Output that is not shown: image/gif').waitFor()
    await preview().getByText('Output that is not shown: application/javascript, image/svg+xml').waitFor()
    await preview().getByText('safe\\u202etxt.exe').waitFor()
    expect(await preview().getByRole('img', { name: 'Output' }).count()).toBe(1)
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
  expect(tableOf(',\n'.repeat(2_000))).toMatchObject({ isCut: true, rows: { length: 1_000 } })
  expect(tableOf(`${'1,'.repeat(100)}\n`.repeat(1_000))).toMatchObject({ isCut: true, rows: { length: 200 } })
  const wide = tableOf(`${'x,'.repeat(1_000_000)}\n`)
  expect([wide.rows[0]?.length, wide.isCut]).toEqual([100, true])
})

test('what is no notebook is said, and of a large one the beginning is shown', () => {
  expect(notebookOf('{')).toContain('not JSON')
  expect(notebookOf('{"worksheets": []}')).toContain('no list of cells')
  expect(notebookOf('['.repeat(500_000))).toContain('not JSON')
  const cell = { cell_type: 'code', source: 'a\n'.repeat(1_000), outputs: [] }
  const large = notebookOf(JSON.stringify({ cells: Array.from({ length: 500 }, () => cell) }))
  expect(large).toMatchObject({ isCut: true, cells: { length: 4 } })
})

test('what an SVG repeats is counted, however it refers to it', () => {
  const shown = Object.entries(TOO_COSTLY).filter(([, svg]) => whyNotShown(svg) === undefined)
  expect(shown.map(([name]) => name)).toEqual([])
  const refused = Object.entries(USUAL).filter(([, svg]) => whyNotShown(svg) !== undefined)
  expect(refused.map(([name]) => name)).toEqual([])
})
