/**
 * What was typed and chosen in dialogs that were closed before they did anything: there again when the dialog is opened
 * anew.
 */

/** A field of a dialog: the dialog's title, and what tells the field and its usual text from others. */
export interface DialogField {
  title: string
  field: string
}

/** The texts and choices of a window; a reload drops them. */
export class DialogTexts {
  readonly #texts = new Map<string, Map<string, string>>()
  readonly #choices = new Map<string, object>()

  /** The text as it was left; undefined if it was not changed. */
  of({ title, field }: DialogField): string | undefined {
    return this.#texts.get(title)?.get(field)
  }

  keep({ title, field }: DialogField, text: string): void {
    const texts = this.#texts.get(title) ?? new Map<string, string>()
    this.#texts.set(title, texts.set(field, text))
  }

  /** The object in which a dialog keeps what is chosen in it: the one that was left, or a new one of this class. */
  choiceOf<Choice extends object>(title: string, Kind: new () => Choice): Choice {
    const left = this.#choices.get(title)
    if (left instanceof Kind) return left
    const choice = new Kind()
    this.#choices.set(title, choice)
    return choice
  }

  /** Forgets the texts and the choice of a dialog that has done its work. */
  drop(title: string): void {
    this.#texts.delete(title)
    this.#choices.delete(title)
  }
}
