/**
 * The report of Forklift's agent on conflicts it could not resolve (STUCK.md), above the conversation. Its text is
 * untrusted.
 */

import type { Tab } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import { withoutTricks } from '../ui/names.ts'
import { ago } from '../ui/times.ts'
import { Markdown } from './markdown.tsx'

export function Letter({ tab }: { tab: Tab }) {
  const forklift = tab.merging.latest.value?.forklift
  if (forklift?.stuck === undefined) return null
  const time = timeOf(forklift.run)
  return (
    <article class="letter-card" aria-label="STUCK.md, from Forklift">
      <header title={withoutTricks(forklift.run)}>
        <Icon name="file" />
        <span class="strong grow">STUCK.md</span>
        <span class="meta">Forklift{time === undefined ? '' : `, ${ago(time)}`}</span>
      </header>
      <div>
        <Markdown text={forklift.stuck} />
      </div>
    </article>
  )
}

export function hasLetter(tab: Tab): boolean {
  return tab.merging.latest.value?.forklift?.stuck !== undefined
}

/** The start of a run by its machine's clock, read from the end of the run's name. */
function timeOf(run: string): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)$/.exec(run)?.map(Number) ?? []
  if (year === undefined || month === undefined) return undefined
  return new Date(year, month - 1, day, hour, minute, second).getTime() / 1_000
}
