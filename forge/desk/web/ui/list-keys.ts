/** The keys that move the selection of a long list. */

/** The number of rows by which a key moves the selection; the ends of the list are infinitely far. */
export const LIST_STEPS: Partial<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 20,
  PageUp: -20,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}
