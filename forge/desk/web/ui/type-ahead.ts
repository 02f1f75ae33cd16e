/** Letters typed in a list, which together are the begin of a name. */

/** Letters with a longer pause between them, in milliseconds, begin a new text. */
const PAUSE_MS = 800

export class TypeAhead {
  #text = ''
  #time = Number.NEGATIVE_INFINITY

  /**
   * The text that a letter continues or begins. `time`: of the key, in milliseconds. The same letter again is that
   * letter alone, which goes from one name to the next.
   */
  add(letter: string, time: number): string {
    const text = (time - this.#time <= PAUSE_MS ? this.#text : '') + letter.toLowerCase()
    this.#time = time
    this.#text = [...text].every(it => it === text[0]) ? letter.toLowerCase() : text
    return this.#text
  }

  /** Ends the text, after a key that is not a letter. */
  end(): void {
    this.#text = ''
  }
}
