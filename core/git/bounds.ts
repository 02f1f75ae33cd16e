/**
 * How much may be spent on objects of strangers: what an agent committed, what upstream brings. A few kilobytes of them
 * can stand for more files than there are atoms. All bounds are set here: a {@link Where} with bounds passes them on to
 * every git that runs there, and what is counted before it is walked is counted against LIMITS.
 */

/** What one git may take. */
export type Bounds = {
  seconds: number
  /** Bytes of memory that it may write to; mapped files, such as packs, do not count. */
  memory: number
  /** Bytes of what it prints. */
  output: number
}

/** For questions about objects. */
export const QUESTIONS: Bounds = { seconds: 300, memory: 2 * 2 ** 30, output: 256 << 20 }
/** For fetches and pushes, which are as long as the network is slow; one that stalls is ended by git after a minute. */
export const TRANSFERS: Bounds = { seconds: 3600, memory: Number.POSITIVE_INFINITY, output: 16 << 20 }

/** For the list of the objects that a stranger made: it reads all of their folders. */
export const LISTING: Bounds = { ...QUESTIONS, seconds: 120, output: 64 << 20 }
/**
 * For the indexes of a stranger's packs: a start, and more in proportion to the bytes that they have on disk together. A
 * pack of one MiB can unpack to any number of them.
 */
export const INDEXING = { seconds: 20, bytesPerSecond: 2 << 20 }

export const LIMITS = {
  /** Paths in which two trees differ: files, and folders of which only one has anything. */
  changes: 500_000,
  /** Paths in which a merge that is judged differs from git's own: each is kept in memory. */
  edits: 50_000,
  /** Symbolic links of a tree that are followed. */
  links: 50_000,
  /** Folders that are read to count them, inside of each other, and the bytes of their lists: of one, and of all. */
  folders: 500_000,
  depth: 2_000,
  folder: 16 << 20,
  folderBytes: 256 << 20,
  /** Bytes of a blob that is read whole; a forge takes no larger file. */
  blob: 100 << 20,
  /** Bytes of all objects that an agent made, unpacked. */
  newBytes: 2 * 2 ** 30,
}

/** Something of a stranger's is larger than what is looked at; the message says what, as the end of a sentence. */
export class TooLarge extends Error {}
