/**
 * The preview of a file, beside its text. The content was written by others: no script of it runs, only images of the
 * repository are loaded, and none of it is used as HTML.
 */
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { At } from '../../contract/values.ts'
import { CodeBlock } from '../chat/code-block.tsx'
import { Markdown } from '../chat/markdown.tsx'
import { MarkdownPlaceContext } from '../chat/markdown-place.ts'
import { textWithOurs } from '../editor/conflict-editor.ts'
import type { OpenFile } from '../editor/open-file.ts'
import { type Tab, usePage } from '../page/state.ts'
import { BlobImage } from '../ui/blob-image.tsx'
import { headingOf } from '../ui/heading-slugs.ts'
import { baseName, folderOf, readable, visible } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { MAX_COLUMNS, tableOf } from './csv.ts'
import { useEditorScroll } from './editor-scroll.ts'
import { partsOf } from './front-matter.ts'
import { type PreviewKind, previewKindOf } from './kinds.ts'
import { notebookOf, type ShownCell, type ShownOutput } from './notebook.ts'
import { whyNotShown } from './svg.ts'

/** The preview is updated after this many milliseconds without a change of the text. */
const FOLLOW_DELAY_MS = 150
/** Of a longer text, only the beginning is shown. */
const MAX_PREVIEWED_CHARS = 500_000

export function Preview({ tab, file, kind }: { tab: Tab; file: OpenFile; kind: PreviewKind }) {
  const text = useText(file)
  const { at, path } = file
  const conflicts = file.conflicts.value.open.length
  // A link from another file leads to a heading, wherever the editor is scrolled to.
  const isWanted = tab.headingWanted.value === undefined
  const { section, goTo, isWhole, showWhole } = useHeadings(tab, path, text)
  useEditorScroll(section, { text, isWhole, isOn: kind === 'markdown', isWanted, showWhole })
  const Image = useMemo(() => (image: { path: string; alt: string }) => <RepositoryImage at={at} {...image} />, [at])
  const place = useMemo(
    () => ({ folder: folderOf(path).replace(/\/$/, ''), Image, goTo, isWhole }),
    [path, Image, goTo, isWhole],
  )
  const shown = text.slice(0, MAX_PREVIEWED_CHARS)
  return (
    // A preview scrolls.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to focus what scrolls
    <section ref={section} class={`preview ${kind}`} aria-label="Preview" tabIndex={0}>
      {conflicts > 0 ? (
        <p class="meta in-conflicts">Our side of {conflicts === 1 ? 'the conflict' : `${conflicts} conflicts`}.</p>
      ) : null}
      <MarkdownPlaceContext.Provider value={place}>
        <Shown text={kind === 'svg' || kind === 'notebook' ? text : shown} kind={kind} path={path} />
      </MarkdownPlaceContext.Provider>
      {kind !== 'svg' && kind !== 'notebook' && text.length > shown.length ? (
        <p class="meta">Only the first {MAX_PREVIEWED_CHARS.toLocaleString('en')} characters are shown.</p>
      ) : null}
    </section>
  )
}

/** Shows the headings that links lead to, in this file and in other ones. `text`: the shown text. */
function useHeadings(tab: Tab, path: string, text: string) {
  const page = usePage()
  const section = useRef<HTMLElement>(null)
  const [isWhole, setWhole] = useState(false)
  const { headingWanted } = tab
  const fromOutside = headingWanted.value?.path === path ? headingWanted.value.slug : undefined
  const [fromInside, setFromInside] = useState<string | undefined>(undefined)
  const wanted = fromInside ?? fromOutside
  const goTo = useCallback(
    (slug: string, other = path) => {
      if (other === path) {
        setFromInside(slug)
        return
      }
      if (previewKindOf(other) !== 'markdown') {
        tab.edit(other)
        return
      }
      headingWanted.value = { path: other, slug }
      // The focus goes to the heading, not to the editor.
      tab.show({ kind: 'file', path: other })
      tab.keepOpen(other)
    },
    [tab, path],
  )
  useLayoutEffect(() => {
    if (wanted === undefined || text === '' || !section.current) return
    // All headings are needed to count those of the same text.
    if (!isWhole) {
      setWhole(true)
      return
    }
    if (fromOutside !== undefined) headingWanted.value = undefined
    setFromInside(undefined)
    if (showHeading(section.current, wanted)) return
    page.tell({ topic: 'heading', title: `${readable(baseName(path))} has no heading #${readable(wanted)}` }, 'info')
  }, [wanted, text, isWhole])
  return { section, goTo, isWhole, showWhole: () => setWhole(true) }
}

/** Scrolls a preview to a heading and focuses it; `#` and `#top` lead to the beginning. Returns whether it is there. */
function showHeading(preview: HTMLElement, slug: string): boolean {
  const headings = [...preview.querySelectorAll<HTMLElement>('[data-slug]')]
  const slugs = headings.map(heading => heading.getAttribute('data-slug') ?? '')
  const found = headings[headingOf(slug, slugs)]
  const isTop = found === undefined && /^(top)?$/i.test(slug)
  if (found) preview.scrollTop += found.getBoundingClientRect().top - preview.getBoundingClientRect().top
  else if (isTop) preview.scrollTop = 0
  const target = found ?? preview
  target.focus({ preventScroll: true })
  return found !== undefined || isTop
}

