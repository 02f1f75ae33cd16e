/** The order of names in a list of files. */

/** Made once: that takes long. The same for all users, so that server and page have one order. */
const COLLATOR = new Intl.Collator('en', { numeric: true })

/**
 * Compares two readable names as VS Code's explorer does: without regard to case, digits by their value, é near e.
 * Names that differ only by case have an order, too.
 */
export const compareNames = (one: string, other: string): number =>
  COLLATOR.compare(one, other) || (one < other ? -1 : one > other ? 1 : 0)
