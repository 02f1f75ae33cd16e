/**
 * Compares two texts first by their lines, and then the lines that differ by their characters. CodeMirror's own
 * comparison is by characters alone: of a long text with changes far from each other it gives up, and takes all lines
 * between them for changed.
 */
import { Change, type DiffConfig, diff } from '@codemirror/merge'
import { differingLines, linesOf, startsOf } from '../../contract/line-diff.ts'

/**
 * A configuration of CodeMirror's comparison with which it compares lines first. `scanLimit` and `timeout` limit, in
 * characters and milliseconds, the comparison of characters; beyond them whole lines count as changed.
 */
export function byLines({ scanLimit, timeout }: Readonly<{ scanLimit: number; timeout: number }>): DiffConfig {
  return {
    override: (one, other) => {
      const end = performance.now() + timeout
      const [linesA, linesB] = [linesOf(one), linesOf(other)]
      const [startsA, startsB] = [startsOf(linesA), startsOf(linesB)]
      return differingLines(linesA, linesB).flatMap(({ fromA, toA, fromB, toB }) => {
        const whole = new Change(startsA[fromA] ?? 0, startsA[toA] ?? 0, startsB[fromB] ?? 0, startsB[toB] ?? 0)
        const left = end - performance.now()
        if (fromA === toA || fromB === toB || left <= 0) return [whole]
        const [textA, textB] = [one.slice(whole.fromA, whole.toA), other.slice(whole.fromB, whole.toB)]
        return diff(textA, textB, { scanLimit, timeout: left }).map(
          it => new Change(whole.fromA + it.fromA, whole.fromA + it.toA, whole.fromB + it.fromB, whole.fromB + it.toB),
        )
      })
    },
  }
}
