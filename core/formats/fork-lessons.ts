/**
 * The lessons that runs of the tasks have learned in a fork, as lines for its FORK.md: the tasks write them, Forklift
 * offers them on the page of its pull request.
 */

/** The ref at which the lessons of a repository are kept, a file each. */
export const PLAYBOOKS = 'refs/forge/playbooks'
/** The file at {@link PLAYBOOKS} with all of them as Markdown, for a FORK.md; empty where none holds any more. */
export const FORK_LESSONS = 'fork-md'
