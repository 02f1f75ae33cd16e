/**
 * The parts of the page in which one works: branches, files and diffs, with the editor. They are more than half of the
 * page, and nothing of them is needed to show the repository: so they are loaded after it, see Page.load.
 */
export { OpenFile } from '../files/open-files.ts'
export { Blobs } from '../review/review.tsx'
export { Room } from './room.tsx'
