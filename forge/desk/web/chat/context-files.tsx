/** The files that are in an AI's context, each with its size. */

import type { Conversation } from '../../contract/chat.ts'
import { type Tab, usePage } from '../page/state.ts'
import { tokens } from '../ui/figures.ts'
import { readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { IconButton, NarrowPath } from '../ui/words.tsx'
import { setContext } from './chat-actions.ts'

type ContextFile = Conversation['context']['files'][number]

/** How many files are in the context, and of how many of them only a part. */
export function filesInContext(files: readonly ContextFile[]): string {
  const { length: cut } = files.filter(({ isCut }) => isCut)
  return cut === 0
    ? `${plural(files.length, 'file')} in full`
    : `${plural(files.length, 'file')}, ${cut} of them in part`
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
          <span class="num">{file.isCut ? `first ${tokens(file.tokens)}` : tokens(file.tokens)}</span>
        </li>
      ))}
    </ul>
  )
}
