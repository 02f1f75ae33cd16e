/** The message of a commit: its first line as a title, and the rest wrapped to the pane's width. */
import type { CommitRow } from '../../contract/reading.ts'
import { visible } from '../ui/names.ts'
import { joinWrappedLines } from '../ui/reflow.ts'

/** Shows the message without the desk's trailers, which the page shows as facts. */
export function MessageBody({ text }: { text: string }) {
  const blocks = joinWrappedLines(text.replace(/^Forge-(Model|Turn): .*\n?/gm, ''))
  if (blocks.length === 0) return null
  return (
    <div class="body">
      {blocks.map((block, index) => (
        <p key={index} class={block.isCode ? 'code' : ''}>
          {block.lines.map(visible).join('\n')}
        </p>
      ))}
    </div>
  )
}

/**
 * A commit's message as a title, which is its first line, and the rest. Git's subject of a commit is its first
 * paragraph, which may have several lines: it is the title only until the message is loaded.
 */
export function partsOf({ subject }: Pick<CommitRow, 'subject'>, message: string | undefined) {
  if (message === undefined) return { title: subject, body: '' }
  const [first = '', ...rest] = message.trimStart().split('\n')
  // The subject of a row is cut where it is very long.
  const title = subject.startsWith(first.trimEnd()) ? first.trimEnd() : subject
  return {
    title,
    body: rest
      .join('\n')
      .replace(/^\s*\n/, '')
      .trimEnd(),
  }
}
