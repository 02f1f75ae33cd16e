/** Holds a flow and lets it continue, on a signal of its parent. */
import { condition, defineSignal, setHandler } from '@temporalio/workflow'

/**
 * With `true`, the flow starts nothing new and finishes what is under way, until it gets `false`. Signals may arrive
 * out of order: the one with the highest `number` counts.
 */
export const hold = defineSignal<[isHeld: boolean, number: number]>('hold')

/** Tells a step whether its workflow is held (starts nothing new). `mayGoOn` waits until it is not held any more. */
export type Holding = { readonly isHeld: boolean; mayGoOn: () => Promise<void> }

/** Whether this flow is held, and so starts nothing new. `onChange` is called when that changes. */
export class Held implements Holding {
  #isHeld: boolean
  /** The number of the newest `hold` signal so far; older ones that arrive late are ignored. */
  #heard = 0

  constructor(isHeld = false, onChange: (isHeld: boolean, number: number) => void = () => undefined) {
    this.#isHeld = isHeld
    setHandler(hold, (isHeld, number) => {
      if (number < this.#heard) return
      this.#heard = number
      this.#isHeld = isHeld
      onChange(isHeld, number)
    })
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Waits until the flow is not held (may start something new again). No timeout, since the user decides when. */
  async mayGoOn(): Promise<void> {
    await condition(() => !this.#isHeld)
  }
}
