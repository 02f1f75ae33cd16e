/**
 * Loaded into commands and workers before their own code (`BUN_OPTIONS=--preload …`): shifts their clock by the
 * milliseconds in a file, which may change while they run. Monotonic clocks stay right, as after setting a real clock
 * back.
 *
 *   CLOCK_FILE the file; where it does not exist, the clock is right
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
