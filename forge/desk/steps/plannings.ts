/**
 * Plans that take long: rebases and picks of many commits. A preview and the step after it share one computation,
 * cached by the commits it depends on, which never change. Each can be stopped, without leaving anything.
 */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import type { News } from '../contract/news.ts'
import type { Pace, Picks } from './picks.ts'

/** Copies of `commits`, oldest first; `same`: the number left out because an equal commit exists. */
type Picked = { picks: Picks; commits: readonly Oid[]; same: number }

/** Computes a value for a key, or returns the cached one. */
export type Once = (key: string, make: (pace: Pace) => Promise<Picked>) => Promise<Picked>

/** The user has stopped a step, or its preview. */
export class Stopped extends Failure {}

/** Computes the value each time, without a cache, and can't be aborted. */
export const everyTime: Once = async (_, make) =>
  await make({ signal: new AbortController().signal, tell: () => undefined })

/** At most this many plans are cached, for a dialog in which options are switched. */
const MAX_KEPT_PLANS = 6
/** Milliseconds after which progress is shown for the first time, and between two such messages. */
const [QUICK_MS, PAUSE_MS] = [600, 250]

/** A computation, and the number of callers that wait for it. */
type Planning = { picked: Promise<Picked>; control: AbortController; waiting: number }

export class Plannings {
  readonly #known = new Map<string, Planning>()
  readonly #running = new Set<AbortController>()

  constructor(
    readonly objects: Objects,
    readonly say: (news: News) => void,
  ) {}

  readonly once: Once = this.onceFor(undefined)

  /** Gives the cache to a caller that stops waiting when `signal` says so: a computation without callers is stopped. */
  onceFor(signal: AbortSignal | undefined): Once {
    return async (key, make) => {
      const known = this.#known.get(key)
      if (known) {
        const picked = await this.#waitFor(key, known, signal)
        if (await this.#isThere(picked)) return picked
        this.#forget(key, known)
      }
      const again = this.#known.get(key)
      if (again) return await this.#waitFor(key, again, signal)
      const control = new AbortController()
      const made = { picked: this.run(make, control), control, waiting: 0 }
      this.#known.set(key, made)
      made.picked.catch(() => this.#forget(key, made))
      for (const old of [...this.#known.keys()].slice(0, -MAX_KEPT_PLANS)) this.#known.delete(old)
      return await this.#waitFor(key, made, signal)
    }
  }

  async #waitFor(key: string, planning: Planning, signal: AbortSignal | undefined): Promise<Picked> {
    planning.waiting++
    const leave = () => {
      planning.waiting--
      if (planning.waiting > 0) return
      // Later callers do not get the computation that is being stopped.
      this.#forget(key, planning)
      planning.control.abort(stopped())
    }
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave, { once: true })
    try {
      return await planning.picked
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  /** Runs a task that {@link stop} stops: it then throws the signal's reason. */
  async run<Result>(task: (pace: Pace) => Promise<Result>, control = new AbortController()): Promise<Result> {
    this.#running.add(control)
    let [last, hasSaid] = [performance.now() + QUICK_MS - PAUSE_MS, false]
    const tell = (words: string) => {
      if (performance.now() < last + PAUSE_MS) return
      last = performance.now()
      hasSaid = true
      this.say({ say: 'progress', words })
    }
    try {
      return await task({ signal: control.signal, tell })
    } finally {
      this.#running.delete(control)
      if (hasSaid) this.say({ say: 'progress' })
    }
  }

  /** Stops all running tasks. */
  stop(): void {
    for (const control of this.#running) control.abort(stopped())
  }

  #forget(key: string, made: Planning): void {
    if (this.#known.get(key) === made) this.#known.delete(key)
  }

  /** Whether the planned objects still exist: no ref contains them yet, so garbage collection may have removed them. */
  async #isThere({ picks: { chain, stop } }: Picked): Promise<boolean> {
    const stages = (stop?.merge.stages ?? []).filter(({ mode }) => mode !== '160000')
    const needed = new Set<Oid>([...chain.map(({ tree }) => tree), ...stages.map(({ oid }) => oid)])
    if (stop) needed.add(stop.merge.tree)
    const infos = await Promise.all([...needed].map(oid => this.objects.info(oid)))
    return infos.every(info => info !== undefined)
  }
}

const stopped = (): Stopped => new Stopped('It was stopped: nothing was moved.')
