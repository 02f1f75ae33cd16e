/**
 * Limits on time, memory and size for objects from strangers: an agent's commits, upstream's files. A few kilobytes of
 * objects can stand for more files than there are atoms. A {@link Where} with bounds applies them to every git process;
 * LIMITS apply to what is counted before it is read.
 */

/** What one git process may use. */
export type Bounds = {
  seconds: number
  /** Bytes of writable memory; mapped files, such as packs, do not count. */
  memory: number
  /** Bytes of standard output. */
  output: number
}

/** Bounds for commands that read objects. */
export const QUESTIONS: Bounds = { seconds: 300, memory: 2 * 2 ** 30, output: 256 << 20 }
/**
 * Bounds for fetches and pushes, which may take long on a slow network. Git itself ends one that stalls for a minute.
 */
export const TRANSFERS: Bounds = { seconds: 3600, memory: Number.POSITIVE_INFINITY, output: 16 << 20 }

/** Bounds for listing the objects that a stranger made, which reads all of their trees. */
export const LISTING: Bounds = { ...QUESTIONS, seconds: 120, output: 64 << 20 }
/**
 * Time for indexing a stranger's packs: this many seconds, plus one for each `bytesPerSecond` of their size on disk. A
 * pack of 1 MiB can unpack to any size.
 */
export const INDEXING = { seconds: 20, bytesPerSecond: 2 << 20 }

export const LIMITS = {
  /** Two trees may differ in at most this many paths: files, and folders that only one of the trees has. */
  changes: 500_000,
  /** A merge may differ from git's own merge in at most this many paths to be judged, as each is kept in memory. */
  edits: 50_000,
  /** At most this many symbolic links of a tree are resolved. */
  links: 50_000,
  /**
   * Limits while the files of a commit are counted: the number of trees (folders), the levels of nested trees, the
   * bytes of one tree, and the bytes of all trees.
   */
  folders: 500_000,
  depth: 2_000,
  folder: 16 << 20,
  folderBytes: 256 << 20,
  /** Bytes of a blob that is read whole; git hosts accept no larger file. */
  blob: 100 << 20,
  /** Bytes of all new objects of an agent, unpacked. */
  newBytes: 2 * 2 ** 30,
}

/** An untrusted object is larger than its limit. The message is the end of a sentence that says which. */
export class TooLarge extends Error {}
