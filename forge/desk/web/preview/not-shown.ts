/** Thrown with the reason, as a sentence, for which a file is not shown. */
export class NotShown extends Error {}
