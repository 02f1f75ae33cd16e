/** The files that are in an AI's context, each with its size. */

import type { Conversation } from '../../contract/chat.ts'
import { type Tab, usePage } from '../page/state.ts'
import { tokens } from '../ui/figures.ts'
import { readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { IconButton, NarrowPath } from '../ui/words.tsx'
import { setContext } from './chat-actions.ts'

type ContextFile = Conversation['context']['files'][number]

/** How many files are in the context, and how many of them are sent in part, or not at all. */
export function filesInContext(files: readonly ContextFile[]): string {
  const count = (which: ContextFile['sent']) => files.filter(({ sent }) => sent === which).length
  const [parts, unsent] = [count('part'), count('nothing')]
  const all = plural(files.length, 'file')
  if (parts + unsent === 0) return `${all} in full`
  return [all, ...(parts > 0 ? [`${parts} of them in part`] : []), ...(unsent > 0 ? [`${unsent} not sent`] : [])].join(
    ', ',
  )
}

/** The tokens of what is sent of a file. */
function sentWords({ sent, tokens: count }: ContextFile): string {
  if (sent === 'nothing') return 'not sent'
  return sent === 'part' ? `first ${tokens(count)}` : tokens(count)
}

export function ContextFiles({ tab }: { tab: Tab }) {
  const page = usePage()
  const files = tab.conversation.head.value?.context.files ?? []
  const isFixed = tab.at.kind === 'commit'
  if (files.length === 0) return <p class="meta rail-words">No file is in the context.</p>
  return (
    <ul class="context-files" aria-label={filesInContext(files)}>
      {files.map(file => (
        <li key={file.path}>
          <NarrowPath of={file.path} />
          {isFixed ? (
            <span />
          ) : (
            <IconButton
              icon="x"
              words={`Remove ${readable(file.path)} from the context`}
              onClick={() => setContext(page, tab, file.path, false)}
            />
          )}
          <span class="num">{sentWords(file)}</span>
        </li>
      ))}
    </ul>
  )
}
