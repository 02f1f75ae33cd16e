/** The refs in which a repository remembers what the hub had when it was last seen, like git's remote branches. */

export const HUB_REFS = 'refs/forge/hub/'
/** A ref for each run, at the commit of its store. */
export const HUB_RUNS = `${HUB_REFS}runs/`
/** The prefix of the refs of the repository's id, one for the address of each hub. */
export const HUB_IDS = `${HUB_REFS}ids/`
