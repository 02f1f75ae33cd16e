/** The path of a changed file; of a renamed one with the old path, as which it is also gone. */
import type { Change } from '../../contract/values.ts'
import { readable } from '../ui/names.ts'
import { Path } from '../ui/words.tsx'

type Of = Pick<Change, 'path' | 'from'>

/** The path of a changed file as a title: of a renamed one, both paths. */
export const titleOf = ({ path, from }: Of): string =>
  from === undefined ? readable(path) : `${readable(from)} → ${readable(path)}`

/** The old path is before the new one where the list has room for both, and always in the title. */
export function ChangedPath({ of: change, isCutAtEnd = false }: { of: Of; isCutAtEnd?: boolean }) {
  const title = titleOf(change)
  const path = <Path of={change.path} title={title} isCutAtEnd={isCutAtEnd} />
  if (change.from === undefined) return path
  return (
    <span class="renamed">
      <span class="old-path">
        <Path of={change.from} title={title} />→
      </span>
      {path}
    </span>
  )
}
