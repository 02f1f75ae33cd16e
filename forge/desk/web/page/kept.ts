/** What a person has typed, kept in the browser until it is used. */

/** Reads a text from the browser's storage; '' where the storage is blocked or empty. */
export function kept(key: string): string {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

export function keep(key: string, words: string): void {
  try {
    if (words === '') localStorage.removeItem(key)
    else localStorage.setItem(key, words)
  } catch {
    // The text could not be stored, but is still in the page.
  }
}
