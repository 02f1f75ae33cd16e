/**
 * Keys that are pressed while what was chosen before them is still on its way, such as the file that Enter is to open
 * in the palette. They are for what is shown then: until then they are held, and pressed again afterwards.
 */

/** Whether a key is left to the browser at all times: those that load the page again. */
const isOfBrowser = ({ key, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  key === 'F5' || ((ctrlKey || metaKey) && key.toLowerCase() === 'r')

export class HeldKeys {
  readonly #keys: KeyboardEvent[] = []
  #isHolding = false
  #isPressing = false

  /** Begins to listen, ahead of all others that do. */
  listen(): void {
    window.addEventListener('keydown', event => this.#pressed(event), { capture: true })
  }

  /** Holds all keys from now on, until they are released or forgotten. */
  hold(): void {
    this.#isHolding = true
  }

  /** Presses the held keys, once the page shows what they are for. */
  release(): void {
    this.#isHolding = false
    void this.#press()
  }

  /** Drops the held keys, if what they are for does not come. */
  forget(): void {
    if (this.#isHolding) this.#keys.length = 0
    this.#isHolding = false
  }

  #pressed(event: KeyboardEvent): void {
    const isWaiting = this.#isHolding || this.#isPressing
    // The keys that are pressed again are not trusted. Those of an input method can't be pressed again.
    if (!isWaiting || !event.isTrusted || event.isComposing || isOfBrowser(event)) return
    if (this.#isHolding && event.key === 'Escape') {
      this.forget()
      return
    }
    event.preventDefault()
    event.stopImmediatePropagation()
    this.#keys.push(event)
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
