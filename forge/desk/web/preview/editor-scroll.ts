/** A preview scrolls along with the editor beside it, by the lines at which its blocks begin in the text. */
import { EditorView } from '@codemirror/view'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { lineAtHeight } from '../editor/scrolled-line.ts'

/** The events by which the user takes over the scrolling of the preview. */
const INPUTS = ['keydown', 'pointerdown', 'wheel'] as const

interface Shown {
  /** What the preview shows: after a change, it is scrolled to its place again. */
  text: string
  isWhole: boolean
  /** Whether the blocks of the preview have lines. */
  isOn: boolean
  /** Whether the preview is to begin at the place of the editor. */
  isWanted: boolean
  /** Shows all of a long text, of which the middle is left out at first. */
  showWhole: () => void
}

/** Scrolls a preview with its editor, until the user scrolls the preview itself. */
export function useEditorScroll(
  preview: RefObject<HTMLElement | null>,
  { text, isWhole, isOn, isWanted, showWhole }: Shown,
): void {
  const isFollowing = useRef(isWanted)
  const follow = () => {
    const editor = editorBeside(preview.current)
    const view = editor && EditorView.findFromDOM(editor)
    if (view && preview.current && !followEditor(preview.current, view)) showWhole()
  }

  useEffect(() => {
    const { current: section } = preview
    const box = section?.parentElement
    if (!isOn || !section || !box) return undefined
    const controller = new AbortController()
    const { signal } = controller
    const onScroll = ({ target }: Event) => {
      const editor = editorBeside(section)
      if (target === section || !(target instanceof Node) || !editor?.contains(target)) return
      // An editor that scrolls to where it was left takes no heading away to which a link in a preview has led.
      if (section.contains(document.activeElement) && !editor.matches(':hover')) return
      isFollowing.current = true
      follow()
    }
    box.addEventListener('scroll', onScroll, { signal, capture: true, passive: true })
    // An image takes its room once it is loaded.
    const onLoad = () => {
      if (isFollowing.current) follow()
    }
    section.addEventListener('load', onLoad, { signal, capture: true })
    const stop = () => {
      isFollowing.current = false
    }
    for (const kind of INPUTS) section.addEventListener(kind, stop, { signal, passive: true })
    return () => controller.abort()
  }, [isOn])

  useLayoutEffect(() => {
    if (isOn && isFollowing.current) follow()
  }, [isOn, text, isWhole])
}

const editorBeside = (preview: HTMLElement | null) => preview?.parentElement?.querySelector<HTMLElement>('.cm-editor')

/**
 * Shows the same line at the same height. At the beginning of the text that is its first line, at the end its last one,
 * and between them one at the same share of the height, so that both reach their ends together. Returns whether the
 * line is shown: it may be among those that are left out.
 */
function followEditor(preview: HTMLElement, view: EditorView): boolean {
  const { scrollDOM } = view
  const room = scrollDOM.scrollHeight - scrollDOM.clientHeight
  const share = room <= 0 ? 0 : Math.min(1, Math.max(0, scrollDOM.scrollTop / room))
  const line = lineAtHeight(view, scrollDOM.scrollTop + share * scrollDOM.clientHeight)
  const edge = preview.getBoundingClientRect().top - preview.scrollTop
  const blocks = [...preview.querySelectorAll<HTMLElement>('[data-line]')].map(block => ({
    isShown: !block.matches('.fold'),
    line: Number(block.dataset.line),
    top: block.getBoundingClientRect().top - edge,
  }))
  const end = { line: view.state.doc.lines + 1, top: preview.scrollHeight }
  const index = blocks.findLastIndex(block => block.line <= line)
  const from = blocks[index] ?? { isShown: true, line: 1, top: 0 }
  const to = blocks[index + 1] ?? end
  const part = to.line > from.line ? Math.min(1, (line - from.line) / (to.line - from.line)) : 0
  const top = from.top + part * (to.top - from.top)
  // The blank margin above the first block is in view at the beginning.
  preview.scrollTop = top - share * preview.clientHeight - (1 - share) * (blocks[0]?.top ?? 0)
  return from.isShown
}
