/**
 * Plans that take long: many commits to be rebased or picked. A preview and the step after it are one computation, kept
 * by the commits that it is about, which never change. Each can be stopped, and then leaves nothing.
 */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import type { News } from '../contract/news.ts'
import type { Pace, Picks } from './picks.ts'

/** Commits that were copied; `same`: how many were left out because an equal commit is there already. */
type Picked = { picks: Picks; commits: number; same: number }

/** Makes something of a key, or gives what was made of it before. */
export type Once = (key: string, make: (pace: Pace) => Promise<Picked>) => Promise<Picked>

/** Without a cache and without a signal. */
export const everyTime: Once = async (_, make) =>
  await make({ signal: new AbortController().signal, tell: () => undefined })

/** How many plans are cached, for a dialog in which options are switched. */
const MAX_KEPT_PLANS = 6
/** What is over by then says nothing of how far it is, and nothing again before so long; in milliseconds. */
const [QUICK_MS, PAUSE_MS] = [600, 250]

/** Something that is made, or was, and how many wait for it. */
type Planning = { picked: Promise<Picked>; control: AbortController; waiting: number }

export class Plannings {
  readonly #known = new Map<string, Planning>()
  readonly #running = new Set<AbortController>()

  constructor(
    readonly objects: Objects,
    readonly say: (news: News) => void,
  ) {}

  readonly once: Once = this.onceFor(undefined)

  /** For a caller that may stop waiting: a computation without callers is ended. */
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
      // Later callers do not get the computation that is ending.
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

  /** Does something that {@link stop} ends: the signal's reason is thrown then. */
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

  /** Ends all that is under way. */
  stop(): void {
    for (const control of this.#running) control.abort(stopped())
  }

  #forget(key: string, made: Planning): void {
    if (this.#known.get(key) === made) this.#known.delete(key)
  }

  /** No ref leads to what was made yet: a garbage collection may have taken it. */
  async #isThere({ picks: { chain, stop } }: Picked): Promise<boolean> {
    const stages = (stop?.merge.stages ?? []).filter(({ mode }) => mode !== '160000')
    const needed = new Set<Oid>([...chain.map(({ tree }) => tree), ...stages.map(({ oid }) => oid)])
    if (stop) needed.add(stop.merge.tree)
    const infos = await Promise.all([...needed].map(oid => this.objects.info(oid)))
    return infos.every(info => info !== undefined)
  }
}

const stopped = (): Failure => new Failure('It was stopped: nothing was moved.')
