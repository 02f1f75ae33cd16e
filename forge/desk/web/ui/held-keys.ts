/**
 * Keys that are pressed while what was chosen before them is still on its way, such as the file that Enter is to open
 * in the palette, or the branch that is made of a remote one. They are for what is shown then: until then they are
 * held, and pressed again afterwards.
 */

/** Whether a key is left to the browser at all times: those that load the page again. */
const isOfBrowser = ({ key, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  key === 'F5' || ((ctrlKey || metaKey) && key.toLowerCase() === 'r')

const MODIFIER = /^(?:Control|Shift|Alt|Meta)$/

/** A request to hold keys. Calling either function ends it; later calls do nothing. */
export interface Hold {
  /** Presses the held keys, once the page shows what they are for. */
  release: () => void
  /** Drops the held keys, if what they are for does not come. */
  forget: () => void
}

export class HeldKeys {
  readonly #keys: KeyboardEvent[] = []
  readonly #holds = new Set<Hold>()
  /** A key that is dropped until another one is pressed. */
  #dropped: string | undefined
  /** Whether a dialog is open meanwhile, and whether Tab was pressed in it. */
  #dialog: 'none' | 'open' | 'tabbed' = 'none'
  #isPressing = false

  /** Begins to listen, ahead of all others that do. */
  listen(): void {
    window.addEventListener('keydown', event => this.#pressed(event), { capture: true })
  }

  /**
   * Holds the keys for what is shown after a dialog, while that is still open. Enter, pressed again before any other
   * key, is the one that has submitted the dialog. Tab goes through the buttons of the dialog, such as Stop, which are
   * then pressed by Enter and Space.
   */
  holdInDialog(): Hold {
    const hold = this.hold()
    this.#dropped = 'Enter'
    this.#dialog = 'open'
    return hold
  }

  /**
   * Holds all keys from now on. With several holds, keys are held until all have ended. `first`: a key that is held,
   * too.
   */
  hold(first?: KeyboardEvent): Hold {
    this.#dropped = undefined
    this.#dialog = 'none'
    // It may be one that is just pressed again: the others come after it.
    if (first) this.#keys.unshift(first)
    const hold: Hold = {
      release: () => {
        if (this.#holds.delete(hold)) void this.#press()
      },
      forget: () => {
        if (this.#holds.delete(hold)) this.#keys.length = 0
      },
    }
    this.#holds.add(hold)
    return hold
  }

  get #isHolding(): boolean {
    return this.#holds.size > 0
  }

  #pressed(event: KeyboardEvent): void {
    const isWaiting = this.#isHolding || this.#isPressing
    // The keys that are pressed again are not trusted. Those of an input method can't be pressed again.
    if (!isWaiting || !event.isTrusted || event.isComposing || isOfBrowser(event)) return
    if (this.#isHolding && event.key === 'Escape') {
      for (const { forget } of this.#holds) forget()
      return
    }
    if (this.#isHolding && this.#isForButtons(event)) return
    event.preventDefault()
    event.stopImmediatePropagation()
    if (this.#isHolding && event.key === this.#dropped) return
    if (!MODIFIER.test(event.key)) this.#dropped = undefined
    this.#keys.push(event)
  }

  /** Whether a key is for the buttons of the dialog that is open meanwhile. */
  #isForButtons({ key }: KeyboardEvent): boolean {
    if (key === 'Tab' && this.#dialog === 'open') this.#dialog = 'tabbed'
    return this.#dialog === 'tabbed' && (key === 'Tab' || key === 'Enter' || key === ' ')
  }

  async #press(): Promise<void> {
    if (this.#isPressing) return
    this.#isPressing = true
    while (!this.#isHolding && this.#keys.length > 0) {
      // What the key before has changed is rendered, and has the focus, after a frame.
      await new Promise(resolve => requestAnimationFrame(resolve))
      if (!this.#isHolding) pressAgain(this.#keys.shift())
    }
    this.#isPressing = false
  }
}

/** Presses a key, with what the browser does for letters and Backspace in a field. */
function pressAgain(event: KeyboardEvent | undefined): void {
  const target = document.activeElement ?? document.body
  if (!event || !target.dispatchEvent(new KeyboardEvent('keydown', event))) return
  if (event.ctrlKey || event.altKey || event.metaKey) return
  if (event.key.length === 1) document.execCommand('insertText', false, event.key)
  else if (event.key === 'Backspace') document.execCommand('delete')
}

/** The keys that this window holds. */
export const heldKeys = new HeldKeys()
