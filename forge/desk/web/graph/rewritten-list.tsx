/** The preview of a rewriting: what becomes of each commit, newest first. */
import type { RewrittenCommit } from '../../contract/steps.ts'
import { Icon, type IconName } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'

const LOOKS: Record<RewrittenCommit['becomes'], { words: string; icon: IconName; tone: string }> = {
  reapplied: { words: 'new hash only', icon: 'commit', tone: '' },
  reworded: { words: 'new message', icon: 'pencil', tone: 'is-you' },
  amended: { words: 'amended', icon: 'pencil', tone: 'is-you' },
  squashed: { words: 'squashed', icon: 'merge', tone: 'is-you' },
  split: { words: 'part of the split', icon: 'columns', tone: 'is-you' },
  moved: { words: 'moved here', icon: 'arrow-down', tone: 'is-you' },
  dropped: { words: 'dropped', icon: 'trash', tone: 'is-bad' },
  empty: { words: 'left out: changes nothing any more', icon: 'minus', tone: '' },
  conflict: { words: 'conflicts here', icon: 'warning', tone: 'is-warn' },
  waiting: { words: 'after the conflict', icon: 'clock', tone: '' },
}

export function RewrittenList({ commits }: { commits: readonly RewrittenCommit[] }) {
  if (commits.length === 0) return null
  return (
    <ul class="step-commits" aria-label="What becomes of the commits">
      {commits.map(({ from, subject, becomes, isPushed }, index) => {
        const { words, icon, tone } = LOOKS[becomes]
        return (
          <li key={`${index} ${from.join(' ')}`} class={becomes === 'dropped' || becomes === 'empty' ? 'gone' : ''}>
            <Icon name={icon} size="xs" tone={tone} />
            <span class="hash">{from.map(shortId).join(' + ')}</span>
            <bdi class="cut subject">{withoutTricks(subject)}</bdi>
            {isPushed ? (
              <span class="meta">
                <Icon name="cloud" size="xs" /> pushed
              </span>
            ) : null}
            <span class={`meta ${tone}`}>{words}</span>
          </li>
        )
      })}
    </ul>
  )
}
