/** Paths of files and folders in a branch. */

/** Whether a path is another one or below it. */
export const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** What a path is after a file or folder has got another one. */
export const pathAfter = ({ from, to }: { from: string; to: string }, path: string): string =>
  isIn(path, from) ? to + path.slice(from.length) : path
