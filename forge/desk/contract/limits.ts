/** Limits shared by the page and the server. */

/** Larger files, in bytes, are shown read-only. */
export const MAX_EDITABLE_BYTES = 2 << 20

/** At most this many matches are replaced by one operation. */
export const MAX_REPLACED_MATCHES = 10_000
