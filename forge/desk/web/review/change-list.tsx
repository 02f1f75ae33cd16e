/** The files that something changed, a line each; where there is room, with the diff of each below its line. */
import { useSignal } from '@preact/signals'
import type { Change } from '../../contract/values.ts'
import { LineCounts } from '../ui/line-counts.tsx'
import { readable } from '../ui/names.ts'
import { Path } from '../ui/words.tsx'
import { Blobs } from './blobs.tsx'
import { ChangeLetter } from './review-side.tsx'

/** More files than these are only counted. */
const MOST = 300

interface Props {
  changes: readonly Change[]
  most?: number
}

/** The files alone. */
export function ChangeList({ changes, most = MOST }: Props) {
  return (
    <>
      {changes.slice(0, most).map(change => (
        <div class="filerow" key={change.path}>
          <ChangeCells change={change} />
        </div>
      ))}
      {changes.length > most ? <p class="meta more-files">and {changes.length - most} more</p> : null}
    </>
  )
}

/** The files, each a button that opens its diff. The first one is open. */
export function ChangesWithDiffs({ changes, most = MOST }: Props) {
  const opened = useSignal<ReadonlySet<string>>(new Set(changes.slice(0, 1).map(({ path }) => path)))
  const toggle = (path: string) => {
    const next = new Set(opened.peek())
    if (!next.delete(path)) next.add(path)
    opened.value = next
  }
  const shown = changes.slice(0, most)
  return (
    <>
      <div class="filerows">
        {shown.map(change => (
          <button
            type="button"
            class="filerow"
            key={change.path}
            aria-expanded={opened.value.has(change.path)}
            title={readable(change.path)}
            onClick={() => toggle(change.path)}
          >
            <ChangeCells change={change} />
          </button>
        ))}
      </div>
      {changes.length > most ? <p class="meta more-files">and {changes.length - most} more</p> : null}
      {shown
        .filter(({ path }) => opened.value.has(path))
        .map(change => (
          <section class="diff" key={change.path} aria-label={`Diff of ${readable(change.path)}`}>
            <header class="diff-head">
              <Path of={change.path} />
            </header>
            <Blobs change={change} isSideBySide={false} ignoresBlanks={false} />
          </section>
        ))}
    </>
  )
}

function ChangeCells({ change }: { change: Change }) {
  return (
    <>
      <ChangeLetter status={change.status} />
      <Path of={change.path} />
      <LineCounts count={change} />
      <Bars change={change} />
    </>
  )
}

const BAR = 44

/** How much was added and deleted, as lengths that grow slower than the numbers do. */
function Bars({ change }: { change: Change }) {
  const { added = 0, deleted = 0 } = change
  const all = added + deleted
  const length = all === 0 ? 0 : Math.min(BAR, 6 + 6 * Math.log2(1 + all))
  // Each from its own share: by subtraction, rounding would make the second one less than nothing.
  const [first, second] = all === 0 ? [0, 0] : [(length * added) / all, (length * deleted) / all]
  return (
    <svg class="bars" viewBox="0 0 44 4" aria-hidden="true">
      <rect class="ba" width={first} height="4" />
      <rect class="bd" x={first} width={second} height="4" />
    </svg>
  )
}

/** The lines of all files together. */
export function ChangeSum({ changes }: { changes: readonly Change[] }) {
  const sum = (side: 'added' | 'deleted') => changes.reduce((all, change) => all + (change[side] ?? 0), 0)
  const [added, deleted] = [sum('added'), sum('deleted')]
  return (
    <>
      <span class="add-n">{added ? `+${added}` : ''}</span>
      <span class="del-n">{deleted ? `−${deleted}` : ''}</span>
    </>
  )
}