/** The file's text, updated {@link FOLLOW_DELAY_MS} after the last edit; of open conflicts, it has our side. */
function useText(file: OpenFile): string {
  const edits = file.edits.value
  const conflicts = file.conflicts.value.open.length
  const textNow = () => (file.state ? textWithOurs(file.state) : '')
  const [text, setText] = useState(textNow)
  useEffect(() => {
    const clock = setTimeout(() => setText(textNow()), FOLLOW_DELAY_MS)
    return () => clearTimeout(clock)
  }, [file, edits, conflicts])
  return text
}

function Shown({ text, kind, path }: { text: string; kind: PreviewKind; path: string }) {
  switch (kind) {
    case 'markdown':
      return <MarkdownFile text={text} />
    case 'svg':
      return <Svg source={text} alt={path} />
    case 'csv':
      return <Csv text={text} separator={path.toLowerCase().endsWith('.tsv') ? '\t' : undefined} />
    case 'notebook':
      return <NotebookView text={text} />
  }
}

function MarkdownFile({ text }: { text: string }) {
  const { frontMatter, body, firstLine } = useMemo(() => partsOf(text), [text])
  return (
    <>
      {frontMatter === undefined ? null : (
        <div class="front-matter" data-line={1}>
          <CodeBlock text={frontMatter} language="yaml" isLive={false} />
        </div>
      )}
      <Markdown text={body} firstLine={firstLine} />
    </>
  )
}

/** Shows an SVG as an image, since in an image the browser runs no scripts and loads nothing from elsewhere. */
function Svg({ source, alt }: { source: string; alt: string }) {
  const why = useMemo(() => whyNotShown(source), [source])
  const [address, setAddress] = useState<string | undefined>(undefined)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    if (why !== undefined) return undefined
    const made = URL.createObjectURL(new Blob([source], { type: 'image/svg+xml' }))
    setAddress(made)
    setBroken(false)
    return () => URL.revokeObjectURL(made)
  }, [source, why])
  if (why !== undefined) return <p class="meta">{why}</p>
  if (isBroken) return <p class="meta">The browser can’t draw this SVG.</p>
  return address === undefined ? null : <img class="drawing" src={address} alt={alt} onError={() => setBroken(true)} />
}

/** An image of the repository, as the commit has it, or the branch with its drafts now. */
function RepositoryImage({ at, path, alt }: { at: At; path: string; alt: string }) {
  const page = usePage()
  const isSvg = path.toLowerCase().endsWith('.svg')
  const load = async () => {
    const { oid } = await page.connection.ask('blob of', { at, path })
    const { text } = isSvg && oid !== undefined ? await page.connection.ask('blob', { oid }) : {}
    return { oid, text }
  }
  const changes = at.kind === 'branch' ? page.changed.value.get(at.branch) : undefined
  const found = useServerValue(load, [page, at, path, changes]).latest.value
  if (!found) return <span class="not-loaded">{alt}</span>
  if (found.oid === undefined) return <span class="not-loaded">image not found: {visible(alt || path)}</span>
  if (isSvg) return found.text === undefined ? null : <Svg source={found.text} alt={alt} />
  return <BlobImage oid={found.oid} alt={alt} />
}

function Csv({ text, separator }: { text: string; separator: string | undefined }) {
  const { rows, isCut } = useMemo(() => tableOf(text, separator), [text, separator])
  const [head = [], ...body] = rows
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col" class="line-number">
              <span class="vh">Row</span>
            </th>
            {head.map((cell, index) => (
              <th key={index} scope="col" dir="auto">
                {visible(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row, at) => (
            <tr key={at}>
              <td class="line-number">{at + 2}</td>
              {row.map((cell, index) => (
                <td key={index} dir="auto">
                  {visible(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {isCut ? (
        <p class="meta">
          Only the first {rows.length.toLocaleString('en')} rows, {MAX_COLUMNS} columns and 1,000 characters of a cell
          are shown.
        </p>
      ) : null}
    </>
  )
}

function NotebookView({ text }: { text: string }) {
  const notebook = useMemo(() => notebookOf(text), [text])
  if (typeof notebook === 'string') return <p class="meta">{notebook}</p>
  return (
    <>
      {notebook.cells.map((cell, index) => (
        <CellView key={index} cell={cell} language={notebook.language} />
      ))}
      {notebook.isCut ? <p class="meta">Only the first cells are shown.</p> : null}
    </>
  )
}

function CellView({ cell, language }: { cell: ShownCell; language: string }) {
  return (
    <section class={`cell ${cell.kind}`} aria-label={cell.kind === 'code' ? 'Code cell' : 'Text cell'}>
      {cell.kind === 'markdown' ? (
        <Markdown text={cell.source} />
      ) : (
        <CodeBlock text={cell.source} language={cell.kind === 'code' ? language : ''} isLive={false} />
      )}
      {cell.outputs.map((output, index) => (
        <OutputView key={index} output={output} />
      ))}
    </section>
  )
}

function OutputView({ output }: { output: ShownOutput }): ComponentChildren {
  switch (output.kind) {
    case 'text':
      return <pre class="output">{output.text}</pre>
    case 'image':
      return <img class="drawing" src={`data:${output.type};base64,${output.base64}`} alt="Output" />
    case 'other':
      return <p class="meta">Output that is not shown: {output.types.map(visible).join(', ')}</p>
  }
}
