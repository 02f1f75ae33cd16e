/**
 * Compares two texts first by their lines, and then the lines that differ by their characters. CodeMirror's own
 * comparison is by characters alone: of a long text with changes far from each other it gives up, and takes all lines
 * between them for changed.
 */
import { Change, type DiffConfig, diff } from '@codemirror/merge'
import { differingLines, linesOf, startsOf } from '../../contract/line-diff.ts'

/**
 * The limit, in characters, of the comparison of lines that differ; beyond it whole lines count as changed. There is no
 * limit of time: what is found would depend on how busy the machine is.
 */
const SCAN_LIMIT = 500

/** A configuration of CodeMirror's comparison with which it compares lines first. */
export const BY_LINES: DiffConfig = {
  override: (one, other) => {
    const [linesA, linesB] = [linesOf(one), linesOf(other)]
    const [startsA, startsB] = [startsOf(linesA), startsOf(linesB)]
    return differingLines(linesA, linesB).flatMap(({ fromA, toA, fromB, toB }) => {
      const whole = new Change(startsA[fromA] ?? 0, startsA[toA] ?? 0, startsB[fromB] ?? 0, startsB[toB] ?? 0)
      if (fromA === toA || fromB === toB) return [whole]
      const [textA, textB] = [one.slice(whole.fromA, whole.toA), other.slice(whole.fromB, whole.toB)]
      return diff(textA, textB, { scanLimit: SCAN_LIMIT }).map(
        it => new Change(whole.fromA + it.fromA, whole.fromA + it.toA, whole.fromB + it.fromB, whole.fromB + it.toB),
      )
    })
  },
}
