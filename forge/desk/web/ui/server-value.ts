/**
 * A value that the server has. What was answered last stays shown until the next answer is there; of several answers on
 * their way only that to the last question counts; a failure says why, and can be tried again (see failed.tsx).
 */
import { type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'

export interface ServerValueSettings {
  /** How many milliseconds after a change it is asked for again: once for several changes. */
  delayMs?: number
  /** Whether a failure leaves nothing to show: what was there would be about something else. */
  forgetsOnFailure?: boolean
  /** Of a hook: whether the answer for earlier inputs is not shown until that for the new ones is there. */
  forgetsOnChange?: boolean
}

const USUAL_DELAY_MS = 150

export class ServerValue<Value> {
  /** Undefined until the first answer. */
  readonly latest: Signal<Value | undefined> = signal(undefined)
  /** Why the last question got no answer. */
  readonly problem = signal<string | undefined>(undefined)

  readonly #ask: (isCurrent: () => boolean) => Promise<Value>
  readonly #settings: ServerValueSettings
  #isAsked = false
  #round = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `ask` is told by `isCurrent` whether its answer still counts. */
  constructor(ask: (isCurrent: () => boolean) => Promise<Value>, settings: ServerValueSettings = {}) {
    this.#ask = ask
    this.#settings = settings
  }

  get isAsked(): boolean {
    return this.#isAsked
  }

  /** Asks for it at the first time. */
  load(): void {
    if (!this.#isAsked) this.refresh()
  }

  /** Asks again soon, if it was asked for before: something about it has changed. */
  touch(): void {
    if (this.#isAsked) this.#later(this.#settings.delayMs ?? USUAL_DELAY_MS)
  }

  /** Asks now. Resolves when the answer has been taken, or a later question has made it stale. */
  async refresh(): Promise<void> {
    this.#isAsked = true
    clearTimeout(this.#timer)
    const round = ++this.#round
    const isCurrent = () => round === this.#round
    try {
      const value = await this.#ask(isCurrent)
      if (!isCurrent()) return
      this.problem.value = undefined
      this.take(value)
    } catch (error) {
      if (!isCurrent()) return
      this.problem.value = error instanceof Error ? error.message : String(error)
      if (this.#settings.forgetsOnFailure) this.latest.value = undefined
    }
  }

  /** Nothing is known of it, until it is asked for again. */
  forget(): void {
    this.latest.value = undefined
    this.problem.value = undefined
  }

  /** Answers that are on their way are ignored. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#round++
  }

  protected take(value: Value): void {
    this.latest.value = value
  }

  #later(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.refresh(), milliseconds)
  }
}

/**
 * A value of the server for as long as a component is there, asked for again `delayMs` after one of `inputs` has
 * changed: once for several changes in that time. Without `ask`: nothing is asked for.
 */
export function useServerValue<Value>(
  ask: (() => Promise<Value>) | undefined,
  inputs: readonly unknown[],
  { delayMs = 0, forgetsOnChange = false, ...settings }: ServerValueSettings = {},
): ServerValue<Value> {
  const latest = useMemo(() => ({ ask }), [])
  latest.ask = ask
  const known = useMemo(
    () =>
      new ServerValue<Value>(
        () => latest.ask?.() ?? Promise.reject(new Error('Nothing is to be asked for.')),
        settings,
      ),
    [],
  )
  useEffect(() => {
    if (forgetsOnChange) known.forget()
    if (!ask) return undefined
    const timer = delayMs > 0 ? setTimeout(() => known.refresh(), delayMs) : undefined
    if (timer === undefined) known.refresh()
    return () => {
      clearTimeout(timer)
      known.stop()
    }
  }, inputs)
  return known
}
