/** The commit that the changed files of a branch are compared with. */
import type { BranchInfo } from '../../contract/branches.ts'

/** The last commit of a branch; while it shows an AI's turn, the commit at which that began. */
export const comparedWith = ({ turnBase, tip }: BranchInfo): string => turnBase ?? tip
