/** What follows the first line of a commit's message, wrapped for the pane that it is in. */
import { visible } from '../ui/names.ts'
import { joinWrappedLines } from '../ui/reflow.ts'

/** The trailers of the desk are left out: the page says them as facts. */
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
