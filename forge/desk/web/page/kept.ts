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

/**
 * Reads a value that is kept as JSON; undefined where the storage is blocked or has none, or another one than the
 * schema's. `storage`: a function, as a blocked storage can't even be named.
 */
export function keptAs<Schema extends v.GenericSchema>(
  schema: Schema,
  key: string,
  storage: () => Storage = () => localStorage,
): v.InferOutput<Schema> | undefined {
  try {
    const parsed = v.safeParse(schema, JSON.parse(storage().getItem(key) ?? 'null'))
    return parsed.success ? parsed.output : undefined
  } catch {
    return undefined
  }
}
