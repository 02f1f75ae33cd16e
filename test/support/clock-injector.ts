/**
 * Loaded into commands and workers before their own code (`BUN_OPTIONS=--preload …`): their clock is off by as many
 * milliseconds as a file says, which may change while they run. As after a set-back clock, what is measured by a clock
 * that only goes forward stays right.
 *
 * CLOCK_FILE  the file; where it is not there, the clock is right
 */
import { readFileSync } from 'node:fs'

const { CLOCK_FILE: file } = process.env
if (file) inject(file)

function inject(file: string): void {
  const { now } = Date
  const offset = (): number => {
    try {
      return Number(readFileSync(file, 'utf8'))
    } catch {
      return 0
    }
  }
  Date.now = () => now() + offset()
  globalThis.Date = new Proxy(Date, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [target.now()] : args, newTarget),
  })
}
