/** What is in an AI's context: a circle at each file, and how full the model's window is. */

import { type Tab, usePage } from '../page/state.ts'
import type { TreeRow } from '../page/tree.ts'
import { tokens } from '../ui/figures.ts'
import { shownKeys } from '../ui/keys.ts'
import { setContext } from './chat-actions.ts'
import { chatActions } from './chat-commands.ts'
import { ContextFiles, filesInContext } from './context-files.tsx'

const WORDS = {
  none: 'not in the AI’s context',
  summary: 'its summary is in the AI’s context',
  whole: 'in the AI’s context',
}

/** The words for a file's circle (how the AI's context contains the file), for assistive technology. */
export function contextWords(context: TreeRow['context']): string | undefined {
  return context && WORDS[context]
}

/**
 * A circle at a file: empty, half or full, as the AI's context has the file. For the mouse; the keyboard has a key for
 * it, and the row says it in words.
 */
export function ContextCircle({ tab, row }: { tab: Tab; row: TreeRow }) {
  const page = usePage()
  const { context, path } = row
  // Rows without a circle get an empty element of its size, so that the other marks of all rows are in one column.
  if (!context || row.kind !== 'file') return <span class="ctx-place" />
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    // biome-ignore lint/a11y/noStaticElementInteractions: see above
    <span
      class={`ctx ${context}`}
      title={`${WORDS[context]}  ${shownKeys(chatActions.context.keys)}`}
      onClick={event => {
        event.stopPropagation()
        if (tab.at.kind === 'branch') setContext(page, tab, path, context !== 'whole')
      }}
    >
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <circle class="ring" cx="5" cy="5" r="4" />
        {context === 'summary' ? <path class="half" d="M5 1a4 4 0 0 0 0 8z" /> : null}
      </svg>
    </span>
  )
}

/** Shows how full the model's context window is, and which files are in it. */
export function ContextMeter({ tab }: { tab: Tab }) {
  const head = tab.conversation.head.value
  if (!head || head.missing !== undefined || head.context.of === 0) return null
  const { used, of, files, words } = head.context
  const share = of > 0 ? Math.min(100, (100 * used) / of) : 0
  return (
    <details class="foot">
      <summary>
        <span class="row">
          <span class="grow">In context</span>
          <span>
            {tokens(used)} of {tokens(of)}
          </span>
        </span>
        <span class="meta">{filesInContext(files)}</span>
        <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect class="b0" width="100" height="4" />
          <rect class={share > 80 ? 'bw' : 'bai'} width={share} height="4" />
        </svg>
      </summary>
      <ContextFiles tab={tab} />
      {words === undefined ? null : <p class="meta">{words}</p>}
    </details>
  )
}
