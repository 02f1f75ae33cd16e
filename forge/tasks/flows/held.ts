/** How a flow is held by the one that started it, and lets go on. */
import { condition, defineSignal, setHandler } from '@temporalio/workflow'

/**
 * Begins nothing new, and ends what is under way, until it hears `false`. Two signals may arrive in the other order:
 * the one with the higher number is the later one.
 */
export const hold = defineSignal<[isHeld: boolean, number: number]>('hold')

/** What a step has to know of how its flow is held. */
export type Holding = { readonly isHeld: boolean; mayGoOn: () => Promise<void> }

/** Whether this flow is held. `onChange` is called when it has heard that it is, or is no more. */
export class Held implements Holding {
  #isHeld: boolean
  /** The number of the last word that was heard. */
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

  /** Waits until it is not held. A person decides that: there is no clock. */
  async mayGoOn(): Promise<void> {
    await condition(() => !this.#isHeld)
  }
}
