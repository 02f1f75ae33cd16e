/** Paths of files and folders in a branch. */

/** Whether a path equals a folder or is below it. */
export const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** The path after the rename of a file or folder. */
export const pathAfter = ({ from, to }: { from: string; to: string }, path: string): string =>
  isIn(path, from) ? to + path.slice(from.length) : path
