/** Bounds that the page and the server share. */

/** Files of more bytes are shown and not edited. */
export const MAX_EDITABLE_BYTES = 2 << 20
