/** Messages typed in dialogs that were closed before they did anything: there again when the dialog is opened anew. */

/** A field of a dialog: the dialog's title, and what tells the field and its usual text from others. */
export interface DialogField {
  title: string
  field: string
}

/** The texts of a window; a reload drops them. */
export class DialogTexts {
  readonly #texts = new Map<string, Map<string, string>>()

  /** The text as it was left; undefined if it was not changed. */
  of({ title, field }: DialogField): string | undefined {
    return this.#texts.get(title)?.get(field)
  }

  keep({ title, field }: DialogField, text: string): void {
    const texts = this.#texts.get(title) ?? new Map<string, string>()
    this.#texts.set(title, texts.set(field, text))
  }

  /** Forgets the texts of a dialog that has done its work. */
  drop(title: string): void {
    this.#texts.delete(title)
  }
}
