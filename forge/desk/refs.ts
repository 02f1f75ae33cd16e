/**
 * Every ref that the forge keeps for itself, by name and meaning. All of them are below `refs/forge/`: git shows none
 * of them as a branch or a tag, and `forge/desk/private-refs.ts` keeps them from being published.
 *
 * - `refs/forge/drafts/BRANCH`: what is typed in a branch and not saved: a commit on its tip
 * - `refs/forge/merging/BRANCH`: a merge, rebase or cherry-pick that waits for a person: a commit with both sides
 * - `refs/forge/turns/BRANCH`: how far a turn of the AI has come, as a commit, until the turn has ended
 * - `refs/forge/renaming/BRANCH`: a rename of a branch that is not complete: the desk completes it at its next start
 * - `refs/forge/moving/…`: the object of a ref that can't be created before another one is deleted (`a` and `a/b`), for
 *   as long as a rename takes: the desk creates the ref at its next start if it was killed between
 * - `refs/forge/operations`: what the forge did to refs: the newest commit of a chain, one for each operation
 * - `refs/forge/lost/OID`: an annotated tag that an operation would have lost, kept so that undo can bring it back
 * - `refs/forge/kept/…`: the tip of a branch that was landed as one commit, with its own commits
 * - `refs/forge/runs/RUN/…`: what a run of the tasks has written; forge/tasks owns these, the desk only reads them
 * - `refs/forge/evaluations`: results of `forge eval`: how models answered kept requests; forge/tasks owns it
 * - `refs/forge/playbooks`: the lessons of runs, a file for each; forge/tasks owns it, the desk changes it by `forge
 *   playbooks`
 *
 * BRANCH is the branch's name below `refs/heads/`.
 */
import { movingRefs } from '../../core/git/patience.ts'
import type { RefName } from '../../core/git/refs.ts'

export { RUNS } from '../formats/tasks-json.ts'
export { KEPT, LOST, OPERATIONS } from '../operations.ts'

/** The prefix of all refs of the forge. */
export const OWN_REFS = 'refs/forge/'

export const DRAFTS = 'refs/forge/drafts/'
export const draftsRef = (branch: string): RefName => `${DRAFTS}${branch}`
export const branchOfDrafts = (ref: RefName): string => ref.slice(DRAFTS.length)

export const MERGING = 'refs/forge/merging/'
export const mergingRef = (branch: string): RefName => `${MERGING}${branch}`

/** The branch of a ref with drafts, or with what waits. */
export const branchOfWork = (ref: RefName): string => ref.slice((ref.startsWith(MERGING) ? MERGING : DRAFTS).length)

export const TURNS = 'refs/forge/turns/'
export const turnRef = (branch: string): RefName => `${TURNS}${branch}`

export const RENAMING = 'refs/forge/renaming/'
export const renamingRef = (branch: string): RefName => `${RENAMING}${branch}`

export const MOVING = movingRefs(OWN_REFS)
