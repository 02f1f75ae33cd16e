/** The sign of a turn at the end of a tab: an arc while an AI works, a question mark while it waits for an answer. */

import { type Page, usePage } from '../page/state.ts'
import { Icon, type IconName } from '../ui/icons.tsx'

export interface Sign {
  icon: IconName
  tone: string
  words: string
}

const SIGNS: Record<'running' | 'waits' | 'unfinished', Sign> = {
  running: { icon: 'arc', tone: 'by-ai spin', words: 'the AI is working' },
  waits: { icon: 'question', tone: 'is-warn', words: 'the AI waits for you' },
  unfinished: { icon: 'warning', tone: 'is-warn', words: 'the last turn was not completed' },
}

/** The sign of a file that is read-only while the AI works. */
export const LOCKED: Sign = { icon: 'hourglass', tone: '', words: 'read-only while the AI works' }

export function turnSign(page: Page, branch: string): Sign | undefined {
  const turn = page.branch(branch)?.turn
  return turn && SIGNS[turn]
}

export function TurnWord({ branch }: { branch: string }) {
  const sign = turnSign(usePage(), branch)
  return sign ? <span class="vh">, {sign.words}</span> : null
}

/** The right end of the chat's tab: the icon of the turn's state, in place of other tabs' close button. */
export function ChatEnd({ sign }: { sign: Sign | undefined }) {
  if (!sign) return null
  return (
    <span class="end" title={sign.words}>
      <Icon name={sign.icon} size="xs" tone={sign.tone} />
    </span>
  )
}
