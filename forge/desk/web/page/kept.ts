/** What a person has typed, kept in the browser until it is used. */
import * as v from 'valibot'

/**
 * Reads a text from the browser's storage; '' where that is blocked or empty. `storage`: a function, as a blocked
 * storage can't even be named.
 */
export function kept(key: string, storage = () => localStorage): string {
  try {
    return storage().getItem(key) ?? ''
  } catch {
    return ''
  }
}

export function keep(key: string, words: string, storage = () => localStorage): void {
  try {
    if (words === '') storage().removeItem(key)
    else storage().setItem(key, words)
  } catch {
    // The text could not be stored, but is still in the page.
  }
}

const inWindow = (): Storage => sessionStorage

/** The texts that this window has, by key. */
const ownTexts = new Map<string, string>()

/**
 * Keeps a text that is being written: in this window's storage, and in the storage of all windows, from which a new
 * window takes it. '' removes it from both, but not the text of another window from the latter.
 */
export function keepText(key: string, words: string): void {
  const isLast = kept(key) === (ownTexts.get(key) ?? '')
  ownTexts.set(key, words)
  keep(key, words, inWindow)
  if (words !== '' || isLast) keep(key, words)
}

/** The text that was being written in this window; in a new one, the one that was written last in any window. */
export function keptText(key: string): string {
  const text = kept(key, inWindow) || kept(key)
  ownTexts.set(key, text)
  return text
}

/** Whether {@link keptText} has a text that only another window was writing. */
export const isOfOtherWindow = (key: string): boolean => kept(key, inWindow) === '' && kept(key) !== ''

/** Gives the texts of a key another one. The first window that does so moves the text that is kept for all. */
export function moveText(from: string, to: string): void {
  const own = ownTexts.get(from)
  if (own !== undefined) ownTexts.set(to, own)
  ownTexts.delete(from)
  for (const storage of [inWindow, () => localStorage]) {
    const text = kept(from, storage)
    if (text === '') continue
    keep(to, text, storage)
    // The storage may be full.
    if (kept(to, storage) === text) keep(from, '', storage)
  }
}

/**
 * Reads a value that is kept as JSON; undefined where the storage is blocked or has none, or another one than the
 * schema's. `storage`: a function, as a blocked storage can't even be named.
 */
export function keptAs<Schema extends v.GenericSchema>(
  schema: Schema,
  key: string,
  storage: () => Storage = () => localStorage,
): v.InferOutput<Schema> | undefined {
  return parsedAs(schema, kept(key, storage))
}

/** Parses JSON; undefined where it is none, or not of the schema. */
export function parsedAs<Schema extends v.GenericSchema>(
  schema: Schema,
  text: string,
): v.InferOutput<Schema> | undefined {
  try {
    const parsed = v.safeParse(schema, JSON.parse(text))
    return parsed.success ? parsed.output : undefined
  } catch {
    return undefined
  }
}
