/** The files that are in an AI's context as a whole, each with its size. */

import { type Tab, usePage } from '../page/state.ts'
import { tokens } from '../ui/figures.ts'
import { readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { IconButton, Path } from '../ui/words.tsx'
import { setContext } from './chat-actions.ts'

export function ContextFiles({ tab }: { tab: Tab }) {
  const page = usePage()
  const files = tab.conversation.head.value?.context.files ?? []
  const isFixed = tab.at.kind === 'commit'
  if (files.length === 0) return <p class="meta rail-words">No file is in the context in full.</p>
  return (
    <ul class="context-files" aria-label={`${plural(files.length, 'file')} in full`}>
      {files.map(file => (
        <li key={file.path}>
          <Path of={file.path} />
          {isFixed ? (
            <span />
          ) : (
            <IconButton
              icon="x"
              words={`Remove ${readable(file.path)} from the context`}
              onClick={() => setContext(page, tab, file.path, false)}
            />
          )}
          <span class="num">{tokens(file.tokens)}</span>
        </li>
      ))}
    </ul>
  )
}
