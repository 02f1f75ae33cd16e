/** The commit message after its first line, wrapped to the pane's width. */
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
