/** The outcome of a step, as an icon, a colour and a word. */
import type { Outlook } from '../../contract/steps.ts'
import { Icon, type IconName } from '../ui/icons.tsx'
import { withoutTricks } from '../ui/names.ts'

const LOOKS: Record<Outlook['is'], { icon: IconName; tone: string; label: string }> = {
  clean: { icon: 'check', tone: 'is-ok', label: 'clean' },
  drops: { icon: 'alert', tone: 'is-bad', label: 'drops' },
  conflicts: { icon: 'warning', tone: 'is-warn', label: 'clash' },
  nothing: { icon: 'minus', tone: 'is-none', label: 'none' },
  impossible: { icon: 'alert', tone: 'is-none', label: 'none' },
  unknown: { icon: 'clock', tone: 'is-none', label: 'none' },
}

export const outlookLook = (outlook: Outlook) => LOOKS[outlook.is]

/** The short word on a drop target. */
export function outlookWord({ is, conflicts, words }: Outlook): string {
  switch (is) {
    case 'clean':
      return 'clean'
    case 'conflicts':
      return `conflict in ${conflicts} ${conflicts === 1 ? 'file' : 'files'}`
    case 'nothing':
      return 'nothing to do'
    case 'drops':
    case 'impossible':
    case 'unknown':
      return withoutTricks(words)
  }
}

export function OutlookLine({ outlook }: { outlook: Outlook }) {
  const { icon, tone } = outlookLook(outlook)
  return (
    <span class={`outlook ${tone}`}>
      <Icon name={icon} />
      {withoutTricks(outlook.words)}
    </span>
  )
}
