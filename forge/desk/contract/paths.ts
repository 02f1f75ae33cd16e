/** Paths of files and folders in a branch. */

/** Whether a path equals a folder or is below it. */
export const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** The path after the rename of a file or folder. */
export const pathAfter = ({ from, to }: { from: string; to: string }, path: string): string =>
  isIn(path, from) ? to + path.slice(from.length) : path

/** All folders above a path: a and a/b for a/b/c. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = []
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) folders.push(path.slice(0, at))
  return folders
}

/** The path of a draft before it was put aside, alone or with its folder, since the branch has another thing there. */
export const nameBeforeAside = (path: string): string => path.replace(ASIDE, '')

/** The place that a draft which was put aside, or its folder, has left to another thing; undefined if it was not. */
export const placeLeft = (path: string): string | undefined => {
  const at = path.search(ASIDE)
  return at < 0 ? undefined : path.slice(0, at)
}

const ASIDE = /~draft(?:_\d+)?(?=\/|$)/

/** The highest number that the name of a copy gets. Above it, ` copy` is added once more. */
const MAX_COPY_NUMBER = 2 ** 30

/**
 * The name to try for a copy if a name is taken, as VS Code chooses it: `a copy.ts` for `a.ts`, then `a copy 2.ts`. The
 * name of a folder has no extension.
 */
export function nameOfCopy(name: string, isFolder: boolean): string {
  const dot = name.lastIndexOf('.')
  const end = isFolder || dot <= 0 ? name.length : dot
  const [stem, extension] = [name.slice(0, end), name.slice(end)]
  const [, copy, digits] = /^(.+ copy)(?: (\d+))?$/s.exec(stem) ?? []
  const number = digits === undefined ? 1 : Number(digits)
  if (copy === undefined || number >= MAX_COPY_NUMBER) return `${stem} copy${extension}`
  return number === 0 ? `${copy}${extension}` : `${copy} ${number + 1}${extension}`
}
