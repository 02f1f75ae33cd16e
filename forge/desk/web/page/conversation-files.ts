/** The files in which a branch keeps the conversation with its AI. */

/** The conversation of a branch's AI. */
export const SESSION = '.forge/session.json'

/** Whether a file is of the folder with the conversation of a branch's AI. */
export const isOfForge = (path: string): boolean => path.startsWith('.forge/')
