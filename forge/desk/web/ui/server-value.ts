/**
 * A value loaded from the server. The last answer stays until the next one arrives; of several requests only the last
 * one counts; a failure is kept with its reason, and can be tried again (see failed.tsx).
 */
import { type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'

export interface ServerValueSettings {
  /** Delay after a change before the value is loaded again, in milliseconds: once for several changes. */
  delayMs?: number
  /** Whether a failure clears the value, since the old value would belong to another object than the one shown. */
  forgetsOnFailure?: boolean
  /** For the hook: whether the value for the previous inputs is hidden until that for the new ones arrives. */
  forgetsOnChange?: boolean
}

const USUAL_DELAY_MS = 150

export class ServerValue<Value> {
  /** The last answer; undefined until the first one. */
  readonly latest: Signal<Value | undefined> = signal(undefined)
  /** Why the last request failed, as a sentence; undefined if it did not. */
  readonly problem = signal<string | undefined>(undefined)

  readonly #ask: (isCurrent: () => boolean) => Promise<Value>
  readonly #settings: ServerValueSettings
  #isAsked = false
  #round = 0
  /** The last request: resolves when it is answered. */
  #newest: Promise<void> = Promise.resolve()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `ask` gets a function that tells whether its answer is still wanted. */
  constructor(ask: (isCurrent: () => boolean) => Promise<Value>, settings: ServerValueSettings = {}) {
    this.#ask = ask
    this.#settings = settings
  }

  get isAsked(): boolean {
    return this.#isAsked
  }

  /** Loads the value, unless it was requested before. */
  load(): void {
    if (!this.#isAsked) this.refresh()
  }

  /** Loads the value again soon, if it was requested before, since it has changed. */
  touch(): void {
    if (this.#isAsked) this.#later(this.#settings.delayMs ?? USUAL_DELAY_MS)
  }

  /** Loads the value now. Resolves when its answer is stored, or that of a later request that took its place. */
  async refresh(): Promise<void> {
    this.#isAsked = true
    clearTimeout(this.#timer)
    let answer = this.#load(++this.#round)
    this.#newest = answer
    await answer
    while (answer !== this.#newest) {
      answer = this.#newest
      await answer
    }
  }

  async #load(round: number): Promise<void> {
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

  /** Clears the value until it is loaded again. */
  forget(): void {
    this.latest.value = undefined
    this.problem.value = undefined
  }

  /** Ignores answers to requests that are under way. */
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
 * A value of the server for the lifetime of a component, loaded again `delayMs` after one of `inputs` has changed: once
 * for several changes in that time. Without `ask`, nothing is loaded.
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
